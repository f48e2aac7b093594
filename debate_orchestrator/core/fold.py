"""Events in, state out: `fold` a whole journal, or `apply` one more event.

1. An event out of turn is rejected and changes nothing; the same reply twice is harmless.
2. What a seat hears follows the schedule's order, never the order in which replies arrived: network timing can't change
   a prompt.
3. Phases that depend on what was said are worked out from the replies by `schedule`, so no second state can disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import takewhile
from types import MappingProxyType
from typing import Any, TypeVar, cast

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
)
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import names_turns
from debate_orchestrator.core.state import DebateState, JudgedRound, SlotPosition, make_plan
from debate_orchestrator.util.errors import OutOfTurn, short_repr

MAX_REOPENED = 100
"""How often a debate may be reopened: each time its schedule is worked out again."""
_OLD_ATTEMPTS = 2
"""Replies that can't be used after which a judge is absent, in journals that do not say so themselves. A debater never
is: a one-sided transcript must not be judged."""

_MAPS = (
    *(
        "replies",
        "rejected",
        "rejected_since",
        "briefs_sent",
        "failed",
        "question_counts",
        "questions_before_last_turn",
    ),
    *("turn_events", "speeches", "ignored_lines", "votes", "judged", "turns", "turns_reached"),
)
"""The mappings of a state that its events change."""
_EVENTS = ("briefs_sent", "failed", "rejected", "turn_events")
"""Those whose values are sequences of events."""
_SEQUENCES = ("notes", "questions", "stages")
_ONLY_WHILE_OPEN: dict[type, str] = {BudgetChanged: "a new cost cap", RetryForChanged: "another time for retries"}
"""Events that change nothing in a complete debate, and what they set."""
_K = TypeVar("_K")
_V = TypeVar("_V")


def fold(events: Iterable[Event]) -> DebateState:
    """The state after `events`, the first of which must be Opened. Raises OutOfTurn if one does not fit."""
    rest = iter(events)
    opened = next(rest, None)
    if not isinstance(opened, Opened):
        raise OutOfTurn("The first event does not open a debate.")
    debate = _initial_state(opened)
    for event in rest:
        if would_change(debate, event):
            debate = _changed(debate, event)
    return _read_only(debate)


def apply(debate: DebateState, event: Event) -> DebateState:
    """The state after one more event; the same state for a reply that is recorded already, word for word.

    Raises OutOfTurn for an event that is not due, or that is not what its brief asks for.
    """
    return _after(debate, event) if would_change(debate, event) else debate


def _after(debate: DebateState, event: Event) -> DebateState:
    """The state after an event that fits and changes it."""
    return _read_only(_changed(_copied(debate, event), event))


class CurrentState:
    """The state of a debate that is under way. All who take part in running it share one, and `state` in it is replaced
    with each event."""

    def __init__(self, state: DebateState):
        self.state = state

    def apply(self, event: Event, *, checked: bool = False) -> None:
        """As the function `apply`; an event that is `checked` already is not checked again."""
        self.state = _after(self.state, event) if checked else apply(self.state, event)


def would_change(debate: DebateState, event: Event) -> bool:
    """Whether an event would change anything. Raises OutOfTurn as `apply` does."""
    if isinstance(event, Opened):
        raise OutOfTurn("The debate is open already; a journal holds one debate.")
    if isinstance(event, Noted):
        return True
    if debate.complete and isinstance(event, tuple(_ONLY_WHILE_OPEN)):
        raise OutOfTurn(f"This debate is complete; {_ONLY_WHILE_OPEN[type(event)]} would change nothing.")
    match event:
        case BudgetChanged():
            return event.max_cost != debate.max_cost
        case RetryForChanged():
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
    if debate.replies.get(event.turn) == event:
        return False
    if isinstance(event, Rejected) and event in debate.rejected_since.get(event.turn, ()):
        return False
    turn = next((turn for turn in debate.due if turn.id == event.turn), None)
    if turn is None and event.turn in debate.replies:
        raise OutOfTurn(f"{event.turn}: this turn has a reply already, and that one counts.")
    if turn is None:
        raise OutOfTurn(f"{event.turn}: this turn is not due. Due now: {schedule.due_names(debate)}.")
    _check_reply(debate, turn, event)
    return True


def _check_cast(debate: DebateState, event: Reassigned) -> bool:
    """Whether new models for a seat change anything. Raises OutOfTurn if the panel's size would change."""
    if debate.complete:
        problem = f"This debate is complete; a new model for {event.seat} would change nothing."
        raise OutOfTurn(problem, hint="judge it again, with other judges")
    before = debate.cast.get(event.seat, ())
    if not before:
        raise OutOfTurn(f"The seat {event.seat} has no turn in this debate.")
    if len(event.who) != len(before):
        raise OutOfTurn(f"{event.seat} has {len(before)} models, and {len(event.who)} were named to replace them.")
    return event.who != before


