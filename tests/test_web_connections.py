"""Connections that are opened and say nothing, or never all of it, keep no browser out."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from web_visitor import TOKENS

from debate_orchestrator.web import server as web_server
from debate_orchestrator.web.server import create_app

HALF = b"GET /static/page.css HTTP/1.1\r\nHost: x\r\n"
PATIENCE = 90.0
SLOW_BODY = (
    b"POST /seat/a/b/c HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 9\r\n\r\ntext"
)


LARGE = 32_000_000
"""Bytes of an answer that fits into no buffer of the system."""


async def large(scope: Any, receive: Any, send: Any) -> None:
    """An app that answers every request with many bytes at once."""
    if scope["type"] == "http":
        headers = [(b"content-length", str(LARGE).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x" * LARGE})


def serving(visit: Callable[[int], Awaitable[None]], app: Any = None) -> None:
    """Visits a server of the working folder, or of another app, at its port."""

    async def serve() -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        served = app or create_app(TOKENS, [f"127.0.0.1:{port}"])
        config = uvicorn.Config(
            served,
            lifespan="auto" if app is None else "off",
            http=web_server.Connection,
            ws="none",
            log_level="critical",
            backlog=20,
            timeout_graceful_shutdown=1,
        )

        async def nothing() -> None:
            pass

        server = web_server.Server(config, nothing)
        running = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            await asyncio.wait_for(visit(port), PATIENCE)
        finally:
            server.should_exit = True
            await running

    asyncio.run(serve())


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
def test_a_head_has_to_come_in_time(here: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """A connection without one is closed, also where a byte comes now and then."""
    monkeypatch.setattr(web_server, "HEAD_SECONDS", 0.3)

    async def visit(port: int) -> None:
        reader = await opened(port, sent)
        for _ in range(3):
            await asyncio.sleep(0.05)
            reader.kept.write(b"X" if sent else b"")  # type: ignore[attr-defined]
        assert await reader.read() == b""

    serving(visit)


@pytest.mark.parametrize("kind", ["nothing", "half a head", "half a body"])
def test_unfinished_requests_keep_no_browser_out(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """With more of them than are kept, the oldest are closed, and a page is still served."""
    monkeypatch.setattr(web_server, "MOST_UNFINISHED", 40)
    monkeypatch.setattr(web_server, "HEAD_SECONDS", PATIENCE)

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
    monkeypatch.setattr(web_server, "MOST_UNFINISHED", 5)

    async def visit(port: int) -> None:
        reader = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        others = [await opened(port, HALF) for _ in range(20)]
        await others[0].read()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(LARGE)

    serving(visit, large)


def test_a_connection_serves_more_than_one_request(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that come whole are answered on one connection, and each starts its time anew."""
    monkeypatch.setattr(web_server, "HEAD_SECONDS", 0.3)

    async def visit(port: int) -> None:
        request = b"HEAD /static/page.css HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port
        reader = await opened(port, request)
        for _ in range(4):
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(0.2)
            reader.kept.write(request)  # type: ignore[attr-defined]

    serving(visit)
