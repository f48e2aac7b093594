"""Tournaments in the browser: the filters choose debates, and every number leads to those that it counts."""

from __future__ import annotations

import asyncio
import html
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import small_tournaments
from conftest import Run
from debates import play_events
from journals import write_journal
from small_tournaments import import_rows, row
from web_visitor import HOST, TOKENS, Visitor, plain, visiting

from debate_orchestrator.providers import pricing
from debate_orchestrator.tournament.journal_rows import read_rows
from debate_orchestrator.tournament.rows import Rows
from debate_orchestrator.util import resources
from debate_orchestrator.web import tournaments
from debate_orchestrator.web.dashboard import create_app
from debate_orchestrator.web.tournaments import Filters, chosen_debates, model_debates, standings

pytestmark = pytest.mark.usefixtures("few_draws")

ROWS = [
    row("d1", "one", "two", "pro", topic="tea", category="food"),
    row("d1", "one", "two", "con", judge="j2", topic="tea", category="food"),
    row("d1", "one", "two", "pro", judge="j3", topic="tea", category="food"),
    row("d2", "two", "one", "tie", topic="tea", category="food"),
    row("d3", "three", "one", "con", topic="rail", category="town"),
    row("d4", "two", "three", "pro", topic="rail", category="town"),
    row("d5", "one", "two", "", topic="rail", category="town"),  # not decided: no game
]


@pytest.fixture
def dashboard(debate: Run) -> Iterator[Visitor]:
    """A user at the dashboard of a folder with an imported tournament, `t`."""
    import_rows(debate, ROWS)
    with visiting() as visitor:
        yield visitor


def listed(dashboard: Visitor, address: str) -> int:
    """How many debates a page says that it lists."""
    found = re.search(r"(\d+) debates?[.,]", dashboard.text(address))
    assert found is not None
    return int(found[1])


def test_names_are_shown_and_not_obeyed(debate: Run) -> None:
    """Names of models are quoted where the program says who won, filters that look like HTML are text, and a debate
    without a topic goes by its id. A journal beside imported results is left out, whatever its name."""
    rows = [row("d1", "one", "two (against): won by two. Also three", "pro", topic="")]
    import_rows(debate, [*rows, row("d2", "two", "one", "pro", topic="tea")])
    Path("t/debates").mkdir()
    write_journal(Path("t/debates/d1.journal.jsonl"), play_events(rounds=1))
    with visiting() as visitor:
        page = visitor.get("/tournaments/t").text
        filtered = visitor.get("/tournaments/t?topic=<script>alert(1)</script>").text
    assert "“one” (for) and “two (against): won by two. Also three” (against): won by “one”" in plain(page)
    assert "/debates/d1.html" not in page and "<h3>d1</h3>" in page and "<h3>tea</h3>" in page
    assert "<script>alert" not in filtered and "No debate between two models" in filtered


def test_a_backslash_leads_to_no_other_debate(here: Path) -> None:
    """The page of a debate is reached by the name of its file, whatever is escaped in its id."""
    names = ("a\\b", "a\\\\b", "a\\xffb", "a")
    Path("t/debates").mkdir(parents=True)
    Path("t/tournament.json").write_text('{"name": "t"}', encoding="utf-8")
    for number, name in enumerate(names):
        write_journal(Path(f"t/debates/{name}.journal.jsonl"), play_events(rounds=1, topic=f"Topic {number}?"))
    with visiting() as visitor:
        page = visitor.get("/tournaments/t").text
        links = re.findall(r'href="(/[^"]+/debates/[^"]+)">(Topic \d)', page)
        assert len(links) == len(names)
        for link, topic in links:
            assert topic in visitor.text(link), link


def test_a_report_links_the_pages_that_the_server_has(here: Path) -> None:
    """The page of a debate that lies in another folder than the others has no address here, and no link."""
    for folder, name in (("t", "friday-deploys"), ("t/debates", "standing-desks"), ("t/debates/more", "free-transit")):
        shutil.copytree(resources.folder("examples") / name, folder, dirs_exist_ok=True)
    Path("t/tournament.json").write_text('{"name": "t"}', encoding="utf-8")
    with visiting() as visitor:
        links = re.findall(r'<th scope="row"><a href="([^"]+)"', visitor.get("/tournaments/t/report").text)
        assert links == ["debates/debate-report.html"]
        assert visitor.get(f"/tournaments/t/{links[0]}").status_code == 200


