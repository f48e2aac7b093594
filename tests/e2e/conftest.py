"""Windows of a browser, and folders that are served to them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from .ending import within
from .tmux import missing
from .window import BROWSERS, DESKTOP, FLAGS, PATIENCE, served


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    """A window of a browser, one for all tests here."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing("no Chromium is installed")
    api = (
        pytest.importorskip("playwright.sync_api")
        if os.environ.get("CI") != "true"
        else __import__("playwright.sync_api", fromlist=["sync_api"])
    )
    with ExitStack() as stack:
        with within(PATIENCE):
            playwright = stack.enter_context(api.sync_playwright())
            started = playwright.chromium.launch(executable_path=found, args=FLAGS)
            stack.callback(started.close)
            opened = started.new_page()
        yield opened
        with within(PATIENCE):
            stack.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "debates").mkdir()
    return tmp_path / "debates"


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder and the address of its dashboard, for debates that don't disturb one another."""
    folder = tmp_path_factory.mktemp("dashboard") / "debates"
    folder.mkdir()
    with served(folder) as (address, _):
        yield folder, address


@pytest.fixture
def watched() -> Iterator[None]:
    """What is asked of a page may take for ever; not here."""
    with within(2 * PATIENCE):
        yield


@pytest.fixture
def context(page: Any) -> Iterator[Any]:
    """A browser without cookies, with what its pages complain about."""
    fresh = page.context.browser.new_context(viewport={"width": DESKTOP, "height": 844})
    fresh.said = []
    fresh.on(
        "console", lambda message: fresh.said.append(message.text) if message.type in ("error", "warning") else None
    )
    fresh.on("weberror", lambda error: fresh.said.append(str(error.error)))
    yield fresh
    fresh.close()
