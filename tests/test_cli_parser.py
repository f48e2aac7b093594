"""The command line knows every verb from one list, suggests what was meant, and tells of a turn that takes long."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import STATED, Run

from debate_orchestrator.cli.parser import VERBS, Verb, parse


def test_every_verb_has_help_with_an_example(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`debate VERB --help` shows an example of that verb, and `debate --help` lists them all. A module with its
    arguments and a `run`, and its line in VERBS, are a verb; nothing else registers it."""
    overview = debate("--help").out

    for verb in VERBS:
        assert f"example: debate {verb}" in debate(verb, "--help").out, verb
        assert f"    {verb} " in overview, verb

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--times", type=int)

    def run(arguments: argparse.Namespace) -> int:
        print("hello " * arguments.times)
        return 3

    module = ModuleType("greet")
    module.add_arguments, module.run = add_arguments, run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "debate_orchestrator.cli.greet", module)
    monkeypatch.setitem(VERBS, "greet", Verb("say hello", "debate greet"))
    ran = debate("greet", "--times", "2")

    assert (ran.code, ran.out.split()) == (3, ["hello", "hello"])
    assert "say hello" in debate("--help").out and "example: debate greet" in debate("greet", "--help").out


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["worker", "x", "--at-once=2"], "unknown flag --at-once=2, did you mean --concurrency?"),
        (["step", "x", "--jsn"], "unknown flag --jsn, did you mean --json?"),
        (
            ["run", "--judgge", "x", "--max-csot=2", "--zzz"],
            "unknown flag --judgge, did you mean --judge?; unknown flag --max-csot=2, did you mean --max-cost?; "
            "unknown flag --zzz",
        ),
        (["run", "--x", "--max_cost=2"], "unknown flag --x; unknown flag --max_cost=2, did you mean --max-cost?"),
        (["report", "x", "y"], "y is one argument too many"),
        (["run", "Should", "we", "go", "--rehearse"], "we is one argument too many. Put the topic in quotation marks"),
        (["floor", "j", "What", "now?"], "now? is one argument too many. Put the question in quotation marks"),
    ],
)
def test_an_unknown_flag(debate: Run, given: list[str], expected: str) -> None:
    """Every unknown flag is named first, with the nearest known one; then where the usage of the verb is."""
    ran = debate(*given)

    assert ran.code == 2
    assert ran.err.splitlines() == [f"debate: {expected}", f"Try: `debate {given[0]} --help`."]


def test_an_unknown_verb(debate: Run, here: Path) -> None:
    """The nearest verb is suggested; where none is near, a topic may have been meant. A shell puts names of a
    stranger's files on the command line: none of them moves the cursor or writes a row."""
    near, far = debate("reprot", "x"), debate("qqqq")

    assert near.code == far.code == 2
    assert near.err == "debate: there is no verb reprot, did you mean report?\nTry: `debate --help`.\n"
    assert "there is no verb runn, did you mean run?" in debate("runn", "--topic", "Tabs or spaces?").err
    for name, verb in (("answers.yaml", "run --answers"), ("x.journal.jsonl", "report")):
        Path(name).touch()
        assert f"{name} is a file, and no verb. Did you mean `debate {verb} FILE`?" in debate(name).err
    assert "there is no verb qqqq. A topic is quoted" in far.err and "did you mean" not in far.err

    name = "b.journal.jsonl\n\x1b[1mComplete.\r\nWinner: Researcher B\x1b]0;x\x07"
    for arguments in (("replay", "a.jsonl", name), ("check", f"--zz\x1b[2K\n{name}")):
        ran = debate(*arguments)
        assert ran.code == 2 and "\x1b" not in ran.err and "\r" not in ran.err
        assert {line.partition(" ")[0] for line in ran.err.splitlines()} <= {"debate:", "Try:"}


def test_arguments_stand_before_and_after_flags() -> None:
    """Replies and answers may be named on both sides of a flag. The setup conversation and every verb that calls models
    take the user's permissions, each for itself."""
    assert parse(["step", "j", "x=1", "--json", "y=2"]).given == ["x=1", "y=2"]
    assert parse(["ask", "--wait=3", "f.yaml", "x=1", "--json", "y=2"]).given == ["x=1", "y=2"]

    for verb in ([], ["run"], ["resume", "j"], ["judge", "j"], ["probe"]):
        permitted, plain = parse([*verb, "--insecure", "--command-env=A", "--command-env=B"]), parse(verb)
        assert (permitted.insecure, permitted.command_env) == (True, ["A", "B"])
        assert (plain.insecure, plain.command_env) == (False, None)
    assert parse(["models", "--insecure"]).insecure


@pytest.mark.parametrize("flag", [("--format", "panel"), ("--rehearse",)])
def test_a_flag_before_the_verb(debate: Run, flag: tuple[str, ...]) -> None:
    """A flag of the setup conversation, or a permission, is not silently lost before a verb."""
    assert f"{flag[0].partition('=')[0]} belongs after the verb" in debate(*flag, "run").err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_reply_that_is_not_taken_is_told_of_on_a_full_disk(debate: Run, here: Path) -> None:
    """Standard input held a reply to a turn that is not due: that is reported, though the result finds no room."""
    assert debate("open", *STATED).code == 0
    arguments = [sys.executable, "-c", "from debate_orchestrator.cli import main; main()"]
    arguments += ["step", "debate-report.journal.jsonl", "1.rebuttal.b=-"]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            arguments,
            input="A speech.",
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            check=False,
        )

    assert ran.returncode in (2, 4)
    assert "debate: 1.rebuttal.b: " in ran.stderr, ran.stderr
