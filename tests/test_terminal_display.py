"""Finished rows stay in the scroll-back, open rows are written over; choices and widths are the same everywhere."""

from __future__ import annotations

import io
import re

import pytest
from corpus import for_each
from fake_terminal import FakeDisplay, FakeTerminal
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from debate_orchestrator.terminal.display import Display, beside, pack
from debate_orchestrator.util.terminal_text import match_option, moves, width_of


def row(text: str, style: str = "") -> Text:
    return Text(text, style)


def held(terminal: FakeTerminal, **environment: str) -> Display:
    display = FakeDisplay(terminal, **environment)
    display.acquire()
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


@pytest.mark.parametrize("forgotten", [False, True])
def test_finished_rows_wait_while_it_is_released(forgotten: bool) -> None:
    """After another job nothing is printed; what has waited is printed later, unless it is forgotten."""
    terminal = FakeTerminal()
    display = held(terminal)
    display.release()
    sent = terminal.raw
    display.paint([row("meanwhile")], [row("status")])
    assert terminal.raw == sent
    if forgotten:
        display.forget()
    display.acquire()
    assert ("meanwhile" in terminal.text) is not forgotten


def test_rows_that_waited_while_the_terminal_became_narrower() -> None:
    """They are broken again, so that none of their text is lost at the edge."""
    terminal = FakeTerminal(60)
    display = held(terminal)
    display.release()
    display.paint([row("  " + "word " * 10, "bold")], [])
    terminal.columns = 30
    display.acquire()

    assert terminal.text.splitlines() == ["  word word word word word", "    word word word word word"]


def test_columns_that_waited_while_the_terminal_became_narrower() -> None:
    """Each text stays in its own column."""
    terminal = FakeTerminal(60)
    display = held(terminal)
    display.release()
    cells = [row("  " + "left " * 5), row("  " + "right " * 4)]
    display.paint([beside([row("Left"), row("Right")], 28), beside(cells, 28), beside([None, cells[1]], 28)], [])
    terminal.columns = 34
    display.acquire()

    rows = [[part.strip() for part in line.split("│")] for line in terminal.text.splitlines()]
    assert rows[0] == ["Left", "Right"] and len(rows) > 5
    assert all(set(first.split()) <= {"left"} and set(second.split()) <= {"right"} for first, second in rows[1:])
    assert " ".join(first for first, _ in rows[1:]).split() == ["left"] * 5
    assert " ".join(second for _, second in rows[1:]).split() == ["right"] * 8


def test_no_text_moves_the_cursor() -> None:
    """Whatever escape sequence a text holds is shown as text, in finished rows and in open ones."""
    sequence = "\x1b[2J\x1b]0;title\x07\x1b[9;9H\x9b1A\u202e\n"
    hostile, plain = FakeTerminal(), FakeTerminal()
    for terminal, text in ((hostile, sequence), (plain, "")):
        rows = [row(f"done{text}."), row(f"bold{text}.", "bold")]
        held(terminal).paint(rows, [row(f"open{text}.")])

    assert "[2J" in hostile.text
    assert not re.search("[\x07\x9b\u202e]", hostile.raw)
    moving = r"\x1b(?!\[[\d;]*m).[^a-zA-Z]*[a-zA-Z]"
    assert re.findall(moving, hostile.raw) == re.findall(moving, plain.raw)


def test_a_terminal_that_is_closed() -> None:
    """A terminal that can't be written to any more doesn't stop the debate, and is not written to again."""

    attempts: list[str] = []

    class Closed(io.StringIO):
        encoding = "utf-8"

        def write(self, text: str) -> int:
            attempts.append(text)
            raise OSError(5, "closed")

    display = Display(Closed(), {"TERM": "xterm"})
    display.acquire()
    display.paint([row("x")], [])
    display.release()

    assert len(attempts) == 1


@given(st.lists(st.text("ab 日é👍", min_size=1), max_size=9), st.integers(2, 120))
def test_parts_are_packed_into_rows(parts: list[str], width: int) -> None:
    """However narrow the terminal, no row is wider; rows break between parts where a part fits."""
    assert all(width_of(row.plain) <= width for row in pack(parts, width, ""))
    rows = pack(["Round 1 of 3", "Challenge", "12 s", "stopping when the answers are in"], 26, "")
    assert [row.plain.rstrip() for row in rows] == [
        "Round 1 of 3 · Challenge",
        "12 s",
        "stopping when the answers",
        "        are in",
    ]


OPTIONS = ("lenient", "strict", "stricter", "3", "A")


CHOICES = [
    ("strict", "strict"),
    (" Strict ", "strict"),
    ("2", "strict"),
    ("3", "3"),
    ("len", "lenient"),
    ("stri", None),
    ("a", "A"),
    ("0", None),
    ("6", None),
    ("٢", None),
    ("0000010", None),
    ("9" * 50, None),
    ("", None),
    ("neither", None),
]


def test_what_was_chosen() -> None:
    """A choice is made by its name, which comes before all else, by its number, or by a beginning that is its alone."""
    for said, expected in CHOICES:
        assert match_option(OPTIONS, said) == expected, said


@for_each([("xterm", True), ("dumb", False), ("DUMB", False), ("", False)])
def test_whether_the_cursor_moves(term: str, expected: bool) -> None:
    """A terminal that says it is dumb, or nothing, has no cursor to be moved."""
    assert moves({"TERM": term}) is expected
    assert not moves({})
