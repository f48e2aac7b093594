"""A phrase is runs of words that keep whose they are."""

from __future__ import annotations

from debate_orchestrator.reports.rich_text import (
    TextRun,
    cell,
    found,
    joined,
    literal,
    page,
    phrase,
    plain,
    prose,
    resting,
    strong,
    turn,
)


def test_words_keep_whose_they_are() -> None:
    """Plain strings are the report's own words, and every other run says what it is."""
    said = phrase(
        "By ", literal("x"), plain("y"), prose("z"), cell("c"), turn("1.opening.a"), page("u"), found("u", "t")
    )

    assert [run.kind for run in said] == ["own", "literal", "plain", "prose", "cell", "turn", "page", "found"]
    assert said[-1] == TextRun("t", "found", to="u")


def test_what_is_empty_says_nothing() -> None:
    """Empty words leave no run, so that an empty phrase is false."""
    assert phrase("", literal(""), prose("")) == joined(", ", []) == strong("") == ()


def test_phrases_are_joined_and_set_off() -> None:
    """Words stand between each two, and what is strong is so to its last run."""
    assert joined(", ", ["a", literal("b")]) == (TextRun("a"), TextRun(", "), TextRun("b", "literal"))
    assert strong("a", literal("b")) == (TextRun("a", strong=True), TextRun("b", "literal", strong=True))


def test_words_rest_on_a_turn() -> None:
    """Every run of a number names the ballot that it comes from, where there is one."""
    assert resting(phrase("7", literal("x")), "1.verdict.judge") == (
        TextRun("7", to="1.verdict.judge"),
        TextRun("x", "literal", to="1.verdict.judge"),
    )
    assert resting(phrase("7"), None) == phrase("7")
