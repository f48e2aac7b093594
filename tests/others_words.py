"""Puts a mark of its own into each text of a debate that others wrote, and finds the marks that stand among the words
of the program: unquoted on a line or in a cell in which the program says something too."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from html.parser import HTMLParser
from itertools import count
from typing import Any

from core.folding import plainest_reply
from page_reading import VOID

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import (
    Declined,
    Event,
    IssuesChanged,
    Opened,
    QuestionAsked,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.shape import Field, Shape, ShapeContext, applies, names_turns
from debate_orchestrator.core.state import DebateState

MARK = "Zq{n}. Zq{n}: zq{n} (zq{n}). Zq{n} 2: zq{n}"
"""Sentences of no word of the program's, in the form of a finding."""
_MARKED = re.compile(r"zq\d+", re.IGNORECASE)
_QUOTED = re.compile(r"“[^“”]*”|`[^`]*`")
_SAID = re.compile(r"[^\W\d_]{2,}")
"""A word of the program's, once the marks are taken out."""
_TITLE = re.compile(r"(.*\*[^*]*[:.)]\W*|\W*(\w+\W+){0,4})")
"""What may lead to a text that fills the rest of its line: a title in bold or italics, or a name of a few words."""


class Marks:
    """A mark for each text, with the place that it was put into."""

    def __init__(self) -> None:
        self.places: dict[int, str] = {}
        self._numbers = count(10)
        self.model = self.new("model")
        """All replies have the same, so that judges share it with sides."""

    def new(self, place: str) -> str:
        self.places[n := next(self._numbers)] = place
        return MARK.format(n=n)

    def of_sides(self, *sides: str) -> set[int]:
        """The numbers of the marks in speeches."""
        return {n for n, place in self.places.items() if any(f".{side}." in place for side in sides)}

    def in_shape(self, place: str, shape: Shape, context: ShapeContext, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a reply with a mark in each text that is free, and an item in each list of texts or records."""
        self.context, marked = context, dict(fields)
        for name in [name for name in fields if name in shape and applies(shape[name], fields)]:
            marked[name] = self._in_field(f"{place}.{name}", shape[name], fields[name])
        return marked

    def _in_field(self, place: str, field: Field, value: Any) -> Any:
        if value is None and field.kind not in ("text", "object"):
            return value
        if not value and field.kind in ("list", "object") and (self.context.turns or not names_turns(field.fields)):
            item = plainest_reply(field.fields, self.context)
            value = [item] if field.kind == "list" else item
        if (field.per_side or field.per_issue) and isinstance(value, dict):
            return {key: self._in_field(place, field.single, one) for key, one in value.items()}
        match field.kind:
            case "text":
                return self.new(place)
            case "list" if field.fields:
                return [self.in_shape(place, field.fields, self.context, item) for item in value]
            case "list":
                return [self.new(place) for _ in value]
            case "object":
                return self.in_shape(place, field.fields, self.context, value)
        return value


def marked(events: list[Event]) -> tuple[list[Event], Marks]:
    """The events of a debate with a mark in each text that is not the program's."""
    debate, marks = fold(events), Marks()
    return [_marked(event, debate, marks) for event in events], marks


def _marked(event: Event, debate: DebateState, marks: Marks) -> Event:
    changes: dict[str, Any] = {}
    if isinstance(event, Opened):
        return _marked_opening(event, marks)
    if isinstance(event, QuestionAsked):
        changes = {"question": marks.new("question")}
    if isinstance(event, IssuesChanged):
        changes = {"issues": tuple(marks.new("issue") for _ in event.issues)}
    if isinstance(event, Spoke | Declined | StructuredReplyGiven):
        reply = event.reply.model_copy(update={"model": marks.model})
        pages = tuple(
            page.model_copy(update={"title": marks.new("page title"), "quote": marks.new("page quote")})
            for page in reply.found_pages
        )
        changes = {"reply": reply.model_copy(update={"found_pages": pages})}
        if isinstance(event, Spoke):
            changes["reply"] = changes["reply"].model_copy(update={"text": marks.new(f"{event.turn_id}.text")})
        if isinstance(event, StructuredReplyGiven):
            turn = schedule.turn(debate, event.turn_id)
            shape, context = debate.shape(turn) or {}, schedule.shape_context(debate, turn, with_turns=True)
            changes["data"] = marks.in_shape(event.turn_id, shape, context, event.data)
    return event.model_copy(update=changes)


def _marked_opening(opened: Opened, marks: Marks) -> Opened:
    settings = opened.settings
    files = tuple(file.model_copy(update={"name": marks.new("file name")}) for file in opened.context)
    changes: dict[str, Any] = {"context": files}
    if earlier := opened.earlier_debate:
        named = {name: {side: marks.new(name) for side in getattr(earlier, name)} for name in ("speakers",)}
        former = {side: tuple(marks.new("former") for _ in names) for side, names in earlier.former_speakers.items()}
        several = {name: tuple(marks.new(name) for _ in getattr(earlier, name)) for name in ("notes", "judges")}
        changes["earlier_debate"] = earlier.model_copy(
            update={**named, **several, "former_speakers": former, "source": marks.new("source")}
        )
    positions = {side: marks.new(f"position {side}") for side in settings.positions}
    issues = tuple(marks.new("own issue") for _ in settings.own_issues) if settings.own_issues else settings.issues
    return opened.model_copy(update=changes).with_settings(topic=marks.new("topic"), positions=positions, issues=issues)


def among_own_words(line: str) -> bool:
    """Whether a line has a mark outside of quotation marks and code, with words of the program after it, or a sentence
    of the program's before it."""
    line = _QUOTED.sub("“”", line)
    found = _MARKED.search(line)
    if found is None:
        return False
    before, after = line[: found.start()], line[found.start() :]
    return bool(_SAID.search(_MARKED.sub("", after))) or not _TITLE.fullmatch(before)


def _has_any(numbers: Collection[int], line: str) -> bool:
    return any(int(mark[2:]) in numbers for mark in _MARKED.findall(_QUOTED.sub("", line)))


def in_markdown(text: str, framed: Collection[int] = ()) -> Iterator[str]:
    """The lines, and the cells of tables, with a mark among the program's words, or with one of the numbers of `framed`
    outside of quotations."""
    text = text.replace("\\", "").replace("\u2060", "")
    for line in text.split("\n"):
        if line.startswith(">"):
            continue
        unlinked = re.sub(r"\]\(#[^)]*\)", "]", line)
        cells = re.split(r" ?\| ?", unlinked) if line.startswith("|") else [unlinked]
        yield from [cell for cell in cells if among_own_words(cell) or _has_any(framed, cell)]


_NOT_IN_LINES = """
title div p h1 h2 h3 h4 dt dd dl ul ol li figcaption caption th td tr table summary article section header footer nav
main details blockquote pre fieldset figure small
"""
_BLOCKS = frozenset(_NOT_IN_LINES.split())
_FRAMES = {"words", "more-hint", "by", "badge"}
_WHOLE = {"style", "title", "code", "pre", "blockquote"}
"""Classes, and elements, of which no word is on a line of the page."""
_TITLES = {"strong", "em"}


class _Lines(HTMLParser):
    """The lines of a page outside of frames. A title ends in an asterisk, and the number of a mark is 0 in the
    line that shows how a folded turn begins."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines = [""]
        self.open: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._pass(tag)
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass
        self._pass(tag)

    def _pass(self, tag: str) -> None:
        self.lines[-1] += "*" * (tag in _TITLES)
        self.lines += [""] * (tag in _BLOCKS)

    def handle_data(self, data: str) -> None:
        if not any(tag in _WHOLE or not _FRAMES.isdisjoint(kind.split()) for tag, kind in self.open):
            begins_turn = ("span", "line") in self.open
            self.lines[-1] += (_MARKED.sub("zq0", data) if begins_turn else data).replace("\n", " ")


def in_html(text: str, framed: Collection[int] = ()) -> Iterator[str]:
    """The same of a page."""
    reader = _Lines()
    reader.feed(text)
    yield from [line for line in map(str.strip, reader.lines) if among_own_words(line) or _has_any(framed, line)]


def in_json(value: Any, place: str = "") -> Iterator[str]:
    """The texts of a report for programs in which a mark is among the program's words, each with its place."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from in_json(one, f"{place}.{name}") if name != "speakers" else ()  # `X, then Y`
    elif isinstance(value, list):
        for one in value:
            yield from in_json(one, f"{place}[]")
    elif isinstance(value, str) and among_own_words(value):
        yield f"{place}: {value}"
