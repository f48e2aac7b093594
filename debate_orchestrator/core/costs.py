"""What a debate has cost so far, added up from the replies on record. What is unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterator

from debate_orchestrator.core.events import Reply, Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value

SETUP = "setup"
"""The phase of what was asked for before the first turn."""


class CostLine(Value):
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


class Costs(Value):
    """Every line that has a call, in the order of the agenda."""

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
    """The bill of every call that somebody was paid for or may have been: answers, spoiled replies, answers that
    broke off, and calls of which nothing came back. What is not known to the last token is of unknown price."""
    lines: dict[tuple[str, str], CostLine] = {}
    for one in _lines(debate):
        lines[one.seat, one.phase] = lines.get((one.seat, one.phase), CostLine(seat=one.seat, phase=one.phase)) + one
    return Costs(lines=tuple(lines.values()))


def _lines(debate: DebateState) -> Iterator[CostLine]:
    """A line for each call, in the order of the agenda."""
    if debate.opened.derived:
        yield from (_line("moderator", SETUP, reply) for reply in debate.opened.derived if reply.called)
    for turn in (turn for stage in debate.stages for turn in stage):
        seat, phase = turn.seat, turn.phase.name
        settled = debate.answers.get(turn.id)
        replies = [one.reply for one in debate.rejected.get(turn.id, []) if one is not settled]
        replies += [] if settled is None else [settled.reply]
        lost = debate.failed.get(turn.id, [])
        yield from (_line(seat, phase, reply) for reply in replies if reply.called)
        for one in lost:
            if one.unsure:
                yield _line(seat, phase, one.reply)
        under_way = len(debate.asked.get(turn.id, [])) - len(replies) - len(lost)
        called = [one for one in debate.asked.get(turn.id, []) if one.called]
        yield from (_line(seat, phase, None) for _ in called[: max(0, under_way)])


def _line(seat: str, phase: str, reply: Reply | None) -> CostLine:
    """One call; None for one of which nothing came back."""
    usage, cost = (Usage(), None) if reply is None else (reply.usage or Usage(), reply.cost)
    return CostLine(seat=seat, phase=phase, calls=1, usage=usage, cost=cost or 0.0, unknown=int(cost is None))
