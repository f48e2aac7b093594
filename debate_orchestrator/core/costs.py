"""The cost of a debate so far, added up from the replies on record. Unknown amounts stay unknown."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from debate_orchestrator.core.events import BriefSent, CallFailed, Event, Opened, ReplyEvent
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import FrozenModel

SETUP = "setup"
"""The phase under which calls before the first turn are counted."""
CALL_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{48}(?![0-9a-f])")
"""What `call_id` makes, wherever it stands in a file."""


class CostLine(FrozenModel):
    """The calls of one seat in one phase."""

    seat: str
    phase: str
    calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    """US dollars, of the calls whose price is known."""
    unpriced_calls: int = 0
    """Calls whose price is not known."""

    def __add__(self, other: CostLine) -> CostLine:
        sums = {
            name: getattr(self, name) + getattr(other, name) for name in ("calls", "usage", "cost", "unpriced_calls")
        }
        return self.model_copy(update=sums)


class Costs(FrozenModel):
    """Every line that has a call, in the order of the schedule."""

    lines: tuple[CostLine, ...] = ()

    @classmethod
    def of_calls(cls, calls: Iterable[CostLine]) -> Costs:
        """The sums of calls by seat and phase, in the order of their first calls."""
        lines: dict[tuple[str, str], CostLine] = {}
        for call in calls:
            key = call.seat, call.phase
            lines[key] = lines[key] + call if key in lines else call
        return cls(lines=tuple(lines.values()))

    @property
    def total(self) -> CostLine:
        return sum(self.lines, CostLine(seat="all", phase="all"))

    def of_seats(self) -> dict[str, CostLine]:
        """Seat to the sum of its lines."""
        seats = Costs.of_calls(line.model_copy(update={"phase": "all"}) for line in self.lines)
        return {line.seat: line for line in seats.lines}


def cost_line(turn: Turn | None, usage: Usage, cost: float | None) -> CostLine:
    """One call; without a turn, one of the setup. `cost` is None if it is unknown."""
    seat, phase = ("moderator", SETUP) if turn is None else (turn.seat, turn.phase.name)
    return CostLine(seat=seat, phase=phase, calls=1, usage=usage, cost=cost or 0.0, unpriced_calls=int(cost is None))


def costs_of(debate: DebateState) -> Costs:
    """The costs of every call that was or may have been billed: replies that count, rejected ones, those that broke
    off, and calls without any reply. The price of a call whose tokens are not fully known is unknown."""
    replies = ((call.turn, call.reply) for call in billed_calls(debate))
    return Costs.of_calls(
        cost_line(turn, (reply and reply.usage) or Usage(), reply.cost if reply else None) for turn, reply in replies
    )


class BilledCall(NamedTuple):
    """A call that was or may have been billed."""

    turn: Turn | None
    """None for a call before the first turn."""
    spec: str
    reply: Reply | None
    """None for a call without any reply."""
    estimated_cost: float | None
    """US dollars that it is estimated at where its cost is unknown, as the journal has it."""


def billed_calls(debate: DebateState) -> Iterator[BilledCall]:
    """Every such call, in the order of the schedule; turns that are no longer in it come last."""
    yield from _billed_in_setup(debate.opened)
    for turn in {**debate.turns, **debate.turns_reached}.values():
        yield from _billed_in(turn, debate.turn_events.get(turn.id, ()))


def billed_calls_of(events: Iterable[Event]) -> Iterator[BilledCall]:
    """Every such call among events that need not form a valid debate. Their turns are not known."""
    turn_events: dict[str, list[BriefSent | _CallEnd]] = {}
    for event in events:
        if isinstance(event, Opened):
            yield from _billed_in_setup(event)
        elif isinstance(event, BriefSent | _CallEnd):
            turn_events.setdefault(event.turn_id, []).append(event)
    for events_of_turn in turn_events.values():
        yield from _billed_in(None, events_of_turn)


def _billed_in_setup(opened: Opened) -> Iterator[BilledCall]:
    for reply in opened.moderator_replies:
        if reply.by_call:
            yield BilledCall(None, reply.spec, reply, reply.estimated_cost)


def calls_under_way(debate: DebateState, turn_id: str) -> list[BriefSent]:
    """Each `BriefSent` of a turn of whose call the journal has no end, the latest one last."""
    return [sent for sent, end in _paired(debate.turn_events.get(turn_id, ())) if sent and end is None]


def call_id(debate: DebateState, turn_id: str, spec: str, brief_digest: str) -> str:
    """The id of the next call of a turn in any batch: the same until its result is in the journal."""
    results = len(debate.rejected_replies(turn_id)) + len(debate.failed_calls(turn_id))
    parts = [debate.opened.nonce, turn_id, spec, brief_digest, results]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:48]


_CallEnd = CallFailed | ReplyEvent


def _paired(events: Iterable[BriefSent | _CallEnd]) -> list[tuple[BriefSent | None, _CallEnd | None]]:
    """Each `BriefSent` of a turn with the event that ended its call, and such events without one. An event belongs to
    the latest of the same spec that has none yet, since a turn makes one call at a time; an earlier one is of a process
    that was killed. A journal of another origin may hold ends of calls that were never made."""
    pairs: list[tuple[BriefSent | None, _CallEnd | None]] = []
    without_end: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, BriefSent):
            without_end.setdefault(event.spec, []).append(len(pairs))
            pairs.append((event, None))
        elif open_indexes := without_end.get(event.spec if isinstance(event, CallFailed) else event.reply.spec):
            index = open_indexes.pop()
            pairs[index] = pairs[index][0], event
        else:
            pairs.append((None, event))
    return pairs


def _billed_in(turn: Turn | None, events: Iterable[BriefSent | _CallEnd]) -> Iterator[BilledCall]:
    for sent, end in _paired(events):
        reply = None if end is None else end.reply
        failure = end if isinstance(end, CallFailed) else None
        if failure is not None and not failure.maybe_billed:
            continue
        if reply is not None:
            if failure is not None or reply.by_call:
                yield BilledCall(turn, reply.spec, reply, reply.estimated_cost)
        elif sent is not None and sent.by_call:
            yield BilledCall(turn, sent.spec, None, sent.estimated_cost)
        elif failure is not None:
            yield BilledCall(turn, failure.spec, None, None)
