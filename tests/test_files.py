"""Files are replaced only where this program wrote them: anything else is moved aside or refused, byte for byte."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from corpus import for_each

from debate_orchestrator.storage import files
from debate_orchestrator.storage.files import (
    WrittenByUs,
    make_folder,
    move_aside,
    write_atomic,
    write_listed,
    write_new,
    write_over,
)
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.errors import BadFile


def listing(folder: Path) -> dict[str, str]:
    """Every file of a folder with its text; a link with what it points to."""
    return {
        one.name: f"-> {os.readlink(one)}" if one.is_symlink() else one.read_text(encoding="utf-8")
        for one in folder.iterdir()
        if one.is_symlink() or one.is_file()
    }


def test_what_is_not_ours_is_moved_aside(here: Path) -> None:
    """A file that is not ours gets a new name with `.edited`, numbered where taken; a file that is ours is replaced."""
    Path("x.md").write_text("theirs")
    Path("x.edited.md").write_text("already there")
    os.chmod("x.md", 0o200)

    assert write_atomic("x.md", "new", is_ours=lambda there: there == b"ours") == "x.edited-2.md"
    assert Path("x.md").stat().st_mode & 0o400  # what is moved aside takes its mode with it
    Path("x.md").write_text("ours")
    assert write_atomic("x.md", "newer", is_ours=lambda there: there == b"ours") is None
    assert listing(here) == {"x.md": "newer", "x.edited.md": "already there", "x.edited-2.md": "theirs"}


@pytest.mark.parametrize("renamed", [False, True], ids=["in place", "by a rename"])
def test_what_is_saved_while_a_file_is_replaced_is_kept(here: Path, renamed: bool) -> None:
    """An editor may save after the file was read and before it is replaced: what it saved gets a name with
    `.edited`, even if nothing is in it yet."""
    Path("x.md").write_text("ours")
    editor = Path("x.md~" if renamed else "x.md")

    def is_ours(there: bytes) -> bool:
        editor.write_text(saved)
        editor.replace("x.md")
        return True

    for saved, kept in (("theirs", "x.edited.md"), ("", "x.edited-2.md")):
        assert write_atomic("x.md", f"new, not {saved}", is_ours=is_ours) == kept
    assert listing(here) == {"x.md": "new, not ", "x.edited.md": "theirs", "x.edited-2.md": ""}


@pytest.mark.parametrize("there", [None, "a person's"], ids=["nothing there", "moved aside"])
def test_what_is_saved_where_nothing_stands_is_kept(
    here: Path, monkeypatch: pytest.MonkeyPatch, there: str | None
) -> None:
    """A file that another program saves while a new one is written is moved aside as any other."""
    if there is not None:
        Path("x.md").write_text(there)
    saved = iter(["saved meanwhile"])

    def is_moved(path: Path, why: str) -> str:
        aside = move_aside(path, why)
        for text in saved:
            Path("x.md").write_text(text)
        return aside

    def sync(handle: int, sync: Callable[[int], None] = os.fsync) -> None:
        for text in saved if there is None else ():
            Path("x.md").write_text(text)
        sync(handle)

    monkeypatch.setattr(files, "move_aside", is_moved)
    monkeypatch.setattr(os, "fsync", sync)
    assert write_atomic("x.md", "new", is_ours=lambda data: data == b"new") is not None
    assert sorted(listing(here).values()) == sorted(filter(None, ["new", there, "saved meanwhile"]))


def test_a_file_that_is_saved_again_and_again_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another program saves at every attempt, all of its files are kept, and the error is reported."""
    saved = count()

    def moved(path: Path, why: str) -> str:
        aside = move_aside(path, why)
        Path("x.md").write_text(f"saved {next(saved)}")
        return aside

    Path("x.md").write_text("first")
    monkeypatch.setattr(files, "move_aside", moved)
    with pytest.raises(BadFile, match="exists"):
        write_atomic("x.md", "new", is_ours=lambda _: False)
    assert sorted(listing(here).values()) == ["first", "saved 0", "saved 1", "saved 2"]


