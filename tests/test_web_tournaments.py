"""Tournaments in the browser: which are listed, and what their reports show."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import contests
import pytest
from conftest import Run
from contests import imported, row
from web_visitor import TOKENS, Visitor, plain, visiting

from debate_orchestrator.providers import pricing

ROWS = [
    row("d1", "one", "two", "pro", topic="tea", category="food"),
    row("d1", "one", "two", "con", judge="j2", topic="tea", category="food"),
    row("d1", "one", "two", "pro", judge="j3", topic="tea", category="food"),
    row("d2", "two", "one", "tie", topic="tea", category="food"),
    row("d3", "three", "one", "con", topic="rail", category="town"),
    row("d4", "two", "three", "pro", topic="rail", category="town"),
]


@pytest.fixture
def dashboard(debate: Run) -> Iterator[Visitor]:
    """A user at the dashboard of a folder with an imported tournament, `t`."""
    imported(debate, ROWS)
    with visiting() as visitor:
        yield visitor


@pytest.mark.parametrize("name", ["%2e%2e", "%2e", "nothing", "..%2ft", "link", "t%00", "debates"])
def test_only_tournaments_of_the_folder_are_shown(dashboard: Visitor, name: str) -> None:
    """Neither a path nor a link leads out of the folder, and a folder without a tournament is none."""
    Path("debates").mkdir()
    Path("link").symlink_to("t")
    for address in (f"/tournaments/{name}/report", f"/tournaments/{name}/debates/x.html"):
        assert dashboard.get(address).status_code in (307, 404), address
    for debate in ("..%2f..%2fsecret.html", "x.html", "%2fetc%2fpasswd"):
        assert dashboard.get(f"/tournaments/t/debates/{debate}").status_code == 404


def test_the_desk_alone_shows_them(dashboard: Visitor) -> None:
    """Without the link of the dashboard there is no tournament."""
    with visiting(enter=False) as stranger:
        assert stranger.get("/tournaments").status_code == stranger.get("/tournaments/t/report").status_code == 401
        assert stranger.get("/dashboard/0/tournaments").status_code == 401


def test_a_debate_that_was_held_is_read(here: Path) -> None:
    """The list leads to the report of a tournament, and that to the reports of its debates. A rehearsal ranks no
    model."""
    held = contests.tournament("held", topics=1)
    contests.ran(held)
    first = held.schedule[0]
    Path(held.folder, "debates", f"{first.id}.html").write_text("made by others", encoding="utf-8")
    with visiting() as dashboard:
        assert "/tournaments/held/report" in dashboard.get("/tournaments").text
        page = dashboard.get("/tournaments/held/report").text
        assert f'href="debates/{first.id}.html"' in page and "stand-ins spoke in every debate" in plain(page)
        assert "Motion 0 holds." in dashboard.text(f"/tournaments/held/debates/{first.id}.html")


@pytest.mark.parametrize("spec", ['{"imported": []}', '{"imported": {"notes": [5]}}', "{"])
def test_a_tournament_that_can_not_be_read_takes_no_other_away(dashboard: Visitor, spec: str) -> None:
    """Its report says what is wrong with its file, and the list leads to the others as before."""
    Path("broken").mkdir()
    Path("broken/tournament.json").write_text(spec, encoding="utf-8")
    Path("broken/rows.jsonl").write_bytes(Path("t/rows.jsonl").read_bytes())
    answer = dashboard.get("/tournaments/broken/report")

    assert "broken" in dashboard.text("/tournaments") and "/tournaments/t" in dashboard.get("/tournaments").text
    assert answer.status_code == 404 and "broken/tournament.json" in plain(answer.text)
    assert dashboard.get("/tournaments/t/report").status_code == 200


def test_the_report_of_a_tournament_is_made_anew(dashboard: Visitor) -> None:
    """The page that lies in the folder may be a stranger's, and is not shown."""
    Path("t", "index.html").write_text("<script>alert(1)</script>", encoding="utf-8")
    answer = dashboard.get("/tournaments/t/report")
    assert answer.status_code == 200 and "alert(1)" not in answer.text and "three" in plain(answer.text)
    assert TOKENS.dashboard not in answer.text


@pytest.mark.skipif(sys.platform == "darwin", reason="its names of files are UTF-8")
def test_a_name_that_is_no_text_takes_no_other_tournament_away(dashboard: Visitor) -> None:
    """It can't stand in an address, as the list says, and is not found."""
    folder = Path(os.fsdecode(b"spring \xff"))
    folder.mkdir()
    (folder / "tournament.json").write_text("{}", encoding="utf-8")
    listed = dashboard.get("/tournaments").text
    assert '/tournaments/t/report"' in listed and listed.count("stand in an address") == 1
    assert dashboard.get("/tournaments/spring%20%FF/report").status_code == 404


def test_looking_at_a_tournament_changes_no_price(here: Path) -> None:
    """The prices in a stranger's folder count for none of the user's debates, whatever page is shown of it."""
    before = pricing.known(contests.OPUS)
    new = {"name": "new", "spec": "openai:new-9", "price": {"input": 0, "output": 0}}
    dear = {"name": "dear", "spec": contests.OPUS, "price": {"input": 9000, "output": 9000}}
    contests.ran(contests.tournament("stranger", topics=1, models=[new, dear]))
    with visiting() as visitor:
        assert "dear" in visitor.text("/tournaments/stranger/report")

    assert before is not None and pricing.known(contests.OPUS) == before
    assert pricing.known("openai:new-9") is None
