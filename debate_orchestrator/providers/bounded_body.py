"""The body of a response, held to the limits while it comes: decompressed here, and handed on in whole events.

The SDKs read an error's body whole, collect an event's lines without end, decompress a chunk to whatever size, and pass
over pings and comments without a pause. So they read from `LimitedBody` instead of the connection.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress

import httpx2

from debate_orchestrator.providers.limits import OverLimit, ProviderLimits

_CHUNK = 64 * 1024
_STEP = 4 * 1024
"""Bytes that are handed on without a pause: the SDKs need a few milliseconds for as many bytes of comments."""
_END_OF_EVENT = (b"\n\n",)
_END_OF_LINE = (b"\n",)
_LAST_EVENT = re.compile(rb"^(?:event: ?message_stop$|data: ?\[DONE\])", re.MULTILINE)
"""The last event of an answer, in the Messages API and in Chat Completions."""
_REST = 0.25
"""Seconds for the line to end after the last event."""
_ANSWERS = ("/messages", "/completions")
"""How the addresses end to which requests for an answer are posted, which comes as events."""
_RESULTS = ("/results", "/content")
"""How the addresses of the results of batches end."""
_STRING = re.compile(rb'"(?:[^"\\\r\n]|\\[^\r\n])*+"?')
"""A string of JSON, as far as it goes in its line: no line break can stand in one."""
_BRACKET = re.compile(rb"[\[\]{}]")


def enforce_limits(limits: ProviderLimits) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook that puts a `LimitedBody` in place of each response's body."""

    async def hook(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        packing = response.headers.pop("content-encoding", "")
        # a charset may name any codec of Python's, `zip` among them: without one the body is read as UTF-8
        response.headers["content-type"] = response.headers.get("content-type", "").partition(";")[0]
        method, path = response.request.method, response.request.url.path
        ends: tuple[bytes, ...] = ()  # what is parsed whole counts as one event
        if method == "POST" and path.endswith(_ANSWERS):
            ends = _END_OF_EVENT
        elif method == "GET" and path.endswith(_RESULTS):
            ends = _END_OF_LINE  # as they are divided later: a carriage return may stand in the white space of JSON
        response.stream = LimitedBody(response.stream, packing, limits, whole=response.is_success, ends=ends)

    return hook


class LimitedBody(httpx2.AsyncByteStream):
    """The unpacked body of a response: of an answer whole events, of an error no more than tells the reason."""

    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        packing: str,
        limits: ProviderLimits,
        *,
        whole: bool,
        ends: tuple[bytes, ...] = _END_OF_EVENT,
    ):
        self._stream, self._packing, self._limits, self._whole = stream, packing.strip().lower(), limits, whole
        self._ends = ends
        self._packed = self._unpacked = self._empty = self._all_lines = self._lines = self._heard = 0
        self._event = bytearray()
        self._returned = False
        """Whether the last piece ended with a carriage return, which a line feed may follow that belongs to it."""

    def heard(self, characters: int) -> None:
        """An event added so many characters to the answer."""
        self._empty -= 1
        self._heard += characters

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """OverLimit if an answer goes over a limit, or can't be unpacked."""
        if not self._whole:
            yield await self._reason()
            return
        pieces = self._pieces()
        async for piece in pieces:
            for start in range(0, len(piece), _STEP):
                # What has come together goes on together: each step up to the SDK costs more than an event's text.
                events, error = self._complete(piece[start : start + _STEP])
                if events:
                    yield events
                if error is not None:
                    raise error
                if self._ends == _END_OF_EVENT and _LAST_EVENT.search(events):
                    await self._rest(pieces)
                    return
                await asyncio.sleep(0)  # the SDK asks at once for more if it passed over all of them
        yield self._checked(bytes(self._event))

    async def _rest(self, pieces: AsyncIterator[bytes]) -> None:
        """Reads to the end of the line, so that it can serve another call, unless the server keeps it open."""
        with suppress(OverLimit, TimeoutError, httpx2.TransportError):
            async with asyncio.timeout(_REST):
                async for _ in pieces:
                    pass

    async def _reason(self) -> bytes:
        """The beginning of an error's body, as far as it comes in time and can be read: its status says more."""
        read = bytearray()
        try:
            async with asyncio.timeout(self._limits.reason):
                async for piece in self._pieces():
                    read += piece
                    if len(read) >= self._limits.error:
                        break
        except (OverLimit, TimeoutError, httpx2.TransportError):
            pass
        return bytes(read[: self._limits.error])

    async def aclose(self) -> None:
        """Closes the connection, or gives it back."""
        await self._stream.aclose()

    async def _pieces(self) -> AsyncIterator[bytes]:
        """What has come, unpacked a small piece at a time. A connection that breaks off may look like one that ends, so
        compressed data has to come to its end: RemoteProtocolError if it does not."""
        if self._packing not in ("", "identity", "gzip", "x-gzip"):
            raise OverLimit("a body in a compression that was not asked for")
        unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if self._packing.endswith("gzip") else None
        async for packed in self._stream:
            self._packed += len(packed)
            for piece in _unpacked(unpack, packed) if unpack else (packed,):
                self._unpacked += len(piece)
                if max(self._packed, self._unpacked) > self._limits.stream:
                    raise OverLimit(f"more than {self._limits.stream:,} bytes")
                most = self._limits.max_overhead_bytes + self._limits.overhead_bytes_per_char * self._heard
                if self._ends == _END_OF_EVENT and self._unpacked > most:
                    limit = f"more than {self._limits.max_overhead_bytes:,} bytes"
                    raise OverLimit(f"{limit} that are no part of the answer")
                yield piece
        if unpack and self._packed and not unpack.eof:
            raise httpx2.RemoteProtocolError("compressed data that breaks off")

    def _complete(self, piece: bytes) -> tuple[bytes, OverLimit | None]:
        """The events that end in this piece, and what is wrong with the one after them."""
        events: list[bytes] = []
        try:
            for event in self._divided(piece):
                events.append(event)
        except OverLimit as error:
            return b"".join(events), error
        return b"".join(events), None

    def _divided(self, piece: bytes) -> Iterator[bytes]:
        """The events that end in this piece."""
        limits = self._limits
        piece = self._with_plain_ends(piece) if self._ends == _END_OF_EVENT else piece
        for line in piece.splitlines(keepends=True):
            self._event += line
            self._lines += line.endswith((b"\r", b"\n"))
            self._all_lines += 1
            if self._all_lines > limits.lines:
                raise OverLimit(f"more than {limits.lines:,} lines")
            if len(self._event) > limits.event or (self._ends and self._lines > limits.event_lines):
                raise OverLimit(f"an event of more than {limits.event:,} bytes or {limits.event_lines:,} lines")
            if self._event.endswith(self._ends):
                event, self._event, self._lines = bytes(self._event), bytearray(), 0
                self._empty += 1
                if self._empty > limits.max_empty_events:
                    raise OverLimit(f"more than {limits.max_empty_events:,} events that are no part of the answer")
                yield self._checked(event)

    def _with_plain_ends(self, piece: bytes) -> bytes:
        """The piece with one character at the end of each line. The SDKs do not agree on where an event ends whose
        lines end in other ways, and one that they find and that is not counted here would be free."""
        piece, self._returned = piece[self._returned and piece.startswith(b"\n") :], piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _checked(self, event: bytes) -> bytes:
        """The event, if its JSON is within the limits; else OverLimit, since parsing it could take far too long."""
        limits = self._limits
        if _values(event) <= limits.nesting:
            return event
        bare = _STRING.sub(b"", event)
        if _nested(bare, limits.nesting):
            raise OverLimit(f"an event nested more than {limits.nesting} deep")
        most = limits.event_values if self._ends else limits.document_values
        if _values(bare) > most:
            raise OverLimit(f"an event of more than {most:,} values")
        return event


def _unpacked(unpack: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """The pieces that a chunk unpacks to, each made when it is asked for. OverLimit if it is broken."""
    left, more = packed, True
    while more and not unpack.eof:  # what follows the end is not part of it
        try:
            piece = unpack.decompress(left, _CHUNK)
        except zlib.error:
            raise OverLimit("a body whose compressed data is damaged") from None
        left, more = unpack.unconsumed_tail, len(piece) == _CHUNK
        yield piece


def _values(json: bytes) -> int:
    """An upper bound on the values inside this JSON, since each follows a comma or an opening bracket."""
    return sum(json.count(sign) for sign in (b",", b"[", b"{"))


def _nested(json: bytes, maximum: int) -> bool:
    """Whether JSON without its strings is nested deeper than that."""
    depth = 0
    for bracket in _BRACKET.findall(json):
        depth += 1 if bracket in b"[{" else -1
        if depth > maximum:
            return True
    return False
