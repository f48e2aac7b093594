"""A journal is written in its own place or not at all: no link is followed, and nothing but a regular file is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Run, hold
from journals import every_kind, opened, ten_lines, written

from debate_orchestrator.core.events import Noted
from debate_orchestrator.storage.journal import JournalWriter, must_be_new, read
from debate_orchestrator.util.errors import BadJournal, ProviderFailed


def test_a_link_is_read_and_never_written(here: Path) -> None:
    """A link to a journal may be read; a command that would write by it says to name the file, and nothing changes."""
    before = ten_lines(here / "real.jsonl")
    os.symlink("real.jsonl", "link.jsonl")

    assert len(read("link.jsonl").entries) == 10
    for attempt in (JournalWriter, lambda path: JournalWriter.create(path, opened()), must_be_new):
        with pytest.raises(BadJournal, match=r"link\.jsonl .a symbolic link"):
            attempt("link.jsonl")
    assert Path("real.jsonl").read_bytes() == before


@pytest.mark.parametrize("target", ["nowhere", "empty", "torn"])
def test_no_journal_is_begun_through_a_link(here: Path, target: str) -> None:
    """A link to nothing, to an empty file or to the beginning of a journal leads no new journal there."""
    written(here / "j.jsonl", every_kind())
    Path("torn").write_bytes(Path("j.jsonl").read_bytes()[:20])
    Path("empty").touch()
    os.symlink(target, "new.jsonl")
    with pytest.raises(BadJournal, match="a symbolic link"):
        JournalWriter.create("new.jsonl", opened())

    assert not Path("nowhere").exists()
    assert (Path("empty").read_bytes(), len(Path("torn").read_bytes())) == (b"", 20)


def test_a_pipe_is_no_journal(here: Path) -> None:
    """A pipe or a device in a journal's place is refused at once."""
    os.mkfifo("pipe.jsonl")
    for path in ("pipe.jsonl", "/dev/null"):
        for attempt in (JournalWriter, lambda path: JournalWriter.create(path, opened()), must_be_new):
            with pytest.raises(BadJournal, match="a pipe or a device"):
                attempt(path)


def test_a_hard_link_is_one_journal(here: Path) -> None:
    """Two names of one journal have one lock, and one writer at a time."""
    ten_lines(here / "a.jsonl")
    os.link("a.jsonl", "b.jsonl")
    with JournalWriter("a.jsonl") as writer:
        with pytest.raises(BadJournal, match="another process is writing"):
            JournalWriter("b.jsonl")
        writer.append(Noted(note="one agent"))

    assert len(read("b.jsonl").entries) == 11


def test_the_commands_follow_no_link(debate: Run, answers: Path) -> None:
    """`report` tells a journal by a link to it; `resume` and `step` refuse to write by the link."""
    hold(debate)
    os.symlink("report.journal.jsonl", "link.journal.jsonl")
    before = Path("report.journal.jsonl").read_bytes()

    assert debate("report", "link.journal.jsonl").code == 0
    for verb in ("resume", "step"):
        ran = debate(verb, "link.journal.jsonl")
        assert (ran.code, "a symbolic link" in ran.err) == (2, True)
    os.symlink("nowhere", "new.journal.jsonl")
    assert debate("open", "--answers", "answers.yaml", "--output", "new.md").code == 2
    assert not Path("nowhere").exists()
    assert Path("report.journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("replaced", [False, True])
def test_a_journal_that_is_gone_is_not_written_on(here: Path, replaced: bool) -> None:
    """A journal that was deleted or replaced under its writer is not written on."""
    ten_lines(here / "j.jsonl")
    with JournalWriter("j.jsonl") as writer:
        os.rename("j.jsonl", "moved.jsonl")
        writer.append(Noted(note="one agent"))
        if replaced:
            Path("copy").write_bytes(Path("moved.jsonl").read_bytes())
            os.replace("copy", "moved.jsonl")
        else:
            os.unlink("moved.jsonl")
        with pytest.raises(ProviderFailed, match="deleted or replaced"):
            writer.append(Noted(note="one agent"))
