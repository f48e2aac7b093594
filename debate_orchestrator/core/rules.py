"""A format: the rules of one kind of debate, as data.

A format says which phases there are, who speaks in them and in what order, who hears them, what
shape of reply is wanted, and what a round is judged by. `debate.Debate` unrolls it; nothing else
interprets it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from pydantic import Field as Default
from pydantic import model_validator

from debate_orchestrator.core.parts import (
    CLERK,
    EVERYBODY,
    JUDGE,
    MIRRORED,
    NAME,
    SEATS,
    VOTES,
    Intervention,
    Labels,
    Lines,
    Phase,
    Quotes,
    Rounds,
    Rubric,
    Seat,
)
from debate_orchestrator.core.shapes import Shape, When
from debate_orchestrator.core.values import Value

__all__ = ["CLERK", "EVERYBODY", "JUDGE", "Format", "Lines", "Phase", "Rubric", "Slot", "Turn", "calendar", "judges"]


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
    mirror: bool = False
    """Whether judges see the debate twice, the second time with sides exchanged, unless the setup says otherwise."""
    each_round: bool = False
    """Whether phases with the option `each round` take place, unless the setup says otherwise."""
    private: str = ""
    """The tag around a speaker's private working, which nobody else hears; none if empty."""
    quotes: Quotes | None = None
    forbids: tuple[Literal["other's lines"], ...] = ()
    """What a speaker must not do: it is on record as a fault where it is seen."""
    after_refusal: Literal["goes on", "verdict"] = "goes on"
    """Whether a refusal to argue ends the debate after its round."""
    decided_by: Literal["votes", "swing"] = "votes"
    """Whether the side wins that has more votes, or the one that gained more since the blind verdict."""
    winner_of: dict[str, str] = {}
    """The winner that each label stands for, where ballots have a `label` and no `winner`."""
    judged_by: str = ""
    """The format in which `debate judge` judges a debate of this one, which has no judge of its own."""
    report: Literal["report", "transcript"] = "report"
    """What is left of a debate: a report, or the bare transcript."""
    before: tuple[Phase, ...] = ()
    round: tuple[Phase, ...]
    after: tuple[Phase, ...] = ()
    shapes: dict[str, Shape] = {}
    """What structured replies look like. Some names mean something to the engine. A judge's shape with
    `scores`, `winner` or `label` is a vote: its winner is the one it declares, else the one with the better
    scores, else what `winner_of` makes of its label; `score` and `probability` are averaged. A vote in a round is a
    ballot, whose `feedback`, `convergence` (`detected`, `side`, `criteria`) and `conceded` are acted on; one
    after the rounds is a final verdict. `rows` is a dissent record; `faults` and `sources` are listed in the report. A
    debater's shape with `refused` lets a side decline; `url` and `quote` in it are what a clerk looks up."""
    rubric: Rubric
    intervention: Intervention = Intervention()
    labels: Labels = Labels()
    lines: Lines = Lines()
    panel: int = Default(default=1, ge=1, le=9)
    """How many judges sit where the setup names nobody."""

    @property
    def sides(self) -> tuple[str, ...]:
        """The debaters, in the order of the format."""
        return tuple(seat for seat in self.seats if seat not in (JUDGE, CLERK))

    @property
    def seated(self) -> tuple[str, ...]:
        """The seats that somebody must fill: those that take a turn."""
        taken = {seat for phase in self.phases() for seat in phase.seats}
        return tuple(seat for seat in self.seats if seat in taken)

    @property
    def options(self) -> set[str]:
        """What a setup may ask for or leave out."""
        return {phase.option for phase in self.phases() if phase.option is not None}

    def votes(self, phase: Phase) -> bool:
        """Whether a phase is one in which judges vote."""
        return JUDGE in phase.seats and bool(VOTES & set(self.shapes.get(phase.reply, {})))

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
        tag = f"[{' - '.join([*parts, 'MIRRORED'] if turn.mirrored else parts)}]"
        return f"{tag} {self.labels.divergence}" if turn.phase.on else tag

    def heading_of(self, turn: Turn) -> str:
        """A turn's title: `Challenge — Researcher A`, `Judge Verdict — Round 2`, `Final Verdict`."""
        if turn.speaking:
            title = f"{turn.phase.title} — {self.name_of(turn.seat)}"
            return f"{title} {self.labels.divergence}" if turn.phase.on else title
        title = f"{turn.phase.title} — Round {turn.round}" if turn.round else turn.phase.title
        title = f"{title} ({self.name_of(turn.seat)})" if "-" in turn.seat else title
        return f"{title}, Mirrored" if turn.mirrored else title

    @model_validator(mode="after")
    def _hangs_together(self) -> Format:
        wrong = [*self._seats_wrong(), *self._phases_wrong(), *self._shapes_wrong(), *self._rubric_wrong()]
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _seats_wrong(self) -> Iterator[str]:
        yield from (f"{seat!r} is no seat: there are {', '.join(SEATS)}" for seat in set(self.seats) - {*SEATS})
        if not self.sides:
            yield "there must be at least one side"
        if JUDGE not in self.seats and not self.judged_by:
            yield "there must be a judge, or a format in which the debate is judged later (judged_by)"
        yield from (f"context_heard_by names {seat!r}, no seat" for seat in set(self.context_heard_by) - {*EVERYBODY})

    def _phases_wrong(self) -> Iterator[str]:
        for group in (self.before, self.round, self.after):
            names = [phase.name for phase in group]
            yield from (f"two phases are called {name!r}" for name in sorted({n for n in names if names.count(n) > 1}))
        seen = False
        for phase in self.phases():
            which = f"phase {phase.name!r}"
            yield from (f"{which} seats {one!r}, which is no seat" for one in set(phase.seats) - set(self.seats))
            listed = {*phase.heard_by, *phase.refusals_heard_by}
            yield from (f"{which} is heard by {one!r}, no seat" for one in listed - {*SEATS})
            yield from self._reply_wrong(phase)
            if phase.reply != "text" and phase.reply not in self.shapes:
                yield f"phase {phase.name!r} wants the shape {phase.reply!r}, which is not among the shapes"
            if phase.on and not (seen and phase in self.round):
                yield f"phase {phase.name!r} answers {phase.on}, but no phase of the round before it looks for that"
            seen = seen or (phase in self.round and "convergence" in self.shapes.get(phase.reply, {}))
        if self.decided_by == "swing" and not any(one.option == "blind" for one in self.before):
            yield "a debate decided by swing needs a vote before it: a phase in `before` with the option blind"

    def _reply_wrong(self, phase: Phase) -> Iterator[str]:
        if CLERK in phase.seats and phase.reply == "text":
            yield f"phase {phase.name!r} has a clerk speak; a clerk gives a structured reply"
        if phase.option == "blind" and not (phase in self.before and self.votes(phase)):
            yield f"phase {phase.name!r} has the option blind, but is no vote before the rounds"
        if phase.least_words and phase.most_words and phase.least_words > phase.most_words:
            yield f"phase {phase.name!r} asks for at least {phase.least_words} words and at most {phase.most_words}"

    def _shapes_wrong(self) -> Iterator[str]:
        for name, shape in self.shapes.items():
            if "label" in shape and not {"scores", "winner"} & set(shape):
                unnamed = set(shape["label"].of) - set(self.winner_of)
                yield from (f"winner_of lacks the label {one!r} of shape {name!r}" for one in unnamed)
            for where, fields in _records(name, shape):
                for key, field in fields.items():
                    needed = {*field.only_if, *field.unless}
                    yield from (f"{where}.{key} depends on {one!r}, not beside it" for one in needed - set(fields))
                    if field.when.round is not None:
                        yield f"{where}.{key} depends on the round, which a shape can't"

    def _rubric_wrong(self) -> Iterator[str]:
        if not 0 <= self.rubric.least < self.rubric.most:
            yield "the rubric's scale must go from 0 or more to something larger"
        scored = any(field.kind == "scores" for shape in self.shapes.values() for field in shape.values())
        if scored and not any(one.when == When() for one in self.rubric.criteria.values()):
            yield "the rubric needs a criterion that always applies"
        for name in self.rubric.criteria:
            least, most = self.rubric.scale(name)
            if not 0 <= least < most:
                yield f"the scale of criterion {name!r} must go from 0 or more to something larger"
        if not self.rubric.strictness:
            yield "the rubric needs at least one strictness"


