"""The body of a response, held to the limits while it comes.

The SDKs read an error's body whole, collect an event's lines without end, and pass over pings and comments without a
pause. So they read from `LimitedBody` instead of the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

from debate_orchestrator.providers.limits import OverLimit, ProviderLimits

_MAX_EVENT_LINES = 1_000
"""Lines of one event: the SDKs join them one by one, in time that grows with the square of their number."""


def enforce_limits(limits: ProviderLimits) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook that puts a `LimitedBody` in place of each response's body."""

    async def hook(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        packed = response.headers.pop("content-encoding", "identity").strip().lower() not in ("", "identity")
        # A charset may name any codec of Python's, `zip` among them. Without one the body is read as UTF-8.
        kind = response.headers.get("content-type", "").partition(";")[0]
        response.headers["content-type"] = kind
        events = kind.strip().lower() == "text/event-stream"
        response.stream = LimitedBody(response.stream, limits, whole=response.is_success, events=events, packed=packed)

    return hook


class LimitedBody(httpx2.AsyncByteStream):
    """The body of an answer up to the limits; of an error no more than tells the reason."""

    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        limits: ProviderLimits,
        *,
        whole: bool,
        events: bool = True,
        packed: bool = False,
    ):
        """`events` says whether the body is a stream of events; elsewhere each line is bounded like one."""
        self._stream, self._limits, self._whole, self._packed = stream, limits, whole, packed
        self._end, self._kind = (b"\n\n", "an event") if events else (b"\n", "a line")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, with line feeds at the ends of lines, so that what is counted is what the SDK finds. OverLimit if
        an answer goes over a limit, or was compressed though nothing asked for that."""
        if not self._whole:
            yield b"" if self._packed else await self._reason()
            return
        if self._packed:
            raise OverLimit("a body in a compression that was not asked for")
        limits, size, lines, event, event_lines, last = self._limits, 0, 0, 0, 0, b""
        async for raw in self._stream:
            size += len(raw)
            piece = raw[1:] if last == b"\r" and raw.startswith(b"\n") else raw
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            window = (b"\n" if last in (b"\r", b"\n") else b"") + piece
            last = raw[-1:] or last
            lines += piece.count(b"\n")
            if self._end in window:
                unfinished = window[window.rindex(self._end) + len(self._end) :]
                event, event_lines = len(unfinished), unfinished.count(b"\n")
            else:
                event, event_lines = event + len(piece), event_lines + piece.count(b"\n")
            if size > limits.stream:
                raise OverLimit(f"more than {limits.stream:,} bytes")
            if lines > limits.lines:
                raise OverLimit(f"more than {limits.lines:,} lines")
            if event > limits.event:
                raise OverLimit(f"{self._kind} of more than {limits.event:,} bytes")
            if event_lines > _MAX_EVENT_LINES:
                raise OverLimit(f"an event of more than {_MAX_EVENT_LINES:,} lines")
            yield piece
            await asyncio.sleep(0)  # the SDK asks at once for more if it passed over all of them

    async def _reason(self) -> bytes:
        """The beginning of an error's body, as far as it comes in time and can be read: its status says more."""
        read = bytearray()
        try:
            async with asyncio.timeout(self._limits.reason):
                async for piece in self._stream:
                    read += piece
                    if len(read) >= self._limits.error:
                        break
        except (TimeoutError, httpx2.TransportError):
            pass
        return bytes(read[: self._limits.error])

    async def aclose(self) -> None:
        """Closes the connection, or gives it back."""
        await self._stream.aclose()
