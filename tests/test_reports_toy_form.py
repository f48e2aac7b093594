"""One entry and one short module make a form of report: shown with a toy form that every verb for reports takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, hold

from debate_orchestrator import render
from debate_orchestrator.reports.forms import FORMS, SENTENCE, TRACES, ReportForm

FORM = ReportForm("text", "toy_form", (b"DEBATE: ",), re.compile(rf"\n{SENTENCE}\n\Z".encode()), TRACES, ("\n", "\n"))
JOURNAL = "report.journal.jsonl"


@pytest.fixture
def finished(debate: Run, answers: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A finished debate, and the toy form among the others."""
    hold(debate)
    monkeypatch.setitem(FORMS, ".txt", FORM)
    return debate


def test_a_report_is_written_and_rendered_in_the_toy_form(finished: Run) -> None:
    """`report --to` and `replay --to` write what `render` gives, and their help names the ending."""
    finished("report", JOURNAL, "--to", "report.txt")
    finished("replay", JOURNAL, "--to", "played.txt", "--quiet")
    text = Path("report.txt").read_text(encoding="utf-8")

    assert re.match(r"DEBATE: .+\ncomplete\n\nMade by debate-orchestrator ", text)
    assert text == Path("played.txt").read_text(encoding="utf-8") == render(JOURNAL, "text")
    for verb in ("report", "replay"):
        assert ".md, .html, .json or .txt" in " ".join(finished(verb, "--help").out.split())


def test_a_report_in_the_toy_form_is_checked(finished: Run) -> None:
    """`check` finds it beside its journal, takes its name for the journal's, and sees a change in it."""
    finished("report", JOURNAL, "--to", "report.txt")
    beside = finished("check", JOURNAL, "--json").json["reports"]
    assert ("report.txt", "unchanged", "same") in {(each["report"], each["state"], each["remade"]) for each in beside}
    assert "report.txt is a report; using its journal" in finished("check", "report.txt").err

    file = Path("report.txt")
    file.write_text(file.read_text(encoding="utf-8").replace("complete", "abandoned"), encoding="utf-8")
    changed = finished("check", JOURNAL, "report.txt")
    assert changed.code == 2 and "report.txt: changed after it was written" in changed.out
