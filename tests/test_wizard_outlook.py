"""What a debate would take, worked out beside the conversation and told in the room there is."""

from __future__ import annotations

import pytest

from debate_orchestrator.formats import loader
from debate_orchestrator.wizard.outlook import Outlook, rehearsed, told

RULES = loader.load("adversarial")
CAST = {"a": "anthropic:claude-sonnet-5-5", "b": "anthropic:claude-sonnet-5-5", "judge": ["anthropic:claude-opus-5-5"]}
STAND_INS = dict.fromkeys(CAST, "rehearse:anthropic:claude-opus-5-5")


def outlook() -> Outlook:
    return Outlook(lambda seat: "anthropic:claude-sonnet-5-5")


def quiet() -> None:
    """Nothing."""


def test_more_rounds_cost_more() -> None:
    """The estimate follows the answers, and needs no topic."""
    one = outlook().of({"rounds": 1}, RULES, quiet).result(30)
    three = outlook().of({"rounds": 3, "topic": "Tabs?"}, RULES, quiet).result(30)

    assert one is not None and three is not None
    assert three.calls > one.calls and three.cost > one.cost


def test_each_is_worked_out_once() -> None:
    """The same answers are not worked out again; what does not count makes no difference."""
    here = outlook()

    assert here.of({"rounds": 1}, RULES, quiet) is here.of({"rounds": 1, "topic": "x", "output": "y"}, RULES, quiet)


def test_whoever_waits_is_told() -> None:
    """When an estimate is there, the line is shown anew."""
    told_: list[int] = []
    here = outlook()
    here.of({"rounds": 1}, RULES, lambda: told_.append(1)).result(30)
    here.of({"rounds": 1}, RULES, lambda: told_.append(2)).result(30)

    assert told_ == [1]


@pytest.mark.parametrize("given", [{"rounds": 99}, {"cast": 7}, {"cast": {"a": []}}, {"strictness": "x"}])
def test_answers_that_will_not_do_have_no_estimate(given: dict[str, object]) -> None:
    """Where the answers would be refused, there is no estimate and no error."""
    found = outlook().of(given, RULES, quiet).result(30)

    assert found is None
    assert told(found, None, 80) == ""


@pytest.mark.parametrize("columns", [20, 40, 80, 160])
def test_it_is_told_in_the_room_there_is(columns: int) -> None:
    """The line is shorter than the terminal is wide, whoever is cast."""
    found = outlook().of({"rounds": 3}, RULES, quiet).result(30)

    assert all(0 < len(told(found, cast, columns)) < columns for cast in (None, CAST, STAND_INS))


def test_a_rehearsal_is_called_one() -> None:
    """Where stand-ins fill every seat, nothing is said to cost anything."""
    found = outlook().of({"rounds": 1, "cast": STAND_INS}, RULES, quiet).result(30)

    assert told(found, STAND_INS, 30) == "a rehearsal: no calls"
    assert rehearsed(STAND_INS) and not rehearsed(CAST) and not rehearsed({**STAND_INS, "judge": "host"})
    assert not rehearsed({})
