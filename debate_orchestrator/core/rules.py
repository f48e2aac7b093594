"""A format: the rules of one kind of debate, as data.

A format says which phases there are, who speaks in them and in what order, who hears them, what
shape of reply is wanted, and what a round is judged by. `debate.Debate` unrolls it; nothing else
interprets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field as Default
from pydantic import model_validator

from debate_orchestrator.core.shapes import Shape, When
from debate_orchestrator.core.values import Value

NAME = r"^[a-z][a-z0-9-]{0,40}$"
"""What a name may be that becomes part of a turn's id, and so of a file's name."""
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

    name: str = Default(pattern=NAME)
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
    template: str = Default(default="", pattern=rf"^([a-z][a-z0-9-]{{0,40}}/)?{NAME[1:]}|^$")
    """The template of the task, in the format's folder, or as `adversarial/opening` in that of a shipped one; the
    phase's name if empty."""


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


Misfit = tuple[tuple[str | int, ...], str]
"""Something that does not fit the rest of a format: the keys that lead to it, and what is wrong with it."""


class IllMade(ValueError):
    """A format that does not hang together, with every misfit."""

    def __init__(self, misfits: Sequence[Misfit]):
        self.misfits = tuple(misfits)
        super().__init__("; ".join(said for _, said in misfits))


class Format(Value):
    """The rules of one kind of debate."""

    name: str = Default(pattern=NAME)
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
    """What structured replies look like. Some names mean something to the engine: in a phase of a round, a
    shape with `scores` and `winner` is a ballot, whose `feedback`, `convergence` (`detected`, `side`,
    `criteria`) and `conceded` are acted on; after the rounds, one with `winner` is a final verdict, and one
    with `rows` a dissent record."""
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
            title = f"{turn.phase.title} — {self.name_of(turn.seat)}"
            return f"{title} {self.labels.divergence}" if turn.phase.on else title
        title = f"{turn.phase.title} — Round {turn.round}" if turn.round else turn.phase.title
        return f"{title} ({self.name_of(turn.seat)})" if "-" in turn.seat else title

    @model_validator(mode="after")
    def _hangs_together(self) -> Format:
        wrong = [*self._seats_wrong(), *self._phases_wrong(), *self._shapes_wrong(), *self._rubric_wrong()]
        if wrong:
            raise IllMade(wrong)
        return self

    def _seats_wrong(self) -> Iterator[Misfit]:
        for seat in self.seats:
            if seat not in EVERYBODY:
                yield ("seats", seat), f"{seat!r} is no seat: there are {', '.join(EVERYBODY)}"
        if JUDGE not in self.seats or not self.sides:
            yield ("seats",), "there must be a judge and at least one side"
        for n, seat in enumerate(self.context_heard_by):
            if seat not in EVERYBODY:
                yield ("context_heard_by", n), f"context_heard_by names {seat!r}, no seat"

    def _phases_wrong(self) -> Iterator[Misfit]:
        seen = False
        for group, phases in (("before", self.before), ("round", self.round), ("after", self.after)):
            for n, phase in enumerate(phases):
                if any(phase.name == earlier.name for earlier in phases[:n]):
                    yield (group, n, "name"), f"two phases are called {phase.name!r}"
                yield from (((group, n, *keys), said) for keys, said in self._phase_wrong(phase))
                if phase.on and not (seen and group == "round"):
                    said = (
                        f"phase {phase.name!r} answers {phase.on}, but no phase of the round before it looks for that"
                    )
                    yield (group, n, "on"), said
                seen = seen or (group == "round" and "convergence" in self.shapes.get(phase.reply, {}))

    def _phase_wrong(self, phase: Phase) -> Iterator[Misfit]:
        for n, seat in enumerate(phase.seats):
            if seat not in self.seats:
                yield ("seats", n), f"phase {phase.name!r} seats {seat!r}, which is no seat"
        for n, seat in enumerate(phase.heard_by):
            if seat not in EVERYBODY:
                yield ("heard_by", n), f"phase {phase.name!r} is heard by {seat!r}, no seat"
        if phase.reply != "text" and phase.reply not in self.shapes:
            yield ("reply",), f"phase {phase.name!r} wants the shape {phase.reply!r}, which is not among the shapes"

    def _shapes_wrong(self) -> Iterator[Misfit]:
        for name, shape in self.shapes.items():
            if "scores" in shape and "winner" not in shape:
                yield ("shapes", name), f"shape {name!r} has scores but no winner"
            for where, fields in _records((name,), shape):
                for key, field in fields.items():
                    place, named = ("shapes", *where, key), ".".join(one for one in (*where, key) if one != "fields")
                    for one in field.only_if:
                        if one not in fields:
                            yield (*place, "only_if"), f"{named} depends on {one!r}, not beside it"
                    if field.when.round is not None:
                        yield (*place, "when"), f"{named} depends on the round, which a shape can't"

    def _rubric_wrong(self) -> Iterator[Misfit]:
        if not 0 <= self.rubric.least < self.rubric.most:
            yield ("rubric", "least"), "the rubric's scale must go from 0 or more to something larger"
        if not any(one.when == When() for one in self.rubric.criteria.values()):
            yield ("rubric", "criteria"), "the rubric needs a criterion that always applies"
        if not self.rubric.strictness:
            yield ("rubric", "strictness"), "the rubric needs at least one strictness"


def _records(keys: tuple[str, ...], shape: Shape) -> Iterator[tuple[tuple[str, ...], Shape]]:
    """A shape and every record within it, with the keys that lead to it."""
    yield keys, shape
    for key, field in shape.items():
        if field.fields:
            yield from _records((*keys, key, "fields"), field.fields)


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

    def stages(self, order: Sequence[str], panel: Sequence[str]) -> list[tuple[str, ...]]:
        """The seats that take a turn here, stage by stage, with the sides in this speaking order."""
        seats = [side for side in order if side in self.phase.seats]
        if JUDGE in self.phase.seats:
            seats += panel if self.phase.panel == "every judge" else panel[:1]
        return [tuple(seats)] if seats and self.phase.order == "at once" else [(seat,) for seat in seats]


def calendar(made: Format, rounds: int, strictness: str) -> Iterator[Slot]:
    """Every phase of a debate of so many rounds, in order; those that answer something found (`on`) are in it
    as if it were found. This is the one place that knows the order of a format."""
    places: list[tuple[tuple[Phase, ...], int | None, bool]] = [(made.before, None, False)]
    places += [(made.round, n, False) for n in range(1, rounds + 1)]
    places.append((made.after, None, True))
    for phases, round, closing in places:
        for phase in phases:
            if phase.when.holds(rounds=rounds, strictness=strictness, round=round):
                yield Slot(phase=phase, round=round, closing=closing)


def judges(panel: int) -> tuple[str, ...]:
    """The seats of a panel of that size."""
    return (JUDGE,) if panel == 1 else tuple(f"{JUDGE}-{i}" for i in range(1, panel + 1))
