"""The page on reports keeps its word: a seal is checked with what it prints, and its table is the list of states."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest
from debates import entries, told
from reviewers import debated, filled, gathered, paper
from test_reports_costs import paid

from debate_orchestrator.reports import forms
from debate_orchestrator.reports.model import build_report

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
SHELL = "\n".join(re.findall(r"^    (d=.*|test .*)$", PAGE, re.MULTILINE))
PYTHON = "\n".join(re.findall(r"^    (import hashlib.*|data = .*|digest = .*|assert .*)$", PAGE, re.MULTILINE))


@pytest.fixture(params=forms.FORMS)
def report(request: pytest.FixtureRequest, here: Path) -> Path:
    """A sealed report of each form."""
    path = here / f"debate-report{request.param}"
    story = told(rounds=1)
    path.write_text(forms.rendered(story, request.param), encoding="utf-8")
    return path


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum here")
def test_a_seal_can_be_checked_in_a_shell(report: Path) -> None:
    """The page's two lines say that a report is unchanged, and nothing of one that was changed."""
    said = SHELL.replace("debate-report.md", report.name)

    def ran() -> tuple[int, str]:
        made = subprocess.run(["sh", "-c", said], capture_output=True, text=True, check=False, timeout=60)
        return made.returncode, made.stdout

    assert SHELL.count("\n") == 1
    assert ran() == (0, "unchanged\n")
    report.write_bytes(report.read_bytes().replace(b"narrow", b"decisive"))
    assert ran() == (1, "")


def test_a_seal_can_be_checked_in_python(report: Path) -> None:
    """The page's four lines pass for a report that is unchanged, and not for one that was changed."""
    code = compile(PYTHON.replace("debate-report.md", report.name), "docs/reports.md", "exec")

    assert PYTHON.count("\n") == 3
    exec(code, {})  # noqa: S102 - our own page
    report.write_bytes(report.read_bytes().replace(b"narrow", b"decisive"))
    with pytest.raises(AssertionError):
        exec(code, {})  # noqa: S102 - our own page


def test_what_is_rounded_is_told() -> None:
    """Dollars have the decimals that the page names."""
    places = re.findall(r"Numbers are not rounded, except US dollars, which have (\d+) decimal places\.", PAGE)
    made = build_report(entries(paid(cost=1 / 3)))
    told = json.loads(forms.rendered(made, ".json"))

    assert [line["usd"] for line in told["costs"]["lines"]][:1] == [round(1 / 3, int(n)) for n in places]


def test_what_a_report_is_made_from_is_told() -> None:
    """Reviewers' ballots make another report of the same journal, and whatever says what it is made from says so."""
    journal = debated(rounds=1)
    reviewed = build_report(journal, gathered(paper(journal), filled(paper(journal))))

    assert forms.rendered(reviewed, ".md") != forms.rendered(build_report(journal), ".md")
    for page in (PAGE, (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")):
        assert "ballots" in page.partition("\n\n")[2].partition("\n\n")[0]
    assert "ballots" in (forms.__doc__ or "")


def test_the_table_has_every_state() -> None:
    """Each state that `check` may tell has its row, and no other has."""
    assert re.findall(r"^\| `([\w ]+)` \|", PAGE, re.MULTILINE) == list(get_args(forms.State))


def test_the_forms_are_those_that_there_are() -> None:
    """The table of forms has every form, and the seal that the page shows reads like one."""
    shown = next(line for line in PAGE.split("\n") if line.startswith("    Made by "))
    real = forms.checksum_sentence(told(rounds=1))
    plain = re.compile(r"sha256:[0-9a-f.]*?(?=[,.] )|\d+ lines|\d+\.\d+\.\d+(?=\. )")

    assert re.findall(r"^\| `(\.\w+)` \|", PAGE, re.MULTILINE) == list(forms.FORMS)
    assert plain.sub("", shown.strip()) == plain.sub("", real)
