"""People who reviewed a debate, beside its judges: tables and sentences as plain data, which every form of report can
show in its own way. All of it is text as it was given, so that whoever shows it must make it safe.

The panel's verdict is never changed by any of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core.phases import TIE
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.core.votes import BallotReading, Vote, leader, mean
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.review_files import GatheredReviews
from debate_orchestrator.reports.reviews import UNDECIDED, Review, judges_marks
from debate_orchestrator.reports.rich_text import PlainTable, plain_table
from debate_orchestrator.reports.wording import Scales, winner_word
from debate_orchestrator.util.numbers import decimals

NOTE = "Reviewers read the debate afterwards and sign for themselves. The verdict is the panel's, whatever they say."
_JUDGE, _REVIEWER, _SEEN = "judge", "reviewer", "reviewer, who knew the verdict"
_COUNTED = "no ballot that counts"


class ReviewerAgreement(Value):
    """What there is to say of a debate's reviewers."""

    model_config = {**Value.model_config, "arbitrary_types_allowed": True}

    table: PlainTable
    """A row for the panel, for each judge and for each reviewer: rounds, totals, winner, before and after. Empty of
    rows where no ballot counts."""
    words: tuple[tuple[str, str], ...]
    """Each reviewer's name and reason."""
    scores: PlainTable | None
    """Criterion by criterion the means of reviewers and judges, and how far they lie apart."""
    agreement: tuple[str, ...]
    """How far they agree, a sentence each."""
    swing: tuple[str, ...]
    """Whose minds the debate moved, a sentence each; empty where nobody voted before and after."""
    left_out: tuple[str, ...]
    """Ballots that lie beside the journal and don't count, with the reason, a complaint each."""
    count: int
    agreeing: int | None
    """How many name the panel's winner; None where there is none."""
    winners: dict[str, int]
    """Winner, or label, to how many reviewers name it."""
    moved: int
    gained: dict[str, int]
    """Side to the minds that it gained between the votes before and after; empty where nobody voted twice."""
    by_swing: str | None
    """The side that gained more, or `tie`; None where nobody voted twice."""
    differences: dict[str, Fraction]
    """Criterion to the mean difference between reviewers and judges."""
    alpha: Fraction | None
    """Krippendorff's alpha of all marks by reviewers and judges; None where there are too few to say."""


class _Rater(NamedTuple):
    """A row of the table: somebody's votes, as they count."""

    name: str
    what: str
    rounds: Mapping[int, BallotReading | None]
    final: BallotReading | None
    before: str = ""
    after: str = ""


def reviewer_agreement(debate: DebateState, found: GatheredReviews) -> ReviewerAgreement | None:
    """The reviewers of a debate; None where nobody has left a ballot."""
    if not found.counted and not found.left_out:
        return None
    ballots, judges = found.counted, judges_marks(debate)
    panel = _panel(debate)
    given = [ballot.marks for ballot in ballots]
    gained = _gained(debate, ballots)
    twice = [one for one in ballots if one.before and one.after]
    differences = score_differences(given, list(judges.values()))
    alpha = krippendorff_alpha([*given, *judges.values()])
    agreeing = None if panel is None else sum(_named(one.final) == panel for one in ballots)
    by_swing = leader({side: Fraction(n) for side, n in gained.items()}) if gained else None
    scored = any(given) or bool(judges)
    return ReviewerAgreement(
        table=_table(debate, ballots),
        words=tuple((one.reviewer, one.why) for one in ballots),
        scores=_scores(debate, given, list(judges.values()), differences) if ballots and scored else None,
        agreement=tuple(_agreement(debate, ballots, panel, alpha, scored=scored)) if ballots else (),
        swing=tuple(_swing(debate, twice, gained, by_swing)) if twice else (),
        left_out=found.left_out,
        count=len(ballots),
        agreeing=agreeing if ballots else None,
        winners=dict(Counter(_named(one.final) for one in ballots)),
        moved=sum(one.before != one.after for one in twice),
        gained=gained,
        by_swing=by_swing,
        differences=differences,
        alpha=alpha,
    )


def _named(reading: BallotReading) -> str:
    """Whom, or which label, a ballot on the whole debate is for."""
    return reading.label or reading.winner


def _panel(debate: DebateState) -> str | None:
    """Whom, or which label, the panel decided for; None where it did not vote."""
    verdict = debate.verdict()
    if verdict is None:
        return None
    return wording.label_of(verdict) if wording.is_labelled(verdict.panel) else verdict.winner


def _word(named: str) -> str:
    """A winner as reports write it; a label as it is."""
    return winner_word(named) if len(named) == 1 or named in (TIE, "consensus") else named


