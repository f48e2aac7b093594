"""Rows in a real terminal: whatever a speech or a judge's reason holds, none of its rows is a row of the program's."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from debates import hostile_script, play_events
from hostile_texts import VERDICT, WIDER_THAN_THEY_LOOK

from debate_orchestrator.core.events import Opened
from debate_orchestrator.storage.journal import JournalWriter

from .tmux import Screen, screen

pytestmark = pytest.mark.slow

LESS = "space goes on, b back, q leaves this text"
J = "r.journal.jsonl"
PLAIN, HOSTILE = "Some words.", "\n\n".join(WIDER_THAN_THEY_LOOK)
IN_COLUMNS = re.compile(r"  .*│(   .*)?")
"""A row of two speeches beside each other, each indented; only their headings are not."""


def write_debate(path: Path, text: str) -> None:
    """A journal in which every speech and every free text is this one."""
    first, *rest = play_events(hostile_script(text, rounds=2), rounds=2)
    assert isinstance(first, Opened)
    with JournalWriter.create(str(path), first) as journal:
        for event in rest:
            journal.append(event)


def rows(window: Screen) -> list[str]:
    """The rows of the whole scroll-back, as they stand."""
    return [row.rstrip() for row in window.ask("capture-pane", "-p", "-S", "-").splitlines()]


def replayed(window: Screen, text: str, folder: Path, term: str) -> list[str]:
    """The rows that are shown of a debate with this text."""
    write_debate(folder / J, text)
    window.type("clear")
    window.see(lambda text: text.strip() == ">")
    window.ask("clear-history")
    window.debate("replay", J, "--no-pace", **({"TERM": term} if term else {}))
    window.see("judges it again.", still=True)
    shown = rows(window)
    (folder / J).unlink()
    begin, end = (next(n for n, row in enumerate(shown) if row.startswith(word)) for word in ("Topic:", "Next:"))
    return shown[begin:end]


def own_rows(shown: list[str]) -> list[str]:
    """Those that begin in the first column, as the program's do, without what they quote."""
    at_the_margin = [row for row in shown if row and not row.startswith(" ")]
    return [re.sub(r"^(\d+\. ).*", r"\1", row.partition(" question: ")[0]) for row in at_the_margin]


@pytest.mark.parametrize(("columns", "term"), [(80, ""), (80, "dumb"), (131, "")])
def test_no_row_of_a_speech_is_the_program_s(columns: int, term: str, tmp_path: Path) -> None:
    """The live view, in one column and in two, and the text where the cursor can't move, show the same rows in the
    first column whatever was said; in two columns each speech stays in its own."""
    with screen(columns, 50, tmp_path) as window:
        plain, hostile = (replayed(window, text, tmp_path, term) for text in (PLAIN, HOSTILE))

    assert own_rows(hostile) == own_rows(plain)
    in_columns = [row for row in hostile if IN_COLUMNS.fullmatch(row)]
    assert columns == 80 or len(in_columns) > 40


def test_no_row_of_a_speech_is_the_program_s_behind_a_pipe(tmp_path: Path) -> None:
    """Text for a pipe is broken too, all but the closing line: the pipe may end at a terminal."""
    with screen(80, 50, tmp_path) as window:
        shown = []
        for text in (PLAIN, "word " * 60):
            write_debate(tmp_path / J, text)
            window.ask("clear-history")
            window.type(f"clear; {sys.executable} -m debate_orchestrator replay {J} 2>&1 | head -n -2; echo e''nd")
            window.see(lambda seen: "\nend" in seen, still=True)
            shown.append(own_rows(rows(window)))
            (tmp_path / J).unlink()

    assert [row for row in shown[1] if re.fullmatch("[word ]+", row)] == []


def test_no_row_of_a_speech_is_the_report_s_in_a_pager(tmp_path: Path) -> None:
    """In `less` each row of a speech begins with the sign of its quotation."""
    write_debate(tmp_path / J, HOSTILE)
    with screen(80, 200, tmp_path) as window:
        window.debate("ballot", J, "--as", "ann", PAGER="less")
        for answer, question in (
            ("1", "already?"),
            ("3", "which position do you hold?"),
            ("1", "How will you read it?"),
        ):
            window.see(question, still=True)
            window.press(answer, "Enter")
        window.see(LESS)
        shown = rows(window)

    begin, end = shown.index("### Opening Statement — Researcher A"), shown.index(LESS)
    speeches = shown[begin:end]
    assert sum(row.startswith("> ") for row in speeches) > 30
    assert [row for row in speeches if not re.fullmatch("(>.*|## Round 2|### [A-Z].* — Researcher [AB])?", row)] == []


def test_no_row_of_a_text_to_be_edited_is_the_program_s(tmp_path: Path) -> None:
    """A line that another has worded, such as a topic, is indented where it is edited, and where Enter takes it."""
    program = """
import sys
from hostile_texts import WIDER_THAN_THEY_LOOK as texts
from debate_orchestrator.terminal.asking import Asker, Question
for text in texts:
    text = text.replace(chr(9), " ")
    Asker().ask_now(Question(initial_text=text))
    Asker().ask_now(Question(default=text))
"""
    (tmp_path / "edit.py").write_text(program, encoding="utf-8")
    with screen(80, 100, tmp_path) as window:
        window.type(f"clear; PYTHONPATH={Path(__file__).parent.parent}:$PYTHONPATH {sys.executable} edit.py; echo end")
        for _ in range(2 * len(WIDER_THAN_THEY_LOOK)):
            window.see(lambda text: text.rstrip("\n").rpartition("\n")[2] != "", still=True)
            window.press("Enter")
        window.see("\nend\n")
        shown = rows(window)

    assert sum(VERDICT[:5] in row for row in shown) >= len(WIDER_THAN_THEY_LOOK)
    assert [row for row in shown if row and not row.startswith((" ", "> ")) and row not in (">", "end")] == []
