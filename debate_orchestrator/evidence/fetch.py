"""The fetcher: the bytes of one page, by way of at most a few redirects, each station of which is looked at as if it
were the first.

It is polite: it asks what a host's robots.txt allows, one thing at a time of a host, and says who it is. It is short:
one page has one span of seconds, for everything but waiting in line.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Literal, NamedTuple

from debate_orchestrator.evidence import addresses, connection, robots
from debate_orchestrator.evidence.addresses import Address, Allowed
from debate_orchestrator.evidence.states import Blocked, NotFetched, Unreachable
from debate_orchestrator.storage.files import make_folder, write_atomic, write_bytes_atomic
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.errors import short_repr

SECONDS = 15.0
"""Seconds that a page may take in all."""
LARGEST = 5_000_000
"""Bytes that a page may have, unpacked."""
REDIRECTS = 5
AT_ONCE = 4
READ_AT_ONCE = 2

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


class Fetched(NamedTuple):
    """A page as it came."""

    url: str
    """Where it was in the end."""
    kind: Kind
    charset: str
    """What the server calls its encoding; "" where it does not say."""
    body: bytes


class Fetcher:
    """Fetches pages for one run, within one event loop. It remembers what each host's robots.txt says.

    `resolver`, `allowed`, `ports` and `trust` are for tests, which serve their pages on this machine: left as they are,
    only public addresses and the usual ports are ever connected to.
    """

    def __init__(
        self,
        *,
        resolver: connection.Resolver = connection.system,
        allowed: Allowed = addresses.public,
        ports: frozenset[int] = addresses.PORTS,
        trust: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
        largest: int = LARGEST,
    ):
        self._resolver, self._allowed, self._ports = resolver, allowed, ports
        self._trust = trust
        self._seconds, self._largest = seconds, largest
        self._few = asyncio.Semaphore(AT_ONCE)
        self._hosts: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._looking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._robots: dict[str, robots.Rules | Blocked] = {}
        self.tables = asyncio.Semaphore(READ_AT_ONCE)
        """Held by those who read a page that was fetched."""

    async def fetch(self, url: str) -> Fetched:
        """The page at `url`. Blocked where it, or a station on the way to it, is refused; Unreachable where nothing
        readable comes."""
        address = addresses.parse(url, self._ports, self._allowed)
        glass = _Glass(self._seconds)
        for _ in range(REDIRECTS + 1):
            try:
                await self._permitted(address, glass)
                found = await self._step(address, glass)
            except NotFetched as trouble:
                trouble.at = str(address)
                raise
            if isinstance(found, Fetched):
                return found
            address = self._followed(address, found)
        raise Unreachable(f"it is redirected more than {REDIRECTS} times", str(address))

    def _followed(self, address: Address, location: str) -> Address:
        try:
            return addresses.follow(address, location, self._ports, self._allowed)
        except Blocked as refusal:
            to = sanitize.safe_url(location)
            raise Blocked(f"it is redirected to {to}, which is refused: {refusal.why}", str(address)) from None

    async def _step(self, address: Address, glass: _Glass) -> Fetched | str:
        """What one address answers: the page, or where it says to look instead."""
        async with self._asked(address, glass, _ACCEPT) as answer:
            status, headers = answer.status, answer.headers
            if status in _MOVED and headers.get("location"):
                return headers["location"]
            if status != 200:
                raise Unreachable(_said(status))
            name, _, rest = headers.get("content-type", "").partition(";")
            kind = _KINDS.get(name.strip().lower())
            if kind is None:
                raise Unreachable(f"it is {_called(name)}, no text")
            charset = _CHARSET.search(rest)
            body = await answer.body(self._largest)
            return Fetched(str(address), kind, charset[1] if charset else "", body)

    async def _permitted(self, address: Address, glass: _Glass) -> None:
        """Blocked where the host's robots.txt forbids the address, or can't be read though it is there."""
        async with self._looking[address.origin]:
            if address.origin not in self._robots:
                self._robots[address.origin] = await self._rules(address, glass)
        rules = self._robots[address.origin]
        if isinstance(rules, Blocked):
            raise Blocked(rules.why)
        if not rules.allow(address.target):
            raise Blocked("robots.txt forbids it")

    async def _rules(self, address: Address, glass: _Glass) -> robots.Rules | Blocked:
        """What a host's robots.txt says. As RFC 9309 has it, one that is not there (4xx) allows everything, and one
        whose server is in trouble forbids everything. Where the host itself does not answer, that is raised."""
        station = address._replace(target="/robots.txt")
        for hop in range(REDIRECTS + 1):
            try:
                async with self._asked(station, glass, "text/plain") as answer:
                    if answer.status not in _MOVED or not answer.headers.get("location"):
                        return await _read_rules(answer)
                    location = answer.headers["location"]
            except NotFetched as trouble:
                if hop == 0 or glass.empty:  # the page would fare no better
                    raise
                return _unread(trouble.why)
            try:
                station = self._followed(station, location)
            except Blocked as refusal:
                return _unread(refusal.why)
        return _unread(f"it is redirected more than {REDIRECTS} times")

    @asynccontextmanager
    async def _asked(self, address: Address, glass: _Glass, accept: str) -> AsyncIterator[connection.Response]:
        """An answer, when it is this host's turn: the sand runs only from then on."""
        async with self._hosts[address.host], self._few:
            try:
                async with glass.running():
                    line = connection.connect(address, self._resolver, self._allowed, lambda: self._context)
                    async with line as open_line, connection.request(address, open_line, accept) as answer:
                        yield answer
            except TimeoutError:
                raise Unreachable(f"timed out after {self._seconds:g} s") from None

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._trust or connection.trust()


