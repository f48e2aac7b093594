"""A command that a message suggests does what it says, whatever a file is called."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from conftest import Run
from journals import ten_lines

import debate_orchestrator
from debate_orchestrator.storage.journal import must_be_new
from debate_orchestrator.util.errors import BadJournal
from debate_orchestrator.util.messages import command

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
