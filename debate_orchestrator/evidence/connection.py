"""One HTTP request to a host whose IP addresses were checked.

A name is resolved once, every address in the answer is checked, and the socket is opened to one of them. So a name
server can't give a public address to the check and a private one to the connection (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from ipaddress import ip_address
from typing import NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from debate_orchestrator import __version__
from debate_orchestrator.evidence.addresses import IP, Address, Allowed
from debate_orchestrator.evidence.states import Blocked, Unreachable

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""A host name to its IP addresses, as text. Raises OSError if it has none."""

NAME = "debate-orchestrator"
"""The name by which a robots.txt addresses this program."""
_HEADERS = {
    "User-Agent": f"{NAME}/{__version__}",
    "Accept-Encoding": "gzip, identity;q=0.5",
    "Connection": "close",
}


class Response(NamedTuple):
    status: int
    content_type: str
    location: str
    body: bytes
    """Decompressed; read only where the status is 200."""


async def system(host: str) -> Sequence[str]:
    """The addresses that the system's resolver gives."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


@cache
def trust() -> ssl.SSLContext:
    """TLS that checks certificates and host names, against the system's authorities and certifi's."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


async def resolve(host: str, resolver: Resolver, allowed: Allowed) -> list[IP]:
    """The IP addresses of a host name, all of which are allowed.

    Raises Blocked if one is not: a name with both public and private addresses is refused altogether. Raises
    Unreachable if it has none.
    """
    try:
        ips = [ip_address(text) for text in await resolver(host)]
    except (OSError, ValueError):  # UnicodeError among them
        ips = []
    if not ips:
        raise Unreachable("the host has no address")
    if not all(map(allowed, ips)):
        raise Blocked("the host resolves to an address that is not public")
    return ips


class _CheckedResolver(AbstractResolver):
    """Gives the HTTP client checked addresses alone."""

    def __init__(self, resolver: Resolver, allowed: Allowed):
        self._resolver, self._allowed = resolver, allowed

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(ip),
                port=port,
                family=socket.AF_INET6 if ip.version == 6 else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for ip in await resolve(host, self._resolver, self._allowed)
        ]

    async def close(self) -> None: ...


async def get(
    address: Address, accept: str, largest: int, *, resolver: Resolver, allowed: Allowed, tls: ssl.SSLContext
) -> Response:
    """The response to a GET of `address`, whose host must be checked if it is an IP address.

    Raises Blocked as `resolve`, and Unreachable if no server answers, or what comes is not HTTP, breaks off, is packed
    in a way that was not asked for, or has a body of more than `largest` bytes.
    """
    connector = aiohttp.TCPConnector(
        resolver=_CheckedResolver(resolver, allowed), use_dns_cache=False, force_close=True, ssl=tls
    )
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        headers=_HEADERS | {"Accept": accept},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
    )
    try:
        async with session, session.get(URL(str(address), encoded=True), allow_redirects=False) as response:
            headers = response.headers
            body = await _body(response, largest) if response.status == 200 else b""
            return Response(response.status, headers.get("Content-Type", ""), headers.get("Location", ""), body)
    except aiohttp.ClientConnectorCertificateError:
        raise Unreachable("the host's certificate is not trusted") from None
    except aiohttp.ClientConnectorError:
        raise Unreachable("the host does not answer") from None
    except (aiohttp.ClientError, OSError, ValueError):
        raise Unreachable("the answer broke off, or is not HTTP") from None


async def _body(response: aiohttp.ClientResponse, largest: int) -> bytes:
    """The whole body, decompressed."""
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip"):
        raise Unreachable("it came in a compression that was not asked for")
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > largest:
            break
    else:
        if packing.endswith("gzip") and body:
            unpack = zlib.decompressobj(16 + zlib.MAX_WBITS)
            try:
                body = bytearray(unpack.decompress(bytes(body), largest + 1))
            except zlib.error:
                raise Unreachable("its compressed data is damaged") from None
            if not unpack.eof and len(body) <= largest:
                raise Unreachable("the answer broke off, or is not HTTP")
    if len(body) > largest:
        raise Unreachable(f"it is larger than {largest / 1e6:g} MB")
    return bytes(body)
