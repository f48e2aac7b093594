"""The file with which a browser is opened: this user alone can read it, and it is soon gone."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from debate_orchestrator.web import server

ADDRESS = "http://127.0.0.1:8642/desk/0123456789abcdef/"


def test_the_file_is_private_and_soon_gone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mode does not depend on a file that was left by an earlier server, and it does not outlive its use."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here))
    monkeypatch.setattr(server, "PAGE_SECONDS", 0.2)
    left = here / "debate-orchestrator" / "serve" / "desk-8642.html"
    left.parent.mkdir(parents=True)
    left.write_text("left", encoding="utf-8")
    left.chmod(0o644)
    opened: list[tuple[str, int, str]] = []

    def open_file(address: str) -> bool:
        page = Path(unquote(urlsplit(address).path))
        opened.append((address, page.stat().st_mode & 0o777, page.read_text(encoding="utf-8")))
        return True

    monkeypatch.setattr(webbrowser, "open", open_file)
    assert server.open_desk(ADDRESS)

    ((address, mode, page),) = opened
    assert ADDRESS not in address and mode == 0o600 and f"url={ADDRESS}" in page
    end = time.monotonic() + 10
    while left.exists():
        assert time.monotonic() < end, "the file is still there"
        time.sleep(0.02)


def test_no_browser_is_opened_where_no_file_can_be_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed link has to do: the key never goes into an argument instead."""
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "file"))
    (here / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(webbrowser, "open", pytest.fail)

    assert not server.open_desk(ADDRESS)
