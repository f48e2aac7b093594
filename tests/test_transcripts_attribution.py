"""Who a line of a transcript names: sides, names, rounds and kinds of turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.transcripts.attribution import (
    ALONE,
    BOLD,
    PLAIN,
    beginning,
    is_about,
    is_other,
    is_pair,
    key,
    participants,
    read,
    semblance,
    side,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FOR", ("", "a", "", None)),
        ("**AGAINST:**", ("", "b", "", None)),
        ("A", ("", "a", "", None)),
        ("The Affirmative", ("The Affirmative", "a", "", None)),
        ("Speaker B", ("Speaker B", "b", "", None)),
        ("Speaker 2", ("Speaker 2", "b", "", None)),
        ("GPT-4o", ("GPT-4o", None, "", None)),
        ("Claude (Pro)", ("Claude", "a", "", None)),
        ("Claude 3.5 (arguing against)", ("Claude 3.5", "b", "", None)),
        ("Claude (Opus)", ("Claude (Opus)", None, "", None)),
        ("FOR: GPT-4o", ("GPT-4o", "a", "", None)),
        ("Opening Statement — Researcher A", ("Researcher A", "a", "Opening Statement", None)),
        ("Claude (Con) - Closing statement", ("Claude", "b", "Closing statement", None)),
        ("Claude's Rebuttal", ("Claude", None, "Rebuttal", None)),
        ("Pro Rebuttal", ("", "a", "Rebuttal", None)),
        ("Opening Statement by Claude", ("Claude", None, "Opening Statement", None)),
        ("Round 2", ("", None, "", 2)),
        ("Round Three: Rebuttals", ("", None, "Rebuttals", 3)),
        ("--- ROUND 1 OF 3 ---", ("", None, "", 1)),
        ("Round 1 - Pro", ("", "a", "", 1)),
        ("Opening Statements", ("", None, "Opening Statements", None)),
        ("A new idea", ("A new idea", None, "", None)),
        ("Pro (Con)", ("", None, "", None)),
        ("", ("", None, "", None)),
    ],
)
def test_what_labels_name(text: str, expected: tuple[str, str | None, str, int | None]) -> None:
    """Sides, names, kinds of turn and rounds are told apart, and what contradicts itself is no side."""
    assert tuple(read(text))[:4] == expected


@given(st.text())
def test_any_label_is_read(text: str) -> None:
    """Nothing that stands in a label is an error, and a name is never made of nothing."""
    label = read(text)

    assert label.side in (None, "a", "b")
    assert key(text) or not text
    assert side(text) in (None, "a", "b")


def test_judges_take_no_side() -> None:
    """A judge or a moderator is told from a speaker by the word."""
    assert [is_other(name) for name in ("Moderator", "The Judge", "Judge Verdict", "Judy", "Hostess")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_one_name_written_twice() -> None:
    """Case and punctuation do not make another name."""
    assert key("GPT-4o") == key("gpt 4O") != key("GPT-4")


@pytest.mark.parametrize(
    "lines",
    [
        ["**FOR:** GPT-4o", "**AGAINST:** Claude Opus"],
        ["- GPT-4o (FOR)", "- Claude Opus (AGAINST)"],
        ["**Participants:** GPT-4o (FOR), Claude Opus (AGAINST)"],
        ["Debaters: GPT-4o (Pro) vs. Claude Opus (Con)"],
        ["1. GPT-4o: FOR", "2. Claude Opus: AGAINST"],
    ],
)
def test_participants_in_several_ways(lines: list[str]) -> None:
    """Who takes which side is read from lists, pairs and sentences of names."""
    found = participants(lines)

    assert found.names == {"a": "GPT-4o", "b": "Claude Opus"}
    assert found.sides == {key("GPT-4o"): "a", key("Claude Opus"): "b"}
    assert found.positions == {}


def test_topic_and_positions() -> None:
    """The topic has its line; a sentence beside a side, or behind its position, is what it argues."""
    found = participants(
        ["# Debate", "**Topic:** Is it so?", "**Claude (Pro):** It is.", "Position B: It is not so", "Topic: Another"]
    )

    assert found.topic == "Is it so?"
    assert found.positions == {"a": "It is.", "b": "It is not so"}
    assert found.names == {"a": "Claude"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("FOR", "FOR"),
        ("For", "For"),
        ("Claude (Pro)", "Pro"),
        ("FOR: GPT-4o", "FOR"),
        ("Pro Rebuttal", "Pro"),
        ("Round 1 - Con", "Con"),
        ("Speaker B", "Speaker B"),
        ("Claude", ""),
        ("Pro (Con)", ""),
    ],
)
def test_the_word_that_tells_a_side(text: str, word: str) -> None:
    """A label keeps the word that told its side, to the letter; what contradicts itself has none."""
    assert read(text).word == word


@pytest.mark.parametrize(
    ("one", "other", "pair"),
    [
        ("FOR", "Against", True),
        ("contra", "pro", True),
        ("a", "B", True),
        ("Affirmative", "Negative", True),
        ("Claude", "Opposition", True),
        ("FOR", "No", False),
        ("Claude", "No", False),
        ("A", "A", False),
    ],
)
def test_words_that_are_a_pair(one: str, other: str, pair: bool) -> None:
    """Everyday words name sides in pairs alone; other words with whatever else."""
    assert is_pair(one, other) is is_pair(other, one) is pair


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("**FOR:** x", (BOLD, "FOR", "x")),
        ("**FOR**: x", (BOLD, "FOR", "x")),
        ("__FOR:__", (BOLD, "FOR", "")),
        ("**FOR**", (ALONE, "FOR", "")),
        ("FOR: x", (PLAIN, "FOR", "x")),
        ("- FOR: x", None),
        ("> FOR: x", None),
        ("*FOR:* x", None),
        ("**FOR** x", None),
        ("12:30", None),
        ("FOR", None),
    ],
)
def test_labels_that_lines_begin_with(line: str, expected: tuple[str, str, str] | None) -> None:
    """A label is bold with a colon, bold and alone, or plain with a colon; in a list or a quotation it is none."""
    assert beginning(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- FOR: x", ("FOR", True)),
        ("1. **FOR:** x", ("FOR", True)),
        ("> > _FOR:_ x", ("FOR", True)),
        ('"FOR": x', ("FOR", True)),
        ("#### No", ("No", False)),
        ("**FOR** x", ("FOR", False)),
        ("FOR — x", ("FOR", False)),
        ("FOR", ("FOR", False)),
        ("He **said** it", None),
        ("x" * 200, None),
        ("", None),
    ],
)
def test_what_could_pass_for_a_label(line: str, expected: tuple[str, bool] | None) -> None:
    """Whatever marks a name stands in at the beginning of a line, it is found, and whether a colon follows."""
    assert semblance(line) == expected


def test_labels_about_the_debate() -> None:
    """A note, a topic or a word limit is nobody's label; a cost is."""
    assert [is_about(text) for text in ("Note", "topic", "Word limit", "Cost", "FOR")] == [
        True,
        True,
        True,
        False,
        False,
    ]
