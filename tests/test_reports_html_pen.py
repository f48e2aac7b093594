"""Phrases, tables and lists are written in HTML, each run as safe as its kind says."""

from __future__ import annotations

import page_reading
from dealing import for_each
from hypothesis import given
from hypothesis import strategies as st
from nasty import NASTY, texts

from debate_orchestrator.reports.html.writer import HtmlWriter, anchor
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
    resting,
    strong,
    turn,
)

PLACES = {"1.opening.a": (1, "opening A"), "1.opening.b": (1, "opening B"), "start.blind.judge": (0, "blind JUDGE")}
PEN = HtmlWriter(PLACES, PLACES)
REL = 'rel="nofollow noopener noreferrer"'


def test_a_line_is_written_run_by_run() -> None:
    """Own words and those of others are escaped, prose keeps its emphasis, strong runs in a row are set off as one."""
    said = phrase("By <i>", literal("*x*"), strong(": ", prose("*y*")), cell("a|b"), plain("<z>"))

    assert PEN.line(said) == ("By &lt;i&gt;*x*<strong>: <em>y</em></strong>a|b&lt;z&gt;")


def test_turns_are_linked_where_they_are_told() -> None:
    """A turn is a link to its place on the page; one that is not told is named, and words rest on their turn."""
    assert PEN.line(turn("1.opening.a")) == '<a href="#t-1.opening.a">round 1, opening A</a>'
    assert PEN.line(turn("2.opening.a")) == "2.opening.a"
    assert PEN.line(resting(phrase("7"), "1.opening.b")) == '<a href="#t-1.opening.b">7</a>'
    assert PEN.turns(["1.opening.b", "start.blind.judge", "1.opening.a", "1.opening.a"]) == (
        '<a href="#t-start.blind.judge">blind JUDGE</a>; '
        'round 1: <a href="#t-1.opening.b">opening B</a>, <a href="#t-1.opening.a">opening A</a>'
    )


def test_anchors_hold_nothing_odd() -> None:
    """The id of a turn on the page has letters, digits, dots and hyphens alone."""
    assert anchor("1.opening.a") == "t-1.opening.a"
    assert anchor('x" onclick=y <') == "t-x--onclick-y--"


def test_pages_are_linked() -> None:
    """An address shows all of itself, a page that was found its title and host; what is no page of the web is text."""
    url = "https://example.org/x"

    assert PEN.line(page(url)) == f'<a href="{url}" {REL} class="whole">{url}</a>'
    assert PEN.line(found(url, "A <page>")) == f'<a href="{url}" {REL}>A &lt;page&gt;</a> (example.org)'
    assert PEN.line(page("javascript:alert(1)")) == "javascript:alert(1)"
    assert PEN.line(found("javascript:alert(1)", "x")) == "x"
    assert PEN.line(found("", "")) == "a page without an address"


def test_a_table_has_its_scopes() -> None:
    """A table has a caption, heads of columns and a head of each row."""
    made = PEN.table(Table((phrase("a"), phrase("b")), ((phrase("1"), phrase("2")),)), "What <it> is")

    assert "<caption>What &lt;it&gt; is</caption>" in made
    assert made.count('scope="col"') == 2
    assert '<tr><th scope="row">1</th><td>2</td></tr>' in made


def test_parts_are_paragraphs_or_points() -> None:
    """A reply in fields is written as paragraphs, or as the items of a list."""
    parts = [FieldPart("line", "Why", prose("So.")), FieldPart("list", "Notes", items=(prose("one"), prose("two")))]

    assert PEN.block([*parts, FieldPart("quote", said=prose("It is.")), FieldPart("speech", text="All.")]) == (
        "<p><strong>Why:</strong> So.</p>\n<div><strong>Notes:</strong> <ul><li>one</li><li>two</li></ul></div>\n"
        "<blockquote><p>It is.</p></blockquote>\n<p>All.</p>\n"
    )
    assert PEN.points(parts[:1]) == "<li><strong>Why:</strong> So.</li>"


@for_each(NASTY)
def test_nobody_leaves_a_phrase(text: str) -> None:
    """Whatever is said, whatever a page is called and wherever it lies, a line stays a line."""
    said = phrase(text, literal(text), prose(text), cell(text), page(text), found(text, text), turn(text))
    read = page_reading.read(PEN.line((*said, *resting(said, text))))

    assert (read.odd, read.ids, read.outline) == ([], [], [])


@given(texts | st.text())
def test_nobody_leads_elsewhere(text: str) -> None:
    """Whatever an address holds, it leads to the web or nowhere."""
    for url in (text, f"https://example.org/{text}"):
        read = page_reading.read(PEN.line(phrase(page(url), found(url, text))))
        assert read.odd == []


def test_long_cells_are_cards() -> None:
    """A table whose cells are long is a list: its rows under their first cells, what is empty left out."""
    heads = (phrase("Turn"), phrase("Page"), phrase("Kept"))
    made = PEN.cards(Table(heads, ((turn("1.opening.a"), literal("<p>"), ()),)))

    assert made.count("<li>") == 1
    assert "<dt>Page</dt><dd>&lt;p&gt;</dd>" in made
    assert "Kept" not in made
