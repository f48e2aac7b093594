"""Ballots in, numbers out. Every number in a report is made here, exactly, from ballots.

Round score of a side   the mean of its criteria on a ballot; in a panel, the mean over the ballots.
Total                   the sum of its round scores, unrounded (fractions, so that totals add up).
Round winner            what the judge declares; in a panel, whoever more ballots name; equal, a tie.
Final winner            the same for a and b; `consensus` where more than half of the ballots say so,
                        and always after a concession of the whole position.
Strength                gap = |A - B| / larger total. `decisive`: gap over 20 % and the declared winner
                        leads. `consensus`: the winner is consensus. `narrow`: everything else.

A ballot that declares what its own numbers deny stands as it is; the disagreement becomes a remark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from debate_orchestrator.core.events import Voted
from debate_orchestrator.core.values import Value

DECISIVE = Fraction(20, 100)
"""The gap, as a share of the larger total, over which a win is decisive."""

TIE = "tie"
CONSENSUS = "consensus"

Remark = Literal[
    "winner is behind on points",
    "scores are equal",
    "tie declared on unequal scores",
    "strength differs from the judge's word",
    "concession overrides the declared winner",
    "consensus without a finding",
    "judges disagree",
]


class RoundResult(Value):
    """One judged round."""

    model_config = {**Value.model_config, "arbitrary_types_allowed": True}

    round: int
    scores: dict[str, Fraction]
    winner: str
    ballots: int

    @property
    def leader(self) -> str:
        """The side with the higher score, or `tie`."""
        return leader(self.scores)


class Finding(Value):
    """What the ballots of one round say of convergence."""

    detected: bool = False
    sides: tuple[str, ...] = ()
    """Those who move toward the other, and get the forced turn."""
    criteria: tuple[str, ...] = ()


class Verdict(Value):
    """How the debate ended."""

    winner: str
    strength: Literal["decisive", "narrow", "consensus"]
    totals: dict[str, Fraction]
    rounds_won: dict[str, int]
    """Side, or `tie`, to rounds."""
    gap: Fraction | None
    """Share of the larger total; None where nobody scored."""
    remarks: tuple[Remark, ...]
    votes: dict[str, int]
    """Declared winner to the number of final ballots that name it."""


def decimals(value: Fraction) -> str:
    """A number as it is shown: two decimals, halves away from zero, trailing zeros dropped."""
    hundredths = int(abs(value) * 100 + Fraction(1, 2))
    text = f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 and hundredths else text


def score(ballot: Voted, side: str, criteria: Sequence[str]) -> Fraction:
    """A side's score on one ballot: the mean of the criteria that apply."""
    marks = ballot.ballot["scores"][side]
    return sum((Fraction(str(marks[name])) for name in criteria), Fraction(0)) / len(criteria)


def leader(scores: dict[str, Fraction]) -> str:
    """The side with the highest score; `tie` where two have it."""
    best = max(scores.values())
    ahead = [side for side, points in scores.items() if points == best]
    return ahead[0] if len(ahead) == 1 else TIE


def sums(results: Sequence[RoundResult], sides: Sequence[str]) -> dict[str, Fraction]:
    """Side to the sum of its round scores."""
    return {side: sum((one.scores[side] for one in results), Fraction(0)) for side in sides}


def rounds_won(results: Sequence[RoundResult], sides: Sequence[str]) -> dict[str, int]:
    """Side, or `tie`, to the rounds that it won."""
    return {name: sum(one.winner == name for one in results) for name in (*sides, TIE)}


def percent(share: Fraction) -> str:
    """A share as it is shown: per cent, as `decimals` shows numbers."""
    return f"{decimals(share * 100)}%"


def gap(totals: dict[str, Fraction]) -> Fraction | None:
    """How far apart the totals are, as a share of the larger; None where nobody scored."""
    larger = max(totals.values())
    return (larger - min(totals.values())) / larger if larger else None


