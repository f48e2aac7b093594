"""Fetches one page, following a few redirects, each of which is checked like the first address.

The fetcher is polite: it obeys robots.txt, sends one request at a time to a host, and says who it is. Each page has one
time limit for everything but waiting for its turn.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal, NamedTuple

from debate_orchestrator.evidence import addresses, connection
from debate_orchestrator.evidence.addresses import Address, Allowed
from debate_orchestrator.evidence.states import Blocked, NotFetched, Unreachable
from debate_orchestrator.storage.files import make_folder, write_atomic, write_bytes_atomic
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.errors import short_repr

SECONDS = 15.0
"""Seconds that a page may take in all, not counting the wait for its turn."""
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
_NAMES_PROGRAM = re.compile(r"user[\s-]*agent[\s:]*([^#/]*)", re.IGNORECASE)
"""A line of a robots.txt that may name a program, in more spellings than Protego knows; the name without a version."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)


class Fetched(NamedTuple):
    """A fetched page."""

    url: str
    """Its address after redirects."""
    kind: Kind
    charset: str
    """The encoding that the server names; "" if it names none."""
    body: bytes


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
        self._robots_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._robots: dict[str, RobotsRules | Blocked | None] = {}
        self.reading_slots = asyncio.Semaphore(MAX_READERS)
        """Held while a fetched page is read, to limit the reader processes."""

    async def fetch(self, url: str) -> Fetched:
        """The page at `url`.

        Raises Blocked if it, or an address on the way to it, is refused, and Unreachable if nothing readable comes.
        """
        address = addresses.parse(url, self._ports, self._allowed)
        time_left = _TimeLeft(self._seconds)
        for _ in range(REDIRECTS + 1):
            try:
                await self._permitted(address, time_left)
                found = await self._step(address, time_left)
            except NotFetched as error:
                error.at = str(address)
                raise
            if isinstance(found, Fetched):
                return found
            address = self._followed(address, found)
        raise Unreachable(f"it is redirected more than {REDIRECTS} times", str(address))

    def _followed(self, address: Address, location: str) -> Address:
        try:
            return addresses.follow(address, location, self._ports, self._allowed)
        except Blocked as blocked:
            to = sanitize.safe_url(location)
            raise Blocked(f"it is redirected to {to}, which is refused: {blocked.why}", str(address)) from None

    async def _step(self, address: Address, time_left: _TimeLeft) -> Fetched | str:
        """What one address answers: the page, or the target of a redirect."""
        async with self._asked(address, time_left, _ACCEPT) as answer:
            status, headers = answer.status, answer.headers
            if status in _MOVED and headers.get("location"):
                return headers["location"]
            if status != 200:
                raise Unreachable(_status_text(status))
            name, _, rest = headers.get("content-type", "").partition(";")
            kind = _KINDS.get(name.strip().lower())
            if kind is None:
                raise Unreachable(f"it is {_type_text(name)}, not text")
            charset = _CHARSET.search(rest)
            body = await answer.body(self._largest)
            return Fetched(str(address), kind, charset[1] if charset else "", body)

    async def _permitted(self, address: Address, time_left: _TimeLeft) -> None:
        """Raises Blocked if the host's robots.txt forbids the address, or exists and can't be read."""
        async with self._robots_locks[address.origin]:
            if address.origin not in self._robots:
                self._robots[address.origin] = await self._rules(address, time_left)
            rules = self._robots[address.origin]
            if isinstance(rules, Blocked):
                raise Blocked(rules.why)
            if rules is not None and not await asyncio.to_thread(rules.allow, address.target):
                raise Blocked("robots.txt forbids it")

    async def _rules(self, address: Address, time_left: _TimeLeft) -> RobotsRules | Blocked | None:
        """The rules of a host's robots.txt. By RFC 9309 a missing file (4xx) allows everything: then there are none. An
        error of the server forbids everything. Raises as `fetch` if the host does not answer at all."""
        step_address = address._replace(target="/robots.txt")
        for hop in range(REDIRECTS + 1):
            try:
                async with self._asked(step_address, time_left, "text/plain") as answer:
                    if answer.status not in _MOVED or not answer.headers.get("location"):
                        return await _read_rules(answer)
                    location = answer.headers["location"]
            except NotFetched as error:
                if hop == 0 or time_left.empty:  # the page would fail in the same way
                    raise
                return _unread(error.why)
            try:
                step_address = self._followed(step_address, location)
            except Blocked as blocked:
                return _unread(blocked.why)
        return _unread(f"it is redirected more than {REDIRECTS} times")

    @asynccontextmanager
    async def _asked(self, address: Address, time_left: _TimeLeft, accept: str) -> AsyncIterator[connection.Response]:
        """The response to a request, once it is this host's turn; the time limit runs only from then on."""
        async with self._host_locks[address.host], self._request_slots:
            try:
                async with time_left.running():
                    tls = self._context if address.scheme == "https" else None
                    connecting = connection.connect(address, self._resolver, self._allowed, tls)
                    async with connecting as streams, connection.request(address, streams, accept) as answer:
                        yield answer
            except TimeoutError:
                raise Unreachable(f"timed out after {self._seconds:g} s") from None

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._trust or connection.trust()


