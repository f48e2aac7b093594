"""One judge's vote, whatever the shape of its ballots, and what the votes of a panel come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from debate_orchestrator.core.phases import CONSENSUS, NO_DECISION, TIE
from debate_orchestrator.core.values import FrozenModel


class BallotReading(FrozenModel):
    """What one ballot says, with the sides as they are."""

    model_config = {**FrozenModel.model_config, "arbitrary_types_allowed": True}

    winner: str
    """A side, tie, consensus or no decision."""
    scores: dict[str, Fraction] = {}
    label: str | None = None
    score: Fraction | None = None
    """A single number for what is debated, such as how well a claim is supported."""
    probability: Fraction | None = None
    """What the judge gives the winner it declares."""


class Vote(FrozenModel):
    """What one judge makes of a round or of the debate, from one ballot or also from one on the mirrored debate."""

    judge: str
    turn: str
    original: BallotReading | None
    """What the ballot on the debate as it was says; None if none counts."""
    mirrored: BallotReading | None = None
    """The same of the ballot on the mirrored debate."""
    shown_mirrored: bool = False
    """Whether the judge was shown the mirrored debate too."""

    @property
    def readings(self) -> list[BallotReading]:
        """The ballots that count."""
        return [reading for reading in (self.original, self.mirrored) if reading is not None]

    @property
    def absent(self) -> bool:
        return len(self.readings) < 1 + self.shown_mirrored

    @property
    def stable(self) -> bool:
        """Whether every ballot says the same."""
        return len({(reading.winner, reading.label) for reading in self.readings}) < 2

    @property
    def winner(self) -> str:
        """Whom the vote is for; no decision where the judge abstains, is absent, or unstable."""
        return NO_DECISION if self.absent or not self.stable else self.readings[0].winner

    @property
    def label(self) -> str | None:
        return None if self.absent or not self.stable else self.readings[0].label

    @property
    def scores(self) -> dict[str, Fraction]:
        """Side to the mean of its scores on all ballots; empty if there are none, or the judge is absent."""
        if self.absent or not all(reading.scores for reading in self.readings):
            return {}
        return {side: mean([reading.scores[side] for reading in self.readings]) for side in self.readings[0].scores}

    @property
    def score(self) -> Fraction | None:
        given = [reading.score for reading in self.readings if reading.score is not None]
        return None if self.absent or not self.stable or not given else mean(given)


def leader(scores: Mapping[str, Fraction | float]) -> str:
    """The side with the highest score; `tie` where two have it."""
    best = max(scores.values())
    ahead = [side for side, points in scores.items() if points == best]
    return ahead[0] if len(ahead) == 1 else TIE


def score(points: Mapping[str, float], weights: Mapping[str, Fraction]) -> Fraction:
    """A side's score on one ballot: the mean of the criteria that apply, by their weights."""
    given = sum((Fraction(str(points[name])) * weight for name, weight in weights.items()), Fraction(0))
    return given / sum(weights.values())


def read_ballot(
    ballot: Mapping[str, Any], sides: Sequence[str], weights: Mapping[str, Fraction], winner_of: Mapping[str, str]
) -> BallotReading:
    """What a ballot says, whatever its shape is."""
    scores = {side: score(ballot["scores"][side], weights) for side in sides} if "scores" in ballot else {}
    label = ballot.get("label")
    winner = ballot.get("winner") or (leader(scores) if scores else winner_of.get(str(label), NO_DECISION))
    number, probability = ballot.get("score"), ballot.get("probability")
    return BallotReading(
        winner=winner,
        scores=scores,
        label=label,
        score=None if number is None else Fraction(str(number)),
        probability=None if probability is None else Fraction(str(probability)),
    )


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def valid_votes(votes: Sequence[Vote]) -> list[Vote]:
    """The votes for a side, a tie or consensus: neither absent nor an abstention."""
    return [vote for vote in votes if vote.winner != NO_DECISION]


def panel_winner(
    votes: Sequence[Vote], sides: Sequence[str], quorum: int, winner_of: Mapping[str, str] | None = None
) -> str:
    """The side that more judges vote for; consensus where more than half do; no decision short of the quorum. Where
    judges give labels that stand for winners, the one that the panel's label stands for."""
    if winner_of:
        labelled = sum(vote.label is not None for vote in votes)
        label = plurality_label(votes)
        return NO_DECISION if label is None or labelled < max(1, quorum) else winner_of.get(label, NO_DECISION)
    decided = [vote.winner for vote in valid_votes(votes)]
    if len(decided) < max(1, quorum):
        return NO_DECISION
    return CONSENSUS if 2 * decided.count(CONSENSUS) > len(decided) else plurality(decided, sides)


def plurality_label(votes: Sequence[Vote]) -> str | None:
    """The label that more judges give than any other; None where two are given as often, or none is."""
    ranked = Counter(vote.label for vote in votes if vote.label is not None).most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def swing(before: Sequence[Vote], after: Sequence[Vote], sides: Sequence[str]) -> dict[str, int]:
    """Side to the votes that it has after the debate over those that it had before, among the judges who are neither
    absent nor unstable then or now; empty if there is no such judge."""
    first = {vote.judge: vote.winner for vote in before if not vote.absent and vote.stable}
    last = {vote.judge: vote.winner for vote in after if not vote.absent and vote.stable and vote.judge in first}
    votes_before, votes_after = Counter(first[judge] for judge in last), Counter(last.values())
    return {side: votes_after[side] - votes_before[side] for side in sides} if last else {}


def plurality(votes: Sequence[str], sides: Sequence[str]) -> str:
    """The side that more votes name than any other; votes for a tie are not counted; equal is a tie."""
    counts = Counter(vote for vote in votes if vote in sides)
    return leader({side: counts[side] for side in sides}) if counts else TIE
