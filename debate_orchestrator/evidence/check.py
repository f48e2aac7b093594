"""Checks one quote against the page at its address. The entry point of this package.

| what happens | state |
| --- | --- |
| the page's text has the quote, word for word | verified |
| a passage comes close to it, with the same figures | near match |
| the page holds the quote, but its address also holds words of the quote | near match |
| nothing comes close, or other figures are there | not found |
| the quote is too short, or too long, to be looked for | not found, and nothing is fetched |
| an address of a kind, host, port or network that is refused (`addresses`), there or after a redirect | blocked |
| robots.txt forbids it, or is there and can't be read (429, 5xx, broken, too large) | blocked |
| no such name, no answer, a broken or untrusted connection, no HTTP, too slow | unreachable |
| a status other than 200, too many redirects | unreachable |
| too large, compressed in an odd way, of a type that is not text | unreachable |
| a PDF | not checked, though kept |
| a page that its reader can't take in, in time or at all | not checked, though kept |
| a library of the extra is installed and can't be loaded | not checked, with that library's own error, though kept |
| the seat is cast as offline, or the extra is not installed | not checked, and nothing is fetched |
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.evidence import EXTRA, NotFetched, QuoteState, Unreadable, match
from debate_orchestrator.evidence.fetch import FetchedPage, Fetcher, Kind
from debate_orchestrator.storage.files import make_folder, write_atomic, write_bytes_atomic, write_new
from debate_orchestrator.util import confine, coroutines, sanitize
from debate_orchestrator.util.coroutines import running_timeout
from debate_orchestrator.util.data import error_text
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.redact import truncate
from debate_orchestrator.util.sanitize import one_line

MAX_READING_SECONDS = 30.0
"""Seconds that a page may take to be read."""
_MAX_PASSAGE_LENGTH = 20_000
_MAX_LINE_LENGTH = 1_000


class PageReading(FrozenModel):
    state: Literal["verified", "near match", "not found"]
    similarity: Annotated[float, Field(ge=0, le=1)] | None
    passage: str
    why: str
    title: str
    date: str
    text: str


async def read_page(page: FetchedPage, quote: str, requested_url: str = "") -> PageReading:
    """Looks for a quote in a page, in a worker process. `requested_url` is the address that redirects began at. Raises
    Unreadable if the process fails or times out, and OSError if it can't be started."""
    addresses = (requested_url, *page.redirected_from, page.url)
    task = {"kind": page.kind, "charset": page.charset, "quote": quote, "addresses": addresses}
    reader = await asyncio.create_subprocess_exec(
        *confine.command("debate_orchestrator.evidence.reader_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=os.sep,
        env=confine.environment(),
        start_new_session=True,
    )
    try:
        async with running_timeout(MAX_READING_SECONDS):
            out, _ = await reader.communicate(json.dumps(task).encode() + b"\n" + page.body)
    except TimeoutError:
        raise Unreadable(f"it could not be read within {MAX_READING_SECONDS:g} s") from None
    finally:
        if reader.returncode is None:
            reader.kill()  # it alone: a confined process has started no other
            await reader.wait()
    if reader.returncode:
        raise Unreadable(_why(out))
    return _parse_result(out)


def _why(out: bytes) -> str:
    """The reason that the process failed: its output in place of a result, if there was any."""
    try:
        return _line(str(json.loads(out)["unreadable"]), _MAX_LINE_LENGTH)
    except (ValueError, KeyError, TypeError):
        return "it is too large for the page reader"


def _parse_result(out: bytes) -> PageReading:
    try:
        reading = PageReading.model_validate_json(out)
    except ValidationError:
        raise Unreadable("the page reader returned an invalid result") from None
    lines = {name: _line(getattr(reading, name), _MAX_LINE_LENGTH) for name in ("why", "title", "date")}
    return reading.model_copy(update={**lines, "passage": _line(reading.passage, _MAX_PASSAGE_LENGTH)})


def _line(text: str, maximum: int) -> str:
    """A text of the reader process, on one line, redacted here: the process is given no secret to redact."""
    return truncate(sanitize.one_line(text), maximum)


_NEEDED = ("rapidfuzz", "lxml", "idna", "certifi", "protego", "webencodings")
_SUFFIXES: dict[Kind, str] = {"html": ".html.txt", "plain": ".plain.txt", "pdf": ".pdf"}


class QuoteCheck(FrozenModel):
    """The result for one quote. Every text in it is sanitized and has one line."""

    url: str
    state: QuoteState
    similarity: float | None = None
    """From 0 to 1: the share of characters on which quote and closest passage agree; None if nothing was compared."""
    title: str = ""
    date: str = ""
    """The page's own date of publication, as YYYY-MM-DD; "" if it gives none."""
    digest: str = ""
    """The sha256 of the page's bytes after decompression; "" if none came."""
    archived: str = ""
    """The name of the file in the folder that holds those bytes."""
    why: str = ""
    """One sentence for a reader."""
    passage: str = ""
    """The passage of the page, for a near match."""


async def check(url: str, quote: str, folder: Path | None, fetcher: Fetcher) -> QuoteCheck:
    """Whether the page at `url` holds `quote`. The page is kept in `folder`, if one is given. No address or page
    raises: all that goes wrong is a result. Raises BadFile if the folder can't be written, and OSError if this
    process can open no more files."""
    if any(find_spec(name) is None for name in _NEEDED):
        return _result(url, "not checked", f"checking needs {EXTRA}")
    if why := match.why_unusable(quote):
        return _result(url, "not found", why)
    try:
        page = await fetcher.fetch(url)
    except NotFetched as error:
        return _result(url, error.state, error.why)
    return await _compare_page(url, quote, page, folder, fetcher)


async def _compare_page(url: str, quote: str, page: FetchedPage, folder: Path | None, fetcher: Fetcher) -> QuoteCheck:
    archived = await asyncio.to_thread(save_page, folder, page.body, page.kind) if folder else ""
    fields = {"digest": digest(page.body), "archived": archived}
    if page.kind == "pdf":
        return _result(url, "not checked", "it is a PDF, which is not read here", None, **fields)
    try:
        async with fetcher.reading_limit:
            reading = await read_page(page, quote, url)
    except NotFetched as error:
        return _result(url, error.state, error.why, None, **fields)
    if folder:
        await asyncio.to_thread(save_text, folder, archived, reading.text)
    fields |= {"title": reading.title, "date": reading.date, "passage": reading.passage}
    why = f"{reading.why}{_came_from(url, page.url)}"
    return _result(url, reading.state, why, reading.similarity, **fields)


def _came_from(url: str, final_url: str) -> str:
    """The page's host, as browsers write it, if the address doesn't show it: after a redirect, or for look-alikes."""
    stated, host = (str(urlsplit(address).hostname).removeprefix("www.") for address in (url, final_url))
    return "" if host == stated else f"; the page came from {host}"


def _result(url: str, state: QuoteState, why: str, similarity: float | None = None, **fields: str) -> QuoteCheck:
    return QuoteCheck(url=sanitize.one_line(url), state=state, why=why, similarity=similarity, **fields)


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def save_page(folder: Path, body: bytes, kind: Kind) -> str:
    """Writes a page's bytes into `folder` and returns the file's name, which begins with its digest. A changed file of
    that name is moved aside. Raises BadFile if it can't be written."""
    name = f"{digest(body)[:24]}{_SUFFIXES[kind]}"
    make_folder(folder)
    write_bytes_atomic(folder / name, body, is_ours=lambda _: False)
    return name


def save_text(folder: Path, name: str, text: str) -> None:
    """Writes a page's text beside the file `name` that holds its bytes. Raises BadFile if it can't be written."""
    write_atomic(folder / f"{name.partition('.')[0]}.txt", text, is_ours=lambda _: False)


def save_page_text(address: str) -> str:
    """Fetches a page and writes its text to a new file in the working directory; returns the file's name. Raises
    BadSettings if the page can't be had, and BadFile if the file can't be written."""
    text = coroutines.run(_page_text(address))
    if not text.strip():
        raise BadSettings(f"context: {one_line(address)} has no text.", hint="save the page, and name the file")
    host = "".join(c if c.isalnum() or c in ".-" else "-" for c in urlsplit(address).hostname or "page")
    names = (f"context-{host}{'' if n == 1 else f'-{n}'}.txt" for n in itertools.count(1))
    path = next(name for name in names if not os.path.lexists(name))
    write_new(path, f"{one_line(address)}\n\n{text}\n")
    return path


async def _page_text(address: str) -> str:
    try:
        return (await read_page(await Fetcher().fetch(address), "")).text
    except (NotFetched, OSError) as error:
        why = error.why if isinstance(error, NotFetched) else error_text(error)
    except ImportError as error:
        why = f"{error.name or error} is not installed"
    problem = f"context: {one_line(address)} can't be read: {why}."
    raise BadSettings(problem, hint="save the page, and name the file")
