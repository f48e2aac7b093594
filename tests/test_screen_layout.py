"""Speech becomes lines: none too wide, no word lost, nothing in it that moves a cursor, however it comes in."""

from __future__ import annotations

import re

import nasty
import pytest
from dealing import for_each
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.screen.cells import Line, plain, wide
from debate_orchestrator.screen.layout import Flow, paragraph
from debate_orchestrator.util.sanitize import sanitize

widths = st.integers(2, 130)
texts = st.one_of(st.text(), nasty.texts, st.sampled_from(nasty.NASTY))


def shown(text: str, cells: int, **how: bool | int) -> list[str]:
    """The lines of a text that has ended, without the blanks at their ends."""
    return [plain(one.line).rstrip() for one in Flow(text, **how).close().lines(cells)]  # type: ignore[arg-type]


def black(text: str) -> str:
    """What is not blank, without the signs that are shown as a style."""
    return re.sub(r"[\s*#]", "", text)


def streamed(text: str, cuts: list[int], cells: int) -> list[str]:
    """The lines of a text that comes in pieces, each taken off as soon as it is whole."""
    flow, made = Flow(indent=2, markup=True), list[Line]()
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in zip(places, [*places[1:], len(text)], strict=True):
        flow.feed(text[start:end])
        whole = [one for one in flow.lines(cells) if one.whole]
        flow.take(whole)
        made += [one.line for one in whole]
    return [plain(line).rstrip() for line in [*made, *(one.line for one in flow.close().lines(cells))]]


@given(texts, widths, st.booleans(), st.integers(0, 4))
def test_no_line_is_too_wide(text: str, cells: int, markup: bool, indent: int) -> None:
    """No line is wider than it may be, whatever is said, unless one character alone is."""
    for one in Flow(text, indent=indent, markup=markup).close().lines(cells):
        assert wide(one.line) <= cells or len(plain(one.line).strip()) == 1 or cells < 4


@given(texts, widths)
def test_nothing_moves_a_cursor(text: str, cells: int) -> None:
    """No control character and nothing that hides or reorders text is left in any line."""
    for line in shown(text, cells, markup=True):
        assert sanitize(line) == line and "\n" not in line and "\t" not in line


@given(texts, widths, st.booleans())
def test_nothing_is_lost(text: str, cells: int, markup: bool) -> None:
    """Every character that is not blank is shown, in its place; only signs that become a style may be missing."""
    made = "".join(shown(text, cells, markup=markup))
    expected = re.sub(r"\s", "", sanitize(text))

    assert black(made) == black(expected)
    if not markup:
        assert re.sub(r"\s", "", made) == expected


@given(texts, st.lists(st.integers(0, 500), max_size=12), widths)
def test_streaming_loses_nothing(text: str, cuts: list[int], cells: int) -> None:
    """A text that comes in pieces, each line taken off as soon as it is whole, is all shown, at every width."""
    assert black("".join(streamed(text, cuts, cells))) == black(sanitize(text))


@given(texts, st.lists(st.integers(0, 500), max_size=12), st.integers(40, 130))
def test_streaming_changes_nothing(text: str, cuts: list[int], cells: int) -> None:
    """Where there is room for the beginning of a line, it ends up as the same lines as if it had come at once."""
    assert streamed(text, cuts, cells) == shown(text, cells, indent=2, markup=True)


@given(texts, st.lists(st.tuples(st.integers(0, 5), widths), max_size=8))
def test_a_width_may_change_in_the_middle(text: str, taken: list[tuple[int, int]]) -> None:
    """Lines may be taken off at one width and the rest at another: nothing is lost or told twice."""
    flow, made = Flow(text, markup=True).close(), list[str]()
    for count, cells in [*taken, (10**6, 40)]:
        lines = flow.lines(cells, count)
        flow.take(lines)
        made += [plain(one.line) for one in lines]

    assert black("".join(made)) == black(sanitize(text))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("one\ntwo", ["one", "two"]),
        ("one\n\n\n\ntwo\n\n", ["one", "", "two"]),
        ("\n\none", ["one"]),
        ("- one two three", ["- one two", "  three"]),
        ("10. one two", ["10. one", "    two"]),
        ("  one two three", ["  one two", "  three"]),
        ("> one two three", ["> one two", "  three"]),
        ("abcdefghijkl", ["abcdefghi", "jkl"]),
        ("日本語日本語", ["日本語日", "本語"]),
        ("日本語日、本語", ["日本語", "日、本語"]),
        ("a   b", ["a b"]),
        ("    a   b", ["    a   b"]),
        ("```\na   b\n```", ["```", "a   b", "```"]),
        ("| a | b |", ["| a | b |"]),
        ("one\r\ntwo\rthree", ["one", "two", "three"]),
    ],
)
def test_how_it_is_laid_out(text: str, lines: list[str]) -> None:
    """Words stay whole where they fit, lists hang, blank lines count once, code and tables keep their blanks."""
    assert shown(text, 9) == lines


@pytest.mark.parametrize(
    ("text", "bold", "rest"),
    [
        ("**yes** no", ["yes"], " no"),
        ("## A heading", ["A heading"], ""),
        ("a **b c** d", ["b c"], "a d"),
        ("(**b**)", ["b"], "()"),
        ("2**3 and 4 ** 5", [], "2**3 and 4 ** 5"),
        ("`**kwargs`", [], "`**kwargs`"),
        ("**never closed", ["never closed"], ""),
    ],
)
def test_markdown_is_styled_lightly(text: str, bold: list[str], rest: str) -> None:
    """Headings and strong words are bold instead of marked; within code, and between figures, signs are signs."""
    (one,) = Flow(text, markup=True).close().lines(80)

    assert [span.text.strip() for span in one.line if span.style == "bold"] == bold
    assert "".join(span.text for span in one.line if span.style != "bold").strip() == rest.strip()
    assert shown(text, 80, markup=False) == [text]


def test_an_unfinished_line_may_change() -> None:
    """A line is whole when nothing can be added to it: the last one of an open text is not."""
    flow = Flow("one two thr")
    whole = [(plain(one.line), one.whole) for one in flow.lines(8)]
    flow.feed("ee")

    assert whole == [("one two", True), ("thr", False)]
    assert [plain(one.line) for one in flow.close().lines(8)] == ["one two", "three"]


@for_each(nasty.HUGE)
def test_huge_texts_come_to_an_end(name: str) -> None:
    """Two hundred thousand characters of anything are laid out, in lines that a terminal can take."""
    most = 2_000 if name in ("space", "link", "nested quote") else 400
    assert all(wide(one.line) <= 80 for one in Flow(nasty.HUGE[name], markup=True).close().lines(80, most))


@pytest.mark.parametrize("flood", ["\u0301", "**", " ", "\u200d"])
def test_floods_without_width(flood: str) -> None:
    """What takes no cell fills no endless line: it is broken off, and goes on in the next."""
    flow = Flow(markup=True)
    for _ in range(50):
        flow.feed(flood * 200)
        flow.take([one for one in flow.lines(80) if one.whole])
    flow.feed("x")

    assert max(len(plain(one.line)) for one in flow.close().lines(80)) < 4_000


def test_a_paragraph() -> None:
    """What the house says is wrapped as it is, signs and all."""
    assert [plain(line) for line in paragraph("**a** b", 5, style="dim")] == ["**a**", "b"]
