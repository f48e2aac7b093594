"""A table has as many cells in every row as it has heads."""

from __future__ import annotations

import reading

from debate_orchestrator.reports.tables import Table, sheet, without_empty


def test_a_table_is_markdown() -> None:
    """Heads, a rule, and a line for each row."""
    made = str(Table(("a", "b"), (("1", "2"), ("3", "4"))))

    assert made == "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"
    assert reading.tables(made) == [[["a", "b"], ["1", "2"], ["3", "4"]]]


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    """A column without any value goes, unless it is one of the first that are kept."""
    rows = [("", "1", "", "x"), ("", "2", "", "")]

    assert without_empty(("a", "b", "c", "d"), rows) == Table(("a", "b", "d"), (("", "1", "x"), ("", "2", "")))
    assert without_empty(("a", "b", "c", "d"), rows, keep=0).heads == ("b", "d")


def test_a_sheet_has_no_empty_column_and_no_empty_cell() -> None:
    """A sheet of plain text leaves out columns without anything, and writes a dash for nothing."""
    made = sheet(("a", "b", "c"), [("1", "", "x"), ("", "", "y")])

    assert (made.heads, made.rows) == (("a", "c"), (("1", "x"), ("-", "y")))
