"""Fetches one page, following a few redirects, each of which is checked like the first address.

The fetcher is polite: it obeys robots.txt, fetches one page of a host at a time, and says who it is.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import defaultdict
from functools import cached_property
from http import HTTPStatus
from typing import Any, Literal, NamedTuple

from debate_orchestrator.evidence import addresses, connection
from debate_orchestrator.evidence.addresses import Address, Allowed
from debate_orchestrator.evidence.connection import Response
from debate_orchestrator.evidence.states import Blocked, NotFetched, Unreachable
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.errors import short_repr

SECONDS = 15.0
"""The maximum seconds for a page, not counting the wait for its turn."""
MAX_SIZE = 5_000_000
"""Bytes that a page may have after decompression."""
MAX_ROBOTS_SIZE = 500 * 1024
"""Bytes that a robots.txt may have: the least that RFC 9309 (2.5) permits."""
MAX_ROBOTS_RULES = 500_000
"""Its lines, multiplied by the programs it names: Protego makes each rule once for every program of a group."""
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
    """Fetches pages for one run, within one event loop, and remembers each host's robots.txt.

    `resolver`, `allowed`, `ports` and `trust` are for tests, which serve pages on this machine. With their defaults it
    connects only to public addresses on ports 80 and 443.
    """

    def __init__(
        self,
        *,
        resolver: connection.Resolver = connection.system,
        allowed: Allowed = addresses.public,
        ports: frozenset[int] = addresses.PORTS,
        trust: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
        largest: int = MAX_SIZE,
    ):
        self._resolver, self._allowed, self._ports = resolver, allowed, ports
        self._trust = trust
        self._seconds, self._largest = seconds, largest
        self._request_slots = asyncio.Semaphore(MAX_REQUESTS)
        self._host_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._robots: dict[str, RobotsRules | Blocked] = {}
        self.reading_slots = asyncio.Semaphore(MAX_READERS)
        """Held while a fetched page is read, to limit the reader processes."""

    async def fetch(self, url: str) -> FetchedPage:
        """The page at `url`.

        Raises Blocked if it, or an address on the way to it, is refused, and Unreachable if nothing readable comes.
        """
        address = addresses.parse(url, self._ports, self._allowed)
        async with self._host_locks[address.host], self._request_slots:
            try:
                async with asyncio.timeout(self._seconds):
                    (*earlier, final), response = await self._follow(address, _ACCEPT, self._largest, obey_robots=True)
            except TimeoutError:
                raise Unreachable(f"timed out after {self._seconds:g} s", str(address)) from None
        if response.status != 200:
            raise Unreachable(_status_text(response.status), str(final))
        name, _, rest = response.content_type.partition(";")
        kind = _KINDS.get(name.strip().lower())
        if kind is None:
            raise Unreachable(f"it is {_type_text(name)}, not text", str(final))
        charset = _CHARSET.search(rest)
        return FetchedPage(str(final), kind, charset[1] if charset else "", response.body, tuple(map(str, earlier)))

    async def _follow(
        self, address: Address, accept: str, largest: int, *, obey_robots: bool
    ) -> tuple[list[Address], Response]:
        """The response at the end of the redirects, and the addresses on the way, its own last. An error says at which
        address it happened."""
        requested = [address]
        try:
            for _ in range(REDIRECTS + 1):
                if obey_robots:
                    await self._check_robots(address)
                response = await connection.get(
                    address, accept, largest, resolver=self._resolver, allowed=self._allowed, tls=self._context
                )
                if response.status not in _MOVED or not response.location:
                    return requested, response
                try:
                    address = addresses.follow(address, response.location, self._ports, self._allowed)
                except Blocked as error:
                    to = sanitize.safe_url(response.location)
                    raise Blocked(f"it is redirected to {to}, which is refused: {error.why}") from None
                requested.append(address)
            raise Unreachable(f"it is redirected more than {REDIRECTS} times")
        except NotFetched as error:
            error.at = str(address)
            raise

    async def _check_robots(self, address: Address) -> None:
        """Raises Blocked if the host's robots.txt forbids the address, or exists and can't be read."""
        if address.origin not in self._robots:
            self._robots[address.origin] = await self._read_robots(address)
        rules = self._robots[address.origin]
        if isinstance(rules, Blocked):
            raise Blocked(rules.why)
        if not await asyncio.to_thread(rules.allow, address.target):
            raise Blocked("robots.txt forbids it")

    async def _read_robots(self, address: Address) -> RobotsRules | Blocked:
        """The rules of a host's robots.txt. By RFC 9309 a missing file (4xx) allows everything, an error of the server
        forbids everything."""
        file = address._replace(target="/robots.txt")
        try:
            _, response = await self._follow(file, "text/plain", MAX_ROBOTS_SIZE, obey_robots=False)
        except NotFetched as error:
            if error.at == str(file) and "redirected" not in error.why and "larger" not in error.why:
                raise  # the page would fail in the same way
            return Blocked(f"its robots.txt can't be read ({error.why})")
        if response.status == 200:
            try:
                return await asyncio.to_thread(RobotsRules, response.body.decode("utf-8", "replace"))
            except ValueError as error:
                return Blocked(f"its robots.txt can't be read ({error})")
        if 400 <= response.status < 500 and response.status != HTTPStatus.TOO_MANY_REQUESTS:
            return RobotsRules("")
        return Blocked(f"its robots.txt can't be read ({_status_text(response.status)})")

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._trust or connection.trust()


class RobotsRules:
    """The rules of one host's robots.txt. Raises ValueError if they are too many."""

    def __init__(self, text: str):
        from protego import Protego

        programs = len(re.findall("user[^a-z]*agent", text, re.IGNORECASE))
        if programs * len(text.splitlines()) > MAX_ROBOTS_RULES:
            raise ValueError("it has too many rules")
        self._rules: Any = Protego.parse(text.removeprefix("\ufeff"))

    def allow(self, target: str) -> bool:
        """Whether this program may fetch a path, with its query."""
        # A whole URL: of a bare path that begins with // Protego would take the first part for a host.
        return bool(self._rules.can_fetch(f"https://host{target}", connection.NAME))


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
