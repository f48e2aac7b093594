"""Markdown read back: the blocks of a document, and the speeches that a report's markdown was made of."""

from __future__ import annotations

import pytest
from dealing import for_each
from hypothesis import given
from nasty import HUGE, NASTY, texts

from debate_orchestrator.reports.markup import LONGEST, block, literal, outline, unescaped, unliteral

pytestmark = pytest.mark.slow

ORDINARY = [
    "Plain words.\n\nAnd *more* of `them`.", "# A heading\n\ntext", "a list:\n\n- one\n- two <b>\n\n1. three", "---",
    "x < y and List<int> and [a](javascript:x) and ![i](u)", "```python\n# no heading\nx = '<b>'\n```\nafter <b>",
    "| a | b |\n|---|---|\n| 1 | <i> |", "a \\* star, a C:\\path, \\(x\\)",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_speech_comes_back(text: str) -> None:
    """What people and models write comes back to the letter."""
    assert unescaped(block(text)) == text


@for_each(NASTY)
def test_whatever_comes_back_is_told_the_same(text: str) -> None:
    """A speech read back from a report makes the same report again."""
    assert block(unescaped(block(text))) == block(text)


@given(texts)
def test_any_speech_is_told_the_same(text: str) -> None:
    """So does a speech of any structure."""
    assert block(unescaped(block(text))) == block(text)


def test_a_long_speech_comes_back_out_of_its_code() -> None:
    """What is too long to be parsed is shown as code, and is a speech again."""
    text = "word\n" * LONGEST

    assert unescaped(block(text)) == text.strip("\n")


@given(texts)
def test_a_line_comes_back(text: str) -> None:
    """What `literal` makes of a line is undone."""
    once = unliteral(literal(text))

    assert literal(once) == literal(text)
    assert unliteral(literal("a *b* [c](d) <e> & f_g")) == "a *b* [c](d) <e> & f_g"


def test_the_blocks_of_a_document() -> None:
    """Headings of both kinds, paragraphs, rules and code are told with their lines; what is inside others is not."""
    text = "# One #\n\ntext\nmore\n\nTwo\n---\n\n- ## inside\n\n```\n# code\n```\n***\n"
    found = [(one.kind, one.level, one.first, one.end, one.text) for one in outline(text)]

    assert found == [
        ("heading", 1, 0, 1, "One"),
        ("paragraph", 0, 2, 4, "text\nmore"),
        ("heading", 2, 5, 7, "Two"),
        ("bullet_list_open", 0, 8, 10, ""),
        ("fence", 0, 10, 13, ""),
        ("rule", 0, 13, 14, ""),
    ]


@for_each(HUGE)
def test_large_documents_have_blocks_too(name: str) -> None:
    """Text made to be slow is outlined without trouble, and the blocks follow each other."""
    found = outline(HUGE[name][:50_000])

    assert all(one.first < one.end for one in found)
    assert [one.first for one in found] == sorted(one.first for one in found)
