"""`report`, `check`, `replay`, `demo` and `compare`: what is written again, what is verified, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import page_reading
import pytest
import scripted_replies
from conftest import Run, place_finished_debate
from test_report_files import with_new_checksum
from viewer import watching

from debate_orchestrator.reports import report_files
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import name_of

J = "report.journal.jsonl"


@pytest.fixture
def finished(debate: Run, answers: Path) -> bytes:
    """The report of a finished debate, whose journal lies beside it."""
    place_finished_debate(debate)
    return Path("report.md").read_bytes()


def test_report_makes_the_same_again(debate: Run, finished: bytes) -> None:
    """`report` writes, byte for byte, what the debate wrote; `--to` writes it elsewhere. `replay` shows banners,
    speeches and scores, and makes the same report, without touching the journal."""
    os.remove("report.md")
    ran = debate("report", J)
    debate("report", J, "--to", "copy.md")

    assert ran.out.startswith("Debate complete. Report written to report.md. Winner: A (narrow).")
    assert Path("report.md").read_bytes() == finished == Path("copy.md").read_bytes()

    before = Path(J).read_bytes()
    ran = debate("replay", J, "--to", "again.md")

    assert "--- ROUND 2 OF 2 ---" in ran.out
    assert "This is what b says in 2.rebuttal.b." in ran.out
    assert "Scores: A: 7 | B: 6 | Winner: A" in ran.out
    assert Path("again.md").read_bytes() == finished
    assert Path(J).read_bytes() == before


def test_a_report_is_no_answers_file(debate: Run, finished: bytes) -> None:
    """A report that is given for an answers file is called one, and the command that prints the answers is named. A
    host is told what an answers file is. With --json a mistake is one JSON object on stdout too."""
    assert "report.md is not an answers file: its name must end in .yaml" in debate("ask", "report.md").err
    for verb in (("run", "--answers"), ("open", "--answers")):
        ran = debate(*verb, "report.md")
        assert ran.code == 2 and "report.md is a report of a debate, not an answers file." in ran.err
        assert "`debate answers --from JOURNAL`" in ran.err

    ran = debate("check", "missing.jsonl", "--json")

    assert (ran.json["schema"], ran.json["status"], len(ran.json["complaints"])) == (1, "error", 1)


def test_a_finished_debate_has_its_page(debate: Run, finished: bytes) -> None:
    """Beside the report lies the same as a page; `report` makes both again, and with `--to` the one asked for."""
    page = Path("report.html").read_bytes()
    os.remove("report.html")
    ran = debate("report", J, "--json")
    debate("report", J, "--to", "only.html")
    debate("replay", J, "--to", "played.html")

    assert (ran.json["report"], ran.json["html_report"]) == ("report.md", "report.html")
    assert (
        Path("report.html").read_bytes() == page == Path("only.html").read_bytes() == Path("played.html").read_bytes()
    )
    assert not Path("only.md").exists()
    assert page.startswith(b"<!doctype html>")


def test_what_lies_in_the_pages_place_stays(debate: Run, answers: Path) -> None:
    """A file that is not a page ends no debate: the report is written, the file is left alone, and both are reported.
    No debate opens beside one."""
    output = debate("open", "--answers", "answers.yaml", "--json").json
    Path("report.html").write_text("my page")
    while output["status"] != "done":
        scripted_replies.answer(output["turns"], rounds=2)
        ran = debate("step", J, "--json")
        output = ran.json
    again, checked = debate("report", J), debate("check", J)
    other = debate("open", "--answers", "answers.yaml", "--output", "report.md")

    assert (ran.code, output["report"], output["html_report"]) == (0, "report.md", None)
    assert "'report.html' is not a report and is not overwritten" in ran.err
    assert again.code == 2 and "'report.html' is not a report and is not overwritten" in again.err
    assert checked.code == 2 and "Give report.html another name. Then `debate report" in checked.err
    assert Path("report.html").read_text() == "my page"
    Path("lone.html").write_text("my page")
    assert debate("open", "--answers", "answers.yaml", "--output", "lone.md").code == 2
    assert other.code == 2 and not Path("lone.journal.jsonl").exists()


def test_a_paused_debate_says_so(debate: Run, answers: Path) -> None:
    """A debate that is not finished has a report that says what it waits for, and is played as far as it goes."""
    scripted_replies.answer(debate("open", "--answers", "answers.yaml", "--json").json["turns"])
    debate("step", J)
    ran, played = debate("report", J, "--json"), debate("replay", J)
    with JournalWriter(J):
        under_way = [debate(verb, J) for verb in ("report", "replay", "check")]

    assert ran.json["status"] == "paused"
    assert ran.json["summary"] == "Debate paused. Report so far written to report.md."
    assert [output.out.splitlines()[-1] for output in under_way[:2]] == [
        "Debate under way: another process is writing it. Report so far written to report.md.",
        "Debate under way: another process is writing it.",
    ]
    assert "Next: wait for the other process that is writing it, or end it." in under_way[2].err
    assert "Paused in round 1: waiting for Opening Statement — Researcher B." in Path("report.md").read_text(
        encoding="utf-8"
    )
    assert played.code == 0 and "This is what a says in 1.opening.a." in played.out
    assert played.out.endswith("Debate paused.\n")


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
    place_finished_debate(debate)
    assert debate("report", J, "--to", "report.json").code == 0
    return debate


def test_a_report_as_json(reported: Run) -> None:
    """`--to X.json` writes JSON, which is written again over itself, and never over other JSON. Of a report that was
    changed, `check` says which one and what is the matter, also where it has a new checksum."""
    made = json.loads(Path("report.json").read_text(encoding="utf-8"))
    Path("answers.json").write_text('{\n  "schema": 1,\n  "status": "done"\n}\n')

    assert (made["schema"], made["document"], made["status"]) == (2, "debate report", "complete")
    assert reported("report", J, "--to", "report.json").code == 0
    assert json.loads(Path("report.json").read_text(encoding="utf-8")) == made
    assert reported("report", J, "--to", "answers.json").code == 2
    assert Path("answers.json").read_text() == '{\n  "schema": 1,\n  "status": "done"\n}\n'

    data = Path("report.md").read_bytes().replace(b"**Winner:** A", b"**Winner:** B")
    Path("report.md").write_bytes(data)
    changed = reported("check", J)
    Path("report.md").write_bytes(with_new_checksum(data, ".md"))
    forged = reported("check", J)

    assert (changed.code, forged.code) == (2, 2)
    assert "report.md: changed after it was written" in changed.out
    assert "report.md: does not say what the journal says" in forged.out
    assert "report.json: belongs to this journal" in forged.out


def test_all_is_well(reported: Run) -> None:
    """The reports beside a journal are checked without being named: exit 0, a line each. One that is named, wherever it
    lies and whatever it is called, is checked, and no other; every file that can't be checked is complained of."""
    ran, output = reported("check", J), reported("check", J, "--json").json

    assert (ran.code, ran.err) == (0, "Next: open report.html; nothing needs to be made again.\n")
    assert {"report.md", "report.json"} <= set(reports_here())
    assert ran.out.count("belongs to this journal, and is unchanged") == len(reports_here())
    assert [(one["report"], one["state"], one["rerendered"], one["ok"]) for one in output["reports"]] == [
        (name, "unchanged", "same", True) for name in reports_here()
    ]
    assert output["reports"][0]["head"] == output["head"] and output["reports"][0]["lines"] == output["lines"]

    os.rename("report.md", "copy of it.md")
    assert reported("check", J).err == "Next: open report.html; nothing needs to be made again.\n"
    os.rename("report.html", "another.html")
    os.unlink("report.json")
    assert "Next: `debate report" in reported("check", J).err
    named = reported("check", J, "copy of it.md", "--json").json
    assert [(one["report"], one["state"]) for one in named["reports"]] == [("copy of it.md", "unchanged")]
    assert reported("check", "--json", J, "copy of it.md").json == named
    missing = reported("check", J, "none.md", "notes.txt")
    assert (missing.code, missing.out, missing.err.count("\n")) == (2, "", 2)


