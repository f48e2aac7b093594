"""`report`, `check`, `replay`, `demo` and `compare`: what is written again, what is verified, and what is refused."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import page_reading
import puppets
import pytest
from conftest import Run, finish, hold
from test_reports_verify import with_new_checksum
from viewer import watching

from debate_orchestrator.reports import report_files
from debate_orchestrator.util import resources

J = "report.journal.jsonl"


@pytest.fixture
def finished(debate: Run, answers: Path) -> bytes:
    """The report of a finished debate, whose journal lies beside it."""
    hold(debate)
    return Path("report.md").read_bytes()


def test_a_report_that_names_another_version_is_not_called_unchanged(debate: Run, finished: bytes) -> None:
    """A changed report that names another version, with a new checksum, ends the check with exit code 3."""
    for version in ("0.1.0", "9.9.9"):
        forged = report_files.by_version(finished.replace(b"Researcher", b"Debater"), ".md", version)
        Path("forged.md").write_bytes(forged)
        ran = debate("check", J, "forged.md")

        assert forged != finished and ran.code == 3
        assert "forged.md: names this journal, and its checksum fits." in ran.out and "unchanged since" not in ran.out


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
    again, checked = debate("report", J), debate("check", J)
    other = debate("open", "--answers", "answers.yaml", "--output", "report.md")

    assert (ran.code, told["report"], told["page"]) == (0, "report.md", None)
    assert "'report.html' is not a report and is not overwritten" in ran.err
    assert again.code == 2 and "'report.html' is not a report and is not overwritten" in again.err
    assert checked.code == 2 and "Give report.html another name. Then `debate report" in checked.err
    assert Path("report.html").read_text() == "my page"
    Path("lone.html").write_text("my page")
    assert debate("open", "--answers", "answers.yaml", "--output", "lone.md").code == 2
    assert other.code == 2 and not Path("lone.journal.jsonl").exists()


def test_a_paused_debate_says_so(debate: Run, answers: Path) -> None:
    """A debate that is not finished has a report that says what it waits for, and is played as far as it goes."""
    puppets.answer(debate("open", "--answers", "answers.yaml", "--json").json["turns"])
    debate("step", J)
    ran, played = debate("report", J, "--json"), debate("replay", J)

    assert ran.json["status"] == "paused"
    assert "Paused: waiting for 1.opening.b" in Path("report.md").read_text(encoding="utf-8")
    assert played.code == 0 and "This is what a says in 1.opening.a." in played.out
    assert played.out.endswith("Debate paused.\n")


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


def reports_here() -> list[str]:
    """The reports that lie beside the journal."""
    return [name for name in (f"report{suffix}" for suffix in report_files.FILE_TYPES) if Path(name).exists()]


@pytest.fixture
def reported(debate: Run, answers: Path) -> Run:
    """A finished debate with both forms of its report beside the journal."""
    hold(debate)
    assert debate("report", J, "--to", "report.json").code == 0
    return debate


def test_a_report_as_json(reported: Run) -> None:
    """`--to X.json` writes JSON, which is written again over itself, and never over other JSON."""
    made = json.loads(Path("report.json").read_text(encoding="utf-8"))
    Path("answers.json").write_text('{\n  "schema": 1,\n  "status": "done"\n}\n')

    assert (made["schema"], made["document"], made["status"]) == (2, "debate report", "complete")
    assert reported("report", J, "--to", "report.json").code == 0
    assert json.loads(Path("report.json").read_text(encoding="utf-8")) == made
    assert reported("report", J, "--to", "answers.json").code == 2
    assert Path("answers.json").read_text() == '{\n  "schema": 1,\n  "status": "done"\n}\n'


def test_all_is_well(reported: Run) -> None:
    """The reports beside a journal are checked without being named: exit 0, a line each. One that is named, wherever it
    lies and whatever it is called, is checked, and no other; every file that can't be checked is complained of."""
    ran, told = reported("check", J), reported("check", J, "--json").json

    assert ran.code == 0
    assert {"report.md", "report.json"} <= set(reports_here())
    assert ran.out.count("belongs to this journal, and is unchanged") == len(reports_here())
    assert [(one["report"], one["state"], one["remade"], one["well"]) for one in told["reports"]] == [
        (name, "unchanged", "same", True) for name in reports_here()
    ]
    assert told["reports"][0]["head"] == told["head"] and told["reports"][0]["lines"] == told["lines"]

    os.rename("report.md", "copy of it.md")
    named = reported("check", J, "copy of it.md", "--json").json
    assert [(one["report"], one["state"]) for one in named["reports"]] == [("copy of it.md", "unchanged")]
    assert reported("check", "--json", J, "copy of it.md").json == named
    missing = reported("check", J, "none.md", "notes.txt")
    assert (missing.code, missing.out, missing.err.count("\n")) == (2, "", 2)