def _check_question(debate: DebateState, event: QuestionAsked) -> bool:
    """True for a question from the floor. Raises OutOfTurn if a seat that it is put to will not hear it."""
    seats = debate.askable
    if unknown := [seat for seat in event.to if seat not in seats]:
        raise OutOfTurn(f"A question can't be put to {', '.join(unknown)}.", hint=f"one of {', '.join(seats)}")
    if finished := [seat for seat in event.to if not schedule.will_hear(debate, seat)]:
        problem = f"A question can't be put to {', '.join(finished)}: the last turn is taken or under way."
        raise OutOfTurn(problem, hint="a seat with turns left")
    return True


def _check_issues(debate: DebateState, event: IssuesChanged) -> bool:
    """Whether another list of issues changes anything. Raises OutOfTurn before there is one, and once it is argued."""
    if not schedule.can_change_issues(debate):
        raise OutOfTurn(schedule.TOO_LATE_FOR_ISSUES)
    listed = rapporteur.issue_list(debate)
    return listed is None or event.issues != tuple(listed.issues.values())


def can_end_early(debate: DebateState) -> bool:
    """Whether the debate can be ended before all of its rounds."""
    try:
        return debate.ended_after is None and would_change(debate, schedule.early_end(debate))
    except OutOfTurn:
        return False


def _check_early_end(debate: DebateState, event: EndedEarly) -> bool:
    """Whether an early end changes anything. Raises OutOfTurn if there is nothing to end or to judge."""
    if not debate.due or debate.due[0].after_rounds:
        problem = "This debate is complete" if not debate.due else "The last turns of this debate are due already"
        raise OutOfTurn(f"{problem}; there is no round left to skip.")
    if not any(turn.speaking for turn in schedule.turns_taken(debate)):
        raise OutOfTurn("No speech has been made yet, so there is nothing to judge.")
    if debate.ended_after is not None:
        return False
    if (slot_id := _ended_after(debate, event)) is None:
        raise OutOfTurn("The last round of this debate is under way; there is no round left to skip.")
    if slot_id not in (schedule.last_slot_id(debate), schedule.last_slot_id(debate, count_uncalled_briefs=True)):
        raise OutOfTurn(f"This debate can't be ended after {short_repr(slot_id)} now.")
    return True


def _ended_after(debate: DebateState, event: EndedEarly) -> str | None:
    return event.after or schedule.last_slot_id(debate, count_uncalled_briefs=True)


def _check_reopening(debate: DebateState) -> bool:
    """True if the debate lacks something that may still be written. Raises OutOfTurn in any other debate."""
    if not schedule.asked_again(debate):
        raise OutOfTurn("This debate can't be reopened: nothing is missing from it for want of a usable reply.")
    if debate.reopened >= MAX_REOPENED:
        raise OutOfTurn(f"This debate was reopened {MAX_REOPENED} times, and no more is allowed.")
    return True


def _check_reply(debate: DebateState, turn: Turn, event: BriefSent | CallFailed | ReplyEvent) -> None:
    """Raises OutOfTurn if a turn that is due wants another kind of reply, or if a structured reply lacks its shape."""
    shape = debate.shape(turn)
    if isinstance(event, Rejected) and event.absent and turn.speaking:
        raise OutOfTurn(f"{turn.id}: a debater can't be absent.")
    if isinstance(event, Declined) and turn.speaking:
        return
    if isinstance(event, Spoke | Declined | StructuredReplyGiven) and isinstance(event, StructuredReplyGiven) == (
        shape is None
    ):
        wanted = "a speech" if shape is None else "a structured reply"
        raise OutOfTurn(f"{turn.id}: this turn needs {wanted}, not the event {event.kind!r}.")
    if isinstance(event, StructuredReplyGiven) and shape is not None:
        context = schedule.shape_context(debate, turn, named=names_turns(shape))
        if problems := [f"{turn.id}: {text}" for text in check(shape, event.data, context)]:
            raise OutOfTurn(problems)


