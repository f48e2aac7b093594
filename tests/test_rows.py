"""Rows of a terminal: none is wider than it by any measure, each begins with its indent, and the text is whole."""

from __future__ import annotations

import itertools
import logging
import os
import sys
import unicodedata
from collections.abc import Callable
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import pytest
from corpus import for_each
from fake_terminal import FakeTerminal
from hostile_texts import VERDICT, WIDER_THAN_THEY_LOOK
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import DummyInput
from prompt_toolkit.output.vt100 import Vt100_Output
from wcwidth import wcwidth

from debate_orchestrator.cli import ballot
from debate_orchestrator.cli.output import print_document, print_quoted, print_result, print_status
from debate_orchestrator.terminal.asking import Asker
from debate_orchestrator.util.log import log_error, log_line, print_log_records
from debate_orchestrator.util.sanitize import sanitize
from debate_orchestrator.util.terminal_text import lay_out, padded, rows, shortened, width_of, wrap

LINES = st.text("  ab1>-#\t\u00a0。日é👍🏽\u200dक\u0903\u0301\ufe0f✔\u4dc0", max_size=200)


def drawn(char: str) -> int:
    """The widest that a terminal draws a character."""
    return max(wcwidth(char), unicodedata.category(char) == "Mc")


@given(LINES, st.integers(4, 120))
def test_rows_of_a_line(line: str, width: int) -> None:
    """No row is wider, each begins as its line does, or is indented, and no sign of the text is lost or moved."""
    line = line.replace("\t", "    ")
    laid_out = lay_out(line, width)
    made = rows(line, width)

    assert [row.begin + line[row.start : row.end] for row in laid_out] == made
    assert all(sum(map(drawn, row)) <= width for row in made)
    indent = len(line) - len(line.lstrip(" "))
    for n, row in enumerate(laid_out):
        assert row.begin.startswith(line[: min(indent, width // 2)]) or not row.begin
        assert not n or len(row.begin) >= min(2, width // 2) or row.begin.startswith(">")
    first = laid_out[0].begin if line.startswith(">") else ""
    kept = first + "".join(line[row.start : row.end] for row in laid_out)
    assert kept.replace(" ", "") == line.replace(" ", "")


@for_each(
    [
        ("one two three four", ["one two three", "        four"]),
        ("    one two three four", ["    one two three", "      four"]),
        ("  - one two three four", ["  - one two three", "      four"]),
        ("  1. one two 2. four", ["  1. one two 2.", "       four"]),
        (" 1 ab  the best of all", [" 1 ab  the best", "       of all"]),
        (" 1  +2.1  ab cd ef", [" 1  +2.1  ab cd", "        ef"]),
        ("12.5  3  ab cd ef gh", ["12.5  3  ab cd ef", "        gh"]),
        ("  I1. one two three", ["  I1. one two", "        three"]),
        ("> one two three four", ["> one two three", "> four"]),
        ("> > aaaaaaaaaaaaaaaaa", ["> > aaaaaaaaaaaaa", "> > aaaa"]),
        ("a   b\tc", ["a   b    c"]),
        ("日本語日本語日本語", ["日本語日本語日本", "        語"]),
        ("👨\u200d👩\u200d👧" * 3, ["👨\u200d👩\u200d👧👨\u200d👩\u200d👧", "        👨\u200d👩\u200d👧"]),
        ("   ", [""]),
        ("", [""]),
        (">", [">"]),
    ]
)
def test_how_a_line_is_broken(line: str, expected: list[str]) -> None:
    """Between words and not within a sign; the text of an item is a block, and a block quote stays one."""
    assert rows(line, 17) == expected


def test_a_long_word_takes_no_longer_than_its_length() -> None:
    """A speech of one word is laid out at once."""
    assert len(rows("x" * 400_000, 79)) > 5_000


@pytest.mark.slow
def test_the_width_of_every_character() -> None:
    """No terminal's table has a wider one, whatever Unicode it follows."""
    kept = (chr(n) for n in range(0x20, 0x110000) if not 0xD800 <= n < 0xE000)
    assert [char for char in kept if sanitize(char) == char and drawn(char) > width_of(char)] == []


def test_names_in_a_table() -> None:
    """A name is padded and shortened by columns."""
    assert padded("日本", 6) == "日本  "
    assert shortened("日本語", 5) == "日本…" and shortened("日本語", 6) == "日本語"


def test_a_path_stays_whole(here: Path) -> None:
    """The path of a file that is there is not broken, to be copied; any other word is, and any word of a speech."""
    folder = Path("x" * 90)
    folder.mkdir()
    path = folder / "r.md"
    path.write_text("", encoding="utf-8")
    sentence = f"Written to {path}."

    assert f"{path}." in wrap(sentence, 80, whole_paths=True).split("\n        ")
    for other in (sentence.replace("r.md", "s.md"), f"  {sentence}", f"Written to {os.sep * 80}{here}."):
        assert all(len(row) < 80 for row in wrap(other, 80, whole_paths=True).split("\n")), other


class Shell(FakeTerminal):
    """A terminal to which a program prints."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return super().write(text.replace("\r\n", "\n").replace("\n", "\r\n"))


WAYS = ("print_result", "print_status", "print_document", "show")


@for_each(itertools.product(WAYS, WIDER_THAN_THEY_LOOK, (True, False)), "way", "said", "joins")
def test_no_line_leaves_its_indent(way: str, said: str, joins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a speech holds, its rows are indented at a terminal, as this program measures it and wider."""
    shell, lines = Shell(80, joins=joins), [f"  {said}", f"  {VERDICT}"]
    monkeypatch.setattr(sys, "stdout" if way in ("print_result", "print_document") else "stderr", shell)
    if way == "show":
        stream = StringIO()
        Asker(DummyInput(), Vt100_Output(stream, lambda: Size(rows=24, columns=80), term="dumb")).show(*lines)
        shell.write(stream.getvalue())
    elif way == "print_document":
        print_document("\n".join([*lines, ""]))
    else:
        {"print_result": print_result, "print_status": print_status}[way](*lines)

    assert [line for line in shell.lines if line and not line.startswith("  ")] == []
    letters = "".join(shell.text.split())
    assert letters == "".join("".join(lines).split())


def logged(text: str) -> None:
    """Tells of it as of what a library logs."""
    with patch.object(logging, "lastResort", None):
        print_log_records()
        assert logging.lastResort is not None
        logging.lastResort.handle(logging.makeLogRecord({"msg": text, "levelno": logging.WARNING}))


@for_each([log_line, lambda text: log_error(ValueError(text)), logged])
def test_no_line_of_a_log_is_anothers(say: Callable[[str], None]) -> None:
    """What is reported by servers and workers may quote anybody: only its first row begins in the first column."""
    shell = Shell(80)
    with patch.object(sys, "stderr", shell):
        say(f"Taking debates of demo.{VERDICT} {'x' * 90}\n{VERDICT}")

    assert max(map(len, shell.lines)) < 80
    assert len([line for line in shell.lines if line and not line.startswith("  ")]) == 1, shell.lines


@pytest.mark.parametrize("joins", [True, False])
def test_a_debate_in_a_pager(here: Path, monkeypatch: pytest.MonkeyPatch, joins: bool) -> None:
    """Each row of a block quote that a pager shows begins as one. Without $PAGER there is a pager too."""
    (here / "less").write_text("#!/bin/sh\nexec tee paged\n")
    (here / "less").chmod(0o755)
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("PAGER", raising=False)
    output = Vt100_Output(StringIO(), lambda: Size(rows=24, columns=80), term="dumb")
    ballot._show(Asker(DummyInput(), output), "\n".join(f"> {line}" for line in WIDER_THAN_THEY_LOOK))
    shell = Shell(80, joins=joins)
    shell.write(Path("paged").read_text(encoding="utf-8"))

    assert len(shell.lines) > len(WIDER_THAN_THEY_LOOK)
    assert [line for line in shell.lines if not line.startswith("> ")] == []


def test_characters_that_an_encoding_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are escaped before a row is broken: their escapes are wider."""
    stream = TextIOWrapper(BytesIO(), encoding="latin-1", write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    print_quoted("  " + "中" * 13 + " Researcher B wins the debate: 9.0 to 3.0. Checked.")
    rows_written = stream.buffer.getvalue().decode("latin-1").splitlines()  # type: ignore[attr-defined]

    assert all(len(row) < 80 and row.startswith("  ") for row in rows_written) and "\\u4e2d" in rows_written[0]