def test_json_from_which_a_secret_was_taken_is_still_text(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters beyond ASCII stay letters where JSON is written again because an escape looked like part of a key."""
    monkeypatch.setenv("NVIDIA_API_KEY", "nvapi-Ab3dE5gH7jK9mN1p")
    data = {"a": "\u00e9 \u4e2d", "text": "this is\nvapi-Ab3dE5gH7jK9mN1p, and nvapi-Ab3dE5gH7jK9mN1p"}
    write_atomic("x.json", json.dumps(data, ensure_ascii=False))

    text = Path("x.json").read_text(encoding="utf-8")
    assert "\u00e9 \u4e2d" in text and json.loads(text)["a"] == "\u00e9 \u4e2d" and "and nvapi-" not in text


@pytest.mark.parametrize("ours", [None, lambda _: True], ids=["any", "ours"])
def test_nothing_is_left_of_a_replace_that_failed(
    here: Path, monkeypatch: pytest.MonkeyPatch, ours: WrittenByUs | None
) -> None:
    """Where a file can't be replaced, it stays, and nothing is beside it."""
    Path("x.md").write_text("old")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(BadFile):
        write_atomic("x.md", "new", is_ours=ours)
    assert listing(here) == {"x.md": "old"}


def test_a_write_that_fails_says_where_the_old_file_is(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a person's file was moved aside and the new one can't take its place, the error names it."""
    Path("x.md").write_text("theirs")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_place", full)
    with pytest.raises(BadFile, match=r"What was there was moved to x\.edited\.md\. Try: make room"):
        write_atomic("x.md", "new", is_ours=lambda _: False)
    assert listing(here) == {"x.edited.md": "theirs"}


def test_what_can_not_be_moved_aside_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another program saved meanwhile is named also where it keeps its hidden name."""
    Path("x.md").write_text("ours")

    def is_ours(_: bytes) -> bool:
        return bool(Path("x.md").write_text("theirs"))

    def refused(*_: object, **__: object) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files, "move_aside", refused)
    kept = write_atomic("x.md", "new", is_ours=is_ours)
    assert kept and Path(kept).read_text() == "theirs" and Path("x.md").read_text() == "new"


def test_listed_files_are_known_after_a_write_that_broke_off(here: Path) -> None:
    """Where writing them again breaks off, those of before and the new ones are all known the next time."""
    for text in (b"old", b"new"):
        assert [*write_listed(".", {"x": text, "y": text})] == []
        write = write_listed(".", {"x": b"broken off", "y": b"broken off"})
        Path("y").unlink()
        Path("y").mkdir()
        with pytest.raises(BadFile, match=r"y .a folder"):
            list(write)
        Path("y").rmdir()
        Path("y").write_bytes(text)
    assert [*write_listed(".", {"x": b"newest", "y": b"newest"})] == []
    assert {"x", "y"} == {name for name in listing(here) if name != "SHA256SUMS"}


def test_the_same_bytes_are_not_moved(here: Path) -> None:
    """Where the file holds what would be written, or nothing, there is nothing to keep."""
    Path("x").write_text("same")
    Path("y").touch()

    assert write_atomic("x", "same", is_ours=lambda there: False) is None
    assert write_atomic("y", "new", is_ours=lambda there: False) is None
    assert listing(here) == {"x": "same", "y": "new"}


def test_a_link_and_a_read_only_file_are_never_replaced(here: Path) -> None:
    """They are moved aside where files may be, and refused elsewhere; what a link points to stays as it was."""
    Path("victim").write_text("precious")
    for name in ("a.md", "b.md", "dangling.md"):
        os.symlink("nowhere" if name == "dangling.md" else "victim", name)
    for name in ("c.md", "d.md"):
        Path(name).write_text("old")
        os.chmod(name, 0o444)

    for name in ("a", "c", "dangling"):
        assert write_atomic(f"{name}.md", "new", is_ours=lambda there: True) == f"{name}.edited.md"
    for name, reason in (("b.md", "symbolic link"), ("d.md", "read-only file")):
        with pytest.raises(BadFile, match=rf"{name} .a {reason}"):
            write_atomic(name, "new")
    assert listing(here) == {
        "victim": "precious", "a.md": "new", "a.edited.md": "-> victim", "b.md": "-> victim", "c.md": "new",
        "c.edited.md": "old", "d.md": "old", "dangling.md": "new", "dangling.edited.md": "-> nowhere",
    }  # fmt: skip


@pytest.mark.parametrize("what", ["folder", "pipe"])
def test_what_is_no_file_is_refused(here: Path, what: str) -> None:
    """A folder or a pipe in the way is neither read nor moved, and nothing is left behind."""
    os.mkdir("x.md") if what == "folder" else os.mkfifo("x.md")
    with pytest.raises(BadFile, match=r"x\.md .a"):
        write_atomic("x.md", "new", is_ours=lambda there: True)
    with pytest.raises(BadFile, match=r"one of mine|Can't write"):
        write_over("x.md", "# Mine", b"# Mine", "one of mine")
    assert os.listdir() == ["x.md"]


def test_a_replaced_file_keeps_its_mode(here: Path) -> None:
    """A private file is still private when it was replaced, and was so while it was written."""
    Path("x").write_text("old")
    os.chmod("x", 0o600)
    write_atomic("x", "new")

    assert (stat.S_IMODE(os.stat("x").st_mode), Path("x").read_text()) == (0o600, "new")


def test_what_has_a_place_of_its_own_is_written_once(here: Path) -> None:
    """`write_new` writes no file that is there already, not even where a link points to nothing."""
    write_new("x", "first")
    os.symlink("nowhere", "y")
    for name in ("x", "y"):
        with pytest.raises(BadFile, match="already exists"):
            write_new(name, "second")

    assert listing(here) == {"x": "first", "y": "-> nowhere"}


def test_moving_aside_overwrites_nothing(here: Path) -> None:
    """Each file that is moved aside gets a name that nothing else has, a folder and a link too."""
    for n in range(2):
        Path("x.md").write_text(str(n))
        move_aside("x.md", "taken")
    os.mkdir("x.md")
    Path("x.md", "inside").write_text("kept")
    move_aside("x.md", "taken")
    os.symlink("nowhere", "x.md")
    move_aside("x.md", "taken")

    assert listing(here) == {"x.taken.md": "0", "x.taken-2.md": "1", "x.taken-4.md": "-> nowhere"}
    assert Path("x.taken-3.md", "inside").read_text() == "kept"


def test_a_folder_of_our_own_is_no_link(here: Path) -> None:
    """Where a link is in the place of a folder of ours, nothing is written to where it points."""
    os.mkdir("elsewhere")
    os.symlink("elsewhere", "own")
    for name in ("own", "own/"):
        with pytest.raises(BadFile, match="a symbolic link"):
            make_folder(name)
    make_folder("deep/er")
    make_folder("deep/er")

    assert Path("deep/er").is_dir()


def test_nothing_is_left_of_a_write_that_failed(here: Path) -> None:
    """Where writing fails half-way, what was there stays under its name, and no other file is there."""
    Path("x.md").write_text("theirs")
    script = (
        "import resource; from debate_orchestrator.storage.files import write_atomic as write_whole\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_whole('x.md', 'x' * 5000, is_ours=lambda there: False)\n"
        "except Exception as error: print(type(error).__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout == "DiskFull\n"
    assert listing(here) == {"x.md": "theirs"}


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
    report, journal, *others = DebateFiles.made_for(output)
    assert (report, journal) == (f"{stem}.md", f"{stem}.journal.jsonl")
    assert others == [f"{stem}.turns", f"{stem}.evidence", f"{stem}.drafts", f"{stem}.html"]


@pytest.mark.parametrize("output", ["new/folder/report.md", "new/folder/", "new/folder"])
def test_folders_are_made(here: Path, output: str) -> None:
    """Folders on the way are made, and nothing is written in them."""
    DebateFiles.made_for(output)
    assert (here / "new/folder").is_dir()
    assert not list((here / "new/folder").iterdir())


@for_each(["report.txt", "report.html", "report.MD", "report.md.bak", "new/report.json"], "output")
def test_only_markdown_is_a_report(here: Path, output: str) -> None:
    """An output with another suffix is refused, and nothing is made."""
    with pytest.raises(BadFile, match=r"ends in \.md, or a folder"):
        DebateFiles.made_for(output)
    assert not list(here.iterdir())


@pytest.mark.parametrize("output", ["file/report.md", "file/", "file/deep/report.md", "taken", "x" * 300 + "/"])
def test_what_can_not_be_written(here: Path, output: str) -> None:
    """An output below a file, or where a folder has the report's name, is refused with the output's name."""
    (here / "file").write_text("x")
    (here / "taken/debate-report.md").mkdir(parents=True)
    with pytest.raises(BadFile, match=r"^output: ") as refused:
        DebateFiles.made_for(output)
    assert output[:50] in refused.value.problems[0]


@for_each(
    [
        ("report.journal.jsonl", "report"),
        ("a/b.c.journal.jsonl", "a/b.c"),
        ("/x/backup.jsonl", "/x/backup"),
        ("backup", "backup"),
    ]
)
def test_files_of_a_journal(journal: str, stem: str) -> None:
    """A journal has its report, its turns and the pages that were looked up beside it, however it is called."""
    report, of, *others = DebateFiles.of_journal(journal)
    assert (report, of) == (f"{stem}.md", journal)
    assert others == [f"{stem}.turns", f"{stem}.evidence", f"{stem}.drafts", f"{stem}.html"]


@pytest.mark.parametrize("journal", ["debate.md", "old/debate.md", "debate.html"])
def test_a_report_is_never_its_journal(journal: str) -> None:
    """However a journal is called, its report and its page are other files."""
    files = DebateFiles.of_journal(journal)
    assert files.journal not in (files.report, files.html_report)
