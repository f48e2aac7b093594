"""Long answers take little memory, however many wait to be read, and one link can't take what others need."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from test_public_guard import opened
from test_web_server import LARGE, answering, serving
from test_web_server import opened as connected
from test_web_work import answer
from web_visitor import HOST, TOKENS

from debate_orchestrator.web import connections, guard, live
from debate_orchestrator.web.guard import Guard, RequestLimit
from debate_orchestrator.web.open_files import Bounds
from debate_orchestrator.web.renderings import Renderings
from debate_orchestrator.web.server import create_app


class OneLink(Guard):
    """A guard that asks no request for its host or its token."""

    def _check(self, scope: Any, headers: Any) -> RequestLimit:
        return RequestLimit(0)


@pytest.mark.slow
def test_an_answer_that_is_not_read_takes_little_memory() -> None:
    """What waits in a connection is a small part of it; all of it comes to a browser that reads on."""

    async def visit(port: int) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.setblocking(False)
            await loop.sock_connect(reader, ("127.0.0.1", port))
            await loop.sock_sendall(reader, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            came = len((await loop.sock_recv(reader, 100_000)).partition(b"\r\n\r\n")[2])
            (connection,) = connections._open
            for _ in range(20):
                await asyncio.sleep(0)
                assert connection.transport.get_write_buffer_size() < 300_000
            while came < LARGE:
                came += len(await loop.sock_recv(reader, 1_000_000))
            assert came == LARGE

    serving(visit, OneLink(answering(LARGE), hosts=[], admit=lambda *_: RequestLimit(0)), send_buffer=4096)


def test_a_stream_ends_with_its_viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """One who leaves, and one who stops reading, take no place from others; what is sent to them is sent in slices."""
    monkeypatch.setattr(guard, "UNREAD_SECONDS", 0.3)

    async def visit(port: int) -> None:
        request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        reader = await connected(port, request)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n" and live._open["seat"] == 1
        reader.kept.close()  # type: ignore[attr-defined]
        while live._open:
            await asyncio.sleep(0.01)
        begins.append(b"x" * LARGE)
        await connected(port, request)
        while not live._open:
            await asyncio.sleep(0.01)
        (connection,) = connections._open
        while live._open:
            assert connection.transport.get_write_buffer_size() < 300_000
            await asyncio.sleep(0.01)
        assert not viewers._viewers

    viewers, begins = live.Viewers(), list[bytes]()
    stream = live.EventStream(viewers, lambda: begins or [b": begun\n\n"], "seat")
    serving(visit, OneLink(stream, hosts=[], admit=lambda *_: RequestLimit(0)), send_buffer=4096)


@pytest.mark.parametrize("behind", [b"x", b"\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_a_viewer_sends_does_not_hide_that_it_leaves(
    monkeypatch: pytest.MonkeyPatch, behind: bytes, at_once: bool
) -> None:
    """Its place is free at once, also where it has sent more behind its request."""
    monkeypatch.setattr(live, "_BEAT_SECONDS", 600.0)

    async def visit(port: int) -> None:
        request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        reader = await connected(port, request + behind if at_once else request)
        await reader.readuntil(b"begun")
        for _ in range(2):
            reader.kept.write(b"" if at_once else behind)  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)
        assert live._open["seat"] == 1
        reader.kept.close()  # type: ignore[attr-defined]
        async with asyncio.timeout(10):
            while live._open:
                await asyncio.sleep(0.01)

    stream = live.EventStream(live.Viewers(), lambda: [b": begun\n\n"], "seat")
    serving(visit, OneLink(stream, hosts=[], admit=lambda *_: RequestLimit(0)))


def test_the_head_of_a_stream_is_whole_at_once() -> None:
    """A client, or a proxy for many of them, uses the connection again: nothing may still be under way there."""
    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.sleep(3600)

    async def run() -> None:
        stream = live.EventStream(live.Viewers(), lambda: [b": begun\n\n"], "seat")
        await asyncio.wait_for(stream({"type": "http", "method": "HEAD"}, receive, send), 20)

    asyncio.run(run())
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["status"] == 200 and sent[1] == {"type": "http.response.body", "body": b""} and not live._open


def test_answers_share_the_bytes_of_a_page() -> None:
    """A page that is kept is encoded once."""

    async def run() -> None:
        renderings = Renderings()
        pages = [await renderings.get("page", lambda: "p\N{LATIN SMALL LETTER E WITH ACUTE}", "link") for _ in range(2)]
        assert pages[0] is pages[1] and pages[0] == "p\xe9".encode()
        renderings.close()

    asyncio.run(run())


@pytest.mark.parametrize("link", ["/seat/d/a/xx", "/review/d/xx", "/tournament/d/xx"])
def test_one_link_has_few_answers_at_once(monkeypatch: pytest.MonkeyPatch, link: str) -> None:
    """One more is refused, whatever stands below the link; other links and the dashboard are answered."""
    monkeypatch.setattr(guard, "MAX_READS", 5)
    app = create_app(TOKENS, [HOST])

    async def run() -> None:
        gate = asyncio.Event()

        async def held(*asgi: Any) -> None:
            await gate.wait()

        async def receive() -> Any:
            await asyncio.sleep(3600)

        served, app._app = app._app, held
        waiting = [asyncio.ensure_future(answer(app, "GET", f"{link}/{n}", receive)) for n in range(5)]
        await asyncio.sleep(0)
        app._app = served
        refused = (await answer(app, "GET", f"{link}/report", receive))[0]
        assert refused["status"] == 429 and b"retry-after" in dict(refused["headers"])
        for path in ("/seat/d/b/xx", "/static/page.css", f"/dashboard/{TOKENS.dashboard}/proof"):
            assert (await answer(app, "GET", path, receive))[0]["status"] in (200, 404)
        gate.set()
        await asyncio.gather(*waiting)
        assert not app._reads

    asyncio.run(run())


def test_the_dashboard_keeps_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where seats have as many as there are, the owner still sees a debate as it happens."""
    monkeypatch.setattr(live, "bounds", lambda: Bounds(32, 5, 4, 1))

    async def run() -> None:
        viewers = live.Viewers()
        tasks: list[asyncio.Task[None]] = []

        async def status(visitor: str) -> int:
            code, task = await opened(live.EventStream(viewers, list, visitor))
            tasks.append(task)
            return code

        assert [await status(f"seat {n}") for n in range(5)] == [200] * 4 + [503]
        assert [await status("") for _ in range(6)] == [200] * 5 + [503]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
