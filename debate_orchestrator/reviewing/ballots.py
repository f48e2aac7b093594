"""A reviewer's ballot: somebody who was not there reads the debate and judges it by the judges' own rubric.

It asks what the debate's judges are asked to vote on, on the same scale and round by round, and two things more:
which position the reviewer held before reading, and which after. Nothing is repaired and nothing is guessed, as with
a judge's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any

from debate_orchestrator.core import shapes
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.parts import JUDGE, TIE
from debate_orchestrator.core.rules import Slot
from debate_orchestrator.core.shapes import Field, Shape, Terms
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.votes import Reading, mean, read_ballot
from debate_orchestrator.errors import complaint, shown
from debate_orchestrator.speech import one_line

VERSION = 1
"""The form of ballot files."""
UNDECIDED = "undecided"
FINAL = 0
"""The number under which the ballot on the debate as a whole stands among those on rounds."""
LONGEST_NAME = 80
WORDS = 80
"""The most that the reason may have."""
_VOTED = ("scores", "label", "score", "winner", "probability")
"""Fields of a judge's vote that a reviewer is asked for too: those that are counted."""


class Ballot(Value):
    """One reviewer's ballot that will do."""

    model_config = {**Value.model_config, "arbitrary_types_allowed": True}

    reviewer: str
    date: str
    seen: bool
    """Whether the reviewer says to have known the verdict before."""
    before: str | None
    """The position held before reading: a side or `undecided`; None where nobody asked."""
    after: str | None
    """The same after it."""
    rounds: dict[int, Reading]
    final: Reading
    """What it says of the debate as a whole; where judges only score, the side that scores better wins."""
    marks: dict[tuple[int, str, str], Fraction]
    """Round (FINAL for the whole debate), side and criterion to the mark given."""
    why: str


class Paper:
    """What a ballot on one debate asks."""

    def __init__(self, debate: Debate):
        rules = debate.format
        self.debate = debate
        self.sides = rules.sides
        self.terms = Terms(
            sides=rules.sides,
            criteria=debate.criteria,
            least=rules.rubric.least,
            most=rules.rubric.most,
            rounds=debate.rounds,
            strictness=debate.opened.setup.strictness,
            scales={name: rules.rubric.scale(name) for name in debate.criteria},
        )
        reached = {turn.round for turn in debate.settled()}
        slots = [slot for slot in debate.calendar() if rules.votes(slot.phase)]
        self.rounds: dict[int, Shape] = {}
        """Round to what is asked about it; only rounds that were held and that judges vote on."""
        for n in sorted(n for n in reached if n is not None):
            if shape := self._asked(slot for slot in slots if slot.round == n):
                self.rounds[n] = shape
        self.final = self._asked(slot for slot in slots if slot.closing) or {
            "winner": Field(kind="choice", of=(*rules.sides, TIE), about="who won the debate")
        }

    def _asked(self, slots: Iterable[Slot]) -> Shape:
        """The fields of some votes that a reviewer is asked for."""
        given: Shape = {}
        for slot in slots:
            given |= shapes.asked(self.debate.format.shapes[slot.phase.reply], self.terms)
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

    def part(self, keys: tuple[str, ...], value: Any) -> list[str]:
        """Every complaint about the part of a ballot to which the keys lead."""
        shape, field = self.shape, Field(kind="text")
        for key in keys:
            field = shape[key]
            shape = field.fields
        return shapes.check({keys[-1]: field.model_copy(update={"only_if": {}, "unless": {}})}, value, self.terms)

    def complaints(self, value: Mapping[str, Any], where: str = "") -> list[str]:
        """Every complaint about a value as a ballot on this debate; empty when it will do."""
        given = {"before": None, "after": None, **_plain(value)}
        found = shapes.check(self.shape, given, self.terms, where)
        name, day = given.get("reviewer"), given.get("date")
        if isinstance(name, str) and not _is_name(name):
            expected = f"a name on one line, of at most {LONGEST_NAME} characters"
            found.append(complaint(f"{where}reviewer", shown(name), expected))
        if isinstance(day, str) and not _is_day(day):
            found.append(complaint(f"{where}date", shown(day), "a day, as 2026-02-03"))
        return found

    def ballot(self, value: Mapping[str, Any]) -> Ballot:
        """The ballot that a value is, about which there is no complaint."""
        given = {"before": None, "after": None, **_plain(value)}
        parts = {int(n): one for n, one in given.get("rounds", {}).items()}
        marks = {
            (n, side, name): Fraction(str(mark))
            for n, one in {**parts, FINAL: given["final"]}.items()
            for side, by_name in one.get("scores", {}).items()
            for name, mark in by_name.items()
        }
        return Ballot(
            reviewer=one_line(given["reviewer"]),
            date=given["date"],
            seen=given["seen"],
            before=given["before"],
            after=given["after"],
            rounds={n: self._read(one) for n, one in sorted(parts.items())},
            final=self._read(given["final"]),
            marks=marks,
            why=given["why"],
        )

    def _read(self, part: Mapping[str, Any]) -> Reading:
        return read_ballot(part, self.sides, self.debate.weights, self.debate.format.winner_of)


def judges_marks(debate: Debate) -> dict[str, dict[tuple[int, str, str], Fraction]]:
    """Judge to what it gave, in the same terms as `Ballot.marks`: the mean of both presentations where it saw two.
    A judge whose ballots don't count has none."""
    votes = {n: debate.votes(n) for n in range(1, debate.rounds + 1)} | {FINAL: debate.final_votes()}
    absent = {(n, vote.judge) for n, cast in votes.items() for vote in cast if vote.absent}
    found: dict[str, dict[tuple[int, str, str], list[Fraction]]] = {}
    for turn in debate.settled():
        place, vote = turn.round or FINAL, debate.ballot(turn.id)
        if vote is None or not debate.format.votes(turn.phase) or turn.phase.option == "blind":
            continue
        if turn.role != JUDGE or (place, turn.seat) in absent:
            continue
        for side, given in debate.seen(debate.shape(turn) or {}, vote).get("scores", {}).items():
            for name, mark in given.items():
                own = found.setdefault(turn.seat, {})
                own.setdefault((place, side, name), []).append(Fraction(str(mark)))
    return {judge: {key: mean(marks) for key, marks in own.items()} for judge, own in found.items()}


def _plain(value: Any) -> Any:
    """A value as JSON would have it: a round's number is a key, and so a text; so is the form's version."""
    if not isinstance(value, Mapping):
        return value
    made = {str(key): _plain(one) for key, one in value.items()}
    if isinstance(made.get("ballot"), int) and not isinstance(made["ballot"], bool):
        made["ballot"] = str(made["ballot"])
    return made


def _is_name(name: str) -> bool:
    return 0 < len(one_line(name)) <= LONGEST_NAME and one_line(name) == " ".join(name.split()) and "\n" not in name


def _is_day(day: str) -> bool:
    try:
        return date.fromisoformat(day).isoformat() == day
    except ValueError:
        return False
