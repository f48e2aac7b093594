"""The obvious command works: a topic, `help`, a pipe, one model for all, the newest debate, and errors with the fix."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from conftest import Run

TOPIC = "Should we use Rust for the gateway?"
SCHOOL = "Should our village school switch to a four-day week?"
ONE = ("--rounds", "1", "--rehearse")
pytestmark = pytest.mark.usefixtures("no_models")


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Puts a text on standard input, as a pipe that its writer has closed."""
    with ExitStack() as stack:

        def pipe(text: str) -> None:
            left, right = os.pipe()
            os.write(right, text.encode())
            os.close(right)
            monkeypatch.setattr(sys, "stdin", stack.enter_context(open(left, encoding="utf-8")))

        yield pipe


@pytest.mark.parametrize(
    "words",
    [(TOPIC,), ("--topic", TOPIC), ("run", "--rehearse", TOPIC)],
    ids=" ".join,
)
def test_a_topic_is_enough(debate: Run, words: tuple[str, ...]) -> None:
    """Without a terminal `debate "TOPIC"` is `debate run --topic`, before flags and after them; a rehearsal gets plain
    positions of its own, shows none of the stand-ins' words, and ends with the command of the real debate and what it
    lacks."""
    ran = debate(*words, *ONE)

    assert ran.code == 0 and f"Topic: {TOPIC}" in ran.err, ran.err
    assert "Researcher A (Pro): We should use Rust for the gateway." in ran.err
    assert "Researcher B (Con): We should not use Rust for the gateway." in ran.err
    assert ran.err.rstrip().split("\n")[-1] == (
        "Next: set ANTHROPIC_API_KEY, or name other models (`debate models` lists them). Then the same command without "
        "--rehearse is the real debate."
    )
    assert "1 or 2 calls of anthropic:claude-opus-5-5 to derive the positions; then " in ran.err
    assert (
        "Rehearsed words" not in ran.out + ran.err and "is filler: its verdict and its advice mean nothing" in ran.out
    )


def test_a_host_is_given_a_topic_alone(debate: Run) -> None:
    """`debate open "TOPIC"` makes positions, as `run` does; where it can't, it says which flags add them."""
    opened = debate("open", TOPIC, "--output", "r.md", "--no-issues", "--json")
    worded = debate("open", SCHOOL, "--output", "s.md", "--no-issues", "--json")
    refused = debate("open", "Which lunch?")
    result = debate("open", "Which lunch?", "--json")

    assert "Researcher B (Con): We should not use Rust for the gateway." in opened.json["show"]
    assert f'Researcher A (Pro): The answer to "{SCHOOL}" is yes.' in worded.json["show"]
    assert refused.code == 2 and "Try: --position-a '...' --position-b '...', or" in refused.err
    assert "`positions.a: '...'`" in result.json["complaints"][0]  # which a program writes into an answers file


def test_what_goes_on_takes_what_waits(debate: Run) -> None:
    """`step` and `resume` take a debate that waits before newer ones that are finished; if none waits, that is said."""
    seats = ("--a", "host", "--b", "host", "--judge", "host")
    debate("open", "--topic", TOPIC, "--position-a", "Yes.", "--position-b", "No.", *seats, "--output", "real.md")
    debate(TOPIC, *ONE, "--quiet")
    for age, name in enumerate(("debate-report.rehearsed", "real")):
        os.utime(f"{name}.journal.jsonl", (1_000 - age, 1_000 - age))

    for verb in ("step", "resume"):
        assert "Using real.journal.jsonl, the newest debate of this folder that is not finished." in debate(verb).err
    assert "`debate step real.journal.jsonl` continues it" in debate("check", "real.journal.jsonl").err
    Path("real.journal.jsonl").unlink()
    assert "none of them waits for this command" in debate("resume").err


def test_a_topic_in_a_pipe(debate: Run, piped: Callable[[str], None]) -> None:
    """One line is the topic, whatever blank lines are around it. An empty line is not a topic, and several lines are
    refused, so that none of them is lost."""
    for text, problem in (("", "topic"), (f"{TOPIC}\n\nIt is slow.\n", "standard input holds 2 lines")):
        piped(text)
        ran = debate("run", *ONE)
        assert ran.code == 2 and problem in ran.err and not os.listdir()
    piped(f"\n{TOPIC}")
    assert f"Topic: {TOPIC}" in debate("run", *ONE).err


def test_one_model_for_every_seat(debate: Run) -> None:
    """--model fills each seat that no other flag names, in a file of answers too. `debate help` is `debate --help`, and
    `debate help VERB` that of the verb."""
    ran = debate("run", "--topic", TOPIC, *ONE, "--model", "openai:gpt-5", "--judge", "anthropic:claude-opus-5-5")
    answers = debate("answers", "--model", "command:claude -p")

    seats = "a stand-in for openai:gpt-5, b stand-in for openai:gpt-5, judge stand-in for anthropic:claude-opus"
    assert f"Cast: {seats}" in ran.err
    assert re.search(r"^Output: (.*)\.rehearsed\.md \(of the real debate: \1\.md\)$", ran.err, re.M)
    assert "cast: command:claude -p" in answers.out and "# cast: {" not in answers.out

    assert debate("help").out == debate("--help").out
    assert debate("help", "run").out == debate("run", "--help").out


