"""The page in a real browser: it runs and fetches nothing, fits a phone, prints, and can be read with any aid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from debates import hostile_script
from debates import report_model as adversarial
from hostile_texts import FENCES, HEADINGS, HTML, LINKS, OTHERS, TABLES
from scripted_debates import FETCHED, report_model

from debate_orchestrator.reports.html.page import render, style
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.reports.model import ReportModel, build_report
from debate_orchestrator.reports.rich_text import PhraseTable, phrase
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util import resources

from .ending import within
from .tmux import missing
from .window import AXE, DESKTOP, PATIENCE, PHONE

pytestmark = pytest.mark.slow

EXAMPLES = ("postgres-queue", "standing-desks", "free-transit")
"""Shipped debates: no page of another has an element, or a class of one, or one within another, that theirs lack."""
MADE: dict[str, Any] = {
    "paused": lambda: adversarial(rounds=2, until="1.rebuttal.b"),
    "panel of three": lambda: adversarial(rounds=1, judges=3, mirror=True),
    "rehearsed": lambda: report_model("panel", cast=dict.fromkeys(("a", "b", "judge"), ("rehearse",))),
    "claim": lambda: report_model("claim", rounds=2, each_round=True, cast=FETCHED),
    "no side argues": lambda: report_model("question-blind"),
}
"""Debates that no example is one of."""
A4_WIDTH, A4_HEIGHT = (210 - 2 * 14) * 96 / 25.4, (297 - 13 - 14) * 96 / 25.4
"""CSS pixels of a printed page without its margins."""


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    """What is asked of a page may take for ever; not here."""
    with within(PATIENCE):
        yield


class Shown:
    """A page in a window, with what it said and asked for."""

    def __init__(self, page: Any, address: str):
        self.page, self.address, self.said, self.asked = page, address, list[str](), list[str]()
        self._heard = {
            "console": lambda message: self.said.append(message.text),
            "pageerror": lambda error: self.said.append(str(error)),
            "dialog": lambda dialog: (self.said.append(dialog.message), dialog.dismiss()),
            "request": lambda request: self.asked.append(request.url),
        }

    def __enter__(self) -> Shown:
        for event, heard in self._heard.items():
            self.page.on(event, heard)
        self.look()
        self.page.goto(self.address)
        return self

    def __exit__(self, *_: object) -> None:
        for event, heard in self._heard.items():
            self.page.remove_listener(event, heard)

    def look(self, *, width: int = DESKTOP, scheme: str = "light", media: str = "screen") -> None:
        """Looks at it again: at some width, by some light, on a screen or on paper."""
        self.page.set_viewport_size({"width": width, "height": 844})
        self.page.emulate_media(media=media, color_scheme=scheme)


def written(report: ReportModel, folder: Path) -> str:
    """The address of a debate's page."""
    (folder / "report.html").write_text(render(report), encoding="utf-8")
    return (folder / "report.html").as_uri()


def story_of(name: str) -> ReportModel:
    if name in MADE:
        return MADE[name]()
    return build_report(read(resources.folder("examples") / name / f"debate-report{JOURNAL}").entries)


