"""Wherever a person is asked or told something, choices, widths and ways back are the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.util.sanitize import sanitize
from debate_orchestrator.util.terminal_text import WIDEST, chosen, moves, numbered, wrapped

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
        assert chosen(OPTIONS, said) == expected, said


def test_names_that_are_nearly_the_same() -> None:
    """Of names that differ in their capitals alone the very one counts; where none is, nothing was chosen."""
    assert chosen(("no", "No"), "No") == "No"
    assert chosen(("no", "No"), "NO") is None


def test_no_beginning() -> None:
    """Where beginnings do not count, only a whole name or a number is a choice."""
    assert chosen(OPTIONS, "len", begun=False) is None
    assert chosen(OPTIONS, "1", begun=False) == "lenient"


@given(st.text() | st.from_regex(r"[0-9]{1,9}", fullmatch=True), st.integers(min_value=0, max_value=20))
def test_any_text_is_an_option_or_none(said: str, most: int) -> None:
    """Whatever is typed is one of the options, or none of them; a number is within its bounds."""
    assert chosen(OPTIONS, said) in (*OPTIONS, None)
    n = numbered(said, most)
    assert n is None or 1 <= n <= most


@pytest.mark.parametrize(("term", "expected"), [("xterm", True), ("dumb", False), ("DUMB", False), ("", False)])
def test_whether_the_cursor_moves(term: str, expected: bool) -> None:
    """A terminal that says it is dumb, or nothing, has no cursor to be moved."""
    assert moves({"TERM": term}) is expected
    assert not moves({})


@given(st.text(), st.integers(min_value=1, max_value=300))
def test_lines_fit(text: str, columns: int) -> None:
    """No line is longer than the terminal is wide, but for words that can't be broken; nothing is lost."""
    shown = wrapped(text, columns)
    width = max(10, min(columns - 1, WIDEST))

    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", sanitize(text))
    for line in shown.split("\n"):
        assert len(line) <= width or len(line.split()) <= 1 or max(map(len, line.split())) >= width // 2


def test_what_hangs() -> None:
    """A line that begins with blanks, or has a number and a gap in it, goes on below what follows them."""
    assert wrapped("  one two three", 12) == "  one two\n  three"
    assert wrapped("  1 yes      " + "word " * 10, 40).split("\n")[1].startswith(" " * 13 + "word")
