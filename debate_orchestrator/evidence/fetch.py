"""Fetches one page, following a few redirects, each of which is checked like the first address.

A name is resolved once, every IP address in the answer is checked, and the socket is opened to one of them. So a name
server can't give a public address to the check and a private one to the connection (DNS rebinding).

The fetcher is polite: it obeys robots.txt, fetches one page of a host at a time, and says who it is.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Literal, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from debate_orchestrator import __version__
from debate_orchestrator.evidence import Blocked, NoAnswer, NotFetched, Unreachable, addresses
from debate_orchestrator.evidence.addresses import IP, Allowed, ParsedUrl
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.coroutines import running_timeout
from debate_orchestrator.util.data import OUT_OF_FILES
from debate_orchestrator.util.errors import short_repr

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""A host name to its IP addresses, as text. Raises OSError if it has none."""

NAME = "debate-orchestrator"
"""The name by which a robots.txt addresses this program."""
_HEADERS = {
    "User-Agent": f"{NAME}/{__version__}",
    "Accept-Encoding": "gzip, identity;q=0.5",
    "Connection": "close",
}


_BROKEN_OFF = "the answer broke off, or is not HTTP"


class Response(NamedTuple):
    status: int
    content_type: str
    location: str
    body: bytes
    """Decompressed; read only where the status is 200."""


async def system_addresses(host: str) -> Sequence[str]:
    """The addresses that the system's resolver gives."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


@cache
def default_tls() -> ssl.SSLContext:
    """TLS that checks certificates and host names, against the system's authorities and certifi's."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


async def resolve(host: str, resolver: Resolver, allowed: Allowed) -> list[IP]:
    """The IP addresses of a host name. Raises Blocked if one of them is not allowed, so a name with both public and
    private ones is refused; NoAnswer if it has none; and OSError if this process can open no more files."""
    try:
        ips = [ip_address(text) for text in await resolver(host)]
    except (OSError, ValueError) as error:  # UnicodeError among them
        if getattr(error, "errno", None) in OUT_OF_FILES:
            raise
        ips = []
    if not ips:
        os.close(os.open(os.devnull, os.O_RDONLY))  # a system that can open no file says that there is no such name
        raise NoAnswer("the host has no address")
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


async def _body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise Unreachable("it came in a compression that was not asked for")
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > max_bytes:
            break
    else:
        if encoding.endswith("gzip") and body:
            unpack = zlib.decompressobj(16 + zlib.MAX_WBITS)
            try:
                body = bytearray(unpack.decompress(bytes(body), max_bytes + 1))
            except zlib.error:
                raise Unreachable("its compressed data is damaged") from None
            if not unpack.eof and len(body) <= max_bytes:
                raise NoAnswer(_BROKEN_OFF)
    if len(body) > max_bytes:
        raise Unreachable(f"it is larger than {max_bytes / 1e6:g} MB")
    return bytes(body)


MAX_SECONDS = 15.0
"""The maximum seconds for a page, not counting the wait for its turn."""
MAX_SIZE = 5_000_000
"""Bytes that a page may have after decompression."""
MAX_ROBOTS_SIZE = 500 * 1024
"""Bytes that a robots.txt may have: the least that RFC 9309 (2.5) permits."""
REDIRECTS = 5
MAX_REQUESTS = 4
MAX_READERS = 2

Kind = Literal["html", "plain", "pdf"]
_KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "plain",
    "text/markdown": "plain",
    "application/pdf": "pdf",
}
_ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.9, application/pdf;q=0.5"
_MOVED = (301, 302, 303, 307, 308)
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)


class FetchedPage(NamedTuple):
    url: str
    """Its address after redirects."""
    kind: Kind
    charset: str
    """The encoding that the server names; "" if it names none."""
    body: bytes
    redirected_from: tuple[str, ...] = ()
    """The addresses that led to it, in order."""


