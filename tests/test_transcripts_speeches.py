"""The rounds that the speeches of a transcript belong to."""

from __future__ import annotations

from debate_orchestrator.transcripts import attribution
from debate_orchestrator.transcripts.speeches import ARGUMENT, Mark, Walk


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
