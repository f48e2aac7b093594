"""Reads from a server within limits: the body of a response, and the events in a stream."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx2

from debate_orchestrator.providers.limits import LIMITS, OverLimit
from debate_orchestrator.util.coroutines import running_timeout
from debate_orchestrator.util.data import depth

_TOO_DEEP = f"an event nested more than {LIMITS.max_nesting} deep"


async def limit_body(response: httpx2.Response) -> None:
    """Bounds a response's body; of an error as much is read as tells the reason. Raises OverLimit if it is
    compressed."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    is_packed = response.headers.pop("content-encoding", "identity").strip().lower() not in ("", "identity")
    # A charset may name any codec of Python's, `zip` among them. Without one the body is read as UTF-8.
    response.headers["content-type"] = response.headers.get("content-type", "").partition(";")[0]
    if not response.is_success:
        reason = b"" if is_packed else await _reason(response.stream)
        await response.stream.aclose()
        response.stream = httpx2.ByteStream(reason)
    elif is_packed:
        raise OverLimit("a body in a compression that was not asked for")
    else:
        response.stream = _LimitedBody(response.stream)


async def _reason(stream: httpx2.AsyncByteStream) -> bytes:
    """The beginning of an error's body, as far as it comes in time and can be read: its status says more."""
    body = bytearray()
    with suppress(TimeoutError, httpx2.TransportError):
        async with running_timeout(LIMITS.error_body_seconds):
            async for piece in stream:
                body += piece
                if len(body) >= LIMITS.max_error_bytes:
                    break
    return bytes(body[: LIMITS.max_error_bytes])


class _LimitedBody(httpx2.AsyncByteStream):
    """The body of a response. Raises OverLimit if it goes over the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream):
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > LIMITS.max_response_bytes:
                raise OverLimit(f"more than {LIMITS.max_response_bytes:,} bytes")
            yield piece
            await asyncio.sleep(0)  # so that timers and signals have their turn, however fast it comes

    async def aclose(self) -> None:
        await self._stream.aclose()


async def events(response: httpx2.Response) -> AsyncIterator[Any]:
    """The JSON of each event in a stream of server-sent events, up to the event `[DONE]`. Raises OverLimit if there are
    too many lines, or one event is too large or too deep; ValueError if one is not JSON."""
    data: list[bytes] = []
    size = 0
    async for line in _lines(response.aiter_raw()):
        size += len(line)
        if size > LIMITS.max_event_bytes:
            raise OverLimit(f"an event of more than {LIMITS.max_event_bytes:,} bytes")
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line:
            text = b"\n".join(data)
            data, size = [], 0
            if text.startswith(b"[DONE]"):
                return
            if text:
                yield _parse(text)


_LINE_END = re.compile(rb"\r\n|\n|\r(?=.)", re.DOTALL)
"""A CR at the end of what has come may be the first half of CRLF."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a body, without line ends and the byte order mark that it may begin with."""
    buffer, count, start = bytearray(), 0, 0
    async for piece in pieces:
        buffer += piece
        if count == 0 and buffer.startswith(_BYTE_ORDER_MARK):
            del buffer[: len(_BYTE_ORDER_MARK)]
        while match := _LINE_END.search(buffer, start):
            yield bytes(buffer[: match.start()])
            del buffer[: match.end()]
            start = 0
            count += 1
            if count > LIMITS.max_response_lines:
                raise OverLimit(f"more than {LIMITS.max_response_lines:,} lines")
        start = max(0, len(buffer) - 1)
        if len(buffer) > LIMITS.max_event_bytes:
            raise OverLimit(f"an event of more than {LIMITS.max_event_bytes:,} bytes")
    if buffer.endswith(b"\r"):
        yield bytes(buffer[:-1])


def _parse(text: bytes) -> Any:
    # Counted before it is parsed: to make and to walk a million empty lists takes seconds.
    if sum(map(text.count, (b"[", b"{", b","))) > LIMITS.max_event_parts:
        raise OverLimit(f"an event of more than {LIMITS.max_event_parts:,} lists, objects and commas")
    try:
        event = json.loads(text)
    except RecursionError:
        raise OverLimit(_TOO_DEEP) from None
    if depth(event) > LIMITS.max_nesting:
        raise OverLimit(_TOO_DEEP)
    return event
