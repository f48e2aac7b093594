"""A reviewer's ballot: a person who was not there reads the debate and judges it by the judges' own rubric.

It asks what the debate's judges are asked to vote on, on the same scale and round by round, and two things more:
which position the reviewer held before reading, and which after. Nothing is repaired and nothing is guessed, as with
a judge's.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Any

from debate_orchestrator.core import schedule, schema, tally
from debate_orchestrator.core.phases import JUDGE, TIE, Slot
from debate_orchestrator.core.schema import Field, Shape, ShapeContext
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.votes import BallotReading, mean, read_ballot
from debate_orchestrator.setup.session import QuestionText
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import to_yaml
from debate_orchestrator.util.errors import short_repr
from debate_orchestrator.util.sanitize import one_line

VERSION = 1
"""The form of ballot files."""
UNDECIDED = "undecided"
Marks = Mapping[tuple[int, str, str], Fraction]
"""What one reviewer or judge gave: round (0 for the whole debate), side and criterion to the mark."""
_ORDER = ("ballot", "journal", "reviewer", "date", "seen", "before", "rounds", "final", "why", "after")
FINAL = 0
"""The number under which the ballot on the debate as a whole stands among those on rounds."""
LONGEST_NAME = 80
WORDS = 80
"""The most that the reason may have."""
_VOTED = ("scores", "label", "score", "winner", "probability")
"""Fields of a judge's vote that a reviewer is asked for too: those that are counted."""


class Review(Value):
    """One reviewer's ballot that will do."""

    model_config = {**Value.model_config, "arbitrary_types_allowed": True}

    reviewer: str
    date: str
    seen: bool
    """Whether the reviewer says to have known the verdict before."""
    before: str | None
    """The position held before reading: a side or `undecided`; None if that was not asked."""
    after: str | None
    """The same after it."""
    rounds: dict[int, BallotReading]
    final: BallotReading
    """What it says of the debate as a whole; where judges only score, the side that scores better wins."""
    marks: dict[tuple[int, str, str], Fraction]
    """Round (FINAL for the whole debate), side and criterion to the mark given."""
    why: str


class ReviewForm:
    """What a ballot on one debate asks."""

    def __init__(self, debate: DebateState):
        format = debate.format
        self.debate = debate
        self.sides = format.sides
        self.terms = ShapeContext(
            sides=format.sides,
            criteria=debate.criteria,
            least=format.rubric.least,
            most=format.rubric.most,
            rounds=debate.rounds,
            strictness=debate.opened.setup.strictness,
            scales={name: format.rubric.scale(name) for name in debate.criteria},
        )
        reached = {turn.round for turn in schedule.settled(debate)}
        slots = [slot for slot in debate.plan.calendar if format.votes(slot.phase)]
        self.rounds: dict[int, Shape] = {}
        """Round to what is asked about it; only rounds that were held and that judges vote on."""
        for n in sorted(n for n in reached if n is not None):
            if shape := self._asked(slot for slot in slots if slot.round == n):
                self.rounds[n] = shape
        self.final = self._asked(slot for slot in slots if slot.closing) or {
            "winner": Field(kind="choice", of=(*format.sides, TIE), about="who won the debate")
        }

    def _asked(self, slots: Iterable[Slot]) -> Shape:
        """The fields of some votes that a reviewer is asked for."""
        given: Shape = {}
        for slot in slots:
            given |= schema.fields_asked(self.debate.format.shapes[slot.phase.reply], self.terms)
        return {name: given[name] for name in _VOTED if name in given}

    @property
    def shape(self) -> Shape:
        """A whole ballot."""
        held = Field(kind="choice", of=(*self.sides, UNDECIDED), optional=True)
        rounds = {str(n): Field(kind="record", fields=shape) for n, shape in self.rounds.items()}
        return {
            "ballot": Field(kind="choice", of=(str(VERSION),), about="the version of this form"),
            "journal": Field(kind="text", about="the digest of the journal's last line"),
            "reviewer": Field(kind="text", about="your name"),
            "date": Field(kind="text", about="the day, as 2026-02-03"),
            "seen": Field(kind="flag", about="whether you knew the verdict before you filled this in"),
            "before": held.model_copy(update={"about": "the position you held before you read the debate"}),
            **({"rounds": Field(kind="record", fields=rounds)} if rounds else {}),
            "final": Field(kind="record", fields=self.final, about="the debate as a whole"),
            "why": Field(kind="text", words=WORDS, about="why, in one sentence"),
            "after": held.model_copy(update={"about": "the position you hold now"}),
        }

    @property
    def rated(self) -> list[tuple[str, str, str]]:
        """Title, scale and meaning of each criterion; empty where nothing is scored."""
        criteria = self.debate.format.rubric.criteria
        scored = any("scores" in shape for shape in (*self.rounds.values(), self.final))
        return [
            (criteria[name].title, scale(self, name), one_line(criteria[name].about))
            for name in (self.terms.criteria if scored else ())
        ]

    def asked(self, *names: str) -> Shape:
        """Some parts of a ballot, of which everything has to be answered, as a person who is asked for them does."""
        whole = self.shape
        return {name: whole[name].model_copy(update={"optional": False}) for name in names if name in whole}

    def part(self, keys: tuple[str, ...], value: Any) -> list[str]:
        """Every complaint about the part of a ballot to which the keys lead."""
        shape, field = self.shape, Field(kind="text")
        for key in keys:
            field = shape[key]
            shape = field.fields
        return schema.check({keys[-1]: field.model_copy(update={"only_if": {}, "unless": {}})}, value, self.terms)

    def complaints(self, value: Mapping[str, Any], where: str = "") -> list[str]:
        """Every complaint about a value as a ballot on this debate; empty when it will do."""
        given = {"before": None, "after": None, **_plain(value)}
        found = schema.check(self.shape, given, self.terms, where)
        name, day = given.get("reviewer"), given.get("date")
        if isinstance(name, str) and not _is_name(name):
            text = f"{short_repr(name)} is not a name on one line of at most {LONGEST_NAME} characters."
            found.append(f"{where}reviewer: {text}")
        if isinstance(day, str) and not _is_day(day):
            found.append(f"{where}date: {short_repr(day)} is not a date. Try: 2026-02-03.")
        return found

    def ballot(self, value: Mapping[str, Any]) -> Review:
        """The ballot that a value is, about which there is no complaint."""
        given = {"before": None, "after": None, **_plain(value)}
        parts = {int(n): part for n, part in given.get("rounds", {}).items()}
        marks = {
            (n, side, name): Fraction(str(mark))
            for n, part in {**parts, FINAL: given["final"]}.items()
            for side, by_name in part.get("scores", {}).items()
            for name, mark in by_name.items()
        }
        return Review(
            reviewer=one_line(given["reviewer"]),
            date=given["date"],
            seen=given["seen"],
            before=given["before"],
            after=given["after"],
            rounds={n: self._read(part) for n, part in sorted(parts.items())},
            final=self._read(given["final"]),
            marks=marks,
            why=given["why"],
        )

    def _read(self, part: Mapping[str, Any]) -> BallotReading:
        return read_ballot(part, self.sides, self.debate.weights, self.debate.format.winner_of)


