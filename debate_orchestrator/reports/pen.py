"""Writes phrases, tables and structured replies in markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from debate_orchestrator.reports import markup, pages
from debate_orchestrator.reports.fields import Part
from debate_orchestrator.reports.phrases import Phrase, Run
from debate_orchestrator.reports.tables import Table


class Pen:
    """Writes for one report; `link` makes a turn's id a link to it."""

    def __init__(self, link: Callable[[str], str]):
        self._link = link

    def line(self, said: Phrase) -> str:
        """A phrase, wherever phrases of its kinds may stand."""
        made = []
        for strong, runs in groupby(said, key=lambda run: run.strong):
            text = "".join(map(self._run, runs))
            made.append(f"**{text}**" if strong else text)
        return "".join(made)

    def _run(self, run: Run) -> str:
        match run.kind:
            case "literal":
                return markup.literal(run.text)
            case "plain":
                return markup.plain(run.text)
            case "prose":
                return markup.prose(run.text)
            case "cell":
                return markup.cell(run.text)
            case "turn":
                return self._link(run.text)
            case "page":
                return pages.address(run.text)
            case "found":
                return pages.link(run.to, run.text)
        return run.text

    def table(self, table: Table, rule: Sequence[str] = ()) -> str:
        """A table; `rule` stands below its heads, cell for cell."""
        rows = [[self.line(cell) for cell in cells] for cells in (table.heads, *table.rows)]
        lines = [" | ".join(cells) for cells in rows]
        below = f"|{'|'.join(rule)}|" if rule else f"| {' | '.join(['---'] * len(table.heads))} |"
        return "\n".join([f"| {lines[0]} |", below, *(f"| {line} |" for line in lines[1:])])

    def block(self, parts: Iterable[Part]) -> str:
        """A speech in fields, as paragraphs, quotes, lists and the speech itself."""
        return "\n\n".join(map(self._part, parts))

    def _part(self, part: Part) -> str:
        if part.kind == "speech":
            return markup.block(part.text)
        if part.kind == "quote":
            return f"> {self.line(part.said)}"
        named = f"**{markup.literal(part.label)}:**"
        if part.kind == "list":
            return "\n".join([f"{named}\n", *(f"- {self.line(item)}" for item in part.items)])
        return f"{named} {self.line(part.said)}"

    def points(self, parts: Iterable[Part]) -> list[str]:
        """The fields of a judge's reply, as the lines of a list."""
        made = []
        for part in parts:
            named = f"- **{markup.literal(part.label)}:**"
            if part.kind == "list":
                made += [named, *(f"  - {self.line(item)}" for item in part.items)]
            else:
                made.append(f"{named} {self.line(part.said)}")
        return made
