"""The terminal is ours while a debate is on it, and as it was whenever it is not: at the end, stopped, or ended."""

from __future__ import annotations

import asyncio
import os
import re
import signal

import debates
import pytest
from glass import Glass, OnGlass
from viewer import Viewer, watching

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen import session as session_module
from debate_orchestrator.screen.keys import Press
from debate_orchestrator.screen.live import Live
from debate_orchestrator.screen.session import Session

SLOW = ("demo", "--pace", "300")
FIRST = "A national election creates"


def begun(viewer: Viewer) -> None:
    """Looks until the first speech is being shown."""
    viewer.see_text(FIRST)
    viewer.see(lambda: "q quit" in viewer.glass.text)


def test_it_is_held() -> None:
    """While it is held nothing typed is echoed and no cursor is seen; afterwards both are back."""
    with watching(*SLOW) as viewer:
        begun(viewer)
        assert viewer.glass.hidden and not viewer.plain
        viewer.press("q")
        assert viewer.see_end() == 0
        assert viewer.plain and not viewer.glass.hidden
        assert "─" not in viewer.glass.text


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_whatever_ends_it(ending: signal.Signals) -> None:
    """A signal that ends the process ends it, after the terminal was given back."""
    with watching(*SLOW) as viewer:
        begun(viewer)
        os.kill(viewer.pid, ending)
        assert viewer.see_end() == (130 if ending == signal.SIGINT else -ending)
        assert viewer.plain and not viewer.glass.hidden
        assert "Traceback" not in viewer.glass.text


def test_continued_from_outside() -> None:
    """A process that was stopped and goes on takes the terminal again, whatever was made of it meanwhile, and shows
    nothing twice."""
    with watching(*SLOW) as viewer:
        begun(viewer)
        viewer.stop()
        viewer.make_plain()
        before = len(viewer.glass.raw)
        os.kill(viewer.pid, signal.SIGCONT)
        viewer.see(lambda: bool(re.search(r"\x1b\[\?25h.*\x1b\[\?25l", viewer.glass.raw[before:], re.DOTALL)))
        assert not viewer.plain
        viewer.press("q")  # no sooner: what is typed before the terminal is taken again is dropped
        assert viewer.see_end() == 0
        assert viewer.plain
        assert viewer.glass.text.count(FIRST) == 1


def test_resized_in_the_middle() -> None:
    """However the terminal is resized while a speech comes, what was printed stays, once and in order."""
    with watching(*SLOW, columns=100) as viewer:
        begun(viewer)
        for columns, rows in ((50, 10), (130, 40), (30, 8), (90, 24)):
            viewer.resize(columns, rows)
            before = viewer.glass.raw
            viewer.see(lambda before=before: len(viewer.glass.raw) > len(before) + 200)  # type: ignore[misc]
        viewer.press("x")
        viewer.see_text("Opening Statement — Researcher B")
        viewer.press("q")
        viewer.see_end()
        text = " ".join(viewer.glass.text.split())
        assert text.count("that rejection visible.") == text.count(FIRST) == 1
        assert "─" not in text.partition("Opening Statement — Researcher B")[0]


def test_nobody_can_press_keys() -> None:
    """Where no keys can be read, none is offered, and the debate is shown all the same."""
    with watching("demo", "--no-pace", TERM="dumb") as viewer:
        assert viewer.see_end() == 0
        assert "\x1b" not in viewer.glass.raw
        assert "Dissent record: 8 disputed claims" in viewer.glass.text


@pytest.mark.parametrize("given_back", [True, False], ids=("given back", "left"))
def test_it_is_lent(given_back: bool) -> None:
    """While it is lent nothing is shown, and stopping the process is the borrower's; what was finished meanwhile is
    shown when it is given back, and never where the debate is left before."""

    async def lending() -> str:
        glass = Glass()
        terminal = OnGlass(glass)
        live = Live(DebateState([debates.opening()]), terminal)
        async with Session(live, terminal, lambda key: None) as session:
            live.say("before")
            session.lend()
            assert signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL
            live.say("meanwhile")
            await asyncio.sleep(0.1)
            assert "meanwhile" not in glass.raw and not glass.hidden
            if given_back:
                session.take_back()
                live.paint()
                assert glass.hidden
        assert not glass.hidden
        return glass.text

    text = asyncio.run(lending())
    assert "before" in text
    assert ("meanwhile" in text) == given_back


class Keys:
    """A keyboard that can be taken while its job is in front."""

    front = True

    def __init__(self, descriptor: int, press: Press):
        self.descriptor, self.taken, self.takes = descriptor, False, 0

    def take(self) -> None:
        if self.front and not self.taken:
            self.taken, self.takes = True, self.takes + 1

    def give_back(self) -> None:
        self.taken = False


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> type[Keys]:
    class Own(Keys):
        pass

    monkeypatch.setattr(session_module, "Keyboard", Own)
    monkeypatch.setattr(session_module, "_descriptor", lambda: 0)
    monkeypatch.setattr(session_module, "in_front", lambda descriptor: Own.front)
    monkeypatch.setattr(session_module, "TICK", 0.001)
    return Own


def on_glass() -> Session:
    terminal = OnGlass(Glass())
    return Session(Live(DebateState([debates.opening()]), terminal), terminal, lambda key: None)


async def heard(session: Session, hears: bool) -> None:
    """Waits until keys are read, or not; and then for many more looks, after which that is as it was."""
    async with asyncio.timeout(30):
        while session.hears is not hears:
            await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)
    assert session.hears is hears


def test_keys_are_read_once_its_job_is_put_in_front(keys: type[Keys]) -> None:
    """Behind another job no key is read; in front of it they are, though no signal says so, and are taken once."""

    async def behind() -> None:
        keys.front = False
        async with on_glass() as session:
            await heard(session, False)
            keys.front = True
            await heard(session, True)
            assert isinstance(session._keyboard, Keys) and session._keyboard.takes == 1

    asyncio.run(behind())


def test_keys_of_a_lent_terminal_are_the_borrower_s(keys: type[Keys]) -> None:
    """While the terminal is lent its keys are not taken, though its job is in front; they are when it is back."""

    async def lending() -> None:
        async with on_glass() as session:
            await heard(session, True)
            session.lend()
            await heard(session, False)
            session.take_back()
            await heard(session, True)

    asyncio.run(lending())
