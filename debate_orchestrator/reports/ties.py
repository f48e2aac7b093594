"""What each turn is about: which case a challenge attacks, and what a rebuttal answers. Speeches do not say it, so it
is taken from the order of the debate and from what their speakers had heard:

challenge   attacks the other side's latest case before it: a speech that is neither challenge nor rebuttal.
rebuttal    answers the other side's challenge of the same round; where there is none, its latest speech of any kind.

Phases of other names are tied to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.rules import Turn
from debate_orchestrator.core.values import Value

CHALLENGE, REBUTTAL = "challenge", "rebuttal"


class Tie(Value):
    """A turn and the one that it is about."""

    turn: str
    how: Literal["attacks", "answers"]
    to: str


def ties(debate: Debate) -> tuple[Tie, ...]:
    """The ties between settled turns, in the order of the debate."""
    return tuple(tie for turn in debate.settled() if turn.speaking for tie in _of(debate, turn))


def _of(debate: Debate, turn: Turn) -> Iterator[Tie]:
    name = turn.phase.name
    if name not in (CHALLENGE, REBUTTAL) or debate.declined(turn.id):
        return
    heard = [one for one in debate.heard(turn) if one.speaking and one.seat != turn.seat]
    if name == CHALLENGE:
        cases = [one for one in heard if one.phase.name not in (CHALLENGE, REBUTTAL)]
        yield from (Tie(turn=turn.id, how="attacks", to=case.id) for case in cases[-1:])
        return
    challenges = [one for one in heard if one.phase.name == CHALLENGE and one.round == turn.round]
    yield from (Tie(turn=turn.id, how="answers", to=one.id) for one in (challenges or heard)[-1:])
