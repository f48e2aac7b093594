"""The agreement between reviewers and judges of a debate, as tables and sentences.

Their text is kept as it was given: each type of report file makes it safe to show. Nothing here changes the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from debate_orchestrator.core import tally
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.verdict import ParsedBallot, Vote, mean, swing_winner
from debate_orchestrator.core.winner import deciding_verdict, why_nothing_decided
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.parts import Part
from debate_orchestrator.reports.reviewer_ballots import GatheredBallots, ReviewerBallot
from debate_orchestrator.reports.rich_text import PlainTable, plain_table
from debate_orchestrator.reports.wording import VoteScales, named_by, winner_word
from debate_orchestrator.util.numbers import part_of, plural
from debate_orchestrator.util.sanitize import quoted

NOTE = "Reviewers read the debate afterwards and sign for themselves. The verdict stands, whatever they say."


class ReviewReason(Part):
    """The reason for a reviewer's position."""

    reviewer: str
    """The name that they sign with."""
    why: str
    """In their own words."""
    vote: str = Field(exclude=True)
    """The winner, or the label, that it is the reason for, in words."""


class ReviewerReport(Part):
    """The reviews of people who read the debate afterwards. They do not change the verdict."""

    count: int
    """Ballots that count."""
    agreeing: int | None
    """The number who name the panel's winner, or label, or the side whose position stands since the other one conceded;
    null if there is none."""
    winners: dict[str, int]
    """Winner, or label, to how many reviewers name it."""
    moved: int
    """The number who changed their position while reading it."""
    gained: dict[str, int]
    """Side to the minds that it gained between the votes before and after; empty if no reviewer voted twice."""
    swing_winner: str | None = Field(serialization_alias="by_swing")
    """The side that gained more, or `tie`; null if no reviewer voted twice."""
    table: PlainTable
    """The panel, each judge and each reviewer: what they gave, as the report shows it."""
    agreement: tuple[str, ...]
    """Their agreement, in sentences."""
    swing_sentences: tuple[str, ...]
    """Whose minds the debate moved, in sentences; empty if no reviewer voted before and after."""
    reasons: tuple[ReviewReason, ...]
    """Their reasons."""
    left_out: tuple[str, ...]
    """The reasons that other ballots do not count."""


def disagreement(report: ReviewerReport | None) -> str:
    """The sentence for page one where reviewers do not agree with the panel; empty if all do, or there are none."""
    disagrees = report is not None and report.agreeing is not None and report.agreeing < report.count
    return report.agreement[0] if report and disagrees else ""


class _Rater(NamedTuple):
    """A row of the table: the votes of a judge or reviewer, as they count, or what the panel's come to."""

    name: str
    what: str
    rounds: Mapping[int, ParsedBallot | None]
    final: ParsedBallot | str | None
    before: str = ""
    after: str = ""


def reviewer_report(debate: DebateState, gathered: GatheredBallots) -> ReviewerReport | None:
    """The reviewers of a debate; None if there is no ballot."""
    if not gathered.counted and not gathered.left_out:
        return None
    reviews = gathered.counted
    panel_winner = _panel_winner(debate)
    voted_twice = [review for review in reviews if review.before and review.after]
    minds_gained = _minds_gained(debate, voted_twice)
    won_over_more = swing_winner(minds_gained) if minds_gained else None
    return ReviewerReport(
        count=len(reviews),
        agreeing=None
        if panel_winner is None or not reviews
        else sum(_agrees(debate, review, panel_winner) for review in reviews),
        winners=dict(Counter(named_by(review.final) for review in reviews)),
        moved=sum(review.before != review.after for review in voted_twice),
        gained=minds_gained,
        swing_winner=won_over_more,
        table=_table(debate, reviews),
        agreement=tuple(_agreement(debate, reviews, panel_winner)) if reviews else (),
        swing_sentences=tuple(_swing(debate, voted_twice, minds_gained, won_over_more)) if voted_twice else (),
        reasons=tuple(
            ReviewReason(
                reviewer=review.reviewer,
                why=review.why,
                vote=winner_word(named_by(review.final)),
            )
            for review in reviews
        ),
        left_out=gathered.left_out,
    )


def _panel_winner(debate: DebateState) -> str | None:
    """The side, or the label, that the panel decided for; None if it decided nothing."""
    verdict = deciding_verdict(debate)
    if verdict is None:
        return None
    if wording.is_labelled(verdict.votes):
        return wording.label_by_quorum(verdict.label, verdict.votes, verdict.quorum)
    return verdict.winner


def _agrees(debate: DebateState, review: ReviewerBallot, panel_winner: str) -> bool:
    return named_by(review.final) in (panel_winner, tally.unopposed_side(debate))


