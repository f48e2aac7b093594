"""A journal, or rows, that were written where a key was not known: nothing made from them shows it where it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run
from contests import import_rows, row
from web_visitor import visiting

KEY = "qqfindme-Ab3Kx9Zt7Lm2Pw8Rv4Yc"
SETUP = (
    "--position-a=It is so.",
    "--position-b=It is not so.",
    "--no-issues",
    "--no-brief",
    "--rounds=1",
    "--rehearse",
)


@pytest.fixture
def known_later(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Two debates about a text that is a secret of the environment from then on."""
    for name in ("one", "two"):
        debate("run", f"--topic=Is {KEY} safe?", *SETUP, f"--output={name}.md")
    assert KEY in Path("one.rehearsed.journal.jsonl").read_text(encoding="utf-8")
    monkeypatch.setenv("DEPLOY_TOKEN", KEY)
    return debate


def test_no_file_made_of_a_journal_shows_it(known_later: Run) -> None:
    """Reports, a comparison and the transcript for a reviewer have `[key]` in its place."""
    one, two = "one.rehearsed.journal.jsonl", "two.rehearsed.journal.jsonl"
    known_later("report", one, "--to", "r.json")
    known_later("compare", one, two, "--to", "compared.md")
    known_later("compare", one, two, "--to", "compared.html")
    known_later("ballot", one, "--read", "read.md")
    for name in ("r.json", "compared.md", "compared.html", "read.md"):
        text = Path(name).read_text(encoding="utf-8")
        assert KEY not in text and re.search(r"\\?\[key\\?\]", text), name
    assert KEY not in known_later("replay", one, "--no-pace").out


def test_no_page_of_a_journal_shows_it(known_later: Run) -> None:
    """A search finds no part of it, and a comparison shows none."""
    with visiting() as dashboard:
        for address in ("/search?q=Ab3Kx9", "/search?q=safe", "/compare?debate=one.rehearsed&debate=two.rehearsed"):
            assert "Ab3Kx9</mark>" not in dashboard.get(address).text and KEY not in dashboard.get(address).text


@pytest.mark.usefixtures("few_draws")
def test_no_row_shows_it(debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are imported have `[key]`, and so has all that is made of rows that were imported before."""
    rows = [row(f"d{n}", "m1", "m2", "pro", topic=f"Is {KEY} safe?") for n in range(2)]
    import_rows(debate, rows)
    Path("t").rename("before")
    monkeypatch.setenv("DEPLOY_TOKEN", KEY)
    import_rows(debate, rows)
    assert KEY in Path("before/rows.jsonl").read_text() and KEY not in Path("t/rows.jsonl").read_text()
    assert debate("tournament", "report", "before").code == 0
    files = [path for path in Path("before").rglob("*") if path.is_file() and path.name != "rows.jsonl"]
    assert len(files) > 3 and not [path for path in files if KEY.encode() in path.read_bytes()]
