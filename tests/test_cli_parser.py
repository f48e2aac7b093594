"""The command line knows every verb from one list, suggests what was meant, and tells of a turn that takes long."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import STATED, Run
from debates import opened_event
from journals import ten_lines

import debate_orchestrator
from debate_orchestrator.cli.parser import VERBS, parse
from debate_orchestrator.cli.progress import ProgressLines
from debate_orchestrator.core.events import BriefSent, CallFailed
from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import must_be_new
from debate_orchestrator.util.errors import BadJournal
from debate_orchestrator.util.messages import command


def test_every_verb_has_help_with_an_example(debate: Run) -> None:
    """`debate VERB --help` shows an example of that verb, and `debate --help` lists them all."""
    overview = debate("--help").out

    for verb in VERBS:
        assert f"example: debate {verb}" in debate(verb, "--help").out, verb
        assert f"    {verb} " in overview, verb


def test_a_new_verb_is_a_module_and_a_line(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with an example, arguments and a `run`, and its line in VERBS, are a verb; nothing else registers it."""

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--times", type=int)

    def run(arguments: argparse.Namespace) -> int:
        print("hello " * arguments.times)
        return 3

    module = ModuleType("greet")
    module.EXAMPLE, module.add_arguments, module.run = "debate greet", add_arguments, run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "debate_orchestrator.cli.greet", module)
    monkeypatch.setitem(VERBS, "greet", "say hello")
    ran = debate("greet", "--times", "2")

    assert (ran.code, ran.out.split()) == (3, ["hello", "hello"])
    assert "say hello" in debate("--help").out and "example: debate greet" in debate("greet", "--help").out


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["step", "x", "--jsn"], "unknown flag --jsn, did you mean --json?"),
        (
            ["run", "--judgge", "x", "--max-csot=2", "--zzz"],
            "unknown flag --judgge, did you mean --judge?; unknown flag --max-csot=2, did you mean --max-cost?; "
            "unknown flag --zzz",
        ),
        (["report", "x", "y"], "y is one argument too many"),
    ],
)
def test_an_unknown_flag(debate: Run, given: list[str], expected: str) -> None:
    """Every unknown flag is named first, with the nearest known one; then where the usage of the verb is."""
    ran = debate(*given)

    assert ran.code == 2
    assert ran.err.splitlines() == [f"debate: {expected}", f"Try: `debate {given[0]} --help`."]


def test_an_unknown_verb(debate: Run) -> None:
    """The nearest verb is suggested in one line; where none is near, all are named."""
    near, far = debate("reprot", "x"), debate("qqqq")

    assert near.code == far.code == 2
    assert near.err == "debate: there is no verb reprot, did you mean report?\n"
    assert "there is no verb qqqq; expected one of answers, ask, open" in far.err
    assert "there is no verb qqqq" in far.err and "did you mean" not in far.err


@pytest.mark.parametrize(
    "flag", [("--format", "panel"), ("--rehearse",), ("--insecure",), ("--command-env=A",), ("--answers", "a.yaml")]
)
def test_a_flag_before_the_verb(debate: Run, flag: tuple[str, ...]) -> None:
    """A flag of the setup conversation, or a permission, is not silently lost before a verb."""
    assert f"{flag[0].partition('=')[0]} belongs after the verb" in debate(*flag, "run").err


def test_permissions() -> None:
    """The setup conversation and every verb that calls models take the user's permissions, each for itself."""
    for verb in ([], ["run"], ["resume", "j"], ["judge", "j"], ["probe"]):
        permitted, plain = parse([*verb, "--insecure", "--command-env=A", "--command-env=B"]), parse(verb)
        assert (permitted.insecure, permitted.command_env) == (True, ["A", "B"])
        assert (plain.insecure, plain.command_env) == (False, None)
    assert parse(["models", "--insecure"]).insecure


