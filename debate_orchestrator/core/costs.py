"""What a debate has cost so far, added up from the replies on record. What is unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterator

from debate_orchestrator.core.events import Reply, Usage
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
    for call in _calls(debate):
        key = call.seat, call.phase
        lines[key] = lines.get(key, CostLine(seat=call.seat, phase=call.phase)) + call
    return Costs(lines=tuple(lines.values()))


def _calls(debate: DebateState) -> Iterator[CostLine]:
    """A line for each call, in the order of the schedule."""
    yield from (_line("moderator", SETUP, reply) for reply in debate.opened.derived if reply.called)
    for turn in debate.turns.values():
        seat, phase = turn.seat, turn.phase.name
        reply_event, asked = debate.replies.get(turn.id), debate.briefs_sent.get(turn.id, [])
        failed = debate.failed.get(turn.id, [])
        replies = [event.reply for event in debate.rejected.get(turn.id, []) if event is not reply_event]
        replies += [] if reply_event is None else [reply_event.reply]
        yield from (_line(seat, phase, reply) for reply in replies if reply.called)
        yield from (_line(seat, phase, event.reply) for event in failed if event.maybe_billed)
        under_way = max(0, len(asked) - len(replies) - len(failed))
        yield from (_line(seat, phase, None) for _ in [event for event in asked if event.called][:under_way])


def _line(seat: str, phase: str, reply: Reply | None) -> CostLine:
    """One call; None for one without any reply."""
    usage, cost = (Usage(), None) if reply is None else (reply.usage or Usage(), reply.cost)
    return CostLine(seat=seat, phase=phase, calls=1, usage=usage, cost=cost or 0.0, unknown=int(cost is None))
