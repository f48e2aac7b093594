"""A table has as many cells in every row as it has heads."""

from __future__ import annotations

from debate_orchestrator.reports.rich_text import Phrase, Table, phrase, plain_table, without_empty


def row(*cells: str) -> tuple[Phrase, ...]:
    return tuple(map(phrase, cells))


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    """A column without anything in it is left out, but for those that are kept."""
    rows = [row("", "1", "", "x"), row("", "2", "", "")]
    heads = row("a", "b", "c", "d")

    assert without_empty(heads, rows) == Table(row("a", "b", "d"), (row("", "1", "x"), row("", "2", "")))
    assert without_empty(heads, rows, keep=0).heads == row("b", "d")


def test_a_sheet_has_no_empty_column_and_no_empty_cell() -> None:
    """A sheet of plain text leaves out columns without anything, and writes a dash for nothing."""
    made = plain_table(("a", "b", "c"), [("1", "", "x"), ("", "", "y")])

    assert (made.heads, made.rows) == (("a", "c"), (("1", "x"), ("-", "y")))
