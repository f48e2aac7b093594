"""The page in a real browser: it runs and fetches nothing, fits a phone, prints, and can be read by everybody."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from debates import hostile
from debates import told as adversarial
from nasty import FENCES, HEADINGS, HTML, LINKS, OTHERS, TABLES
from tellings import FETCHED, told

from debate_orchestrator import library
from debate_orchestrator.files import JOURNAL
from debate_orchestrator.journal import read
from debate_orchestrator.reports.html.page import render
from debate_orchestrator.reports.story import Story, story

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
NAMES = ("postgres-queue", "lighthouse-ledger", "rewrite-in-rust", "standing-desks", "free-transit")
"""Shipped debates, one of each format."""
EXAMPLES = {name: library.folder("examples") / name / f"debate-report{JOURNAL}" for name in NAMES}
PHONE, DESK = 390, 1280
MADE: dict[str, Any] = {
    "paused": lambda: adversarial(rounds=2, until="1.rebuttal.b"),
    "panel of three": lambda: adversarial(rounds=2, judges=3, mirror=True),
    "rehearsed": lambda: told("panel", cast=dict.fromkeys(("a", "b", "judge"), ("rehearse",))),
    "claim": lambda: told("claim", rounds=2, each_round=True, cast=FETCHED),
    "nobody argues": lambda: told("question-blind"),
}
"""Debates that no example is one of."""

pytestmark = pytest.mark.xdist_group("browser")


def missing(what: str) -> NoReturn:
    """Skips, saying why; where everything is said to be there, that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests here."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing("no Chromium is installed")
    api = (
        pytest.importorskip("playwright.sync_api")
        if os.environ.get("CI") != "true"
        else __import__("playwright.sync_api", fromlist=["sync_api"])
    )
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield started
        started.close()


class Shown:
    """A page in a window, with what it said and asked for."""

    def __init__(self, page: Any):
        self.page, self.said, self.asked = page, list[str](), list[str]()
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(dialog.message))
        page.on("request", lambda request: self.asked.append(request.url))


@contextmanager
def window(browser: Any, file: Path, width: int = DESK, scheme: str = "light") -> Iterator[Shown]:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    try:
        shown = Shown(context.new_page())
        shown.page.goto(file.as_uri())
        yield shown
    finally:
        context.close()


def story_of(name: str) -> Story:
    return story(read(EXAMPLES[name]).entries) if name in EXAMPLES else MADE[name]()


@pytest.fixture(params=[*EXAMPLES, *MADE])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The page of a debate, on disk."""
    path = tmp_path / "report.html"
    path.write_text(render(story_of(request.param)), encoding="utf-8")
    return path


def test_it_asks_for_nothing_and_runs_nothing(browser: Any, file: Path) -> None:
    """Nothing but the file is asked for, nothing is complained of, and every link within leads somewhere."""
    with window(browser, file) as shown:
        links = shown.page.eval_on_selector_all("a[href^='#']", "all => all.map(a => a.getAttribute('href').slice(1))")
        lost = shown.page.evaluate("ids => ids.filter(id => !document.getElementById(id))", links)
        scripts = shown.page.locator("script, img, iframe, object, link, form").count()

        assert (shown.said, shown.asked, lost, scripts) == ([], [file.as_uri()], [], 0)
        assert links
        assert shown.page.evaluate("getComputedStyle(document.querySelector('.sheet')).maxWidth") != "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(browser: Any, file: Path, scheme: str) -> None:
    """At the width of a phone nothing has to be moved sideways, and no text is smaller than can be read."""
    with window(browser, file, PHONE, scheme) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE
        assert shown.page.evaluate(_SMALLEST) >= 9


_SMALLEST = """Math.min(...[...document.querySelectorAll('body *:not(svg *)')].filter(one => [...one.childNodes].some(
    node => node.nodeType === 3 && node.data.trim())).map(one => parseFloat(getComputedStyle(one).fontSize)))"""


def test_it_is_dark_where_the_reader_is(browser: Any, file: Path) -> None:
    """In the dark the paper is dark and the ink light; on paper it is the other way round all the same."""
    paper = "getComputedStyle(document.body).backgroundColor"
    with window(browser, file, scheme="dark") as shown:
        assert lightness(shown.page.evaluate(paper)) < 40
        shown.page.emulate_media(media="print")
        assert lightness(shown.page.evaluate(paper)) > 240
    with window(browser, file) as shown:
        assert lightness(shown.page.evaluate(paper)) > 240


def lightness(colour: str) -> float:
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def test_it_prints(browser: Any, file: Path) -> None:
    """On paper it has about as many pages as its words take, and none of what only helps on a screen."""
    with window(browser, file) as shown:
        words = len(shown.page.inner_text("body").split())
        pages = len(re.findall(rb"/Type\s*/Page\b", shown.page.pdf(prefer_css_page_size=True)))
        shown.page.emulate_media(media="print")

        assert 1 <= pages <= 4 + words / 200
        assert not shown.page.locator(".contents, .skip").locator("visible=true").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser: Any, file: Path, scheme: str) -> None:
    """Axe finds nothing serious that would keep anybody from reading it."""
    if not AXE.exists():
        missing(f"axe-core is not installed: `npm install --prefix {AXE.parents[2].name}` in tests/")
    with window(browser, file, scheme=scheme) as shown:
        shown.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = shown.page.evaluate("axe.run(document, {preload: false, resultTypes: ['violations']})")
        bad = [
            (one["id"], one["impact"], [node["target"] for node in one["nodes"][:3]])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert bad == []


def test_it_goes_by_keys(browser: Any, tmp_path: Path) -> None:
    """The first key leads past the head of the page, and what has the focus is seen to have it."""
    file = tmp_path / "report.html"
    file.write_text(render(adversarial(rounds=1)), encoding="utf-8")
    with window(browser, file) as shown:
        shown.page.keyboard.press("Tab")
        assert shown.page.evaluate("document.activeElement.textContent") == "Skip to the verdict"
        assert shown.page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
        assert shown.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        shown.page.keyboard.press("Enter")
        assert shown.page.url.endswith("#verdict")


def test_nobody_takes_it_over(browser: Any, tmp_path: Path) -> None:
    """With everybody hostile at once nothing runs or is fetched, no place is forged, and it still fits a phone."""
    texts = [text for kind in (HTML, LINKS, HEADINGS, FENCES, TABLES, OTHERS) for text in kind]
    whole = "\n\n".join(texts)
    story = adversarial(hostile(whole, rounds=1), rounds=1, topic=whole, positions=(whole, whole))
    file = tmp_path / "report.html"
    file.write_text(render(story), encoding="utf-8")
    with window(browser, file, PHONE) as shown:
        shown.page.wait_for_timeout(200)
        ids = shown.page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")

        assert (shown.said, shown.asked) == ([], [file.as_uri()])
        assert len(ids) == len(set(ids))
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE
        assert shown.page.locator(".speech :is(h1, h2, h3, h4, script, img, style, svg, [id], [style])").count() == 0