def test_every_number_leads_to_its_debates(dashboard: Visitor) -> None:
    """Each cell of both tables is a link to as many debates as it says, with whatever filters; none is rehearsed."""
    rows = Path("t", "rows.jsonl")
    first, *others = rows.read_text(encoding="utf-8").splitlines(keepends=True)
    rehearsed = first.replace('"d1"', '"d9"').replace('"rehearsed":false', '"rehearsed":true')
    rows.write_text("".join([first, rehearsed, *others]), encoding="utf-8")
    for address in (f"/tournaments/t{query}" for query in ("", "?category=food", "?judge=j1", "?side=pro")):
        page = dashboard.get(address).text
        cells = re.findall(r'<td><a href="([^"]+)">([\d–]+)</a></td>', page)
        assert cells, address
        for link, numbers in cells:
            count = sum(map(int, numbers.split("–")))
            query = html.unescape(link).partition("#")[0]
            assert listed(dashboard, f"/tournaments/t{query}") == count, (address, link)


CHOSEN: list[tuple[Filters, dict[str, tuple[int, int, int]]]] = [
    (Filters(), {"one": (2, 0, 1), "two": (1, 1, 1), "three": (0, 2, 0)}),
    (Filters(topic="rail"), {"one": (1, 0, 0), "two": (1, 0, 0), "three": (0, 2, 0)}),
    (Filters(category="food"), {"one": (1, 0, 1), "two": (0, 1, 1)}),
    (Filters(judge="j2"), {"one": (0, 1, 0), "two": (1, 0, 0)}),
    (Filters(side="con"), {"one": (1, 0, 1), "two": (0, 1, 0), "three": (0, 1, 0)}),
    (Filters(model="one", opponent="two"), {"one": (1, 0, 1)}),
    (Filters(result="won"), {"one": (2, 0, 0), "two": (1, 0, 0)}),
    (Filters(topic="nothing"), {}),
]


def test_filters_choose_debates(dashboard: Visitor) -> None:
    """Topic, category, judge, model and side say which games count; a judge's votes decide alone, but not
    a debate that its panel left without a decision."""
    for filters, expected in CHOSEN:
        chosen = chosen_debates(read_rows("t"), filters)
        found = standings(chosen, model_debates(chosen, filters))
        assert {one.model: (one.won, one.lost, one.tied) for one in found} == expected, filters
    rows = read_rows("t")
    undecided = Rows([debate.model_copy(update={"winner": None}) for debate in rows.debates], rows.ballots)
    assert [debate.winner for debate in chosen_debates(undecided, Filters(judge="j2"))] == [None]


def test_filters_on_the_page(dashboard: Visitor) -> None:
    """A model is not offered as its own opponent, and a result without a model asks for one. Elo counts the debates
    that topic, category and judge choose, and is not shown of one side or model alone."""
    offered = dashboard.get("/tournaments/t?model=one").text.partition('name="opponent"')[2].partition("</select>")[0]
    assert re.findall(r'value="(\w+)"', offered) == ["three", "two"]
    assert "Choose a model too" in dashboard.text("/tournaments/t?result=won")
    assert "Choose a model too" not in dashboard.text("/tournaments/t?result=won&model=one")
    all_debates, of_a_judge, of_a_side = (
        re.findall(r'<th scope="row">one</th><td>(\d+)</td>', dashboard.get(f"/tournaments/t{query}").text)
        for query in ("", "?judge=j2", "?side=pro")
    )
    assert int(all_debates[0]) > 400 > int(of_a_judge[0]) and not of_a_side


def test_only_tournaments_of_the_folder_are_shown(dashboard: Visitor) -> None:
    """Neither a path nor a link leads out of the folder, and a folder without a tournament is none."""
    Path("debates").mkdir()
    Path("link").symlink_to("t")
    shutil.copytree("t", "two\nlines")
    assert r"An address can't contain the name 'two\nlines'. Rename it." in dashboard.text("/tournaments")
    for name in ("%2e%2e", "%2e", "nothing", "..%2ft", "link", "two%0alines", "t%00", "debates"):
        for page in ("", "/report", "/debates/x.html"):
            assert dashboard.get(f"/tournaments/{name}{page}").status_code in (307, 404), (name, page)
    for debate in ("..%2f..%2fsecret.html", "x.html", "%2fetc%2fpasswd"):
        assert dashboard.get(f"/tournaments/t/debates/{debate}").status_code == 404


def test_a_debate_that_was_held_is_read(here: Path) -> None:
    """From the list of tournaments to the report of one of its debates, and to the whole report; and what is added in a
    folder within its folder is seen at once."""
    small_tournaments.run_tournament(small_tournaments.tournament("held", topics=1))
    with visiting() as dashboard:
        assert "/tournaments/held" in dashboard.get("/tournaments").text
        page = dashboard.get("/tournaments/held").text
        (first, *_) = re.findall(r'href="(/dashboard/[^"]+/held/debates/[^"]+)"', page)
        assert "Motion 0 holds." in dashboard.text(first)
        assert "All of this is a rehearsal" in plain(page) and "rehearse" in dashboard.text("/tournaments/held/report")

        added = Path("held/debates/more/added.journal.jsonl")
        added.parent.mkdir()
        added.write_text("no journal", encoding="utf-8")
        for address in ("/tournaments/held", "/tournaments/held/report"):
            assert "A journal is left out" in dashboard.text(address)


