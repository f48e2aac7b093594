"""A strict reader of briefs, written from what a brief's system text says of documents, and from nothing else."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Document(NamedTuple):
    """What stands between a line that opens a document and the line that ends it."""

    word: str
    """What it is, by the line that opens it."""
    remark: str
    body: str


class Parts(NamedTuple):
    """A text, taken apart."""

    documents: tuple[Document, ...]
    notes: tuple[str, ...]
    """Lines outside of documents that begin with the code."""
    outside: tuple[str, ...]
    """All other lines outside of documents, an empty one where a document stood."""


@lru_cache(maxsize=4096)
def parts(text: str, code: str) -> Parts:
    """A text, taken apart by its lines; AssertionError where it is not well formed to the letter."""
    lines = text.split("\n")
    assert text.splitlines() == lines[: len(lines) - (not lines[-1])], "a line break that only some can see"
    documents: list[Document] = []
    notes: list[str] = []
    outside: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("<<<"):
            opening = re.fullmatch(rf"<<< (\S+) {code}(?: (.*))?", line)
            assert opening, f"no line that opens a document: {line!r}"
            assert f"END {code} >>>" in lines[at:], f"a document without an end: {line!r}"
            end = lines.index(f"END {code} >>>", at)
            body = "\n".join(lines[at + 1 : end])
            assert code not in body.lower(), "the code in a document"
            documents.append(Document(opening[1], opening[2] or "", body))
            outside.append("")
            at = end
        elif line.startswith(code):
            notes.append(line)
        else:
            assert not line.startswith("END "), f"an end where no document is open: {line!r}"
            outside.append(line)
        at += 1
    return Parts(tuple(documents), tuple(notes), tuple(outside))
