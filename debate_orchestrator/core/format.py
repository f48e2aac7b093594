"""A format: the rules of one kind of debate, as data.

A format says which phases there are, who speaks in them and in what order, who hears them, what
shape of reply is wanted, and what a round is judged by. `schedule` lists its turns; nothing else
interprets it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field as PydanticField
from pydantic import ModelWrapValidatorHandler, model_validator

from debate_orchestrator.core.phases import (
    CLERK,
    DECISION_BRIEF,
    ISSUES,
    JUDGE,
    MAX_PHASES,
    MAX_SECTION_TURNS,
    NAME_PATTERN,
    NEITHER_SIDE,
    NO_NEW_GROUND,
    PRE_DEBATE_VOTE,
    RAPPORTEUR,
    SIDES_AND_JUDGE,
    TAG_PATTERN,
    VOTE_FIELDS,
    AnnouncementTexts,
    Intervention,
    Phase,
    QuoteRules,
    ReservedLines,
    RoundLimits,
    Rubric,
    Seat,
    SeatName,
    SeatNames,
    Slot,
    Turn,
)
from debate_orchestrator.core.shape import MAX_ITEMS, Condition, Field, Shape
from debate_orchestrator.core.shape_rules import (
    CLERK_FIELDS,
    DECISION_BRIEF_FIELDS,
    JUDGE_FIELDS,
    RAPPORTEUR_FIELDS,
    SIDE_FIELDS,
    LocatedProblem,
    reserved_field_problems,
    size_problem,
)
from debate_orchestrator.core.values import READS_FORMER_VALUES, FrozenModel, PrintableKey, Text, formerly

_TRIGGER_FIELDS = {"convergence": ("convergence", "round"), "findings": ("findings", "after")}
"""Trigger of a phase to the field of a reply that reports it, and the section of the format that both must be in."""


Phases = Annotated[tuple[Phase, ...], PydanticField(max_length=MAX_PHASES)]


class InvalidFormat(ValueError):
    """A format whose parts do not fit together, with every problem."""

    def __init__(self, problems: Sequence[LocatedProblem]):
        self.problems = tuple(problems)
        super().__init__("; ".join(problem for _, problem in problems))


class Format(FrozenModel):
    """The rules of one kind of debate."""

    model_config = formerly(
        after_decline="after_refusal",
        announcements="labels",
        judge_count="panel",
        judged_by_format="judged_by",
        private_tag="private",
        reserved_lines="lines",
        round_limits="rounds",
    )

    name: str = PydanticField(pattern=NAME_PATTERN)
    title: Text
    about: Text
    seats: dict[SeatName, Seat]
    round_limits: RoundLimits = RoundLimits()
    history: Literal["transcript", "dialogue"] = "transcript"
    """Earlier turns are shown as one growing transcript, or the seat's own ones as an assistant's messages."""
    context_heard_by: SeatNames = SIDES_AND_JUDGE
    """The seats that may read the context files."""
    tells_rounds: bool = True
    """Whether debaters know how many rounds there are."""
    mirror: bool = False
    """Whether judges see the debate twice, the second time mirrored, unless the setup says otherwise."""
    each_round: bool = False
    """Whether phases enabled by `each round` take place, unless the setup says otherwise."""
    private_tag: str = PydanticField(default="", pattern=rf"{TAG_PATTERN}|^$")
    """The tag around a speaker's private reasoning, which is shown to no one else; none if empty."""
    quotes: QuoteRules | None = None
    forbids: tuple[Literal["other's lines"], ...] = ()
    """Things a speaker must not do; each one seen is recorded as a violation. `other's lines`: write speech for the
    other side, such as a line that begins with its name and a colon."""
    after_decline: Literal["goes on", "verdict"] = "goes on"
    """Whether a declined turn ends the debate after its round."""
    decided_by: Literal["votes", "swing"] = "votes"
    """`votes`: the side with more votes wins. `swing`: the side that gained more since the pre-debate vote wins."""
    winner_of: dict[PrintableKey, str] = PydanticField(default={}, max_length=MAX_ITEMS)
    """The winner that each label stands for, where ballots have a `label` and no `winner`."""
    judged_by_format: str = PydanticField(default="", pattern=rf"{NAME_PATTERN}|^$")
    """The format in which a debate of this one, which has no judge of its own, is judged later."""
    report: Annotated[Literal["report", "speeches only"], READS_FORMER_VALUES] = "report"
    """The document written about a debate: a report, or the transcript alone."""
    before: Phases = ()
    round: Phases
    """The phases of each round."""
    after: Phases = ()
    shapes: dict[PrintableKey, Shape] = PydanticField(default={}, max_length=MAX_PHASES)
    """The shapes of structured replies. Some names have a meaning for the engine. A judge's shape with
    `scores`, `winner` or `label` is a vote: its winner is the one it declares, else the one with the better
    scores, else what `winner_of` makes of its label; `score` and `probability` are averaged. A vote in a round is a
    ballot, whose `feedback`, `convergence` (`detected`, `side`, and as `criteria` its signs) and `conceded` are acted
    on; one after the rounds is a final ballot. `rows` is a dissent record; `faults` (violations by debaters) and
    `sources` are listed in the report. A debater's shape with `refused` lets a side decline, by `true`; `url` and
    `quote` in it are what a clerk looks up. What all of them have to be is in `shape_rules`."""
    rubric: Rubric
    intervention: Intervention = Intervention()
    announcements: AnnouncementTexts = AnnouncementTexts()
    reserved_lines: ReservedLines = ReservedLines()
    judge_count: int = PydanticField(default=1, ge=1, le=9)
    """The number of judges unless the setup says otherwise."""

    @property
    def sides(self) -> tuple[str, ...]:
        """The debaters, in the order of the format."""
        return tuple(seat for seat in self.seats if seat not in (JUDGE, CLERK, RAPPORTEUR))

    @property
    def has_no_first_speaker(self) -> bool:
        """Whether the sides speak simultaneously in every phase that they share, so that neither speaks first."""
        return all(phase.order == "simultaneous" for phase in self.phases() if set(self.sides) <= set(phase.seats))

    def active_seats(self, chosen_phases: Collection[str] = ()) -> tuple[str, ...]:
        """The seats that take a turn, and so must be filled, in a debate with these optional phases. Without any, the
        rapporteur is among them only where it takes a turn besides the list of issues and the decision brief."""
        phases = [
            phase for phase in self.phases() if phase.enabled_by not in {ISSUES, DECISION_BRIEF} - set(chosen_phases)
        ]
        active = {seat for phase in phases for seat in phase.seats}
        return tuple(seat for seat in self.seats if seat in active)

    @property
    def optional_phases(self) -> set[str]:
        """The phases that a setup may ask for or leave out, by what they are `enabled_by`."""
        return {phase.enabled_by for phase in self.phases() if phase.enabled_by is not None}

    @property
    def can_say_no_new_ground(self) -> bool:
        """Whether judges say after a round whether another one would find no new ground."""
        return any(NO_NEW_GROUND in self.shapes.get(phase.reply, {}) for phase in self.round)

    @property
    def can_be_mirrored(self) -> bool:
        """Whether judges can be shown the debate mirrored: both sides speak, or neither does."""
        speaking = {seat for phase in self.phases() for seat in phase.seats} & {*self.sides}
        return len(self.sides) > 1 and len(speaking) != 1 and any(map(self.is_vote, self.phases()))

    @property
    def sides_are_lettered(self) -> bool:
        """Whether the sides' names differ in a letter or a number at their end alone (`Debater A`, `Debater B`). Other
        names may be words of the language."""
        names = [self.seats[side].name.split() for side in (self.sides[0], self.sides[-1])]
        stems, ends = {tuple(name[:-1]) for name in names}, {name[-1] for name in names}
        are_short = all(end.isdecimal() or (len(end) == 1 and end.isupper()) for end in ends)
        return are_short and (len(stems), len(ends)) == (1, 2) and () not in stems

    @property
    def quotes_pages(self) -> bool:
        """Whether the debaters' replies or a clerk's quote pages, which come during the debate."""
        shapes = [self.shapes.get(phase.reply, {}) for phase in self.phases() if {*self.sides} & {*phase.seats}]
        return CLERK in self.active_seats() or any({"url", "quote"} <= set(shape) for shape in shapes)

    def is_vote(self, phase: Phase) -> bool:
        return JUDGE in phase.seats and bool(VOTE_FIELDS & set(self.shapes.get(phase.reply, {})))

    def is_dissent_record(self, phase: Phase) -> bool:
        """Whether a reply in it is a dissent record."""
        return JUDGE in phase.seats and "rows" in self.shapes.get(phase.reply, {})

    def phases(self) -> tuple[Phase, ...]:
        return (*self.before, *self.round, *self.after)

    @property
    def checked_tags(self) -> tuple[str, ...]:
        """The tags of quotes that were looked up, if the format has quotes."""
        return self.quotes.checked_tags if self.quotes else ()

    def name_of(self, seat: str) -> str:
        """The name of a seat: `Researcher A`; `Judge 2` for `judge-2`."""
        role, _, number = seat.partition("-")
        name = self.seats[role].name
        return f"{name} {number}" if number else name

    def full_name_of(self, side: str) -> str:
        """The name of a side with its label, if it has one: `Researcher A (Pro)`."""
        seat = self.seats[side]
        return f"{seat.name} ({seat.label})" if seat.label else seat.name

    def tag_of(self, turn: Turn) -> str:
        """The tag of a turn in the record: `[R1 - ROUND 1 - OPENING]`, `[JUDGE - FINAL VERDICT]`."""
        _, _, number = turn.seat.partition("-")
        seat = self.seats[turn.role].tag + (f" {number}" if number else "")
        parts = [seat, f"ROUND {turn.round}", turn.phase.tag] if turn.round else [seat, turn.phase.tag]
        tag = f"[{' - '.join([*parts, 'MIRRORED'] if turn.mirrored else parts)}]"
        return f"{tag} {self.announcements.divergence}" if turn.phase.triggered_by else tag

    def heading_of(self, turn: Turn) -> str:
        """A turn's title: `Challenge — Researcher A`, `Judge Verdict — Round 2`, `Final Verdict`."""
        if turn.speaking:
            title = f"{turn.phase.title} — {self.name_of(turn.seat)}"
            return f"{title} {self.announcements.divergence}" if turn.phase.triggered_by else title
        title = f"{turn.phase.title} — Round {turn.round}" if turn.round else turn.phase.title
        title = f"{title} ({self.name_of(turn.seat)})" if "-" in turn.seat else title
        return f"{title}, Mirrored" if turn.mirrored else title

    @model_validator(mode="wrap")
    @classmethod
    def _check(cls, data: object, validate: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, cls):
            return data  # checked when it was made, and frozen
        format = validate(data)
        problems = [
            *format._seat_problems(),
            *format._phase_problems(),
            *format._shape_problems(),
            *format._rubric_problems(),
        ]
        if problems:
            raise InvalidFormat(problems)
        return format

    def _seat_problems(self) -> Iterator[LocatedProblem]:
        if not self.sides:
            yield ("seats",), "there must be at least one side"
        if JUDGE not in self.seats and not self.judged_by_format:
            yield (
                ("seats",),
                "there must be a judge, or a format in which the debate is judged later (judged_by_format)",
            )
        for n, seat in enumerate(self.context_heard_by):
            if seat not in SIDES_AND_JUDGE:
                problem = f"context_heard_by names {seat!r}; it may name {', '.join(SIDES_AND_JUDGE)}"
                yield ("context_heard_by", n), problem

    def _phase_problems(self) -> Iterator[LocatedProblem]:
        sections = (("before", self.before), ("round", self.round), ("after", self.after))
        for section, phases in sections:
            if (turns := sum(len(set(phase.seats)) for phase in phases)) > MAX_SECTION_TURNS:
                yield (section,), f"{turns:,} turns in `{section}`; at most {MAX_SECTION_TURNS}"
            names, earlier_fields = set[str](), set[str]()
            for n, phase in enumerate(phases):
                if phase.name in names:
                    yield (section, n, "name"), f"two phases are called {phase.name!r}"
                names.add(phase.name)
                yield from (((section, n, *keys), problem) for keys, problem in self._problems_of_phase(phase))
                if phase.enabled_by == PRE_DEBATE_VOTE and not (section == "before" and self.is_vote(phase)):
                    yield (
                        (section, n, "enabled_by"),
                        f"phase {phase.name!r} is enabled by blind, but is not a vote before the rounds",
                    )
                if section == "before" and phase.enabled_by != PRE_DEBATE_VOTE and self.is_vote(phase):
                    yield (section, n), f"phase {phase.name!r} votes before the rounds without `enabled_by: blind`"
                if phase.triggered_by and _TRIGGER_FIELDS[phase.triggered_by] not in {
                    (field, section) for field in earlier_fields
                }:
                    scope = "of the round" if phase.triggered_by == "convergence" else "after the rounds"
                    claim = f"phase {phase.name!r} answers {phase.triggered_by}"
                    problem = f"{claim}, but no phase {scope} before it looks for that"
                    yield (section, n, "triggered_by"), problem
                earlier_fields |= set(self.shapes.get(phase.reply, {}))
            voting = [n for n, phase in enumerate(phases) if self.is_vote(phase)]
            answering = next((n for n, phase in enumerate(phases) if phase.triggered_by), len(phases))
            if voting and voting[-1] > answering:
                voting_name, answering_name = phases[voting[-1]].name, phases[answering].name
                yield (
                    (section, voting[-1]),
                    f"phase {voting_name!r} votes after phase {answering_name!r}, which answers a vote",
                )
        if self.decided_by == "swing" and not any(phase.enabled_by == PRE_DEBATE_VOTE for phase in self.before):
            problem = "a debate decided by swing needs a vote before it: a phase in `before` with `enabled_by: blind`"
            yield ("decided_by",), problem
        if CLERK in self.active_seats() and not any(CLERK in phase.heard_by for phase in self.phases()):
            yield ("seats", CLERK), "the clerk hears nothing: no phase is heard by it"
        if self.mirror and not self.can_be_mirrored:
            yield ("mirror",), "a mirrored debate needs two sides that speak alike, and judges who vote on them"
        if self.each_round and "each round" not in self.optional_phases:
            yield ("each_round",), "each_round needs a phase with `enabled_by: each round`"

    def _problems_of_phase(self, phase: Phase) -> Iterator[LocatedProblem]:
        phase_name = f"phase {phase.name!r}"
        if not phase.seats:
            yield ("seats",), f"{phase_name} has no seats"
        for n, seat in enumerate(phase.seats):
            if seat not in self.seats:
                yield ("seats", n), f"{phase_name} names {seat!r} under seats, which is not a seat"
        if phase.reply != "text" and phase.reply not in self.shapes:
            yield ("reply",), f"{phase_name} wants the shape {phase.reply!r}, which is not among the shapes"
        for seat in (CLERK, RAPPORTEUR):
            if seat in phase.seats and phase.reply == "text":
                yield ("seats",), f"{phase_name} has a {seat} speak; a {seat} gives a structured reply"
        if phase.with_previous and (phase.triggered_by or set(phase.seats) != {RAPPORTEUR}):
            yield (
                ("with_previous",),
                f"{phase_name} has `with_previous`, which only an untriggered phase of the rapporteur may have",
            )
        if phase.min_words and phase.max_words and phase.min_words > phase.max_words:
            problem = f"{phase_name} asks for at least {phase.min_words} words and at most {phase.max_words}"
            yield ("min_words",), problem
        for key, limit in (("min_words", phase.min_words), ("max_words", phase.max_words)):
            if phase.reply != "text" and limit:
                yield (key,), f"{phase_name} limits the length of a structured reply; set `max_words` on its fields"

    def _shape_problems(self) -> Iterator[LocatedProblem]:
        winners = ("a", "b", *NEITHER_SIDE)
        for label, winner in self.winner_of.items():
            if winner not in winners:
                yield ("winner_of", label), f"winner_of names {winner!r}, which is not a side"
        for name, shape in self.shapes.items():
            if too_large := size_problem(name, shape, len(self.sides), len(self.rubric.criteria)):
                yield too_large
                continue
            yield from (
                (("shapes", name, *keys), problem) for keys, problem in self._reserved_field_problems(name, shape)
            )
            yield from ((("shapes", name, key), problem) for key, problem in self._label_problems(name, shape))
            for object_keys, fields in _objects((name,), shape):
                object_name = ".".join(key for key in object_keys if key != "fields")
                if {"a", "b"} <= set(fields) and not _is_same_kind(fields["a"], fields["b"]):
                    problem = f"{object_name}.a and {object_name}.b must be of one kind, since sides may be swapped"
                    yield ("shapes", *object_keys, "b"), problem
                for key, field in fields.items():
                    field_keys = ("shapes", *object_keys, key)
                    for condition in ("only_if", "unless"):
                        for sibling in getattr(field, condition):
                            if sibling not in fields:
                                yield (
                                    (*field_keys, condition),
                                    f"{object_name}.{key} depends on {sibling!r}, which is not a field beside it",
                                )
                    if field.null_when and not field.may_be_null:
                        yield (*field_keys, "null_when"), f"{object_name}.{key} says when it is null, and it never is"
                    if field.when.round is not None:
                        yield (*field_keys, "when"), f"{object_name}.{key} depends on the round, which a field can't do"

    def _reserved_field_problems(self, name: str, shape: Shape) -> Iterator[LocatedProblem]:
        """The problems of the fields of a shape that mean something to the engine, with the keys that lead there."""
        phases = [phase for phase in self.phases() if phase.reply == name]
        seats = {seat for phase in phases for seat in phase.seats}
        is_rapporteurs = RAPPORTEUR in seats or any(
            phase.enabled_by in (ISSUES, DECISION_BRIEF) and JUDGE not in phase.seats for phase in phases
        )
        kinds = [JUDGE_FIELDS] * (JUDGE in seats) + [SIDE_FIELDS] * bool(seats & {*self.sides})
        kinds += [CLERK_FIELDS] * (CLERK in seats) + [RAPPORTEUR_FIELDS] * is_rapporteurs
        for reserved in kinds:
            yield from reserved_field_problems(reserved, shape, self.sides)
        if is_rapporteurs and "recommendation" in shape:
            yield from reserved_field_problems(DECISION_BRIEF_FIELDS, shape, self.sides, inner=True)
            if not {"best_case_against", "objections"} & set(shape):
                yield ("recommendation",), "a decision brief without best_case_against or objections; reports show one"

    def _label_problems(self, name: str, shape: Shape) -> Iterator[tuple[str, str]]:
        """The labels of a vote for which the format names no winner."""
        if "label" in shape and not {"scores", "winner"} & set(shape):
            for label in shape["label"].options:
                if label not in self.winner_of:
                    yield "label", f"winner_of lacks the label {label!r} of shape {name!r}"

    def _rubric_problems(self) -> Iterator[LocatedProblem]:
        if not 0 <= self.rubric.min < self.rubric.max:
            yield ("rubric", "min"), "the rubric's scale must go from 0 or more to something larger"
        scored = any(field.kind == "scores" for shape in self.shapes.values() for field in shape.values())
        if scored and not any(criterion.when == Condition() for criterion in self.rubric.criteria.values()):
            yield ("rubric", "criteria"), "the rubric needs a criterion that always applies"
        for name in self.rubric.criteria:
            minimum, maximum = self.rubric.scale(name)
            if not 0 <= minimum < maximum:
                problem = f"the scale of criterion {name!r} must go from 0 or more to something larger"
                yield ("rubric", "criteria", name), problem


