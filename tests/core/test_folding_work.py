"""The work of folding a journal grows with its length, and what is remembered on the way is what is worked out anew."""

from __future__ import annotations

from typing import Any

import pytest
from core.folding import (
    CONCEDE,
    DECLINE,
    converging,
    decline_event,
    events,
    opened,
    rejected_event,
    speech_event,
)
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import CallIntended, EndedEarly, Noted, QuestionAsked
from debate_orchestrator.core.fold import MAX_NOTES, MAX_QUESTIONS, MAX_TURN_EVENTS, apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.util.errors import OutOfTurn

CHOICES = ["plain", "plain", "plain", "asked", "raised", "closed", "concede", "decline", "converge", "gave up"]


def turned(debate: DebateState, choice: str, turn: Any) -> list[Any]:
    """What happens in a turn that is due, by choice."""
    if choice == "asked":
        return [CallIntended(turn_id=turn.id, brief_digest="0" * 64, spec="host")]
    if choice == "raised":
        return [QuestionAsked(question="Why?", to=("a", "judge"))]
    if choice == "closed":
        return [EndedEarly()]
    if choice == "decline" and turn.speaking and debate.shape(turn) is None:
        return [decline_event(turn.id)]
    fields: dict[str, Any] = {"converge": converging(), "gave up": {"conceded": "b"}}.get(choice, {})
    shape = debate.shape(turn) or {}
    said = {"concede": f"Well.\n\n{CONCEDE}", "decline": DECLINE}.get(choice, "So it is.")
    return events(debate, turn, {turn.id: {key: fields[key] for key in fields if key in shape} if shape else said})


@given(data=st.data(), name=st.sampled_from(["adversarial", "panel"]))
def test_events_one_by_one_are_the_events_folded(data: st.DataObject, name: str) -> None:
    """After any events, in any order, the state is that of the same events folded at once."""
    debate = fold([opened(data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3)), rules=loader.load(name))])
    taken: list[Any] = [debate.opened]
    while due := debate.due:
        turn = data.draw(st.sampled_from(due))
        for event in turned(debate, data.draw(st.sampled_from(CHOICES)), turn):
            before, alike = debate, fold(taken)
            try:
                debate = apply(before, event)
            except OutOfTurn:
                continue
            finally:
                assert before == alike
            taken.append(event)
        folded = fold(taken)
        assert folded == debate and hash(folded) == hash(debate)
        assert announcements(folded) == announcements(debate)
        if len(debate.questions) + len(debate.question_counts) > 6:
            break


def test_the_events_that_a_state_collects_are_limited() -> None:
    """Beyond a limit no more notes, questions and calls of a turn fit, and it is said why; the turn can still have its
    reply."""
    asked = CallIntended(turn_id="1.opening.a", brief_digest="0" * 64, spec="host")
    for event, most in (
        (Noted(note="estimate"), MAX_NOTES),
        (QuestionAsked(question="Why?", to=("a",)), MAX_QUESTIONS),
    ):
        debate = fold([opened(1), *[event] * most])
        with pytest.raises(OutOfTurn, match=f"has {most:,} .*no more are allowed"):
            apply(debate, event)
    debate = fold([opened(1), *[asked] * MAX_TURN_EVENTS])
    with pytest.raises(OutOfTurn, match=r"1\.opening\.a: this turn has 5,000 events, and no more calls"):
        apply(debate, asked)
    debate = apply(debate, rejected_event("1.opening.a"))
    with pytest.raises(OutOfTurn, match="no more calls"):
        apply(debate, rejected_event("1.opening.a", "again no JSON"))
    assert "1.opening.a" in apply(debate, speech_event("1.opening.a")).replies
