"""Ballots in, numbers out. Every number in a report is made here, exactly, from ballots.

A judge's vote          what the ballot declares; where it declares no winner, the side with the better scores; where it
                        has no scores either, the winner that the format names for its label.
Mirrored                a judge who saw the debate twice votes only if both ballots say the same; otherwise the vote is
                        unstable, and an abstention. Its scores are the mean of both. The same applies if the seat was
                        given to a second model between the two ballots; such a vote is never reported as stable.
Absent                  a judge whose ballot, or one of whose two, could not be used. No vote, no scores.
Stand-ins               as absent judges, in a debate that anyone else judged or in which a speaker conceded.
Score of a side         the mean of its criteria on a ballot, by their weights; in a panel, the mean over the judges.
Total                   the sum of its round scores, unrounded (fractions, so that totals add up).
Round winner            the side that more judges vote for; equal, a tie. Votes for a tie count for no side.
Final winner            the same for a and b; `consensus` where more than half of the votes say so, and after a
                        concession of the whole position: always after a side's own, and with a quorum after one that
                        ballots found. By swing: the side that gained more votes since the pre-debate vote, among the
                        judges who voted both times; a tie where no side gained; no decision where fewer such judges
                        than the quorum voted.
No decision             where fewer judges than the quorum voted for a side, a tie or consensus.
Strength                gap = |A - B| / larger total. `decisive`: gap over 20 % and the declared winner
                        leads. `consensus`: the winner is consensus. `narrow`: everything else. It is None if the format
                        scores nothing, and where no side won.

A ballot that declares what its own numbers deny is kept as it is; the disagreement becomes a remark of the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from pydantic import Field

from debate_orchestrator.core.phases import CONSENSUS, NO_DECISION, TIE
from debate_orchestrator.core.values import FrozenModel, Number
from debate_orchestrator.util import model_spec

DECISIVE = Fraction(20, 100)
"""The gap, as a share of the larger total, over which a win is decisive."""

VerdictRemark = Literal[
    "winner is behind on points",
    "scores are equal",
    "tie declared on unequal scores",
    "strength differs from the judge's word",
    "concession overrides the declared winner",
    "consensus without repeated convergence",
    "judges disagree",
    "no quorum",
]


class ParsedBallot(FrozenModel):
    """The content of one ballot, with the sides as they are. Reports print votes and results of rounds in this form."""

    winner: str
    """A side, `tie`, `consensus` or `no decision`."""
    scores: dict[str, Number] = {}
    """Side to score: the mean of its criteria by their weights; empty if sides are not scored."""
    label: str | None = None
    """The label it gives a claim; null if it gives none."""
    claim_score: Number | None = Field(default=None, serialization_alias="score")
    """The number it gives a claim; null if it gives none."""
    probability: Number | None = None
    """The probability it gives the winner it declares, from 0 to 1; null if it gives none."""


class Vote(FrozenModel):
    """One judge's vote on a round or on the debate, from one ballot or also from one on the mirrored debate."""

    judge: str
    turn_id: str
    original: ParsedBallot | None
    """The content of the ballot on the debate as it was; None if it could not be used."""
    mirrored: ParsedBallot | None = None
    """The same of the ballot on the mirrored debate."""
    shown_mirrored: bool = False
    """Whether the judge was shown the mirrored debate too."""
    cast_by: frozenset[str] = frozenset()
    """The specs that cast its ballots, as far as they are known. A replayed ballot is taken as cast by the recording
    (`replay:PATH`), not by the model that first wrote it."""
    left_out: bool = False
    """Whether it is a stand-in's that is left out: see `tally.votes_in` and `tally.includes_stand_ins`."""

    @property
    def by_stand_in(self) -> bool:
        """Whether a stand-in cast it, or one of its two ballots."""
        return any(map(model_spec.is_stand_in, self.cast_by))

    @property
    def parsed_ballots(self) -> list[ParsedBallot]:
        return [parsed_ballot for parsed_ballot in (self.original, self.mirrored) if parsed_ballot is not None]

    @property
    def is_incomplete(self) -> bool:
        """Whether a ballot of it is missing."""
        return len(self.parsed_ballots) < 1 + self.shown_mirrored

    @property
    def absent(self) -> bool:
        return self.left_out or self.is_incomplete

    @property
    def is_cast_both_ways(self) -> bool:
        """Whether one judge cast a ballot on the debate as it was, and one on the mirrored debate. Those of two models,
        of which one replaced the other, do not show what swapping the sides does."""
        return self.shown_mirrored and not self.absent and is_one_judge(self)

    @property
    def stable(self) -> bool:
        """Whether every ballot says the same."""
        return len({(parsed_ballot.winner, parsed_ballot.label) for parsed_ballot in self.parsed_ballots}) < 2

    @property
    def has_stable_vote(self) -> bool:
        """Whether the judge is neither absent nor unstable."""
        return self.stable and not self.absent

    @property
    def winner(self) -> str:
        """Whom the vote is for; no decision where the judge abstains, is absent, or unstable."""
        return self.parsed_ballots[0].winner if self.has_stable_vote else NO_DECISION

    @property
    def label(self) -> str | None:
        return self.parsed_ballots[0].label if self.has_stable_vote else None

    @property
    def scores(self) -> dict[str, Fraction]:
        """Side to the mean of its scores on all ballots; empty if there are none, or the judge is absent."""
        if self.absent or not all(parsed_ballot.scores for parsed_ballot in self.parsed_ballots):
            return {}
        return {
            side: mean([parsed_ballot.scores[side] for parsed_ballot in self.parsed_ballots])
            for side in self.parsed_ballots[0].scores
        }

    @property
    def claim_score(self) -> Fraction | None:
        """The mean of the numbers that its ballots give a claim; None if they give none, or the judge is absent
        or unstable."""
        numbers = [ballot.claim_score for ballot in self.parsed_ballots if ballot.claim_score is not None]
        return mean(numbers) if self.has_stable_vote and numbers else None


