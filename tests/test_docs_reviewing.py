"""The page for reviewers keeps its word: its commands run, and what it says of the form is so."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from conftest import Run
from reviewers import filled, paper

from debate_orchestrator.reports import reviewers, reviews
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util import resources
from debate_orchestrator.util.data import read_mapping, to_yaml

PAGE = (Path(__file__).parent.parent / "docs" / "reviewing.md").read_text(encoding="utf-8")
JOURNAL = "debate-report.journal.jsonl"


def commands() -> list[list[str]]:
    """Every command of the page, in order."""
    lines = re.findall(r"^(?:    )?(debate .*)$", PAGE, re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.slow
def test_the_commands_run(debate: Run, here: Path) -> None:
    """Who follows the page in a script has a report with a reviewer in it."""
    examples = resources.folder("examples")
    shutil.copy(examples / "compulsory-voting" / JOURNAL, JOURNAL)
    shutil.copy(examples / "compulsory-voting" / JOURNAL, "again.journal.jsonl")
    for command in commands():
        if "--as" in command and "--form" not in command:
            continue  # it asks at a terminal
        words = command[: command.index(">")] if ">" in command else command
        if "--take" in words:
            entries = read(JOURNAL).entries
            assert read_mapping("ada.yaml")["journal"] == entries[-1].hash
            Path("ada.yaml").write_text(to_yaml(filled(paper(entries)) | {"journal": entries[-1].hash}))
        ran = debate(*words)
        assert ran.code == 0, (command, ran.err)
        if ">" in command:
            Path(command[-1]).write_text(ran.out, encoding="utf-8")

    assert "| ada | reviewer |" in Path("debate-report.md").read_text(encoding="utf-8")


def test_the_table_has_every_key() -> None:
    """The page describes each key of a ballot, and no other."""
    table = PAGE.partition("| key |")[2].partition("\n\n")[0]
    named = {key for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)}
    examples = resources.folder("examples")
    asked = paper(read(examples / "compulsory-voting" / JOURNAL).entries)

    assert named == set(asked.shape)


def test_its_numbers_are_the_codes() -> None:
    """Thresholds and lengths are told as they are."""
    assert f"at least {reviewers.LEAST_RATERS} scored and at least {reviewers.LEAST_ITEMS} items" in PAGE
    assert f"at most {reviews.WORDS} words" in PAGE
    assert f"the version of this form: {reviews.VERSION}" in PAGE