class _Glass:
    """The seconds that are left for a page."""

    def __init__(self, seconds: float):
        self._left = seconds

    @property
    def empty(self) -> bool:
        return self._left <= 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """TimeoutError where the sand is through before this is left."""
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._left):
                yield
        finally:
            self._left -= time.monotonic() - begun


async def _read_rules(answer: connection.Response) -> robots.Rules | Blocked:
    if 200 <= answer.status < 300:
        try:
            return robots.Rules((await answer.body(robots.LARGEST)).decode("utf-8", "replace"))
        except Unreachable as trouble:
            return _unread(trouble.why)
    if 400 <= answer.status < 500 and answer.status != HTTPStatus.TOO_MANY_REQUESTS:
        return robots.Rules()
    return _unread(_said(answer.status))


def _unread(why: str) -> Blocked:
    return Blocked(f"its robots.txt can't be read ({why})")


def _said(status: int) -> str:
    """A status in the words of the standard, since those of a server are anybody's."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"


def _called(name: str) -> str:
    """A content type as it may stand in a sentence."""
    name = name.strip().lower()
    if not name:
        return "of a kind that it does not tell"
    return name if re.fullmatch(r"[\w.+/-]{1,60}", name, re.ASCII) else short_repr(name)


_ENDINGS: dict[Kind, str] = {"html": ".html.txt", "plain": ".plain.txt", "pdf": ".pdf"}
_PREFIX = 24
"""Hexadecimal digits of a digest that name a file."""


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def keep(folder: Path, body: bytes, kind: Kind) -> str:
    """Writes a page's bytes into `folder`, as they came, and returns the name of the file. A file of that name that
    was changed is moved aside. BadFile where it can't."""
    name = f"{digest(body)[:_PREFIX]}{_ENDINGS[kind]}"
    make_folder(folder)
    write_bytes_atomic(folder / name, body, ours=lambda _: False)
    return name


def keep_text(folder: Path, name: str, text: str) -> None:
    """Writes the text of the page that is kept as `name` beside it; another text there is moved aside. BadFile where it
    can't."""
    stem = name.partition(".")[0]
    make_folder(folder)
    write_atomic(folder / f"{stem}.txt", text, ours=lambda _: False)
