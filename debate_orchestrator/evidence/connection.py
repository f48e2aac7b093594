"""One HTTP request over a connection to an IP address that was checked.

A name is resolved once, every address in the answer is checked, and the socket is opened to one of them by number. So a
name server can't give a public address to the check and a private one to the connection (DNS rebinding).
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
from debate_orchestrator.evidence.states import Blocked, Unreachable
from debate_orchestrator.util.errors import short_repr

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""A host name to its IP addresses, as text. Raises OSError if it has none."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_TRIED = 4
"""The most addresses of one host that are tried, one after the other."""
_SECONDS = 4.0
"""Seconds that each of them but the last has to answer."""


async def system(host: str) -> Sequence[str]:
    """The addresses that the system's resolver gives."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in found))


def trust() -> ssl.SSLContext:
    """TLS that checks certificates and host names, against the system's authorities and certifi's."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


async def resolve(address: Address, resolver: Resolver, allowed: Allowed) -> list[IP]:
    """The IP addresses of a host, all of which are allowed.

    Raises Blocked if one is not: a name with both public and private addresses is refused altogether. Raises
    Unreachable if it has none.
    """
    if address.ip is not None:
        found = [address.ip]
    else:
        try:
            found = [ip_address(address_text) for address_text in await resolver(address.host)]
        except (OSError, UnicodeError):
            raise Unreachable("the host has no address") from None
        except ValueError:
            raise Unreachable("the host resolves to an invalid address") from None
    if not found:
        raise Unreachable("the host has no address")
    for ip in found:
        if not allowed(ip):
            words = kind(ip) or "an address that is not allowed"
            raise Blocked(f"the host resolves to {words}")
    return found


@asynccontextmanager
async def connect(
    address: Address, resolver: Resolver, allowed: Allowed, tls: ssl.SSLContext | None
) -> AsyncIterator[Streams]:
    """A connection to one of the host's checked addresses, closed at once on leaving. With `tls` the certificate must
    be valid for the host's name, though the socket goes to a number."""
    found = (await resolve(address, resolver, allowed))[:_TRIED]
    streams: Streams | None = None
    for place, ip in enumerate(found):
        try:
            async with asyncio.timeout(_SECONDS if place < len(found) - 1 else None):
                name = address.host if tls else None
                streams = await asyncio.open_connection(str(ip), address.port, ssl=tls, server_hostname=name)
            break
        except ssl.SSLCertVerificationError:
            raise Unreachable("the host's certificate is not trusted") from None
        except OSError:  # TimeoutError and ssl.SSLError among them
            continue
    if streams is None:
        raise Unreachable("the host does not answer")
    writer = streams[1]
    try:
        _check_peer(writer, found)
        yield streams
    finally:
        writer.transport.abort()


def _check_peer(writer: asyncio.StreamWriter, checked: Sequence[IP]) -> None:
    """Raises Blocked if the other end is not a checked address. A last check: nothing known can cause it."""
    peer = writer.get_extra_info("peername")
    if not peer or ip_address(peer[0]) not in checked:
        raise Blocked(f"the connection went to {short_repr(peer)}, which was not checked")


NAME = "debate-orchestrator"
"""The name by which a robots.txt addresses this program."""
AGENT = f"{NAME}/{__version__}"
_HEAD = 64 * 1024
"""Bytes that the headers of a response may have."""
_READ = 64 * 1024
_OVERHEAD = 2
"""Bytes that may come over the wire, chunk headers included, as a multiple of the size that is allowed."""


class Response:
    """A request and its response on an open connection: the headers have come, and the body is read on demand."""

    def __init__(self, streams: Streams):
        import h11

        self._h11: Any = h11
        self._reader, self._writer = streams
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        self._came = 0
        self.ended = False
        """Whether the other side has closed the connection."""
        self.status = 0
        self.headers: dict[str, str] = {}
        """By name in lower case; the first of several with one name."""

    async def ask(self, address: Address, accept: str) -> None:
        """Sends the request, and waits for the headers of its response."""
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
        event = await self._next()
        while isinstance(event, self._h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, self._h11.Response):
            raise Unreachable("it broke off")
        self.status = event.status_code
        for name, value in event.headers:
            self.headers.setdefault(name.decode("latin-1").lower(), _text(value))

    async def body(self, maximum: int) -> bytes:
        """The whole body, decompressed.

        Raises Unreachable if it has more than `maximum` bytes, breaks off, or is compressed in a way that was not asked
        for. Never holds more than `maximum` bytes, however much the body would decompress to.
        """
        large = Unreachable(f"it is larger than {maximum / 1e6:g} MB")
        length = self.headers.get("content-length", "")
        if length.isdecimal() and len(length) < 20 and int(length) > maximum:
            raise large
        packing = self.headers.get("content-encoding", "").strip().lower()
        if packing not in ("", "identity", "gzip", "x-gzip"):
            raise Unreachable("it came in a compression that was not asked for")
        unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packing.endswith("gzip") else None
        whole, came = bytearray(), False
        while isinstance(event := await self._next(), self._h11.Data):
            came = True
            try:
                whole += unpack.decompress(bytes(event.data), maximum + 1 - len(whole)) if unpack else event.data
            except zlib.error:
                raise Unreachable("its compressed data is damaged") from None
            if len(whole) > maximum or self._came > maximum * _OVERHEAD + _HEAD:
                raise large
            if unpack and unpack.eof:  # what follows is not part of the body
                break
        if unpack and came and not unpack.eof:
            raise Unreachable("it broke off")
        return bytes(whole)

    async def _next(self) -> Any:
        """The next event of the protocol."""
        while (event := self._state.next_event()) is self._h11.NEED_DATA:
            data = await self._reader.read(_READ)
            self._came += len(data)
            self.ended = not data
            self._state.receive_data(data)
        return event


@asynccontextmanager
async def request(address: Address, streams: Streams, accept: str) -> AsyncIterator[Response]:
    """The response to a GET of `address` over `streams`.

    Raises Unreachable if what comes is not HTTP or breaks off, here or while the body is read.
    """
    import h11

    response = Response(streams)
    try:
        await response.ask(address, accept)
        yield response
    except h11.RemoteProtocolError:
        raise Unreachable("it broke off" if response.ended else "the answer is not HTTP") from None
    except (OSError, asyncio.IncompleteReadError):
        raise Unreachable("the connection broke") from None


def _text(value: bytes) -> str:
    """A header's value. Some servers send addresses in UTF-8, although the standard forbids it."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
