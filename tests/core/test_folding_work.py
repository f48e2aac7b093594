"""The work of folding a journal grows with its length, and what is remembered on the way is what is worked out anew."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from core.folding import CONCEDE, DECLINE, converging, declined, events, many, opened, record
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import Asked, EndedEarly, QuestionAsked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.util.errors import OutOfTurn

CHOICES = ["plain", "plain", "plain", "asked", "raised", "closed", "concede", "decline", "converge", "gave up"]


def calls(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls."""
    counted = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def test_work_grows_with_the_journal() -> None:
    """Of four times the rounds, converging ones among them, a fold makes about four times the calls; a square would
    make sixteen times as many."""
    script = {f"{n}.verdict.judge": converging() for n in range(1, 49)}
    short, long = record(12, script=script), record(48, script=script)
    assert calls(lambda: DebateState(long)) < 6.5 * calls(lambda: DebateState(short))


def test_questions_from_the_floor_add_up_to_no_more() -> None:
    """A journal with as many questions as turns is folded in time that grows with its length."""

    def asking(rounds: int) -> list[Any]:
        taken = record(rounds)
        spoken = [one for event in taken[1:-4] for one in (event, QuestionAsked(question="Why?", to=("judge",)))]
        return [*taken[:1], *spoken, *taken[-4:]]

    short, long = asking(12), asking(48)
    assert calls(lambda: DebateState(long)) < 6.5 * calls(lambda: DebateState(short))


def turned(debate: DebateState, choice: str, turn: Any) -> list[Any]:
    """What happens in a turn that is due, by choice."""
    if choice == "asked":
        return [Asked(turn=turn.id, brief="0" * 64, by="host")]
    if choice == "raised":
        return [QuestionAsked(question="Why?", to=("a", "judge"))]
    if choice == "closed":
        return [EndedEarly()]
    if choice == "decline" and turn.speaking and debate.shape(turn) is None:
        return [declined(turn.id)]
    fields: dict[str, Any] = {"converge": converging(), "gave up": {"conceded": "b"}}.get(choice, {})
    shape = debate.shape(turn) or {}
    said = {"concede": f"Well.\n\n{CONCEDE}", "decline": DECLINE}.get(choice, "So it is.")
    return events(debate, turn, {turn.id: {key: fields[key] for key in fields if key in shape} if shape else said})


@many
@given(data=st.data(), name=st.sampled_from(["adversarial", "panel"]))
def test_what_is_remembered_is_what_is_worked_out_anew(data: st.DataObject, name: str) -> None:
    """After any events, in any order, the stages, what is due and what was found are those of the same answers
    without anything remembered."""
    debate = DebateState([opened(data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3)), rules=loader.load(name))])
    while due := debate.due():
        turn = data.draw(st.sampled_from(due))
        for event in turned(debate, data.draw(st.sampled_from(CHOICES)), turn):
            try:
                debate.take(event)
            except OutOfTurn:
                continue
        anew = DebateState([debate.opened])
        anew.answers, anew.closed_after = dict(debate.answers), debate.closed_after
        assert list(debate.stages()) == list(anew.stages())
        assert debate.due() == anew.due()
        rounds = range(1, debate.rounds + 1)
        for asked in ("finding", "result", "intervened", "votes"):
            assert [getattr(debate, asked)(n) for n in rounds] == [getattr(anew, asked)(n) for n in rounds]
        assert announcements(debate) == announcements(anew)
        assert debate.persisted() == anew.persisted()
        if len(debate.raised) + len(debate.asked) > 6:
            break