def judges_marks(debate: DebateState) -> dict[str, dict[tuple[int, str, str], Fraction]]:
    """Judge to what it gave, in the same terms as `Review.marks`: the mean of both presentations where it saw two.
    A judge whose ballots don't count has none."""
    votes = {n: tally.votes(debate, n) for n in range(1, debate.rounds + 1)} | {FINAL: tally.final_votes(debate)}
    absent = {(n, vote.judge) for n, cast in votes.items() for vote in cast if vote.absent}
    found: dict[str, dict[tuple[int, str, str], list[Fraction]]] = {}
    for turn in schedule.settled(debate):
        place, vote = turn.round or FINAL, debate.ballot(turn.id)
        if vote is None or not debate.format.votes(turn.phase) or turn.phase.option == "blind":
            continue
        if turn.role != JUDGE or (place, turn.seat) in absent:
            continue
        for side, given in tally.unmirrored(debate, debate.shape(turn) or {}, vote).get("scores", {}).items():
            for name, mark in given.items():
                own = found.setdefault(turn.seat, {})
                own.setdefault((place, side, name), []).append(Fraction(str(mark)))
    return {judge: {key: mean(marks) for key, marks in own.items()} for judge, own in found.items()}


def _plain(value: Any) -> Any:
    """A value as JSON would have it: a round's number is a key, and so a text; so is the form's version."""
    if not isinstance(value, Mapping):
        return value
    plain = {str(key): _plain(item) for key, item in value.items()}
    if isinstance(plain.get("ballot"), int) and not isinstance(plain["ballot"], bool):
        plain["ballot"] = str(plain["ballot"])
    return plain


def _is_name(name: str) -> bool:
    return 0 < len(one_line(name)) <= LONGEST_NAME and one_line(name) == " ".join(name.split()) and "\n" not in name


def _is_day(day: str) -> bool:
    try:
        return date.fromisoformat(day).isoformat() == day
    except ValueError:
        return False


_WIDTH = 100


class ReviewTexts(Value):
    """Everything in prompts/reviewing.yaml."""

    form: tuple[str, ...]
    seen_hint: str
    before_hint: str
    after_hint: str
    why_hint: str
    name_hint: str
    said: dict[str, str]
    held: str
    words: dict[str, str]
    questions: dict[str, QuestionText]


@cache
def review_texts() -> ReviewTexts:
    return ReviewTexts.model_validate(resources.read_yaml("reviewing.yaml"))