@pytest.mark.parametrize(
    ("model", "silent"), [("openai:x@http://127.0.0.1:9/v1", "reading the prompt"), ("command:cat", "no word yet")]
)
def test_a_slow_turn(
    model: str, silent: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server is said to read the prompt until its answer begins, and then to think and to write; nothing is said
    once the call has ended."""
    cast: dict[str, tuple[str, ...]] = {"a": (model,), "b": (model,), "judge": (model,)}
    debate = fold([opened_event(cast=cast)])
    turn = debate.due[0]
    monkeypatch.setattr("debate_orchestrator.cli.progress.FIRST_REPORT", 0.1)
    monkeypatch.setattr("debate_orchestrator.cli.progress.NEXT_REPORTS", 0.2)

    async def watch() -> None:
        progress = ProgressLines(debate)
        progress(debate, BriefSent(turn=turn.id, brief_digest="x", by=model))
        await asyncio.sleep(0.2)
        progress.on_text(turn, "")
        await asyncio.sleep(0.2)
        progress.on_text(turn, "This is what is said. ")
        await asyncio.sleep(0.2)
        progress(debate, CallFailed(turn=turn.id, by=model, problem="It broke."))
        await asyncio.sleep(0.3)

    asyncio.run(watch())
    lines = [line.strip() for line in capsys.readouterr().err.splitlines() if turn.id in line]

    assert list(dict.fromkeys(line.partition(",")[0] for line in lines)) == [
        f"{turn.id}: {silent}",
        f"{turn.id}: thinking",
        f"{turn.id}: writing",
        f"{turn.id}: It broke.",
    ]
    assert any("writing, about 5 words so far" in line for line in lines)


HOSTILE = "x;touch $(echo y) 'z.journal.jsonl"


@pytest.mark.parametrize("name", ["a.jsonl", HOSTILE, "-rf", "~/x", "a\nb"])
def test_a_name_is_one_word(name: str) -> None:
    """A shell takes a name as one word, and the command takes it for no flag."""
    words = shlex.split(command("run --answers", name))

    assert words[:3] == ["debate", "run", "--answers"]
    assert words[3:] == [f"./{name}" if name.startswith("-") else name]


def test_no_command_holds_a_name_as_it_is() -> None:
    """Commands with a path in them are put together by `command`, or quote it."""
    folder = Path(debate_orchestrator.__file__).parent
    unquoted = re.compile(
        r"debate (?:[a-z]+ )+(?:--[a-z]+ )?\{(?:arguments|files|debate\.files|journal|path|folder|case)\b"
    )
    found = [
        f"{path.name}: {line.strip()}"
        for path in folder.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if unquoted.search(line) and path.name != "formats.py"  # quotes its names
    ]
    assert found == []


def test_a_suggested_command_can_be_pasted(here: Path) -> None:
    """The commands that continue a debate name its journal as one word."""
    ten_lines(here / HOSTILE)
    with pytest.raises(BadJournal) as refused:
        must_be_new(HOSTILE)

    suggested = re.findall(r"`(debate .*?)`", str(refused.value))
    assert [shlex.split(one) for one in suggested] == [["debate", verb, HOSTILE] for verb in ("resume", "step")]


def test_only_a_file_is_the_newest_debate(debate: Run, here: Path) -> None:
    """Links, pipes and folders that are named like journals are passed over, and a name is shown in one line."""
    os.symlink("nowhere", "dangling.journal.jsonl")
    os.symlink("loop.journal.jsonl", "loop.journal.jsonl")
    os.mkfifo("pipe.journal.jsonl")
    os.mkdir("folder.journal.jsonl")
    ran = debate("check")
    assert ran.code == 2 and "There is no debate in this folder." in ran.err

    ten_lines(here / "a\nb.journal.jsonl")
    os.utime("a\nb.journal.jsonl", (0, 0))
    assert "Using 'a\\nb.journal.jsonl', the newest debate" in debate("check").err


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize(
    ("line", "code", "unbuffered"),
    [
        ("ask debate.yaml rubbish", 2, ""),
        ("ask debate.yaml topic=x", 4, "1"),
        ("check nope.jsonl --json", 2, "1"),
        ("formats", 4, ""),
    ],
)
def test_a_full_disk_under_stdout_is_told_once(here: Path, line: str, code: int, unbuffered: str) -> None:
    """What goes wrong is told on stderr, without a traceback, and gives the exit code, also where the result can't be
    written."""
    arguments = [sys.executable, "-c", "from debate_orchestrator.cli import main; main()", *line.split()]
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        ran = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False)

    assert ran.returncode == code, ran.stderr
    assert ran.stderr.count("debate: ") == 1 and "Traceback" not in ran.stderr and "ignored" not in ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("full", ["stdout", "stderr", "both"])
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--help", 0, {"stdout"}),
        ("--version", 0, {"stdout"}),
        ("step --help", 0, {"stdout"}),
        ("formats", 0, {"stdout", "stderr"}),
        ("open --answers a.yaml", 0, {"stdout", "stderr"}),
        ("open --answers a.yaml --json", 0, {"stdout"}),
        ("check nope.jsonl", 2, {"stderr"}),
        ("frmats", 2, {"stderr"}),
    ],
)
def test_output_that_finds_no_room(
    here: Path, line: str, code: int, said: set[str], full: str, unbuffered: str
) -> None:
    """One rule for both streams and for every command: its work is done, and where something it had to print found no
    room, it ends with 4 instead of 0."""
    Path("a.yaml").write_text("topic: T\npositions: {a: It is so., b: It is not so.}\n", encoding="utf-8")
    arguments = [sys.executable, "-c", "from debate_orchestrator.cli import main; main()", *line.split()]
    with open("/dev/full", "w") as disk:
        streams = {name: disk if full in (name, "both") else subprocess.PIPE for name in ("stdout", "stderr")}
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        ran = subprocess.run(arguments, text=True, env=environment, check=False, **streams)

    lost = said & ({"stdout", "stderr"} if full == "both" else {full})
    assert ran.returncode == (4 if lost and not code else code), ran
    assert "Traceback" not in f"{ran.stdout}{ran.stderr}"
    assert (ran.stderr or "").count("Can't write the output") == (full == "stdout" and "stdout" in lost)
    assert not line.startswith("open") or "stdout" in lost or list(Path("debate-report.turns").glob("*.brief.md"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize(("shown", "unbuffered"), [([], "1"), (["--json"], "")])
def test_a_reply_that_is_not_taken_is_told_of_on_a_full_disk(
    debate: Run, here: Path, shown: list[str], unbuffered: str
) -> None:
    """Standard input held a reply to a turn that is not due: that is told, though the result finds no room."""
    assert debate("open", *STATED).code == 0
    arguments = [sys.executable, "-c", "from debate_orchestrator.cli import main; main()"]
    arguments += ["step", "debate-report.journal.jsonl", "1.rebuttal.b=-", *shown]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            arguments,
            input="A speech.",
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )

    assert ran.returncode == 4 and "Can't write the output" in ran.stderr
    assert "debate: 1.rebuttal.b: " in ran.stderr, ran.stderr
