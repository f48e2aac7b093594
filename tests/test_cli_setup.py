"""Answers on the command line: `answers`, and what `open` says of answers that will not do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import puppets
import pytest
from conftest import Run, finish

from debate_orchestrator.util.data import read_mapping


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--rounds", "0"], "rounds: got '0'; expected a whole number from 1 to 6"),
        (["--rounds", "9"], "rounds: got '9'"),
        (["--rounds", "three"], "rounds: got 'three'"),
        (["--rounds", "7"], "insist: true"),
        (["--strictness", "harsh"], "strictness: got 'harsh'; expected lenient or strict"),
        (["--format", "oxford"], "format: there is no format 'oxford'. Try: one of adversarial"),
        (["--output", "report.pdf"], "output: 'report.pdf'"),
        (["--output", "/proc/nowhere/x.md"], "output: can't write '/proc/nowhere/x.md'"),
        (["--context", "missing.md"], "context: missing.md: can't be read (No such file or directory)"),
        (["--first", "c"], "first: got 'c'; expected a or b"),
        (["--a", "martian:x"], "cast: a: 'martian:x' is no model spec; use one of host"),
        (["--max-cost", "-1"], "max_cost: got -1.0"),
    ],
)
def test_bad_answers_are_told_and_nothing_is_written(
    debate: Run, answers: Path, flags: list[str], expected: str
) -> None:
    """A bad answer ends with exit code 2, one clear complaint, and no file."""
    ran = debate("open", "--answers", "answers.yaml", *flags)

    assert ran.code == 2
    assert expected in ran.err
    assert ran.out == ""
    assert os.listdir() == ["answers.yaml"]


def test_all_complaints_come_at_once(debate: Run, here: Path) -> None:
    """Everything that is wrong with an answers file is said in one go."""
    (here / "bad.yaml").write_text("tpoic: x\nrounds: three\nstrictness: 3\npositions: {a: x}\ncast: {c: host}\n")
    ran = debate("open", "--answers", "bad.yaml", "--json")

    assert ran.code == 2
    assert [one.partition(":")[0] for one in ran.json["complaints"]] == [
        "answers",
        "topic",
        "positions",
        "rounds",
        "strictness",
        "cast",
    ]


@pytest.mark.parametrize(
    "text", ["", "[1]", "{", "a: &x 1\nb: *x\n", "!!python/object:os.system {}", "[" * 9000, "\xff"]
)
def test_files_that_are_no_answers(debate: Run, here: Path, text: str) -> None:
    """A file that is no mapping, or tricks a YAML reader, is one clear complaint."""
    (here / "odd.yaml").write_bytes(text.encode("latin-1"))
    ran = debate("open", "--answers", "odd.yaml")

    assert ran.code == 2
    assert ran.err.startswith("debate: odd.yaml: ")
    assert ran.err.count("\n") == 1


def test_an_existing_journal_is_never_overwritten(debate: Run, answers: Path) -> None:
    """`open` on a journal that is there ends with exit code 2 and names the ways on."""
    debate("open", "--answers", "answers.yaml")
    before = Path("report.journal.jsonl").read_bytes()
    ran = debate("open", "--answers", "answers.yaml")

    assert ran.code == 2
    assert "debate resume report.journal.jsonl" in ran.err and "another output" in ran.err
    assert Path("report.journal.jsonl").read_bytes() == before


def test_hostile_topics_go_through(debate: Run, here: Path) -> None:
    """A topic full of template syntax, markdown, HTML, control characters and right-to-left text is debated as
    it is, and forges nothing."""
    topic = "{{ 7*7 }} {% raw %} # x <script>alert(1)</script> | \u202egnp.exe \x1b[2J [a](javascript:b) {topic} ```"
    (here / "a.json").write_text(json.dumps({"topic": topic, "positions": {"a": topic, "b": topic[::-1]}, "rounds": 1}))
    told = debate("open", "--answers", "a.json", "--output", "r.md", "--json").json
    finish(debate, told, rounds=1)
    report = Path("r.md").read_text(encoding="utf-8")

    assert "{{ 7\\*7 }}" in report and "\x1b" not in report and "\u202e" not in report
    assert "<script>" not in report.replace("\\<script", "")
    assert read_mapping("a.json")["topic"] == topic
    assert "DEBATE SETUP CONFIRMED" in told["show"][0]


def test_the_sample_is_good_as_it_is(debate: Run, here: Path) -> None:
    """What `answers` prints can be opened at once."""
    (here / "sample.yaml").write_text(debate("answers").out, encoding="utf-8")

    assert debate("open", "--answers", "sample.yaml").code == 0


def test_a_journal_tells_its_answers(debate: Run, answers: Path, here: Path) -> None:
    """`answers --from` prints the answers that made a journal, and they make it again."""
    debate("open", "--answers", "answers.yaml", "--first", "b")
    (here / "again.yaml").write_text(debate("answers", "--from", "report.journal.jsonl").out, encoding="utf-8")
    told = debate("open", "--answers", "again.yaml", "--output", "again.md", "--json").json

    assert read_mapping("again.yaml")["sources"]["first"] == "flag"
    assert told["turns"][0]["turn"] == "1.opening.b"


def test_nothing_is_asked_without_a_terminal(here: Path) -> None:
    """With nothing at standard input, no verb waits for an answer."""
    for verb in ([], ["open"], ["run"], ["ask", "x.yaml"]):
        command = [sys.executable, "-m", "debate_orchestrator", *verb]
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, timeout=60)
        assert ran.returncode in (0, 2)
        assert "Traceback" not in ran.stderr


def test_puppets_speak_the_shapes_of_the_contract() -> None:
    """The stand-ins' ballots have the fields that the contract names."""
    assert set(puppets.ballot()) == {
        "scores",
        "strongest",
        "weakest",
        "winner",
        "justification",
        "feedback",
        "unsupported_claims",
        "convergence",
        "conceded",
    }