def worded(form: ReviewForm, place: tuple[str, ...], about: str) -> QuestionText:
    """The question about one field of a ballot, which is known by its place in the form; `about` says what it is."""
    final, of_round = place[0] == "final", place[0] == "rounds"
    name = place[1] if final else place[2] if of_round else place[0]
    format = form.debate.format
    about = one_line(about)
    values = {
        "topic": one_line(form.debate.opened.setup.topic),
        "words": WORDS,
        "round": place[1] if of_round else FINAL,
        "side": format.name_of(place[-1]) if place[-1] in form.sides else place[-1].replace("_", " ").capitalize(),
        "criteria": ", ".join(format.rubric.criteria[criterion].title for criterion in form.terms.criteria),
        "about": about[:1].upper() + about[1:] or name.capitalize(),
    }
    found = review_texts().questions[f"{name}_final" if final else name]
    return found.model_copy(update={"text": found.text.format(**values), "help": found.help.format(**values)})


def in_order(form: ReviewForm, ballot: Mapping[str, Any]) -> dict[str, Any]:
    """A ballot as it is filed: its parts in one order, and null for what another answer makes pointless."""
    rounds = {n: _with_nulls(form.rounds[n], part) for n, part in ballot.get("rounds", {}).items() if n in form.rounds}
    parts: dict[str, Any] = {"rounds": rounds} if "rounds" in ballot else {}
    parts |= {"final": _with_nulls(form.final, ballot["final"])} if "final" in ballot else {}
    return {name: parts.get(name, ballot[name]) for name in _ORDER if name in ballot}


def _with_nulls(shape: Shape, part: Mapping[str, Any]) -> dict[str, Any]:
    left_out = (name for name, field in shape.items() if name not in part and (field.only_if or field.unless))
    return {**part, **dict.fromkeys(left_out)}


def form_text(form: ReviewForm, digest: str, journal: str, day: str, reviewer: str = "") -> str:
    """The empty form of a ballot on that debate, which `util.data.read_mapping` reads."""
    texts = review_texts()
    held = _or([*form.sides, UNDECIDED])
    lines = [*_head(form, texts, journal), f"ballot: {VERSION}", f"journal: {digest}"]
    name = to_yaml({"reviewer": reviewer}).strip() if reviewer else "reviewer:"
    lines += [f"{name}  # {texts.name_hint}", f"date: {day}", f"seen: false  # {texts.seen_hint}"]
    lines += [f"before:  # {texts.before_hint.format(held=held)}"]
    lines += ["rounds:"] if form.rounds else []
    for n, shape in form.rounds.items():
        lines += [f"  {n}:", *(f"    {line}" for line in _fields(form, shape))]
    lines += ["final:", *(f"  {line}" for line in _fields(form, form.final))]
    lines += [f"why:  # {texts.why_hint.format(words=WORDS)}", f"after:  # {texts.after_hint.format(held=held)}"]
    return "\n".join(lines) + "\n"


def _head(form: ReviewForm, texts: ReviewTexts, journal: str) -> Iterator[str]:
    format, setup = form.debate.format, form.debate.opened.setup
    for line in texts.form:
        yield from _comment(line.format(journal=one_line(journal)))
    yield "#"
    yield from _comment(f"Topic: {setup.topic}")
    for side in form.sides:
        yield from _comment(f"{side}, {format.name_of(side)}: {setup.positions[side]}")
    if any("scores" in shape for shape in (*form.rounds.values(), form.final)):
        yield "#"
        for name in form.terms.criteria:
            yield from _comment(f"{name}, {scale(form, name)}: {format.rubric.criteria[name].about}")
    yield ""


def _comment(text: str) -> list[str]:
    lines = textwrap.wrap(one_line(text), _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return [f"# {line}" for line in lines]


def _fields(form: ReviewForm, shape: Shape) -> Iterator[str]:
    for name, field in shape.items():
        if field.kind == "scores":
            yield "scores:"
            for side in form.sides:
                yield f"  {side}:"
                yield from (f"    {name}:  # {scale(form, name)}" for name in form.terms.criteria)
        else:
            yield f"{name}:  # {one_line(hint(field, form))}"


def scale(form: ReviewForm, criterion: str) -> str:
    """The scale of a criterion: `1 to 10`."""
    least, most = form.terms.scale(criterion)
    return f"{least:g} to {most:g}"


def hint(field: Field, form: ReviewForm) -> str:
    """What a field may hold: `a, b or tie: who won the round`."""
    if field.kind == "number":
        bounded = field.least is not None and field.most is not None
        values = f"{field.least:g} to {field.most:g}" if bounded else "a number"
    else:
        values = _or(field.of or form.sides)
    return f"{values}: {field.about}" if field.about else values


def _or(names: Any) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else str(last)


def empty(digest: str, reviewer: str, day: str) -> dict[str, Any]:
    """A ballot of which nothing is filled in but what is known."""
    return {"ballot": VERSION, "journal": digest, "reviewer": reviewer, "date": day}
