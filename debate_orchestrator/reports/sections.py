"""The ledger of what was cited: a row a page, with what a clerk found there and what the judges think of the source."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core import phases
from debate_orchestrator.core.costs import CostLine, Costs
from debate_orchestrator.core.events import Usage
from debate_orchestrator.reports.citations import VERIFIED, Citation
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.model_turns import TurnReport
from debate_orchestrator.reports.rich_text import (
    FieldText,
    Phrase,
    Table,
    cell,
    joined,
    literal,
    page,
    phrase,
    strong,
    turn,
    without_empty,
)
from debate_orchestrator.reports.wording import winner_word
from debate_orchestrator.util.numbers import decimals, percent

CLERK = phases.CLERK
NOTHING = "Nothing was cited to be looked up."
_LATE = " (dated later than the topic)"
_DIGITS = 12
"""Of a digest, as it is shown."""


class Ledger(NamedTuple):
    """The section on evidence."""

    table: Table | None
    said: tuple[Phrase, ...]


def ledger(story: ReportModel) -> Ledger | None:
    """Everything that was cited; None where no clerk has a place."""
    if story.looked_up is None:
        return None
    if not story.cited:
        return Ledger(None, (phrase("Nothing was cited."),))
    rows = [
        (
            turn(one.turn),
            page(one.url),
            strong(literal(one.state)),
            _found(one, story.as_of),
            _kept(one),
            _weighed(story, one),
        )
        for one in story.cited
    ]
    heads = ("Turn", "Page", "Quote", "What was found", "Kept as", "How judges weigh the source")
    verified = sum(one.state == VERIFIED for one in story.cited)
    said = [phrase(f"Verified: {verified} of {len(story.cited)}; {story.looked_up}.")]
    if story.as_of:
        said.append(phrase("The topic binds both sides to what was known as of ", literal(story.as_of), "."))
    return Ledger(without_empty(tuple(map(phrase, heads)), rows, keep=3), tuple(said))


def findings(clerks: TurnReport, story: ReportModel, fields: FieldText) -> list[Phrase]:
    """What a clerk found in its turn, a line each: the turn that cites, the state, and why. None where nothing was
    cited."""
    known = {name: field for name, field in clerks.shape["checks"].fields.items() if name in ("turn", "state", "why")}
    late = {one.turn for one in story.cited if one.late}
    rows = (clerks.ballot or {}).get("checks") or []
    return [phrase(fields.row(known, row), _LATE if row.get("turn") in late else "") for row in rows]


def _found(one: Citation, as_of: str | None) -> Phrase:
    """Title, date, the nearest passage and what stood in the way."""
    said = [literal(one.title)] if one.title else []
    if one.date:
        late = phrase(" (", strong("later than ", literal(as_of or "")), ")") if one.late else ()
        said.append(phrase("dated ", literal(one.date), late))
    if one.passage:
        alike = f" ({percent(Fraction(str(one.similarity)))} alike)" if one.similarity is not None else ""
        said.append(phrase(f"the nearest passage{alike}: “", literal(one.passage), "”"))
    if one.why:
        said.append(literal(one.why))
    return joined("; ", said)


def _kept(one: Citation) -> Phrase:
    """The file in the archive, and the beginning of its digest."""
    parts = [literal(one.archived)] if one.archived else []
    parts += [phrase("sha256 ", literal(one.digest[:_DIGITS]))] if one.digest else []
    return joined(", ", parts)


def _weighed(story: ReportModel, one: Citation) -> Phrase:
    said = []
    for own in one.weighed:
        why = phrase(", ", literal(own.why)) if own.why else ()
        said.append(phrase(literal(story.seats[own.seat]), ": ", literal(own.credibility), why))
    return joined("; ", said)


_COLUMNS = ("Seat", "Phase", "Calls", "Input, fresh", "Read from cache", "Written to cache", "Output")


class CostTable(NamedTuple):
    """Plain text in rows and columns; every row is as long as the heads."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: tuple[str, ...]
    notes: tuple[str, ...]
    """What a reader must know to understand the numbers, a sentence each."""


def cost_table(story: ReportModel) -> CostTable | None:
    """The bill of a debate; None where nobody was called."""
    bill = story.bill
    if not bill.lines:
        return None
    searched = bill.total.usage.searches > 0
    heads = (*_COLUMNS, *(("Searches",) if searched else ()), "Cost")
    rows = [
        (story.seats.get(line.seat, line.seat.capitalize()), line.phase, *_numbers(line, searched=searched))
        for line in bill.lines
    ]
    total = ("Total", "", *_numbers(bill.total, searched=searched))
    return CostTable(heads, tuple(rows), total, tuple(_notes(bill, rehearsed=story.rehearsed)))


def _numbers(line: CostLine, *, searched: bool) -> tuple[str, ...]:
    usage = line.usage
    counts = [usage.fresh, usage.cached, usage.written + usage.written_hour, usage.output]
    counts += [usage.searches] if searched else []
    tokens = ["–"] * len(counts) if usage == Usage() else [f"{n:,}" for n in counts]
    return (f"{line.calls:,}", *tokens, money(line))


