"""The work of folding a journal grows with its length, and what is remembered on the way is what is worked out anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest
from core.folding import (
    BALLOT,
    CONCEDE,
    DECLINE,
    PLAIN,
    absent,
    converging,
    declined,
    events,
    many,
    opened,
    phase,
    record,
    rules,
)
from counting import calls
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import BriefSent, EndedEarly, QuestionAsked, Reopened
from debate_orchestrator.core.fold import MAX_REOPENED, apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.reports.announcements import announcements
from debate_orchestrator.util.errors import OutOfTurn

CHOICES = ["plain", "plain", "plain", "asked", "raised", "closed", "concede", "decline", "converge", "gave up"]


def test_a_state_is_read_only() -> None:
    """No mapping of a state or of its plan can be changed, nor a sequence in one, folded or applied."""
    opening, *rest = record(1, 2)
    debate = fold([opening])
    for event in rest:
        debate = apply(debate, event)

    for state in (debate, fold([opening, *rest])):
        held = [getattr(part, field.name) for part in (state, state.plan) for field in fields(part)]
        nested = [value for mapping in held if isinstance(mapping, Mapping) for value in mapping.values()]
        assert len(held) > 20 and nested
        assert [value for value in (*held, *nested) if isinstance(value, dict | list | set)] == []


def test_work_grows_with_the_journal() -> None:
    """Of four times the rounds, converging ones among them, a fold makes about four times the calls."""
    script = {f"{n}.verdict.judge": converging() for n in range(1, 25)}
    short, long = record(6, script=script), record(24, script=script)
    assert calls(lambda: fold(long)) < 6.5 * calls(lambda: fold(short))


def test_questions_from_the_floor_add_up_to_no_more() -> None:
    """A journal with as many questions as turns is folded in time that grows with its length."""

    def asking(rounds: int) -> list[Any]:
        taken = record(rounds)
        spoken = [one for event in taken[1:-4] for one in (event, QuestionAsked(question="Why?", to=("judge",)))]
        return [*taken[:1], *spoken, *taken[-4:]]

    short, long = asking(6), asking(24)
    assert calls(lambda: fold(long)) < 6.5 * calls(lambda: fold(short))


def test_reopening_takes_little_work() -> None:
    """A debate may be reopened 100 times. Each time takes a part of the work of its fold: no round is judged again."""
    last = "final.verdict.judge-3"
    taken = record(6, 3, {last: absent(last)}, quorum=3)
    debate = fold(taken)
    assert calls(lambda: apply(debate, Reopened())) < calls(lambda: fold(taken)) / 4
    for n in range(MAX_REOPENED):
        again = absent(last)[0].model_copy(update={"problems": (str(n),)})
        debate = apply(apply(debate, Reopened()), again)
    with pytest.raises(OutOfTurn, match="was reopened 100 times"):
        apply(debate, Reopened())


def turned(debate: DebateState, choice: str, turn: Any) -> list[Any]:
    """What happens in a turn that is due, by choice."""
    if choice == "asked":
        return [BriefSent(turn=turn.id, brief_digest="0" * 64, by="host")]
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
        if len(debate.questions) + len(debate.briefs_sent) > 6:
            break


def test_work_grows_with_the_phases_of_one_round() -> None:
    """A fold's work grows with the phases and panels of one round, and no faster."""
    noted = {"conceded": {"kind": "choice", "optional": True}, "note": {"kind": "flag"}}

    def folded(count: int) -> list[Any]:
        notes = [phase(f"n{n}", "judge", reply="noted") for n in range(count)]
        forced = [phase(f"f{n}", "a", on="convergence") for n in range(count)]
        made = rules(round=[*PLAIN["round"], *notes, BALLOT, *forced], shapes=PLAIN["shapes"] | {"noted": noted})
        return record(1, 5, rules=made)

    short, long = folded(6), folded(24)
    assert calls(lambda: fold(long)) < 6.5 * calls(lambda: fold(short))


def test_whether_a_seat_hears_a_question_takes_no_search() -> None:
    """Telling whether a question from the floor will be heard takes as much work in a long debate as in a short one."""

    def forced(count: int) -> DebateState:
        answering = [phase(f"f{n}", "a", on="convergence") for n in range(count)]
        debate = fold([opened(1, rules=rules(round=[phase("speech", "b"), BALLOT, *answering]))])
        assert schedule.will_hear(debate, "judge")
        return debate

    short, long = forced(10), forced(40)
    assert calls(lambda: schedule.will_hear(long, "a")) <= calls(lambda: schedule.will_hear(short, "a")) + 5
