"""The report as markdown: a fixed structure, rendered from a report alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.visible_text import with_quotation_marks
from debate_orchestrator.reports import compare, report_sections, safe_markdown, verdict_text, wording
from debate_orchestrator.reports.compare import Comparison
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import TurnReport
from debate_orchestrator.reports.rich_text import FieldPart, Phrase, PhraseTable, Section, Span
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.numbers import decimals

BEFORE, AFTER = "Before Round 1", "After the Last Round"
REVIEW_PREFIX = "# Debate to Be Reviewed"
"""The beginning of the debate as reviewers read it."""
COMPARISON_PREFIX = "# Debate Comparison"


def render(report: ReportModel) -> str:
    """The whole report, or the bare transcript where the format has no other report, ending in a newline."""
    return _render_template(report, "transcript.md.j2" if report.transcript_only else "report.md.j2")


def render_for_review(report: ReportModel) -> str:
    """The transcript and the judges' files for a reviewer, without votes, scores, verdict and names of models."""
    values = {"speeches": speeches_for_review(report), "context_files": list(report_sections.judges_files(report))}
    return _render_template(report, "for_review.md.j2", title=Markup(REVIEW_PREFIX), **values)


def render_comparison(comparison: Comparison) -> str:
    """Some debates side by side."""
    values = {
        "comparison": comparison,
        "sections": compare.sections(comparison),
        "title": Markup(COMPARISON_PREFIX),
        "note": compare.NOTE,
        "writer": MarkdownWriter(str),
    }
    return _end_with_newline(_environment().get_template("comparison.md.j2").render(values))


def _end_with_newline(text: str) -> str:
    return text.strip("\n") + "\n"


def speeches_for_review(report: ReportModel) -> list[tuple[str, list[TurnReport]]]:
    """Headings with their turns for a reviewer, but for judges' and the decision brief's: judges see no advice."""
    rounds = [
        (f"Round {round_report.number}", (*round_report.speeches, *round_report.intervention_speeches))
        for round_report in report.rounds
    ]
    parts = [(BEFORE, report.before), *rounds, (AFTER, report.after)]
    entries = [
        (name, [turn for turn in turns if not (turn.of_decision_brief or turn.seat.startswith(JUDGE))])
        for name, turns in parts
    ]
    return [(name, turns) for name, turns in entries if turns]


def _render_template(report: ReportModel, template: str, **more: Any) -> str:
    writer = MarkdownWriter(partial(_link, report), report.rules.checked_tags)
    values = report_sections.template_values(report, writer)
    if not report.transcript_only:
        values |= {
            "decision_brief": report.shown_decision_brief,
            "is_filler": bool(report.why_nothing_decided),
            "contents": Markup(_CONTENTS),
            "verdict_lines": verdict_text.verdict_lines(report),
            "summary": _summary(report, writer),
            "before": BEFORE,
            "after": AFTER,
        }
    text = _environment().get_template(template).render(values | more)
    return _end_with_newline(_with_contents(_lead_to_headings(report, text)))


def html_text(text: str) -> Markup:
    """A text as HTML in which every character is shown as itself."""
    return escape(sanitize.sanitize(text))


def markdown_text(text: str) -> Markup:
    """The same as markdown."""
    return Markup(safe_markdown.escape_part(text))


