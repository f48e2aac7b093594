"""One HTTP request over a connection to an IP address that was checked.

A name is resolved once, every address in the answer is checked, and the socket is opened to one of them by number. So a
name server can't give a public address to the check and a private one to the connection (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Any, NamedTuple

from debate_orchestrator import __version__
from debate_orchestrator.evidence.addresses import IP, Address, Allowed, literal
from debate_orchestrator.evidence.states import Blocked, Unreachable

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""A host name to its IP addresses, as text. Raises OSError if it has none."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

NAME = "debate-orchestrator"
"""The name by which a robots.txt addresses this program."""
AGENT = f"{NAME}/{__version__}"
_TRIED = 4
"""The most addresses of one host that are tried, one after the other."""
_SECONDS = 4.0
"""Seconds that each of them but the last has to answer."""
_HEAD = 64 * 1024
"""Bytes that the headers of a response may have."""


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    """By name in lower case; the first of several with one name."""
    body: bytes
    """Decompressed; read only where the status is 200."""


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
    ip = literal(address.host)
    try:
        found = [ip] if ip is not None else [ip_address(text) for text in await resolver(address.host)]
    except (OSError, ValueError):  # UnicodeError among them
        found = []
    if not found:
        raise Unreachable("the host has no address")
    if not all(map(allowed, found)):
        raise Blocked("the host resolves to an address that is not public")
    return found


async def connect(address: Address, resolver: Resolver, allowed: Allowed, tls: ssl.SSLContext | None) -> Streams:
    """A connection to one of the host's checked addresses. With `tls` the certificate must be valid for the host's
    name, though the socket goes to a number."""
    found = (await resolve(address, resolver, allowed))[:_TRIED]
    for place, ip in enumerate(found):
        try:
            async with asyncio.timeout(_SECONDS if place < len(found) - 1 else None):
                name = address.host if tls else None
                return await asyncio.open_connection(str(ip), address.port, ssl=tls, server_hostname=name)
        except ssl.SSLCertVerificationError:
            raise Unreachable("the host's certificate is not trusted") from None
        except OSError:  # TimeoutError and ssl.SSLError among them
            continue
    raise Unreachable("the host does not answer")


async def get(address: Address, accept: str, largest: int, streams: Streams) -> Answer:
    """The answer to a GET of `address`. Closes the streams.

    Raises Unreachable if what comes is not HTTP, breaks off, is packed in a way that was not asked for, or has a body
    of more than `largest` bytes.
    """
    import h11

    try:
        return await _Exchange(streams, largest).ask(address, accept)
    except h11.RemoteProtocolError:
        raise Unreachable("the answer broke off, or is not HTTP") from None
    except OSError:
        raise Unreachable("the connection broke") from None
    finally:
        streams[1].transport.abort()


class _Exchange:
    """One request and its answer."""

    def __init__(self, streams: Streams, largest: int):
        import h11

        self._h11: Any = h11
        self._reader, self._writer = streams
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        self._largest = largest
        self._too_large = Unreachable(f"it is larger than {largest / 1e6:g} MB")
        self._received = 0

    async def ask(self, address: Address, accept: str) -> Answer:
        headers = [
            ("Host", address.authority),
            ("User-Agent", AGENT),
            ("Accept", accept),
            ("Accept-Encoding", "gzip, identity;q=0.5"),
            ("Connection", "close"),
        ]
        request = self._h11.Request(method="GET", target=address.target, headers=headers)
        for event in (request, self._h11.EndOfMessage()):
            self._writer.write(self._protocol.send(event) or b"")
        await self._writer.drain()
        while isinstance(response := await self._next(), self._h11.InformationalResponse):
            pass
        answered: dict[str, str] = {}
        for name, value in response.headers:
            answered.setdefault(name.decode("latin-1").lower(), value.decode("utf-8", "replace"))
        body = await self._body(answered.get("content-encoding", "")) if response.status_code == 200 else b""
        return Answer(response.status_code, answered, body)

    async def _body(self, packing: str) -> bytes:
        """The whole body, decompressed. Never holds more than the largest allowed, however much it would unpack to."""
        packing = packing.strip().lower()
        if packing not in ("", "identity", "gzip", "x-gzip"):
            raise Unreachable("it came in a compression that was not asked for")
        unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packing.endswith("gzip") else None
        body = bytearray()
        while isinstance(event := await self._next(), self._h11.Data):
            try:
                body += unpack.decompress(bytes(event.data), self._largest + 1 - len(body)) if unpack else event.data
            except zlib.error:
                raise Unreachable("its compressed data is damaged") from None
            if len(body) > self._largest:
                raise self._too_large
            if unpack and unpack.eof:  # what follows is not part of the body
                break
        if unpack and body and not unpack.eof:
            raise Unreachable("the answer broke off, or is not HTTP")
        return bytes(body)

    async def _next(self) -> Any:
        """The next event of the protocol."""
        while (event := self._protocol.next_event()) is self._h11.NEED_DATA:
            data = await self._reader.read(_HEAD)
            self._received += len(data)
            if self._received > 2 * self._largest + _HEAD:  # headers of chunks among it
                raise self._too_large
            self._protocol.receive_data(data)
        return event
