"""One GET and its answer, over one connection that is dropped afterwards.

Nothing is sent but what stands here: no cookie, no credential, no referrer. What comes back is counted while it comes,
packed and unpacked, so that neither an endless answer nor one that unpacks to more than it should is ever held.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from debate_orchestrator import __version__
from debate_orchestrator.evidence.addresses import Address
from debate_orchestrator.evidence.connecting import Line
from debate_orchestrator.evidence.robots import NAME
from debate_orchestrator.evidence.states import Unreachable

AGENT = f"{NAME}/{__version__}"
_HEAD = 64 * 1024
"""Bytes an answer's headers may have."""
_READ = 64 * 1024
_OVERHEAD = 2
"""How many times the size of what is allowed may come over the wire, chunk marks and all."""


class Answer:
    """An answer whose head has come; its body comes when it is asked for."""

    def __init__(self, asked: _Asked, status: int, headers: dict[str, str]):
        self.status = status
        self.headers = headers
        """By name in lower case; of a header that comes twice the first."""
        self._asked = asked

    async def body(self, most: int) -> bytes:
        """The whole body, unpacked. Unreachable where it has more than `most` bytes, is broken off or is packed in a
        way that was not asked for."""
        large = Unreachable(f"it is larger than {most / 1e6:g} MB")
        length = self.headers.get("content-length", "")
        if length.isdecimal() and len(length) < 20 and int(length) > most:
            raise large
        packing = self.headers.get("content-encoding", "").strip().lower()
        if packing not in ("", "identity", "gzip", "x-gzip"):
            raise Unreachable("it came packed in a way that was not asked for")
        unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packing.endswith("gzip") else None
        whole, came = bytearray(), False
        async for piece in self._asked.pieces(most * _OVERHEAD + _HEAD, large):
            came = True
            try:
                whole += unpack.decompress(piece, most + 1 - len(whole)) if unpack else piece
            except zlib.error:
                raise Unreachable("its packing is broken") from None
            if len(whole) > most:
                raise large
            if unpack and unpack.eof:  # what follows is no part of it
                break
        if unpack and came and not unpack.eof:
            raise Unreachable("it broke off")
        return bytes(whole)


class _Asked:
    """The line on which a question was asked, read event by event."""

    def __init__(self, line: Line):
        import h11

        self._h11: Any = h11
        self._reader, self._writer = line
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        self._came = 0
        self.ended = False
        """Whether the other side has hung up."""

    async def send(self, address: Address, accept: str) -> None:
        headers = [
            ("Host", address.authority),
            ("User-Agent", AGENT),
            ("Accept", accept),
            ("Accept-Encoding", "gzip, identity;q=0.5"),
            ("Connection", "close"),
        ]
        request = self._h11.Request(method="GET", target=address.target, headers=headers)
        self._writer.write((self._state.send(request) or b"") + (self._state.send(self._h11.EndOfMessage()) or b""))
        await self._writer.drain()

    async def head(self) -> Answer:
        event = await self._next()
        while isinstance(event, self._h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, self._h11.Response):
            raise Unreachable("it broke off")
        headers: dict[str, str] = {}
        for name, value in event.headers:
            headers.setdefault(name.decode("latin-1").lower(), _text(value))
        return Answer(self, event.status_code, headers)

    async def pieces(self, most: int, large: Unreachable) -> AsyncIterator[bytes]:
        while True:
            event = await self._next()
            if not isinstance(event, self._h11.Data):
                return
            if self._came > most:
                raise large
            yield bytes(event.data)

    async def _next(self) -> Any:
        while True:
            event = self._state.next_event()
            if event is not self._h11.NEED_DATA:
                return event
            data = await self._reader.read(_READ)
            self._came += len(data)
            self.ended = not data
            self._state.receive_data(data)


@asynccontextmanager
async def asked(address: Address, line: Line, accept: str) -> AsyncIterator[Answer]:
    """The answer to a GET of `address` over `line`. Unreachable where what comes is no HTTP, or breaks off, there or
    while the body is read."""
    import h11

    question = _Asked(line)
    try:
        await question.send(address, accept)
        yield await question.head()
    except h11.RemoteProtocolError:
        raise Unreachable("it broke off" if question.ended else "what came is not HTTP") from None
    except (OSError, asyncio.IncompleteReadError):
        raise Unreachable("the connection broke") from None


def _text(value: bytes) -> str:
    """A header's value; addresses in it may be in UTF-8, though they should not."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
