"""Scores are drawn as they are: each side's bar by its share, with the numbers that it is made of."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import debates
import puppets
import pytest
from rich.cells import cell_len

from debate_orchestrator.core import tally
from debate_orchestrator.core.events import Voted
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.terminal import live
from debate_orchestrator.terminal.display import SIDES, Row


def judged(ballot: dict[str, Any]) -> tuple[DebateState, Voted]:
    """A debate whose first round was judged so."""
    debate = fold(debates.played(debates.saying(_1_verdict_judge=ballot), until="2.constructive.a"))
    voted = debate.ballot("1.verdict.judge")
    assert voted is not None
    return debate, voted


def texts(rows: list[Row]) -> list[str]:
    return ["".join(cell.plain for cell in row) for row in rows]


@pytest.mark.parametrize(
    ("share", "drawn"),
    [("0", "░░░░"), ("1", "████"), ("1/2", "██░░"), ("5/8", "██▌░"), ("1/32", "▏░░░"), ("2", "████"), ("-1", "░░░░")],
)
def test_a_bar(share: str, drawn: str) -> None:
    """A bar is filled up to its share, to an eighth of a column, and never beyond its ends."""
    assert live.bar(Fraction(share), 4) == drawn


def test_a_ballot() -> None:
    """Each side has its name, its bar in its own colour and its score; below stands every criterion for both."""
    rows = live.ballot_rows(*judged(puppets.ballot(8, 6.5)), 80)
    assert texts(rows) == [
        "  Researcher A ████████████████░░░░ 8",
        "  Researcher B █████████████░░░░░░░ 6.5",
        "  Argument quality 8 | 6.5; Use of evidence 8 | 6.5; Directness of rebuttals 8 |",
        "  6.5",
    ]
    assert [row[0].spans[0].style for row in rows[:2]] == list(SIDES)


def test_a_ballot_fits() -> None:
    """A ballot fits every width in which a side's number does."""
    debate, voted = judged(puppets.ballot(7, 6))
    for width in range(2, 130):
        assert all(cell_len(text) <= max(width, 12) for text in texts(live.ballot_rows(debate, voted, width)))


def test_totals() -> None:
    """The points of the debate are drawn out of all that could be had; where nothing was scored, nothing is drawn."""
    debate = fold(debates.played(rounds=2))
    unscored = fold(debates.played(debates.saying(_1_verdict_judge="prose"), rounds=1))
    verdict, other = tally.verdict(debate), tally.verdict(unscored)
    assert verdict is not None and other is not None

    assert texts(live.totals_rows(debate, verdict, 80)) == [
        "  Researcher A ██████████████░░░░░░ 14",
        "  Researcher B ████████████░░░░░░░░ 12",
    ]
    assert live.totals_rows(unscored, other, 80) == []