class _TimeLeft:
    """The seconds left for a page."""

    def __init__(self, seconds: float):
        self._left = seconds

    @property
    def empty(self) -> bool:
        return self._left <= 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Counts the time inside. Raises TimeoutError when none is left."""
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            async with asyncio.timeout(self._left):
                yield
        finally:
            self._left -= clock() - started


async def _read_rules(answer: connection.Response) -> RobotsRules | Blocked | None:
    if 200 <= answer.status < 300:
        try:
            body = await answer.body(MAX_ROBOTS_SIZE)
        except Unreachable as error:
            return _unread(error.why)
        return await asyncio.to_thread(RobotsRules, body.decode("utf-8", "replace"))  # a second or two for a large one
    if 400 <= answer.status < 500 and answer.status != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    return _unread(_status_text(answer.status))


def _for_few_programs(line: str) -> str:
    """A line of a robots.txt, with one name for all programs but this one. Protego makes each rule of a group once for
    every program that the group names, so a short file may make millions."""
    found = _NAMES_PROGRAM.match(line.strip())
    if found is None:
        return line
    name = found[1].strip().lower()
    name = name.rstrip("*") or name  # a name that ends in a star is a pattern
    return f"user-agent: {name if name in ('*', connection.NAME) else 'other'}"


def _unread(why: str) -> Blocked:
    return Blocked(f"its robots.txt can't be read ({why})")


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


_SUFFIXES: dict[Kind, str] = {"html": ".html.txt", "plain": ".plain.txt", "pdf": ".pdf"}
_PREFIX = 24
"""Hexadecimal digits of the digest in a file's name."""


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def keep(folder: Path, body: bytes, kind: Kind) -> str:
    """Writes a page's bytes into `folder` and returns the file's name. A changed file of that name is moved aside.

    Raises BadFile if it can't be written.
    """
    name = f"{digest(body)[:_PREFIX]}{_SUFFIXES[kind]}"
    make_folder(folder)
    write_bytes_atomic(folder / name, body, ours=lambda _: False)
    return name


def keep_text(folder: Path, name: str, text: str) -> None:
    """Writes a page's text beside the file `name` that holds its bytes. Another text there is moved aside.

    Raises BadFile if it can't be written.
    """
    stem = name.partition(".")[0]
    make_folder(folder)
    write_atomic(folder / f"{stem}.txt", text, ours=lambda _: False)


class RobotsRules:
    """The rules of one host's robots.txt."""

    def __init__(self, text: str):
        from protego import Protego

        lines = text.removeprefix("\ufeff").splitlines()
        self._rules: Any = Protego.parse("\n".join(map(_for_few_programs, lines)))

    def allow(self, target: str) -> bool:
        """Whether this program may fetch a path, with its query."""
        # A whole URL: of a bare path that begins with // Protego would take the first part for a host.
        return bool(self._rules.can_fetch(f"https://host{target}", connection.NAME))
