"""How a debate was judged: every vote, what became of it, and what may have swayed it, as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core.phases import MIRRORED
from debate_orchestrator.core.verdict import RoundResult
from debate_orchestrator.core.votes import Vote, valid_votes
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.model import ReportModel, RoundReport
from debate_orchestrator.reports.model_turns import TurnReport
from debate_orchestrator.reports.rich_text import (
    FieldText,
    Phrase,
    Table,
    cell,
    literal,
    phrase,
    prose,
    resting,
    strong,
    without_empty,
)
from debate_orchestrator.util.numbers import decimals

BEFORE, AFTER, TOTAL, FINAL = "Before round 1", "After the last round", "Total", "Final"


class JudgingText(NamedTuple):
    """The parts of the section; a part is empty where it has nothing to say."""

    votes: Table | None
    counts: tuple[Phrase, ...]
    """Quorum, and what the mirror changed, a sentence each."""
    blind: Table | None
    gained: Phrase
    means: Table | None
    abouts: tuple[Phrase, ...]
    words: Table | None
    kin: tuple[Phrase, ...]
    faults: tuple[Phrase, ...]

    @property
    def something(self) -> bool:
        return any(self)


def judging_text(story: ReportModel, fields: FieldText) -> JudgingText:
    """What there is to say of a debate's judging."""
    means = _means(story)
    return JudgingText(
        votes=_votes(story),
        counts=tuple(map(phrase, _counts(story))),
        blind=_blind(story),
        gained=phrase(_gained(story)),
        means=means,
        abouts=tuple(_abouts(story)) if means else (),
        words=_words(story),
        kin=tuple(map(prose, story.judging.kin)),
        faults=(*map(phrase, _recorded(story)), *_named(story, fields)),
    )


def _votes(story: ReportModel) -> Table | None:
    """A row for each vote, where there is more than one judge, or the judge voted twice."""
    panel = [(FINAL, vote) for vote in story.judging.panel]
    rounds = [(str(one.number), vote) for one in story.told for vote in one.votes]
    if len({vote.judge for _, vote in (*rounds, *panel)}) < 2 and not any(vote.twice for _, vote in (*rounds, *panel)):
        return None
    rows = [_vote(story, place if rounds else "", vote) for place, vote in (*rounds, *panel)]
    twice = any(vote.twice for _, vote in (*rounds, *panel))
    heads = ("Round", "Judge", "Straight" if twice else "Vote", "Mirrored", "Stable", "Counts as")
    return without_empty(tuple(map(phrase, heads)), rows, keep=0)


def _vote(story: ReportModel, place: str, vote: Vote) -> tuple[Phrase, ...]:
    scales = story.judging.scales
    straight, mirrored = (
        resting(cell(wording.reading_line(one, scales)), ballot) if one else phrase("no ballot that counts")
        for one, ballot in ((vote.straight, vote.turn), (vote.mirrored, vote.turn + MIRRORED))
    )
    stable = "yes" if vote.stable else "no"
    twice = (mirrored, phrase("-" if vote.absent else stable)) if vote.twice else ((), ())
    return (phrase(place), cell(story.seats[vote.judge]), straight, *twice, cell(wording.vote_line(vote)))


def _counts(story: ReportModel) -> Iterator[str]:
    """What a reader must know to add the votes up."""
    panel, quorum = story.judging.panel, story.judging.quorum
    if len(panel) > 1 and not story.judging.labelled:
        n, of = len(valid_votes(panel)), len(panel)
        yield f"Votes that count: {n} of {of}; at least {max(1, quorum)} must, for anything to be decided."
    elif len(panel) > 1:
        n, of = sum(vote.label is not None for vote in panel), len(panel)
        yield f"Labels that count: {n} of {of}; at least {max(1, quorum)} must, for anything to be decided."
    if story.judging.mirrored:
        yield "Each judge also voted on the debate with the sides exchanged. A vote that changed is an abstention."
        yield wording.flips_line(story.judging.changed, story.judging.mirrored)


def _blind(story: ReportModel) -> Table | None:
    """What each judge held before the first word and after the last."""
    if not story.judging.blind:
        return None
    after = {vote.judge: vote for vote in story.judging.panel}
    rows = [
        (cell(story.seats[vote.judge]), _held(story, vote), _held(story, after.get(vote.judge)))
        for vote in story.judging.blind
    ]
    return Table((phrase("Judge"), phrase("Before the debate"), phrase("After it")), tuple(rows))


def _held(story: ReportModel, vote: Vote | None) -> Phrase:
    """What a judge held: the ballot on the debate as it was, and whether the vote is none for all that."""
    if vote is None:
        return phrase("not yet")
    if vote.absent or vote.straight is None:
        return phrase("absent")
    said = resting(cell(wording.reading_line(vote.straight, story.judging.scales)), vote.turn)
    return said if vote.stable else phrase(said, ", changed in the mirror")


