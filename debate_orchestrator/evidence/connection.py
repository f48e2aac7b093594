"""A connection to the very address that was checked: a name is resolved once, every answer is looked at, and the socket
goes to one of them by number, so that a second answer of the name's server (DNS rebinding) is never asked for.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

from debate_orchestrator import __version__
from debate_orchestrator.evidence.addresses import IP, Address, Allowed, kind
from debate_orchestrator.evidence.robots import NAME
from debate_orchestrator.evidence.states import Blocked, Unreachable
from debate_orchestrator.util.errors import short_repr

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""A host's name to its IP addresses, as text; OSError where it has none."""
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_TRIED = 4
"""Addresses of one host that are tried, one after the other."""
_SECONDS = 4.0
"""Seconds that one of them has to answer, where there are others."""


async def system(host: str) -> Sequence[str]:
    """The addresses that the system's resolver gives."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def trust() -> ssl.SSLContext:
    """TLS that checks certificates and names, by the system's authorities and by those that come with Python."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


async def resolve(address: Address, resolver: Resolver, allowed: Allowed) -> list[IP]:
    """The IP addresses of a host, all of which are allowed. Blocked where one is not: a name that leads to a public and
    to a private place is not trusted with either. Unreachable where it has none."""
    if address.ip is not None:
        found = [address.ip]
    else:
        try:
            found = [ip_address(one) for one in await resolver(address.host)]
        except (OSError, UnicodeError):
            raise Unreachable("the host has no address") from None
        except ValueError:
            raise Unreachable("the host has an address that is none") from None
    if not found:
        raise Unreachable("the host has no address")
    for ip in found:
        if not allowed(ip):
            words = kind(ip) or "an address that is not allowed"
            raise Blocked(f"the host resolves to {words}")
    return found


@asynccontextmanager
async def connect(
    address: Address, resolver: Resolver, allowed: Allowed, context: Callable[[], ssl.SSLContext]
) -> AsyncIterator[Line]:
    """A connection to one of the host's checked addresses, dropped at once when it is left. With https the
    certificate must be the host's own."""
    found = (await resolve(address, resolver, allowed))[:_TRIED]
    tls = context() if address.scheme == "https" else None
    line: Line | None = None
    for place, ip in enumerate(found):
        try:
            async with asyncio.timeout(_SECONDS if place < len(found) - 1 else None):
                name = address.host if tls else None
                line = await asyncio.open_connection(str(ip), address.port, ssl=tls, server_hostname=name)
            break
        except ssl.SSLCertVerificationError:
            raise Unreachable("the host's certificate is not to be trusted") from None
        except OSError:  # of which TimeoutError and what TLS says are some
            continue
    if line is None:
        raise Unreachable("the host does not answer")
    writer = line[1]
    try:
        _same(writer, found)
        yield line
    finally:
        writer.transport.abort()


def _same(writer: asyncio.StreamWriter, checked: Sequence[IP]) -> None:
    """Blocked where the other end is not one of those that were checked, which nothing known can bring about."""
    peer = writer.get_extra_info("peername")
    if not peer or ip_address(peer[0]) not in checked:
        raise Blocked(f"the connection went to {short_repr(peer)}, which nobody checked")


AGENT = f"{NAME}/{__version__}"
_HEAD = 64 * 1024
"""Bytes an answer's headers may have."""
_READ = 64 * 1024
_OVERHEAD = 2
"""How many times the size of what is allowed may come over the wire, chunk marks and all."""


class Response:
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

    async def head(self) -> Response:
        event = await self._next()
        while isinstance(event, self._h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, self._h11.Response):
            raise Unreachable("it broke off")
        headers: dict[str, str] = {}
        for name, value in event.headers:
            headers.setdefault(name.decode("latin-1").lower(), _text(value))
        return Response(self, event.status_code, headers)

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
async def request(address: Address, line: Line, accept: str) -> AsyncIterator[Response]:
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
