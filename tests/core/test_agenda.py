"""The order of a debate with questions from the floor and early ends, and of one that is judged again."""

from __future__ import annotations

from functools import cache

import pytest
from core.folding import converging, opened, play, play_debate, speech_event
from corpus import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import schedule, tally
from debate_orchestrator.core.events import BriefSent, BudgetChanged, EndedEarly, Event, QuestionAsked
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import DoesNotFit

WHY, COST = "Why?", "What would it cost?"
CLOSED = EndedEarly()


def raised(question: str, *to: str) -> QuestionAsked:
    return QuestionAsked(question=question, to=to)


def put(debate: DebateState, turn: str) -> list[tuple[str, bool]]:
    return [(one.text, one.new) for one in schedule.questions_put_to(debate, schedule.turn(debate, turn))]


def brief_sent(turn: str) -> BriefSent:
    return BriefSent(turn_id=turn, brief_digest="0" * 64, spec="host")


def test_questions_add_up() -> None:
    """Every question is heard, in the order in which they were put; every judge of a panel hears those to the judge."""
    debate = play_debate(2, 3, until="1.verdict.judge-1")
    for one in (raised(WHY, "judge"), raised(COST, "a", "judge")):
        debate = apply(debate, one)
    debate, _ = play(debate)
    assert all(put(debate, f"1.verdict.judge-{n}") == [(WHY, True), (COST, True)] for n in (1, 2, 3))
    assert put(debate, "2.constructive.a") == [(COST, True)]
    assert put(debate, "final.dissent.judge-1") == [(WHY, False), (COST, False)]


@for_each([("c",), ("moderator",), ("judge-1",), ("a", "x")])
def test_only_seats_are_asked(to: tuple[str, ...]) -> None:
    """A question to any but a side or the judge is refused, and changes nothing."""
    debate = play_debate(1, until="1.opening.a")
    with pytest.raises(DoesNotFit, match="one of a, b, judge"):
        debate = apply(debate, raised(WHY, *to))
    assert debate.floor_questions == ()


def test_a_seat_without_a_turn_left_is_not_asked() -> None:
    """A question to a side whose last turn is over, or under way, is refused; one to the judge is not."""
    debate = play_debate(1, until="1.opening.b")
    for seat in "ab":
        if seat == "b":
            debate = apply(debate, brief_sent("1.opening.b"))
        with pytest.raises(DoesNotFit, match=f"to {seat}: the last turn is taken or under way"):
            debate = apply(debate, raised(WHY, seat))
    debate = apply(debate, raised(WHY, "judge"))
    debate, _ = play(debate)
    with pytest.raises(DoesNotFit, match="last turn"):
        debate = apply(debate, raised(WHY, "judge"))


def test_an_early_end_finishes_the_phase_under_way() -> None:
    """Where a side has spoken in a phase, or was asked to, all sides have their turn in it."""
    for taken in (speech_event("2.constructive.a"), brief_sent("2.constructive.a")):
        debate = play_debate(3, until="2.constructive.a")
        debate = apply(debate, taken)
        debate = apply(debate, CLOSED)
        debate, played = play(debate)
        left = [turn for stage in played for turn in stage]
        assert left[-3:] == ["2.constructive.b", "final.verdict.judge", "final.dissent.judge"]
        assert left[:-3] in ([], ["2.constructive.a"])
        assert debate.complete


def test_an_early_end_between_phases_is_at_once() -> None:
    """Where no seat was asked yet, what is due is not held any more."""
    debate = play_debate(3, until="1.challenge.a")
    debate = apply(debate, CLOSED)
    assert [turn.id for turn in debate.due] == ["final.verdict.judge"]
    assert tally.result(debate, 1) is None and tally.verdict(debate) is None
    debate, _ = play(debate)
    assert tally.verdict(debate) is not None


def test_convergence_is_not_answered_after_an_early_end() -> None:
    """Sides that converged just before it are not asked to diverge."""
    debate = play_debate(3, 1, {"1.verdict.judge": converging()}, until="1.divergence.a")
    debate = apply(debate, CLOSED)
    assert [turn.id for turn in debate.due] == ["final.verdict.judge"]
    assert tally.convergence(debate, 1).detected and not tally.had_intervention(debate, 1)


@for_each(
    [
        ("1.opening.a", "No speech has been made"),
        ("1.verdict.judge", "last round .* is under way"),
        ("final.verdict.judge", "due already"),
        ("nobody", "is complete"),
    ]
)
def test_an_early_end_needs_something_to_end(until: str, got: str) -> None:
    """Before the first speech, at the last verdict and after it there is nothing to end early."""
    debate = play_debate(1, until=until)
    with pytest.raises(DoesNotFit, match=got):
        debate = apply(debate, CLOSED)


@cache
def answers() -> dict[str, Event]:
    """What is said in a debate of two rounds, turn by turn."""
    return dict(play_debate(2).replies)


@given(cut=st.integers(0, 40), to=st.sampled_from([("a",), ("b",), ("judge",), ("a", "b", "judge")]))
def test_what_was_settled_stays_as_it_was(cut: int, to: tuple[str, ...]) -> None:
    """A question and an early end at any time change nothing that was said before them."""
    debate = fold([opened(2)])
    events: list[Event] = [debate.opened]

    for _ in range(cut):
        if not (due := debate.due):
            break
        events.append(answers()[due[0].id])
        debate = apply(debate, events[-1])
    settled = [turn.id for turn in schedule.turns_taken(debate)]
    for event in (raised(WHY, *to), CLOSED):
        try:
            after = apply(debate, event)
        except DoesNotFit:
            continue
        events += [event] if after is not debate else []
        debate = after
    assert [turn.id for turn in schedule.turns_taken(debate)] == settled
    assert all(put(debate, turn) == [] for turn in settled)
    again = fold(events)
    assert again.due == debate.due
    assert [schedule.questions_put_to(again, turn) for turn in again.due] == [
        schedule.questions_put_to(debate, turn) for turn in debate.due
    ]


def test_a_complete_debate_has_no_new_cap() -> None:
    """What a finished debate may cost is decided: its journal stays as it is."""
    debate = play_debate(1)
    with pytest.raises(DoesNotFit, match="a new cost cap"):
        debate = apply(debate, BudgetChanged(max_cost=5))