class Fetcher:
    """Fetches pages for one run, within one event loop, and remembers each host's robots.txt. `resolver`, `allowed`,
    `ports` and `tls` are for tests; by default it connects only to public addresses on ports 80 and 443."""

    def __init__(
        self,
        *,
        resolver: Resolver = system_addresses,
        allowed: Allowed = addresses.public,
        ports: frozenset[int] = addresses.PORTS,
        tls: ssl.SSLContext | None = None,
        seconds: float = MAX_SECONDS,
        max_bytes: int = MAX_SIZE,
    ):
        self._resolver, self._allowed, self._ports = resolver, allowed, ports
        self._tls = tls
        self._seconds, self._max_bytes = seconds, max_bytes
        self._request_limit = asyncio.Semaphore(MAX_REQUESTS)
        self._host_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._robots: dict[str, RobotsRules | Blocked] = {}
        self.reading_limit = asyncio.Semaphore(MAX_READERS)
        """Held while a fetched page is read, to limit the reader processes."""

    async def fetch(self, url: str) -> FetchedPage:
        """The page at `url`. Raises Blocked if it, or an address on the way to it, is refused, and Unreachable if
        nothing readable comes. Raises OSError as `resolve`."""
        address = addresses.parse(url, self._ports, self._allowed)
        async with self._host_locks[address.host], self._request_limit:
            try:
                async with running_timeout(self._seconds):
                    (*earlier, final), response = await self._follow(
                        address, _ACCEPT, self._max_bytes, obey_robots=True
                    )
            except TimeoutError:
                raise Unreachable(f"timed out after {self._seconds:g} s") from None
        if response.status != 200:
            raise Unreachable(_status_text(response.status))
        name, _, rest = response.content_type.partition(";")
        kind = _KINDS.get(name.strip().lower())
        if kind is None:
            raise Unreachable(f"it is {_type_text(name)}, not text")
        charset = _CHARSET.search(rest)
        return FetchedPage(str(final), kind, charset[1] if charset else "", response.body, tuple(map(str, earlier)))

    async def _follow(
        self, address: ParsedUrl, accept: str, max_bytes: int, *, obey_robots: bool
    ) -> tuple[list[ParsedUrl], Response]:
        """The response at the end of the redirects, and the addresses on the way, its own last."""
        requested = [address]
        for _ in range(REDIRECTS + 1):
            if obey_robots:
                await self._check_robots(address)
            try:
                response = await self._get(address, accept, max_bytes)
            except NoAnswer as error:  # after a redirect, at least the first host has answered
                raise (Unreachable(error.why) if len(requested) > 1 else error) from None
            if response.status not in _MOVED or not response.location:
                return requested, response
            try:
                address = addresses.follow(address, response.location, self._ports, self._allowed)
            except Blocked as error:
                to = sanitize.safe_url(response.location)
                raise Blocked(f"it is redirected to {to}, which is refused: {error.why}") from None
            requested.append(address)
        raise Unreachable(f"it is redirected more than {REDIRECTS} times")

    async def _get(self, address: ParsedUrl, accept: str, max_bytes: int) -> Response:
        """The response to a GET of `address`, whose host must be checked if it is an IP address. Raises Blocked as
        `resolve`; NoAnswer if no server answers, or what comes is not HTTP or breaks off; and Unreachable if it is
        compressed in a way that was not asked for, or has a body of more than `max_bytes` bytes. Raises OSError as
        `resolve`."""
        resolver = _CheckedResolver(self._resolver, self._allowed)
        tls = self._tls or default_tls()
        connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True, ssl=tls)
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
                body = await _body(response, max_bytes) if response.status == 200 else b""
                return Response(response.status, headers.get("Content-Type", ""), headers.get("Location", ""), body)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if getattr(error, "errno", None) in OUT_OF_FILES:
                raise
            if isinstance(error, aiohttp.ClientConnectorCertificateError):
                raise NoAnswer("the host's certificate is not trusted") from None
            if isinstance(error, aiohttp.ClientConnectorError):
                raise NoAnswer("the host does not answer") from None
            raise NoAnswer(_BROKEN_OFF) from None

    async def _check_robots(self, address: ParsedUrl) -> None:
        """Raises Blocked if the host's robots.txt forbids the address, or exists and can't be read."""
        if address.origin not in self._robots:
            self._robots[address.origin] = await self._read_robots(address)
        rules = self._robots[address.origin]
        if isinstance(rules, Blocked):
            raise Blocked(rules.why)
        if not await asyncio.to_thread(rules.allow, address.target):
            raise Blocked("robots.txt forbids it")

    async def _read_robots(self, address: ParsedUrl) -> RobotsRules | Blocked:
        """The rules of robots.txt. By RFC 9309 a missing file (4xx) allows everything, a server's error nothing."""
        file = address._replace(target="/robots.txt")
        try:
            _, response = await self._follow(file, "text/plain", MAX_ROBOTS_SIZE, obey_robots=False)
        except NoAnswer:
            raise  # the page would get none either
        except NotFetched as error:
            return Blocked(f"its robots.txt can't be read ({error.why})")
        if response.status == 200:
            return await asyncio.to_thread(RobotsRules, response.body.decode("utf-8", "replace"))
        if 400 <= response.status < 500 and response.status != HTTPStatus.TOO_MANY_REQUESTS:
            return RobotsRules("")
        return Blocked(f"its robots.txt can't be read ({_status_text(response.status)})")


_ROBOTS_LINE = re.compile(r"\s*(?:(user[ -]?agent)|allow|di\w*w)(?:\s*:\s*|\s+|\Z)(\*(?!\S)|[a-z_-]*)", re.IGNORECASE)
"""A line of robots.txt that is a rule, also a misspelt one, or names a program."""


class RobotsRules:
    """The rules of one host's robots.txt."""

    def __init__(self, text: str):
        from protego import Protego

        # Protego ends a group at any other line, and compares names in part and with their versions, which is not what
        # RFC 9309 (2.2.1) says. Of a group of many programs it would make each rule once for every one.
        lines = list[str]()
        for line in text.removeprefix("\ufeff").splitlines():
            if match := _ROBOTS_LINE.match(line.partition("#")[0]):
                name = match[2].lower() if match[2].lower() in ("*", NAME) else "other"
                lines.append(f"User-agent: {name}" if match[1] else line)
        self._rules: Any = Protego.parse("\n".join(lines))

    def allow(self, target: str) -> bool:
        """Whether this program may fetch a path, with its query, however servers read it."""
        # A whole URL: of a bare path that begins with // Protego would take the first part for a host.
        return all(self._rules.can_fetch(f"https://host{form}", NAME) for form in addresses.readings(target))


def _status_text(status: int) -> str:
    """A status in the standard's words: the server's own reason phrase can't be trusted."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"


def _type_text(name: str) -> str:
    """A content type, safe for a message."""
    name = name.strip().lower()
    if not name:
        return "of an unknown type"
    return name if re.fullmatch(r"[\w.+/-]{1,60}", name, re.ASCII) else short_repr(name)
