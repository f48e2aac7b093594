"""What a debate has cost so far, added up from the replies on record. What is unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from debate_orchestrator.core.events import BriefSent, CallFailed
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
    """Every such call, in the order of the schedule."""
    yield from (_replied(None, reply) for reply in debate.opened.derived if reply.called)
    for turn in debate.turns.values():
        reply_event, sent = debate.replies.get(turn.id), debate.briefs_sent.get(turn.id, [])
        failed = debate.failed.get(turn.id, [])
        replies = [event.reply for event in debate.rejected.get(turn.id, []) if event is not reply_event]
        replies += [] if reply_event is None else [reply_event.reply]
        under_way = max(0, len(sent) - len(replies) - len(failed))
        yield from (_replied(turn, reply) for reply in replies if reply.called)
        yield from (_replied(turn, event.reply) for event in failed if event.maybe_billed and event.reply is not None)
        lost = [event for event in failed if event.maybe_billed and event.reply is None]
        yield from _without_reply(turn, lost, [event for event in sent if event.called], under_way)


def _replied(turn: Turn | None, reply: Reply) -> BilledCall:
    return BilledCall(turn, reply.by, reply, reply.estimated_cost)


def _without_reply(turn: Turn, lost: list[CallFailed], sent: list[BriefSent], under_way: int) -> Iterator[BilledCall]:
    """The calls that failed without any reply, and those of which there is an intent and no more. Which intent is whose
    can't always be told, so the dearest count."""
    sent = sorted(sent, key=lambda intent: intent.estimated_cost or 0.0, reverse=True)
    yield from (BilledCall(turn, intent.by, None, intent.estimated_cost) for intent in sent[: len(lost) + under_way])
    yield from (BilledCall(turn, event.by, None, None) for event in lost[len(sent) :])


def _line(seat: str, phase: str, reply: Reply | None) -> CostLine:
    """One call; None for one without any reply."""
    usage, cost = (Usage(), None) if reply is None else (reply.usage or Usage(), reply.cost)
    return CostLine(seat=seat, phase=phase, calls=1, usage=usage, cost=cost or 0.0, unknown=int(cost is None))