def money(line: CostLine) -> str:
    """What the calls of a line cost. What nobody knows is unknown, and never nothing."""
    if line.unknown == line.calls:
        return "unknown"
    known = f"${line.cost:.4f}" if line.cost else "$0"
    return f"{known}, and {line.unknown} unknown" if line.unknown else known


def _notes(bill: Costs, *, rehearsed: bool) -> list[str]:
    notes = ["Prices are those known when each answer was given."]
    if bill.total.unknown:
        n = bill.total.unknown
        notes.append(f"The price of {n} call{'s' * (n != 1)} is unknown and in none of the sums.")
    if any(line.usage == Usage() for line in bill.lines):
        notes.append("A dash stands where nobody counted tokens.")
    if rehearsed:
        notes.append("A stand-in calls no model and costs nothing.")
    return notes


UNDECIDED = "not decided"
_NONE = phrase("-")
_FINEST = 1_000_000
"""The largest denominator that a score can have; it is kept as a number with a fraction's worth of digits."""


class Earlier(NamedTuple):
    """Both verdicts, as rows: what it is about, what was said then, what is said now."""

    verdicts: tuple[tuple[str, Phrase, Phrase], ...]
    rounds: tuple[tuple[Phrase, ...], ...]
    """Round, each side's score then, the winner then, each side's score now, the winner now; without scores where
    sides are not scored."""
    scored: tuple[str, ...]
    """The sides whose scores stand in the rows."""
    agreement: Phrase
    """Where they differ, in a sentence."""


def earlier(story: ReportModel) -> Earlier | None:
    """The comparison for a debate that is judged again; None where nobody had judged it."""
    course, verdict = story.course, story.verdict
    if course is None or not course.judges:
        return None
    measured = story.judging.measured
    sides = list(story.names) if measured else []
    totals = verdict.totals if verdict else {}
    verdicts = [
        ("Judges", cell(", ".join(course.judges)), cell(", ".join(story.judges))),
        ("Winner", _winner(course.winner), _winner(verdict.winner if verdict else None)),
    ]
    if measured:
        strength = (verdict.strength if verdict else None) or UNDECIDED
        verdicts.append(("Strength", literal(course.strength or UNDECIDED), literal(strength)))
    for side in sides:
        verdicts.append((f"Total, {story.seats[side]}", _points(course.totals.get(side)), _points(totals.get(side))))
    now = {told.number: told.result for told in story.told if told.result}
    rounds = []
    for n in sorted({*course.rounds, *now}):
        then, result = course.rounds.get(n), now.get(n)
        before = [_points(then.scores.get(side) if then else None) for side in sides]
        scores = [_points(result.scores.get(side) if result else None) for side in sides]
        winners = (_winner(then.winner) if then else _NONE, _winner(result.winner) if result else _NONE)
        rounds.append((phrase(str(n)), *before, winners[0], *scores, winners[1]))
    rounds = rounds if story.judging.round_fields else []
    said = _agreement(verdicts, rounds, len(sides))
    return Earlier(verdicts=tuple(verdicts), rounds=tuple(rounds), scored=tuple(sides), agreement=said)


def _winner(winner: str | None) -> Phrase:
    return literal(UNDECIDED if winner is None else winner_word(winner))


def _points(score: float | Fraction | None) -> Phrase:
    return _NONE if score is None else phrase(decimals(Fraction(score).limit_denominator(_FINEST)))


def _agreement(verdicts: list[tuple[str, Phrase, Phrase]], rounds: list[tuple[Phrase, ...]], sides: int) -> Phrase:
    """A sentence on where two judgings differ."""
    differing = [
        phrase(f"the {what.lower()} (", then, " then, ", now, " now)")
        for what, then, now in verdicts
        if what in ("Winner", "Strength") and then != now
    ]
    for n, *cells in rounds:
        then, now = cells[: sides + 1], cells[sides + 1 :]
        if then[-1] != now[-1]:
            differing.append(phrase("the winner of round ", n, " (", then[-1], " then, ", now[-1], " now)"))
    if differing:
        return phrase("The two judgings differ in ", joined(", ", differing), ".")
    agreed = [f"the {what.lower()}" for what, _, _ in verdicts if what in ("Winner", "Strength")]
    *most, last = [*agreed, *(["every round"] if rounds else [])]
    said = f"The two judgings agree on {', '.join(most)} and {last}" if most else f"The two judgings agree on {last}"
    if not sides:
        return phrase(f"{said}.")
    same = all(cells[1 : sides + 2] == cells[sides + 2 :] for cells in rounds) and _same_totals(verdicts)
    return phrase(f"{said}, to the point." if same else f"{said}; they differ in the scores alone.")


def _same_totals(verdicts: list[tuple[str, Phrase, Phrase]]) -> bool:
    return all(then == now for what, then, now in verdicts if what.startswith("Total"))
