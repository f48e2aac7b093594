"""A connection to the very address that was checked: a name is resolved once, every answer is looked at, and the socket
goes to one of them by number, so that a second answer of the name's server (DNS rebinding) is never asked for.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address

from debate_orchestrator.errors import shown
from debate_orchestrator.evidence.addresses import IP, Address, Allowed, kind
from debate_orchestrator.evidence.states import Blocked, Unreachable

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


async def resolved(address: Address, resolver: Resolver, allowed: Allowed) -> list[IP]:
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
async def connected(
    address: Address, resolver: Resolver, allowed: Allowed, context: Callable[[], ssl.SSLContext]
) -> AsyncIterator[Line]:
    """A connection to one of the host's checked addresses, dropped at once when it is left. With https the
    certificate must be the host's own."""
    found = (await resolved(address, resolver, allowed))[:_TRIED]
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
        raise Blocked(f"the connection went to {shown(peer)}, which nobody checked")
