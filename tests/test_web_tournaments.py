"""Tournaments in the browser: the filters choose debates, and every number leads to those that it counts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import contests
import pytest
from conftest import Run
from contests import imported, row
from web_visitor import Visitor, plain, visiting

from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.web.tournaments import Filters, chosen_debates, games, standings

ROWS = [
    row("d1", "one", "two", "pro", topic="tea", category="food"),
    row("d1", "one", "two", "con", judge="j2", topic="tea", category="food"),
    row("d1", "one", "two", "pro", judge="j3", topic="tea", category="food"),
    row("d2", "two", "one", "tie", topic="tea", category="food"),
    row("d3", "three", "one", "con", topic="rail", category="town"),
    row("d4", "two", "three", "pro", topic="rail", category="town"),
]


@pytest.fixture
def desk(debate: Run) -> Iterator[Visitor]:
    """A user at the desk of a folder with an imported tournament, `t`."""
    imported(debate, ROWS)
    with visiting() as visitor:
        yield visitor


def listed(desk: Visitor, address: str) -> int:
    """How many debates a page says that it lists."""
    found = re.search(r"(\d+) debates?[.,]", desk.text(address))
    assert found is not None
    return int(found[1])


def test_every_number_leads_to_its_debates(desk: Visitor) -> None:
    """Each cell of both tables is a link to as many debates as it says, with whatever filters."""
    for address in (f"/tournaments/t{query}" for query in ("", "?category=food", "?judge=j1", "?side=pro")):
        page = desk.get(address).text
        cells = re.findall(r'<td><a href="([^"]+)">([\d–]+)</a></td>', page)
        assert cells, address
        for link, numbers in cells:
            count = sum(map(int, numbers.split("–")))
            query = html.unescape(link).partition("#")[0]
            assert listed(desk, f"/tournaments/t{query}") == count, (address, link)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"one": (2, 0, 1), "two": (1, 1, 1), "three": (0, 2, 0)}),
        (Filters(topic="rail"), {"one": (1, 0, 0), "two": (1, 0, 0), "three": (0, 2, 0)}),
        (Filters(category="food"), {"one": (1, 0, 1), "two": (0, 1, 1)}),
        (Filters(judge="j2"), {"one": (0, 1, 0), "two": (1, 0, 0)}),
        (Filters(side="con"), {"one": (1, 0, 1), "two": (0, 1, 0), "three": (0, 1, 0)}),
        (Filters(model="one", opponent="two"), {"one": (1, 0, 1)}),
        (Filters(result="won"), {"one": (2, 0, 0), "two": (1, 0, 0)}),
        (Filters(topic="nothing"), {}),
    ],
)
def test_filters_choose_debates(desk: Visitor, filters: Filters, expected: dict[str, tuple[int, int, int]]) -> None:
    """Topic, category, judge, model and side say which games count; a judge's votes decide alone."""
    chosen = chosen_debates(read_rows("t"), filters)
    found = standings(chosen, games(chosen, filters))

    assert {one.model: (one.won, one.lost, one.tied) for one in found} == expected


def test_filters_that_say_nothing_are_told(desk: Visitor) -> None:
    """A model is not offered as its own opponent, and a result without a model asks for one."""
    page = desk.get("/tournaments/t?model=one").text
    offered = page.partition('name="opponent"')[2].partition("</select>")[0]

    assert re.findall(r'value="(\w+)"', offered) == ["three", "two"]
    assert "Choose a model too" in desk.text("/tournaments/t?result=won")
    assert "Choose a model too" not in desk.text("/tournaments/t?result=won&model=one")


def test_elo_is_of_the_chosen_debates(desk: Visitor) -> None:
    """Elo counts the debates that topic, category and judge choose, and is not shown of one side or model alone."""
    column = '<th scope="col">Elo</th>'
    assert column in desk.get("/tournaments/t").text and column not in desk.get("/tournaments/t?side=pro").text
    shown = {query: re.findall(r'<th scope="row">one</th><td>(\d+)</td>', desk.get(f"/tournaments/t{query}").text)
             for query in ("", "?judge=j2")}  # fmt: skip
    assert int(shown[""][0]) > 400 > int(shown["?judge=j2"][0])


def test_names_are_shown_and_not_obeyed(desk: Visitor, debate: Run) -> None:
    """Models, topics and filters that look like HTML are text."""
    page = desk.get("/tournaments/t?topic=<script>alert(1)</script>").text
    assert "<script>alert" not in page and "No debate between two models" in page


@pytest.mark.parametrize("name", ["%2e%2e", "%2e", "nothing", "..%2ft", "link", "t%00", "debates"])
def test_only_tournaments_of_the_folder_are_shown(desk: Visitor, name: str) -> None:
    """Neither a path nor a link leads out of the folder, and a folder without a tournament is none."""
    Path("debates").mkdir()
    Path("link").symlink_to("t")
    for address in (f"/tournaments/{name}", f"/tournaments/{name}/report", f"/tournaments/{name}/debates/x.html"):
        assert desk.get(address).status_code in (307, 404), address
    for debate in ("..%2f..%2fsecret.html", "x.html", "%2fetc%2fpasswd"):
        assert desk.get(f"/tournaments/t/debates/{debate}").status_code == 404


def test_the_desk_alone_shows_them(desk: Visitor) -> None:
    """Without the link of the desk there is no tournament."""
    with visiting(enter=False) as stranger:
        assert stranger.get("/tournaments").status_code == stranger.get("/tournaments/t").status_code == 401
        assert stranger.get("/desk/0/tournaments").status_code == 401


def test_a_debate_that_was_held_is_read(here: Path) -> None:
    """From the list of tournaments to the report of one of its debates, and to the whole report."""
    contests.ran(contests.tournament("held", topics=1))
    with visiting() as desk:
        assert "/tournaments/held" in desk.get("/tournaments").text
        page = desk.get("/tournaments/held").text
        (first, *_) = re.findall(r'href="(/desk/[^"]+/held/debates/[^"]+)"', page)
        assert "Motion 0 holds." in desk.text(first)
        assert "rehearsed" in plain(page) and desk.get("/tournaments/held/report").status_code == 404
        Path("held/index.html").write_text("<p>The whole report</p>", encoding="utf-8")
        assert "The whole report" in desk.text("/tournaments/held/report")
