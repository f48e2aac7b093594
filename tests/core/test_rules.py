"""Formats as data: what they may say, how turns are called, and debates that are nothing like the adversarial one."""

from __future__ import annotations

import pytest
from core.folding import BALLOT, ONE_SIDED, converging, heard, make_format, opened, phase, play, play_debate

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.fold import fold

# What a format may say


def test_a_stage_has_a_seat_in_it() -> None:
    """A forced turn of one side alone is not taken where the other one moved."""
    forced = phase("forced", "a", on="convergence", order="at once")
    made = make_format(round=[phase("speech", "a", "b"), BALLOT, forced])
    debate = play_debate(1, script={"1.vote.judge": converging("b", "same")}, rules=made)
    assert (debate.complete, [turn.id for turn in schedule.turns_taken(debate) if turn.phase.triggered_by]) == (
        True,
        [],
    )


# Debates of other kinds


def test_a_debate_that_is_judged_only_in_the_end() -> None:
    """Without ballots in the rounds there are no results and no totals, and the declaration decides."""
    debate = fold([opened(2, rules=make_format())])
    debate, played = play(debate, {"final.end.judge": {"winner": "b"}})
    assert played == [("1.speech.a",), ("1.speech.b",), ("2.speech.a",), ("2.speech.b",), ("final.end.judge",)]
    verdict = tally.verdict(debate)
    assert verdict is not None
    assert (verdict.winner, verdict.strength, verdict.gap, verdict.remarks) == ("b", "narrow", None, ())
    assert (tally.results(debate), verdict.totals) == ([], {"a": 0, "b": 0})


def test_a_debate_of_one_side() -> None:
    """One side alone can be judged: the other seat is not there."""
    made = make_format(**ONE_SIDED | {"round": [phase("speech", "a"), BALLOT]})
    debate = fold([opened(2, 2, rules=made)])
    debate, played = play(debate)
    assert played[-3:] == [
        ("2.speech.a",),
        ("2.vote.judge-1", "2.vote.judge-2"),
        ("final.end.judge-1", "final.end.judge-2"),
    ]
    assert (tally.totals(debate), [one.leader for one in tally.results(debate)]) == ({"a": 5}, ["a", "a"])


def test_phases_before_the_first_round() -> None:
    """What comes before the rounds has ids of its own and is heard in them; who speaks first does so here too."""
    made = make_format(before=[phase("consent", "b", "a", order="at once"), phase("plan", "a", "b")])
    debate = fold([opened(1, rules=made, first="b")])
    debate, played = play(debate)
    assert played[:4] == [("start.consent.b", "start.consent.a"), ("start.plan.b",), ("start.plan.a",), ("1.speech.b",)]
    assert heard(debate, "1.speech.b") == ["start.consent.b", "start.consent.a", "start.plan.b", "start.plan.a"]
    assert made.tag_of(schedule.turn(debate, "start.plan.a")) == "[A - PLAN]"


@pytest.mark.parametrize(
    ("most", "answered", "converged_again"), [(1, [1, 3, 5], (2, 4)), (2, [1, 2, 4, 5], (3,)), (9, [1, 2, 3, 4, 5], ())]
)
def test_interventions_in_a_row(most: int, answered: list[int], converged_again: tuple[int, ...]) -> None:
    """A format says how many rounds in a row are answered before convergence is flagged."""
    forced = phase("forced", "a", "b", on="convergence", order="at once")
    made = make_format(round=[phase("speech", "a", "b"), BALLOT, forced], intervention={"most_in_a_row": most})
    debate = play_debate(5, script={f"{n}.vote.judge": converging("a", "same") for n in range(1, 6)}, rules=made)
    assert [turn.round for turn in schedule.turns_taken(debate) if turn.phase.triggered_by] == answered
    assert tally.rounds_converged_again(debate) == converged_again
