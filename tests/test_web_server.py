"""The server of the dashboard: connections, viewers of a live debate, and opening a browser."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import uvicorn
from leap import Leap, leaped
from public_server import Served, ask, served_public, start, watch
from web_visitor import TOKENS

from debate_orchestrator.web import connections, guard, live, server
from debate_orchestrator.web import server as web_server
from debate_orchestrator.web.open_files import bounds
from debate_orchestrator.web.server import create_app

HALF = b"GET /static/page.css HTTP/1.1\r\nHost: x\r\n"
PATIENCE = 90.0
SLOW_BODY = (
    b"POST /seat/a/b/c HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 9\r\n\r\ntext"
)


LARGE = 32_000_000
"""Bytes of an answer that fits into no buffer of the system."""


def answering(size: int) -> Any:
    """An app that answers every request with so many bytes at once."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = [(b"content-length", str(size).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"x" * size})

    return answer


def serving(
    visit: Callable[[int], Awaitable[None]],
    app: Any = None,
    send_buffer: int = 0,
    loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> None:
    """Visits a server of the working folder, or of another app, at its port. `send_buffer` is what the system keeps of
    an answer, in bytes; 0 for as much as it likes."""

    async def serve() -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        if send_buffer:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        port = listening.getsockname()[1]
        served = app or create_app(TOKENS, [f"127.0.0.1:{port}"])
        config = uvicorn.Config(
            served,
            lifespan="auto" if app is None else "off",
            http=connections.Connection,
            ws="none",
            log_level="critical",
            backlog=20,
            timeout_graceful_shutdown=1,
        )

        async def nothing() -> None:
            pass

        server = connections.Server(config, nothing)
        running = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            await asyncio.wait_for(visit(port), PATIENCE)
        finally:
            server.should_exit = True
            await running

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(serve())


async def opened(port: int, sent: bytes) -> asyncio.StreamReader:
    """A connection on which that was sent. It stays open on this side."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    await writer.drain()
    reader.kept = writer  # type: ignore[attr-defined]
    return reader


async def page(port: int) -> bytes:
    """The first line of the answer to a browser."""
    reader = await opened(port, b"GET /static/page.css HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
    return await reader.readline()


@pytest.mark.parametrize("sent", [b"", HALF], ids=["nothing", "half a head"])
def test_a_head_has_to_come_in_time(here: Path, sent: bytes) -> None:
    """A connection without one is closed after ten seconds, also where a byte comes now and then."""

    async def visit(port: int) -> None:
        begun = leaped()
        reader = await opened(port, sent)
        for _ in range(3):
            await asyncio.sleep(2)
            reader.kept.write(b"X" if sent else b"")  # type: ignore[attr-defined]
        assert await reader.read() == b""
        # The server and its visitor share a loop, which may leap once or twice before the other one is heard.
        assert leaped() - begun == pytest.approx(10, abs=1)

    serving(visit, loop=Leap)


@pytest.mark.parametrize("kind", ["nothing", "half a head", "half a body"])
def test_unfinished_requests_keep_no_browser_out(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """With more of them than are kept, the oldest are closed, and a page is still served."""
    monkeypatch.setattr(connections, "bounds", lambda: bounds()._replace(waiting=40))
    monkeypatch.setattr(connections, "HEAD_SECONDS", PATIENCE)

    async def visit(port: int) -> None:
        host = b"127.0.0.1:%d" % port
        sent = {"nothing": b"", "half a head": HALF, "half a body": SLOW_BODY % host}[kind]
        readers = [await opened(port, sent) for _ in range(100)]
        assert await page(port) == b"HTTP/1.1 200 OK\r\n"
        await asyncio.gather(*(reader.read() for reader in readers[:59]))
        assert not any(reader.at_eof() for reader in readers[61:])

    serving(visit)


def test_an_answer_that_is_not_read_holds_no_connection(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is closed because there are too many is gone at once, also with much of an answer unread."""
    monkeypatch.setattr(connections, "bounds", lambda: bounds()._replace(connections=5))

    async def visit(port: int) -> None:
        reader = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        for _ in range(5):
            await opened(port, HALF)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(LARGE)

    serving(visit, answering(LARGE))


@pytest.mark.slow
@pytest.mark.parametrize("requests", [1, 2])
def test_an_answer_has_to_be_read_in_time(here: Path, monkeypatch: pytest.MonkeyPatch, requests: int) -> None:
    """A connection on which nothing more of an answer is read is ended, also where it has sent another request."""
    monkeypatch.setattr(guard, "UNREAD_SECONDS", 0.3)

    async def visit(port: int) -> None:
        reader = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * requests)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        await asyncio.sleep(1.5)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(LARGE)

    serving(visit, answering(LARGE))


