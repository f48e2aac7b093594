"""A web site on this machine that answers with whatever bytes a test wants, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import socket
import socketserver
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import pytest
from fake_clock import FakeClockLoop, skipped_seconds

from debate_orchestrator.evidence import NotFetched
from debate_orchestrator.evidence.addresses import IP
from debate_orchestrator.evidence.fetch import Fetcher

NAME = "page.example.org"
HERE = "127.0.0.1"
Saying = bytes | Callable[[socket.socket], None]
Done = TypeVar("Done")


class Asked(NamedTuple):
    """One request that came."""

    target: str
    headers: dict[str, str]


def answer(body: bytes | str = b"", kind: str = "text/html", status: int = 200, **headers: str) -> bytes:
    """An answer as it goes over the wire; a header's name is written with `_` for `-`."""
    body = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def moved(to: str, status: int = 302) -> bytes:
    return answer("", status=status, Location=to)


def packed(body: bytes, **headers: str) -> bytes:
    return answer(gzip.compress(body), Content_Encoding="gzip", **headers)


class Site:
    """What it says to which path; everything else is 404, robots.txt too."""

    def __init__(self) -> None:
        self.says: dict[str, Saying] = {}
        self.asked: list[Asked] = []
        self.port = 0
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    def url(self, path: str = "/", name: str = NAME) -> str:
        return f"http://{name}:{self.port}{path}"

    def fetcher(self, resolver: Any = None, **terms: Any) -> Fetcher:
        """A fetcher that may connect to this site, which is at every name, and to nothing else."""
        return Fetcher(resolver=resolver or Names(), allowed=here, ports=frozenset({self.port}), **terms)

    @property
    def targets(self) -> list[str]:
        """What was asked for, but for robots.txt."""
        return [one.target for one in self.asked if one.target != "/robots.txt"]


class Names:
    """A resolver: gives each of its answers once, and the last of them for ever."""

    def __init__(self, *answers: Sequence[str]):
        self.answers = list(answers) or [[HERE]]
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def here(ip: IP) -> bool:
    return str(ip) == HERE


@contextmanager
def serving() -> Iterator[Site]:
    """A site that is there while this lasts."""
    site = Site()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            _handle(site, self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True
        request_queue_size = 50

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A visitor who leaves early is not news."""

    with Server((HERE, 0), Handler) as server:
        site.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield site
        finally:
            server.shutdown()


def _handle(site: Site, line: socket.socket) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        if not (piece := line.recv(4096)):
            return
        head += piece
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = dict(one.split(": ", 1) for one in rest if ": " in one)
    target = first.split(" ")[1]
    with site.lock:
        site.asked.append(Asked(target, {name.lower(): value for name, value in headers.items()}))
        site.at_once += 1
        site.most_at_once = max(site.most_at_once, site.at_once)
    try:
        saying = site.says.get(target, answer("nothing here", status=404))
        if callable(saying):
            saying(line)
        else:
            line.sendall(saying)
    finally:
        with site.lock:
            site.at_once -= 1


class GivenUp(NamedTuple):
    """How the fetch of a page ended, on a clock of its own."""

    error: NotFetched
    seconds: float


def given_up(says: Mapping[str, Iterable[tuple[float, bytes]]], seconds: float, resolver: Any = None) -> GivenUp:
    """How the fetch of `/` ends, which may take so many seconds. The site writes these bytes at each path, each after
    its seconds. No second passes: all wait on one loop, which leaps."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        with closing(writer), suppress(OSError):  # the visitor leaves early
            for pause, piece in says.get(target, [(0.0, answer(status=404))]):
                await asyncio.sleep(pause)
                writer.write(piece)
                await writer.drain()

    async def visit() -> GivenUp:
        with closing(await asyncio.start_server(respond, HERE, 0)) as server:
            port = server.sockets[0].getsockname()[1]
            fetcher = Fetcher(resolver=resolver or Names(), allowed=here, ports=frozenset({port}), seconds=seconds)
            with pytest.raises(NotFetched) as error:
                await fetcher.fetch(f"http://{NAME}:{port}/")
            return GivenUp(error.value, skipped_seconds())

    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        return runner.run(visit())


def run(doing: Coroutine[Any, Any, Done]) -> Done:
    return asyncio.run(doing)


ARTICLE = """<!doctype html><html><head><title>Rising water</title>
<meta property="article:published_time" content="2024-03-05T10:00:00Z"></head>
<body><nav><a href="/">All the news of the day before</a></nav><article><h1>Rising water</h1>
<p>The sea rose by <b>3.4&nbsp;millimetres</b> a year between 1993 and 2023, say those who measure it from above.</p>
<p>Nobody who lives by the shore was surprised by this, and many had moved their houses before anybody asked.</p>
<p>The engineers hold that &ldquo;a wall is not an answer&rdquo; \u2014 it is, they say, a way of asking again.</p>
</article><footer>Written for everybody, kept by nobody in particular.</footer>
<p style="display:none">This sentence was never meant to be seen by anybody.</p>
<script>document.write("This sentence is written by a script alone.")</script></body></html>"""
"""A page with a date, a main text, and words that are not to be seen."""
