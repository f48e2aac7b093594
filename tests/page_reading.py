"""Reads a page of HTML: its outline, its landmarks, its ids and links, and what could run, load or style anything."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple

_ELEMENTS = """
html head meta title style body a div header p span time h1 h2 h3 h4 dl dt dd strong em s small ul ol li nav main
section figure figcaption svg line text circle rect pattern defs desc blockquote table caption thead tbody tfoot
tr th td article footer code pre q br details summary fieldset legend input label
"""
_ATTRIBUTES = """
lang class charset name content http-equiv href id datetime rel aria-label aria-labelledby aria-hidden tabindex role
scope colspan title value viewbox xmlns x x1 x2 y y1 y2 cx cy r width height fill text-anchor patternunits
patterntransform property type name checked for preserveaspectratio
"""
VOID = {"meta", "br", "line", "rect", "circle", "hr", "img", "input", "link"}
ALLOWED, ATTRIBUTES = set(_ELEMENTS.split()), set(_ATTRIBUTES.split())
OF_SPEECH = {("p", "headed"), ("p", "ruled"), ("span", "code-name"), ("pre", "whole"), ("a", "whole"), ("div", "words")}
OF_WORDS = {("details", "fold"), ("div", "all"), ("p", "settle"), ("a", "number")}
OF_WORDS |= {("span", "line"), ("span", "more-hint")}
"""Elements, with their class, that whatever is said in paragraphs may be made of;
what long texts are folded into, and open questions, which are listed once each and linked by their wording."""
TABLE = "Table"
"""The label of a table in a speech."""
LANDMARKS = {"main", "nav", "header", "footer", "section", "article", "aside", "form", "search"}


class Page(NamedTuple):
    """What a page has."""

    outline: list[tuple[str, str]]
    """Every heading with its words."""
    landmarks: list[tuple[str, str]]
    """Every landmark with its id or label."""
    ids: list[str]
    links: list[str]
    """The addresses of all links."""
    text: str
    """All that is shown."""
    odd: list[str]
    """Elements and attributes that no page has, elements that are not closed, and links that lead where none may."""
    classes: list[tuple[str, str]]
    """Every element that has a class, with it, but what speech is made of."""
    labels: list[tuple[str, str]]
    """Every element that has a label which is not shown, with it, but tables of speech."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page([], [], [], [], "", [], [], [])
        self.open: list[tuple[str, str]] = []
        self.said: list[str] = []
        self.heading: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in ALLOWED or set(given) - ATTRIBUTES:
            self.page.odd.append(f"{tag} {sorted(set(given) - ATTRIBUTES)}")
        if "id" in given:
            self.page.ids.append(given["id"])
        if "href" in given:
            self.page.links.append(given["href"])
            if not given["href"].startswith(("#", "http://", "https://")):
                self.page.odd.append(f"link to {given['href']}")
            if given["href"].startswith("http") and given.get("rel") != "nofollow noopener noreferrer":
                self.page.odd.append(f"rel of {given['href']}")
        if tag in LANDMARKS:
            self.page.landmarks.append((tag, given.get("id") or given.get("aria-labelledby") or given.get("class", "")))
        if tag in ("h1", "h2", "h3", "h4"):
            self.heading = []
        self._own(tag, given)
        if tag not in VOID:
            self.open.append((tag, given.get("class", "")))

    def _own(self, tag: str, given: dict[str, str]) -> None:
        label, kind = given.get("aria-label"), given.get("class")
        if label == TABLE:
            return
        if label is not None:
            self.page.labels.append((tag, label))
        within = any("speech" in kind.split() for _, kind in self.open)
        if kind is not None and not within and (tag, kind) not in OF_SPEECH | OF_WORDS:
            self.page.classes.append((tag, kind))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open[-1][0] != tag:
            self.page.odd.append(f"</{tag}> in {self.open[-1:]}")
            return
        self.open.pop()
        if self.heading is not None and tag in ("h1", "h2", "h3", "h4"):
            self.page.outline.append((tag, " ".join("".join(self.heading).split())))
            self.heading = None

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] == "style":
            return
        self.said.append(data)
        if self.heading is not None:
            self.heading.append(data)

    def handle_comment(self, data: str) -> None:
        self.page.odd.append(f"comment {data[:20]}")

    def handle_decl(self, decl: str) -> None:
        if decl.lower() != "doctype html":
            self.page.odd.append(f"declaration {decl}")

    def handle_pi(self, data: str) -> None:
        self.page.odd.append(f"instruction {data[:20]}")

    def unknown_decl(self, data: str) -> None:
        self.page.odd.append(f"section {data[:20]}")


def read(html: str) -> Page:
    """What a page has."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    if reader.open:
        reader.page.odd.append(f"open: {reader.open}")
    return reader.page._replace(text="".join(reader.said))
