"""What tests in a real browser share: a served folder, its form, and what is looked at on every page."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from started import PATIENCE as STARTING

from .ending import within
from .tmux import missing

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PHONE, DESKTOP = 390, 1280
PATIENCE = 60
"""Seconds that a test, or the start or end of the browser, may take; each takes about one."""


HELD_SPEAKER = r"""
import pathlib, re, sys, time
number = re.search(r"wait (\d) times|$", sys.stdin.read())[1] or ""
print("First comes a claim, \U0001f389\U0001f389\U0001f389 as long as pages show at once,", flush=True)
time.sleep(0.3)
print("a second, which pages show as far as they show a reply while it is being written,\n" * 9, flush=True)
while not pathlib.Path(__file__).with_name("go" + number).exists():
    time.sleep(0.05)
print("and then the reason for it.")
"""
"""Ends its speeches only once there is a file `go` beside it; in a debate about waiting N times, a file goN."""


def held_speaker(folder: Path) -> str:
    """A program that holds its speeches until `let_go` is called."""
    program = folder.parent / "speaker.py"
    program.write_text(HELD_SPEAKER, encoding="utf-8")
    return shlex.join([f"command:{sys.executable}", str(program)])


def let_go(folder: Path, number: str = "") -> None:
    """Lets the program end its speeches, in the debate of that number."""
    (folder.parent / f"go{number}").touch()


def without_rapporteur(window: Any) -> None:
    """Leaves out the list of issues and the brief, which the held program would be asked for in place of a stand-in."""
    window.locator("summary", has_text="More").click()
    for name in ("issues", "brief"):
        window.locator(f"[name='{name}']").select_option("no")


@contextmanager
def served(
    folder: Path, port: int = 0, browser: str = "", host: str = ""
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of the dashboard of a folder, and the server's process, which opens a `browser` if one is given, and
    is asked for by the name of a `host` too."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"HOME": str(folder.parent / "home"), "XDG_STATE_HOME": str(folder.parent / "state")}
    environment["BROWSER"] = browser
    command = [sys.executable, "-m", "debate_orchestrator", "serve", "--port", str(port)]
    command += [] if browser else ["--no-browser"]
    command += ["--allowed-host", host] if host else []
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        with within(STARTING):
            assert server.stdout is not None
            address = server.stdout.readline().strip()
        assert re.match(r"http://127\.\d+\.\d+\.\d+:\d+/dashboard/", address), address
        yield address, server
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(STARTING)


def fits(window: Any) -> None:
    """The page is no wider than its window, at the size of a phone and at that of a dashboard."""
    for width in (PHONE, 1440):
        window.set_viewport_size({"width": width, "height": 844})
        assert window.evaluate("document.documentElement.scrollWidth") <= width, window.url


def accessible(window: Any) -> None:
    """Axe finds nothing by day, and by night no colours that can't be told apart: nothing else is different then."""
    if not AXE.is_file():
        missing("axe-core is not installed")
    window.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]})):
        window.emulate_media(color_scheme=scheme)
        options = {"preload": False, "resultTypes": ["violations"], **rules}
        found = window.evaluate("options => axe.run(document, options)", options)["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == [], (window.url, scheme)


def looked_at(window: Any) -> None:
    fits(window)
    accessible(window)


def follow(window: Any, link: Any) -> None:
    """Clicks on a link or a button that leads to another page, and waits until that page has come: a click alone
    returns while the old page still stands."""
    with window.expect_navigation():
        link.click()


def fill_in(
    window: Any, address: str, rounds: str = "1", *, people: Iterable[str] = (), program: str = "", to: str = ""
) -> None:
    """Fills in the form of a debate with people in some seats, or a program, up to what the debate takes."""
    window.goto(address)
    window.goto(f"{address}new")
    window.get_by_label("What is to be debated?").fill("Is a reason better than a claim?")
    window.locator("[name='rounds']").fill(rounds)
    for seat in people:
        window.locator(f"[name='cast.{seat}']").select_option("human")
    if program:
        window.locator("[name='positions.a']").fill("A reason is better.")
        window.locator("[name='positions.b']").fill("A claim is better.")
        without_rapporteur(window)
        window.get_by_text("Other models").click()
    for seat in to:
        window.locator(f"[name='other.{seat}']").fill(program)
    follow(window, window.get_by_role("button", name="Next: what it takes"))


def begin(window: Any, address: str, rounds: str = "1", **filled_in: Any) -> None:
    """Begins such a debate. Its page is then in the window."""
    fill_in(window, address, rounds, **filled_in)
    if filled_in.get("to"):
        window.get_by_label("I trust it with that").check()
    window.get_by_role("button", name="Start the debate").click()
    window.wait_for_url("**/debates/*")


def seat_link(window: Any, name: str) -> str:
    """The address that the page of a debate has for a seat."""
    link = window.get_by_role("link", name=name, exact=True).get_attribute("href")
    return f"{window.url.partition('/dashboard/')[0]}{link}"


def on_a_phone(page: Any, address: str) -> Any:
    """A window of another browser, the size of a phone, at that address."""
    window = page.context.browser.new_context(viewport={"width": PHONE, "height": 844}).new_page()
    window.goto(address)
    return window
