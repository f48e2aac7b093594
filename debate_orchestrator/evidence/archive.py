"""Keeps what was fetched, so that it can be looked at when the page has changed.

A file is named after the sha256 of what is in it and its kind, never after anything that a page says. Its ending
is one that nothing runs: a page's HTML ends in `.html.txt`, and is shown as the text it is.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from debate_orchestrator.datafiles import make_folder, write_bytes_whole, write_whole
from debate_orchestrator.evidence.fetching import Kind

_ENDINGS: dict[Kind, str] = {"html": ".html.txt", "plain": ".plain.txt", "pdf": ".pdf"}
_PREFIX = 24
"""Hexadecimal digits of a digest that name a file."""


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def keep(folder: Path, body: bytes, kind: Kind) -> str:
    """Writes a page's bytes into `folder`, as they came, and returns the name of the file. A file of that name that
    was changed is moved aside. BadFile where it can't."""
    name = f"{digest(body)[:_PREFIX]}{_ENDINGS[kind]}"
    make_folder(folder)
    write_bytes_whole(folder / name, body, ours=lambda _: False)
    return name


def keep_text(folder: Path, name: str, text: str) -> None:
    """Writes the text of the page that is kept as `name` beside it; another text there is moved aside. BadFile where it
    can't."""
    stem = name.partition(".")[0]
    make_folder(folder)
    write_whole(folder / f"{stem}.txt", text, ours=lambda _: False)
