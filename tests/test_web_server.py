"""The server: viewers of a live debate, and opening a browser."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from debate_orchestrator.web import live, server


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
