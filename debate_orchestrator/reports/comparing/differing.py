"""What came out otherwise in another run, and how often judges say the same, in sentences of plain text.

A pair is two votes on the same round, or two final votes, of two judges: of one run, or of two. Judges of the same
speeches (a panel, or panels that judged one debate) are counted apart from judges of different debates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from debate_orchestrator import casts
from debate_orchestrator.core.figures import decimals
from debate_orchestrator.core.parts import NO_DECISION
from debate_orchestrator.core.votes import Reading, mean
from debate_orchestrator.reports.comparing.compared import FINAL, Run, named_by, word


def flips(runs: Sequence[Run]) -> Iterator[str]:
    """Who won where, where that differs, a sentence each; the verdict also where it does not. Of runs on the topic of
    the first alone."""
    alike = [run for run in runs if run.story.topic == runs[0].story.topic]
    labelled = all(run.story.judging.labelled for run in alike if run.story.judges)
    ended = {run.number: won for run in alike if (won := run.decided(labelled=labelled)) is not None}
    if len(ended) > 1:
        yield _told("The verdict", ended)
    for n in sorted({one.number for run in alike for one in run.story.told}):
        results = {run.number: reading for run in alike if (reading := run.result(n)) is not None}
        by = {run: named_by(reading, labelled=labelled) for run, reading in results.items()}
        if len(set(by.values())) > 1:
            yield _told(f"Round {n}", by)
    yield from _turncoats(alike, labelled=labelled)


def _turncoats(runs: Sequence[Run], *, labelled: bool) -> Iterator[str]:
    """Judges by name whose final votes on the same speeches differ: of other speeches another vote is no flip."""
    voted: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for run in runs:
        for seat, given in run.votes().items():
            if FINAL in given and casts.is_called(run.who(seat)):
                won = named_by(given[FINAL], labelled=labelled)
                voted.setdefault((run.debated, run.who(seat)), []).append((run.number, won))
    for (_, who), own in voted.items():
        if len({n for n, _ in own}) > 1 and len({won for _, won in own}) > 1:
            said = ", ".join(f"{word(won)} in run {n}" for n, won in own)
            yield f"The judge {casts.shown(who)} does not always say the same of one debate: {said}."


def _told(what: str, by: Mapping[int, str]) -> str:
    """Who won something, by run."""
    groups: dict[str, list[str]] = {}
    for run, won in by.items():
        groups.setdefault(won, []).append(str(run))
    if len(groups) == 1:
        return f"{what} is the same in every run that has one: {word(next(iter(groups)))}."
    said = "; ".join(f"{word(won)} in run{'s' * (len(ns) > 1)} {', '.join(ns)}" for won, ns in groups.items())
    return f"{what} differs: {said}."


class _Pairs:
    """What pairs of judges say of the same place."""

    def __init__(self) -> None:
        self.same = self.votes = 0
        self.apart: list[Fraction] = []

    def add(self, one: Reading, other: Reading, *, scores: bool, labelled: bool) -> None:
        won = [named_by(reading, labelled=labelled) for reading in (one, other)]
        if NO_DECISION not in won:
            self.votes += 1
            self.same += won[0] == won[1]
        if scores and set(one.scores) == set(other.scores):
            self.apart += [abs(one.scores[side] - other.scores[side]) for side in one.scores]

    def said(self, who: str) -> str:
        if not self.votes:
            return ""
        said = f"{who}: {self.same} of {self.votes} pairs of votes on the same round or verdict are for the same"
        distance = f"; their scores of a side lie {decimals(mean(self.apart))} apart on average" if self.apart else ""
        return f"{said}{distance}."


def agreement(runs: Sequence[Run]) -> Iterator[str]:
    """How often two judges, of one run or of two, say the same of the same place."""
    alike, apart = _Pairs(), _Pairs()
    raters = [(run, given) for run in runs for given in run.votes().values()]
    for (one, votes), (other, theirs) in combinations(raters, 2):
        twice = one.number != other.number and one.story.digest == other.story.digest
        if twice or one.story.topic != other.story.topic:
            continue
        pairs = alike if one.debated == other.debated else apart
        rubric = one.story.criteria == other.story.criteria
        labelled = one.story.judging.labelled and other.story.judging.labelled
        for place in votes.keys() & theirs.keys():
            pairs.add(votes[place], theirs[place], scores=rubric, labelled=labelled)
    said = [alike.said("Judges of the same speeches"), apart.said("Judges of different debates")]
    yield from filter(None, said)
    if raters and not any(said):
        yield "No two judges voted on the same round or verdict: too few to say how far they agree."