def _gained(story: ReportModel) -> str:
    """The votes that each side gained, where votes are for sides."""
    swing = story.verdict.swing if story.verdict else {}
    if not swing or story.judging.labelled:
        return ""
    gains = ", ".join(f"{story.seats[side]} {n:+d}" for side, n in swing.items())
    return f"Votes gained by the debate: {gains}." + (" In this format that decides." if story.judging.by_swing else "")


def _means(story: ReportModel) -> Table | None:
    """The mean of each criterion by side, where the ballots alone don't show it at a glance."""
    judging = story.judging
    weighed = len(set(judging.weights.values())) > 1
    many = len(story.judges) > 1 or judging.mirrored > 0
    if not judging.means or not (many or weighed or not judging.scores_rounds):
        return None
    sides = list(judging.means)
    weight = [phrase("Weight")] if weighed else []
    heads = (phrase("Criterion"), *weight, *(cell(story.seats[side]) for side in sides))
    rows = [
        (
            cell(title),
            *((phrase(decimals(judging.weights[name])),) if weighed else ()),
            *(phrase(decimals(judging.means[side][name])) for side in sides),
        )
        for name, title in story.criteria.items()
    ]
    return Table(heads, tuple(rows))


def _abouts(story: ReportModel) -> Iterator[Phrase]:
    for name, title in story.criteria.items():
        yield phrase(strong(literal(title), ":"), " ", prose(story.judging.abouts[name]))


def _words(story: ReportModel) -> Table | None:
    """The words of each side by round, beside the scores: longer speeches may look stronger than they are."""
    sides = [side for side in story.arguing if any(turn.seat == side for turn in story.every)]
    if not sides:
        return None
    places: list[tuple[str, tuple[TurnReport, ...], RoundResult | None]] = [(BEFORE, story.before, None)]
    places += [(str(one.number), (*one.speeches, *one.forced), one.result) for one in story.told]
    places.append((AFTER, story.after, None))
    rows = []
    labels = {str(one.number): _label(story, one) for one in story.told if wording.LABEL in story.judging.round_fields}
    for place, turns, result in places:
        words = [_sum(turns, side) for side in sides]
        if any(words):
            scores = result.scores if result else {}
            rows.append((phrase(place), *map(_many, words), *_points(scores, sides), labels.get(place, ())))
    if not rows:
        return None
    every = [_sum(story.every, side) for side in sides]
    totals = story.verdict.totals if story.verdict and story.scored else {}
    rows.append((strong(TOTAL), *map(_many, every), *_points(totals, sides), ()))
    names = [cell(story.seats[side]) for side in sides]
    counts, scored = [phrase(name, ", words") for name in names], [phrase(name, ", score") for name in names]
    heads = (phrase("Round"), *counts, *scored, phrase("Verdict"))
    return without_empty(heads, rows, keep=1 + len(sides))


def _label(story: ReportModel, one: RoundReport) -> Phrase:
    label = one.label(story.judging.quorum)
    score = one.result.score if one.result and label else None
    return cell(story.judging.scales.labelled(label, score)) if one.result else ()


def _sum(turns: Sequence[TurnReport], side: str) -> int:
    return sum(turn.words for turn in turns if turn.seat == side)


def _many(words: int) -> Phrase:
    return phrase(f"{words:,}")


def _points(scores: dict[str, Fraction], sides: Sequence[str]) -> list[Phrase]:
    return [phrase(decimals(scores[side])) if side in scores else () for side in sides]


def _recorded(story: ReportModel) -> Iterator[str]:
    """What the engine saw each side do that its format does not allow."""
    for side in story.arguing:
        own, name = [turn for turn in story.every if turn.seat == side], story.seats[side]
        lines_for = [turn.id for turn in own if turn.other_lines]
        if lines_for:
            yield f"{name} wrote lines for the other side in {', '.join(lines_for)}."
        dropped = {turn.id: turn.dropped for turn in own if turn.dropped}
        if dropped:
            n = sum(dropped.values())
            words = f"{n:,} word{'s' * (n != 1)}"
            yield f"{name} went over the limit, and {words} were not heard, in {', '.join(dropped)}."
        quotes = [quote for turn in own for quote in turn.quotes]
        if quotes:
            held = sum(quote.verified for quote in quotes)
            yield f"{name} quoted the material {_times(len(quotes))}; {held:,} of these the material holds."


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _named(story: ReportModel, fields: FieldText) -> Iterator[Phrase]:
    """The faults that judges name, each once."""
    said: dict[Phrase, None] = {}
    for turn in story.every:
        for row in (turn.ballot or {}).get("faults") or [] if turn.votes else ():
            row_said = fields.row(turn.shape["faults"].fields, row)
            said[phrase(f"{story.seats[turn.seat]} names a fault: ", row_said)] = None
    yield from said
