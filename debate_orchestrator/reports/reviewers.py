"""People who reviewed a debate, beside its judges: tables and sentences as plain data, which every form of report can
show in its own way. All of it is text as it was given, so that whoever shows it must make it safe.

The panel's verdict is never changed by any of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.figures import decimals
from debate_orchestrator.core.parts import TIE
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.core.votes import Reading, Vote, leader, mean
from debate_orchestrator.reports import lines
from debate_orchestrator.reports.lines import Scales, winner_word
from debate_orchestrator.reports.tables import Sheet, sheet
from debate_orchestrator.reviewing import agreement
from debate_orchestrator.reviewing.ballots import UNDECIDED, Ballot, judges_marks
from debate_orchestrator.reviewing.keeping import Gathered

NOTE = "Reviewers read the debate afterwards and sign for themselves. The verdict is the panel's, whatever they say."
_JUDGE, _REVIEWER, _SEEN = "judge", "reviewer", "reviewer, who knew the verdict"
_COUNTED = "no ballot that counts"


class Reviewers(Value):
    """What there is to say of a debate's reviewers."""

    model_config = {**Value.model_config, "arbitrary_types_allowed": True}

    table: Sheet
    """A row for the panel, for each judge and for each reviewer: rounds, totals, winner, before and after. Empty of
    rows where no ballot counts."""
    words: tuple[tuple[str, str], ...]
    """Each reviewer's name and reason."""
    scores: Sheet | None
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
    rounds: Mapping[int, Reading | None]
    final: Reading | None
    before: str = ""
    after: str = ""


