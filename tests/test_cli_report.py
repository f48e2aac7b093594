"""`debate report` writes the same reports again and replaces nothing else; bad journals are refused by every verb."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import puppets
import pytest
from conftest import Run, finish, hold

J = "report.journal.jsonl"


@pytest.fixture
def finished(debate: Run, answers: Path) -> bytes:
    """The report of a finished debate, whose journal lies beside it."""
    hold(debate)
    return Path("report.md").read_bytes()


def test_report_makes_the_same_again(debate: Run, finished: bytes) -> None:
    """`report` writes, byte for byte, what the debate wrote; `--to` writes it elsewhere."""
    os.remove("report.md")
    ran = debate("report", J)
    debate("report", J, "--to", "copy.md")

    assert ran.out.startswith("Debate complete. Report written to report.md. Winner: A (narrow).")
    assert Path("report.md").read_bytes() == finished == Path("copy.md").read_bytes()


def test_a_finished_debate_has_its_page(debate: Run, finished: bytes) -> None:
    """Beside the report lies the same as a page; `report` makes both again, and with `--to` the one asked for."""
    page = Path("report.html").read_bytes()
    os.remove("report.html")
    ran = debate("report", J, "--json")
    debate("report", J, "--to", "only.html")
    debate("replay", J, "--to", "played.html")

    assert (ran.json["report"], ran.json["page"]) == ("report.md", "report.html")
    assert (
        Path("report.html").read_bytes() == page == Path("only.html").read_bytes() == Path("played.html").read_bytes()
    )
    assert not Path("only.md").exists()
    assert page.startswith(b"<!doctype html>")


def test_what_lies_in_the_pages_place_stays(debate: Run, answers: Path) -> None:
    """A file that is no page ends no debate: the report is written, the file is left alone, and both are told. No
    debate opens beside one."""
    told = debate("open", "--answers", "answers.yaml", "--json").json
    Path("report.html").write_text("my page")
    while told["status"] != "done":
        puppets.answer(told["turns"], rounds=2)
        ran = debate("step", J, "--json")
        told = ran.json
    again = debate("report", J)
    other = debate("open", "--answers", "answers.yaml", "--output", "report.md")

    assert (ran.code, told["report"], told["page"]) == (0, "report.md", None)
    assert "'report.html' is not a report and is not overwritten" in ran.err
    assert again.code == 2 and "'report.html' is not a report and is not overwritten" in again.err
    assert Path("report.html").read_text() == "my page"
    Path("lone.html").write_text("my page")
    assert debate("open", "--answers", "answers.yaml", "--output", "lone.md").code == 2
    assert other.code == 2 and not Path("lone.journal.jsonl").exists()


def test_report_of_a_paused_debate_says_so(debate: Run, answers: Path) -> None:
    """A debate that is not finished has a report that says what it waits for."""
    puppets.answer(debate("open", "--answers", "answers.yaml", "--json").json["turns"])
    debate("step", J)
    ran = debate("report", J, "--json")

    assert ran.json["status"] == "paused"
    assert "Paused: waiting for 1.opening.b" in Path("report.md").read_text(encoding="utf-8")


def test_no_report_replaces_what_is_none(debate: Run, finished: bytes) -> None:
    """A file that holds something else is left alone, beside the journal and elsewhere, and no debate opens on it."""
    Path("notes.md").write_text("my notes")
    Path("report.md").write_text("my notes too")

    assert [debate("report", J, "--to", "notes.md").code, debate("report", J).code] == [2, 2]
    assert debate("open", "--answers", "answers.yaml", "--output", "notes.md").code == 2
    assert (Path("notes.md").read_text(), Path("report.md").read_text()) == ("my notes", "my notes too")
    assert not Path("notes.journal.jsonl").exists()


def test_replay_plays_it_all_again(debate: Run, finished: bytes) -> None:
    """`replay` shows banners, speeches and scores, and makes the same report, without touching the journal."""
    before = Path(J).read_bytes()
    ran = debate("replay", J, "--to", "again.md")

    assert "--- ROUND 2 OF 2 ---" in ran.out
    assert "This is what b says in 2.rebuttal.b." in ran.out
    assert "Scores: A: 7 | B: 6 | Winner: A" in ran.out
    assert Path("again.md").read_bytes() == finished
    assert Path(J).read_bytes() == before


def test_replay_of_a_paused_debate_stops_where_it_ends(debate: Run, answers: Path) -> None:
    """A recording that ends early is played as far as it goes."""
    puppets.answer(debate("open", "--answers", "answers.yaml", "--json").json["turns"])
    debate("step", J)
    ran = debate("replay", J)

    assert ran.code == 0
    assert "This is what a says in 1.opening.a." in ran.out
    assert ran.out.endswith("Debate paused.\n")


def test_run_with_replay_seats(debate: Run, finished: bytes) -> None:
    """`run` takes a cast of recordings from answers to report in one go."""
    flags = [f"--{seat}=replay:{J}" for seat in ("a", "b", "judge")]
    ran = debate("run", "--answers", "answers.yaml", "--output", "rerun.md", *flags)

    assert ran.code == 0
    assert ran.out.startswith("Debate complete. Report written to rerun.md.")
    assert "--- ROUND 2 OF 2 ---" in ran.err


def test_a_recording_speaks_in_its_own_debate_only(debate: Run, finished: bytes) -> None:
    """Recorded replies are not passed off as an argument about something else."""
    flags = [f"--{seat}=replay:{J}" for seat in ("a", "b", "judge")]
    ran = debate("run", "--answers", "answers.yaml", "--topic", "Vim or Emacs?", "--output", "x.md", *flags)

    assert ran.code == 2
    assert "a recording of another debate" in ran.err
    assert not Path("x.md").exists()


def test_hosts_and_recordings_share_a_debate(debate: Run, finished: bytes) -> None:
    """A debate whose judge is a recording is stepped by the host, which never sees the judge's turns."""
    told = debate("open", "--answers", "answers.yaml", f"--judge=replay:{J}", "--output", "m.md", "--json").json
    seen: list[str] = []

    def say(turn: dict[str, str]) -> None:
        seen.append(turn["seat"])

    finish(debate, told, say, rounds=2)

    assert set(seen) == {"a", "b"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, "No such file"),
        (b"", "no complete line"),
        (b"hello\n", "a debate's journal"),
        (b"\x00\xff" * 40, "no complete line"),
    ],
)
def test_files_that_are_no_journal(debate: Run, here: Path, data: bytes | None, expected: str) -> None:
    """Every reading verb says in one line what is wrong with a file that is no journal."""
    if data is not None:
        Path("x.jsonl").write_bytes(data)
    for verb in ("check", "report", "replay", "step", "resume"):
        ran = debate(verb, "x.jsonl")
        assert (ran.code, ran.err.count("\n")) == (2, 1), verb
        assert expected in ran.err, verb


def test_a_locked_journal(debate: Run, finished: bytes) -> None:
    """A journal that another process writes is left alone, with one clear line."""
    with open(J, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ran = debate("step", J)

    assert ran.code == 2
    assert "another process is writing" in ran.err
    assert debate("check", J).code == 0


def test_errors_are_json_where_asked(debate: Run) -> None:
    """With --json a mistake is one JSON object on stdout too."""
    ran = debate("check", "missing.jsonl", "--json")

    assert (ran.json["schema"], ran.json["status"], len(ran.json["complaints"])) == (1, "error", 1)


def test_a_closed_pipe_is_no_error(finished: bytes) -> None:
    """Output into a pipe that closes early ends quietly."""
    command = f"{sys.executable} -m debate_orchestrator replay {J} | head -n 1"
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False, text=True, timeout=60
    )

    assert "Traceback" not in ran.stderr and "BrokenPipe" not in ran.stderr
