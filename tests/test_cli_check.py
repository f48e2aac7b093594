"""`debate check` finds every change in a journal and its reports, and `debate report` writes JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Run, hold
from test_reports_verify import with_new_checksum

from debate_orchestrator.reports import forms

J = "report.journal.jsonl"


def there() -> list[str]:
    """The reports that lie beside the journal."""
    return [name for name in (f"report{ending}" for ending in forms.FORMS) if Path(name).exists()]


@pytest.fixture
def finished(debate: Run, answers: Path) -> Run:
    """A finished debate with both forms of its report beside the journal."""
    hold(debate)
    assert debate("report", J, "--to", "report.json").code == 0
    return debate


def test_a_report_as_json(finished: Run) -> None:
    """`--to X.json` writes JSON, which is written again over itself, and never over other JSON."""
    made = json.loads(Path("report.json").read_text(encoding="utf-8"))
    Path("answers.json").write_text('{\n  "schema": 1,\n  "status": "done"\n}\n')

    assert (made["schema"], made["document"], made["status"]) == (2, "debate report", "complete")
    assert finished("report", J, "--to", "report.json").code == 0
    assert json.loads(Path("report.json").read_text(encoding="utf-8")) == made
    assert finished("report", J, "--to", "answers.json").code == 2
    assert Path("answers.json").read_text() == '{\n  "schema": 1,\n  "status": "done"\n}\n'


def test_all_is_well(finished: Run) -> None:
    """The reports beside a journal are checked without being named: exit 0, a line each."""
    ran, told = finished("check", J), finished("check", J, "--json").json

    assert ran.code == 0
    assert {"report.md", "report.json"} <= set(there())
    assert ran.out.count("belongs to this journal, and is unchanged") == len(there())
    assert [(one["report"], one["state"], one["remade"], one["well"]) for one in told["reports"]] == [
        (name, "unchanged", "same", True) for name in there()
    ]
    assert told["reports"][0]["head"] == told["head"] and told["reports"][0]["lines"] == told["lines"]


def test_named_reports_alone_are_checked(finished: Run) -> None:
    """A report that is named, wherever it lies and whatever it is called, is checked, and no other."""
    os.rename("report.md", "copy of it.md")
    told = finished("check", J, "copy of it.md", "--json").json
    after = finished("check", "--json", J, "copy of it.md").json

    assert [one["report"] for one in told["reports"]] == ["copy of it.md"]
    assert told["reports"][0]["state"] == "unchanged"
    assert after == told


def test_a_changed_report(finished: Run) -> None:
    """Exit 2, and the line says which one and what is the matter; a forged one with a new checksum is told too."""
    data = Path("report.md").read_bytes().replace(b"**Winner:** A", b"**Winner:** B")
    Path("report.md").write_bytes(data)
    changed = finished("check", J)
    Path("report.md").write_bytes(with_new_checksum(data, ".md"))
    forged = finished("check", J)

    assert (changed.code, forged.code) == (2, 2)
    assert "report.md: changed after it was written" in changed.out
    assert "report.md: does not say what the journal says" in forged.out
    assert "report.json: belongs to this journal" in forged.out


def test_a_report_of_another_debate(finished: Run) -> None:
    """Exit 2 where a report does not belong."""
    opened = finished("open", "--answers", "answers.yaml", "--output", "other.md", "--topic", "Vim?", "--json").json
    assert finished("report", opened["journal"]).code == 0
    ran = finished("check", J, "other.md")

    assert ran.code == 2 and ran.err.startswith("Next: ")
    assert "other.md: of another journal" in ran.out


def test_work_left(finished: Run, answers: Path) -> None:
    """A paused debate with its report so far ends with exit 3, and with 2 where that report was changed."""
    opened = finished("open", "--answers", "answers.yaml", "--output", "p.md", "--json").json
    assert finished("report", opened["journal"]).code == 0
    left = finished("check", opened["journal"])
    Path("p.md").write_bytes(Path("p.md").read_bytes() + b"\n")

    assert left.code == 3 and "p.md: belongs to this journal" in left.out
    assert finished("check", opened["journal"]).code == 2


def test_lines_that_are_missing_at_the_end(finished: Run) -> None:
    """What the chain alone can't show, the reports do."""
    lines = Path(J).read_bytes().splitlines(keepends=True)
    Path(J).write_bytes(b"".join(lines[:-1]))
    ran = finished("check", J)

    assert ran.code == 2
    assert ran.out.count("lines are missing at the end of this journal") == len(there())


def test_a_damaged_journal(finished: Run) -> None:
    """Of a damaged journal the line is named, and of each report whether it was changed itself."""
    Path(J).write_bytes(Path(J).read_bytes().replace(b"says in 1.rebuttal.b", b"says in 2.rebuttal.b"))
    ran = finished("check", J)

    assert ran.code == 2
    assert f"{J}: line " in ran.err
    assert ran.err.count("unchanged since it was written, from a journal of") == len(there())


def test_a_report_that_is_not_there(finished: Run) -> None:
    """Every file that can't be checked is complained of, a line each."""
    ran = finished("check", J, "none.md", "notes.txt")

    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 2)


def test_a_rehearsal_is_checked_like_any_other(debate: Run, here: Path) -> None:
    """A rehearsed debate has a report that has a checksum and says that stand-ins spoke."""
    ran = debate("run", "--topic", "Tea is good.", "--output", "tea.md", "--rehearse", "--rounds", "1", "--quiet")
    journal = next(here.glob("*.journal.jsonl")).name

    assert ran.code == 0, ran.err
    assert debate("check", journal, "--json").json["reports"][0]["state"] == "unchanged"


def test_a_torn_journal(finished: Run) -> None:
    """A journal cut short is resumable: `check` ends with exit code 3 and says what is due."""
    data = Path(J).read_bytes()
    Path(J).write_bytes(data[: len(data) - 30])
    for made in there():
        os.remove(made)  # which was made of the line that is gone, and would say so
    ran = finished("check", J, "--json")

    assert (ran.code, ran.json["due"]) == (3, ["final.dissent.judge"])
    assert ran.json["torn_bytes"] > 0


def test_a_rehearsal_is_found_by_the_name_of_its_debate(debate: Run, here: Path) -> None:
    """`check plan.md` names the rehearsal of plan.md where there is no other; its check says what it was."""
    ran = debate("run", "Tabs are better than spaces.", "--rounds", "1", "--output", "plan.md", "--rehearse")
    near, checked = debate("check", "plan.md"), debate("check", "plan.rehearsed.journal.jsonl")
    assert ran.code == 0 and near.code == 2 and "plan.rehearsed.journal.jsonl" in near.err
    assert "A rehearsal: stand-ins spoke for Researcher A, Researcher B, Judge" in checked.out