# From here on a state under construction is changed in place, so that a fold takes time that grows with its events. No
# caller has seen its collections yet: they are new in `_initial_state`, copied in `_copied`, and made read-only before
# the state is returned.


def _initial_state(opened: Opened) -> DebateState:
    earlier_debate = opened.earlier_debate
    changed = earlier_debate.issues_changed if earlier_debate else None
    debate = DebateState(
        opened=opened,
        plan=make_plan(opened),
        cast=MappingProxyType(dict(opened.cast)),
        max_cost=opened.settings.max_cost,
        retry_for=opened.settings.retry_for,
        ended_after=earlier_debate.ended_after if earlier_debate else None,
        changed_issues=changed.issues if changed else None,
    )
    return _advanced(_copied(replace(debate, last_slots=schedule.last_slots(debate)), opened))


def _copied(debate: DebateState, event: Event) -> DebateState:
    """The same state in collections of its own."""
    own: dict[str, Any] = {name: dict(getattr(debate, name)) for name in _MAPS}
    own |= {name: list(getattr(debate, name)) for name in _SEQUENCES}
    copy = replace(debate, **own)
    if isinstance(event, BriefSent | CallFailed | ReplyEvent):
        for events in (getattr(copy, name) for name in _EVENTS):
            if event.turn in events:
                _mutable(events)[event.turn] = list(events[event.turn])
        if event.turn in copy.rejected_since:
            _mutable(copy.rejected_since)[event.turn] = set(copy.rejected_since[event.turn])
    return copy


def _read_only(debate: DebateState) -> DebateState:
    """The same state in collections that can't be changed."""
    fixed: dict[str, Any] = {name: tuple(getattr(debate, name)) for name in _SEQUENCES}
    fixed |= {name: MappingProxyType(getattr(debate, name)) for name in _MAPS}
    for name in _EVENTS:
        fixed[name] = MappingProxyType({turn_id: tuple(events) for turn_id, events in getattr(debate, name).items()})
    since = {turn_id: frozenset(events) for turn_id, events in debate.rejected_since.items()}
    return replace(debate, **fixed | {"rejected_since": MappingProxyType(since)})


def _mutable(mapping: Mapping[_K, _V]) -> MutableMapping[_K, _V]:
    return cast(MutableMapping[_K, _V], mapping)


def _append(values: Sequence[_V], value: _V) -> None:
    cast(list[_V], values).append(value)


def _add(events: Mapping[str, Sequence[_V]], turn_id: str, event: _V) -> None:
    _append(_mutable(events).setdefault(turn_id, []), event)


def _changed(debate: DebateState, event: Event) -> DebateState:
    """The state under construction after an event that fits and changes it."""
    if isinstance(event, BriefSent | CallFailed | ReplyEvent):
        _add(debate.turn_events, event.turn, event)
    match event:
        case Noted():
            _append(debate.notes, event)
        case Reassigned():
            return replace(debate, cast=MappingProxyType({**debate.cast, event.seat: event.who}))
        case BudgetChanged():
            return replace(debate, max_cost=event.max_cost)
        case RetryForChanged():
            return replace(debate, retry_for=event.retry_for)
        case QuestionAsked():
            _append(debate.questions, event)
        case EndedEarly():
            # An early end leaves out phases, among them some that answer what is found.
            return _rescheduled(replace(debate, ended_after=_ended_after(debate, event)), {})
        case IssuesChanged():
            return replace(debate, changed_issues=event.issues)
        case CallFailed():
            _add(debate.failed, event.turn, event)
        case BriefSent():
            _begin(debate)
            _add(debate.briefs_sent, event.turn, event)
            _mutable(debate.rejected_since).pop(event.turn, None)
        case Rejected():
            _add(debate.rejected, event.turn, event)
            cast(set[Rejected], _mutable(debate.rejected_since).setdefault(event.turn, set())).add(event)
            not_recorded = event.absent is None and len(debate.rejected[event.turn]) >= _OLD_ATTEMPTS
            if event.absent or (not_recorded and not debate.turns[event.turn].speaking):
                return _close_turn(debate, event)
        case Reopened():
            return _reopened(debate)
        case Spoke() | Declined() | StructuredReplyGiven():
            return _close_turn(debate, event)
    return debate


