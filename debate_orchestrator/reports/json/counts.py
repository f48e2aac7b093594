"""What a report counts, as data: votes, ballots, rounds, the verdict and the bill, with the unit of every number.

A docstring below a field is its description in the published schema, so it says units and what null means.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from debate_orchestrator.core.verdict import Remark


class Fact(BaseModel):
    """A value whose fields are described where they stand."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, serialize_by_alias=True)


class Judging(Fact):
    """How the judges' votes are taken."""

    quorum: int
    """Judges whose votes must count for there to be a decision."""
    mirrored: int
    """Votes that were cast in both presentations, as it was and with the sides exchanged."""
    changed: int
    """How many of those said something else in the mirror, and so count for nobody."""
    by_swing: bool
    """Whether votes gained since the first word decide, and not votes."""
    means: dict[str, dict[str, float]]
    """Side to criterion to the mean of what judges gave it, in points; empty where nothing is scored."""
    kin: list[str]
    """A sentence for each judge that shares a model or a vendor with a side."""


class Reading(Fact):
    """What one ballot says, in the terms of the sides as they are."""

    winner: str
    """A side, `tie`, `consensus` or `no decision`."""
    scores: dict[str, float] | None
    """Side to points: the mean of its criteria by their weights; null where sides are not scored."""
    label: str | None
    """The label it gives a claim; null where it gives none."""
    score: float | None
    """The number it gives a claim; null where it gives none."""
    probability: float | None
    """What it gives the winner that it declares, from 0 to 1; null where it does not bet."""


class Vote(Fact):
    """One judge's vote: on a round, on the debate, or before its first word."""

    judge: str
    """The judge's seat."""
    place: Literal["start", "round", "final"]
    """Before the first word, on a round, or after the last word."""
    round: int | None
    """Counted from 1; null outside the rounds."""
    turns: list[str]
    """The turns in which it was cast: two where it was also cast with the sides exchanged."""
    straight: Reading | None
    """The ballot on the debate as it was; null where none is valid."""
    mirrored: Reading | None
    """The ballot on the debate with the sides exchanged; null where none is valid, or none was asked for."""
    absent: bool
    """Whether a ballot is missing, so that nothing of it counts."""
    stable: bool
    """Whether every ballot of it says the same; false makes it an abstention."""
    counts_as: str
    """What it counts as: a side, `tie`, `consensus`, or `no decision` for an abstention or an absent judge."""
    label: str | None
    """The label that it counts as; null where it counts as none."""
    scores: dict[str, float] | None
    """Side to the mean of its points in both presentations; null where the judge is absent or scores nothing."""


class Ballot(Fact):
    """One judge's structured answer to one request for a vote."""

    turn: str
    """The turn in which it was given."""
    judge: str
    """The judge's seat."""
    round: int | None
    """Counted from 1; null outside the rounds."""
    mirrored: bool
    """Whether the judge saw the debate with the sides exchanged; everything here is told as the sides are."""
    valid: bool
    """Whether it came in the shape that was asked for."""
    counted: bool
    """Whether the vote that it belongs to counts: every ballot of that is valid, and all say the same."""
    fields: dict[str, Any] | None
    """What the judge gave, in the shape that the format asks for; null where nothing valid came."""


class Round(Fact):
    """One round, and what its ballots come to."""

    number: int
    """Counted from 1."""
    completed: bool
    """Whether it was judged or, where nobody judges it by itself, is over."""
    ballots: int | None
    """Judges that are not absent; null where it was not judged."""
    scores: dict[str, float] | None
    """Side to points: the mean over the judges, unrounded; null where there are none."""
    winner: str | None
    """A side, `tie`, `consensus` or `no decision`; null where it was not judged."""
    label: str | None
    """The label that its judges give it; null where they give none that stands."""
    score: float | None
    """The mean of the numbers they give it; null where they give none."""
    intervened: bool
    """Whether the engine intervened after it against convergence."""
    persisted: bool
    """Whether the sides converged in it although the engine had intervened before."""


class Intervention(Fact):
    """The engine asked for a real difference."""

    round: int
    """The round after which it did."""
    turns: list[str]
    """The turns that answer it, as far as they were taken."""


