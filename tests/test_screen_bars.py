"""Scores are drawn as they are: each side's bar by its share, with the numbers that it is made of."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import debates
import puppets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import Voted
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen import bars
from debate_orchestrator.screen.cells import plain, wide, width


def judged(ballot: dict[str, Any]) -> tuple[DebateState, Voted]:
    """A debate whose first round was judged so."""
    debate = DebateState(debates.played(debates.saying(_1_verdict_judge=ballot), until="2.constructive.a"))
    voted = debate.ballot("1.verdict.judge")
    assert voted is not None
    return debate, voted


@pytest.mark.parametrize(
    ("share", "drawn"),
    [("0", "░░░░"), ("1", "████"), ("1/2", "██░░"), ("5/8", "██▌░"), ("1/32", "▏░░░"), ("2", "████"), ("-1", "░░░░")],
)
def test_a_bar(share: str, drawn: str) -> None:
    """A bar is filled up to its share, to an eighth of a cell, and never beyond its ends."""
    assert bars.bar(Fraction(share), 4) == drawn


@given(st.fractions(0, 1), st.integers(1, 40))
def test_a_bar_has_its_width(share: Fraction, cells: int) -> None:
    """Whatever its share, a bar takes the same cells."""
    assert width(bars.bar(share, cells)) == cells


def test_a_ballot() -> None:
    """Each side has its name, its bar and its score; below them stands every criterion for both."""
    debate, voted = judged(puppets.ballot(8, 6.5))

    assert [plain(line) for line in bars.ballot(debate, voted, 80)] == [
        "  Researcher A ████████████████░░░░ 8",
        "  Researcher B █████████████░░░░░░░ 6.5",
        "  Argument quality 8 | 6.5; Use of evidence 8 | 6.5; Directness of rebuttals 8 |",
        "  6.5",
    ]


@given(st.integers(2, 130))
def test_a_ballot_fits(cells: int) -> None:
    """A ballot fits every width in which a side's number does."""
    debate, voted = judged(puppets.ballot(7, 6))

    assert all(wide(line) <= max(cells, 12) for line in bars.ballot(debate, voted, cells))


def test_totals() -> None:
    """The points of the debate are drawn out of all that could be had; where nothing was scored, nothing is drawn."""
    debate = DebateState(debates.played(rounds=2))
    verdict = debate.verdict()
    assert verdict is not None

    assert [plain(line) for line in bars.totals(debate, verdict, 80)] == [
        "  Researcher A ██████████████░░░░░░ 14",
        "  Researcher B ████████████░░░░░░░░ 12",
    ]
    unscored = DebateState(debates.played(debates.saying(_1_verdict_judge="prose"), rounds=1))
    made = unscored.verdict()
    assert made is not None and bars.totals(unscored, made, 80) == []


def test_sides_have_their_styles() -> None:
    """A side has the same style wherever it is drawn."""
    debate, voted = judged(puppets.ballot())
    styles = [line[1].style for line in bars.ballot(debate, voted, 80)[:2]]

    assert styles == [bars.style(debate, "a"), bars.style(debate, "b")] == ["first", "second"]