def _objects(keys: tuple[str, ...], shape: Shape) -> Iterator[tuple[tuple[str, ...], Shape]]:
    """A shape and every object within it, with the keys that lead to it."""
    yield keys, shape
    for key, field in shape.items():
        if field.fields:
            yield from _objects((*keys, key, "fields"), field.fields)


def _is_same_kind(field: Field, other: Field) -> bool:
    """Whether what fits into one field fits into the other."""
    if (field.kind, field.options, field.per_side, set(field.fields)) != (
        other.kind,
        other.options,
        other.per_side,
        set(other.fields),
    ):
        return False
    return all(_is_same_kind(inner, other.fields[name]) for name, inner in field.fields.items())


def slots_of(format: Format, rounds: int, strictness: str, chosen_phases: Collection[str]) -> Iterator[Slot]:
    """Every slot of a debate with this many rounds, in order. Optional phases are included only if chosen; phases with
    `triggered_by` are included as if triggered. No other code knows the order of a format."""
    sections: list[tuple[tuple[Phase, ...], int | None, bool]] = [(format.before, None, False)]
    sections += [(format.round, n, False) for n in range(1, rounds + 1)]
    sections.append((format.after, None, True))
    for phases, round, after_rounds in sections:
        for phase in phases:
            if phase.enabled_by is not None and phase.enabled_by not in chosen_phases:
                continue
            if phase.when.holds(rounds=rounds, strictness=strictness, round=round, settings_on=chosen_phases):
                yield Slot(phase=phase, round=round, after_rounds=after_rounds)
