"""A format: the rules of one kind of debate, as data.

A format says which phases there are, who speaks in them and in what order, who hears them, what
shape of reply is wanted, and what a round is judged by. `debate.Debate` unrolls it; nothing else
interprets it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field as Default
from pydantic import model_validator

from debate_orchestrator.core.shapes import Shape, When
from debate_orchestrator.core.values import Value

JUDGE = "judge"
EVERYBODY = ("a", "b", JUDGE)


class Seat(Value):
    """How a seat is called in briefs and reports. Neutral: no model's name comes in here."""

    name: str
    side: str = ""
    """Pro or Con, for a debater."""
    tag: str
    """How the seat is written in a turn's tag, as in [R1 - ROUND 1 - OPENING]."""


class Rounds(Value):
    """How many rounds there may be."""

    default: int = 3
    most: int = 6
    insist: int = 8
    """The most that is taken from somebody who insists."""


class Phase(Value):
    """One kind of turn: who takes it, when, who hears it, and what is wanted."""

    name: str
    title: str
    tag: str
    seats: tuple[str, ...]
    """Who takes a turn: `a`, `b`, `judge`."""
    order: Literal["in turn", "at once"] = "in turn"
    """In turn, the second speaker has heard the first; at once, neither hears the other."""
    panel: Literal["every judge", "first judge"] = "every judge"
    when: When = Default(default_factory=When)
    on: Literal["convergence"] | None = None
    """Only as an answer to something found in the round: here, a fresh convergence."""
    reply: str = "text"
    """`text`, or the name of a shape of this format."""
    heard_by: tuple[str, ...] = EVERYBODY
    """Seats that find the turn in their transcript. A judge's ballots are never in anybody else's."""
    words: int | None = None
    """About how many words are asked for."""
    template: str = ""
    """The template of the task, in the format's folder; the phase's name if empty."""


class Criterion(Value):
    """Something that is scored."""

    title: str
    about: str
    when: When = Default(default_factory=When)


class Strictness(Value):
    """One way of judging, explained to the user and demanded of the judge and the debaters."""

    about: str
    judge: str
    debaters: str


class Rubric(Value):
    """What a round is judged by, and on what scale."""

    name: str
    least: float
    most: float
    criteria: dict[str, Criterion]
    strictness: dict[str, Strictness]
    convergence: dict[str, str] = {}
    """The signs of convergence that a judge may name, with what each means."""


class Intervention(Value):
    """What happens when a round's ballots find that the sides converge."""

    most_in_a_row: int = 1
    """Rounds in a row that may be answered; convergence after that is flagged for the final verdict."""


class Labels(Value):
    """What is announced, word for word; {round} and {rounds} are filled in."""

    round: str
    intervention: str
    divergence: str
    persisted: str
    final: str


class Lines(Value):
    """Lines that say something to the engine when a debater writes exactly that on a line of its own."""

    concede: str
    decline: str


class Format(Value):
    """The rules of one kind of debate."""

    name: str
    title: str
    about: str
    seats: dict[str, Seat]
    rounds: Rounds = Rounds()
    history: Literal["transcript", "dialogue"] = "transcript"
    """How earlier turns are shown: one growing transcript, or one's own as an assistant's messages."""
    context_heard_by: tuple[str, ...] = EVERYBODY
    """Who may read the context files."""
    tells_rounds: bool = True
    """Whether debaters know how many rounds there are."""
    before: tuple[Phase, ...] = ()
    round: tuple[Phase, ...]
    after: tuple[Phase, ...] = ()
    shapes: dict[str, Shape] = {}
    rubric: Rubric
    intervention: Intervention = Intervention()
    labels: Labels
    lines: Lines

    @property
    def sides(self) -> tuple[str, ...]:
        """The debaters, in the order of the format."""
        return tuple(seat for seat in self.seats if seat != JUDGE)

    def phases(self) -> tuple[Phase, ...]:
        return (*self.before, *self.round, *self.after)

    def name_of(self, seat: str) -> str:
        """What a seat is called: `Researcher A`; `Judge 2` for `judge-2`."""
        role, _, number = seat.partition("-")
        name = self.seats[role].name
        return f"{name} {number}" if number else name

    def tag_of(self, turn: Turn) -> str:
        """How a turn is marked on record: `[R1 - ROUND 1 - OPENING]`, `[JUDGE - FINAL VERDICT]`."""
        _, _, number = turn.seat.partition("-")
        seat = self.seats[turn.role].tag + (f" {number}" if number else "")
        parts = [seat, f"ROUND {turn.round}", turn.phase.tag] if turn.round else [seat, turn.phase.tag]
        tag = f"[{' - '.join(parts)}]"
        return f"{tag} {self.labels.divergence}" if turn.phase.on else tag

    def heading_of(self, turn: Turn) -> str:
        """A turn's title: `Challenge — Researcher A`, `Judge Verdict — Round 2`, `Final Verdict`."""
        if not turn.judging:
            return f"{turn.phase.title} — {self.name_of(turn.seat)}"
        title = f"{turn.phase.title} — Round {turn.round}" if turn.round else turn.phase.title
        return f"{title} ({self.name_of(turn.seat)})" if "-" in turn.seat else title

    @model_validator(mode="after")
    def _hangs_together(self) -> Format:
        wrong = []
        for group in (self.before, self.round, self.after):
            names = [phase.name for phase in group]
            wrong += [f"two phases are called {name!r}" for name in sorted({n for n in names if names.count(n) > 1})]
        for phase in self.phases():
            known = set(self.seats)
            wrong += [f"phase {phase.name!r} seats {seat!r}, which is no seat" for seat in set(phase.seats) - known]
            wrong += [
                f"phase {phase.name!r} is heard by {seat!r}, no seat" for seat in set(phase.heard_by) - {*EVERYBODY}
            ]
            if phase.reply != "text" and phase.reply not in self.shapes:
                wrong.append(f"phase {phase.name!r} wants the shape {phase.reply!r}, which is not among the shapes")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


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

    @property
    def role(self) -> str:
        """The seat in the format: `judge` for every judge of a panel."""
        return JUDGE if self.seat.startswith(JUDGE) else self.seat

    @property
    def judging(self) -> bool:
        return self.role == JUDGE


def id_of(phase: Phase, seat: str, *, round: int | None = None, closing: bool = False) -> str:
    """The id of the turn of `seat` in `phase`: `2.rebuttal.a`, `final.verdict.judge`, `start.verdict.judge`."""
    prefix = str(round) if round is not None else "final" if closing else "start"
    return f"{prefix}.{phase.name}.{seat}"


def judges(panel: int) -> tuple[str, ...]:
    """The seats of a panel of that size."""
    return (JUDGE,) if panel == 1 else tuple(f"{JUDGE}-{i}" for i in range(1, panel + 1))