def template_environment(
    folder: str, filters: Mapping[str, Any], as_text: Callable[[str], Markup] = html_text
) -> Environment:
    """The templates of a folder of the package, with filters of their own. Every value that they print goes through
    `as_text`, except `Markup`: text that is already in the language of the template, HTML or markdown."""

    def show_value(value: Any) -> Markup:
        return value if isinstance(value, Markup) else as_text(str(value))

    environment = Environment(
        loader=PackageLoader("debate_orchestrator", folder),
        undefined=StrictUndefined,
        auto_reload=False,  # else each use of a macro asks the file system for the time of its file
        autoescape=True,  # what macros and blocks make is Markup
        finalize=show_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment


@cache
def _environment() -> Environment:
    filters: dict[str, Callable[..., Any]] = {
        "quote_speech": lambda text: Markup(safe_markdown.quote_speech(text)),
        "quote_line": lambda text: Markup(f"> {line}" if (line := safe_markdown.inline_markdown(text)) else ""),
        "escaped": lambda text: Markup(safe_markdown.escape_line(text)),
        "inline_markdown": lambda text: Markup(safe_markdown.inline_markdown(text)),
        "quoted": lambda text: Markup(safe_markdown.escape_line(sanitize.quoted(sanitize.plain_letters(text)))),
        "decimals": decimals,
        "winner": wording.winner_word,
        "score_line": wording.score_line,
        "joined_by_bars": lambda texts: Markup(" | ").join(map(markdown_text, texts)),
    }
    return template_environment("reports", filters, markdown_text)


def _summary(report: ReportModel, writer: MarkdownWriter) -> Markup:
    """The table of rounds; a rule under each head is as long as the head."""
    table = verdict_text.summary(report)
    headers = [writer.line(header) for header in table.headers]
    return writer.table(table, ["-" * (len(header) + (1 if header.endswith(" Score") else 2)) for header in headers])


_TURN = "\0"
"""The prefix of the fragment of a link to a turn, until the headings are known. No speech holds this character."""


def _link(report: ReportModel, turn: str, text: str = "") -> str:
    """A link to a turn: `round 1, opening A`, or this text."""
    round, name = report.turn_places[turn]
    text = text or (f"round {round}, {name}" if round else name)
    return f"[{safe_markdown.escape_line(text)}](#{_TURN}{turn})"


_CONTENTS = "\0contents"
"""In place of the contents until the headings are known."""


def _with_contents(text: str) -> str:
    """The report with links to its sections, on one line."""
    titles = [line.removeprefix("## ") for line in text.split("\n") if line.startswith("## ")]
    return text.replace(_CONTENTS, " · ".join(f"[{title}](#{safe_markdown.anchor(title, {})})" for title in titles))


def _lead_to_headings(report: ReportModel, text: str) -> str:
    """The report with its links to turns leading to their headings, by the fragments that GitHub gives them. Every line
    that begins with `#` is a heading of the report, since speeches are quoted."""
    counts: dict[str, int] = {}
    titles = [line.lstrip("#").strip() for line in text.split("\n") if line.startswith("#")]
    fragments = [safe_markdown.anchor(title, counts) for title in titles]
    turns, start = dict[str, str](), 0
    for turn in report.turns:
        title = safe_markdown.inline_markdown(turn.heading)
        if title in titles[start:]:
            start = titles.index(title, start) + 1
            turns[turn.id] = fragments[start - 1]
    return re.sub(rf"\(#{_TURN}([^()\s]+)\)", lambda link: f"(#{turns.get(link[1], 'debate-transcript')})", text)


class MarkdownWriter:
    """The `rich_text.Writer` of markdown, for one report; `link` makes a turn's id a link to it, by a text if one is
    given. `checked_tags` are those of quotes that were looked up in the context files; quotation marks take their
    place."""

    def __init__(self, link: Callable[..., str], checked_tags: Sequence[str] = ()):
        self._link, self._checked_tags = link, checked_tags

    def speech(self, text: str) -> Markup:
        return Markup(safe_markdown.quote_speech(with_quotation_marks(text, self._checked_tags)))

    def line(self, phrase: Phrase, *, in_table: bool = False) -> Markup:
        """A phrase, for every place that takes phrases of its kinds."""
        parts: list[str] = []
        for strong, spans in groupby(phrase, key=lambda span: span.strong):
            text = "".join(self._span(span, in_table=in_table) for span in spans)
            parts.append(f"**{text}**" if strong else text)
        return Markup("".join(parts))

    def _span(self, span: Span, *, in_table: bool) -> str:
        match span.kind:
            case "as_written" | "issue":
                return safe_markdown.escape_line(with_quotation_marks(span.text, self._checked_tags))
            case "inline_markdown":
                return safe_markdown.inline_markdown(with_quotation_marks(span.text, self._checked_tags))
            case "quoted":
                plain = sanitize.plain_letters(with_quotation_marks(span.text, self._checked_tags))
                return safe_markdown.escape_line(sanitize.quoted(plain))
            case "turn":
                return self._link(span.target, span.text) if span.target else self._link(span.text)
            case "address":
                return safe_markdown.address(span.text)
            case "page_title":
                return safe_markdown.link(span.target, span.text)
        text = safe_markdown.escape_part(span.text)  # outside of a table a bar is a bar
        return text if in_table else text.replace(r"\|", "|")

    def table(self, table: PhraseTable, rule: Sequence[str] = ()) -> Markup:
        """A table; `rule` is below its headers, cell for cell."""
        headers = "".join(f" {self.line(header, in_table=True)} |" if header else " |" for header in table.headers)
        below = f"|{'|'.join(rule)}|" if rule else f"| {' | '.join(['---'] * len(table.headers))} |"
        rows = (" | ".join(self.line(cell, in_table=True) for cell in row) for row in table.rows)
        return Markup("\n".join([f"|{headers}", below, *(f"| {row} |" for row in rows)]))

    def block(self, parts: Iterable[FieldPart]) -> Markup:
        return Markup("\n\n".join(map(self._part, parts)))

    def _part(self, part: FieldPart) -> str:
        title = f"**{safe_markdown.escape_line(part.title)}:**" if part.title else ""
        if part.kind == "line":
            return f"{title} {self.line(part.phrase)}"
        words = self.speech(part.text) if part.kind == "speech" else f"> {self.line(part.phrase)}"
        if part.kind == "list":
            words = "\n".join(f"> - {self.line(item)}" for item in part.items)
        return f"{title}\n\n{words}" if title else words

    def subsections(self, section: Section) -> Markup:
        blocks: list[str] = []
        for subsection in section.subsections:
            title = f"**{safe_markdown.escape_line(subsection.title)}:**" if subsection.title else ""
            sentences = [*map(self.line, subsection.sentences)]
            if title and sentences and not (subsection.table or subsection.items):
                title, sentences[0] = "", Markup(f"{title} {sentences[0]}")
            blocks += [title] if title else []
            blocks += [self.table(subsection.table)] if subsection.table else []
            blocks += [self.items(subsection.items, numbered=subsection.is_numbered)] if subsection.items else []
            blocks += sentences
        return Markup("\n\n".join(blocks))

    def items(self, phrases: Iterable[Phrase], *, numbered: bool = False) -> Markup:
        lines = enumerate(map(self.line, phrases), start=1)
        return Markup("\n".join(f"{f'{n}.' if numbered else '-'} {line}" for n, line in lines))

    def field_items(self, parts: Iterable[FieldPart]) -> list[Markup]:
        lines = []
        for part in parts:
            title = f"- **{safe_markdown.escape_line(part.title)}:**"
            if part.kind == "list":
                lines += [title, *(f"  - {self.line(item)}" for item in part.items)]
            else:
                lines.append(f"{title} {self.line(part.phrase)}")
        return [Markup(line) for line in lines]
