"""Reads a page and looks for a quote in it, in a confined process (`reader_process`) whose results are checked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.evidence.fetch import Fetched
from debate_orchestrator.evidence.states import EXTRA, Unreadable
from debate_orchestrator.util import confine, sanitize
from debate_orchestrator.util.redact import truncate

SECONDS = 30.0
"""Seconds that a page may take to be read."""
_MAX_SIZE = 64_000_000
"""Bytes that the reader process may print: a page's text, with every character escaped."""
_PASSAGE = 20_000
_LINE = 1_000


class PageReading(FrozenModel):
    """What the reader process found in a page."""

    state: Literal["verified", "near match", "not found"]
    similarity: Annotated[float, Field(ge=0, le=1)] | None
    passage: str
    why: str
    title: str
    date: str
    text: str
    """All that a visitor sees of the page."""


async def read_page(page: Fetched, quote: str) -> PageReading:
    """Looks for a quote in a page, in a worker process. Raises Unreadable if the process fails, times out or prints too
    much."""
    task = json.dumps({"kind": page.kind, "charset": page.charset, "quote": quote}).encode()
    argv = confine.command("debate_orchestrator.evidence.reader_process")
    pipe = asyncio.subprocess.PIPE
    devnull = asyncio.subprocess.DEVNULL
    reader = await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=devnull, cwd=os.sep, env=confine.environment(), start_new_session=True
    )
    try:
        async with asyncio.timeout(SECONDS):
            out = await _exchange(reader, task + b"\n" + page.body)
            code = await reader.wait()
    except TimeoutError:
        raise Unreadable(f"it could not be read within {SECONDS:g} s", page.url) from None
    finally:
        if reader.returncode is None:
            os.killpg(reader.pid, signal.SIGKILL)
            await reader.wait()
    if code and (broken := _told(out, "broken")):
        raise Unreadable(f"the libraries that read pages can't be loaded: {broken}. Try: {EXTRA}", page.url)
    if code and (why := _told(out, "unreadable")):
        raise Unreadable(why, page.url)
    if code:
        raise Unreadable("it is too large for the page reader", page.url)
    return _checked(out, page.url)


async def _exchange(reader: asyncio.subprocess.Process, given: bytes) -> bytes:
    """Sends the page to the reader process and returns what it prints."""
    assert reader.stdin is not None and reader.stdout is not None
    sending = asyncio.create_task(_send(reader.stdin, given))
    out = bytearray()
    try:
        while piece := await reader.stdout.read(1 << 20):
            out += piece
            if len(out) > _MAX_SIZE:
                raise Unreadable("it is too large for the page reader")
    finally:
        sending.cancel()
    return bytes(out)


async def _send(stdin: asyncio.StreamWriter, given: bytes) -> None:
    try:
        stdin.write(given)
        await stdin.drain()
    except OSError:  # it has ended, and its exit code says so
        pass
    finally:
        stdin.close()


def _told(out: bytes, key: str) -> str:
    """What the reader process printed under a key, instead of a result; "" if it printed none."""
    try:
        return _line(str(json.loads(out)[key]), _LINE).rstrip(".")
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def _checked(out: bytes, url: str) -> PageReading:
    try:
        reading = PageReading.model_validate_json(out)
    except ValidationError:
        raise Unreadable("the page reader returned an invalid result", url) from None
    lines = {name: _line(getattr(reading, name), _LINE) for name in ("why", "title", "date")}
    return reading.model_copy(update={**lines, "passage": _line(reading.passage, _PASSAGE)})


def _line(text: str, maximum: int) -> str:
    """A text of the reader process, on one line and at most that long. The process can't redact, since it is given no
    secret of the environment."""
    return truncate(sanitize.one_line(text), maximum)
