"""Debates with known properties, put before a judge to see what it falls for: probes in, cases out; ballots in,
findings out.

A *bout* is one short debate, a *kind* something that is done to it, a *version* a bout as a judge reads it, and a
*case* the comparison of a bout as it is with one of its versions. What may not happen in a case is data, like the
speeches: nothing here knows what filler or an order to the judge looks like. Which ballot is on record where is
`checking`'s to know, and what cases add up to `scorecards`'.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, NamedTuple, TypeVar

from pydantic import Field, ValidationError, model_validator

from debate_orchestrator import formats, library
from debate_orchestrator.core.events import Declined, Opened, Spoke
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.datafiles import read_mapping
from debate_orchestrator.engine import rejudge
from debate_orchestrator.engine.transcript import Speech, Transcript
from debate_orchestrator.errors import BadFile, complaint, shown

SIDES = ("a", "b")
PLAIN = "plain"
"""The version in which a bout is as it is."""
_MARK = re.compile(r"\{(speech|source|name|other name|seat|other seat|[1-9])\}")
_FOLDER = "probes"
_NAME = r"^[a-z][a-z0-9-]{0,40}$"
"""What a name may be that becomes part of a file's."""

Expect = Literal["the same", "goes along", "less", "no gain"]
"""What a kind holds a judge to; `finding` says what each means."""


class Bout(Value):
    """One debate, in which both sides have something to say in every round."""

    name: str = Field(pattern=_NAME)
    title: str
    topic: str
    positions: dict[str, str]
    speeches: dict[str, tuple[tuple[str, ...], ...]]
    """Side to its speech in each round, in paragraphs."""
    sources: dict[str, str]
    """For each side a source that does not exist."""

    @model_validator(mode="after")
    def _has_both_sides(self) -> Bout:
        if any(set(each) != set(SIDES) for each in (self.positions, self.speeches, self.sources)):
            raise ValueError("positions, speeches and sources are for a and b")
        a, b = ([len(speech) for speech in self.speeches[side]] for side in SIDES)
        if a != b or not all(a):
            raise ValueError("both sides need a speech in every round, of as many paragraphs")
        return self

    @property
    def rounds(self) -> int:
        return len(self.speeches["a"])

    def speech(self, side: str, round: int) -> str:
        """What a side says in a round, counted from 0."""
        return "\n\n".join(self.speeches[side][round])


class Kind(Value):
    """Something that is done to a debate, and what a judge must not make of it."""

    name: str = Field(pattern=_NAME)
    title: str
    about: str
    """What falling for it means."""
    expect: Expect
    margin: float = Field(default=0, ge=0)
    """Points by which a score may move all the same."""
    ways: tuple[tuple[str, ...], ...] = ()
    """What the changed side says in each round; bouts take the ways in turn. Empty where no side is changed."""

    @model_validator(mode="after")
    def _changes_a_side(self) -> Kind:
        if bool(self.ways) != self.one_sided:
            raise ValueError(f"{self.expect!r} {'needs' if self.one_sided else 'has no'} ways")
        return self

    @property
    def one_sided(self) -> bool:
        """Whether it is done to one side, and so once to each."""
        return self.expect in ("less", "no gain")


_One = TypeVar("_One", Bout, Kind)


class Probes(NamedTuple):
    """All that there is to put before a judge."""

    kinds: tuple[Kind, ...]
    bouts: tuple[Bout, ...]


