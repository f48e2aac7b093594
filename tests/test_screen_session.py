"""The terminal is ours while a debate is on it, and as it was whenever it is not: at the end, stopped, or ended."""

from __future__ import annotations

import os
import signal
import time

import pytest
from viewer import Viewer, watching

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
        os.kill(viewer.pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(viewer.pid, signal.SIGCONT)
        before = viewer.glass.text
        viewer.see(lambda: viewer.glass.text != before)
        assert not viewer.plain
        viewer.press("q")
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