class Verdict(Fact):
    """What the final ballots come to, by arithmetic."""

    decided: str
    """In a few words: `Winner: A (narrow)`."""
    winner: str
    """A side, `tie`, `consensus` or `no decision`."""
    strength: Literal["decisive", "narrow", "consensus"] | None
    """Decisive is a lead of more than 20 % of the larger total; null where nothing was decided or scored."""
    totals: dict[str, float] | None
    """Side to points: the sum of its round scores, or the mean of its final ones, unrounded; null where there are
    none."""
    gap: float | None
    """How far the totals are apart, as a share of the larger one, from 0 to 1; null where there are none."""
    rounds_won: dict[str, int] | None
    """Side, or `tie`, to rounds; null where no round was judged by itself."""
    votes: dict[str, int]
    """Winner to the judges that vote for it; abstentions are not among them."""
    label: str | None
    """The label that the panel gives a claim; null where it gives none that stands."""
    score: float | None
    """The mean of the numbers that its judges give the claim; null where they give none, or no label stands."""
    probability: float | None
    """The mean of what judges give the winner, from 0 to 1; null where they do not bet."""
    swing: dict[str, int] | None
    """Side to the votes it gained since the first word; null where nobody voted both times."""
    remarks: list[Remark]
    """Where declarations and numbers disagree."""


class Tokens(Fact):
    """Tokens as providers counted them."""

    input_fresh: int
    """Input at the plain price."""
    input_cached: int
    """Input read from a cache."""
    input_written: int
    """Input written to a cache."""
    output: int
    """What was written."""
    searches: int
    """Searches of the web, which are no tokens."""


class Cost(Fact):
    """What some calls took and cost."""

    seat: str | None
    """Null for all seats."""
    phase: str | None
    """Null for all phases."""
    calls: int
    """How many were made."""
    usd: float | None
    """US dollars, by the prices known when each answer was given; null where the price of any call is unknown."""
    usd_known: float | None
    """US dollars of the calls whose price is known; null where none is."""
    calls_unknown: int
    """Calls whose price is unknown."""
    tokens: Tokens | None
    """Of the calls whose tokens somebody counted; null where nobody counted any."""


class Costs(Fact):
    """The bill of all calls."""

    lines: list[Cost]
    """A line for each seat and phase that called somebody."""
    seats: list[Cost]
    """The same for each seat, all its phases together."""
    total: Cost


class EarlierRound(Fact):
    """What an earlier panel made of a round."""

    number: int
    """Counted from 1."""
    scores: dict[str, float]
    """Side to points; empty where there were none."""
    winner: str
    """A side, `tie`, `consensus` or `no decision`."""


class Earlier(Fact):
    """What an earlier panel decided of the same debate."""

    judges: list[str]
    """Who they were, as far as it is shown."""
    winner: str | None
    """Null where nothing was decided."""
    strength: str | None
    """Null where nothing was decided or scored."""
    totals: dict[str, float]
    """Side to points."""
    rounds: list[EarlierRound]
    """What it made of each round that it judged."""


class Reason(Fact):
    """Why a reviewer holds what they do."""

    reviewer: str
    """The name that they sign with."""
    why: str
    """In their own words."""


class Reviewers(Fact):
    """People who reviewed the debate afterwards. Nothing of it changes the verdict."""

    count: int
    """Ballots that count."""
    agreeing: int | None
    """How many name the panel's winner, or label; null where there is none."""
    winners: dict[str, int]
    """Winner, or label, to how many reviewers name it."""
    moved: int
    """How many held something else after reading it than before."""
    gained: dict[str, int]
    """Side to the minds that it gained between the votes before and after; empty where nobody voted twice."""
    by_swing: str | None
    """The side that gained more, or `tie`; null where nobody voted twice."""
    differences: dict[str, float]
    """Criterion to the mean difference between reviewers and judges, in points of its scale."""
    alpha: float | None
    """Krippendorff's alpha of all marks by reviewers and judges, 1 at most; null where there are too few."""
    heads: list[str]
    """The heads of the rows below."""
    rows: list[list[str]]
    """The panel, each judge and each reviewer: what they gave, as the report shows it."""
    reasons: list[Reason]
    """Why each of them holds what they do."""
    left_out: list[str]
    """Why other ballots do not count."""