def only_stand_ins_voted(votes: Sequence[Vote]) -> bool:
    return all(vote.by_stand_in or vote.is_incomplete for vote in votes)


def without_stand_ins(votes: Sequence[Vote]) -> list[Vote]:
    """The votes of a panel, those of stand-ins marked as left out."""
    return [vote.model_copy(update={"left_out": True}) if vote.by_stand_in else vote for vote in votes]


def leader(scores: Mapping[str, Fraction | float]) -> str:
    """The side with the highest score; `tie` where two have it."""
    best = max(scores.values())
    leaders = [side for side, score in scores.items() if score == best]
    return leaders[0] if len(leaders) == 1 else TIE


def score(points: Mapping[str, float], weights: Mapping[str, Fraction]) -> Fraction:
    """A side's score on one ballot: the mean of the criteria that apply, by their weights."""
    weighted_sum = sum((Fraction(str(points[name])) * weight for name, weight in weights.items()), Fraction(0))
    return weighted_sum / sum(weights.values())


def read_ballot(
    ballot: Mapping[str, Any], sides: Sequence[str], weights: Mapping[str, Fraction], winner_of: Mapping[str, str]
) -> ParsedBallot:
    scores = {side: score(ballot["scores"][side], weights) for side in sides} if "scores" in ballot else {}
    label = ballot.get("label")
    winner = ballot.get("winner") or (leader(scores) if scores else winner_of.get(str(label), NO_DECISION))
    number, probability = ballot.get("score"), ballot.get("probability")
    return ParsedBallot(
        winner=winner,
        scores=scores,
        label=label,
        claim_score=None if number is None else Fraction(str(number)),
        probability=None if probability is None else Fraction(str(probability)),
    )


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def decided_votes(votes: Sequence[Vote]) -> list[Vote]:
    """The votes for a side, a tie or consensus: neither absent nor an abstention."""
    return [vote for vote in votes if vote.winner != NO_DECISION]


def has_quorum(votes: Sequence[Vote], quorum: int, winner_of: Mapping[str, str] | None = None) -> bool:
    """Whether enough of these judges, and at least one, vote for a side, a tie or consensus. Where labels stand for
    winners (`winner_of`), a vote with any label is enough, also with one that stands for no decision."""
    for_quorum = [vote for vote in votes if vote.label is not None] if winner_of else decided_votes(votes)
    return len(for_quorum) >= max(1, quorum)


