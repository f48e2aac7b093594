"""Keys are read one by one without an echo, and the terminal is given back as it was, whatever stops or ends it."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
import termios
from collections.abc import Awaitable, Callable, Iterator

import pytest
from fake_terminal import Shown
from viewer import Viewer, watching

from debate_orchestrator.terminal import keys
from debate_orchestrator.terminal.keys import TerminalControl

SLOW = ("demo", "--name", "free-transit", "--pace", "300")
FIRST = "Once a bus is scheduled to run"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """Both ends of a terminal in whose foreground we are."""
    monkeypatch.setattr(keys, "in_foreground", os.isatty)
    monkeypatch.setattr(keys, "TICK_SECONDS", 0.001)
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


def echoes(end: int) -> bool:
    return bool(termios.tcgetattr(end)[3] & termios.ECHO)


def during(
    check: Callable[[TerminalControl, Shown], Awaitable[None]], descriptor: int | None, pressed: list[str] | None = None
) -> Shown:
    """Checks something while a session holds a terminal; what it showed."""
    shown = Shown()

    async def hold() -> None:
        press = (pressed if pressed is not None else []).append
        async with TerminalControl(shown.live, press, descriptor) as session:
            await check(session, shown)

    asyncio.run(hold())
    return shown


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.001)


def test_keys_are_read(terminal: tuple[int, int]) -> None:
    """While a session holds the terminal, keys come one by one and unechoed; then it is as it was before."""
    master, slave = terminal
    before, pressed = termios.tcgetattr(slave), list[str]()

    async def check(session: TerminalControl, shown: Shown) -> None:
        assert session.reads_keys and not echoes(slave)
        os.write(master, b"pq")
        await until(lambda: len(pressed) == 2)

    during(check, slave, pressed)
    assert pressed == ["p", "q"]
    assert termios.tcgetattr(slave) == before and echoes(slave)


@pytest.mark.parametrize("given_back", [True, False], ids=("given back", "left"))
def test_a_terminal_that_is_lent(terminal: tuple[int, int], given_back: bool) -> None:
    """While the terminal is lent nothing is shown, no key is read and Ctrl-Z is the borrower's; what was finished
    meanwhile is shown when it is taken back, and never where the debate is left before."""

    async def check(session: TerminalControl, shown: Shown) -> None:
        shown.live.message("before")
        session.lend()
        assert signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL
        shown.live.message("meanwhile")
        await asyncio.sleep(0.05)
        assert "meanwhile" not in shown.terminal.raw and not shown.terminal.hidden
        assert not session.reads_keys
        if given_back:
            session.take_back()
            shown.live.paint()
            assert shown.terminal.hidden and session.reads_keys

    shown = during(check, terminal[1])
    assert not shown.terminal.hidden and "before" in shown.terminal.text
    assert ("meanwhile" in shown.terminal.text) == given_back


def started(viewer: Viewer) -> None:
    """Looks until the first speech is being shown."""
    viewer.see_text(FIRST)
    viewer.see(lambda: "q quit" in viewer.glass.text)
    assert viewer.glass.hidden and not viewer.plain


@pytest.mark.slow
@pytest.mark.parametrize("ending", [None, signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_whatever_ends_it(ending: signal.Signals | None) -> None:
    """q, or a signal that ends the process, ends it after the terminal was given back, with no status left."""
    with watching(*SLOW) as viewer:
        started(viewer)
        if ending is None:
            viewer.press("q")
        else:
            os.kill(viewer.pid, ending)
        assert viewer.see_end() == (0 if ending is None else 130)
        assert viewer.plain and not viewer.glass.hidden
        assert not re.search("─|Traceback", viewer.glass.text)