def reviewers(debate: Debate, found: Gathered) -> Reviewers | None:
    """The reviewers of a debate; None where nobody has left a ballot."""
    if not found.counted and not found.left_out:
        return None
    ballots, judges = found.counted, judges_marks(debate)
    panel = _panel(debate)
    given = [ballot.marks for ballot in ballots]
    gained = _gained(debate, ballots)
    twice = [one for one in ballots if one.before and one.after]
    differences = agreement.differences(given, list(judges.values()))
    alpha = agreement.alpha([*given, *judges.values()])
    agreeing = None if panel is None else sum(_named(one.final) == panel for one in ballots)
    by_swing = leader({side: Fraction(n) for side, n in gained.items()}) if gained else None
    scored = any(given) or bool(judges)
    return Reviewers(
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


def _named(reading: Reading) -> str:
    """Whom, or which label, a ballot on the whole debate is for."""
    return reading.label or reading.winner


def _panel(debate: Debate) -> str | None:
    """Whom, or which label, the panel decided for; None where it did not vote."""
    verdict = debate.verdict()
    if verdict is None:
        return None
    return lines.label_of(verdict) if lines.is_labelled(verdict.panel) else verdict.winner


def _word(named: str) -> str:
    """A winner as reports write it; a label as it is."""
    return winner_word(named) if len(named) == 1 or named in (TIE, "consensus") else named


# The table


def _table(debate: Debate, ballots: Sequence[Ballot]) -> Sheet:
    scales, raters = lines.scales(debate.format), [*_judges(debate), *map(_reviewer, ballots)]
    numbers = sorted({n for one in raters for n in one.rounds})
    scored = any(reading and reading.scores for one in raters for reading in (*one.rounds.values(), one.final))
    rows = [_panel_row(debate, numbers, scored=scored)] if debate.judges else []
    for one in raters:
        said = [_cell(one.rounds.get(n), scales) for n in numbers]
        totals = [_totals(debate, one)] if scored else []
        rows.append((one.name, one.what, *said, _cell(one.final, scales), *totals, one.before, one.after))
    heads = ("Who", "As", *(f"Round {n}" for n in numbers), "Whole debate", *(["Total"] if scored else []))
    return sheet((*heads, "Before", "After"), rows) if ballots else Sheet(heads=heads, rows=())


def _panel_row(debate: Debate, numbers: Sequence[int], *, scored: bool) -> tuple[str, ...]:
    scales, verdict = lines.scales(debate.format), debate.verdict()
    results = {result.round: result for result in debate.results()}
    said = [_cell(_of_result(results.get(n)), scales) for n in numbers]
    whole = lines.decided(verdict, scales).partition(": ")[2] if verdict else "not decided"
    totals = [_points(verdict.totals) if verdict and any(verdict.totals.values()) else ""] if scored else []
    return ("The panel", "verdict", *said, whole, *totals, "", "")


def _of_result(result: RoundResult | None) -> Reading | None:
    if result is None:
        return None
    return Reading(winner=result.winner, scores=result.scores, label=result.label, score=result.score)


def _judges(debate: Debate) -> Iterator[_Rater]:
    rounds = {
        n: {vote.judge: vote for vote in votes} for n in range(1, debate.rounds + 1) if (votes := debate.votes(n))
    }
    finals = {vote.judge: vote for vote in debate.final_votes()}
    for judge in debate.judges:
        own = {n: _of_vote(votes.get(judge)) for n, votes in rounds.items() if votes}
        yield _Rater(debate.format.name_of(judge), _JUDGE, own, _of_vote(finals.get(judge)))


def _of_vote(vote: Vote | None) -> Reading | None:
    """What a judge's vote counts as."""
    if vote is None or vote.absent:
        return None
    shares = [one.probability for one in vote.readings if vote.stable and one.probability is not None]
    likely = mean(shares) if shares else None
    return Reading(winner=vote.winner, scores=vote.scores, label=vote.label, score=vote.score, probability=likely)


def _reviewer(ballot: Ballot) -> _Rater:
    before, after = (_held(one) for one in (ballot.before, ballot.after))
    what = _SEEN if ballot.seen else _REVIEWER
    return _Rater(ballot.reviewer, what, ballot.rounds, ballot.final, before, after)


def _held(side: str | None) -> str:
    return "" if side is None else side if side == UNDECIDED else winner_word(side)


def _cell(reading: Reading | None, scales: Scales) -> str:
    return _COUNTED if reading is None else lines.reading_line(reading, scales)


def _totals(debate: Debate, one: _Rater) -> str:
    """The sum of somebody's scores, of the debate as a whole too where that is scored."""
    readings = [reading for reading in (*one.rounds.values(), one.final) if reading and reading.scores]
    sums = {side: sum((one.scores[side] for one in readings), Fraction(0)) for side in debate.format.sides}
    return _points(sums) if readings else ""


def _points(scores: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{side.upper()} {decimals(points)}" for side, points in scores.items())


# How far they agree


def _scores(
    debate: Debate,
    given: Sequence[agreement.Marks],
    judges: Sequence[agreement.Marks],
    differences: Mapping[str, Fraction],
) -> Sheet:
    rules = debate.format
    heads = ["Criterion"]
    for side in rules.sides:
        heads += [f"{rules.name_of(side)}, reviewers", f"{rules.name_of(side)}, judges"]
    rows = []
    for name in debate.criteria:
        cells = [_mean(group, side, name) for side in rules.sides for group in (given, judges)]
        apart = decimals(differences[name]) if name in differences else ""
        rows.append((rules.rubric.criteria[name].title, *cells, apart))
    return sheet((*heads, "Mean difference"), rows)


def _mean(raters: Sequence[agreement.Marks], side: str, name: str) -> str:
    marks = [mark for one in raters for (_, whose, what), mark in one.items() if (whose, what) == (side, name)]
    return decimals(mean(marks)) if marks else ""


def _agreement(
    debate: Debate, ballots: Sequence[Ballot], panel: str | None, alpha: Fraction | None, *, scored: bool
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
            f"{agreement.LEAST_RATERS} who scored, and {agreement.LEAST_ITEMS} items that two of them scored."
        )


def _gained(debate: Debate, ballots: Sequence[Ballot]) -> dict[str, int]:
    twice = [one for one in ballots if one.before and one.after]
    had, has = Counter(one.before for one in twice), Counter(one.after for one in twice)
    return {side: has[side] - had[side] for side in debate.format.sides} if twice else {}


def _swing(debate: Debate, twice: Sequence[Ballot], gained: Mapping[str, int], by_swing: str | None) -> Iterator[str]:
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