def _reopened(debate: DebateState) -> DebateState:
    """The last turns without a usable reply are due again; what a panel's votes came to without them is forgotten."""
    turns = schedule.asked_again(debate)
    for turn in turns:
        del _mutable(debate.replies)[turn.id]
        _mutable(debate.votes).pop(schedule.slot_id_of(turn), None)
    rounds = {turn.round for turn in turns}
    debate = replace(debate, reopened=debate.reopened + 1)
    return _rescheduled(debate, {round: judged for round, judged in debate.judged.items() if round not in rounds})


def _rescheduled(debate: DebateState, judged: dict[int, JudgedRound]) -> DebateState:
    """The stages, worked out again from the replies, and the results of the rounds that are not among `judged`."""
    debate = replace(
        debate, judged=judged, stages=[], turns={}, position=SlotPosition(), last_slots=schedule.last_slots(debate)
    )
    for round, turn_ids in debate.plan.voting_turn_ids.items():
        if round not in judged and all(turn_id in debate.replies for turn_id in turn_ids):
            judged[round] = tally.judge_round(debate, round)
    return _advanced(debate)


def _begin(debate: DebateState) -> None:
    """Notes the turns of the stage that is due as begun: one of their briefs is sent, or has its reply."""
    for turn in debate.stages[-1] if debate.stages else ():
        if turn.id not in debate.question_counts:
            _mutable(debate.question_counts)[turn.id] = schedule.questions_before(debate, turn)
            _mutable(debate.questions_before_last_turn)[turn.seat, turn.mirrored] = len(debate.questions)


def _close_turn(debate: DebateState, reply_event: ReplyEvent) -> DebateState:
    _begin(debate)
    turn = debate.turns[reply_event.turn]
    _mutable(debate.replies)[turn.id] = reply_event
    if isinstance(reply_event, Spoke | Declined):
        _mutable(debate.speeches)[turn.id] = speech_rules.visible_text(debate, reply_event.reply.text, turn.phase)
        if ignored := speech_rules.ignored_line(debate, turn, reply_event.reply):
            _mutable(debate.ignored_lines)[turn.id] = ignored
    if isinstance(reply_event, Spoke) and speech_rules.concedes(debate, turn, reply_event.reply):
        debate = replace(debate, conceding=debate.conceding | {turn.id})
    slot_id = schedule.slot_id_of(turn)
    if slot_id in debate.plan.judge_turns and (votes := tally.votes_in(debate, slot_id)) is not None:
        _mutable(debate.votes)[slot_id] = tuple(votes)
        if turn.round is not None and all(
            turn_id in debate.replies for turn_id in debate.plan.voting_turn_ids[turn.round]
        ):
            _mutable(debate.judged)[turn.round] = tally.judge_round(debate, turn.round)
    return _advanced(debate)


def _advanced(debate: DebateState) -> DebateState:
    """The same with every stage that its replies have reached."""
    while not debate.stages or all(turn.id in debate.replies for turn in debate.stages[-1]):
        stage, position = schedule.next_stage(debate)
        debate = replace(debate, position=position)
        if not stage:
            break
        _append(debate.stages, stage)
        for turns in (debate.turns, debate.turns_reached):
            _mutable(turns).update((turn.id, turn) for turn in stage)
        debate = _with_earlier_questions(debate)
    last = debate.stages[-1] if debate.stages else ()
    return replace(debate, due=tuple(turn for turn in last if turn.id not in debate.replies))


def _with_earlier_questions(debate: DebateState) -> DebateState:
    """The same with the questions from the floor that the earlier debate had before the stage that was reached last."""
    earlier, slot_numbers = debate.opened.earlier_debate, debate.plan.slot_numbers
    left = earlier.questions[debate.earlier_question_count :] if earlier else ()
    reached = (debate.position.slot_index, debate.position.stages_reached - 1)
    due = [*takewhile(lambda one: (slot_numbers[one.before], one.stage) <= reached, left)]
    for one in due:
        _append(debate.questions, one.asked)
    return replace(debate, earlier_question_count=debate.earlier_question_count + len(due)) if due else debate
