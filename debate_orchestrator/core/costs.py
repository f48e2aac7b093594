"""What a debate has cost so far, added up from the replies on record. What is unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from debate_orchestrator.core.events import BriefSent, CallFailed, ReplyEvent
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import FrozenModel

SETUP = "setup"
"""The phase of what was asked for before the first turn."""


class CostLine(FrozenModel):
    """The calls of one seat in one phase."""

    seat: str
    phase: str
    calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    """US dollars, of the calls whose price is known."""
    unknown: int = 0
    """Calls whose price is not known."""

    def __add__(self, other: CostLine) -> CostLine:
        return self.model_copy(
            update={
                "calls": self.calls + other.calls,
                "usage": self.usage + other.usage,
                "cost": self.cost + other.cost,
                "unknown": self.unknown + other.unknown,
            }
        )


class Costs(FrozenModel):
    """Every line that has a call, in the order of the schedule."""

    lines: tuple[CostLine, ...] = ()

    @property
    def total(self) -> CostLine:
        return sum(self.lines, CostLine(seat="all", phase="all"))

    def of_seats(self) -> dict[str, CostLine]:
        """Seat to the sum of its lines."""
        seats: dict[str, CostLine] = {}
        for line in self.lines:
            seats[line.seat] = seats.get(line.seat, CostLine(seat=line.seat, phase="all")) + line
        return seats


def costs_of(debate: DebateState) -> Costs:
    """The costs of every call that was or may have been billed: replies that count, rejected ones, those that broke
    off, and calls without any reply. The price of a call whose tokens are not fully known is unknown."""
    lines: dict[tuple[str, str], CostLine] = {}
    for call in billed_calls(debate):
        seat, phase = ("moderator", SETUP) if call.turn is None else (call.turn.seat, call.turn.phase.name)
        line = lines.get((seat, phase), CostLine(seat=seat, phase=phase))
        lines[seat, phase] = line + _line(seat, phase, call.reply)
    return Costs(lines=tuple(lines.values()))


class BilledCall(NamedTuple):
    """A call that was or may have been billed."""

    turn: Turn | None
    """None for what was asked for before the first turn."""
    by: str
    """The spec that was called."""
    reply: Reply | None
    """None for a call without any reply."""
    estimated_cost: float | None
    """US dollars that it is estimated at where its cost is unknown, as the journal has it."""


def billed_calls(debate: DebateState) -> Iterator[BilledCall]:
    """Every such call, in the order of the schedule. Turns that are no longer in it, since the debate was reopened or
    ended early, come last."""
    yield from (
        BilledCall(None, reply.by, reply, reply.estimated_cost) for reply in debate.opened.derived if reply.called
    )
    for turn in {**debate.turns, **debate.turns_reached}.values():
        yield from _billed_in(turn, debate.turn_events.get(turn.id, ()))


def calls_under_way(debate: DebateState, turn_id: str) -> list[BriefSent]:
    """The intents of a turn of which the journal has no outcome, the latest one last."""
    return [sent for sent, outcome in _paired(debate.turn_events.get(turn_id, ())) if sent and outcome is None]


_Outcome = CallFailed | ReplyEvent


def _paired(events: Iterable[BriefSent | _Outcome]) -> list[tuple[BriefSent | None, _Outcome | None]]:
    """The intents of a turn with what came of them, and the outcomes without an intent.

    A turn makes one call at a time, so an outcome is that of the latest open intent of the same spec; an earlier one is
    of a process that was killed. A journal of another origin may hold outcomes of calls that were never made, and these
    must not stand for calls that were."""
    pairs: list[tuple[BriefSent | None, _Outcome | None]] = []
    open_intents: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, BriefSent):
            open_intents.setdefault(event.by, []).append(len(pairs))
            pairs.append((event, None))
        elif waiting := open_intents.get(event.by if isinstance(event, CallFailed) else event.reply.by):
            n = waiting.pop()
            pairs[n] = pairs[n][0], event
        else:
            pairs.append((None, event))
    return pairs


def _billed_in(turn: Turn, events: Iterable[BriefSent | _Outcome]) -> Iterator[BilledCall]:
    for sent, outcome in _paired(events):
        reply = None if outcome is None else outcome.reply
        failed = outcome if isinstance(outcome, CallFailed) else None
        if failed is not None and not failed.maybe_billed:
            continue
        if reply is not None:
            if failed is not None or reply.called:
                yield BilledCall(turn, reply.by, reply, reply.estimated_cost)
        elif sent is not None and sent.called:
            yield BilledCall(turn, sent.by, None, sent.estimated_cost)
        elif failed is not None:
            yield BilledCall(turn, failed.by, None, None)


def _line(seat: str, phase: str, reply: Reply | None) -> CostLine:
    """One call; None for one without any reply."""
    usage, cost = (Usage(), None) if reply is None else (reply.usage or Usage(), reply.cost)
    return CostLine(seat=seat, phase=phase, calls=1, usage=usage, cost=cost or 0.0, unknown=int(cost is None))
