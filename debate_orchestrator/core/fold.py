"""Events in, state out: `fold` a whole journal, or `apply` one more event.

1. An event that does not fit the state is rejected and changes nothing; the same reply twice is harmless.
2. What a seat hears follows the schedule's order, never the order in which replies arrived: network timing can't change
   a prompt.
3. Phases that depend on what was said are worked out from the replies by `schedule`, so no second state can disagree.

A state is never changed: each event makes a new one, which shares with the one before it what is the same in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile

from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally
from debate_orchestrator.core.events import (
    BriefSent,
    BudgetChanged,
    CallFailed,
    Declined,
    EndedEarly,
    Event,
    IssuesChanged,
    Noted,
    Opened,
    QuestionAsked,
    Reassigned,
    Rejected,
    Reopened,
    ReplyEvent,
    RetryForChanged,
    Spoke,
    StructuredReplyGiven,
    TurnEvent,
)
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import names_turns
from debate_orchestrator.core.state import DebateState, JudgedRound, SlotPosition, make_plan
from debate_orchestrator.util.errors import DoesNotFit, short_repr

MAX_REOPENED = 100
"""The maximum number of reopenings of a debate: each time its schedule is worked out again."""
MAX_TURN_EVENTS = 5_000
"""After this many events of a turn no further call is made in it. One more event may record how a call under way ended,
and the reply that ends the turn is always recorded. A day of failed calls is fewer than 4,000 events."""
MAX_NOTES = 10_000
MAX_QUESTIONS = 1_000


def fold(events: Iterable[Event]) -> DebateState:
    """The state after `events`, the first of which must be Opened. Raises DoesNotFit if one does not fit."""
    rest = iter(events)
    opened = next(rest, None)
    if not isinstance(opened, Opened):
        raise DoesNotFit("The first event does not open a debate.")
    debate = _initial_state(opened)
    for event in rest:
        debate = apply(debate, event)
    return debate


def apply(debate: DebateState, event: Event) -> DebateState:
    """The state after one more event; the same state for a reply that is recorded already, word for word. Raises
    DoesNotFit for an event that is not due, or that is not what its brief asks for."""
    return _state_after(debate, event) if would_change(debate, event) else debate


class CurrentState:
    """The state of a debate under way, shared by all who run it; `state` is replaced with each event."""

    def __init__(self, state: DebateState):
        self.state = state

    def apply(self, event: Event, *, checked: bool = False) -> None:
        """As the function `apply`; an event that is `checked` already is not checked again."""
        self.state = _state_after(self.state, event) if checked else apply(self.state, event)


def would_change(debate: DebateState, event: Event) -> bool:
    """Whether an event would change anything. Raises DoesNotFit as `apply` does."""
    match event:
        case Opened():
            raise DoesNotFit("The debate is open already; a journal holds one debate.")
        case Noted():
            _check_count(len(debate.notes), MAX_NOTES, "notes")
            return True
        case BudgetChanged():
            _check_open(debate, "a new cost cap")
            return event.max_cost != debate.max_cost
        case RetryForChanged():
            _check_open(debate, "another time for retries")
            return event.retry_for != debate.retry_for
        case Reassigned():
            return _check_cast(debate, event)
        case QuestionAsked():
            return _check_question(debate, event)
        case IssuesChanged():
            return _check_issues(debate, event)
        case EndedEarly():
            return _check_early_end(debate, event)
        case Reopened():
            return _check_reopening(debate)
    return _check_turn_event(debate, event)


def _check_count(count: int, limit: int, events: str) -> None:
    """Raises DoesNotFit if no more events of a kind are allowed: each new one copies all earlier ones."""
    if count >= limit:
        raise DoesNotFit(f"This debate has {count:,} {events}, and no more are allowed.")


def _check_open(debate: DebateState, change: str, hint: str = "") -> None:
    if debate.complete:
        raise DoesNotFit(f"This debate is complete; {change} would change nothing.", hint=hint)


def _check_cast(debate: DebateState, event: Reassigned) -> bool:
    """Whether new models for a seat change anything. Raises DoesNotFit if the panel's size would change."""
    _check_open(debate, f"a new model for {event.seat}", "judge it again, with other judges")
    before = debate.cast.get(event.seat, ())
    if not before:
        raise DoesNotFit(f"The seat {event.seat} has no turn in this debate.")
    if len(event.specs) != len(before):
        raise DoesNotFit(f"{event.seat} has {len(before)} models, and {len(event.specs)} were named to replace them.")
    return event.specs != before


