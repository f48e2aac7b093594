"""Pipes, devices and the kernel's own files in the place of files: refused without waiting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Ran, Run
from waiting import ended

from debate_orchestrator.host.turns_folder import read_reply
from debate_orchestrator.storage.files import write_over
from debate_orchestrator.util.data import read_mapping, read_mapping_with_lines, read_text, system_owned
from debate_orchestrator.util.errors import BadFile, BadReply

WITH = {"judge": ["--judge", "host"]}
"""What a verb needs besides the file."""


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "/proc/self/environ"])
def test_regular_files_alone_are_read(here: Path, name: str) -> None:
    """A pipe does not block, a device is not read for ever, and what the kernel makes up is no file: each is told."""
    os.mkfifo("pipe")
    for read in (
        lambda: read_text(name, 9),
        lambda: read_mapping(name),
        lambda: read_mapping_with_lines(name),
        lambda: write_over(name, "", b"#", "mine"),
    ):
        refused = ended(read)
        assert isinstance(refused, BadFile)
        said = refused.complaints[0]
        assert "(a pipe or a device, or a file of the system)." in said and name in said


@pytest.mark.parametrize("name", ["x.jsonl", "x.md", "x"])
def test_no_verb_waits_for_a_pipe(debate: Run, here: Path, name: str) -> None:
    """A pipe in the place of a journal, a transcript or a reply is refused at once by every verb that reads one."""
    os.mkfifo(name)
    for verb in ("check", "report", "replay", "step", "resume", "judge", "compare"):
        refused = ended(lambda verb=verb: debate(verb, name, *WITH.get(verb, [name] * (verb == "compare"))))
        assert isinstance(refused, Ran) and refused.code == 2 and name in refused.err, (verb, refused)
    refused = ended(lambda: read_reply("1.opening.a", name))
    assert isinstance(refused, BadReply)


def test_a_journal_has_a_largest_size(debate: Run, here: Path) -> None:
    """A sparse file of a size that no debate has is refused before it is read, in one sentence."""
    with open("x.journal.jsonl", "wb") as file:
        file.truncate(2**40)
    for verb in ("check", "report", "step", "judge"):
        ran = debate(verb, "x.journal.jsonl", *WITH.get(verb, []))
        assert (ran.code, len(ran.err.splitlines())) == (2, 1) and "more than 268,435,456 bytes" in ran.err, (verb, ran)


def test_a_link_to_a_system_file(here: Path) -> None:
    """A link is what it leads to."""
    os.symlink("/proc/self/environ", "linked")
    with pytest.raises(BadFile, match="a file of the system"):
        read_text("linked", 9)


def test_a_file_that_a_shell_hands_over(here: Path) -> None:
    """A regular file is read under whatever name it is reached."""
    (here / "a.yaml").write_text("topic: T\n")
    with open("a.yaml", "rb") as file:
        assert read_mapping(f"/dev/fd/{file.fileno()}") == {"topic": "T"}


@pytest.mark.parametrize(
    ("path", "owned"),
    [
        ("/proc/1/environ", True),
        ("/sys/x", True),
        ("/dev/null", True),
        ("/dev/shm/x.md", False),
        ("/process/x", False),
        ("proc/x", False),
    ],
)
def test_what_the_system_owns(here: Path, path: str, owned: bool) -> None:
    """The kernel's file systems are its own; memory that is mounted among them for any user's files is not."""
    assert system_owned(path) == owned