# The table


def _table(debate: DebateState, ballots: Sequence[Review]) -> PlainTable:
    scales, raters = wording.scales(debate.format), [*_judges(debate), *map(_reviewer, ballots)]
    numbers = sorted({n for one in raters for n in one.rounds})
    scored = any(reading and reading.scores for one in raters for reading in (*one.rounds.values(), one.final))
    rows = [_panel_row(debate, numbers, scored=scored)] if debate.judges else []
    for one in raters:
        said = [_cell(one.rounds.get(n), scales) for n in numbers]
        totals = [_totals(debate, one)] if scored else []
        rows.append((one.name, one.what, *said, _cell(one.final, scales), *totals, one.before, one.after))
    heads = ("Who", "As", *(f"Round {n}" for n in numbers), "Whole debate", *(["Total"] if scored else []))
    return plain_table((*heads, "Before", "After"), rows) if ballots else PlainTable(heads=heads, rows=())


def _panel_row(debate: DebateState, numbers: Sequence[int], *, scored: bool) -> tuple[str, ...]:
    scales, verdict = wording.scales(debate.format), debate.verdict()
    results = {result.round: result for result in debate.results()}
    said = [_cell(_of_result(results.get(n)), scales) for n in numbers]
    whole = wording.decided(verdict, scales).partition(": ")[2] if verdict else "not decided"
    totals = [_points(verdict.totals) if verdict and any(verdict.totals.values()) else ""] if scored else []
    return ("The panel", "verdict", *said, whole, *totals, "", "")


def _of_result(result: RoundResult | None) -> BallotReading | None:
    if result is None:
        return None
    return BallotReading(winner=result.winner, scores=result.scores, label=result.label, score=result.score)


def _judges(debate: DebateState) -> Iterator[_Rater]:
    rounds = {
        n: {vote.judge: vote for vote in votes} for n in range(1, debate.rounds + 1) if (votes := debate.votes(n))
    }
    finals = {vote.judge: vote for vote in debate.final_votes()}
    for judge in debate.judges:
        own = {n: _of_vote(votes.get(judge)) for n, votes in rounds.items() if votes}
        yield _Rater(debate.format.name_of(judge), _JUDGE, own, _of_vote(finals.get(judge)))


def _of_vote(vote: Vote | None) -> BallotReading | None:
    """What a judge's vote counts as."""
    if vote is None or vote.absent:
        return None
    shares = [one.probability for one in vote.readings if vote.stable and one.probability is not None]
    likely = mean(shares) if shares else None
    return BallotReading(winner=vote.winner, scores=vote.scores, label=vote.label, score=vote.score, probability=likely)


def _reviewer(ballot: Review) -> _Rater:
    before, after = (_held(one) for one in (ballot.before, ballot.after))
    what = _SEEN if ballot.seen else _REVIEWER
    return _Rater(ballot.reviewer, what, ballot.rounds, ballot.final, before, after)


def _held(side: str | None) -> str:
    return "" if side is None else side if side == UNDECIDED else winner_word(side)


def _cell(reading: BallotReading | None, scales: Scales) -> str:
    return _COUNTED if reading is None else wording.reading_line(reading, scales)


def _totals(debate: DebateState, one: _Rater) -> str:
    """The sum of somebody's scores, of the debate as a whole too where that is scored."""
    readings = [reading for reading in (*one.rounds.values(), one.final) if reading and reading.scores]
    sums = {side: sum((one.scores[side] for one in readings), Fraction(0)) for side in debate.format.sides}
    return _points(sums) if readings else ""


