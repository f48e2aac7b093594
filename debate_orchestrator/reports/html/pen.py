"""Writes phrases, tables and structured replies in HTML."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from urllib.parse import quote

from markupsafe import Markup, escape

from debate_orchestrator.reports import pages
from debate_orchestrator.reports.fields import Part
from debate_orchestrator.reports.html import speech
from debate_orchestrator.reports.phrases import Phrase, Run, literal
from debate_orchestrator.reports.tables import Sheet, Table

_SAFE = "/:?=&%@+,~$-._#;!*()[]'"
"""What stays as it is in an address: everything else is written as percent signs and digits."""


def anchor(turn_id: str) -> str:
    """The id of a turn on the page: `t-1.opening.a`."""
    return f"t-{re.sub(r'[^a-z0-9.-]', '-', turn_id)}"


class Pen:
    """Writes for one page, on which the turns in `places` can be linked: turn id to its round and its name there."""

    def __init__(self, places: Mapping[str, tuple[int, str]], told: Collection[str]):
        self._places, self._told = places, frozenset(told)

    def line(self, said: Phrase) -> Markup:
        """A phrase on its line."""
        made = Markup()
        for strong, runs in groupby(said, key=lambda run: run.strong):
            text = Markup().join(map(self._run, runs))
            made += Markup("<strong>{}</strong>").format(text) if strong else text
        return made

    def _run(self, run: Run) -> Markup:
        match run.kind:
            case "turn":
                return self.turn(run.text)
            case "page":
                return self._page(run.text, run.text)
            case "found":
                host = pages.host_of(run.to)
                linked = self._page(run.to, run.text[: pages.LONGEST])
                return linked + f" ({host})" if host and run.text else linked
            case "prose" | "cell":
                said = speech.line(run.text)
            case "own":
                said = escape(run.text)
            case _:
                said = speech.literal(run.text)
        return self.to(run.to, said) if run.to else said

    def _page(self, url: str, title: str) -> Markup:
        shown = speech.literal(title) or speech.literal(url[: pages.LONGEST]) or escape("a page without an address")
        if pages.host_of(url) is None:
            return shown[: pages.LONGEST] if title == url else shown
        address = quote(url, safe=_SAFE, errors="replace")
        whole = Markup(' class="whole"') if title == url else ""
        return Markup('<a href="{}" rel="{}"{}>{}</a>').format(address, speech.REL, whole, shown)

    def turn(self, turn_id: str, *, within: bool = False) -> Markup:
        """A link to a turn: `round 1, opening A`; without its round where that is told already."""
        round, name = self._places.get(turn_id, (0, turn_id))
        return self.to(turn_id, escape(f"round {round}, {name}" if round and not within else name))

    def to(self, turn_id: str, said: str) -> Markup:
        """Words that lead to a turn, if it is on the page."""
        if turn_id not in self._told:
            return escape(said)
        return Markup('<a href="#{}">{}</a>').format(anchor(turn_id), said)

    def turns(self, turn_ids: Sequence[str]) -> Markup:
        """Links to turns, by round: `round 1: opening A, challenge B; round 2: ...`."""
        made = []
        for round, ids in groupby(sorted(turn_ids, key=self._round), key=self._round):
            links = Markup(", ").join(self.turn(one, within=True) for one in dict.fromkeys(ids))
            made.append(Markup("round {}: {}").format(round, links) if round else links)
        return Markup("; ").join(made)

    def _round(self, turn_id: str) -> int:
        return self._places.get(turn_id, (0, ""))[0]

    def table(self, table: Table, caption: str, *, unseen: bool = False) -> Markup:
        """A table that scrolls by itself where it is too wide. Its first column names the rows."""
        heads = Markup().join(Markup('<th scope="col">{}</th>').format(self.line(head)) for head in table.heads)
        rows = Markup("\n").join(self._row(row) for row in table.rows)
        hidden = Markup(' class="unseen"') if unseen else ""
        return Markup(
            '<div class="wide" role="group" aria-label="{1}" tabindex="0"><table>\n<caption{0}>{1}</caption>\n'
            "<thead><tr>{2}</tr></thead>\n<tbody>\n{3}\n</tbody>\n</table></div>"
        ).format(hidden, caption, heads, rows)

    def sheet(self, given: Sheet, caption: str) -> Markup:
        """The same of plain text as it was given."""
        rows = tuple(tuple(map(literal, row)) for row in given.rows)
        return self.table(Table(tuple(map(literal, given.heads)), rows), caption)

    def _row(self, row: Sequence[Phrase]) -> Markup:
        first, *rest = row
        cells = Markup().join(Markup("<td>{}</td>").format(self.line(cell)) for cell in rest)
        return Markup('<tr><th scope="row">{}</th>{}</tr>').format(self.line(first), cells)

    def cards(self, table: Table) -> Markup:
        """A table whose cells are long, as a list: each row under its first cell, the others by their heads."""
        made = Markup()
        for first, *rest in table.rows:
            cells = [(head, cell) for head, cell in zip(table.heads[1:], rest, strict=True) if cell]
            given = Markup().join(
                Markup("<div><dt>{}</dt><dd>{}</dd></div>\n").format(self.line(head), self.line(cell))
                for head, cell in cells
            )
            title = Markup("<p><strong>{}</strong></p>").format(self.line(first))
            made += Markup('<li>{}\n<dl class="particulars">\n{}</dl></li>\n').format(title, given)
        return Markup('<ul class="cards">\n{}</ul>').format(made)

    def block(self, parts: Iterable[Part], quotes: tuple[str, str] | None = None) -> Markup:
        """A speech in fields, as paragraphs, quotes, lists and the speech itself."""
        return Markup("\n").join(self._part(part, quotes) for part in parts)

    def _part(self, part: Part, quotes: tuple[str, str] | None) -> Markup:
        if part.kind == "speech":
            return speech.block(part.text, quotes)
        if part.kind == "quote":
            return Markup("<blockquote><p>{}</p></blockquote>").format(self.line(part.said))
        tag = "div" if part.kind == "list" else "p"
        return Markup("<{0}>{1}</{0}>").format(tag, self._point(part))

    def points(self, parts: Iterable[Part]) -> Markup:
        """The fields of a judge's reply, as the items of a list."""
        return Markup("\n").join(Markup("<li>{}</li>").format(self._point(part)) for part in parts)

    def _point(self, part: Part) -> Markup:
        named = Markup("<strong>{}:</strong> ").format(speech.literal(part.label))
        return named + (self.items(part.items) if part.kind == "list" else self.line(part.said))

    def items(self, said: Iterable[Phrase]) -> Markup:
        """Lines as a list."""
        made = Markup().join(Markup("<li>{}</li>").format(self.line(one)) for one in said)
        return Markup("<ul>{}</ul>").format(made)
