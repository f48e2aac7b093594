"""Finished rows stay in the scroll-back as they were printed; open rows are written over below them."""

from __future__ import annotations

import io
import os
import pty
import re

import pytest
from fake_terminal import FakeDisplay, FakeTerminal
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from debate_orchestrator.terminal.display import SIDES, Display, Row, packed


def row(text: str, style: str = "") -> Row:
    return (Text(text, style),)


def held(terminal: FakeTerminal, **environment: str) -> Display:
    display = FakeDisplay(terminal, **environment)
    display.hold()
    return display


def test_open_rows_are_written_over() -> None:
    """Painting again replaces the open rows and adds the finished ones above; nothing is sent twice, and release
    leaves only what is finished."""
    terminal = FakeTerminal()
    display = held(terminal)
    display.paint([], [row("open"), row("status")])
    sent = terminal.raw
    display.paint([], [row("open"), row("status")])
    assert terminal.raw == sent

    display.paint([row("done")], [row("open too"), row("status")])
    assert terminal.text == "done\nopen too\nstatus"
    display.paint([], [row("status")])
    display.release()
    assert terminal.text == "done" and not terminal.hidden


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(20, 60), st.integers(5, 12)),
        min_size=1,
        max_size=20,
    )
)
def test_the_scroll_back_is_whole(steps: list[tuple[int, int, int, int]]) -> None:
    """However the terminal is resized between paints, every finished row is there once, in order, and nothing else."""
    terminal, count = FakeTerminal(60, 12), 0
    display = held(terminal)
    for finished, still_open, terminal.columns, terminal.rows in steps:
        new = [row(f"row {count + n}") for n in range(finished)]
        count += finished
        display.paint(new, [row(f"open {n} " + "x" * 12) for n in range(still_open)])
    display.paint([], [])

    assert terminal.text.splitlines() == [f"row {n}" for n in range(count)]


def test_text_that_is_wider_than_measured_shifts_nothing() -> None:
    """An open row that the terminal shows too wide is cut there; a column begins in its place all the same."""
    terminal = FakeTerminal(10, 6)
    display = held(terminal)
    for n in range(3):
        display.paint([row(f"done {n}")], [row("much too wide for it"), row("status")])
    assert terminal.text.splitlines() == ["done 0", "done 1", "done 2", "much too w", "status"]

    wide = FakeTerminal()
    held(wide).paint([(Text("left".ljust(10)), Text("| "), Text("right"))], [])
    assert wide.text == "left      | right"
    assert "\x1b[11G| " in wide.raw


@pytest.mark.parametrize(
    ("environment", "codes"), [({}, {"1;36", "0"}), ({"NO_COLOR": "1"}, {"1", "0"}), ({"TERM": "dumb"}, set())]
)
def test_no_colour(environment: dict[str, str], codes: set[str]) -> None:
    """NO_COLOR leaves what is bold and takes the colours away; a terminal that can't move gets no codes at all."""
    terminal = FakeTerminal()
    held(terminal, **environment).paint([row("a heading", SIDES[0])], [row("status")])
    assert set(re.findall(r"\x1b\[([\d;]*)m", terminal.raw)) == codes


@pytest.mark.parametrize("term", ["dumb", "", "unknown"])
def test_a_terminal_that_can_not_move(term: str) -> None:
    """Where rows can't be written over, the finished ones are printed and nothing else."""
    terminal = FakeTerminal()
    display = held(terminal, TERM=term)
    display.paint([row("one")], [row("open")])
    display.paint([row("two", "bold")], [row("open")])
    display.release()
    assert terminal.raw == "one\ntwo\n"


@pytest.mark.parametrize("forgotten", [False, True])
def test_finished_rows_wait_while_it_is_released(forgotten: bool) -> None:
    """Behind another job nothing is printed; what has waited is printed later, unless it is forgotten."""
    terminal = FakeTerminal()
    display = held(terminal)
    display.release()
    sent = terminal.raw
    display.paint([row("meanwhile")], [row("status")])
    assert terminal.raw == sent
    if forgotten:
        display.forget()
    display.hold()
    assert ("meanwhile" in terminal.text) is not forgotten


def test_other_encodings() -> None:
    """Where the encoding lacks what the view draws with, plain characters replace it; anything else becomes `?`."""

    class Ascii(FakeTerminal):
        encoding = "ascii"

    terminal = Ascii()
    held(terminal).paint([row("██▌░ — │ 日é")], [])
    assert terminal.text == "###- - | ??"


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_no_text_moves_the_cursor(term: str) -> None:
    """Whatever escape sequence a text holds is shown as text, in finished rows and in open ones."""
    sequence = "\x1b[2J\x1b]0;title\x07\x1b[9;9H\x9b1A\u202e\n"
    hostile, plain = FakeTerminal(), FakeTerminal()
    for terminal, text in ((hostile, sequence), (plain, "")):
        rows = [row(f"done{text}."), row(f"bold{text}.", "bold")]
        held(terminal, TERM=term).paint(rows, [row(f"open{text}.")])

    assert "[2J" in hostile.text
    assert not re.search("[\x07\x9b\u202e]", hostile.raw)
    moving = r"\x1b(?!\[[\d;]*m).[^a-zA-Z]*[a-zA-Z]"
    assert re.findall(moving, hostile.raw) == re.findall(moving, plain.raw)


def test_a_terminal_that_is_closed() -> None:
    """A terminal that can't be written to any more doesn't stop the debate."""

    class Closed(io.StringIO):
        encoding = "utf-8"

        def write(self, text: str) -> int:
            raise OSError(5, "closed")

    display = Display(Closed(), {"TERM": "xterm"})
    display.hold()
    display.paint([row("x")], [])
    display.release()


def test_an_unknown_size() -> None:
    """Where there is no size to ask for, or it is 0, it is 80 by 24."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream, os.fdopen(master):
        assert Display(stream, {}).size() == (80, 24)
    assert Display(io.StringIO(), {}).size() == (80, 24)


@given(st.lists(st.text("ab 日é👍", min_size=1), max_size=9), st.integers(2, 120))
def test_parts_are_packed_into_rows(parts: list[str], width: int) -> None:
    """However narrow the terminal, no row is wider; rows break between parts where a part fits."""
    assert all(cell_len(cell.plain) <= width for cells in packed(parts, width) for cell in cells)
    rows = packed(["Round 1 of 3", "Challenge", "12 s", "stopping when the answers are in"], 26)
    assert [cells[0].plain.rstrip() for cells in rows] == [
        "Round 1 of 3 · Challenge",
        "12 s",
        "stopping when the answers",
        "are in",
    ]
