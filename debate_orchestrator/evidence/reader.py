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
from debate_orchestrator.util.redact import redactor, truncate

SECONDS = 30.0
"""Seconds that a page may take to be read."""
_MAX_SIZE = 64_000_000
"""Bytes that a reader may print: a page's text, with every character escaped."""
_PASSAGE = 20_000
_LINE = 1_000
_ELLIPSIS = " ..."


class PageReading(FrozenModel):
    """What a reader says of a page and a quote."""

    state: Literal["verified", "near match", "not found"]
    similarity: Annotated[float, Field(ge=0, le=1)] | None
    passage: str
    why: str
    title: str
    date: str
    text: str
    """All that a visitor sees of the page."""


async def read_page(page: Fetched, quote: str) -> PageReading:
    """What the page holds of a quote. Unread where its reader takes too long, too much, or breaks over it."""
    task = json.dumps({"kind": page.kind, "charset": page.charset, "quote": quote}).encode()
    words = confine.command("debate_orchestrator.evidence.reader_process")
    pipe = asyncio.subprocess.PIPE
    quiet = asyncio.subprocess.DEVNULL
    reader = await asyncio.create_subprocess_exec(
        *words, stdin=pipe, stdout=pipe, stderr=quiet, cwd=os.sep, env=confine.environment(), start_new_session=True
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
    if code and (broken := _broken(out)):
        raise Unreadable(f"the libraries that read pages can't be loaded: {broken}. Try: {EXTRA}", page.url)
    if code:
        raise Unreadable("it is too large for the page reader", page.url)
    return _checked(out, page.url)


async def _exchange(reader: asyncio.subprocess.Process, given: bytes) -> bytes:
    """What a reader prints, while it is handed the page."""
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


def _broken(out: bytes) -> str:
    """Why a reader could not load its libraries; "" where it says nothing of that."""
    try:
        return _line(str(json.loads(out)["broken"]), _LINE).rstrip(".")
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def _checked(out: bytes, at: str) -> PageReading:
    try:
        reading = PageReading.model_validate_json(out)
    except ValidationError:
        raise Unreadable("the page reader returned an invalid result", at) from None
    lines = {name: _line(getattr(reading, name), _LINE) for name in ("why", "title", "date")}
    return reading.model_copy(update={**lines, "passage": _line(reading.passage, _PASSAGE)})


def _line(text: str, maximum: int) -> str:
    """A text of a reader on one line. The reader knows no secret of the environment, so where it has cut a text, at its
    end or before an ellipsis, half of one may be left."""
    parts = sanitize.one_line(text).split(_ELLIPSIS)
    return truncate(_ELLIPSIS.join(map(redactor().cut, parts)), maximum)