def _check_question(debate: DebateState, event: QuestionAsked) -> bool:
    """True for a question from the floor. Raises DoesNotFit if a seat that it is put to will not hear it."""
    seats = debate.question_seats
    if unknown := [seat for seat in event.to if seat not in seats]:
        raise DoesNotFit(f"A question can't be put to {', '.join(unknown)}.", hint=f"one of {', '.join(seats)}")
    if finished := [seat for seat in event.to if not schedule.will_hear(debate, seat)]:
        problem = f"A question can't be put to {', '.join(finished)}: the last turn is taken or under way."
        raise DoesNotFit(problem, hint="a seat with turns left")
    _check_count(len(debate.floor_questions), MAX_QUESTIONS, "questions from the floor")
    return True


def _check_issues(debate: DebateState, event: IssuesChanged) -> bool:
    """Whether another list of issues changes anything. Raises DoesNotFit before there is one, and once it is argued."""
    if not schedule.can_change_issues(debate):
        raise DoesNotFit(schedule.TOO_LATE_FOR_ISSUES)
    issue_list = rapporteur.issue_list(debate)
    return issue_list is None or event.issues != tuple(issue_list.issues.values())


def can_end_early(debate: DebateState) -> bool:
    """Whether the debate can be ended before all of its rounds."""
    try:
        return debate.ended_after is None and would_change(debate, schedule.early_end(debate))
    except DoesNotFit:
        return False


def _check_early_end(debate: DebateState, event: EndedEarly) -> bool:
    """Whether an early end changes anything. Raises DoesNotFit if there is nothing to end or to judge."""
    if not debate.due or debate.due[0].after_rounds:
        problem = "This debate is complete" if not debate.due else "The last turns of this debate are due already"
        raise DoesNotFit(f"{problem}; there is no round left to skip.")
    if not any(turn.speaking for turn in schedule.turns_taken(debate)):
        raise DoesNotFit("No speech has been made yet, so there is nothing to judge.")
    if debate.ended_after is not None:
        return False
    if (slot_id := _ended_after(debate, event)) is None:
        raise DoesNotFit("The last round of this debate is under way; there is no round left to skip.")
    if slot_id not in (
        schedule.last_slot_id(debate),
        schedule.last_slot_id(debate, counts_briefs_without_call=True),
    ):
        raise DoesNotFit(f"This debate can't be ended after {short_repr(slot_id)} now.")
    return True


def _ended_after(debate: DebateState, event: EndedEarly) -> str | None:
    return event.after or schedule.last_slot_id(debate, counts_briefs_without_call=True)


def _check_reopening(debate: DebateState) -> bool:
    """True if the debate lacks something that may still be written. Raises DoesNotFit in any other debate."""
    if not schedule.turns_to_reopen(debate):
        raise DoesNotFit("This debate can't be reopened: it lacks nothing that a usable reply could still supply.")
    _check_count(debate.times_reopened, MAX_REOPENED, "reopenings")
    return True


