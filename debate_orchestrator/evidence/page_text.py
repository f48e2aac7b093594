"""Saves the text of a web page as a file, for use as context."""

from __future__ import annotations

import asyncio
import itertools
import os
from urllib.parse import urlsplit

from debate_orchestrator.storage.files import write_new
from debate_orchestrator.util.errors import BadFile, BadSettings
from debate_orchestrator.util.sanitize import one_line


def save_page_text(address: str) -> str:
    """Fetches a page and writes its text to a new file in the working directory; returns the file's name.

    Raises BadSettings if the page can't be had, and BadFile if the file can't be written.
    """
    text = asyncio.run(_page_text(address))
    if not text.strip():
        raise BadSettings(f"context: {one_line(address)} has no text.", hint="save the page, and name the file")
    host = "".join(c if c.isalnum() or c in ".-" else "-" for c in urlsplit(address).hostname or "page")
    names = (f"context-{host}{'' if n == 1 else f'-{n}'}.txt" for n in itertools.count(1))
    path = next(name for name in names if not os.path.lexists(name))
    write_new(path, f"{one_line(address)}\n\n{text}\n")
    return path


async def _page_text(address: str) -> str:
    from debate_orchestrator.evidence.fetch import Fetcher
    from debate_orchestrator.evidence.reader import read_page
    from debate_orchestrator.evidence.states import NotFetched

    try:
        return (await read_page(await Fetcher().fetch(address), "")).text
    except NotFetched as error:
        problem = f"context: {one_line(address)} can't be read: {error.why}."
        raise BadSettings(problem, hint="save the page, and name the file") from None
    except ImportError as error:
        problem = f"context: {one_line(address)} can't be read: {error.name or error} is not installed."
        raise BadFile(problem, hint="save the page, and name the file") from None
