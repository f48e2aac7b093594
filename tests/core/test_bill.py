"""A bill adds up what is on record, and leaves unknown what is unknown."""

from __future__ import annotations

from typing import Any

import pytest
from folding import opened, reply

from debate_orchestrator.core.costs import SETUP, CostLine, Costs, costs_of
from debate_orchestrator.core.events import Asked, CallFailed, Rejected, Reply, Spoke, Usage
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState

BY = "anthropic:m"


def paid(text: str = "So it is.", cost: float | None = 0.5, **usage: int) -> Reply:
    """A reply that was paid for."""
    counted = Usage(**({"fresh": 10, "output": 5} | usage))
    return reply(text).model_copy(update={"by": BY, "usage": counted, "cost": cost, "called": True})


def debate(*events: Any, **changes: Any) -> DebateState:
    """A debate opened and taken so far."""
    return fold([opened(rounds=2).model_copy(update=changes), *events])


def test_a_line_for_each_seat_and_phase() -> None:
    """Calls are added up by seat and phase, in the agenda's order."""
    made = costs_of(debate(Spoke(turn="1.opening.a", reply=paid()), Spoke(turn="1.opening.b", reply=paid(cost=0.25))))

    assert [(one.seat, one.phase, one.calls, one.cost) for one in made.lines] == [
        ("a", "opening", 1, 0.5),
        ("b", "opening", 1, 0.25),
    ]
    assert made.total == CostLine(seat="all", phase="all", calls=2, cost=0.75, usage=Usage(fresh=20, output=10))


def test_what_came_to_nothing_is_paid_for_too() -> None:
    """A spoiled reply is on the bill at its price, and what had come of a call that broke off at an unknown one; a
    call that was refused costs nothing."""
    broken = CallFailed(turn="1.opening.a", by=BY, trouble="cut", wait=1.0, unsure=True, reply=paid(cost=None))
    refused = CallFailed(turn="1.opening.a", by=BY, trouble="refused", wait=1.0)
    spoiled = Rejected(turn="1.opening.a", complaints=("empty",), reply=paid("", cost=0.2))
    total = costs_of(debate(refused, broken, spoiled, Spoke(turn="1.opening.a", reply=paid()))).total

    assert (total.calls, round(total.cost, 9), total.unknown) == (3, 0.7, 1)


def test_a_call_without_an_outcome_is_of_unknown_price() -> None:
    """A call that went silent, and one that was under way when all stopped, may have been billed: both are on the
    bill, at an unknown price."""
    asked = Asked(turn="1.opening.a", brief="0", by=BY, called=True)
    silent = CallFailed(turn="1.opening.a", by=BY, trouble="silence", wait=1.0, unsure=True)
    total = costs_of(debate(asked, silent, asked)).total

    assert (total.calls, total.cost, total.unknown) == (2, 0.0, 2)
    assert costs_of(debate(asked.model_copy(update={"called": False}))) == Costs()


def test_the_unknown_is_counted_apart() -> None:
    """A call without a known price adds to the unknown, and nothing to the cost."""
    total = costs_of(
        debate(Spoke(turn="1.opening.a", reply=paid(cost=None)), Spoke(turn="1.opening.b", reply=paid()))
    ).total

    assert (total.calls, total.cost, total.unknown) == (2, 0.5, 1)


@pytest.mark.parametrize("by", ["host", "rehearse:x", "replay:x.jsonl"])
def test_no_model_was_called(by: str) -> None:
    """What a host, a person or a recording says is no call."""
    free = reply().model_copy(update={"by": by})

    assert costs_of(debate(Spoke(turn="1.opening.a", reply=free))) == Costs()


def test_a_server_that_counts_nothing_is_called_all_the_same() -> None:
    """A reply of a provider that tells neither tokens nor price is a call of unknown price."""
    told = reply().model_copy(update={"by": "command:x", "called": True})

    assert costs_of(debate(Spoke(turn="1.opening.a", reply=told))).total.unknown == 1


def test_the_setup_is_on_it() -> None:
    """What the moderator was asked before the first turn stands first."""
    made = costs_of(debate(Spoke(turn="1.opening.a", reply=paid()), derived=(paid(cost=0.125),)))

    assert [(one.seat, one.phase) for one in made.lines] == [("moderator", SETUP), ("a", "opening")]


def test_it_can_be_told_by_seat() -> None:
    """The lines of a seat add up, whatever the phase."""
    spent = Usage(fresh=1, cached=2, written=3, written_hour=4, output=5, searches=6)
    lines = [CostLine(seat=seat, phase=str(n), calls=1, usage=spent, cost=1.0) for n, seat in enumerate("aba")]
    seats = Costs(lines=tuple(lines)).of_seats()

    assert {seat: (line.calls, line.cost, line.usage.input) for seat, line in seats.items()} == {
        "a": (2, 2.0, 20),
        "b": (1, 1.0, 10),
    }


def test_an_empty_bill_is_nothing() -> None:
    """A debate in which no model was called has a total of nothing."""
    assert Costs().total == CostLine(seat="all", phase="all")
