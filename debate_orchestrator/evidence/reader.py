"""Reads a page and looks for a quote in it, in a confined process (`reader_process`) whose results are checked."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.evidence.fetch import FetchedPage
from debate_orchestrator.evidence.states import Unreadable
from debate_orchestrator.util import confine, sanitize
from debate_orchestrator.util.redact import truncate

SECONDS = 30.0
"""Seconds that a page may take to be read."""
_PASSAGE = 20_000
_LINE = 1_000


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
    Unreadable if the process fails or times out."""
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
        async with asyncio.timeout(SECONDS):
            out, _ = await reader.communicate(json.dumps(task).encode() + b"\n" + page.body)
    except TimeoutError:
        raise Unreadable(f"it could not be read within {SECONDS:g} s", page.url) from None
    finally:
        if reader.returncode is None:
            reader.kill()  # it alone: a confined process has started no other
            await reader.wait()
    if reader.returncode:
        raise Unreadable(_why(out), page.url)
    return _parse_result(out, page.url)


def _why(out: bytes) -> str:
    """The reason that the process failed: its output in place of a result, if there was any."""
    try:
        return _line(str(json.loads(out)["unreadable"]), _LINE)
    except (ValueError, KeyError, TypeError):
        return "it is too large for the page reader"


def _parse_result(out: bytes, url: str) -> PageReading:
    try:
        reading = PageReading.model_validate_json(out)
    except ValidationError:
        raise Unreadable("the page reader returned an invalid result", url) from None
    lines = {name: _line(getattr(reading, name), _LINE) for name in ("why", "title", "date")}
    return reading.model_copy(update={**lines, "passage": _line(reading.passage, _PASSAGE)})


def _line(text: str, maximum: int) -> str:
    """A text of the reader process, on one line, redacted here: the process is given no secret to redact."""
    return truncate(sanitize.one_line(text), maximum)