def _check_turn_event(debate: DebateState, event: TurnEvent) -> bool:
    """Whether an event of a turn is new. Raises DoesNotFit if the turn is not due, or wants another reply."""
    last = debate.turn_events.get(event.turn_id, ())[-1:]
    if debate.replies.get(event.turn_id) == event or (isinstance(event, Rejected) and last == (event,)):
        return False
    turn = next((turn for turn in debate.due if turn.id == event.turn_id), None)
    if turn is None and event.turn_id in debate.replies:
        raise DoesNotFit(f"{event.turn_id}: this turn has a reply already, and that one counts.")
    if turn is None:
        raise schedule.not_due(debate, event.turn_id)
    _check_reply(debate, turn, event)
    ends_turn = isinstance(event, Spoke | Declined | StructuredReplyGiven) or (
        isinstance(event, Rejected) and event.absent
    )
    max_events = MAX_TURN_EVENTS + (not isinstance(event, BriefSent))
    if not ends_turn and len(debate.turn_events.get(event.turn_id, ())) >= max_events:
        raise DoesNotFit(
            f"{event.turn_id}: this turn has {MAX_TURN_EVENTS:,} events, and no more calls are allowed in it."
        )
    return True


def _check_reply(debate: DebateState, turn: Turn, event: TurnEvent) -> None:
    """Raises DoesNotFit if a turn that is due wants another kind of reply, or if a structured reply lacks its shape."""
    shape = debate.shape(turn)
    if isinstance(event, Rejected) and event.absent and turn.speaking:
        raise DoesNotFit(f"{turn.id}: a debater can't be absent.")
    if isinstance(event, Declined) and turn.speaking:
        return
    if isinstance(event, Spoke | Declined | StructuredReplyGiven) and isinstance(event, StructuredReplyGiven) == (
        shape is None
    ):
        kind = "a speech" if shape is None else "a structured reply"
        raise DoesNotFit(f"{turn.id}: this turn needs {kind}, not the event {event.kind!r}.")
    if isinstance(event, StructuredReplyGiven) and shape is not None:
        context = schedule.shape_context(debate, turn, with_turns=names_turns(shape))
        if problems := [f"{turn.id}: {text}" for text in check(shape, event.data, context)]:
            raise DoesNotFit(problems)


def _initial_state(opened: Opened) -> DebateState:
    earlier_debate = opened.earlier_debate
    changed = earlier_debate.issues_changed if earlier_debate else None
    debate = DebateState(
        opened=opened,
        plan=make_plan(opened),
        cast=opened.cast,
        max_cost=opened.settings.max_cost,
        retry_for=opened.settings.retry_for,
        ended_after=earlier_debate.ended_after if earlier_debate else None,
        changed_issues=changed.issues if changed else None,
    )
    return _advanced(debate)


def _state_after(debate: DebateState, event: Event) -> DebateState:
    match event:
        case Noted():
            return replace(debate, notes=(*debate.notes, event))
        case Reassigned():
            return replace(debate, cast={**debate.cast, event.seat: event.specs})
        case BudgetChanged():
            return replace(debate, max_cost=event.max_cost)
        case RetryForChanged():
            return replace(debate, retry_for=event.retry_for)
        case QuestionAsked():
            return replace(debate, floor_questions=(*debate.floor_questions, event))
        case IssuesChanged():
            return replace(debate, changed_issues=event.issues)
        case EndedEarly():
            # An early end leaves out phases, among them some that answer what is found.
            return _rescheduled(replace(debate, ended_after=_ended_after(debate, event), judged_rounds={}))
        case Reopened():
            return _reopened(debate)
        case BriefSent():
            return _with_stage_begun(_with_turn_event(debate, event))
        case Spoke() | Declined() | StructuredReplyGiven():
            return _with_reply(_with_turn_event(debate, event), event)
        case Rejected() if event.absent:
            return _with_reply(_with_turn_event(debate, event), event)
        case Rejected() | CallFailed():
            return _with_turn_event(debate, event)
        case Opened():
            raise AssertionError("no debate is opened twice")


def _with_turn_event(debate: DebateState, event: TurnEvent) -> DebateState:
    earlier = debate.turn_events.get(event.turn_id, ())
    return replace(debate, turn_events={**debate.turn_events, event.turn_id: (*earlier, event)})


