"""Several debates of one topic, or several judgings of one debate, side by side: tables and sentences as plain data.

Runs are numbered as they are given. Sides go by their letters; a run in which the positions of the first are exchanged
is told with its sides exchanged back. What is called similar is similar in wording alone (see `wording`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from debate_orchestrator import casts
from debate_orchestrator.core.figures import decimals, percent
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.votes import Reading
from debate_orchestrator.reports import costs, lines
from debate_orchestrator.reports.comparing import wording
from debate_orchestrator.reports.comparing.compared import FINAL, Run, turned, word
from debate_orchestrator.reports.comparing.differing import agreement, flips
from debate_orchestrator.reports.lines import winner_word
from debate_orchestrator.reports.story import Story
from debate_orchestrator.reports.tables import Sheet, sheet
from debate_orchestrator.speech import one_line


class Said(Value):
    """Something that a run says."""

    run: int
    text: str
    status: str = ""
    """Whether a disputed claim was settled there."""


class Recurring(Value):
    """What several runs say in similar wording."""

    said: tuple[Said, ...]
    runs: tuple[int, ...]
    likeness: float
    """The least that any of it has in common with the first."""


class Comparison(Value):
    """Some runs, side by side."""

    topic: str
    """That of the first."""
    notes: tuple[str, ...]
    """What limits the comparison, and how the runs hang together, a sentence each."""
    runs: Sheet
    verdicts: Sheet
    winners: dict[int, str | None]
    """Run to its winner, or its label; None where nothing was decided yet."""
    rounds: Sheet | None
    flips: tuple[str, ...]
    """Who won where, where that differs, a sentence each."""
    judges: Sheet | None
    agreement: tuple[str, ...]
    """How often judges say the same, a sentence each."""
    dissent: tuple[Recurring, ...]
    """Disputed claims that recur; the others are counted."""
    dissent_alone: int
    questions: tuple[Recurring, ...]
    questions_alone: int
    costs: Sheet | None


def comparison(stories: Sequence[tuple[str, Story]]) -> Comparison:
    """The comparison of some journals, each with its path; there are two at least."""
    first = stories[0][1]
    runs = [Run(n, path, told, turned(first, told)) for n, (path, told) in enumerate(stories, start=1)]
    claims = [said for run in runs for said in _claims(run)]
    questions = [Said(run=run.number, text=one) for run in runs for one in run.story.questions]
    dissent, asked = _recurring(claims), _recurring(questions)
    return Comparison(
        topic=first.topic,
        notes=tuple(_notes(runs)),
        runs=_runs(runs),
        verdicts=_verdicts(runs),
        winners={run.number: run.decided() for run in runs},
        rounds=_rounds(runs),
        flips=tuple(flips(runs)),
        judges=_judges(runs),
        agreement=tuple(agreement(runs)),
        dissent=tuple(dissent),
        dissent_alone=len(claims) - sum(len(one.said) for one in dissent),
        questions=tuple(asked),
        questions_alone=len(questions) - sum(len(one.said) for one in asked),
        costs=_costs(runs),
    )


# What limits it


def _notes(runs: Sequence[Run]) -> Iterator[str]:
    first = runs[0].story
    yield from _differing(runs)
    for run in runs[1:]:
        if run.turned:
            yield f"In run {run.number} the sides are exchanged; here it is told by the letters of run 1."
        elif run.story.topic == first.topic and run.story.positions != first.positions:
            yield f"The positions of run {run.number} are not those of run 1; sides are compared by their letters."
    seen: dict[str, int] = {}
    for run in runs:
        if run.story.digest in seen:
            yield f"Run {run.number} is the same journal as run {seen[run.story.digest]}."
        seen.setdefault(run.story.digest, run.number)
    for run in runs:
        yield from _state(run, seen)


def _differing(runs: Sequence[Run]) -> Iterator[str]:
    """What is not the same in all runs."""
    if len({run.story.topic for run in runs}) > 1:
        yield "The topics differ: winners stand side by side and are compared with those of the first topic alone."
        yield from (f"Run {run.number} debates: {one_line(run.story.topic)}" for run in runs)
    if len({run.story.format for run in runs}) > 1:
        yield "The formats differ: votes are compared by the side they count for, and scores come from other rubrics."
    elif len({tuple(run.story.criteria) for run in runs}) > 1:
        yield "What is scored differs, so that scores can't be compared by their size."
    if len({run.story.strictness for run in runs}) > 1:
        said = ", ".join(f"run {run.number} {run.story.strictness}" for run in runs)
        yield f"The judges' strictness differs: {said}."


def _state(run: Run, known: Mapping[str, int]) -> Iterator[str]:
    """What a reader must know of one run."""
    told = run.story
    if told.status == "paused":
        got = f"after {told.completed} of {told.rounds} rounds" if told.rounds else "before its end"
        yield f"Run {run.number} is paused {got}, and compared as far as it got."
    if told.rehearsed:
        yield f"Run {run.number} is rehearsed: stand-ins spoke in it."
    if told.course is not None:
        source = known.get(told.course.debated) or known.get(told.course.digest)
        where = (
            f"of run {source}"
            if source
            else f"of a journal or transcript that is not among these ({told.course.source})"
        )
        yield f"Run {run.number} judges the speeches {where} again."


# The tables


def _runs(runs: Sequence[Run]) -> Sheet:
    rows = []
    for run in runs:
        told = run.story
        speakers = told.course.speakers if told.course else told.spoken_by
        spoke = ", ".join(f"{told.seats.get(side, side)}: {casts.shown(who)}" for side, who in speakers.items())
        judges = ", ".join(map(casts.shown, told.judges))
        rounds = f"{told.completed} / {told.rounds}" if told.rounds else ""
        title = told.format.partition(". ")[0]
        rows.append((str(run.number), run.path, told.status, title, rounds, spoke, judges, told.date))
    return sheet(("Run", "Journal", "State", "Format", "Rounds", "Speakers", "Judges", "Date"), rows)


def _verdicts(runs: Sequence[Run]) -> Sheet:
    rows = []
    for run in runs:
        verdict, won = run.story.verdict, run.decided()
        unjudged = "nobody judges it" if not run.story.judges else "not decided"
        said = unjudged if won is None else word(won)
        totals, rounds, apart, strength = ("", ""), "", "", ""
        if verdict is not None:
            scored = {run.side(side): points for side, points in verdict.totals.items()} if run.story.scored else {}
            totals = tuple(decimals(scored[side]) if side in scored else "" for side in "ab")  # type: ignore[assignment]
            apart = percent(verdict.gap) if scored and verdict.gap is not None else ""
            strength = verdict.strength or ""
            by = {run.side(side): n for side, n in verdict.rounds_won.items()}
            rounds = ", ".join(f"{winner_word(side)} {by[side]}" for side in sorted(by)) if any(by.values()) else ""
        votes = lines.tally({run.side(one): n for one, n in verdict.votes.items()}) if verdict else ""
        rows.append((str(run.number), said, strength, *totals, apart, rounds, votes))
    return sheet(("Run", "Winner", "Strength", "Total A", "Total B", "Gap", "Rounds won", "Votes"), rows)


def _rounds(runs: Sequence[Run]) -> Sheet | None:
    """What came of each round in each run; None where no round was judged by itself."""
    numbers = sorted({one.number for run in runs for one in run.story.told})
    rows = [(str(n), *(_cell(run, run.result(n)) for run in runs)) for n in numbers]
    rows = [row for row in rows if any(row[1:])]
    return (
        Sheet(heads=("Round", *_named(runs)), rows=tuple((n, *(c or "-" for c in cs)) for n, *cs in rows))
        if rows
        else None
    )


def _named(runs: Sequence[Run]) -> tuple[str, ...]:
    return tuple(f"Run {run.number}" for run in runs)


def _cell(run: Run, reading: Reading | None) -> str:
    return lines.reading_line(reading, run.story.judging.scales) if reading else ""


def _judges(runs: Sequence[Run]) -> Sheet | None:
    """A row for each judge of each run."""
    votes = [(run, seat, given) for run in runs for seat, given in run.votes().items()]
    places = sorted({place for _, _, given in votes for place in given}, key=lambda place: (place == FINAL, place))
    rows = [
        (
            str(run.number),
            run.story.seats[seat],
            casts.shown(run.who(seat)),
            *(_cell(run, given.get(one)) for one in places),
        )
        for run, seat, given in votes
    ]
    heads = ("Run", "Judge", "Who", *(f"Round {n}" if n != FINAL else "Final" for n in places))
    return sheet(heads, rows) if rows else None


def _costs(runs: Sequence[Run]) -> Sheet | None:
    rows = [
        (str(run.number), f"{run.story.bill.total.calls:,}", costs.money(run.story.bill.total))
        for run in runs
        if run.story.bill.lines
    ]
    return Sheet(heads=("Run", "Calls", "Cost"), rows=tuple(rows)) if rows else None


# What recurs


def _claims(run: Run) -> list[Said]:
    rows = run.story.dissent.ballot["rows"] if run.story.dissent and run.story.dissent.ballot else []
    return [Said(run=run.number, text=row["claim"], status=row.get("status", "")) for row in rows]


def _recurring(said: Sequence[Said]) -> list[Recurring]:
    """What is said in similar wording in more than one run."""
    found = []
    for group in wording.grouped([one.text for one in said]):
        own = [said[n] for n in group]
        runs = sorted({one.run for one in own})
        if len(runs) > 1:
            first, *others = [wording.words(one.text) for one in own]
            least = min(wording.likeness(first, one) for one in others)
            found.append(Recurring(said=tuple(own), runs=tuple(runs), likeness=round(float(least), 2)))
    return found