def _records(name: str, shape: Shape) -> Iterator[tuple[str, Shape]]:
    """A shape and every record within it, with its path."""
    yield name, shape
    for key, field in shape.items():
        if field.fields:
            yield from _records(f"{name}.{key}", field.fields)


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
            return [tuple(seat for group in seats for seat in group)]
        return seats


def calendar(made: Format, rounds: int, strictness: str, options: Collection[str] = ()) -> Iterator[Slot]:
    """Every phase of a debate of so many rounds, in order, with those that are optional and asked for; those that
    answer something found (`on`) are in it as if it were found. This is the one place that knows the order of a
    format."""
    places: list[tuple[tuple[Phase, ...], int | None, bool]] = [(made.before, None, False)]
    places += [(made.round, n, False) for n in range(1, rounds + 1)]
    places.append((made.after, None, True))
    for phases, round, closing in places:
        for phase in phases:
            if phase.option is not None and phase.option not in options:
                continue
            if phase.when.holds(rounds=rounds, strictness=strictness, round=round):
                yield Slot(phase=phase, round=round, closing=closing)


def judges(panel: int) -> tuple[str, ...]:
    """The seats of a panel of that size."""
    if not panel:
        return ()
    return (JUDGE,) if panel == 1 else tuple(f"{JUDGE}-{i}" for i in range(1, panel + 1))
