"""What a verb is given at standard input is read once, as any file is, and told of in the same words."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Run

from debate_orchestrator.util.data import LARGEST

SETTLED = b"topic: Tabs are better.\npositions: {a: Tabs., b: Spaces.}\nrounds: 1\nstrictness: strict\n"


def pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Has these bytes come at standard input."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False))


def test_a_debate_from_a_pipe(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that are piped in are those of the debate; flags go over them, and the block shows what was settled."""
    pipe(monkeypatch, SETTLED)
    ran = debate("run", "--answers", "-", "--rounds", "2", "--rehearse", "--output", "r.md")

    assert ran.code == 0, ran.err
    assert "Topic: Tabs are better." in ran.err and "Rounds: 2" in ran.err
    assert (here / "r.rehearsed.md").exists()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "standard input:1: the file is empty, not a mapping"),
        (b"topic: x\n bad: [", "standard input:2: not valid YAML: "),
        (b"\xff\xfe\xff", "standard input: got bytes that are not UTF-8"),
        (b"topic: x\nsetup: {}\n", "standard input: got a setup conversation"),
        (b"#" * (LARGEST + 1), "standard input: got more than "),
    ],
)
def test_what_will_not_do(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, expected: str) -> None:
    """What can't be answers is refused with one complaint that names where it came from, and nothing is written."""
    pipe(monkeypatch, data)
    ran = debate("open", "--answers", "-")

    assert ran.code == 2 and list(here.iterdir()) == []
    [line] = ran.err.splitlines()
    assert line.startswith(f"debate: {expected}")


def test_nothing_at_standard_input_at_all(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has no standard input is told so, too."""
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input:1: the file is empty" in debate("open", "--answers", "-").err


def test_json_is_read_as_in_a_file(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON is taken however it is indented, and what is wrong with it is told with its line."""
    pipe(monkeypatch, b'{\t"topic": "T.",\n\t"positions": {"a": "A.", "b": "B."},\n\t"rounds": 1}\n')
    assert debate("open", "--answers", "-").code == 0

    pipe(monkeypatch, b'{"topic": "T.",\n"topic": "U."}')
    assert "standard input:2: not valid YAML: the key 'topic' stands twice" in debate("open", "--answers", "-").err


def test_a_seat_that_the_format_has_not_is_nobodys(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer for all seats is for those that the format has, also where a flag names one of them."""
    pipe(monkeypatch, SETTLED + b"format: conversation\ncast: rehearse\n")
    ran = debate("run", "--answers", "-", "--a", "rehearse", "--quiet", "--output", "c.md")

    assert ran.code == 0, ran.err


def test_a_pipe_by_its_descriptor(debate: Run, here: Path) -> None:
    """A pipe that a shell names is refused, with how to read standard input."""
    left, right = os.pipe()
    ran = debate("open", "--answers", f"/dev/fd/{left}")
    os.close(left), os.close(right)

    assert ran.code == 2 and "--answers -" in ran.err


def test_a_variable_is_named_without_its_value(debate: Run) -> None:
    """`--command-env` takes a name; with a value it is refused, and the value is not repeated."""
    ran = debate("run", "--topic", "T", "--command-env", "API_KEY=geheim")

    assert ran.code == 2 and "--command-env API_KEY" in ran.err and "geheim" not in ran.err
