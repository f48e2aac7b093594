"""The server: viewers of a live debate, and opening a browser."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import Run
from public_server import ask, served_public

from debate_orchestrator.web import live, server


def test_what_waits_for_a_viewer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a debate that says more than a viewer reads, no more than a fixed number of messages waits for them; then
    their stream ends, and the browser opens another that begins with how things stand. Each of the viewers who read
    gets every message, also the one with which another viewer has too many."""
    monkeypatch.setattr(live, "_MAX_WAITING", 10)
    viewers = live.Viewers()
    queues = [viewers.join() for _ in range(20)]
    full, quick = queues[7], queues[:7] + queues[8:]
    for number in range(1_000):
        viewers.broadcast("text", number)
        assert [viewer.get_nowait() for viewer in quick] == [live.message("text", number)] * 19
    waiting = [full.get_nowait() for _ in range(full.qsize())]
    assert waiting == [*(live.message("text", number) for number in range(10)), None]


def test_a_host_is_a_name(debate: Run) -> None:
    """A server that no browser could ask for by its name is not begun."""
    for host in ("http://debate.example.org", "debate.example.org/path", "*", "", "debate..org", "a.org:70000"):
        ran = debate("serve", "--no-browser", "--port", "0", "--allowed-host", host)
        assert ran.code == 2 and "is not the name of a host" in ran.err, host


ADDRESS = "http://127.0.0.1:8642/dashboard/0123456789abcdef/"


def test_the_file_is_private_and_soon_gone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mode does not depend on a file that was left by an earlier server, and it outlives neither its use nor the
    process that wrote it."""
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

    code = (
        "import webbrowser; from debate_orchestrator.web import server\n"
        f"webbrowser.open = lambda address: print(address); server.open_dashboard({ADDRESS!r})"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(here.as_uri()) and not left.exists()


_HEAD = "POST /start HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
_FORM, _CHUNKED = "Content-Type: application/x-www-form-urlencoded\r\n", "Transfer-Encoding: chunked\r\n\r\n"
_BROKEN = [
    (_HEAD + _CHUNKED, "ZZZ\r\n"),
    (_HEAD + _CHUNKED, "3\r\na=b\r\n", "ZZZ\r\n"),
    (_HEAD + _FORM + _CHUNKED, "ZZZ\r\n"),
    (_HEAD + _FORM + _CHUNKED, "3\r\na=b\r\n", "ZZZ\r\n"),
    (_HEAD + _FORM + "Content-Length: 9\r\n\r\n", "a=b"),
]
"""Requests that are malformed or end too soon, in pieces."""


def test_a_broken_request_leaves_no_trace(here: Path) -> None:
    """A stranger who sends no proper request, or leaves in the middle of one, writes nothing into the log."""

    async def visit(port: int, *pieces: str) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in pieces:
            writer.write(piece.replace("{port}", str(port)).encode())
            await asyncio.sleep(0.1)
        writer.close()

    async def visits(port: int) -> int:
        for pieces in _BROKEN:
            await visit(port, *pieces)
            await visit(port, "".join(pieces))
        return (await ask(port, "/")).status

    seats = dict.fromkeys(("a", "b", "judge"), "rehearse")
    with served_public(here, {"offers": {"x": {"cast": seats, "free": True}}}) as served:
        assert asyncio.run(visits(served.port)) == 200
        assert (here / "log").read_text("utf-8").count("\n") == 1  # what it says as it begins
