"""What is finished stays in the scroll-back as it was printed; what is open is written over below it."""

from __future__ import annotations

import io
import os
import pty
import re

import pytest
from glass import Glass, OnGlass
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.screen.cells import Line, Span
from debate_orchestrator.screen.terminal import Terminal


def line(text: str, style: str = "") -> Line:
    return (Span(text, style),) if text else ()


def on(glass: Glass, **environment: str) -> Terminal:
    """A terminal that is held."""
    terminal = OnGlass(glass, {"TERM": "xterm", **environment})
    terminal.hold()
    return terminal


def test_the_open_part_is_written_over() -> None:
    """Painting again replaces what was open; what is finished goes above it."""
    glass = Glass()
    terminal = on(glass)
    terminal.paint([], [line("open"), line("status")])
    terminal.paint([line("done")], [line("open too"), line("status")])
    assert glass.text == "done\nopen too\nstatus"

    terminal.paint([], [line("status")])
    assert glass.text == "done\nstatus"
    terminal.let_go()
    assert glass.text == "done" and not glass.hidden


def test_what_is_as_it_was_is_not_sent_again() -> None:
    """Where nothing is new nothing is written."""
    glass = Glass()
    terminal = on(glass)
    terminal.paint([], [line("open")])
    before = glass.raw
    terminal.paint([], [line("open")])

    assert glass.raw == before


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(20, 60), st.integers(5, 12)),
        min_size=1,
        max_size=20,
    )
)
def test_the_scroll_back_is_whole(steps: list[tuple[int, int, int, int]]) -> None:
    """Whatever is open in between, and however the terminal is resized, every finished line is there once, in order."""
    glass, count = Glass(60, 12), 0
    terminal = on(glass)
    for finished, still_open, glass.columns, glass.rows in steps:
        new = [line(f"line {count + n}") for n in range(finished)]
        count += finished
        terminal.paint(new, [line(f"open {n} " + "x" * 12) for n in range(still_open)])
    terminal.paint([], [])

    assert glass.text.splitlines() == [f"line {n}" for n in range(count)]


def test_lines_that_are_too_wide_do_not_shift_what_is_open() -> None:
    """Where a terminal shows the open part wider than it was measured, it is cut there, and nothing is pushed down."""
    glass = Glass(10, 6)
    terminal = on(glass)
    for n in range(4):
        terminal.paint([line(f"done {n}")], [line("much too wide for it"), line("status")])

    assert glass.text.splitlines() == ["done 0", "done 1", "done 2", "done 3", "much too w", "status"]


def test_columns_begin_where_they_should() -> None:
    """A span with a place of its own begins there, whatever width the terminal gave to what is before it."""
    glass = Glass()
    on(glass).paint([(Span("left"), Span("| ", "dim", 10), Span("right"))], [])

    assert glass.text == "left      | right"


def test_no_colour() -> None:
    """NO_COLOR takes the colours away and leaves what is bold; a terminal that can't move gets plain text alone."""
    for environment, codes in (({}, {"1;36", "0"}), ({"NO_COLOR": "1"}, {"1", "0"}), ({"TERM": "dumb"}, set())):
        glass = Glass()
        on(glass, **environment).paint([line("a heading", "first")], [line("status")])
        assert set(re.findall(r"\x1b\[([\d;]*)m", glass.raw)) == codes


@pytest.mark.parametrize("term", ["dumb", "", "unknown"])
def test_a_terminal_that_can_not_move(term: str) -> None:
    """Where lines can't be written over, the finished ones are printed, one after the other, and nothing else."""
    glass = Glass()
    terminal = on(glass, TERM=term)
    terminal.paint([line("one")], [line("open")])
    terminal.paint([line("two", "bold")], [line("open")])
    terminal.let_go()

    assert glass.raw == "one\ntwo\n"


def test_nothing_is_printed_while_it_is_let_go() -> None:
    """Behind another job nothing is printed; it is when the terminal is held again."""
    glass = Glass()
    terminal = on(glass)
    terminal.let_go()
    before = glass.raw
    terminal.paint([line("meanwhile")], [line("status")])
    assert glass.raw == before

    terminal.hold()
    assert "meanwhile" in glass.text


def test_other_encodings() -> None:
    """Where the terminal's encoding lacks what the house draws with, plain characters stand for it; of what others
    said, each character that it lacks is a question mark."""

    class Latin(Glass):
        encoding = "ascii"

    glass = Latin()
    on(glass).paint([line("██▌░ — │ 日é")], [])

    assert glass.text == "###- - | ??"


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_nothing_that_is_said_moves_the_cursor(term: str) -> None:
    """Whatever order a span holds is shown as text, in what is finished and in what is open."""
    order = "\x1b[2J\x1b]0;title\x07\x1b[9;9H\x9b1A\u202e"
    said, plain = Glass(), Glass()
    for glass, text in ((said, order), (plain, "")):
        on(glass, TERM=term).paint([line(f"done{text}."), line(f"bold{text}.", "bold")], [line(f"open{text}.")])

    assert "[2J" in said.text
    assert not re.search("[\x07\x9b\u202e]", said.raw)
    assert re.findall(r"\x1b[^m]*?[A-Za-z]", said.raw) == re.findall(r"\x1b[^m]*?[A-Za-z]", plain.raw)


def test_a_terminal_that_is_gone() -> None:
    """Nobody looks any more: the debate is not disturbed."""

    class Gone(io.StringIO):
        encoding = "utf-8"

        def write(self, text: str) -> int:
            raise OSError(5, "gone")

    terminal = Terminal(Gone(), {"TERM": "xterm"})
    terminal.hold()
    terminal.paint([line("x")], [])
    terminal.let_go()


def test_the_size_is_asked_each_time() -> None:
    """The size is that of the terminal now; where there is none to ask, or it says 0, it is 80 by 24."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream, os.fdopen(master):
        assert Terminal(stream, {}).size() == (80, 24)
    assert Terminal(io.StringIO(), {}).size() == (80, 24)


def test_what_is_forgotten_is_never_printed() -> None:
    """What came while the terminal was let go can be forgotten; what comes later is printed."""
    glass = Glass()
    terminal = on(glass)
    terminal.let_go()
    terminal.paint([line("secret")], [])
    terminal.forget()
    terminal.hold()
    terminal.paint([line("open")], [])

    assert "secret" not in glass.raw and "open" in glass.text
