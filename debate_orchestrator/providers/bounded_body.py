"""The body of a response, held to the limits while it comes.

The SDKs read an error's body whole, collect an event's lines without end, and pass over pings and comments without a
pause. So they read from `LimitedBody` instead of the connection.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

from debate_orchestrator.providers.limits import OverLimit, ProviderLimits

_EVENT_END = re.compile(rb"\n\r?\n|\r\r")


def enforce_limits(limits: ProviderLimits) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook that puts a `LimitedBody` in place of each response's body."""

    async def hook(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        packed = response.headers.pop("content-encoding", "identity").strip().lower() not in ("", "identity")
        # A charset may name any codec of Python's, `zip` among them. Without one the body is read as UTF-8.
        response.headers["content-type"] = response.headers.get("content-type", "").partition(";")[0]
        response.stream = LimitedBody(response.stream, limits, whole=response.is_success, packed=packed)

    return hook


class LimitedBody(httpx2.AsyncByteStream):
    """The body of an answer up to the limits; of an error no more than tells the reason."""

    def __init__(self, stream: httpx2.AsyncByteStream, limits: ProviderLimits, *, whole: bool, packed: bool = False):
        self._stream, self._limits, self._whole, self._packed = stream, limits, whole, packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """OverLimit if an answer goes over a limit, or was compressed though nothing asked for that."""
        if not self._whole:
            yield b"" if self._packed else await self._reason()
            return
        if self._packed:
            raise OverLimit("a body in a compression that was not asked for")
        limits, size, lines, event, tail = self._limits, 0, 0, 0, b""
        async for piece in self._stream:
            size += len(piece)
            lines += max(piece.count(b"\n"), piece.count(b"\r"))
            ended = [found.end() for found in _EVENT_END.finditer(tail + piece)]
            event = len(tail + piece) - ended[-1] if ended else event + len(piece)
            tail = piece[-3:]
            if size > limits.stream:
                raise OverLimit(f"more than {limits.stream:,} bytes")
            if lines > limits.lines:
                raise OverLimit(f"more than {limits.lines:,} lines")
            if event > limits.event:
                raise OverLimit(f"an event of more than {limits.event:,} bytes")
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