@pytest.mark.parametrize("unseen", ["\ufe0f", "\u034f", "\u202e", "\u2800", "\udc80", "\u3164", "'\\\u200d"])
def test_a_name_with_characters_that_are_not_seen(reported: Run, unseen: str) -> None:
    """It is told from the name without them wherever it is printed, and the command that is printed opens the file."""
    for name in (J, "report.md", "report.html"):
        os.rename(name, name.replace("report", f"report{unseen}"))
    Path("report.html").write_text("forged")
    os.unlink("report.json")
    journal, report = f"report{unseen}.journal.jsonl", f"report{unseen}.md"
    checked, *_ = ran = (
        reported("check", journal),
        reported("report", journal),
        reported("check", report),
        reported("resume", journal),
        reported("compare", journal, report, "--to", f"of-report{unseen}.md"),
        reported("ballot", journal, "--transcript", f"to-report{unseen}.md"),
        reported("ballot", journal, "--form"),
    )
    assert not any(one.code for one in ran), [one.err for one in ran]
    for text in (text for one in ran for text in (one.out, one.err)):
        assert not re.search(r"(?<![\\'])\breport\.(?:md|html|journal)", text), text
        assert text.replace("\n", "").isprintable() and "\u2800" not in text and "\ufe0f" not in text
    command = re.search(r"Next: open (.*); nothing", checked.err)
    assert command, checked.err
    found = subprocess.run(
        ["bash", "-c", f"cat {command[1]}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert found.stdout == Path(f"report{unseen}.html").read_bytes()


NAMES = (
    *("pool v2★.md", "pool v2'.md", "pool v2’.md", "pool v2.md", "pool  v2.md", "pool v2\ufe0f.md", "“pool v2.md”"),
    *("pool,v2.md", "pool_v2.md", "pool★.md", "cafe\u0301 v2.md", "caf\u00e9 v2.md", "x" * 600, "x" * 601),
    "a. Winner: A (decisive). Minutes of.md",
)


def test_each_name_is_shown_as_no_other(reported: Run) -> None:
    """What has blanks or punctuation is told from the words around it; nothing of a name is written otherwise."""
    shown = [name_of(name) for name in NAMES]
    assert len({*shown}) == len(NAMES)
    assert [one for name, one in zip(NAMES, shown, strict=True) if one == name] == ["pool_v2.md"]
    assert (shown[0], shown[3]) == ("'pool v2★.md'", "“pool v2.md”")
    os.rename(J, NAMES[-1].replace(".md", ".journal.jsonl"))
    ran = reported("report", NAMES[-1].replace(".md", ".journal.jsonl"))
    assert ran.out.startswith(f"Debate complete. Report written to “{NAMES[-1]}”. Winner: A (narrow).")


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


@pytest.mark.parametrize("to", [(), pytest.param(("--to=d.md",), marks=pytest.mark.slow)])
def test_left(here: Path, to: tuple[str, ...]) -> None:
    """q ends it and is not a mistake: how it ends is not reported, but how to see the rest and its report; the report
    that was asked for is written."""
    with watching("demo", *to) as viewer:
        viewer.see_text("q quit")
        viewer.press("q")
        assert viewer.see_end() == 0
        text = " ".join(viewer.glass.text.split())
    assert "Left before the end. `debate demo` plays it again" in text
    assert "Winner" not in text and "A debate of your own" not in text
    assert ("`debate demo --to report.md` writes its report." in text) is not bool(to)
    assert ("Its report was written to d.md." in text) is Path("d.md").exists() is bool(to)


@pytest.mark.parametrize("flag", ["--no-pace", "--pace=1"])
def test_in_a_pipe(debate: Run, flag: str) -> None:
    """Without a terminal, where it is asked for, it is plain text at once, whatever the pace."""
    ran = debate("demo", flag)

    assert ran.code == 0
    assert "\x1b" not in ran.out and "█" not in ran.out
    assert "--- ROUND 2 OF 2 ---" in ran.out


FRIDAY = "debate-report.journal.jsonl"


@pytest.fixture
def two(here: Path, debate: Run) -> list[str]:
    """A real debate, and a re-judging of it by stand-ins."""
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
    assert made["comparison"]["runs"]["headers"][0] == "Run"


def test_it_is_written(debate: Run, two: list[str]) -> None:
    """With --to it is written, over a comparison but over nothing else; with a page's name it is a page that holds
    together."""
    Path("notes.md").write_text("my notes")
    assert debate("report", FRIDAY, "--to", "report.html").code == 0
    paths = ("c.md", "c.md", "notes.md", "c.csv", "c.html", "c.html", "report.html")
    codes = [debate("compare", *two, "--to", path).code for path in paths]
    other = debate("compare", *reversed(two), "--to", "c.md")
    found = page_reading.read(Path("c.html").read_text(encoding="utf-8"))

    assert (codes, found.odd) == ([0, 0, 2, 2, 0, 0, 2], [])
    assert Path("c.edited.md").read_text(encoding="utf-8") == debate("compare", *two).out
    assert other.err == "c.md was another comparison: kept as c.edited.md.\n"
    Path("link.md").symlink_to("c.md")
    linked = debate("compare", *two, "--to", "link.md")
    assert linked.code == 2 and "link.md is a symbolic link, and is not replaced." in linked.err
    assert Path("notes.md").read_text() == "my notes"
    assert [name for tag, name in found.outline if tag == "h2"][:2] == ["Recommendations", "Runs"]
    assert "Run 2 judges the speeches of run 1 again." in found.text