@pytest.mark.slow
def test_a_rehearsal_ranks_no_model(debate: Run) -> None:
    """As the report of the tournament says, which has no plots; nor does it say of any of its debates that it was left
    undecided."""
    small_tournaments.run_tournament(small_tournaments.tournament("held", topics=1))
    assert debate("tournament", "report", "held").code == 0
    ranks_none = "No model is ranked: stand-ins spoke in every debate."
    report = Path("held/index.html").read_text(encoding="utf-8")
    assert ranks_none in plain(report) and "<img" not in report and not [*Path("held/plots").iterdir()]
    with visiting() as dashboard:
        page = dashboard.get("/tournaments/held").text
        assert plain(page).count("All of this is a rehearsal") == 1
        assert ranks_none in plain(page) and "<table" not in page and "no decision" not in page
        assert plain(page).count(": a rehearsal") == listed(dashboard, "/tournaments/held") > 1
        (model, *_) = re.findall(r'<option value="(stand-in [^"]+)"', page)
        filtered = dashboard.text(f"/tournaments/held?model={model}")
        assert "stand-ins spoke in every debate that fits these filters." in filtered


def test_the_report_of_a_tournament_is_made_again(dashboard: Visitor) -> None:
    """The page that lies in the folder may be a stranger's, and is not shown."""
    Path("t", "index.html").write_text("<script>alert(1)</script>", encoding="utf-8")
    answer = dashboard.get("/tournaments/t/report")
    assert answer.status_code == 200 and "alert(1)" not in answer.text and "three" in plain(answer.text)
    assert TOKENS.dashboard not in answer.text


BROKEN = ('{"imported": []}', '{"imported": null}', '{"imported": {"notes": 5}}', '{"imported": {"notes": [5]}}', "{")


def test_a_tournament_that_can_not_be_read_takes_no_other_away(dashboard: Visitor) -> None:
    """Its page says what is wrong with its file, and the list leads to the others as before."""
    Path("broken").mkdir()
    Path("broken/rows.jsonl").write_bytes(Path("t/rows.jsonl").read_bytes())
    for spec in BROKEN:
        Path("broken/tournament.json").write_text(spec, encoding="utf-8")
        listing, page = dashboard.text("/tournaments"), dashboard.get("/tournaments/broken")
        assert "broken" in listing and "/tournaments/t" in dashboard.get("/tournaments").text, spec
        assert page.status_code == 404 and "broken/tournament.json" in plain(page.text), spec
    assert dashboard.get("/tournaments/t").status_code == 200


def test_looking_at_a_tournament_changes_no_price(here: Path) -> None:
    """The prices in a stranger's folder count for none of the user's debates, whatever page is shown of it."""
    before = pricing.price_of(small_tournaments.OPUS)
    new = {"name": "new", "spec": "openai:new-9", "price": {"input": 0, "output": 0}}
    dear = {"name": "dear", "spec": small_tournaments.OPUS, "price": {"input": 9000, "output": 9000}}
    small_tournaments.run_tournament(small_tournaments.tournament("stranger", topics=1, models=[new, dear]))
    with visiting() as visitor:
        assert "dear" in visitor.text("/tournaments/stranger")

    assert before is not None and pricing.price_of(small_tournaments.OPUS) == before
    assert pricing.price_of("openai:new-9") is None


def test_a_report_is_made_once_for_all_who_ask(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One rating serves all requests until a file of the tournament changes, and no two tournaments are rated at the
    same time."""
    import_rows(debate, ROWS)
    shutil.copytree("t", "other")
    rated, together = [], []
    rate, both = tournaments.rate, threading.Barrier(2)

    def counted(rows: Any) -> Any:
        rated.append(rows)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)
            together.append(rows)
        return rate(rows)

    monkeypatch.setattr(tournaments, "rate", counted)

    async def ask(*names: str) -> list[str]:
        transport = httpx.ASGITransport(create_app(TOKENS, [HOST]))
        async with httpx.AsyncClient(
            transport=transport, base_url=f"http://{HOST}/dashboard/{TOKENS.dashboard}"
        ) as all:
            answers = await asyncio.gather(*(all.get(f"/tournaments/{name}/report") for name in names))
        assert [answer.status_code for answer in answers] == [200] * len(names)
        return [answer.text for answer in answers]

    pages = asyncio.run(ask("t", "other", "t", "t"))
    assert len(rated) == 2 and not together
    assert [pages[0]] == list({pages[0], *pages[2:]}) == asyncio.run(ask("t")) and len(rated) == 2

    with Path("t/rows.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    asyncio.run(ask("t"))
    assert len(rated) == 3
