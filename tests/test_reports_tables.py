"""A table has as many cells in every row as it has heads."""

from __future__ import annotations

from debate_orchestrator.reports.phrases import Phrase, phrase
from debate_orchestrator.reports.tables import Table, without_empty


def row(*cells: str) -> tuple[Phrase, ...]:
    return tuple(map(phrase, cells))


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    """A column without anything in it is left out, but for those that are kept."""
    rows = [row("", "1", "", "x"), row("", "2", "", "")]
    heads = row("a", "b", "c", "d")

    assert without_empty(heads, rows) == Table(row("a", "b", "d"), (row("", "1", "x"), row("", "2", "")))
    assert without_empty(heads, rows, keep=0).heads == row("b", "d")
