"""Tables: of phrases, and of plain text that any form of report may show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from debate_orchestrator.core.values import Value
from debate_orchestrator.reports.phrases import Phrase


class Table(NamedTuple):
    """Phrases in rows as long as the heads."""

    heads: tuple[Phrase, ...]
    rows: tuple[tuple[Phrase, ...], ...]


def without_empty(heads: Sequence[Phrase], rows: Sequence[Sequence[Phrase]], *, keep: int = 1) -> Table:
    """A table without the columns, after the first `keep`, in which no row has anything."""
    kept = [n for n in range(len(heads)) if n < keep or any(row[n] for row in rows)]
    return Table(tuple(heads[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in rows))


class Sheet(Value):
    """A table of plain text as it was given, in rows as long as the heads; whoever shows it must make it safe."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sheet(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Sheet:
    """A table without the columns in which no row has anything; an empty cell is a dash."""
    kept = [n for n in range(len(heads)) if any(row[n] for row in rows)]
    return Sheet(heads=tuple(heads[n] for n in kept), rows=tuple(tuple(row[n] or "-" for n in kept) for row in rows))