def _table(debate: DebateState, ballots: Sequence[ReviewerBallot]) -> PlainTable:
    has_panel = bool(debate.judges) and not why_nothing_decided(debate)
    scales = wording.scales(debate.format)
    raters = [*((_panel(debate), *_judges(debate)) if has_panel else ()), *map(_reviewer, ballots)]
    numbers = sorted({n for rater in raters for n in rater.rounds})
    rows = []
    for rater in raters:
        cells = [_cell(ballot, scales) for ballot in (*map(rater.rounds.get, numbers), rater.final)]
        rows.append((rater.name, rater.what, *cells, rater.before, rater.after))
    headers = ("Who", "As", *(f"Round {n}" for n in numbers), "Whole debate", "Before", "After")
    return plain_table(headers, rows) if ballots else PlainTable(headers=headers, rows=())


def _panel(debate: DebateState) -> _Rater:
    verdict = deciding_verdict(debate)
    rounds = {
        one.round: ParsedBallot(winner=one.winner, scores=one.scores, label=one.label, claim_score=one.claim_score)
        for one in tally.results(debate)
    }
    text = wording.decision_text(verdict, wording.scales(debate.format)).partition(": ")[2] if verdict else ""
    return _Rater("The verdict", "computed", rounds, text or "not decided")


def _judges(debate: DebateState) -> Iterator[_Rater]:
    rounds = {
        n: {vote.judge: vote for vote in votes}
        for n in range(1, debate.rounds + 1)
        if (votes := tally.votes(debate, n))
    }
    final_votes = {vote.judge: vote for vote in tally.final_votes(debate)}
    for judge in debate.judges:
        results = {n: _of_vote(votes.get(judge)) for n, votes in rounds.items()}
        yield _Rater(debate.format.name_of(judge), "judge", results, _of_vote(final_votes.get(judge)))


def _of_vote(vote: Vote | None) -> ParsedBallot | None:
    if vote is None or vote.absent:
        return None
    likely = [ballot.probability for ballot in vote.parsed_ballots if vote.stable and ballot.probability is not None]
    return ParsedBallot(
        winner=vote.winner,
        scores=vote.scores,
        label=vote.label,
        claim_score=vote.claim_score,
        probability=mean(likely) if likely else None,
    )


def _reviewer(ballot: ReviewerBallot) -> _Rater:
    before, after = (winner_word(position or "") for position in (ballot.before, ballot.after))
    what = "reviewer, who knew the verdict" if ballot.seen else "reviewer"
    name = quoted(ballot.reviewer)  # chosen freely, and may be `The verdict`
    return _Rater(name, what, ballot.rounds, ballot.final, before, after)


def _cell(ballot: ParsedBallot | str | None, scales: VoteScales) -> str:
    if isinstance(ballot, ParsedBallot):
        return wording.ballot_line(ballot, scales)
    return ballot or "no ballot that counts"


def _agreement(debate: DebateState, ballots: Sequence[ReviewerBallot], panel_winner: str | None) -> Iterator[str]:
    n = len(ballots)
    people = plural(n, "reviewer")
    counts = Counter(named_by(ballot.final) for ballot in ballots)
    final = ", ".join(f"{winner_word(name)} {count}" for name, count in counts.most_common())
    if deciding_verdict(debate) is None:
        yield f"{people} ({final}); no verdict counts, so there is nothing to agree with."
    elif panel_winner is None:
        yield f"The judges gave no label that stands; of {people} the final votes are: {final}."
    else:
        agreeing = sum(_agrees(debate, ballot, panel_winner) for ballot in ballots)
        outcome = wording.outcome_word(panel_winner, tally.unopposed_side(debate))
        yield f"{part_of(agreeing, n, 'reviewer', 'agree')} with the verdict on {outcome} ({final})."
    if seen_count := sum(ballot.seen for ballot in ballots):
        yield f"{seen_count} of them knew the verdict before."


def _minds_gained(debate: DebateState, voted_twice: Sequence[ReviewerBallot]) -> dict[str, int]:
    """Side to the minds it gained, among the reviewers who voted before and after."""
    votes_before = Counter(review.before for review in voted_twice)
    votes_after = Counter(review.after for review in voted_twice)
    return {side: votes_after[side] - votes_before[side] for side in debate.format.sides} if voted_twice else {}


def _swing(
    debate: DebateState,
    voted_twice: Sequence[ReviewerBallot],
    minds_gained: Mapping[str, int],
    won_over_more: str | None,
) -> Iterator[str]:
    moves = Counter(str(ballot.after) for ballot in voted_twice if ballot.before != ballot.after)
    to = ", ".join(f"{n} to {winner_word(side)}" for side, n in moves.items())
    total, n = sum(moves.values()), len(voted_twice)
    sentence = f"{total} of {plural(n, 'reviewer')} who voted before and after changed position"
    yield f"{sentence}: {to}." if total else f"{sentence}."
    gains = ", ".join(f"{debate.format.name_of(side)} {n:+d}" for side, n in minds_gained.items())
    if won_over_more in minds_gained:
        yield f"{debate.format.name_of(str(won_over_more))} won over more reviewers ({gains})."
    else:
        yield f"Neither side won over more reviewers ({gains})."
    yield "This does not change the verdict."
