"""A reply on standard input: it is taken or kept, whatever happens to the step."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest import CommandResult, Run

from debate_orchestrator.cli import piped
from debate_orchestrator.cli import step as step_verb
from debate_orchestrator.core.fold import fold
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.storage import journal as journal_module
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util import signals
from debate_orchestrator.util.errors import JournalWriteError

J = "report.journal.jsonl"


HandIn = Callable[..., CommandResult]


@pytest.fixture
def hand_in(debate: Run, opened: dict[str, Any], standard_input: Callable[[str], None]) -> HandIn:
    """A step of an open debate that takes a reply from standard input."""

    def step(turn: str, reply: str = "Grüße, said A.", *more: str) -> CommandResult:
        standard_input(reply)
        return debate("step", J, "--json", f"{turn}=-", *more)

    return step


def accepted(ran: CommandResult) -> list[tuple[str, int]]:
    return [(one["turn"], one["words"]) for one in ran.json["accepted"]]


@pytest.mark.parametrize(
    ("turn", "reply", "name"),
    [
        ("1.opening.a", "Said A.\nagentId: abc", "1.opening.a"),
        ("1.opening.b", "Said B, too early.", "1.opening.b"),
        ("../../9", "Said nobody.", "unnamed"),
        ("1.opening.a", "Binary \0.", "1.opening.a"),
        ("1.opening.a", "long " * 60_000, "1.opening.a"),
    ],
    ids=["wrapped", "not due", "no turn", "no text", "too long"],
)
def test_a_refused_reply_from_standard_input_is_kept(hand_in: HandIn, turn: str, reply: str, name: str) -> None:
    """It lies in the folder of turns, whole, and the last complaint says where."""
    for n in (1, 2):
        ran, kept = hand_in(turn, reply), Path(f"report.turns/{name}.reply.rejected-{n}.txt")
        assert ran.code == 2 and f"was kept as {kept}. Try: `debate step " in ran.json["complaints"][-1]
        assert kept.read_text(encoding="utf-8") == reply


@pytest.mark.parametrize("reason", ["locked", "no secret", "interrupted"])
def test_a_reply_from_standard_input_is_kept_where_the_step_fails(
    debate: Run, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """Where the journal stays locked, the step can't work out a code, or is interrupted, the reply is kept, and a step
    with the command that is reported takes it."""
    writer = JournalWriter(J)
    with monkeypatch.context() as patch:
        patch.setattr(step_verb, "_LOCK_SECONDS", 0)
        if reason != "locked":
            writer.close()
        if reason == "no secret":
            patch.setenv("XDG_STATE_HOME", "/proc/none")
        if reason == "interrupted":
            patch.setattr(step_verb, "Stepper", interrupting)
        ran = hand_in("1.opening.a")
    writer.close()
    assert ran.code == (130 if reason == "interrupted" else 2)
    kept = "report.turns/1.opening.a.reply.rejected-1.txt"
    assert f"1.opening.a: the reply on standard input was kept as {kept}." in ran.err
    assert accepted(debate("step", J, f"1.opening.a={kept}", "--json")) == [("1.opening.a", 3)]


@pytest.mark.parametrize("named", [["other.journal.jsonl"], ["../notes.txt"], []], ids=["not there", "other", "none"])
def test_a_reply_from_standard_input_is_kept_where_no_journal_is_found(
    debate: Run, here: Path, standard_input: Callable[[str], None], named: list[str]
) -> None:
    """It is kept in the working folder, not beside a file that is no journal, and the command that hands it in is
    reported."""
    Path("../notes.txt").write_text("Notes", encoding="utf-8")
    standard_input("Grüße, said A.")
    ran = debate("step", *named, "1.opening.a=-", "--json")

    kept = "1.opening.a.reply.rejected-1.txt"
    assert ran.code == 2 and f"Try: `debate step JOURNAL 1.opening.a={kept}` once it can be taken." in ran.err
    assert Path(kept).read_text(encoding="utf-8") == "Grüße, said A."
    assert not Path("../notes.turns").exists()


def interrupting(*_: object) -> Any:
    raise KeyboardInterrupt


KEPT = "report.turns/1.opening.a.reply.rejected-1.txt"


def test_standard_input_is_in_a_file_until_it_is_taken(hand_in: HandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a process that is killed loses nothing of it. Then the file is gone."""
    kept, take = list[str](), step_verb.Stepper.take_replies

    def taken(*arguments: Any, **named: Any) -> None:
        kept.append(Path(KEPT).read_text(encoding="utf-8"))
        take(*arguments, **named)

    monkeypatch.setattr(step_verb.Stepper, "take_replies", taken)
    assert accepted(hand_in("1.opening.a")) == [("1.opening.a", 3)]
    assert kept == ["Grüße, said A."] and not Path(KEPT).exists()


