"""What a debate has cost so far, added up from the replies on record. What is unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterator

from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Reply, Usage
from debate_orchestrator.core.values import Value

SETUP = "setup"
"""The phase of what was asked for before the first turn."""

_NO_CALLS = ("host", "human", "replay", "rehearse", "transcript")
"""Who is not called by us, so that no bill has them."""


class Line(Value):
    """The calls of one seat in one phase."""

    seat: str
    phase: str
    calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    """US dollars, of the calls whose price is known."""
    unknown: int = 0
    """Calls whose price is not known."""

    def __add__(self, other: Line) -> Line:
        return self.model_copy(
            update={
                "calls": self.calls + other.calls,
                "usage": self.usage + other.usage,
                "cost": self.cost + other.cost,
                "unknown": self.unknown + other.unknown,
            }
        )


class Bill(Value):
    """Every line that has a call, in the order of the agenda."""

    lines: tuple[Line, ...] = ()

    @property
    def total(self) -> Line:
        return sum(self.lines, Line(seat="all", phase="all"))

    def of_seats(self) -> dict[str, Line]:
        """Seat to the sum of its lines."""
        seats: dict[str, Line] = {}
        for line in self.lines:
            seats[line.seat] = seats.get(line.seat, Line(seat=line.seat, phase="all")) + line
        return seats


def bill(debate: Debate) -> Bill:
    """The bill of every call that somebody was paid for or might have been: answers, spoiled replies, and what
    came of those that broke off. What a host, a recording or a stand-in said is no call."""
    lines: dict[tuple[str, str], Line] = {}
    for seat, phase, reply in _replies(debate):
        if reply.by.partition(":")[0] in _NO_CALLS:
            continue
        one = Line(
            seat=seat,
            phase=phase,
            calls=1,
            usage=reply.usage or Usage(),
            cost=reply.cost or 0.0,
            unknown=int(reply.cost is None),
        )
        lines[seat, phase] = lines.get((seat, phase), Line(seat=seat, phase=phase)) + one
    return Bill(lines=tuple(lines.values()))


def _replies(debate: Debate) -> Iterator[tuple[str, str, Reply]]:
    """Every reply on record, with its seat and phase."""
    if debate.opened.derived is not None:
        yield "moderator", SETUP, debate.opened.derived
    for turn in (turn for stage in debate.stages() for turn in stage):
        settled = debate.answers.get(turn.id)
        for spoiled in debate.spoiled.get(turn.id, []):
            if spoiled is not settled:
                yield turn.seat, turn.phase.name, spoiled.reply
        for broken in debate.unanswered.get(turn.id, []):
            if broken.reply is not None:
                yield turn.seat, turn.phase.name, broken.reply
        if settled is not None:
            yield turn.seat, turn.phase.name, settled.reply
