"""Events: frozen, closed, and the same after a trip through JSON."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from core.folding import declined, many, opened, reply, spoiled, spoke, voted
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from debate_orchestrator.core.events import (
    EVENT,
    Answer,
    Asked,
    BudgetChanged,
    CallFailed,
    Context,
    EndedEarly,
    Event,
    IssuesChanged,
    Noted,
    QuestionAsked,
    Reassigned,
    Reopened,
    Reply,
    RetryForChanged,
    Usage,
)
from debate_orchestrator.core.settings import Settings

TURN = "1.opening.a"
FULL = Reply(
    text="“So” \x1b[1m\u202e\n```\n", brief="0" * 64, by="x:y", model="y-1", usage=Usage(fresh=1, output=2), stop="end"
)
EVENTS: list[Event] = [
    opened(),
    opened(8, 3, first="b", feedback=False, context=(Context(name="n", text="t"),), sources={"topic": "user"}),
    Asked(turn=TURN, brief="0" * 64, by="host"),
    spoke(TURN).model_copy(update={"reply": FULL}),
    declined(TURN),
    voted("1.verdict.judge", {"scores": {"a": {"x": 7.5}}, "conceded": None, "deep": [[{"k": [1, True]}]]}),
    spoiled("1.verdict.judge"),
    spoiled("1.verdict.judge").model_copy(update={"absent": True}),
    CallFailed(turn=TURN, by="x:y", trouble="silence", wait=1.5, reply=FULL),
    Reassigned(seat="judge", who=("x:y", "host")),
    BudgetChanged(max_cost=None),
    RetryForChanged(retry_for=1800),
    QuestionAsked(question="What would it cost?", to=("a", "judge")),
    EndedEarly(),
    EndedEarly(after="1.rebuttal"),
    IssuesChanged(issues=("What does it cost?",)),
    Reopened(),
    Noted(note="one agent"),
    Noted(note="prompts changed", detail="x, y"),
]
LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


def through_json(event: Event) -> Event:
    return EVENT.validate_python(json.loads(json.dumps(event.model_dump(mode="json"))))


def test_every_kind_is_tried() -> None:
    """The examples here are of every kind there is, and every kind has a name of its own."""
    assert {type(event) for event in EVENTS} == set(get_args(Event))
    assert len({event.kind for event in EVENTS}) == len(get_args(Event)) == 15
    assert set(get_args(Answer)) <= set(get_args(Event))


def test_events_survive_json() -> None:
    """An event that went through JSON is equal, of the same kind, and written the same again."""
    for event in EVENTS:
        assert through_json(event) == event, event
        assert type(through_json(event)) is type(event), event
        assert through_json(event).model_dump_json() == event.model_dump_json(), event


def test_unknown_fields_are_refused() -> None:
    """A field that this version does not know is refused, in the event and inside it."""
    for event in EVENTS:
        with pytest.raises(ValidationError, match="mood"):
            EVENT.validate_python(event.model_dump() | {"mood": "good"})
        for name, inner in event.model_dump().items():
            if name in ("reply", "setup", "format") and inner is not None:
                with pytest.raises(ValidationError, match="mood"):
                    EVENT.validate_python(event.model_dump() | {name: inner | {"mood": "good"}})


def test_events_are_frozen() -> None:
    """What has happened can't be changed."""
    for event in EVENTS:
        with pytest.raises(ValidationError, match="frozen"):
            event.kind = "spoke"  # type: ignore[assignment]


@pytest.mark.parametrize(
    "data", [{}, {"kind": "shouted"}, {"kind": "spoke"}, {"kind": "noted", "note": "x"}, [], None, "spoke"]
)
def test_what_is_no_event(data: Any) -> None:
    """Data without a known kind, or without what that kind needs, is no event."""
    with pytest.raises(ValidationError):
        EVENT.validate_python(data)


@pytest.mark.parametrize("rounds", [0, -1, 1.5, "three", None])
def test_a_debate_has_at_least_one_round(rounds: Any) -> None:
    """A setup without a whole number of rounds from 1 is refused."""
    with pytest.raises(ValidationError, match="rounds"):
        Settings(topic="t", positions={}, rounds=rounds, strictness="strict", first="a")


@many
@given(text=st.text(), by=st.text(), stop=st.none() | st.text())
def test_speech_is_kept_verbatim(text: str, by: str, stop: str | None) -> None:
    """Whatever text was said comes back from JSON to the letter."""
    said = spoke(TURN).model_copy(update={"reply": Reply(text=text, brief="0", by=by, stop=stop)})
    assert through_json(said) == said


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_ballots_are_kept_verbatim(ballot: dict[str, Any]) -> None:
    """Whatever JSON a ballot holds comes back as it was, numbers too."""
    kept = through_json(voted("1.verdict.judge", ballot))
    assert kept == voted("1.verdict.judge", ballot)
    assert json.dumps(kept.model_dump()["ballot"]) == json.dumps(ballot)


@pytest.mark.parametrize("tokens", [None, Usage(), Usage(fresh=1, cached=2, written=3, output=4)])
def test_unknown_usage_is_not_none_used(tokens: Usage | None) -> None:
    """Usage that was not counted stays apart from a count of zero."""
    said = reply().model_copy(update={"usage": tokens})
    assert TypeAdapter(Reply).validate_json(said.model_dump_json()).usage == tokens


@pytest.mark.parametrize(
    ("topic", "time"),
    [
        ("As of 2019, it is so.", "2019"),
        ("as of July 4, 2025, it is so.", "July 4, 2025"),
        (" As of the end of 2020, it is so.", "the end of 2020"),
        ("As of Q3 2024, it is so.", "Q3 2024"),
        ("As of 2025-07-01, it is so.", "2025-07-01"),
        ("As of now, it is so.", None),
        ("As of 2019 it is so.", None),
        ("As of 2019 award A a 10, it is so.", None),
        ("As of " + "the " * 20 + "2019, it is so.", None),
        ("It is so as of 2019, I say.", None),
    ],
)
def test_a_dated_topic(topic: str, time: str | None) -> None:
    """What a topic is dated to is told by words for a time alone; whatever else stands there dates nothing."""
    assert opened().setup.model_copy(update={"topic": topic}).as_of == time
