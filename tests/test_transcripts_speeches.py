"""The rounds that the speeches of a transcript belong to."""

from __future__ import annotations

import pytest

from debate_orchestrator.reports import markup
from debate_orchestrator.transcripts import attribution
from debate_orchestrator.transcripts.speeches import (
    ARGUMENT,
    Mark,
    Walk,
    bare,
    is_missed,
    left_open,
    misnamed,
    plainly,
    told,
)


def walked(*steps: tuple[str, str, str]) -> tuple[list[tuple[str, int, str]], list[tuple[int, str]]]:
    """Goes through marks (kind, label, text); side, round and title of each speech, and what was refused."""
    refused: list[tuple[int, str]] = []
    walk = Walk(lambda line, got, expected, hint="": refused.append((line, got)))
    levels = {"round": 2, "section": 3, "speaker": 4}
    for n, (kind, text, said) in enumerate(steps):
        mark = Mark(n, n, kind, attribution.read(text), text, levels[kind])
        if kind == "speaker":
            walk.speak(mark, mark.label.side or "a", said)
        else:
            walk.turn_page(mark, said)
    return [(one.side, one.round, one.title) for one in walk.speeches()], refused


def test_rounds_as_they_are_marked() -> None:
    """A speech belongs to the round whose heading it stands under."""
    found, refused = walked(
        ("round", "Round 1", ""),
        ("speaker", "Pro", "x"),
        ("speaker", "Con", "x"),
        ("round", "Round 2: Rebuttals", ""),
        ("speaker", "Con", "x"),
        ("section", "Closing", ""),
        ("speaker", "Pro", "x"),
    )

    assert found == [("a", 1, ARGUMENT), ("b", 1, ARGUMENT), ("b", 2, "Rebuttals"), ("a", 2, "Closing")]
    assert refused == []


def test_rounds_that_stand_beside_the_speaker() -> None:
    """`Round 1 - Pro` opens its round once."""
    found, _ = walked(
        ("speaker", "Round 1 - Pro", "x"),
        ("speaker", "Round 1 - Con", "x"),
        ("speaker", "Round 2 - Pro", "x"),
    )

    assert found == [("a", 1, ARGUMENT), ("b", 1, ARGUMENT), ("a", 2, ARGUMENT)]


def test_exchanges_where_no_round_is_marked() -> None:
    """A new round begins where the first speaker speaks again after the other."""
    found, _ = walked(*(("speaker", name, "x") for name in ("Con", "Con", "Pro", "Con", "Pro", "Pro", "Con")))

    assert [(side, round) for side, round, _ in found] == [
        ("b", 1),
        ("b", 1),
        ("a", 1),
        ("b", 2),
        ("a", 2),
        ("a", 2),
        ("b", 3),
    ]


def test_what_is_refused() -> None:
    """Text that is nobody's, a speech without a word, a heading amid the rounds, and rounds out of order."""
    _, refused = walked(
        ("round", "Round 1", "Welcome."),
        ("speaker", "Pro", " "),
        ("section", "Sources", ""),
        ("round", "Round 3", ""),
        ("speaker", "Con", "x"),
    )

    assert refused == [
        (0, "text under 'Round 1', which names no speaker"),
        (1, "'Pro' without a word"),
        (2, "the heading 'Sources' amid the rounds"),
        (3, "round 3 after round 1"),
    ]


def marks(*texts: str) -> list[Mark]:
    """Marks ten lines apart; those that name a round are rounds."""
    labels = [(text, attribution.read(text)) for text in texts]
    return [
        Mark(n * 10, n * 10 + 1, "speaker" if label.speaks else "round", label, text, 7)
        for n, (text, label) in enumerate(labels)
    ]


def whose(mark: Mark) -> str:
    return mark.label.side or mark.label.name


@pytest.mark.parametrize(
    ("texts", "line", "missed"),
    [
        (("A", "A", "B"), 5, True),
        (("A", "B", "A", "B"), 5, False),
        (("A", "B", "A"), 25, True),
        (("A", "B", "A", "B"), 35, False),
        (("Round 1", "A", "Round 2", "A", "B"), 15, True),
        (("Round 1", "B", "A", "Round 2", "A", "B"), 25, False),
        (("B", "A"), 5, False),
        (("Round 1", "A"), 5, False),
    ],
)
def test_a_turn_that_is_missed(texts: tuple[str, ...], line: int, missed: bool) -> None:
    """B misses a turn in A's speech where A speaks again next, or speaks oftener in its round."""
    assert is_missed(marks(*texts), line, whose, "b") is missed


@pytest.mark.parametrize(
    ("ones", "others", "lines"),
    [
        (("FOR", "FOR"), ("AGAINST",), []),
        (("Claude (Pro)", "Claude", "Claude (arguing for)"), ("GPT-4o (Against)",), []),
        (("Pro: jobs", "Pro: trade"), ("Con: debt",), []),
        (("Claude", "Claude"), ("GPT-4o (Con)", "gpt-4o"), []),
        (("FOR", "For", "FOR"), ("AGAINST",), [10]),
        (("Claude (Pro)", "Pro", "Claude (Pro)"), ("GPT-4o (Con)",), [10]),
        (("Pro", "Yes", "A", "Pro"), ("Con",), [10, 20]),
        (("Claude",), ("No",), [0]),
        (("FOR",), ("Con",), [0]),
    ],
)
def test_speakers_who_are_misnamed(ones: tuple[str, ...], others: tuple[str, ...], lines: list[int]) -> None:
    """A speaker is called by one word or one name, and two speakers by names or by a pair of words."""
    assert [line for line, *_ in misnamed(marks(*ones), marks(*others))] == lines


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (("A", "B", "A", "B"), []),
        (("A", "B", "Round 2", "B", "A"), []),
        (("A", "B", "B", "A"), [20]),
        (("A", "B", "A"), [10]),
        (("Pro", "B", "A", "B"), [20]),
    ],
)
def test_plain_labels(texts: tuple[str, ...], lines: list[int]) -> None:
    """Plain labels of a speaker are alike, twice or more, and never follow one another."""
    assert [line for line, *_ in plainly(marks(*texts), whose, set())] == lines


def test_many_lines_make_a_short_note() -> None:
    """A note names ten labels and ten lines of each, and how many more there are."""
    note = told({f"x{n}": list(range(1, 21)) for n in range(12)})

    assert "'x9' (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 10 more), and 2 more." in note
    assert told({"No": [7]}).endswith("'No' (line 7).")


def test_the_ends_of_a_speech() -> None:
    """Blank lines at either end and the rules below a speech are no part of it."""
    assert bare(["", "x", "", "---", "y", "", "---", ""]) == "x\n\n---\ny"


@pytest.mark.parametrize(
    ("text", "fence"), [("```\nx", "```"), ("```\nx\n```", ""), ("~~~~\nx\n~~~", "~~~~"), ("x", "")]
)
def test_code_that_is_left_open(text: str, fence: str) -> None:
    """A code block at the end that nothing closes is found by its marks."""
    assert left_open(text.split("\n"), markup.outline(text)[-1]) == fence