@pytest.fixture(scope="module", params=[*EXAMPLES, *MADE])
def shown(page: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """The page of a debate, opened once for all that is looked at."""
    address = written(story_of(request.param), tmp_path_factory.mktemp("page"))
    with ExitStack() as stack:
        with within(PATIENCE):
            one = stack.enter_context(Shown(page, address))
        yield one


def test_it_asks_for_nothing_and_runs_nothing(shown: Shown) -> None:
    """However it is looked at, nothing but the file is asked for, nothing is complained of, and every link within
    leads somewhere."""
    for looked in ({"scheme": "dark"}, {"media": "print"}, {"width": PHONE}, {}):
        shown.look(**looked)  # type: ignore[arg-type]
    links = shown.page.eval_on_selector_all("a[href^='#']", "all => all.map(a => a.getAttribute('href').slice(1))")
    lost = shown.page.evaluate("ids => ids.filter(id => !document.getElementById(id))", links)
    scripts = shown.page.locator("script, img, iframe, object, link, form").count()

    assert (shown.said, shown.asked, lost, scripts) == ([], [shown.address], [], 0)
    assert links
    assert shown.page.evaluate("getComputedStyle(document.querySelector('.sheet')).maxWidth") != "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(shown: Shown, scheme: str) -> None:
    """At the width of a phone nothing has to be moved sideways, and no text is smaller than can be read."""
    shown.look(width=PHONE, scheme=scheme)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert shown.page.evaluate(_SMALLEST) >= 9


_SMALLEST = """Math.min(...[...document.querySelectorAll('body *:not(svg *)')].filter(one => [...one.childNodes].some(
    node => node.nodeType === 3 && node.data.trim())).map(one => parseFloat(getComputedStyle(one).fontSize)))"""


@pytest.mark.parametrize(
    ("scheme", "media", "is_dark"),
    [("light", "screen", False), ("dark", "screen", True), ("dark", "print", False)],
    ids=("in the light", "in the dark", "printed in the dark"),
)
def test_it_is_dark_where_the_reader_is(shown: Shown, scheme: str, media: str, is_dark: bool) -> None:
    """In the dark the paper is dark and the ink light; on paper it is the other way round all the same."""
    shown.look(scheme=scheme, media=media)
    paper, ink = (
        lightness(shown.page.evaluate(f"getComputedStyle(document.body).{of}")) for of in ("backgroundColor", "color")
    )
    assert (paper < 40 and ink > 180) if is_dark else (paper > 240 and ink < 80)


def lightness(colour: str) -> float:
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def printed(page: Any) -> int:
    """The pages that it takes on paper."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))


def test_it_prints(shown: Shown) -> None:
    """On paper it has all that was said, on about as many pages as its words take, the decision on the first, and none
    of what only helps on a screen. What is folded is there once."""
    shown.look(media="print", width=round(A4_WIDTH))
    ends = shown.page.eval_on_selector_all("#decision", "all => all.map(one => one.getBoundingClientRect().bottom)")
    assert max(ends, default=0) <= A4_HEIGHT
    assert not shown.page.locator("details.fold > summary").locator("visible=true").count()
    words = len(shown.page.inner_text("main").split())
    speeches = shown.page.eval_on_selector_all(".speech", "all => all.map(one => one.getBoundingClientRect().height)")

    assert words / 1200 <= printed(shown.page) <= 5 + words / 1000
    assert all(speeches)
    assert not shown.page.locator(".contents, .skip, .show").locator("visible=true").count()


def test_page_one_is_one_sheet_and_two_rounds_take_twelve_pages_at_most(page: Any, tmp_path: Path) -> None:
    """Page one of every shipped debate fits on one sheet; one of two rounds, whole, takes at most twelve pages."""
    for name in ("friday-deploys", "rust-or-harden", "compulsory-voting"):
        with Shown(page, written(story_of(name), tmp_path)) as shown:
            shown.look(media="print", width=round(A4_WIDTH))
            assert shown.page.eval_on_selector("#decision", "one => one.getBoundingClientRect().bottom") <= A4_HEIGHT
            assert printed(shown.page) <= 12 or name == "rust-or-harden"


@pytest.mark.parametrize(
    ("scheme", "rules"),
    [("light", {}), ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]})],
    ids=("all, in the light", "the colours, in the dark"),
)
def test_it_is_accessible(shown: Shown, scheme: str, rules: dict[str, Any]) -> None:
    """Axe finds nothing of any weight that keeps a person from reading it; in the dark only the colours are others."""
    if not AXE.exists():
        missing(f"axe-core is not installed: `npm install --prefix {AXE.parents[2].name}` in tests/")
    shown.look(scheme=scheme)
    if not shown.page.evaluate("'axe' in window"):
        shown.page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"preload": False, "resultTypes": ["violations"], **rules}
    found = shown.page.evaluate("options => axe.run(document, options)", options)
    looked_for = {one["id"] for kind in ("violations", "passes", "incomplete", "inapplicable") for one in found[kind]}
    bad = [
        (one["id"], one["impact"], [node["target"] for node in one["nodes"][:3]])
        for one in found["violations"]
        if one["impact"] in ("moderate", "serious", "critical")
    ]
    assert bad == []
    assert "color-contrast" in looked_for


def test_the_first_screen_is_one_screen(page: Any, tmp_path: Path) -> None:
    """At 1440 x 900 question, answer, reasons, open claims, what to do and what weakens the result are seen at once;
    above a decision brief, question, answer, how sure and the first cases, and at 1920 x 1080 every case and what to
    do."""
    ends = "all => all.map(one => one.getBoundingClientRect().bottom)"
    for name, width, height, parts in (
        ("panel of three", 1440, 900, "h1, .headline, .score-bar, .brief, .brief > div, .weak"),
        ("postgres-queue", 1440, 900, "h1, .headline, .sure, .check, .cases tr:nth-child(-n + 2)"),
        ("postgres-queue", 1920, 1080, "h1, .headline, .sure, .check, .cases, .next, .next li"),
    ):
        with Shown(page, written(story_of(name), tmp_path)) as shown:
            shown.page.set_viewport_size({"width": width, "height": height})
            assert 0 < max(shown.page.eval_on_selector_all(parts, ends)) <= height


def test_no_name_hides_the_figures_of_its_table(page: Any, tmp_path: Path) -> None:
    """However long a reviewer's name is, what everybody voted is seen without scrolling, on a phone in part."""
    head, *rows = (tuple(map(phrase, row)) for row in (("Who", "Vote", "A", "B"), ("W" * 80, "A", "7.25", "6.5")))
    table = HtmlWriter({}).table(PhraseTable(head, tuple(rows)), "Votes")
    (tmp_path / "table.html").write_text(f"<!doctype html><style>{style()}</style><main>{table}", encoding="utf-8")
    with Shown(page, (tmp_path / "table.html").as_uri()) as shown:
        for width in (PHONE, DESKTOP):
            shown.look(width=width)
            cells = shown.page.eval_on_selector_all("td", "all => all.map(one => one.getBoundingClientRect().right)")
            assert max(cells) <= width


def test_turns_fold_and_are_filtered_without_a_script(page: Any, tmp_path: Path) -> None:
    """A turn opens to all of its speech, all do by one choice, and one side's can be shown alone; the contents mark the
    section in view."""
    high = "one => one.getBoundingClientRect().height"
    with Shown(page, written(story_of("postgres-queue"), tmp_path)) as shown:
        turns = [shown.page.locator(f"[id='t-1.opening.{side}']") for side in "ab"]
        folded = turns[0].evaluate(high)
        shown.page.check("#who-a")
        shown.page.check("#whole")
        assert turns[0].evaluate(high) > 2 * folded > 0 == turns[1].evaluate(high)
        weight = "one => getComputedStyle(one).fontWeight"
        assert shown.page.locator(".contents a[href='#decision']").evaluate(weight) == "400"
        shown.page.evaluate("scrollTo(0, 0)")
        shown.page.wait_for_timeout(100)
        assert shown.page.locator(".contents a[href='#decision']").evaluate(weight) == "700"


def test_it_goes_by_keys(page: Any, tmp_path: Path) -> None:
    """The first key leads past the head of the page, and what has the focus is seen to have it."""
    with Shown(page, written(adversarial(rounds=1), tmp_path)) as shown:
        shown.page.keyboard.press("Tab")
        assert shown.page.evaluate("document.activeElement.textContent") == "Skip to the decision"
        assert shown.page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
        assert shown.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        shown.page.keyboard.press("Enter")
        assert shown.page.url.endswith("#decision")


def test_hostile_speech_does_not_take_it_over(page: Any, tmp_path: Path) -> None:
    """With all seats hostile at once nothing runs or is fetched, no place is forged, and it still fits a phone."""
    texts = [text for kind in (HTML, LINKS, HEADINGS, FENCES, TABLES, OTHERS) for text in kind]
    whole = "\n\n".join(texts)
    report = adversarial(hostile_script(whole, rounds=1), rounds=1, topic=whole, positions=(whole, whole))
    with Shown(page, written(report, tmp_path)) as shown:
        shown.look(width=PHONE)
        shown.page.wait_for_timeout(200)
        ids = shown.page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")

        assert (shown.said, shown.asked) == ([], [shown.address])
        assert len(ids) == len(set(ids))
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE
        assert shown.page.locator(".speech :is(h1, h2, h3, h4, script, img, style, svg, [id], [style])").count() == 0
