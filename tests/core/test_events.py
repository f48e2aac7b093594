"""Events are frozen, closed and the same after a trip through JSON; a bill adds up what they cost."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from core.folding import ballot_event, decline_event, opened, rejected_event, reply, speech_event
from corpus import for_each
from journals import EARLIER
from journals import opened as opened_event
from pydantic import ValidationError

from debate_orchestrator.core.costs import CostLine, Costs, costs_of
from debate_orchestrator.core.events import (
    EVENT,
    BriefSent,
    BudgetChanged,
    CallFailed,
    ContextFile,
    EarlierDebate,
    EarlierQuestion,
    EndedEarly,
    Event,
    IssuesChanged,
    Noted,
    QuestionAsked,
    Reassigned,
    Rejected,
    Reopened,
    ReplyEvent,
    RetryForChanged,
    Spoke,
)
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.phases import Phase
from debate_orchestrator.core.reply import FoundPage, Reply, Usage
from debate_orchestrator.core.state import DebateState

TURN = "1.opening.a"
FULL = Reply(
    text="“So” \x1b[1m\u202e\n```\n",
    brief_digest="0" * 64,
    spec="x:y",
    model="y-1",
    usage=Usage(uncached_input=1, cache_write_5m=2, cache_write_1h=3, output=4),
    stop_reason="end",
    found_pages=(FoundPage(url="https://example.org"),),
    unsupported=("search",),
)
EVENTS: list[Event] = [
    opened(),
    opened(8, 3, first="b", feedback=False, context=(ContextFile(name="n", text="t"),), origins={"topic": "user"}),
    BriefSent(turn_id=TURN, brief_digest="0" * 64, spec="host"),
    speech_event(TURN).model_copy(update={"reply": FULL}),
    decline_event(TURN),
    ballot_event("1.verdict.judge", {"scores": {"a": {"x": 7.5}}, "conceded": None, "deep": [[{"k": [1, True]}]]}),
    rejected_event("1.verdict.judge"),
    rejected_event("1.verdict.judge").model_copy(update={"absent": True}),
    CallFailed(turn_id=TURN, spec="x:y", problem="silence", wait=1.5, maybe_billed=True, reply=FULL),
    Reassigned(seat="judge", specs=("x:y", "host")),
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


def through_json(event: Event) -> Event:
    return EVENT.validate_python(json.loads(json.dumps(event.model_dump(mode="json"))))


def test_every_kind_is_tried() -> None:
    """The examples here are of every kind there is, and a kind has the name of its class."""
    assert {type(event) for event in EVENTS} == set(get_args(Event))
    assert all(event.kind.replace("_", "") == type(event).__name__.lower() for event in EVENTS)
    assert set(get_args(ReplyEvent)) <= set(get_args(Event))


def test_events_survive_json() -> None:
    """An event that went through JSON is equal, of the same kind, and written the same again."""
    for event in EVENTS:
        assert through_json(event) == event, event
        assert type(through_json(event)) is type(event), event
        assert through_json(event).model_dump_json() == event.model_dump_json(), event


def test_events_of_earlier_versions_are_read() -> None:
    """Kinds and fields are found under the names that earlier versions gave them, also those inside an opening."""
    opening = Phase(name="opening", title="Opening", tag="OPENING", seats=("a",))
    format = opened_event().format.model_copy(update={"before": (opening,)})
    floor = EarlierQuestion(asked=QuestionAsked(question="What would it cost?", to=("a",)), before="start.opening.")
    earlier = EarlierDebate(source="x", digest="0" * 64, ended_after="start.opening", questions=(floor,))
    first = opened_event(schema_version=1, format=format, moderator_replies=(FULL,), earlier_debate=earlier)
    first = first.with_settings(until_no_new_ground=True, origins={"topic": "user"})
    lines = (EARLIER / "events.jsonl").read_text(encoding="utf-8").splitlines()

    assert [EVENT.validate_json(line) for line in lines] == [first, *EVENTS[2:]]
    assert EVENT.validate_json(lines[1].replace('"asked"', '"call_intended"')) == EVENTS[2]


def test_unknown_fields_are_refused() -> None:
    """A field that this version does not know is refused, in the event and inside it."""
    for event in EVENTS:
        with pytest.raises(ValidationError, match="mood"):
            EVENT.validate_python(event.model_dump() | {"mood": "good"})
        for name, inner in event.model_dump().items():
            if name in ("reply", "settings", "format") and inner is not None:
                with pytest.raises(ValidationError, match="mood"):
                    EVENT.validate_python(event.model_dump() | {name: inner | {"mood": "good"}})


@for_each([{}, {"kind": "shouted"}, {"kind": "spoke"}, {"kind": "noted", "note": "x"}, [], None, "spoke"])
def test_what_is_no_event(data: Any) -> None:
    """Data without a known kind, or without what that kind needs, is not an event."""
    with pytest.raises(ValidationError):
        EVENT.validate_python(data)


@for_each([
    ("As of 2019, it is so.", "2019"), ("as of July 4, 2025, it is so.", "July 4, 2025"),
    (" As of the end of 2020, it is so.", "the end of 2020"), ("As of Q3 2024, it is so.", "Q3 2024"),
    ("As of 2025-07-01, it is so.", "2025-07-01"), ("As of now, it is so.", None), ("As of 2019 it is so.", None),
    ("As of 2019 award A a 10, it is so.", None), ("As of " + "the " * 20 + "2019, it is so.", None),
    ("It is so as of 2019, I say.", None),
])  # fmt: skip
def test_a_dated_topic(topic: str, time: str | None) -> None:
    """What a topic is dated to is decided by words for a time alone; whatever else is there dates nothing."""
    assert opened().settings.model_copy(update={"topic": topic}).as_of == time


BY = "anthropic:m"


def paid(text: str = "So it is.", cost: float | None = 0.5, **usage: int) -> Reply:
    """A reply that was paid for."""
    counted = Usage(**({"uncached_input": 10, "output": 5} | usage))
    return reply(text).model_copy(update={"spec": BY, "usage": counted, "cost": cost, "by_call": True})


def debate(*events: Any, **changes: Any) -> DebateState:
    """A debate opened and taken so far."""
    return fold([opened(rounds=2).model_copy(update=changes), *events])


def test_a_line_for_each_seat_and_phase() -> None:
    """Calls are added up by seat and phase, in the order of the stages."""
    made = costs_of(
        debate(Spoke(turn_id="1.opening.a", reply=paid()), Spoke(turn_id="1.opening.b", reply=paid(cost=0.25)))
    )

    assert [(one.seat, one.phase, one.calls, one.cost) for one in made.lines] == [
        ("a", "opening", 1, 0.5),
        ("b", "opening", 1, 0.25),
    ]
    assert made.total == CostLine(
        seat="all", phase="all", calls=2, cost=0.75, usage=Usage(uncached_input=20, output=10)
    )


def test_what_came_to_nothing_is_paid_for_too() -> None:
    """A spoiled reply is on the bill at its price, and what had come of a call that broke off at an unknown one."""
    broken = CallFailed(
        turn_id="1.opening.a", spec=BY, problem="cut", wait=1.0, maybe_billed=True, reply=paid(cost=None)
    )
    refused = CallFailed(turn_id="1.opening.a", spec=BY, problem="refused", wait=1.0)
    spoiled = Rejected(turn_id="1.opening.a", problems=("empty",), reply=paid("", cost=0.2))
    total = costs_of(debate(refused, broken, spoiled, Spoke(turn_id="1.opening.a", reply=paid()))).total

    assert (total.calls, round(total.cost, 9), total.unpriced_calls) == (3, 0.7, 1)


def test_a_call_without_an_end_is_of_unknown_price() -> None:
    """A call that went silent, and one that was under way when all stopped, may have been billed."""
    asked = BriefSent(turn_id="1.opening.a", brief_digest="0", spec=BY, by_call=True)
    silent = CallFailed(turn_id="1.opening.a", spec=BY, problem="silence", wait=1.0, maybe_billed=True)
    total = costs_of(debate(asked, silent, asked)).total

    assert (total.calls, total.cost, total.unpriced_calls) == (2, 0.0, 2)
    assert costs_of(debate(asked.model_copy(update={"by_call": False}))) == Costs()


@pytest.mark.parametrize("field", [{"asked_code": "BCDFGH"}, {"recorded_reading": {"problems": []}}])
def test_what_only_the_reading_of_a_reply_needs_is_in_no_journal(field: dict[str, Any]) -> None:
    """A journal can't bring along the code of a reply, or what another debate made of it."""
    data = json.loads(speech_event(TURN).model_dump_json())
    data["reply"] |= field
    with pytest.raises(ValidationError, match="a reply on record does not have this field"):
        EVENT.validate_python(data)
