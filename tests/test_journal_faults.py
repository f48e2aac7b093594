"""Whatever is cut off, flipped, killed, stopped or full, a journal is read as it was written or not at all."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from conftest import Run, finish, place_finished_debate
from corpus import for_each
from journals import (
    Recorded,
    add_hash,
    command,
    every_kind,
    fills,
    line,
    line_ends,
    nth_event,
    opened,
    out_of_place,
    ten_lines,
    write_journal,
)
from shapes import without_checksum

from debate_orchestrator.core.events import Noted
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.errors import (
    BadJournal,
    DamagedJournal,
)

MORE = Noted(note="prompts changed", detail="written after the fault")
DRAWN = 0 if "CI" in os.environ else random.randrange(10_000)
"""Where samples of a journal's bytes begin: elsewhere each time, but where each time is to be like the last."""


# Bytes that are missing or changed


@pytest.mark.slow
def test_a_journal_that_is_cut_is_its_whole_lines(tmp_path: Path) -> None:
    """Cut at the end of a line or at each 13th byte, a journal reads as its whole lines, and is continued there."""
    path, events = tmp_path / "j.jsonl", every_kind()
    data = write_journal(path, events)
    ends = line_ends(data)
    cuts = {end + by for end in ends for by in (-2, -1, 0, 1, 2)}.intersection(range(ends[0], len(data) + 1))
    for cut in sorted(cuts.union(range(ends[0] + DRAWN % 13, len(data), 13))):
        whole = sum(end <= cut for end in ends)
        path.write_bytes(data[:cut])
        entries, torn = read(path)
        assert [entry.event for entry in entries] == events[:whole]
        assert torn == cut - ends[whole - 1]
        with JournalWriter(path) as writer:
            assert writer.entries == entries
            added = writer.append(MORE)
        assert read(path) == ([*entries, added], 0)
        assert path.read_bytes().startswith(data[: ends[whole - 1]])


def test_a_journal_cut_in_its_first_line_is_none(tmp_path: Path) -> None:
    """Cut at each 15th byte before its first newline, a journal can't be read or continued, but begun again."""
    path = tmp_path / "j.jsonl"
    data = write_journal(path, every_kind())
    end = line_ends(data)[0]
    for cut in sorted({*range(15), *range(DRAWN % 15, end, 15), end - 2, end - 1}):
        path.write_bytes(data[:cut])
        for attempt in (read, JournalWriter):
            with pytest.raises(BadJournal, match="no complete line"):
                attempt(path)
        if cut % 9 == 0:
            path.write_bytes(data[:cut])
            write_journal(path, every_kind())
            assert read(path).events == every_kind()


def test_flipped_bits_are_not_read_over(tmp_path: Path) -> None:
    """Each 101st bit, flipped, makes a journal damaged; any of the last newline leaves the last line torn."""
    path = tmp_path / "j.jsonl"
    data = ten_lines(path)
    entries, last = read(path).entries, len(data) - 1
    for flip in [*range(DRAWN % 101, 8 * last, 101), *range(8 * last, 8 * last + 8)]:
        at, bit = divmod(flip, 8)
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
        if at == last:
            assert read(path).entries == entries[:-1]
            assert read(path).torn_bytes == len(data) - line_ends(data)[-2]
        else:
            with pytest.raises(BadJournal):
                read(path)


def test_lines_out_of_place_are_damage(tmp_path: Path) -> None:
    """A line deleted, doubled, or swapped with any other is damage to readers and writers, and stays as it is."""
    path = tmp_path / "j.jsonl"
    lines = ten_lines(path).splitlines(keepends=True)
    assert len(lines) == 10
    for what, changed in out_of_place(lines).items():
        path.write_bytes(b"".join(changed))
        for attempt in (read, JournalWriter):
            with pytest.raises(DamagedJournal, match=r"line \d+ "):
                attempt(path)
                pytest.fail(what)
        assert path.read_bytes() == b"".join(changed)


@pytest.mark.parametrize(("n", "prev"), [(3, None), (1, None), ("2", None), (None, None), (2, "0" * 64), (2, 7)])
def test_a_sealed_line_must_follow_the_one_before(tmp_path: Path, n: object, prev: object) -> None:
    """A line with the wrong number, or that names another line before it, is damage whatever its checksum."""
    path = tmp_path / "j.jsonl"
    data = write_journal(path, [opened()])
    follows = read(path).entries[0].hash if prev is None else prev
    path.write_bytes(data + line(n, follows, MORE.model_dump(mode="json")))  # type: ignore[arg-type]
    with pytest.raises(DamagedJournal, match="line 2"):
        read(path)


# Writers that are killed or stopped


@pytest.mark.slow
@pytest.mark.parametrize("each", ["appended", "synced"])
def test_a_killed_writer_leaves_a_beginning_of_what_it_meant(tmp_path: Path, each: str) -> None:
    """Killed at any moment, a writer leaves the first events it meant to write, a free lock, and no more."""
    rounds, kept = 16, []
    subprocess.run(command("killed", tmp_path, rounds, each, f"seed of {each}"), check=True, timeout=100)
    for path in (tmp_path / f"{n}.jsonl" for n in range(rounds)):
        data = path.read_bytes() if path.exists() else b""
        whole = data.count(b"\n")
        kept.append(whole)
        if not whole:
            with pytest.raises(BadJournal):
                read(path)
            write_journal(path, [opened(), MORE])
            assert read(path).events == [opened(), MORE]
            continue
        events = [nth_event(n) for n in range(whole)]
        assert read(path).events == events
        assert read(path).torn_bytes == len(data) - line_ends(data)[-1]
        with JournalWriter(path) as writer:
            writer.append(MORE)
        assert read(path).events == [*events, MORE]
        assert read(path).torn_bytes == 0
    assert sum(whole > 1 for whole in kept) >= rounds // 2