def test_the_rest_of_an_answer_has_to_be_read_in_time(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who stops shortly before the end holds no connection that the server has closed."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(guard, "UNREAD_SECONDS", 0.3)

    async def visit(port: int) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.setblocking(False)
            await loop.sock_connect(reader, ("127.0.0.1", port))
            await loop.sock_sendall(reader, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            await loop.sock_recv(reader, 1000)
            (connection,) = connections._open
            for _ in range(8):
                await asyncio.sleep(0.1)
                await loop.sock_recv(reader, 2000)
            while connection.transport.get_write_buffer_size() >= 16_000:
                await loop.sock_recv(reader, 2000)
                await asyncio.sleep(0)
            assert connection.transport.get_write_buffer_size() > 0
            async with asyncio.timeout(5):
                while connections._open:
                    await asyncio.sleep(0.05)

    serving(visit, answering(400_000), send_buffer=4096)


def test_an_answer_may_be_read_slowly(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as some of it is read in each such time, all of it comes."""
    monkeypatch.setattr(guard, "UNREAD_SECONDS", 0.4)

    async def visit(port: int) -> None:
        reader = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(16):
            assert len(await reader.readexactly(LARGE // 16)) == LARGE // 16
            await asyncio.sleep(0.1)

    serving(visit, answering(LARGE))


def test_a_connection_serves_more_than_one_request(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that come whole are answered on one connection, and each starts its time anew."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)

    async def visit(port: int) -> None:
        request = b"HEAD /static/page.css HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port
        reader = await opened(port, request)
        for _ in range(4):
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(0.2)
            reader.kept.write(request)  # type: ignore[attr-defined]

    serving(visit)


@pytest.mark.parametrize(
    "pieces", [[b"\r\n%s", b"\r\n%s"], [b"\r", b"\n%s", b"\r", b"\n%s"], [b"\r\n", b"%s\r\n", b"%s"]]
)
def test_an_empty_line_before_a_request_is_ignored(here: Path, pieces: list[bytes]) -> None:
    """Some clients send one after a form (RFC 9112, 2.2)."""

    async def visit(port: int) -> None:
        request = b"HEAD /static/page.css HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port
        reader = await opened(port, b"")
        for piece in pieces:
            reader.kept.write(piece.replace(b"%s", request))  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)
        for _ in range(2):
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await reader.readuntil(b"\r\n\r\n")

    serving(visit)


SPEAKER = """\
import sys, time
sys.stdin.read()
for n in range(60):
    print(f"Reason {n} is " + "w" * 400, end=" ", flush=True)
    time.sleep(0.01)
"""


def test_no_viewer_waits_for_a_slow_one() -> None:
    """Where one reads nothing, telling takes no time, and the others have heard everything."""

    async def run() -> None:
        viewers, heard = live.Viewers(), []

        async def receive() -> Any:
            await asyncio.sleep(3600)

        async def deaf(message: Any) -> None:
            if message["type"] == "http.response.body":
                await asyncio.sleep(3600)

        async def hears(message: Any) -> None:
            heard.append(message.get("body", b""))

        def view(send: Any) -> asyncio.Task[None]:
            return asyncio.create_task(live.EventStream(viewers, list)({}, receive, send))

        slow, quick = view(deaf), view(hears)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for number in range(500):
            viewers.broadcast("text", number)
        async with asyncio.timeout(60):
            while sum(body.startswith(b"event: text") for body in heard) < 500:
                await asyncio.sleep(0.01)
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        assert len(viewers._viewers) == 1
        viewers.close()
        await asyncio.wait_for(quick, 5)
        assert not viewers._viewers

    asyncio.run(run())


def test_what_waits_for_a_viewer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a debate that says more than a viewer reads, no more than a fixed number of messages waits for them; then
    their stream ends, and the browser opens another that begins with how things stand."""
    monkeypatch.setattr(live, "_MAX_WAITING", 10)
    viewers = live.Viewers()
    viewer = viewers.join()
    for number in range(1_000):
        viewers.broadcast("text", number)
    waiting = [viewer.get_nowait() for _ in range(viewer.qsize())]
    assert len(waiting) == 11 and waiting[-1] is None


def test_an_audience_that_was_closed_takes_no_viewers() -> None:
    """A viewer who comes after the end is told so, and waits for nothing."""
    viewers = live.Viewers()
    viewers.close()
    viewer = viewers.join()

    assert viewer.get_nowait() is None


def test_a_full_viewer_ends_no_other_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the viewers who read gets every message, also the one with which another viewer has too many."""
    monkeypatch.setattr(live, "_MAX_WAITING", 1)
    viewers = live.Viewers()
    queues = [viewers.join() for _ in range(20)]
    full, quick = queues[7], queues[:7] + queues[8:]
    for number in range(3):
        viewers.broadcast("text", number)
        assert [viewer.get_nowait() for viewer in quick] == [live.message("text", number)] * 19
    assert [full.get_nowait(), full.get_nowait()] == [live.message("text", 0), None] and full.empty()


def site(folder: Path) -> dict[str, Any]:
    """Rules of a site in which a program speaks for seconds."""
    (folder / "speaker.py").write_text(SPEAKER, encoding="utf-8")
    program = f"command:{sys.executable} {folder / 'speaker.py'}"
    settings = {"issues": False, "brief": False}
    offer = {"about": "x", "cast": {"a": program, "b": program, "judge": "rehearse"}, "free": True, **settings}
    return {"offers": {"one": offer}, "debates_per_visitor": 100}


async def followed(server: Served, path: str, visitor: str) -> list[tuple[str, Any]]:
    """What a viewer is told until the debate is over. As a browser does, it asks again when its stream ends before."""
    told: list[tuple[str, Any]] = []
    while not told or told[-1][0] != "over":
        told += await watch(server.port, path, visitor)
    return told


async def crowd(server: Served, viewers: int) -> list[list[tuple[str, Any]]]:
    """What each of so many viewers of one debate is told."""
    path = await start(server.port, f"Are {viewers} viewers many?", rounds="1")
    visitors = (f"10.1.{n // 250}.{n % 250}" for n in range(viewers))
    return await asyncio.gather(*(followed(server, path, visitor) for visitor in visitors))


@pytest.mark.slow
def test_two_hundred_viewers_are_told_everything(tmp_path: Path) -> None:
    """Of a debate that 200 people watch, all of them are told all of it."""
    with served_public(tmp_path, site(tmp_path)) as server:
        told = asyncio.run(crowd(server, 200))

    blocks = [{data.partition('id="')[2].partition('"')[0] for kind, data in one if kind == "block"} for one in told]
    assert [found for found in blocks if not found >= {"turn-1.opening.b", "turn-1.verdict.judge"}] == []


@pytest.mark.slow
def test_viewers_who_never_read_hold_up_nothing(tmp_path: Path) -> None:
    """With connections that open a stream and read nothing, a debate comes to its end."""
    with served_public(tmp_path, site(tmp_path)) as server:

        async def beside() -> str:
            path = await start(server.port, "Do deaf viewers matter?", rounds="1")
            head = f"GET {path}/stream HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            deaf = []
            for n in range(40):
                connection = socket.create_connection(("127.0.0.1", server.port))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
                connection.sendall(f"{head}X-Forwarded-For: 10.2.0.{n}\r\n\r\n".encode())
                deaf.append(connection)
            body = ""
            for _ in range(200):
                if "Complete" in (body := (await ask(server.port, path)).body):
                    break
                await asyncio.sleep(0.3)
            for connection in deaf:
                connection.close()
            return body

        assert "Complete" in asyncio.run(beside())


def address_of_start(*hosts: str) -> tuple[str, int]:
    """The name and the port of the address that a dashboard prints at its start, where it listened then."""

    class Enough(Exception):
        """Ends the server before it serves."""

    printed: list[str] = []

    def ready(address: str) -> None:
        printed.append(address)
        raise Enough

    with pytest.raises(Enough):
        web_server.serve(0, hosts, ready)
    parts = urlsplit(printed[0])
    assert parts.hostname and parts.port
    return parts.hostname, parts.port


def test_no_start_of_the_desk_has_the_origin_of_another(here: Path) -> None:
    """What another user's server left in the browser for an address that it had never runs at the dashboard."""
    names = {address_of_start()[0] for _ in range(20)}
    assert len(names) == 20 and not names & {"127.0.0.1", "localhost"}
    assert all(guard.of_this_machine(name) for name in names)


def test_the_desk_has_a_random_name_where_127_0_0_1_is_all_of_the_loopback(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Browsers take every name below localhost to 127.0.0.1."""
    bind = socket.socket.bind

    def only_one(listening: socket.socket, address: tuple[str, int]) -> None:
        if address[0] != "127.0.0.1":
            raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")
        bind(listening, address)

    monkeypatch.setattr(socket.socket, "bind", only_one)
    names = {address_of_start()[0] for _ in range(3)}
    assert len(names) == 3 and all(name.endswith(".localhost") and len(name) > 32 for name in names)


def test_no_other_process_can_take_the_address(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has an option of its own for that, and gives an address with SO_REUSEADDR to several processes."""
    chosen: list[int] = []
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)
    monkeypatch.setattr(socket.socket, "setsockopt", lambda listening, level, option, value: chosen.append(option))
    address_of_start()
    assert chosen == [socket.SO_KEEPALIVE]


def test_a_desk_with_names_listens_where_its_proxy_asks(here: Path) -> None:
    """Proxies, tunnels and containers pass requests on to 127.0.0.1."""
    assert address_of_start("debate.example.org")[0] == "127.0.0.1"


ADDRESS = "http://127.0.0.1:8642/dashboard/0123456789abcdef/"


def test_the_file_is_private_and_soon_gone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mode does not depend on a file that was left by an earlier server, and it does not outlive its use."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here))
    monkeypatch.setattr(server, "PAGE_SECONDS", 0.2)
    left = here / "debate-orchestrator" / "serve" / "dashboard-127.0.0.1-8642.html"
    left.parent.mkdir(parents=True)
    left.write_text("left", encoding="utf-8")
    left.chmod(0o644)
    opened: list[tuple[str, int, str]] = []

    def open_file(address: str) -> bool:
        page = Path(unquote(urlsplit(address).path))
        opened.append((address, page.stat().st_mode & 0o777, page.read_text(encoding="utf-8")))
        return True

    monkeypatch.setattr(webbrowser, "open", open_file)
    assert server.open_dashboard(ADDRESS)

    ((address, mode, page),) = opened
    assert ADDRESS not in address and mode == 0o600 and f"url={ADDRESS}" in page
    end = time.monotonic() + 10
    while left.exists():
        assert time.monotonic() < end, "the file is still there"
        time.sleep(0.02)


@pytest.mark.slow
def test_a_server_that_ends_sooner_leaves_no_file(here: Path) -> None:
    """The file is gone with the process that wrote it."""
    code = (
        "import webbrowser; from debate_orchestrator.web import server\n"
        f"webbrowser.open = lambda address: print(address); server.open_dashboard({ADDRESS!r})"
    )
    environment = os.environ | {"XDG_STATE_HOME": str(here)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, text=True, check=True)

    assert ran.stdout.startswith(here.as_uri()) and not [*here.rglob("dashboard-*.html")]


def test_no_browser_is_opened_where_no_file_can_be_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed link has to do: the key never goes into an argument instead."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "file"))
    (here / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(webbrowser, "open", pytest.fail)

    assert not server.open_dashboard(ADDRESS)
