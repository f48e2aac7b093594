"""Questions from the floor in briefs: those they are put to find them last, fenced, and no other seat does."""

from __future__ import annotations

import json
from functools import cache

import pytest
from dealing import Deal, handfuls, hold
from debates import NONCE, played
from hypothesis import given
from nasty import NASTY, texts
from test_briefs import ESCAPES, whole

from debate_orchestrator.core.events import Asked, Event, QuestionAsked
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.prompting.briefs import brief, brief_file

WHY = "Why not next year?"
MARK = f"<<< FLOOR {NONCE}"


def asked(question: str = WHY, *to: str, until: str = "1.challenge.a", **how: object) -> list[Event]:
    """A debate to the turn `until`, where the question is put, and from there to its end."""
    before = played(until=until, **how)  # type: ignore[arg-type]
    events: list[Event] = [*before, QuestionAsked(question=question, to=to or ("a",))]
    whole_of_it = played(**how)  # type: ignore[arg-type]
    return [*events, *whole_of_it[len(before) :]]


def shown(events: list[Event]) -> dict[str, str]:
    """Turn id to everything that it is shown, as it was when it was last due."""
    made: dict[str, str] = {}
    for n in range(1, len(events) + 1):
        debate = fold(events[:n])
        made |= {turn.id: whole(brief(debate, turn)) for turn in debate.due}
    return made


def test_those_it_is_put_to_find_it() -> None:
    """It stands in every later brief of a seat it was put to, as new in the first, and in no other brief."""
    briefs = shown(asked(WHY, "a", "judge"))
    with_it = {turn for turn, text in briefs.items() if WHY in text}
    later = {turn for turn in briefs if not turn.endswith(".b") and ".opening." not in turn}
    assert with_it == {turn for turn, text in briefs.items() if MARK in text} == later
    assert "Answer it in this turn" in briefs["1.challenge.a"]
    assert "Weigh it within your task" in briefs["1.verdict.judge"]
    for known in ("1.rebuttal.a", "2.verdict.judge"):
        assert f"- {WHY} (put to you before an earlier turn)" in briefs[known]
        assert "Answer it" not in briefs[known] and "Weigh it" not in briefs[known]


def test_what_was_sent_before_is_sent_again() -> None:
    """It stands in the last part of a brief, so that everything before it stays what caches have."""
    plain, with_it = (fold(played(until="1.challenge.a")), fold(asked()[: len(played(until="1.challenge.a")) + 1]))
    before, after = (brief(debate, debate.due[0]) for debate in (plain, with_it))
    assert after.messages[:-1] == before.messages[:-1] and after.system == before.system
    assert after.messages[-1].parts[:-1] == before.messages[-1].parts[:-1]
    assert after.messages[-1].parts[-1].startswith(before.messages[-1].parts[-1])


def test_a_brief_that_was_put_stays_as_it_was() -> None:
    """A question changes no brief that was put before it, nor those beside it: replies to them still count."""
    debate = fold(played(until="1.challenge.a"))
    turn = debate.due[0]
    before = brief(debate, turn)
    debate = apply(debate, Asked(turn=turn.id, brief=before.digest, by="host"))
    debate = apply(debate, QuestionAsked(question=WHY, to=("a", "b")))
    assert brief(debate, turn) == before
    assert MARK not in whole(brief(debate, debate.due[1]))


def test_a_mirrored_judge_hears_it_of_the_sides_as_they_are_there() -> None:
    """A question that names a side names the other one to a judge who sees the sides exchanged."""
    events = asked("Is Researcher A serious?", "judge", until="1.verdict.judge", mirror=True, rounds=1)
    briefs = shown(events)
    assert "- Is Researcher A serious?" in briefs["1.verdict.judge"]
    assert "- Is Researcher B serious?" in briefs["1.verdict.judge.mirrored"]


@cache
def before() -> tuple[Event, ...]:
    """A debate of two rounds to its first challenge."""
    return tuple(played(until="1.challenge.a", rounds=2))


def lines_with(questions: tuple[str, ...]) -> list[str]:
    """The lines of a brief that open and close blocks, and its headings, where these were put to its speaker."""
    raised = [QuestionAsked(question=question[:2000], to=("a",)) for question in questions]
    debate = fold([*before(), *raised])
    turn = debate.due[0]
    made = brief_file(brief(debate, turn), debate, turn, "reply.md")
    return [line for line in made.split("\n") if NONCE in line or line.startswith("#")]


def must_stay_in_its_block(deal: Deal) -> None:
    assert lines_with(deal.texts) == lines_with((WHY,) * len(deal.texts))


@pytest.mark.parametrize("deal", handfuls(text for text in [*NASTY, *ESCAPES] if text.strip()))
def test_it_can_not_leave_its_block(deal: Deal) -> None:
    """Whatever questions hold, a brief has the lines that open and close blocks of one with plain questions."""
    hold(must_stay_in_its_block, deal)


@given(texts)
def test_it_is_one_line(question: str) -> None:
    """Any question is one line of its block, and the brief can be sent as JSON."""
    if not question.strip():
        return
    debate = fold([*before(), QuestionAsked(question=question[:2000], to=("a",))])
    made = brief(debate, debate.due[0])
    block = made.messages[-1].parts[-1].split(MARK)[1].split(f"END {NONCE}")[0].strip("\n")
    assert block.startswith("- ") and "\n" not in block
    json.dumps(made.model_dump(mode="json"))
