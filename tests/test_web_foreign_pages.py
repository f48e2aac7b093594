"""The page of a tournament's folder from a stranger, as the dashboard shows it."""

from __future__ import annotations

import os
import threading
from html.parser import HTMLParser
from pathlib import Path

import contests
import pytest
from conftest import Run
from foreign_pages import CONSTRUCTS, STYLES
from hostile_texts import NASTY
from web_visitor import visiting

from debate_orchestrator.tournament import plots
from debate_orchestrator.web import pages


class Tags(HTMLParser):
    """The tags of a page with their attributes, and whatever else browsers don't read as text."""

    def __init__(self, page: str):
        super().__init__()
        self.found = list[tuple[str, list[tuple[str, str | None]]]]()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_comment(self, data: str) -> None:
        self.found.append((data, []))

    handle_decl = unknown_decl = handle_pi = handle_comment


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_what_turns_to_a_server_is_text(construct: str) -> None:
    """No tag of it is left: a browser reads `<` as text where no name follows."""
    for url in ("https://x.example", "//x.example"):
        shown = pages.foreign_page(construct.replace("URL", url)).decode()
        assert [tag for tag, _ in Tags(shown).found if tag not in ("p", "body", "table", "a")] == []
        assert [attribute for _, attributes in Tags(shown).found for attribute in attributes] == []


@pytest.mark.parametrize("style", STYLES)
def test_a_style_ends_where_it_is_closed(style: str) -> None:
    """It holds no element, and none follows."""
    assert Tags(pages.foreign_page(style).decode()).found == [("style", [])]


@pytest.mark.usefixtures("few_draws")
def test_a_page_that_was_reported_is_shown_as_it_is(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, whatever names are in it: one of a tournament that was run, with links to its debates, and one of an
    imported one, with a plot. All plots are pictures alike."""
    monkeypatch.setattr(plots, "_PLOTS", plots._PLOTS[:1])
    contests.ran(contests.tournament("held", topics=1))
    for journal in Path("held").rglob("*.journal.jsonl"):
        assert debate("report", str(journal)).code == 0
    rows = [contests.row(f"d{n}", f"{n} {name}", "other", "pro", topic=name) for n, name in enumerate(NASTY[:30])]
    contests.imported(debate, rows)
    for folder, has in (("held", '<a href="debates/'), ("t", '<img src="data:')):
        assert debate("tournament", "report", folder).code == 0
        page = Path(folder, "index.html").read_bytes()
        assert has.encode() in page
        assert pages.foreign_page(page.decode()) == page


def test_a_large_page_holds_no_one_up(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made once, beside the loop that answers everyone, and no page is shown that is larger than reports are."""
    contests.ran(contests.tournament("held", topics=1))
    made_by, foreign_page = list[str](), pages.foreign_page

    def made(page: str) -> bytes:
        made_by.append(threading.current_thread().name)
        return foreign_page(page)

    monkeypatch.setattr(pages, "foreign_page", made)
    with visiting() as dashboard:
        Path("held/index.html").write_text("<link >" * 1_000, encoding="utf-8")
        address = dashboard.get("/tournaments/held/report").headers["location"]
        assert dashboard.client.get(address).text == "&lt;link >" * 1_000
        os.utime("held/index.html", ns=(0, os.stat("held/index.html").st_mtime_ns))  # it was read
        assert dashboard.client.get(address).text == "&lt;link >" * 1_000
        assert len(made_by) == 1 and made_by[0].startswith("visitors")
        Path("held/index.html").write_text("<link >" * 1_500_000, encoding="utf-8")
        assert dashboard.client.get(address).status_code == 404
        assert len(made_by) == 1