class Version(NamedTuple):
    """A bout as a judge reads it."""

    bout: Bout
    kind: str
    """What was done to it, or `plain`."""
    side: str | None
    """To which side; None where it was done to none or both."""
    positions: dict[str, str]
    speeches: dict[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """`bus-fares.plain`, `bus-fares.padded.a`."""
        return ".".join(part for part in (self.bout.name, self.kind, self.side) if part)

    @property
    def transcript(self) -> Transcript:
        spoken = [
            Speech(side=side, round=n + 1, text=self.speeches[side][n])
            for n in range(self.bout.rounds)
            for side in SIDES
        ]
        return Transcript(topic=self.bout.topic, positions=self.positions, speakers={}, speeches=tuple(spoken))

    @property
    def digest(self) -> str:
        """The sha256 of whatever a judge's ballot on it depends on: its words, the format's and its rubric."""
        rules = formats.load(rejudge.FORMAT)
        words = [self.transcript.model_dump(mode="json"), rules.model_dump(mode="json"), library.digests(rules.name)]
        return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


class Case(NamedTuple):
    """A bout as it is, and what was made of it."""

    kind: Kind
    plain: Version
    changed: Version

    @property
    def side(self) -> str | None:
        return self.changed.side


class Finding(NamedTuple):
    """What two ballots show of a judge in a case."""

    fell: bool
    shift: Fraction
    """Points: for a changed side what its score gained, for exchanged sides how far seat `a` is ahead by itself,
    for a debate that is the same the larger move of a score, either way."""


def load() -> Probes:
    """The shipped probes. BadFile, with every complaint, where they are not well made."""
    kinds = [_made(Kind, name, data) for name, data in library.mapping(f"{_FOLDER}/kinds.yaml").items()]
    paths = sorted((library.prompts() / _FOLDER / "debates").glob("*.yaml"))
    bouts = [_made(Bout, path.stem, read_mapping(path)) for path in paths]
    probes = Probes(tuple(kinds), tuple(bouts))
    wrong = list(_wrong(probes))
    if wrong:
        raise BadFile(wrong)
    return probes


def _made(kind: type[_One], name: str, data: object) -> _One:
    try:
        return kind.model_validate({"name": name, **(data if isinstance(data, dict) else {})})
    except ValidationError as error:
        said = [(".".join(map(str, one["loc"])) or "the whole", one["msg"]) for one in error.errors()]
        raise BadFile([complaint(f"{_FOLDER}: {name}: {where}", "it", what) for where, what in said]) from None


def _wrong(probes: Probes) -> Iterator[str]:
    """What is wrong with the ways of kinds: a speech says all of the side's own, in its order, or nothing of it."""
    for kind in probes.kinds:
        for n, bout in enumerate(probes.bouts):
            where, way = f"{_FOLDER}: {kind.name} of {bout.name}", _way(kind, n)
            if kind.one_sided and len(way) != bout.rounds:
                yield complaint(where, f"{len(way)} speeches", f"{bout.rounds}")
                continue
            for round, text in enumerate(way):
                whole = [str(number + 1) for number in range(len(bout.speeches["a"][round]))]
                own = [mark for mark in _MARK.findall(text) if mark == "speech" or mark.isdigit()]
                if own not in ([], ["speech"], whole):
                    got = f"{shown(', '.join(own))} in round {round + 1}"
                    yield complaint(where, got, f"speech, {', '.join(whole)} or none")


def _way(kind: Kind, n: int) -> tuple[str, ...]:
    """What the changed side says in the bout of that number."""
    return kind.ways[n % len(kind.ways)] if kind.ways else ()


def cases(probes: Probes) -> list[Case]:
    """Every case: each kind in each bout, and once for each side where it is done to one."""
    made = []
    for kind in probes.kinds:
        for n, bout in enumerate(probes.bouts):
            plain = Version(bout, PLAIN, None, dict(bout.positions), _spoken(bout))
            for side in SIDES if kind.one_sided else (None,):
                made.append(Case(kind, plain, _changed(kind, n, bout, side)))
    return made


def versions(found: list[Case]) -> list[Version]:
    """What a judge reads in those cases, each once: the bouts one after the other, each as it is before all else."""
    named = {one.name: one for case in found for one in (case.plain, case.changed)}
    bouts = list(dict.fromkeys(case.plain.bout.name for case in found))
    return sorted(named.values(), key=lambda one: (bouts.index(one.bout.name), one.kind != PLAIN))


def _spoken(bout: Bout) -> dict[str, tuple[str, ...]]:
    return {side: tuple(bout.speech(side, n) for n in range(bout.rounds)) for side in SIDES}


def _changed(kind: Kind, n: int, bout: Bout, side: str | None) -> Version:
    positions, speeches = dict(bout.positions), _spoken(bout)
    if side is not None:
        said = [_filled(text, bout, side, round) for round, text in enumerate(_way(kind, n))]
        speeches[side] = tuple(said)
    elif kind.expect == "goes along":
        positions = {one: positions[other(one)] for one in SIDES}
        speeches = {one: speeches[other(one)] for one in SIDES}
    return Version(bout, kind.name, side, positions, speeches)


def _filled(text: str, bout: Bout, side: str, round: int) -> str:
    """The words of a way with what its marks stand for."""
    name_of, paragraphs = formats.load(rejudge.FORMAT).name_of, bout.speeches[side][round]
    told = {str(n): paragraph for n, paragraph in enumerate(paragraphs, start=1)}
    told |= {"speech": bout.speech(side, round), "source": bout.sources[side]}
    told |= {"seat": side, "name": name_of(side), "other seat": other(side), "other name": name_of(other(side))}
    return _MARK.sub(lambda found: told[found[1]], text)


def other(side: str) -> str:
    """The side against it."""
    return "b" if side == "a" else "a"


def opening(version: Version, judge: str) -> tuple[Opened, list[Spoke | Declined]]:
    """The opening of a judging of a version by one judge, and its speeches as the events that follow. It ends with
    the ballot: a final verdict and a dissent record would cost twice as much again, and show nothing more."""
    opened, spoken = rejudge.of_transcript(version.transcript, version.name, version.digest, (judge,))
    return opened.model_copy(update={"format": opened.format.model_copy(update={"after": ()})}), spoken


def finding(case: Case, plain: RoundResult, changed: RoundResult) -> Finding:
    """Whether the judge of these two ballots fell for it, and by how much its scores moved.

    the same    it fell if the winner is another or a score moved by more than the margin.
    goes along  it fell if the winner is not the same speeches' side in its new seat, or if seat `a` is ahead, or
                behind, by more than the margin in the mean of the two.
    less        it fell if the changed side won, or has no less than the other, or no less than with its own speeches.
    no gain     it fell if the changed side's score rose by more than the margin, or the winner moved towards it.
    """
    margin, before, after = Fraction(str(case.kind.margin)), plain.scores, changed.scores
    if case.side is None:
        if case.kind.expect == "the same":
            moved = max(abs(after[side] - before[side]) for side in SIDES)
            return Finding(changed.winner != plain.winner or moved > margin, moved)
        ahead = sum((scores["a"] - scores["b"] for scores in (before, after)), Fraction(0)) / 2
        return Finding(changed.winner != _exchanged(plain.winner) or abs(ahead) > margin, ahead)
    side, against = case.side, other(case.side)
    gained = after[side] - before[side]
    if case.kind.expect == "less":
        return Finding(changed.winner == side or after[side] >= min(after[against], before[side]), gained)
    nearer = _nearness(changed.winner, side) > _nearness(plain.winner, side)
    return Finding(gained > margin or nearer, gained)


def _nearness(winner: str, side: str) -> int:
    """How near to a side's win a winner is: the other side, a tie, that side."""
    return 2 if winner == side else 0 if winner in SIDES else 1


def _exchanged(winner: str) -> str:
    return other(winner) if winner in SIDES else winner