def test_the_answers_of_a_rehearsal_are_those_of_the_real_debate(debate: Run) -> None:
    """They name the models that stand-ins stood for, and the real report; a stand-in for none leaves its seat out.
    Positions that a rehearsal made up are derived anew, and no real debate is about them."""
    debate("Which topping?", *ONE, "--model", "openai:gpt-5", "--b", "rehearse", "--quiet")
    found = yaml.safe_load(debate("answers", "--from", "debate-report.rehearsed.journal.jsonl").out)

    assert found["cast"] == {"a": "openai:gpt-5", "judge": "openai:gpt-5", "rapporteur": "openai:gpt-5"}
    assert found["output"] == "debate-report.md" and found["positions"] == "auto"
    positions = {
        side: f'Placeholder for an{other} answer to "Which topping?"' for side, other in (("a", ""), ("b", "other"))
    }
    Path("a.yaml").write_text(yaml.safe_dump({"topic": "Which topping?", "positions": positions}), encoding="utf-8")
    refused = debate("run", "--answers", "a.yaml", "--model", "command:cat", "--trust")
    assert refused.code == 2 and "these are a rehearsal's placeholders" in refused.err
    assert debate("run", "--answers", "a.yaml", "--rehearse", "--quiet").code == 0


def test_the_newest_debate_is_taken(debate: Run) -> None:
    """Where no journal is named the newest of the folder is used, which is said; a report leads to its journal. A
    second rehearsal of a topic has files with a number."""
    debate(TOPIC, *ONE, "--quiet")
    debate(TOPIC, *ONE, "--quiet")
    os.utime("debate-report.rehearsed.journal.jsonl", (1, 1))
    for verb in ("report", "check", "replay"):
        newest, named = debate(verb), debate(verb, "debate-report.rehearsed.md")

        assert "Using debate-report.rehearsed-2.journal.jsonl, the newest debate of this folder." in newest.err
        assert "using its journal debate-report.rehearsed.journal.jsonl." in named.err
        assert (newest.code, named.code, newest.err.count("Next: ")) == (0, 0, 1)
    # A re-judging that was only rehearsed is newer, and is never meant.
    assert debate("judge", "debate-report.rehearsed-2.journal.jsonl", "--judge", "rehearse").code == 0
    for verb in ("report", "check"):
        said = "Using debate-report.rehearsed-2.journal.jsonl, the newest debate of this folder that is no rehearsed"
        assert f"{said} re-judging." in debate(verb).err
    assert "that is no rehearsed re-judging: none of them waits for this command" in debate("step").err
    debate(TOPIC, *ONE, "--quiet", "--output=out/")
    assert "topic: " in debate("answers", "--from", "out").out
    assert "Using out/debate-report.rehearsed.journal.jsonl, the newest debate of out." in debate("check", "out").err
    for path in Path().glob("*.jsonl"):
        path.unlink()
    hint = "no debate in this folder. Try: name the journal, such as out/debate-report.rehearsed.journal.jsonl."
    assert hint in debate("step").err


def test_an_empty_journal_is_no_debate(debate: Run, here: Path) -> None:
    """What a process left that was killed before its debate began is never the newest debate. A report that stands
    alone is reported where its journal is looked for."""
    Path("debate-report.journal.jsonl").touch()
    assert "There is no debate in this folder." in debate("report").err
    debate(TOPIC, *ONE, "--quiet")
    os.utime("debate-report.journal.jsonl", (2e9, 2e9))
    assert "Using debate-report.rehearsed.journal.jsonl, the newest debate" in debate("report").err

    Path("moved.md").write_text("# Debate Report\n", encoding="utf-8")
    ran = debate("check", "moved.md")
    assert ran.code == 2 and "its journal moved.journal.jsonl is not there" in ran.err


def test_no_debate_here(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, one whose files can't be looked at, and a journal that is not there, are reported with what to
    do."""
    assert "There is no debate in this folder. Try: `debate` begins one" in debate("report").err
    assert "There is no debate in '..'. Try: " in debate("report", "..").err
    Path("nope.rehearsed.journal.jsonl").write_text("{}")
    assert "Did you mean 'nope.rehearsed.journal.jsonl'?" in debate("check", "nope.journal.jsonl").err
    missing = debate("check", "none.jsonl")

    assert missing.code == 2 and "the path of a journal (.journal.jsonl) that is there." in missing.err

    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    Path("sub").mkdir()
    Path("sub/a.journal.jsonl").touch()
    monkeypatch.setattr(Path, "lstat", refused)
    assert [debate("report", *folder).code for folder in ((), ("sub",))] == [2, 2]
    monkeypatch.setattr(os, "access", lambda path, mode: path != "sub")
    assert "sub: can't be read (Permission denied)." in debate("report", "sub").err


def test_near_names_are_suggested(debate: Run) -> None:
    """A misspelt seat or recorded debate is answered with the one that was probably meant."""
    assert "Try: human." in debate("run", TOPIC, "--a", "humann").err
    assert "Try: rehearse." in debate("run", TOPIC, "--model", "rehearsal").err
    lacking = "plan.yml: there is no such file. Try: `debate answers > FILE`, which writes one to start from."
    assert lacking in debate("run", "--answers", "plan.yml").err
    nonsense = debate("demo", "--name", "nonsense")
    assert nonsense.code == 2 and "`debate demo --list`" in nonsense.err


def test_the_demos(debate: Run) -> None:
    """The list tells topic, rounds and outcome of each debate; the first that is played is about a database queue, and
    shows no recommendation but the one that stands."""
    listed = debate("demo", "--list")
    played = debate("demo", "--no-pace")

    assert "postgres-queue: " in listed.out and "Winner: " in listed.out
    assert "(postgres-queue;" in played.out and "Next: " in played.err
    assert played.out.count("\nRecommendation (") == 1
