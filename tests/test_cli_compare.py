"""`compare`: journals side by side, printed or written, and never over something else."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import page_reading
import pytest
from conftest import Run

from debate_orchestrator.reports.compare import ALIKE
from debate_orchestrator.util import resources

J = "debate-report.journal.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "comparing.md"


@pytest.fixture
def two(here: Path, debate: Run) -> list[str]:
    """A real debate, and another judging of it by stand-ins."""
    shutil.copy(resources.folder("examples") / "friday-deploys" / J, J)
    assert debate("judge", J, "--judge", "rehearse", "--output", "again.md", "--quiet").code == 0
    return [J, "again.journal.jsonl"]


def test_it_is_printed(debate: Run, two: list[str]) -> None:
    """Without --to the comparison goes to standard output, and says what hangs together."""
    ran = debate("compare", *two)

    assert ran.code == 0, ran.err
    assert ran.out.startswith("# Debate Comparison\n")
    assert "- Run 2 judges the speeches of run 1 again." in ran.out
    assert "- Run 2 is rehearsed: stand-ins spoke in it." in ran.out
    assert debate("compare", two[0], "again.md").out == ran.out  # a report stands for its journal


def test_it_is_written(debate: Run, two: list[str]) -> None:
    """With --to it is written, over a comparison but over nothing else."""
    Path("notes.md").write_text("my notes")
    printed = debate("compare", *two).out
    codes = [debate("compare", *two, "--to", path).code for path in ("c.md", "c.md", "notes.md", "c.csv")]

    assert codes == [0, 0, 2, 2]
    assert Path("c.md").read_text(encoding="utf-8") == printed
    assert Path("notes.md").read_text() == "my notes"


def test_it_is_written_as_a_page(debate: Run, two: list[str]) -> None:
    """With --to and a page's name it is a page that holds together, over a page of a comparison and no other."""
    assert debate("report", J, "--to", "report.html").code == 0
    codes = [debate("compare", *two, "--to", path).code for path in ("c.html", "c.html", "report.html")]
    found = page_reading.read(Path("c.html").read_text(encoding="utf-8"))

    assert (codes, found.odd) == ([0, 0, 2], [])
    assert [name for tag, name in found.outline if tag == "h2"][:2] == ["Runs", "Verdicts"]
    assert "Run 2 judges the speeches of run 1 again." in found.text


def test_programs_read_it(debate: Run, two: list[str]) -> None:
    """With --json it is one object, with what the tables hold."""
    made = debate("compare", *two, "--json").json

    assert (made["schema"], made["status"], made["report"]) == (1, "compared", None)
    assert set(made["comparison"]["winners"]) == {"1", "2"}
    assert made["comparison"]["runs"]["heads"][0] == "Run"


def test_all_that_is_wrong_is_told_at_once(debate: Run, two: list[str]) -> None:
    """One journal is too few; every file that is no journal is named."""
    Path("x.jsonl").write_text("{}")
    alone, bad = debate("compare", J), debate("compare", J, "x.jsonl", "none.jsonl")

    assert alone.code == 2 and "at least two journals" in alone.err
    assert bad.code == 2 and "x.jsonl" in bad.err and "none.jsonl" in bad.err


def test_the_page_keeps_its_word(debate: Run, here: Path) -> None:
    """The commands of docs/comparing.md run in their order, and its threshold is the code's."""
    page = PAGE.read_text(encoding="utf-8")
    shutil.copy(resources.folder("examples") / "friday-deploys" / J, J)
    for line in re.findall(r"^debate (.*)$", page, re.MULTILINE):
        ran = debate(*shlex.split(line))
        assert ran.code == 0, (line, ran.err)

    assert Path("comparison.md").exists()
    assert f"from {int(ALIKE * 100)} % on they are called similar" in page
