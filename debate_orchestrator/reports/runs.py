"""How a debate was run, as far as it may be shown: who filled its seats, and what kind of run that makes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from debate_orchestrator import casts
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.rules import CLERK, JUDGE
from debate_orchestrator.core.values import Value

Kind = Literal["called", "host", "people", "replayed", "rehearsed", "mixed"]


class Run(Value):
    """How a debate was run."""

    kind: Kind = "host"
    """Called: models and programs were asked. Host: an agent host took the turns. People: persons did. Replayed: a
    recording spoke. Rehearsed: stand-ins did. Mixed: more than one of these. Where a debate is judged again, it tells
    of its judges alone."""
    format: str = ""
    """The short name of its format: `adversarial`."""
    cast: dict[str, tuple[str, ...]] = {}
    """Seat to who fills it, as far as it is shown."""
    version: str = ""
    """The version of this package that opened it."""


def run(debate: Debate) -> Run:
    """How that debate is run."""
    return Run(
        kind=_kind(debate),
        format=debate.format.name,
        cast={seat: tuple(map(casts.shown, who)) for seat, who in debate.cast.items()},
        version=debate.opened.version,
    )


def _kind(debate: Debate) -> Kind:
    """What whoever has a seat, and whoever has spoken, has in common. A clerk only looks things up, and who spoke in
    a recorded debate was asked for nothing."""
    again = debate.opened.course is not None
    seats = [seat for seat in debate.format.seated if (seat == JUDGE if again else seat != CLERK)]
    who = {one for cast in (debate.opened.cast, debate.cast) for seat in seats for one in cast.get(seat, ())}
    who |= {debate.reply(turn).by for turn in debate.settled() if turn.role in seats}
    kinds = set(_kinds(who))
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _kinds(who: Iterable[str]) -> Iterable[Kind]:
    for spec in who:
        match casts.kind(spec):
            case casts.HOST:
                yield "host"
            case "human":
                yield "people"
            case casts.REPLAY:
                yield "replayed"
            case casts.REHEARSE:
                yield "rehearsed"
            case _:
                yield "called"