def panel_winner(
    votes: Sequence[Vote], sides: Sequence[str], quorum: int, winner_of: Mapping[str, str] | None = None
) -> str:
    """The side that more judges vote for; consensus where more than half do; no decision short of the quorum. Where
    judges give labels that stand for winners, the one that the panel's label stands for."""
    if not has_quorum(votes, quorum, winner_of):
        return NO_DECISION
    if winner_of:
        label = plurality_label(votes)
        return NO_DECISION if label is None else winner_of.get(label, NO_DECISION)
    decided = [vote.winner for vote in decided_votes(votes)]
    return CONSENSUS if 2 * decided.count(CONSENSUS) > len(decided) else plurality(decided, sides)


def plurality_label(votes: Sequence[Vote]) -> str | None:
    """The label that more judges give than any other; None if two are given as often, or none is."""
    ranked = Counter(vote.label for vote in votes if vote.label is not None).most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def swing(before: Sequence[Vote], after: Sequence[Vote], sides: Sequence[str]) -> dict[str, int]:
    """Side to the votes that it has after the debate over those that it had before, among the judges who are neither
    absent nor unstable then or now; empty if there is no such judge."""
    last = votes_before_and_after(before, after)
    judges = {vote.judge for vote in last}
    votes_before = Counter(vote.winner for vote in before if vote.judge in judges)
    votes_after = Counter(vote.winner for vote in last)
    return {side: votes_after[side] - votes_before[side] for side in sides} if last else {}


def votes_before_and_after(before: Sequence[Vote], after: Sequence[Vote]) -> list[Vote]:
    """The votes after the debate that enter the swing: of judges neither absent nor unstable, then or now. If a
    judge's seat was given to another model in between, neither has voted both times."""
    first = {vote.judge: vote for vote in before if vote.has_stable_vote}
    return [
        vote for vote in after if vote.has_stable_vote and vote.judge in first and is_one_judge(first[vote.judge], vote)
    ]


def is_one_judge(*votes: Vote) -> bool:
    """Whether the same model cast these votes of one seat, as far as is known. A model of another server counts as
    another: two servers may run different versions under one name."""
    return len(frozenset[str]().union(*(vote.cast_by for vote in votes))) < 2


def swing_winner(votes_gained: Mapping[str, int]) -> str:
    """The side that gained more votes than the other; a tie where they gained as many, or no side gained any."""
    gained_most = leader({side: Fraction(n) for side, n in votes_gained.items()})
    return gained_most if votes_gained.get(gained_most, 0) > 0 else TIE


def plurality(votes: Sequence[str], sides: Sequence[str]) -> str:
    """The side that more votes name than any other; a tie where two are named as often, or none is."""
    counts = Counter(vote for vote in votes if vote in sides)
    return leader({side: counts[side] for side in sides}) if counts else TIE


class RoundResult(FrozenModel):
    round: int
    """0 for ballots on the debate as a whole."""
    scores: dict[str, Fraction]
    """Empty if sides are not scored."""
    winner: str
    judges_present: int
    """Judges who are not absent, also those who abstain."""
    label: str | None = None
    claim_score: Fraction | None = None
    """The mean of the numbers that its judges give a claim; None if they give none."""
    by_stand_ins: bool = False
    """Whether stand-ins alone voted."""

    @property
    def leader(self) -> str:
        """The side with the higher score, or `tie`; the winner where sides are not scored."""
        return leader(self.scores) if self.scores else self.winner

    @property
    def winner_is_behind(self) -> bool:
        """Whether the winner is a side that has the lower score."""
        return self.winner in self.scores and self.leader not in (self.winner, TIE)


class Convergence(FrozenModel):
    """The ballots of one round on convergence."""

    detected: bool = False
    sides: tuple[str, ...] = ()
    """Those who move toward the other, and get the divergence turn."""
    signs: tuple[str, ...] = ()
    """The signs of it that judges saw, such as `same claim`; `criteria` in ballots."""


