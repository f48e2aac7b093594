"""Speeches become rows as they stream: none too wide, no word lost, and nothing in them moves a cursor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import debates
import hostile_texts
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.private_text import without_private
from debate_orchestrator.terminal.display import Row
from debate_orchestrator.terminal.speeches import SpeechView, StageView
from debate_orchestrator.util.sanitize import sanitize

TEXTS = st.one_of(st.text(max_size=60), hostile_texts.texts, st.sampled_from(hostile_texts.NASTY))
CUTS = st.lists(st.integers(0, 500), max_size=12)


def challenges() -> list[SpeechView]:
    """Both challenges, which are due together, asked for."""
    debate = fold(debates.played(until="1.challenge.a"))
    speeches = [SpeechView(turn, f"Challenge {turn.seat.upper()}", "", 0.0, "aside") for turn in debate.due]
    for speech in speeches:
        speech.begin(0.0)
    return speeches


def texts(rows: Sequence[Row]) -> list[str]:
    return ["".join(cell.plain for cell in row).rstrip() for row in rows]


def printed(stage: StageView, width: int = 80, room: int = 20) -> list[str]:
    """The rows that are final now."""
    return texts(stage.rows(width, room)[0])


def pieces(text: str, cuts: Sequence[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def streamed(text: str, cuts: Sequence[int], widths: Sequence[int]) -> list[str]:
    """The rows of a speech that comes in pieces, each looked at in another width, without its heading."""
    speech = challenges()[0]
    stage, rows = StageView([speech], 80), list[Row]()
    for n, piece in enumerate(pieces(text, cuts)):
        speech.hear(piece)
        finished, still_open = stage.rows(widths[n % len(widths)], 20)
        for row in [*finished, *still_open]:
            assert sum(cell_len(cell.plain) for cell in row) <= max(widths[n % len(widths)], 4)
        rows += finished
    speech.show_recorded(text)
    return texts([*rows, *stage.rows(widths[0], 20)[0]])


def visible(text: str) -> str:
    """What is not blank, without the signs that are shown as a style."""
    return re.sub(r"[\s*#]", "", text)


@given(TEXTS, CUTS, st.lists(st.integers(4, 130), min_size=1, max_size=6))
def test_nothing_is_lost(text: str, cuts: list[int], widths: list[int]) -> None:
    """However a text comes and however often the width changes, every visible character is shown once, in its place;
    no row is too wide, and no control character is left."""
    spoken = without_private(sanitize(text))
    rows = streamed(text, cuts, widths)
    shown = " ".join(row for row in rows if not row.strip().startswith("-- what"))
    assert all(sanitize(row) == row and "\n" not in row for row in rows)
    if "-- what" not in " ".join(rows):
        assert visible(shown) == f"ChallengeA{visible(spoken)}"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("one two three four", ["  one two three", "  four"]),
        ("one\ntwo", ["  one", "  two"]),
        ("one\n\n\n\ntwo\n\n", ["  one", "", "  two"]),
        ("- one two three four", ["  - one two", "  three four"]),
        ("abcdefghijklmnopq", ["  abcdefghijklmn", "  opq"]),
        ("日本語日本語日本語", ["  日本語日本語日", "  本語"]),
        ("```\na   b\n**b**\n```", ["  ```", "  a   b", "  **b**", "  ```"]),
        ("| a | b |", ["  | a | b |"]),
        ("one\r\ntwo\rthree", ["  one", "  two", "  three"]),
    ],
)
def test_how_it_is_laid_out(text: str, rows: list[str]) -> None:
    """Words stay whole where they fit, blank lines count once, code and tables keep their blanks, and all
    of it is indented."""
    assert streamed(text, [], [16])[2:] == rows


def test_one_after_the_other() -> None:
    """In a narrow terminal the first is shown as it is written, and the second is kept until the first has ended."""
    first, second = challenges()
    stage = StageView([first, second], 60)
    first.hear("I hold")
    second.hear("I deny it.")
    finished, still_open = stage.rows(60, 20)
    assert texts([*finished, *still_open]) == ["Challenge A", "", "  I hold"]

    second.show_recorded("I deny it.")
    assert printed(stage, 60) == []
    first.show_recorded("I hold it.")
    assert printed(stage, 60) == ["  I hold it.", "", "Challenge B", "", "  I deny it."]


def test_side_by_side() -> None:
    """In a wide terminal each has its column, and a row is final when neither can add to it."""
    first, second = challenges()
    stage = StageView([first, second], 119)
    first.hear("One.\n\nTwo.\n\nThree.")
    finished, still_open = stage.rows(119, 20)
    assert [part.strip() for part in texts(finished)[0].split("│")] == ["Challenge A", "Challenge B"]
    assert [row.split("│")[0].strip() for row in texts(still_open)] == ["", "One.", "", "Two.", "", "Three."]

    second.show_recorded("Un.")
    assert [row.split("│")[1].strip() for row in printed(stage, 119)] == ["", "Un.", "", "", ""]
    first.show_recorded("One.\n\nTwo.\n\nThree.")
    assert len(printed(stage, 119)) == 1


def test_open_rows_fit_the_screen() -> None:
    """Where one is far ahead of the other, its open rows fill the room and no more; the rest comes when it can."""
    first, second = challenges()
    stage = StageView([first, second], 119)
    first.show_recorded("\n\n".join(f"Line {n}." for n in range(40)))
    assert [len(rows) for rows in stage.rows(119, 10)] == [1, 10]

    second.show_recorded("Short.")
    rows = printed(stage, 119, 10)
    assert "Line 39." in rows[-1] and len(rows) == 80


def test_another_text_than_was_heard() -> None:
    """Where another speech is on record than was heard, that is said and the record is shown; blanks around it are no
    difference."""
    first, second = challenges()
    first.hear("Something else.")
    first.show_recorded("What is on record.")
    rows = printed(StageView([first], 80))
    assert "-- what is on record is not what was heard on the way:" in rows
    assert rows[-1] == "  What is on record."

    second.hear("\nSaid. \n")
    second.show_recorded("Said.")
    assert printed(StageView([second], 80)) == ["Challenge B", "", "  Said."]


def test_speech_is_indented() -> None:
    """SpeechView is indented and the engine's words are not, so no speech passes for a banner or a score."""
    first = challenges()[0]
    first.show_recorded("--- ROUND 2 OF 3 ---\nScores: A: 10 | B: 1 | Winner: A\n-- broken off here\nChallenge B")
    assert all(row.startswith("  ") for row in printed(StageView([first], 80))[2:])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 60), st.sampled_from([20, 60, 119, 160])), max_size=12))
def test_every_word_is_printed_once(steps: list[tuple[int, int, int]]) -> None:
    """However two speeches come in and however the width changes, each word is printed exactly once, in order."""
    speeches = challenges()
    sources = [" ".join(f"{name}{n}" for n in range(200)) for name in "ab"]
    stage, heard, rows = StageView(speeches, 119), [0, 0], list[str]()
    for side, count, width in steps:
        speeches[side].hear(sources[side][heard[side] : heard[side] + count])
        heard[side] += count
        rows += printed(stage, width, 15)
    for speech, source in zip(speeches, sources, strict=True):
        speech.show_recorded(source)
    words = " ".join([*rows, *printed(stage, 160, 15)]).split()

    for source in sources:
        assert [word for word in words if word in set(source.split())] == source.split()
