"""Viewers of a live debate: many of them, and slow ones, hold up neither the debate nor each other."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from public_server import Served, ask, served_public, start, watch

from debate_orchestrator.web import live

SPEAKER = """\
import sys, time
sys.stdin.read()
for n in range(60):
    print(f"Reason {n} is " + "w" * 400, end=" ", flush=True)
    time.sleep(0.01)
"""


def test_a_slow_viewer_is_dropped_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer who reads nothing is let go after a while, and no one waits for them: telling takes no time, and the
    others have heard everything by then."""
    monkeypatch.setattr(live, "_SEND_SECONDS", 2.0)

    async def run() -> None:
        audience, heard = live.Audience(), []

        async def receive() -> Any:
            await asyncio.sleep(3600)

        async def deaf(message: Any) -> None:
            if message["type"] == "http.response.body":
                await asyncio.sleep(3600)

        async def hears(message: Any) -> None:
            heard.append(message.get("body", b""))

        def view(send: Any) -> asyncio.Task[None]:
            return asyncio.create_task(live.EventStream(audience, list)({}, receive, send))

        slow, quick = view(deaf), view(hears)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for number in range(500):
            audience.tell("text", number)
        async with asyncio.timeout(60):
            while sum(body.startswith(b"event: text") for body in heard) < 500:
                await asyncio.sleep(0.01)
            assert not slow.done()
            await slow
        audience.tell("text", "after")
        await asyncio.sleep(0.05)
        assert b'"after"' in heard[-1] and len(audience._viewers) == 1
        audience.close()
        await asyncio.wait_for(quick, 5)
        assert not audience._viewers

    asyncio.run(run())


def test_what_waits_for_a_viewer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a debate that says more than a viewer reads, no more than a fixed number of messages waits for them; then
    their stream ends, and the browser opens another that begins with how things stand."""
    monkeypatch.setattr(live, "_MOST_WAITING", 10)
    audience = live.Audience()
    viewer = audience.join()
    for number in range(1_000):
        audience.tell("text", number)
    waiting = [viewer.get_nowait() for _ in range(viewer.qsize())]
    assert len(waiting) == 11 and waiting[-1] is None


def site(folder: Path) -> dict[str, Any]:
    """Rules of a site in which a program speaks for seconds."""
    (folder / "speaker.py").write_text(SPEAKER, encoding="utf-8")
    program = f"command:{sys.executable} {folder / 'speaker.py'}"
    settings = {"issues": False, "brief": False}
    cast = {"about": "x", "cast": {"a": program, "b": program, "judge": "rehearse"}, "free": True, **settings}
    return {"casts": {"one": cast}, "debates_per_visitor": 100}


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