# Disks that are full or fail


@pytest.mark.parametrize("call", ["ftruncate", "fstat", "pread", "lstat"])
def test_a_failing_disk_loses_nothing_unnamed(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever call on the file fails before a line is written, the line waits and is named. It is saved once the disk
    works; if the journal is closed before, it is named as lost."""
    path, sentences = tmp_path / "j.jsonl", list[str]()

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    def append_on_failing_disk(writer: JournalWriter) -> None:
        with path.open("ab") as file:
            file.write(b"a torn tail")
        monkeypatch.setattr(os, call, fail)
        writer.append(MORE, queue_if_disk_full=True)
        assert "can't be saved: Input/output error" in sentences[-1]
        assert writer.is_in_place()

    with JournalWriter.create(path, opened()) as writer:
        writer.notify = sentences.append
        append_on_failing_disk(writer)
        monkeypatch.undo()
        writer.append(MORE, queue_if_disk_full=True)
        assert sentences[-1].startswith("Saved: ")
        append_on_failing_disk(writer)
    monkeypatch.undo()

    assert sentences[-1].startswith("Lost: ")
    assert read(path).events[1:] == [MORE, MORE]


@pytest.mark.parametrize("how", ["mount", "limit"])
def test_a_full_disk_loses_nothing(tmp_path: Path, how: str) -> None:
    """On a full disk an append fails with what is saved; with room again, the same writer and a new one go on."""
    room, out = tmp_path / "room", tmp_path / "out"
    room.mkdir()
    out.mkdir()
    filler = fills(how, room, out)
    if not filler:
        pytest.skip("no file system may be mounted here")
    ran = subprocess.run(filler, capture_output=True, text=True, check=False, timeout=100)
    assert (ran.returncode, ran.stderr) == (0, "")
    output = json.loads(ran.stdout)
    assert output["saved"] > 3
    assert output["whole"], "it reads whole while the disk is full"
    assert len(output["complaints"]) == 2, "each attempt fails, and can be made again"
    for problem in output["complaints"]:
        assert str(room / "j.jsonl") in problem
        assert "everything before is saved. Try: make room on the disk." in problem
    full, after = read(out / "full.jsonl"), read(out / "after.jsonl")
    assert (len(full.entries), full.torn_bytes) == (output["saved"], 0)
    assert after.entries[:-2] == full.entries
    assert after.events[-2:] == [Noted(note="one agent", detail=by) for by in ("the same writer", "a new writer")]


# What is not text, not a journal, or not there any more


def test_nesting_without_end_is_damage(tmp_path: Path) -> None:
    """A well-sealed line that nests deeper than any reader can follow is damage, not a crash."""
    path = tmp_path / "j.jsonl"
    deep = b"[" * 100_000 + b"]" * 100_000
    body = b'{"n":2,"at":"","prev":"%s","event":%s}'
    data = write_journal(path, [opened()])
    path.write_bytes(data + add_hash(body % (read(path).entries[0].hash.encode(), deep)))
    with pytest.raises(DamagedJournal, match="line 2 matches its hash but is nested too deeply"):
        read(path)


# Whole debates


@pytest.fixture
def recorded(debate: Run, answers: Path) -> Recorded:
    place_finished_debate(debate)
    journal = Path("report.journal.jsonl")
    return Recorded(journal.read_bytes(), Path("report.md").read_bytes(), read(journal).events, debate)


@pytest.mark.slow
def test_a_debate_cut_after_a_line_ends_in_the_same_report(recorded: Recorded) -> None:
    """A debate whose journal is cut after a line goes on to the same report."""
    for cut in line_ends(recorded.journal)[DRAWN % 10 :: 10]:
        folder = recorded.after_a_crash(f"cut-{cut}", cut)
        finish(recorded.debate, recorded.step(folder), rounds=2)
        assert without_checksum((folder / "report.md").read_bytes()) == without_checksum(recorded.report)
        assert recorded.same_events(folder), "each turn was asked for once and answered once"


@for_each(["", "\x1b[31m", "\u202e2026", "2026\n\n# Verdict", "<img src=x>", "2026-11-23T09:00:00.000Z" * 2], "at")
def test_the_time_of_a_line_holds_a_time_alone(tmp_path: Path, at: str) -> None:
    """What says when a line was written is shown in reports as it is, so markup, controls and long texts are damage."""
    path = tmp_path / "j.jsonl"
    path.unlink(missing_ok=True)
    with JournalWriter.create(path, opened(), clock=lambda: at):
        pass
    with pytest.raises(DamagedJournal, match="lacks n, at, prev or event"):
        read(path)


def test_the_name_of_a_file_adds_no_line(debate: Run, here: Path) -> None:
    """A damaged journal whose name holds line breaks is told of in one line, and no verb takes it."""
    path = Path("good.journal.jsonl: 42 lines, in an unbroken chain.\nComplete.\n.journal.jsonl")
    path.write_bytes(ten_lines(here / "whole.jsonl").replace(b'"n":3', b'"n":4'))
    with pytest.raises(DamagedJournal) as damaged:
        read(str(path))
    assert "was changed" in str(damaged.value) and "\nComplete." not in str(damaged.value)

    other = here / "r.md: belongs to this journal.journal.jsonl"
    other.write_bytes(
        Path(__file__).parents[1].joinpath("examples/free-transit/debate-report.journal.jsonl").read_bytes()
    )
    assert debate("check", str(other)).out.startswith(f"“{other}”: ")
    other.unlink()
    ran = debate("check")
    assert ran.code == 2 and "has a line break in its name" in ran.err and "\nComplete." not in ran.err + ran.out
