"""The files of one debate: how they are called, and where they may lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from debate_orchestrator.storage.paths import DebateFiles, state_folder
from debate_orchestrator.util.errors import BadFile


@pytest.mark.parametrize(
    ("output", "stem"),
    [
        ("report.md", "report"), ("./report.md", "./report"), ("a/b/report.md", "a/b/report"),
        ("../here/report.md", "../here/report"), ("v1.2.md", "v1.2"), ("ünï çødé.md", "ünï çødé"),
        ("out", "out/debate-report"), ("out/", "out/debate-report"), ("v1.2/", "v1.2/debate-report"),
        (".", "./debate-report"),
    ],
)  # fmt: skip
def test_files_are_named_after_the_report(here: Path, output: str, stem: str) -> None:
    """Journal, turns and looked-up pages lie beside the report under its name, relative where the output was."""
    if output.startswith(".."):
        (here / "here").mkdir()
        os.chdir(here / "here")
    report, journal, *others = DebateFiles.of_output(output)
    assert (report, journal) == (f"{stem}.md", f"{stem}.journal.jsonl")
    assert others == [f"{stem}.turns", f"{stem}.evidence", f"{stem}.drafts", f"{stem}.html"]


def test_an_absolute_output_stays_absolute(tmp_path: Path) -> None:
    """Where the output is absolute, so are its siblings."""
    files = DebateFiles.of_output(str(tmp_path / "report.md"))
    assert files.journal == str(tmp_path / "report.journal.jsonl")


@pytest.mark.parametrize("output", ["new/folder/report.md", "new/folder/", "new/folder"])
def test_folders_are_made(here: Path, output: str) -> None:
    """Folders on the way are made, and nothing is written in them."""
    DebateFiles.of_output(output)
    assert (here / "new/folder").is_dir()
    assert not list((here / "new/folder").iterdir())


def test_a_folder_may_end_like_a_report(here: Path) -> None:
    """A folder that is there is a folder, whatever its ending."""
    (here / "notes.md").mkdir()
    assert DebateFiles.of_output("notes.md").report == "notes.md/debate-report.md"


@pytest.mark.parametrize("output", ["report.txt", "report.html", "report.MD", "report.md.bak", "new/report.json"])
def test_only_markdown_is_a_report(here: Path, output: str) -> None:
    """An output with another ending is refused, and nothing is made."""
    with pytest.raises(BadFile, match=r"ends in \.md, or a folder"):
        DebateFiles.of_output(output)
    assert not list(here.iterdir())


@pytest.mark.parametrize("output", ["file/report.md", "file/", "file/deep/report.md", "taken", "x" * 300 + "/"])
def test_what_can_not_be_written(here: Path, output: str) -> None:
    """An output below a file, or where a folder has the report's name, is refused with the output's name."""
    (here / "file").write_text("x")
    (here / "taken/debate-report.md").mkdir(parents=True)
    with pytest.raises(BadFile, match=r"^output: ") as refused:
        DebateFiles.of_output(output)
    assert output[:50] in refused.value.complaints[0]


@pytest.mark.parametrize("output", ["a\0b/report.md", "a\ud800b/report.md"])
def test_what_is_no_name(here: Path, output: str) -> None:
    """An output that the system can't have as a name is refused."""
    with pytest.raises(BadFile):
        DebateFiles.of_output(output)


@pytest.mark.parametrize(
    ("journal", "stem"),
    [
        ("report.journal.jsonl", "report"),
        ("a/b.c.journal.jsonl", "a/b.c"),
        ("/x/backup.jsonl", "/x/backup"),
        ("backup", "backup"),
    ],
)
def test_files_of_a_journal(journal: str, stem: str) -> None:
    """A journal has its report, its turns and the pages that were looked up beside it, however it is called."""
    report, of, *others = DebateFiles.of_journal(journal)
    assert (report, of) == (f"{stem}.md", journal)
    assert others == [f"{stem}.turns", f"{stem}.evidence", f"{stem}.drafts", f"{stem}.html"]


def test_both_ways_agree(here: Path) -> None:
    """The files of an output are those of its journal."""
    files = DebateFiles.of_output("deep/report.md")
    assert DebateFiles.of_journal(files.journal) == files


@pytest.mark.parametrize("journal", ["debate.md", "old/debate.md", "debate.html"])
def test_a_report_is_never_its_journal(journal: str) -> None:
    """However a journal is called, its report and its page are other files."""
    files = DebateFiles.of_journal(journal)
    assert files.journal not in (files.report, files.page)


def test_ballots_lie_beside_the_journal(here: Path) -> None:
    """Reviewers' ballots have a folder of the report's name."""
    assert DebateFiles.of_output("out/report.md").ballots == "out/report.ballots"
    assert DebateFiles.of_journal("old.jsonl").ballots == "old.ballots"


def test_records_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own records lie in an absolute place, so that no folder from elsewhere can hold them."""
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert state_folder() == Path("/somewhere/debate-orchestrator")
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", "/house")
    assert state_folder() == Path("/house/.local/state/debate-orchestrator")
    monkeypatch.setenv("HOME", "house")
    assert state_folder() is None