def test_an_interrupt_keeps_the_part_that_has_come(hand_in: HandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has come on standard input when an interrupt ends the reading is kept, and called a part."""
    waits = count()
    monkeypatch.setattr(piped, "_PIECE_SIZE", 7)
    monkeypatch.setattr(piped.select, "select", lambda *_: interrupting() if next(waits) == 2 else None)
    ran = hand_in("1.opening.a", "Part 1 Part 2 Part 3 ")
    assert ran.code == 130 and Path(KEPT).read_text(encoding="utf-8") == "Part 1 Part 2 "
    assert f"1.opening.a: the part that had come of the reply on standard input was kept as {KEPT}." in ran.err


@pytest.mark.parametrize("signs", [(signal.SIGINT,), (signal.SIGHUP, signal.SIGHUP)], ids=["Ctrl-C", "closed terminal"])
def test_a_signal_comes_when_standard_input_is_in_its_file(
    hand_in: HandIn, monkeypatch: pytest.MonkeyPatch, signs: tuple[signal.Signals, ...]
) -> None:
    """Signals that come while the file is written wait until it is."""
    new_file = TurnsFolder.new_file

    def slow_file(*arguments: Any) -> Any:
        for sign in signs:
            os.kill(os.getpid(), sign)
        return new_file(*arguments)

    monkeypatch.setattr(TurnsFolder, "new_file", slow_file)
    ran = hand_in("1.opening.a")
    assert (
        ran.code == 130 and Path(KEPT).read_text(encoding="utf-8") == "Grüße, said A." and f"kept as {KEPT}" in ran.err
    )


def test_a_second_signal_loses_no_reply(hand_in: HandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the folder of turns takes no file, a reply that is refused is printed, and so is what has come of one that
    is interrupted, however many calls after the first signal another one comes."""
    shutil.rmtree("report.turns")
    Path("report.turns").write_text("no folder", encoding="utf-8")
    ran = hand_in("1.opening.b")
    assert "1.opening.b: the reply on standard input could not be kept (" in ran.err and ran.code == 2
    assert ran.err.startswith("Grüße, said A.\n")

    def hand_in_and_interrupt(calls: int) -> CommandResult:
        waits, made = count(), count(1)
        monkeypatch.setattr(signals, "_last_signal", signals._LastSignal())

        def at_call(frame: object, event: str, argument: object) -> None:
            if event == "call" and next(made) == calls:
                sys.setprofile(None)
                os.kill(os.getpid(), signal.SIGHUP)

        def wait(*_: object) -> None:
            if next(waits) == 1:
                sys.setprofile(at_call)
                raise KeyboardInterrupt

        monkeypatch.setattr(piped.select, "select", wait)
        try:
            return hand_in("1.opening.a", "Said A.")
        finally:
            sys.setprofile(None)

    for calls in range(1, 25):
        ran = hand_in_and_interrupt(calls)
        assert ran.code == 130 and "Said A.\n" in ran.err, calls
        assert "the part that had come of the reply on standard input could not be kept (" in ran.err, calls


@pytest.mark.parametrize(("size", "is_cut"), [(7, False), (6, True)])
def test_a_reply_that_is_cut_off_is_not_called_whole(
    hand_in: HandIn, monkeypatch: pytest.MonkeyPatch, size: int, is_cut: bool
) -> None:
    """What is longer than is read of standard input is reported as its beginning; what is as long is whole."""
    monkeypatch.setattr(piped, "_MAX_SIZE", size)
    ran = hand_in("1.opening.b", "Said B.")
    part = "the beginning, cut off at 6 bytes, of the" if is_cut else "the"
    assert f"1.opening.b: {part} reply on standard input was kept as" in ran.err
    assert ("shorten it: " in ran.err) == is_cut and ran.code == 2


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_two_signals_at_open_standard_input(opened: dict[str, Any], sign: signal.Signals) -> None:
    """One after another, while standard input is still open, they leave what has come in its file."""
    command = [sys.executable, "-c", "from debate_orchestrator.cli import main; main()", "step", J, "1.opening.a=-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(b"Said A.")
        process.stdin.flush()
        until = time.monotonic() + 60
        while not (os.path.exists(KEPT) and os.path.getsize(KEPT)):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.01)
        process.send_signal(sign)
        time.sleep(0.005)
        process.send_signal(sign)
        process.wait(60)
    assert Path(KEPT).read_text(encoding="utf-8") == "Said A."


def full_disk(*_: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("is_interrupted", [False, True], ids=["room again", "Ctrl-C"])
def test_standard_input_that_is_not_taken_waits_for_room(
    hand_in: HandIn, monkeypatch: pytest.MonkeyPatch, is_interrupted: bool
) -> None:
    """A reply that is refused while the disk is full is kept once there is room; Ctrl-C prints it instead."""
    new_file = TurnsFolder.new_file

    def sleep(_: float) -> None:
        if is_interrupted:
            raise KeyboardInterrupt
        monkeypatch.setattr(TurnsFolder, "new_file", new_file)

    monkeypatch.setattr(TurnsFolder, "new_file", full_disk)
    monkeypatch.setattr(piped.time, "sleep", sleep)
    ran = hand_in("1.opening.b", "Line 1,\nand line 2.")
    assert "1.opening.b: the reply on standard input waits for room on the disk" in ran.err
    if is_interrupted:
        assert (
            ran.code == 130 and "\nLine 1,\nand line 2.\n" in ran.err and "; only its text on stderr is left" in ran.err
        )
    else:
        kept = Path("report.turns/1.opening.b.reply.rejected-1.txt")
        assert ran.code == 2 and kept.read_text(encoding="utf-8") == "Line 1,\nand line 2."


def test_a_step_waits_for_another_one(hand_in: HandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two agents that end together hand in both: a step that finds the journal locked tries again."""
    writer, pauses = JournalWriter(J), list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        writer.close()

    monkeypatch.setattr("debate_orchestrator.cli.consent.time.sleep", pause)
    ran = hand_in("1.opening.a")
    assert len(pauses) == 1 and accepted(ran) == [("1.opening.a", 3)]


@pytest.mark.parametrize("is_interrupted", [False, True], ids=["room again", "Ctrl-C twice"])
def test_standard_input_waits_for_room(
    hand_in: HandIn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_interrupted: bool
) -> None:
    """A reply that only this program has waits for room on a full disk, as those of models do. It is saved once there
    is room; a second Ctrl-C gives it up, and names it."""
    write, attempts, interrupted_at = journal_module.append_line, 0, list[float]()

    def full(*arguments: Any) -> int:
        nonlocal attempts
        attempts += 1
        if is_interrupted and attempts >= 3:
            interrupted_at.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        if is_interrupted or attempts < 5:
            raise JournalWriteError("no room", why="no room")
        return write(*arguments)

    monkeypatch.setattr(journal_module, "append_line", full)
    monkeypatch.setattr(journal_module, "WRITE_RETRY_SECONDS", 0.01)
    ran = hand_in("1.opening.a")

    assert "1.opening.a: its reply (3 words) for report.journal.jsonl can't be saved: no room." in caplog.text
    if is_interrupted:
        assert interrupted_at[-1] - interrupted_at[0] >= 1, "those within a second of the first are no second one"
        assert ran.code == 130
        assert "Lost: 1.opening.a: its reply" in caplog.text and "1 reply lost, as named" in ran.err
    else:
        assert accepted(ran) == [("1.opening.a", 3)] and "Saved: 1.opening.a" in caplog.text


def test_a_turn_that_is_given_twice_is_refused(hand_in: HandIn) -> None:
    """Of two replies to one turn none is taken, and that from standard input is kept."""
    Path("speech.md").write_text("From a file, said A.", encoding="utf-8")
    ran = hand_in("1.opening.a", "From the input, said A.", "1.opening.a=speech.md")

    assert ran.code == 2 and ran.err.count("1.opening.a is given twice") == 1
    assert Path(KEPT).read_text(encoding="utf-8") == "From the input, said A."
    assert not fold(read(J).events).replies
