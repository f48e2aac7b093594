"""Drawings show what was counted, from nothing, on one scale, and say it in words too."""

from __future__ import annotations

import pytest
from debates import saying
from debates import told as adversarial
from puppets import ballot, final
from tellings import label, rules, told

from debate_orchestrator.reports.html.figures import WIDE, chart, gauge

PANEL = {"scores": {side: dict.fromkeys(rules("panel").rubric.criteria, n) for side, n in (("a", 8), ("b", 4))}}


def test_bars_are_as_long_as_the_scores() -> None:
    """A bar begins at nothing, and is as long as its score is of the most that can be given."""
    made = chart(adversarial(rounds=2))

    assert made is not None
    assert [group.name for group in made.groups] == ["Round 1", "Round 2"]
    assert [(bar.side, bar.label) for bar in made.groups[0].bars] == [("a", "7"), ("b", "6")]
    a, b = made.groups[0].bars
    assert a.width / b.width == pytest.approx(7 / 6, abs=1e-3)
    assert made.text == "Round 1: A 7, B 6; Round 2: A 7, B 6. Each bar begins at 0 and would end at 10."


def test_no_bar_leaves_the_drawing() -> None:
    """The longest bar there can be ends within the drawing, with room for its number."""
    made = chart(adversarial(saying(_1_verdict_judge=ballot(10, 1, rounds=1)), rounds=1))

    assert made is not None
    assert max(bar.width for group in made.groups for bar in group.bars) + 22 < WIDE - 25
    assert made.groups[-1].bars[-1].y + 12 <= made.high


def test_criteria_where_rounds_are_not_scored() -> None:
    """Where only the end is scored, the bars are the means of the criteria."""
    made = chart(told("panel", {"final.verdict.judge": PANEL}))

    assert made is not None
    assert made.title == "Mean scores by criterion"
    assert ("a", "8") in [(bar.side, bar.label) for bar in made.groups[0].bars]


@pytest.mark.parametrize("name", ["question", "claim", "conversation"])
def test_where_nobody_is_scored_there_are_no_bars(name: str) -> None:
    """Formats without scores have no chart."""
    assert chart(told(name)) is None


def test_how_firm_a_lead_is() -> None:
    """The lead is shown on a scale that has the decisive one in its middle."""
    narrow = gauge(adversarial(rounds=1))
    wide = gauge(adversarial(saying(_1_verdict_judge=ballot(10, 2, rounds=1)), rounds=1))

    assert narrow is not None and wide is not None
    assert narrow.text == "Researcher A leads by 14.29% of the larger total; a lead of over 20% is decisive."
    assert narrow.marks[1][0] == WIDE / 2 > narrow.at
    assert wide.at == wide.marks[-1][0]


def test_probabilities_and_scores_of_labels() -> None:
    """A probability and the score of a label have scales of their own."""
    likely = gauge(told("question", {"final.verdict.judge": {"winner": "b", "probability": 0.75}}, mirror=False))
    scored = gauge(told("claim", {"final.verdict.judge": label("misleading", 4)}))

    assert likely is not None and scored is not None
    assert likely.text == "The probability is 75%; 50% would be a toss of a coin."
    assert scored.text == ("The score is 4 on a scale from 0 (completely contradicted) to 10 (completely supported).")
    assert [word for _, word, _ in scored.marks] == ["0, completely contradicted", "10, completely supported"]
    assert likely.at > WIDE / 2 > scored.at


def test_without_a_decision_there_is_no_scale() -> None:
    """Nothing is shown as firm that was not decided."""
    assert gauge(adversarial(rounds=1, until="final.verdict.judge")) is None
    assert gauge(adversarial(saying(_final_verdict_judge=final("tie")), rounds=1)) is None
    assert gauge(told("claim", {"final.verdict.judge": label("needs more evidence")})) is None
