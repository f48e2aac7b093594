"""Text is measured so that no terminal shows it wider."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth, wcwidth

from debate_orchestrator.screen.cells import Span, clipped, graphemes, padded, plain, wide, width
from debate_orchestrator.util.sanitize import one_line


@pytest.mark.parametrize(
    ("text", "cells"),
    [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("👍", 2), ("❤\ufe0f", 2), ("한글", 4), ("\u200d", 0)],
)
def test_what_text_takes(text: str, cells: int) -> None:
    """Letters take one cell, East Asian characters and emoji two, what combines with them none."""
    assert width(text) == cells


@pytest.mark.parametrize("text", ["👨\u200d👩\u200d👧", "👍🏽", "🇩🇪", "☺\ufe0f", "1\ufe0f\u20e3"])
def test_terminals_that_do_not_agree(text: str) -> None:
    """An emoji that is joined or varied takes as much as in the terminal that shows it widest."""
    assert width(text) >= max(wcswidth(text), sum(max(0, wcwidth(one)) for one in text))


@given(st.text(), st.text())
def test_no_terminal_shows_it_wider(one: str, other: str) -> None:
    """Whatever a tamed text holds, it is never wider than it was measured."""
    text = one_line(one + other)

    assert width(text) >= sum(max(0, wcwidth(part)) for part in text)
    assert "".join(graphemes(text)) == text


@given(st.text(), st.integers(0, 40))
def test_clipping(text: str, most: int) -> None:
    """What is clipped fits, and says that it was clipped."""
    text = one_line(text)
    made = clipped(text, most)

    assert width(made) <= most
    assert made in (text, "") or made.endswith("…")


def test_lines() -> None:
    """A line's text and cells are those of its spans; padding fills it up to a width, and never cuts."""
    line = (Span("日"), Span("ab", "bold"))

    assert (plain(line), wide(line)) == ("日ab", 4)
    assert plain(padded(line, 6)) == "日ab  "
    assert padded(line, 3) == line
