"""Finished rows stay in the scroll-back, open rows are written over; speeches become rows as they stream: none is too
wide, no word is lost, and nothing in them moves a cursor."""

from __future__ import annotations

import io
import itertools
import re
import unicodedata
from collections.abc import Sequence

import debates
import hostile_texts
import pytest
from corpus import for_each
from fake_terminal import FakeDisplay, FakeTerminal
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from wcwidth import wcwidth

from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.private_text import public_text
from debate_orchestrator.terminal.display import Display, SpeechView, StageView, beside, pack
from debate_orchestrator.util.sanitize import sanitize
from debate_orchestrator.util.terminal_text import can_move_cursor, match_option, width_of


def held(terminal: FakeTerminal, **environment: str) -> Display:
    display = FakeDisplay(terminal, **environment)
    display.acquire()
    return display


def test_open_rows_are_written_over() -> None:
    """Painting again replaces the open rows and adds the finished ones above; nothing is sent twice, and release
    leaves only what is finished."""
    terminal = FakeTerminal()
    display = held(terminal)
    display.paint([], [Text("open"), Text("status")])
    sent = terminal.raw
    display.paint([], [Text("open"), Text("status")])
    assert terminal.raw == sent

    display.paint([Text("done")], [Text("open too"), Text("status")])
    assert terminal.text == "done\nopen too\nstatus"
    display.paint([], [Text("status")])
    display.release()
    assert terminal.text == "done" and not terminal.hidden


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(20, 60), st.integers(5, 12)),
        min_size=1,
        max_size=20,
    )
)
def test_the_scroll_back_is_whole(steps: list[tuple[int, int, int, int]]) -> None:
    """However the terminal is resized between paints, every finished row is there once, in order, and nothing else."""
    terminal, count = FakeTerminal(60, 12), 0
    display = held(terminal)
    for finished, still_open, terminal.columns, terminal.rows in steps:
        new = [Text(f"row {count + n}") for n in range(finished)]
        count += finished
        display.paint(new, [Text(f"open {n} " + "x" * 12) for n in range(still_open)])
    display.paint([], [])

    assert terminal.text.splitlines() == [f"row {n}" for n in range(count)]


@pytest.mark.parametrize("forgotten", [False, True])
def test_finished_rows_wait_while_it_is_released(forgotten: bool) -> None:
    """After another job nothing is printed; what has waited is printed later, unless it is forgotten."""
    terminal = FakeTerminal()
    display = held(terminal)
    display.release()
    sent = terminal.raw
    display.paint([Text("meanwhile")], [Text("status")])
    assert terminal.raw == sent
    if forgotten:
        display.forget()
    display.acquire()
    assert ("meanwhile" in terminal.text) is not forgotten


def test_rows_that_waited_while_the_terminal_became_narrower() -> None:
    """They are broken again, so that none of their text is lost at the edge, and each stays in its own column."""
    terminal = FakeTerminal(60)
    display = held(terminal)
    display.release()
    cells = [Text("  " + "left " * 5), Text("  " + "right " * 4)]
    display.paint([beside([Text("Left"), Text("Right")], 28), beside(cells, 28), beside([None, cells[1]], 28)], [])
    display.paint([Text("  " + "word " * 10, "bold")], [])
    terminal.columns = 34
    display.acquire()

    *in_columns, first, second = terminal.text.splitlines()
    assert [first, second] == ["  word word word word word word", "    word word word word"]
    rows = [[part.strip() for part in line.split("│")] for line in in_columns]
    assert rows[0] == ["Left", "Right"] and len(rows) > 5
    assert all(set(left.split()) <= {"left"} and set(right.split()) <= {"right"} for left, right in rows[1:])
    assert [" ".join(parts).split() for parts in zip(*rows[1:], strict=True)] == [["left"] * 5, ["right"] * 8]

    for left in ("🅎ℝ𝐚", "a\u200d", "\x1b[2J"):  # a row ends in a joiner where a word is broken before its next letter
        display.paint([beside([Text(left, "bold"), Text("Right")], 15)], [])
        told = terminal.raw.rpartition("Right")[0].rpartition("\n")[2]
        assert told.count("G") == 2 and "\x1b[1m" in told and "\x1b[2J" not in told, "where columns begin is told"


def test_no_text_moves_the_cursor() -> None:
    """Whatever escape sequence a text holds is shown as text, in finished rows and in open ones."""
    sequence = "\x1b[2J\x1b]0;title\x07\x1b[9;9H\x9b1A\u202e\n"
    hostile, plain = FakeTerminal(), FakeTerminal()
    for terminal, text in ((hostile, sequence), (plain, "")):
        rows = [Text(f"done{text}."), Text(f"bold{text}.", "bold")]
        held(terminal).paint(rows, [Text(f"open{text}.")])

    assert "[2J" in hostile.text
    assert not re.search("[\x07\x9b\u202e]", hostile.raw)
    moving = r"\x1b(?!\[[\d;]*m).[^a-zA-Z]*[a-zA-Z]"
    assert re.findall(moving, hostile.raw) == re.findall(moving, plain.raw)