class Verdict(FrozenModel):
    """The result of a debate: what its ballots add up to, or the other side's win if a side conceded."""

    winner: str
    """A side, `tie`, `consensus` or `no decision`."""
    strength: Literal["decisive", "narrow", "consensus"] | None
    """Decisive is a lead of more than 20 % of the larger total; null if nothing was decided or scored."""
    totals: dict[str, Number]
    """Side to score: the sum of its round scores, or the mean of its final ones, unrounded; empty if there are
    none."""
    rounds_won: dict[str, int]
    """Side, or `tie`, to rounds; empty if no round was judged by itself."""
    gap: Number | None
    """The difference of the totals as a share of the larger one, from 0 to 1; null if there are none."""
    remarks: tuple[VerdictRemark, ...]
    """Disagreements between declarations and numbers."""
    vote_counts: dict[str, int] = Field(serialization_alias="votes")
    """Winner to the judges that vote for it; abstentions are not among them."""
    votes: tuple[Vote, ...] = Field(default=(), exclude=True)
    """The judges' final votes, one by one, absent ones among them."""
    quorum: int = Field(default=1, exclude=True)
    label: str | None = None
    """The label that the panel gives a claim; null if there is none."""
    claim_score: Number | None = Field(default=None, serialization_alias="score")
    """The mean of the numbers that its judges give the claim; null if they give none, or the claim has no label."""
    probability: Fraction | None = Field(default=None, exclude=True)
    """The mean probability that the judges who voted for the winner give it, in the format's own units; None if they
    give none."""
    pre_debate_votes: tuple[Vote, ...] = Field(default=(), exclude=True)
    """The judges' pre-debate votes."""
    swing: dict[str, int] = {}
    """Side to the votes it gained since the pre-debate vote; empty if no judge voted both times."""

    @property
    def winner_is_behind(self) -> bool:
        """Whether the declared winner has the lower score."""
        return "winner is behind on points" in self.remarks


def score_totals(results: Sequence[RoundResult], sides: Sequence[str]) -> dict[str, Fraction]:
    """Side to the sum of its round scores."""
    return {side: sum((result.scores.get(side, Fraction(0)) for result in results), Fraction(0)) for side in sides}


def rounds_won(results: Sequence[RoundResult], sides: Sequence[str]) -> dict[str, int]:
    return {name: sum(result.winner == name for result in results) for name in (*sides, TIE)}


def score_gap(totals: dict[str, Fraction]) -> Fraction | None:
    """The difference of the totals as a share of the larger; None if no side scored."""
    larger = max(totals.values())
    return (larger - min(totals.values())) / larger if larger else None


def round_result(
    round: int,
    votes: Sequence[Vote],
    sides: Sequence[str],
    quorum: int = 1,
    winner_of: Mapping[str, str] | None = None,
) -> RoundResult:
    """The result of a round from its votes, of which at least one is not an absent judge's."""
    scored = [vote.scores for vote in votes if vote.scores]
    numbers = [vote.claim_score for vote in votes if vote.claim_score is not None]
    return RoundResult(
        round=round,
        scores={side: mean([scores[side] for scores in scored]) for side in sides} if scored else {},
        winner=panel_winner(votes, sides, quorum, winner_of),
        judges_present=sum(not vote.absent for vote in votes),
        label=plurality_label(votes),
        claim_score=mean(numbers) if numbers else None,
        by_stand_ins=all(vote.by_stand_in or vote.absent for vote in votes),
    )


def find_convergence(findings: Sequence[Mapping[str, Any]], sides: Sequence[str]) -> Convergence:
    """Convergence as most judges see it, and the sides that most of those name; all, if they name none."""
    convergences = [finding.get("convergence") or {} for finding in findings]
    detected = [convergence for convergence in convergences if convergence.get("detected")]
    if not findings or 2 * len(detected) <= len(findings):
        return Convergence()
    counts = Counter(side for finding in detected for side in sides if finding.get("side") in (side, "both"))
    movers = tuple(side for side in sides if 2 * counts[side] > len(detected)) or tuple(sides)
    signs = dict.fromkeys(sign for finding in detected for sign in finding.get("criteria", ()))
    return Convergence(detected=True, sides=movers, signs=tuple(signs))


def majority_concession(findings: Sequence[Mapping[str, Any]]) -> str | None:
    """The side that more than half of a round's judges hold to have given up its whole position."""
    counts = Counter(finding.get("conceded") for finding in findings)
    return next((side for side, n in counts.items() if side is not None and 2 * n > len(findings)), None)


