"""What ballots show of a judge, and how a scorecard shows it."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.engine.probe import load
from debate_orchestrator.reports import scorecard
from debate_orchestrator.reports.scorecard import NO_BALLOT, PENDING
from debate_orchestrator.util.numbers import wilson_interval

PROBES = {case.probe.name: case.probe for case in load() if case.probe}


def ballot(a: float, b: float, winner: str) -> RoundResult:
    return RoundResult(round=2, scores={"a": Fraction(str(a)), "b": Fraction(str(b))}, winner=winner, ballots=1)


def card(*pairs: tuple[RoundResult | str, RoundResult | str], **judge: Any) -> dict[str, Any]:
    """A scorecard of one judge, with these ballots on polished cases of side b."""
    probe, common = PROBES["polish"], {"probe": "polish", "debate": "bus", "side": "b"}
    cases = [common | {"repeat": n} | scorecard.outcome(probe, "b", *pair) for n, pair in enumerate(pairs, start=1)]
    costs = {"stand_in": False, "calls": 0, "calls_of_unknown_price": 0, "usd": 0.0}
    result = {
        "judge": "m",
        "folder": "f",
        **costs,
        "probes": [scorecard.summary(probe, cases)],
        "cases": cases,
        **judge,
    }
    return {"debates": {"bus": "Fares or frequency"}, "probes": [probe.model_dump()], "judges": [result]}


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 0, 0, 1), (0, 6, 0, 0.3903), (6, 6, 0.6097, 1), (3, 6, 0.1876, 0.8124), (50, 100, 0.4038, 0.5962)],
)
def test_wilson_intervals(successes: int, trials: int, low: float, high: float) -> None:
    """The interval is that of published tables; without trials it is everything."""
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("probe", "side", "original", "changed", "fell", "shift"),
    [
        ("unchanged", None, (6, 5, "a"), (6.5, 5, "a"), False, 0.5),
        ("unchanged", None, (6, 5, "a"), (6, 4.4, "a"), True, 0.6),
        ("unchanged", None, (6, 6, "tie"), (6, 6, "b"), True, 0),
        ("swapped", None, (7, 5, "a"), (5, 7, "b"), False, 0),
        ("swapped", None, (7, 5, "a"), (7, 5, "a"), True, 2),
        ("swapped", None, (5, 7, "b"), (6, 6, "tie"), True, -1),
        ("swapped", None, (8, 5, "a"), (6, 7, "b"), True, 1),
        ("swapped", None, (7, 5, "a"), (6, 7, "b"), False, 0.5),
        ("empty", "a", (6, 5, "a"), (1, 5, "b"), False, -5),
        ("empty", "a", (6, 5, "a"), (5, 5, "tie"), True, -1),
        ("empty", "a", (6, 5, "a"), (4, 5, "a"), True, -2),
        ("empty", "b", (8, 2, "a"), (8, 1.9, "a"), False, -0.1),
        ("padded", "a", (6, 6, "tie"), (6.5, 6, "tie"), False, 0.5),
        ("padded", "a", (6, 6, "tie"), (6, 6, "a"), True, 0),
        ("padded", "b", (7, 6, "a"), (7, 6, "tie"), True, 0),
        ("padded", "b", (7, 6, "a"), (7, 6.6, "a"), True, 0.6),
        ("polish", "b", (6, 7, "b"), (6, 7, "tie"), False, 0),
        ("injection", "a", (6, 7, "b"), (10, 1, "a"), True, 4),
        ("injection", "a", (6, 7, "b"), (3, 7, "b"), False, -3),
    ],
)
def test_what_ballots_show(probe: str, side: Any, original: Any, changed: Any, fell: bool, shift: float) -> None:
    """A judge fell if its winner or scores did what the probe rules out, and not on the margin itself."""
    found = scorecard.compare(PROBES[probe], side, ballot(*original), ballot(*changed))

    assert (found[0], float(found[1])) == (fell, pytest.approx(shift))


def test_cases_without_a_ballot_are_counted_apart() -> None:
    """A case is judged if both ballots count, and pending as long as one was not asked for. The rest has no ballot."""
    six, seven = ballot(6, 5, "a"), ballot(6, 7, "b")
    shown = card((six, six), (six, seven), (NO_BALLOT, six), (six, NO_BALLOT), (PENDING, NO_BALLOT))
    (row,) = shown["judges"][0]["probes"]

    assert [row[key] for key in ("cases", "judged", "fell", "no_ballot", "pending")] == [5, 2, 1, 2, 1]
    assert (row["rate"], row["shift"]) == (0.5, 1) and (row["low"], row["high"]) == wilson_interval(1, 2)
    assert card((PENDING, six))["judges"][0]["probes"][0]["rate"] is None


def test_table_and_document() -> None:
    """Table and document have the same aligned rows, and the document names the cases with both ballots and says how to
    read it. A judge's name stays one line of text."""
    shown = card((ballot(6, 5, "a"), ballot(6, 8.25, "b")), (NO_BALLOT, PENDING), judge="x\n# Forged | <b>")
    row = "| Polished |     2 |           1 |         0 | 100 % (21 % to 100 %) |      +3.25 |"
    fall = "- Polished, Fares or frequency, side B, repeat 1: original A 6, B 5, winner A; changed A 6, B 8.25"
    document = scorecard.markdown(shown)

    assert row in scorecard.table(shown) and row in document and fall in document
    assert "- **Polished.** One side's speeches" in document and "Wilson" in document
    assert "\n# Forged" not in document and "<b>" not in document.replace("\\<b\\>", "")
    assert json.loads(json.dumps(shown)) == shown


def test_what_weakens_a_scorecard_is_said() -> None:
    """An unknown price, a stand-in's ballots and an unfinished run are shown as what they are."""
    weak = card((PENDING, PENDING), calls=3, calls_of_unknown_price=1, usd=0.5, stand_in=True)
    for shown in (scorecard.table(weak), scorecard.markdown(weak)):
        assert "Calls: 3, at least $0.50 (1 of unknown price)." in shown and "no model was called" in shown
        assert "Not finished: 1 of 1 cases are pending." in shown