def test_a_terminal_that_is_closed() -> None:
    """A terminal that can't be written to any more doesn't stop the debate, and is not written to again."""

    attempts: list[str] = []

    class Closed(io.StringIO):
        encoding = "utf-8"

        def write(self, text: str) -> int:
            attempts.append(text)
            raise OSError(5, "closed")

    display = Display(Closed(), {"TERM": "xterm"})
    display.acquire()
    display.paint([Text("x")], [])
    display.release()

    assert len(attempts) == 1


@given(st.lists(st.text("ab 日é👍", min_size=1), max_size=9), st.integers(2, 120))
def test_parts_are_packed_into_rows(parts: list[str], width: int) -> None:
    """However narrow the terminal, no row is wider; rows break between parts where a part fits."""
    assert all(width_of(row.plain) <= width for row in pack(parts, width, ""))
    rows = pack(["Round 1 of 3", "Challenge", "12 s", "stopping when the answers are in"], 26, "")
    assert [row.plain.rstrip() for row in rows] == [
        "Round 1 of 3 · Challenge",
        "12 s",
        "stopping when the answers",
        "        are in",
    ]


OPTIONS = ("lenient", "strict", "stricter", "3", "A")
WINNERS = ("a", "b", "tie", "consensus", "no decision")


@for_each(
    [
        *((OPTIONS, said, "strict") for said in ("strict", " Strict ", "2")),
        *((OPTIONS, said, chosen) for said, chosen in (("3", "3"), ("len", "lenient"), ("a", "A"))),
        *((OPTIONS, said, None) for said in ("stri", "0", "6", "٢", "0000010", "9" * 50, "", "neither")),
        *((WINNERS, said, chosen) for said, chosen in (("T", "tie"), ("cons", "consensus"), ("no d", "no decision"))),
        *((WINNERS, word_for_a_side, None) for word_for_a_side in ("Con", "no")),
    ]
)
def test_what_was_chosen(options: tuple[str, ...], said: str, expected: str | None) -> None:
    """A choice is made by its name, which comes before all else, by its number, or by a beginning that is its alone."""
    assert match_option(options, said) == expected


@for_each([("xterm", True), ("dumb", False), ("DUMB", False), ("", False)])
def test_whether_the_cursor_moves(term: str, expected: bool) -> None:
    """A terminal that says it is dumb, or nothing, has no cursor to be moved."""
    assert can_move_cursor({"TERM": term}) is expected
    assert not can_move_cursor({})


TEXTS = st.one_of(st.text(max_size=60), hostile_texts.texts, st.sampled_from(hostile_texts.NASTY))
CUTS = st.lists(st.integers(0, 500), max_size=12)


def challenges() -> list[SpeechView]:
    """Both challenges, which are due together, asked for."""
    debate = fold(debates.play_events(until="1.challenge.a"))
    speeches = [SpeechView(turn, f"Challenge {turn.seat.upper()}", "", 0.0, "aside") for turn in debate.due]
    for speech in speeches:
        speech.begin(0.0)
    return speeches


def texts(rows: Sequence[Text]) -> list[str]:
    return [row.plain.rstrip() for row in rows]