def round_result(round: int, ballots: Sequence[Voted], sides: Sequence[str], criteria: Sequence[str]) -> RoundResult:
    """The result of a round from the ballots that count, of which there is at least one."""
    scores = {side: sum((score(b, side, criteria) for b in ballots), Fraction(0)) / len(ballots) for side in sides}
    return RoundResult(
        round=round, scores=scores, winner=plurality([b.ballot["winner"] for b in ballots], sides), ballots=len(ballots)
    )


def plurality(votes: Sequence[str], sides: Sequence[str]) -> str:
    """The side that more votes name than any other; votes for a tie are not counted; equal is a tie."""
    counts = Counter(vote for vote in votes if vote in sides)
    if not counts:
        return TIE
    best = max(counts.values())
    ahead = [side for side in sides if counts[side] == best]
    return ahead[0] if len(ahead) == 1 else TIE


def finding(ballots: Sequence[Voted], sides: Sequence[str]) -> Finding:
    """Convergence as more than half of the ballots see it, and the sides that more than half of
    those name; where no side is named so often, all of them."""
    seen = [b.ballot["convergence"] for b in ballots if b.ballot.get("convergence", {}).get("detected")]
    if not ballots or 2 * len(seen) <= len(ballots):
        return Finding()
    named = Counter(side for one in seen for side in sides if one["side"] in (side, "both"))
    moved = tuple(side for side in sides if 2 * named[side] > len(seen)) or tuple(sides)
    criteria = dict.fromkeys(name for one in seen for name in one["criteria"])
    return Finding(detected=True, sides=moved, criteria=tuple(criteria))


def conceded(ballots: Sequence[Voted]) -> str | None:
    """The side that more than half of a round's ballots hold to have given up its whole position."""
    counts = Counter(b.ballot.get("conceded") for b in ballots)
    return next((side for side, n in counts.items() if side is not None and 2 * n > len(ballots)), None)


def final_verdict(
    finals: Sequence[Voted],
    results: Sequence[RoundResult],
    sides: Sequence[str],
    concession: str | None,
    persisted: bool,
) -> Verdict:
    """The verdict from the final ballots (at least one) and the rounds' results."""
    declared = [ballot.ballot["winner"] for ballot in finals]
    totals = sums(results, sides)
    agreed = 2 * declared.count(CONSENSUS) > len(declared)
    winner = CONSENSUS if concession or agreed else plurality(declared, sides)
    apart = gap(totals)
    strength: Literal["decisive", "narrow", "consensus"] = "narrow"
    if winner == CONSENSUS:
        strength = "consensus"
    elif apart is not None and apart > DECISIVE and winner == leader(totals):
        strength = "decisive"
    remarks = _remarks(winner, strength, totals, finals, concession, persisted)
    return Verdict(
        winner=winner,
        strength=strength,
        totals=totals,
        rounds_won=rounds_won(results, sides),
        gap=apart,
        remarks=tuple(remarks),
        votes=dict(Counter(declared)),
    )


def _remarks(
    winner: str,
    strength: str,
    totals: dict[str, Fraction],
    finals: Sequence[Voted],
    concession: str | None,
    persisted: bool,
) -> list[Remark]:
    declared = {ballot.ballot["winner"] for ballot in finals}
    ahead = leader(totals)
    found: list[Remark] = []
    if concession and declared != {CONSENSUS}:
        found.append("concession overrides the declared winner")
    if winner == CONSENSUS and not concession and not persisted:
        found.append("consensus without a finding")
    if winner in totals and ahead not in (winner, TIE):
        found.append("winner is behind on points")
    if winner != CONSENSUS and ahead == TIE and any(totals.values()):
        found.append("scores are equal")
    if winner == TIE and ahead != TIE:
        found.append("tie declared on unequal scores")
    if any(ballot.ballot.get("strength") not in (None, strength) for ballot in finals):
        found.append("strength differs from the judge's word")
    if len(declared) > 1:
        found.append("judges disagree")
    return found
