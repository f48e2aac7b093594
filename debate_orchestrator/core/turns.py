"""What somebody must now do, and where in a debate that is."""

from __future__ import annotations

from collections.abc import Sequence

from debate_orchestrator.core.parts import CLERK, JUDGE, MIRRORED, Phase
from debate_orchestrator.core.values import Value


class Turn(Value):
    """One thing somebody must now do. Its id is derived, never drawn, so the same journal always
    awaits the same turns."""

    id: str
    seat: str
    """`a`, `b`, `judge`, or `judge-2` in a panel."""
    phase: Phase
    round: int | None = None
    """None before the first round and after the last."""
    closing: bool = False
    mirrored: bool = False
    """Whether the judge sees the debate with the sides exchanged."""

    @property
    def role(self) -> str:
        """The seat in the format: `judge` for every judge of a panel."""
        return JUDGE if self.seat.startswith(JUDGE) else self.seat

    @property
    def judging(self) -> bool:
        return self.role == JUDGE

    @property
    def speaking(self) -> bool:
        """Whether a side speaks in it."""
        return self.role not in (JUDGE, CLERK)


class Slot(Value):
    """A phase at its place in a debate."""

    phase: Phase
    round: int | None
    """None before the first round and after the last."""
    closing: bool

    def turn_id(self, seat: str) -> str:
        """The id of the turn that `seat` takes here: `2.rebuttal.a`, `final.verdict.judge`, `start.verdict.judge`."""
        prefix = str(self.round) if self.round is not None else "final" if self.closing else "start"
        return f"{prefix}.{self.phase.name}.{seat}"

    def stages(self, order: Sequence[str], panel: Sequence[str], *, mirror: bool = False) -> list[tuple[str, ...]]:
        """The seats that take a turn here, stage by stage, with the sides in this speaking order. With `mirror`
        each judge takes a second one, marked as mirrored, beside the first."""
        seats: list[tuple[str, ...]] = [(side,) for side in order if side in self.phase.seats]
        if JUDGE in self.phase.seats:
            voting = panel if self.phase.panel == "every judge" else panel[:1]
            seats += [(judge, judge + MIRRORED) if mirror else (judge,) for judge in voting]
        if CLERK in self.phase.seats:
            seats.append((CLERK,))
        if self.phase.order == "at once":
            return [tuple(seat for group in seats for seat in group)] if seats else []
        return seats


def judges(panel: int) -> tuple[str, ...]:
    """The seats of a panel of that size."""
    if not panel:
        return ()
    return (JUDGE,) if panel == 1 else tuple(f"{JUDGE}-{i}" for i in range(1, panel + 1))