def pieces(text: str, cuts: Sequence[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(places)]


def streamed(text: str, cuts: Sequence[int], widths: Sequence[int]) -> list[str]:
    """The rows of a speech that comes in pieces, each looked at in another width."""
    speech = challenges()[0]
    stage = StageView([speech], 80)
    for n, piece in enumerate(pieces(text, cuts)):
        speech.add_piece(piece)
        finished, still_open = stage.rows(widths[n % len(widths)], 20)
        assert not finished and len(still_open) <= 20
        assert all(width_of(row.plain) <= max(widths[n % len(widths)], 4) for row in still_open)
    speech.show_recorded(text)
    return texts(stage.rows(widths[0], 20)[0])


@given(TEXTS, CUTS, st.lists(st.integers(4, 130), min_size=1, max_size=6))
def test_nothing_is_lost(text: str, cuts: list[int], widths: list[int]) -> None:
    """However a text comes and however often the width changes, every visible character is printed once, in its place;
    no row is too wide, and no control character is left."""
    rows = streamed(text, cuts, widths)

    assert all(sanitize(row) == row and "\n" not in row for row in rows)
    assert re.sub(r"\s", "", "".join(rows)) == re.sub(r"\s", "", f"ChallengeA{public_text(sanitize(text)).text}")


@for_each(
    [
        ("one two three four", ["  one two three", "    four"]),
        ("one\n\n\n\ntwo\n\n", ["  one", "", "  two"]),
        ("abcdefghijklmnopq", ["  abcdefghijklmn", "    opq"]),
        ("日本語日本語日本語", ["  日本語日本語日", "    本語"]),
        ("```\na   b\n**b**\n```", ["  ```", "  a   b", "  **b**", "  ```"]),
        ("one\r\ntwo\rthree", ["  one", "  two", "  three"]),
    ]
)
def test_how_it_is_laid_out(text: str, rows: list[str]) -> None:
    """Words stay whole where they fit, blank lines count once, code keeps its spaces, and all of it is indented."""
    assert streamed(text, [], [16])[2:] == rows


def test_one_after_the_other() -> None:
    """In a narrow terminal the first is shown as it is written, and the second is kept until the first has ended.
    What is on record is printed, also where something else was heard."""
    first, second = challenges()
    stage = StageView([first, second], 60)
    first.add_piece("I hold")
    second.add_piece("Something else than is on record.")
    assert texts(stage.rows(60, 20)[1]) == ["Challenge A", "", "  I hold"]

    second.show_recorded("I deny it.")
    assert stage.rows(60, 20)[0] == []
    first.show_recorded("I hold it.")
    printed = texts(stage.rows(60, 20)[0])
    assert printed == ["Challenge A", "", "  I hold it.", "", "Challenge B", "", "  I deny it."]


def test_side_by_side() -> None:
    """In a wide terminal each has its column, whose end is shown; both are printed when complete."""
    first, second = challenges()
    stage = StageView([first, second], 119)
    first.show_recorded("\n\n".join(f"Line {n}." for n in range(40)))
    finished, still_open = stage.rows(119, 10)
    assert finished == [] and "Line 39." in still_open[-1].plain and len(still_open) == 10

    second.show_recorded("Un.")
    rows = [[part.strip() for part in row.split("│")] for row in texts(stage.rows(119, 10)[0])]
    assert rows[:5] == [["Challenge A", "Challenge B"], ["", ""], ["Line 0.", "Un."], ["", ""], ["Line 1.", ""]]
    assert len(rows) == 81 and stage.rows(119, 10) == ([], [])


@pytest.mark.parametrize("letter", ["\u05d0", "\u0627", "\u0661"])
def test_no_columns_where_rows_are_reordered(letter: str) -> None:
    """A terminal reorders a row as a whole, over the end of a column: such speeches stand one below the other, from
    the first such letter on."""
    first, second = challenges()
    stage = StageView([first, second], 119)
    first.add_piece("I hold ")
    assert "│" in stage.rows(119, 20)[1][0].plain
    second.add_piece(f"it {letter}.")
    assert texts(stage.rows(119, 20)[1]) == ["Challenge A", "", "  I hold"]

    first.show_recorded("I hold it.")
    second.show_recorded(f"it {letter}.")
    assert not any("│" in row for row in texts(stage.rows(119, 20)[0]))


@for_each([119, 130, 160, 230])
def test_no_speech_seems_to_stand_in_two_columns(width: int) -> None:
    """A speech that stands alone ends before the place of a second column."""
    first, second = challenges()
    second.show_recorded("I deny it.")
    first.show_recorded(f"{'word ' * 80}\n{'│' * 300}")
    beside = texts(StageView([first, second], width).rows(width, 99)[0])

    assert max(map(len, texts(StageView([first], width).rows(width, 99)[0]))) <= beside[0].index("│")


@pytest.mark.parametrize("joins", [True, False])
@pytest.mark.parametrize("said", hostile_texts.WIDER_THAN_THEY_LOOK, ids=itertools.count())
def test_no_speech_leaves_its_column(said: str, joins: bool) -> None:
    """However wide a terminal draws a speech, it is indented, in its own column, and the other one is in its
    place."""
    for columns in (80, 130):
        first, second = challenges()
        stage, terminal = StageView([first, second], columns - 1), FakeTerminal(columns, 60, joins=joins)
        first.show_recorded(f"{said}\n\n{said}")
        second.show_recorded("word " * 60)
        display = FakeDisplay(terminal)
        display.acquire()
        display.paint(stage.rows(columns - 1, 50)[0], [])
        rows = [line.rstrip() for line in terminal.lines if line.strip()]
        if columns == 80:
            own = [row for row in rows if not row.startswith("  ")]
            assert own == ["Challenge A", "Challenge B"]
            continue
        assert re.fullmatch(r"Challenge A +│ Challenge B", rows[0])
        for row in rows[1:]:
            left, _, right = row.rpartition("│")
            assert left.startswith("  ") and re.fullmatch(r"( {3,5}word( word)*)?", right), row
            assert sum(max(wcwidth(char), unicodedata.category(char) == "Mc") for char in left) == 64 or joins