def final_verdict(
    votes: Sequence[Vote],
    results: Sequence[RoundResult],
    sides: Sequence[str],
    *,
    quorum: int,
    pre_debate_votes: Sequence[Vote],
    by_swing: bool,
    has_scores: bool,
    winner_of: Mapping[str, str] | None,
    concession: str | None,
    conceded_by_speech: bool,
    converged_again: bool,
    strengths: Sequence[str],
) -> Verdict:
    """The verdict from the final votes (of at least one judge) and the rounds' results. `has_scores` says whether
    the format scores the sides at all. A `concession` found by ballots counts only with a quorum of votes, one
    `conceded_by_speech` always. `strengths` are the judges' own words for the strength."""
    winner, totals = panel_winner(votes, sides, quorum, winner_of), score_totals(results, sides)
    votes_gained = swing(pre_debate_votes, votes, sides) if pre_debate_votes else {}
    for_quorum = votes
    if by_swing and winner not in (NO_DECISION, CONSENSUS):
        for_quorum = votes_before_and_after(pre_debate_votes, votes)
        winner = swing_winner(votes_gained) if has_quorum(for_quorum, quorum) else NO_DECISION
    lacks_quorum = not has_quorum(for_quorum, quorum, winner_of if for_quorum is votes else None)
    concession = None if lacks_quorum and not conceded_by_speech else concession
    winner = CONSENSUS if concession else winner
    strength = strength_of(winner, totals, has_scores=has_scores)
    remarks = tuple(_remarks(winner, strength, totals, votes, concession, converged_again, strengths))
    decided = decided_votes(votes)
    for_winner = [ballot for vote in decided if vote.winner == winner for ballot in vote.parsed_ballots]
    probabilities = [ballot.probability for ballot in for_winner if ballot.probability is not None]
    numbers = [vote.claim_score for vote in votes if vote.claim_score is not None]
    return Verdict(
        winner=winner,
        strength=strength,
        totals=totals,
        rounds_won=rounds_won([result for result in results if result.round], sides),
        gap=score_gap(totals),
        remarks=("no quorum", *remarks) if lacks_quorum else remarks,
        vote_counts=dict(Counter(vote.winner for vote in decided)),
        votes=tuple(votes),
        quorum=quorum,
        label=plurality_label(votes),
        claim_score=mean(numbers) if numbers else None,
        probability=mean(probabilities) if probabilities else None,
        pre_debate_votes=tuple(pre_debate_votes),
        swing=votes_gained,
    )


def strength_of(
    winner: str, totals: dict[str, Fraction], *, has_scores: bool
) -> Literal["decisive", "narrow", "consensus"] | None:
    """The strength by the totals alone; None if no side won, or the format scores nothing."""
    gap = score_gap(totals)
    if winner == CONSENSUS:
        return "consensus"
    if winner in (TIE, NO_DECISION) or not has_scores:
        return None
    return "decisive" if gap is not None and gap > DECISIVE and winner == leader(totals) else "narrow"


def _remarks(
    winner: str,
    strength: str | None,
    totals: dict[str, Fraction],
    votes: Sequence[Vote],
    concession: str | None,
    converged_again: bool,
    strengths: Sequence[str],
) -> list[VerdictRemark]:
    declared = {vote.winner for vote in decided_votes(votes)}
    leading_side = leader(totals)
    scored = any(totals.values())
    remarks: list[VerdictRemark] = []
    if concession and declared - {CONSENSUS}:
        remarks.append("concession overrides the declared winner")
    if winner == CONSENSUS and not concession and not converged_again:
        remarks.append("consensus without repeated convergence")
    if winner in totals and scored and leading_side not in (winner, TIE):
        remarks.append("winner is behind on points")
    if winner not in (CONSENSUS, NO_DECISION) and leading_side == TIE and scored:
        remarks.append("scores are equal")
    if winner == TIE and leading_side != TIE:
        remarks.append("tie declared on unequal scores")
    if strength is not None and scored and any(word != strength for word in strengths):
        remarks.append("strength differs from the judge's word")
    if len(declared) > 1:
        remarks.append("judges disagree")
    return remarks