def test_a_changed_report(reported: Run) -> None:
    """Exit 2, and the line says which one and what is the matter; a forged one with a new checksum is told too."""
    data = Path("report.md").read_bytes().replace(b"**Winner:** A", b"**Winner:** B")
    Path("report.md").write_bytes(data)
    changed = reported("check", J)
    Path("report.md").write_bytes(with_new_checksum(data, ".md"))
    forged = reported("check", J)

    assert (changed.code, forged.code) == (2, 2)
    assert "report.md: changed after it was written" in changed.out
    assert "report.md: does not say what the journal says" in forged.out
    assert "report.json: belongs to this journal" in forged.out


def test_a_report_of_another_debate(reported: Run) -> None:
    """Exit 2 where a report does not belong."""
    opened = reported("open", "--answers", "answers.yaml", "--output", "other.md", "--topic", "Vim?", "--json").json
    assert reported("report", opened["journal"]).code == 0
    ran = reported("check", J, "other.md")

    assert ran.code == 2 and ran.err.startswith("Next: ")
    assert "other.md: of another journal" in ran.out


def test_work_left(reported: Run, answers: Path) -> None:
    """A paused debate with its report so far ends with exit 3, and with 2 where that report was changed."""
    opened = reported("open", "--answers", "answers.yaml", "--output", "p.md", "--json").json
    assert reported("report", opened["journal"]).code == 0
    left = reported("check", opened["journal"])
    Path("p.md").write_bytes(Path("p.md").read_bytes() + b"\n")

    assert left.code == 3 and "p.md: belongs to this journal" in left.out
    assert reported("check", opened["journal"]).code == 2


def test_lines_that_are_missing_at_the_end(reported: Run) -> None:
    """What the chain alone can't show, the reports do."""
    lines = Path(J).read_bytes().splitlines(keepends=True)
    Path(J).write_bytes(b"".join(lines[:-1]))
    ran = reported("check", J)

    assert ran.code == 2
    assert ran.out.count("of another journal, or this one was changed") == len(reports_here())


def test_a_damaged_journal(reported: Run) -> None:
    """Of a damaged journal the line is named, and of each report whether it was changed itself."""
    Path(J).write_bytes(Path(J).read_bytes().replace(b"says in 1.rebuttal.b", b"says in 2.rebuttal.b"))
    ran = reported("check", J)

    assert ran.code == 2
    assert f"{J}: line " in ran.err
    assert ran.err.count("unchanged since it was written, from a journal of") == len(reports_here())


def test_a_torn_journal(reported: Run) -> None:
    """A journal cut short is resumable: `check` ends with exit code 3 and says what is due."""
    data = Path(J).read_bytes()
    Path(J).write_bytes(data[: len(data) - 30])
    for made in reports_here():
        os.remove(made)  # which was made of the line that is gone, and would say so
    ran = reported("check", J, "--json")

    assert (ran.code, ran.json["due"]) == (3, ["final.dissent.judge"])
    assert ran.json["torn_bytes"] > 0


def test_a_rehearsal_is_found_by_the_name_of_its_debate(debate: Run, here: Path) -> None:
    """`check plan.md` names the rehearsal of plan.md where there is no other; its check says what it was."""
    ran = debate("run", "Tabs are better than spaces.", "--rounds", "1", "--output", "plan.md", "--rehearse")
    near, checked = debate("check", "plan.md"), debate("check", "plan.rehearsed.journal.jsonl")
    assert ran.code == 0 and near.code == 2 and "plan.rehearsed.journal.jsonl" in near.err
    assert "A rehearsal: stand-ins spoke for Researcher A, Researcher B, Judge" in checked.out


EXAMPLE = str(Path(__file__).parent.parent / "examples" / "friday-deploys" / "debate-report.journal.jsonl")


@pytest.mark.slow
def test_played_live() -> None:
    """At a terminal a recording is played live to its end, with its scores drawn, and its closing line last."""
    with watching("replay", EXAMPLE, "--pace=100000", rows=60) as viewer:
        viewer.see_text("any key skips · v verdict · p pause · q quit")
        for turn in ("Opening Statement — Researcher A", "Judge Verdict — Round 1", "[JUDGE - FINAL VERDICT]"):
            viewer.see_text(turn)
            viewer.press("x")
        assert viewer.see_end(pressing="x") == 0
        lines = viewer.glass.text.splitlines()
    assert any("█" in line for line in lines)
    assert "[JUDGE - FINAL VERDICT]" in lines
    assert "Debate complete. Recommendation (70 % sure): " in viewer.glass.text


@pytest.mark.parametrize("to", [(), ("--to=d.md",)])
def test_left(here: Path, to: tuple[str, ...]) -> None:
    """q ends it and is no mistake: how it ends is not told, but how to see the rest and its report; the report that
    was asked for is written."""
    with watching("demo", *to) as viewer:
        viewer.see_text("q quit")
        viewer.press("q")
        assert viewer.see_end() == 0
        text = " ".join(viewer.glass.text.split())
    assert "Left before the end. `debate demo` plays it again" in text
    assert "Winner" not in text and "A debate of your own" not in text
    assert ("`debate demo --to report.md` writes its report." in text) is not bool(to)
    assert ("Its report was written to d.md." in text) is Path("d.md").exists() is bool(to)