def _reopened(debate: DebateState) -> DebateState:
    """Makes the last turns without a usable reply due again, and drops the panels' results without them."""
    turns = schedule.turns_to_reopen(debate)
    turn_ids, slot_ids, rounds = ({getattr(turn, name) for turn in turns} for name in ("id", "slot_id", "round"))
    return _rescheduled(
        replace(
            debate,
            times_reopened=debate.times_reopened + 1,
            replies={turn_id: reply for turn_id, reply in debate.replies.items() if turn_id not in turn_ids},
            votes={slot_id: votes for slot_id, votes in debate.votes.items() if slot_id not in slot_ids},
            judged_rounds={round: judged for round, judged in debate.judged_rounds.items() if round not in rounds},
        )
    )


def _rescheduled(debate: DebateState) -> DebateState:
    """The stages, worked out again from the replies, and the results of rounds that are not in `judged_rounds`."""
    debate = replace(debate, stages=(), turns={}, cursor=SlotPosition())
    for round in debate.plan.voting_turn_ids:
        if round not in debate.judged_rounds:
            debate = _with_round_judged(debate, round)
    return _advanced(debate)


def _with_stage_begun(debate: DebateState) -> DebateState:
    """The turns of the stage that is due have begun: one of their briefs is sent, or has its reply."""
    new = {turn.id: len(debate.floor_questions) for turn in debate.stages[-1] if turn.id not in debate.questions_before}
    return replace(debate, questions_before={**debate.questions_before, **new}) if new else debate


def _with_reply(debate: DebateState, event: ReplyEvent) -> DebateState:
    debate = _with_stage_begun(debate)
    turn = debate.turns[event.turn_id]
    debate = replace(debate, replies={**debate.replies, turn.id: event})
    if isinstance(event, Spoke | Declined):
        text = event.reply.text
        if isinstance(event, Declined) or event.concedes:
            text = speech_rules.without_code(debate, text)
        visible = speech_rules.visible_text(debate, text, turn.phase)
        debate = replace(debate, speeches={**debate.speeches, turn.id: visible})
    if isinstance(event, Spoke) and speech_rules.concedes(debate, turn, event):
        debate = replace(debate, conceding_turns=debate.conceding_turns | {turn.id})
    if turn.slot_id in debate.plan.ballot_turns and (votes := tally.votes_in(debate, turn.slot_id)) is not None:
        debate = replace(debate, votes={**debate.votes, turn.slot_id: tuple(votes)})
        debate = debate if turn.round is None else _with_round_judged(debate, turn.round)
    return _advanced(debate)


def _with_round_judged(debate: DebateState, round: int) -> DebateState:
    if any(turn_id not in debate.replies for turn_id in debate.plan.voting_turn_ids[round]):
        return debate
    judged: dict[int, JudgedRound] = {**debate.judged_rounds, round: tally.judge_round(debate, round)}
    return replace(debate, judged_rounds=judged)


def _advanced(debate: DebateState) -> DebateState:
    while not debate.stages or all(turn.id in debate.replies for turn in debate.stages[-1]):
        stage, cursor = schedule.next_stage(debate)
        debate = replace(debate, cursor=cursor)
        if not stage:
            break
        turns = {turn.id: turn for turn in stage}
        debate = replace(
            debate,
            stages=(*debate.stages, stage),
            turns={**debate.turns, **turns},
            turns_reached={**debate.turns_reached, **turns},
        )
        debate = _with_earlier_questions(debate)
    last = debate.stages[-1] if debate.stages else ()
    return replace(debate, due=tuple(turn for turn in last if turn.id not in debate.replies))


def _with_earlier_questions(debate: DebateState) -> DebateState:
    """The state with the floor questions that the earlier debate had before the stage that was reached last."""
    earlier, slot_indexes = debate.opened.earlier_debate, debate.plan.slot_indexes
    if earlier is None:
        return debate
    more_questions = earlier.questions[debate.earlier_question_count :]
    reached = (debate.cursor.slot_index, debate.cursor.stages_reached - 1)
    questions = [
        *takewhile(lambda question: (slot_indexes[question.before], question.stage) <= reached, more_questions)
    ]
    return replace(
        debate,
        floor_questions=(*debate.floor_questions, *(question.asked for question in questions)),
        earlier_question_count=debate.earlier_question_count + len(questions),
    )