def _points(scores: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{side.upper()} {decimals(points)}" for side, points in scores.items())


# How far they agree


def _scores(
    debate: DebateState,
    given: Sequence[Marks],
    judges: Sequence[Marks],
    differences: Mapping[str, Fraction],
) -> PlainTable:
    rules = debate.format
    heads = ["Criterion"]
    for side in rules.sides:
        heads += [f"{rules.name_of(side)}, reviewers", f"{rules.name_of(side)}, judges"]
    rows = []
    for name in debate.criteria:
        cells = [_mean(group, side, name) for side in rules.sides for group in (given, judges)]
        apart = decimals(differences[name]) if name in differences else ""
        rows.append((rules.rubric.criteria[name].title, *cells, apart))
    return plain_table((*heads, "Mean difference"), rows)


def _mean(raters: Sequence[Marks], side: str, name: str) -> str:
    marks = [mark for one in raters for (_, whose, what), mark in one.items() if (whose, what) == (side, name)]
    return decimals(mean(marks)) if marks else ""


def _agreement(
    debate: DebateState, ballots: Sequence[Review], panel: str | None, alpha: Fraction | None, *, scored: bool
) -> Iterator[str]:
    n = len(ballots)
    people = f"{n} reviewer{'s' * (n != 1)}"
    counts = Counter(_named(one.final) for one in ballots)
    tally = ", ".join(f"{_word(name)} {count}" for name, count in counts.most_common())
    if debate.verdict() is None:
        yield f"{people[0].upper()}{people[1:]} ({tally}); no panel has decided, so there is nothing to agree with."
    elif panel is None:
        yield f"The panel gave no label that stands; of {people} the final votes are: {tally}."
    else:
        agreeing = counts[panel]
        yield f"{agreeing} of {people} agree{'s' * (agreeing == 1)} with the panel on {_word(panel)} ({tally})."
    if seen := sum(one.seen for one in ballots):
        yield f"{seen} of them knew the verdict before."
    if not scored:
        return
    if alpha is not None:
        yield (
            f"Krippendorff's alpha (interval) of all marks by reviewers and judges: {decimals(alpha)}; 1 is full "
            "agreement, 0 what chance would give."
        )
    else:
        yield (
            "Krippendorff's alpha of all marks by reviewers and judges: too few to say, or all alike. It takes "
            f"{LEAST_RATERS} who scored, and {LEAST_ITEMS} items that two of them scored."
        )


def _gained(debate: DebateState, ballots: Sequence[Review]) -> dict[str, int]:
    twice = [one for one in ballots if one.before and one.after]
    had, has = Counter(one.before for one in twice), Counter(one.after for one in twice)
    return {side: has[side] - had[side] for side in debate.format.sides} if twice else {}


def _swing(
    debate: DebateState, twice: Sequence[Review], gained: Mapping[str, int], by_swing: str | None
) -> Iterator[str]:
    moved = Counter(str(one.after) for one in twice if one.before != one.after)
    to = ", ".join(f"{n} to {_held(side)}" for side, n in moved.items())
    total, n = sum(moved.values()), len(twice)
    said = f"{total} of {n} mind{'s' * (n != 1)} that voted before and after moved"
    yield f"{said}: {to}." if total else f"{said}."
    gains = ", ".join(f"{debate.format.name_of(side)} {n:+d}" for side, n in gained.items())
    if by_swing in gained:
        yield f"By swing the reviewers' winner is {debate.format.name_of(str(by_swing))} ({gains})."
    else:
        yield f"By swing the reviewers have no winner ({gains})."
    yield "That is the reviewers' alone; the panel's verdict stands."


Item = tuple[int, str, str]
"""Round (0 for the whole debate), side, criterion."""
Marks = Mapping[Item, Fraction]
"""What one person or judge gave."""
LEAST_RATERS = 3
LEAST_ITEMS = 10
"""Fewer who gave marks, or fewer items that two of them marked, and alpha says nothing."""


def means(raters: Iterable[Marks]) -> dict[Item, Fraction]:
    """Item to the mean of what it was given."""
    return {item: mean(given) for item, given in _items(raters).items()}


def score_differences(some: Sequence[Marks], others: Sequence[Marks]) -> dict[str, Fraction]:
    """Criterion to the mean difference between two groups, over the items that both scored."""
    here, there = means(some), means(others)
    found: dict[str, list[Fraction]] = {}
    for item in here:
        if item in there:
            found.setdefault(item[2], []).append(abs(here[item] - there[item]))
    return {name: mean(all_of) for name, all_of in found.items()}


def krippendorff_alpha(raters: Sequence[Marks]) -> Fraction | None:
    """Krippendorff's alpha of everybody's marks; None where there are too few, or all marks are one."""
    items = [given for given in _items(raters).values() if len(given) > 1]
    if sum(bool(one) for one in raters) < LEAST_RATERS or len(items) < LEAST_ITEMS:
        return None
    every = [mark for given in items for mark in given]
    observed = sum((_squares(given) / (len(given) - 1) for given in items), Fraction(0)) / len(every)
    expected = _squares(every) / (len(every) * (len(every) - 1))
    return 1 - observed / expected if expected else None


def _squares(marks: Sequence[Fraction]) -> Fraction:
    """The sum of squared distances over all ordered pairs."""
    return 2 * (len(marks) * sum((one * one for one in marks), Fraction(0)) - sum(marks, Fraction(0)) ** 2)


def _items(raters: Iterable[Marks]) -> dict[Item, list[Fraction]]:
    found: dict[Item, list[Fraction]] = {}
    for marks in raters:
        for item, mark in marks.items():
            found.setdefault(item, []).append(mark)
    return found
