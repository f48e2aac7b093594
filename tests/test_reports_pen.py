"""Phrases, tables and lists are written in markdown, each run as safe as its kind says."""

from __future__ import annotations

import reading
from hypothesis import given
from nasty import texts

from debate_orchestrator.reports.markdown import MarkdownWriter
from debate_orchestrator.reports.rich_text import (
    FieldPart,
    Table,
    cell,
    found,
    literal,
    page,
    phrase,
    plain,
    prose,
    strong,
    turn,
)

PEN = MarkdownWriter(lambda turn: f"[{turn}](#{turn})")


def test_a_line_is_written_run_by_run() -> None:
    """Own words stay as they are, those of others as their kind says; strong runs in a row are set off together."""
    said = phrase("By ", literal("*x*"), strong(": ", prose("*y*")), cell("a|b"), plain("- z"), turn("1.opening.a"))

    assert PEN.line(said) == "By \\*x\\***: *y***a\\|b\\- z[1.opening.a](#1.opening.a)"


def test_pages_are_linked() -> None:
    """An address shows all of itself, and a page that was found its title and host."""
    assert PEN.line(page("https://example.org/x")) == "[https://example.org/x](https://example.org/x)"
    assert PEN.line(found("https://example.org/x", "A page")) == "[A page](https://example.org/x) (example.org)"


def test_a_table_is_markdown() -> None:
    """Heads, a rule and the rows make a table that a reader of markdown finds."""
    row = (phrase("1"), phrase("2"))
    made = PEN.table(Table((phrase("a"), phrase("b")), (row,)))

    assert made == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert reading.tables(made) == [[["a", "b"], ["1", "2"]]]
    assert PEN.table(Table((phrase("a"),), ((phrase("1"),),)), ["-----"]) == "| a |\n|-----|\n| 1 |"


def test_parts_are_paragraphs_or_points() -> None:
    """A reply in fields is written as paragraphs, or as the lines of a list."""
    parts = [FieldPart("line", "Why", prose("So.")), FieldPart("list", "Notes", items=(prose("one"), prose("two")))]

    assert PEN.block([*parts, FieldPart("quote", said=prose("It is.")), FieldPart("speech", text="All.")]) == (
        "**Why:** So.\n\n**Notes:**\n\n- one\n- two\n\n> It is.\n\nAll."
    )
    assert PEN.points(parts) == ["- **Why:** So.", "- **Notes:**", "  - one", "  - two"]


@given(texts)
def test_a_cell_stays_a_cell(text: str) -> None:
    """Whatever is said in a table, it has the rows and cells that it was given."""
    row = (phrase("x"), cell(text), literal(text))
    found = reading.tables(PEN.table(Table((phrase("a"), phrase("b"), phrase("c")), (row, row))))

    assert [len(cells) for cells in found[0]] == [3, 3, 3]
