"""What a debate's calls took and cost, as a table: one row for each seat and phase, and their sum."""

from __future__ import annotations

from typing import NamedTuple

from debate_orchestrator.core.bill import Bill, Line
from debate_orchestrator.core.events import Usage
from debate_orchestrator.reports.story import Story

_COLUMNS = ("Seat", "Phase", "Calls", "Input, fresh", "Read from cache", "Written to cache", "Output")


class Table(NamedTuple):
    """Plain text in rows and columns; every row is as long as the heads."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: tuple[str, ...]
    notes: tuple[str, ...]
    """What a reader must know to understand the numbers, a sentence each."""


def table(story: Story) -> Table | None:
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
    return Table(heads, tuple(rows), total, tuple(_notes(bill, rehearsed=story.rehearsed)))


def _numbers(line: Line, *, searched: bool) -> tuple[str, ...]:
    usage = line.usage
    counts = [usage.fresh, usage.cached, usage.written + usage.written_hour, usage.output]
    counts += [usage.searches] if searched else []
    tokens = ["–"] * len(counts) if usage == Usage() else [f"{n:,}" for n in counts]
    return (f"{line.calls:,}", *tokens, money(line))


def money(line: Line) -> str:
    """What the calls of a line cost. What nobody knows is unknown, and never nothing."""
    if line.unknown == line.calls:
        return "unknown"
    known = f"${line.cost:.4f}" if line.cost else "$0"
    return f"{known}, and {line.unknown} unknown" if line.unknown else known


def _notes(bill: Bill, *, rehearsed: bool) -> list[str]:
    notes = ["Prices are those known when each answer was given."]
    if bill.total.unknown:
        n = bill.total.unknown
        notes.append(f"The price of {n} call{'s' * (n != 1)} is unknown and in none of the sums.")
    if any(line.usage == Usage() for line in bill.lines):
        notes.append("A dash stands where nobody counted tokens.")
    if rehearsed:
        notes.append("A stand-in calls no model and costs nothing.")
    return notes