def test_nothing_is_played_into_a_pipe(debate: Run) -> None:
    """Without a terminal only the outcome is told, where the report is, and what to do next."""
    ran = debate("demo", "--to", "d.md")

    assert ran.code == 0 and Path("d.md").exists()
    assert ran.out.count("\n") == 1 and "Report written to d.md." in ran.out
    assert ran.err.startswith("Next: ") and ran.err.count("\n") == 1


@pytest.mark.parametrize("flag", ["--no-pace", "--pace=1"])
def test_in_a_pipe(debate: Run, flag: str) -> None:
    """Without a terminal, where it is asked for, it is plain text at once, whatever the pace."""
    ran = debate("demo", flag)

    assert ran.code == 0
    assert "\x1b" not in ran.out and "█" not in ran.out
    assert "--- ROUND 2 OF 2 ---" in ran.out


@pytest.mark.parametrize("pace", ["0", "nan", "1e9"])
def test_what_is_no_pace(debate: Run, pace: str) -> None:
    """A pace is words a minute; anything else is told before anything is played."""
    ran = debate("demo", f"--pace={pace}")

    assert (ran.code, ran.out) == (2, "")
    assert "words a minute" in ran.err
    assert debate("demo", "--pace=9", "--no-pace").code == 2


@pytest.mark.parametrize("verb", [("demo",), ("replay", EXAMPLE)])
def test_what_can_be_no_report(debate: Run, verb: tuple[str, ...]) -> None:
    """A report that could not be written is refused before anything is played."""
    ran = debate(*verb, "--to=x.pdf")

    assert (ran.code, ran.out) == (2, "")
    assert "a file that ends in" in ran.err


FRIDAY = "debate-report.journal.jsonl"
COMPARING = Path(__file__).parent.parent / "docs" / "comparing.md"


@pytest.fixture
def two(here: Path, debate: Run) -> list[str]:
    """A real debate, and another judging of it by stand-ins."""
    shutil.copy(resources.folder("examples") / "friday-deploys" / FRIDAY, FRIDAY)
    assert debate("judge", FRIDAY, "--judge", "rehearse", "--output", "again.md", "--quiet").code == 0
    return [FRIDAY, "again.journal.jsonl"]


def test_it_is_printed(debate: Run, two: list[str]) -> None:
    """Without --to the comparison goes to standard output, and says what hangs together; with --json it is one object,
    with what the tables hold."""
    ran, made = debate("compare", *two), debate("compare", *two, "--json").json

    assert ran.code == 0, ran.err
    assert ran.out.startswith("# Debate Comparison\n")
    assert "- Run 2 judges the speeches of run 1 again." in ran.out
    assert "- Run 2 is rehearsed: stand-ins spoke in it." in ran.out
    assert debate("compare", two[0], "again.md").out == ran.out  # a report stands for its journal
    assert (made["schema"], made["status"], made["report"]) == (1, "compared", None)
    assert set(made["comparison"]["winners"]) == {"1", "2"}
    assert made["comparison"]["runs"]["heads"][0] == "Run"


def test_it_is_written(debate: Run, two: list[str]) -> None:
    """With --to it is written, over a comparison but over nothing else; with a page's name it is a page that holds
    together."""
    Path("notes.md").write_text("my notes")
    assert debate("report", FRIDAY, "--to", "report.html").code == 0
    paths = ("c.md", "c.md", "notes.md", "c.csv", "c.html", "c.html", "report.html")
    codes = [debate("compare", *two, "--to", path).code for path in paths]
    found = page_reading.read(Path("c.html").read_text(encoding="utf-8"))

    assert (codes, found.odd) == ([0, 0, 2, 2, 0, 0, 2], [])
    assert Path("c.md").read_text(encoding="utf-8") == debate("compare", *two).out
    assert Path("notes.md").read_text() == "my notes"
    assert [name for tag, name in found.outline if tag == "h2"][:2] == ["Runs", "Verdicts"]
    assert "Run 2 judges the speeches of run 1 again." in found.text


def test_all_that_is_wrong_is_told_at_once(debate: Run, two: list[str]) -> None:
    """One journal is too few; every file that is no journal is named."""
    Path("x.jsonl").write_text("{}")
    alone, bad = debate("compare", FRIDAY), debate("compare", FRIDAY, "x.jsonl", "none.jsonl")

    assert alone.code == 2 and "at least two journals" in alone.err
    assert bad.code == 2 and "x.jsonl" in bad.err and "none.jsonl" in bad.err


def test_the_page_keeps_its_word(debate: Run, here: Path) -> None:
    """The commands of docs/comparing.md run in their order."""
    page = COMPARING.read_text(encoding="utf-8")
    shutil.copy(resources.folder("examples") / "friday-deploys" / FRIDAY, FRIDAY)
    for line in re.findall(r"^debate (.*)$", page, re.MULTILINE):
        ran = debate(*shlex.split(line))
        assert ran.code == 0, (line, ran.err)

    assert Path("comparison.md").exists()
