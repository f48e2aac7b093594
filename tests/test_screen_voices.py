"""Speeches of one stage: side by side where there is room, one after the other elsewhere, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Sequence

import debates
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen.cells import Line, plain, wide
from debate_orchestrator.screen.voices import COLUMN, Floor, Voice, columns

BETWEEN = " | "


def two() -> list[Voice]:
    """The voices of both challenges, which are due together."""
    debate = DebateState(debates.played(until="1.challenge.a"))
    return [Voice(turn, f"Challenge {turn.seat.upper()}", "", 0.0) for turn in debate.due()]


def spoken(voice: Voice, text: str) -> None:
    """The whole of a speech."""
    voice.begin(0.0)
    voice.hear(text)
    voice.settle(text)


def texts(lines: Sequence[Line]) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def numbered(name: str, count: int) -> str:
    """A speech of so many words, each of which is told from all others."""
    return " ".join(f"{name}{n}" for n in range(count))


def test_one_after_the_other() -> None:
    """In a narrow terminal the first is shown as it is written, and the second is kept until the first has ended."""
    first, second = two()
    floor = Floor([first, second])
    first.begin(0.0)
    second.begin(0.0)
    first.hear("I hold")
    second.hear("I deny it.")
    shown, still_open = floor.rows(60, 20, BETWEEN)
    assert texts([*shown, *still_open]) == ["Challenge A", "", "  I hold"]

    second.settle("I deny it.")
    assert texts(floor.rows(60, 20, BETWEEN)[0]) == []
    first.settle("I hold it.")
    assert texts(floor.rows(60, 20, BETWEEN)[0]) == ["  I hold it.", "", "Challenge B", "", "  I deny it."]
    assert floor.settled


def test_side_by_side() -> None:
    """In a wide terminal each has its column, and a row is finished when neither can add to it."""
    first, second = two()
    floor = Floor([first, second])
    for voice in (first, second):
        voice.begin(0.0)
    first.hear("One.\n\nTwo.\n\nThree.")
    finished, still_open = floor.rows(119, 20, BETWEEN)
    assert texts(finished)[0].split(BETWEEN.strip()) == ["Challenge A".ljust(59), " Challenge B"]
    assert [line.split("|")[0].strip() for line in texts(still_open)] == ["", "One.", "", "Two.", "", "Three."]

    second.settle("Un.")
    finished, still_open = floor.rows(119, 20, BETWEEN)
    assert [line.split("|")[1].strip() for line in texts(finished)] == ["", "Un.", "", "", ""]
    first.settle("One.\n\nTwo.\n\nThree.")
    assert len(floor.rows(119, 20, BETWEEN)[0]) == 1


def test_columns_have_room_or_are_not() -> None:
    """Two columns stand in 120 columns less the last one, none in fewer, and none where nothing may stand between."""
    assert columns(2, 119, BETWEEN) == COLUMN
    assert columns(2, 118, BETWEEN) == 0
    assert columns(2, 300, "") == 0
    assert columns(1, 300, BETWEEN) == 0


def test_no_more_is_open_than_there_is_room() -> None:
    """Where one is far ahead of the other, what is open fills the room and no more; the rest comes when it can."""
    first, second = two()
    floor = Floor([first, second])
    spoken(first, "\n\n".join(f"Line {n}." for n in range(40)))
    second.begin(0.0)
    finished, still_open = floor.rows(119, 10, BETWEEN)
    assert (len(finished), len(still_open)) == (1, 10)

    second.settle("Short.")
    rows = texts(floor.rows(119, 10, BETWEEN)[0])
    assert "Line 39." in rows[-1] and len(rows) == 80


def test_an_attempt_that_broke_off() -> None:
    """What broke off is marked and does not count; the next attempt is shown from its beginning."""
    first, _ = two()
    floor = Floor([first])
    first.begin(0.0)
    first.hear("I was about to")
    first.break_off("the line dropped. Asked again in 3 s.", 3.0)
    assert (first.until, first.words) == (3.0, 0)
    first.begin(4.0)
    first.settle("I say it all.")

    assert texts(floor.rows(80, 20, "")[0]) == [
        "Challenge A",
        "",
        "  I was about to",
        "",
        "-- broken off here, and not counted: the line dropped. Asked again in 3 s.",
        "",
        "Challenge A (asked again)",
        "",
        "  I say it all.",
    ]


def test_nothing_came() -> None:
    """Where nothing had come, nothing is called broken off: only the trouble is told."""
    first, _ = two()
    first.begin(0.0)
    first.break_off("HTTP 529.", 1.0)
    first.begin(1.0)

    assert "HTTP 529." in texts(Floor([first]).rows(80, 20, "")[0])


def test_another_text_than_was_heard() -> None:
    """Where the record holds another speech than was heard, it is said so, and the one on record is shown."""
    first, _ = two()
    first.begin(0.0)
    first.hear("Something else.")
    first.settle("What is on record.")
    lines = texts(Floor([first]).rows(80, 20, "")[0])

    assert "-- what is on record is not what was heard on the way:" in lines
    assert lines[-1] == "  What is on record."


def test_blanks_are_no_difference() -> None:
    """A speech that is on record without the blanks around it is the one that was heard."""
    first, _ = two()
    first.begin(0.0)
    first.hear("\nSaid. \n")
    first.settle("Said.")

    assert texts(Floor([first]).rows(80, 20, "")[0]) == ["Challenge A", "", "  Said."]


def test_what_is_not_for_others() -> None:
    """What a speaker keeps private is shown to nobody, neither as it comes nor at the end."""
    first, _ = two()
    first = Voice(first.turn, "Challenge A", "", 0.0, "aside")
    first.begin(0.0)
    for piece in ("Open. ", "<asi", "de>my ", "weak spot", "</aside> And", " done."):
        first.hear(piece)
        assert "weak" not in " ".join(plain(one.line) for one in first.peek(80))
    first.settle("Open. <aside>my weak spot</aside> And done.")

    assert texts(Floor([first]).rows(80, 20, "")[0])[-2:] == ["  Open.", "   And done."]


def test_left_before_its_end() -> None:
    """A speech that nobody listens to any more is shown as far as it came, and said to be left."""
    first, second = two()
    floor = Floor([first, second])
    first.begin(0.0)
    first.hear("I was")
    floor.leave()

    assert "-- left here, before its end." in texts(floor.rows(80, 20, "")[0])


def test_speech_is_set_in() -> None:
    """What is said is set in and what the engine says is not, so that no speech passes for a banner or a score."""
    first, _ = two()
    spoken(first, "--- ROUND 2 OF 3 ---\nScores: A: 10 | B: 1 | Winner: A\n-- broken off here\nChallenge B")

    assert all(line.startswith("  ") for line in texts(Floor([first]).rows(80, 20, "")[0])[2:])


def test_words_are_counted_across_pieces() -> None:
    """A word that comes in two pieces is one word."""
    first, _ = two()
    first.begin(0.0)
    for piece in ("one t", "wo ", "", " three", "\n", "four"):
        first.hear(piece)

    assert first.words == 4


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 60), st.sampled_from([20, 60, 119, 160])), max_size=12))
def test_whatever_changes_every_word_is_shown_once(steps: list[tuple[int, int, int]]) -> None:
    """However both come in and however often the terminal changes its width, each word is finished exactly once, and
    those of one speech in their order."""
    voices, said = two(), [numbered("a", 200), numbered("b", 200)]
    floor, heard, rows = Floor(voices), [0, 0], list[Line]()
    for voice in voices:
        voice.begin(0.0)
    for who, count, cells in steps:
        voices[who].hear(said[who][heard[who] : heard[who] + count])
        heard[who] += count
        finished, still_open = floor.rows(cells, 15, BETWEEN)
        assert all(wide(line) <= cells for line in [*finished, *still_open])
        rows += finished
    for voice, text in zip(voices, said, strict=True):
        voice.settle(text)
    rows += floor.rows(160, 15, BETWEEN)[0]
    words = " ".join(texts(rows)).split()

    for text in said:
        assert [word for word in words if word in set(text.split())] == text.split()


@pytest.mark.parametrize("tag", ["", "aside"])
def test_small_pieces_take_time_in_proportion(tag: str) -> None:
    """A speech in small pieces takes as long for each piece whether it is short or long, both shown and kept."""

    def seconds(pieces: int) -> float:
        shown, kept = (Voice(one.turn, "Challenge", "", 0.0, tag) for one in two())
        floor = Floor([shown, kept])
        began = time.process_time()
        for n in range(pieces):
            shown.hear("four")
            kept.hear(" and")
            if n % (pieces // 10) == 0:
                floor.rows(60, 20, "")
        assert kept.words == pieces
        return time.process_time() - began

    assert seconds(80_000) < 30 * max(seconds(8_000), 0.01)
