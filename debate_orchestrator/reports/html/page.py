"""The report as one HTML page: a fixed structure, rendered from a report model alone, with its style and a policy that
lets nothing else in."""

from __future__ import annotations

from base64 import b64encode
from functools import cache, partial
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from debate_orchestrator.core.phases import NO_DECISION, fill_label
from debate_orchestrator.reports import brief, markup, reviewers, sections, verdict_text, wording
from debate_orchestrator.reports.html import figures
from debate_orchestrator.reports.html.excerpts import opening, shortened
from debate_orchestrator.reports.html.writer import HtmlWriter, anchor, literal_html
from debate_orchestrator.reports.markdown import SHOWN, SHOWN_LAST
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import TurnReport
from debate_orchestrator.reports.provenance import COMPLETE, PROMPTS_CHANGED
from debate_orchestrator.reports.rich_text import FieldText, Phrase
from debate_orchestrator.reports.sections import AFTER, BEFORE
from debate_orchestrator.util.numbers import decimals
from debate_orchestrator.util.sanitize import one_line

_MOST, _NEXT = 1600, 320
"""Characters of a judge's reasons at the head of the page, and of what it recommends: all of both is further down."""
_MOVED = (COMPLETE, PROMPTS_CHANGED)
"""Kinds of notes that stand elsewhere: in the state of the debate, and in the appendix."""
_STATED = ("Winner", "Answer", "Label")
"""Fields that the statement above them says already."""
_REASONS = ("justification", "reasons", "summary", "why")
"""The fields of a final ballot that say why, the first of which stands at the head of the page."""


def render(report: ReportModel) -> str:
    """The whole page, or the bare transcript where the format has no other report, ending in a newline."""
    writer = HtmlWriter(report.places, [turn.id for turn in report.turns], report.judging.quotes)
    fields = FieldText(report.seats)
    elsewhere = {"sources"} if report.evidence is not None else set()
    values: dict[str, Any] = {
        "report": report,
        "writer": writer,
        "title": shortened(one_line(report.topic)) or "Debate",
        "style": _style(),
        "digest": _digest(),
        "both": verdict_text.both_sides(report),
        "structured": partial(_structured, report, fields, writer),
        "listed": lambda turn: writer.points(fields.points(turn.shape, turn.fields, SHOWN | elsewhere)),
        "listed_last": lambda turn: writer.points(fields.points(turn.shape, turn.fields, SHOWN_LAST | elsewhere)),
        "reading": lambda turn: wording.reading_line(turn.reading, report.judging.scales),
        "cited": lambda turn: writer.line(markup.cited(turn.pages)),
        "spoken": lambda turn: writer.speech(turn.text).html,
        "ties": {link.turn: link for link in report.links},
        "weak": [note for note in report.notes if note.severity == "warning"],
        "made": [note for note in report.notes if note.severity == "info" and note.kind not in _MOVED],
        "changed": [note for note in report.notes if note.kind == PROMPTS_CHANGED],
        "before": BEFORE,
        "filled": fill_label,
        "after": AFTER,
    }
    if not report.bare:
        values |= _report(report, fields, writer)
    text = _environment().get_template("transcript.html.j2" if report.bare else "report.html.j2").render(values)
    return text.strip("\n") + "\n"


def _report(report: ReportModel, fields: FieldText, writer: HtmlWriter) -> dict[str, Any]:
    """What a report has beside the transcript."""
    outcome = verdict_text.outcome(report)
    decided = tuple(run._replace(strong=False) for run in outcome if run.strong)
    return {
        "marked": brief.MARKED,
        "result_line": verdict_text.result_line(report),
        "headline": verdict_text.headline(report),
        "facts": [one for one in verdict_text.headline(report) if one[0] not in _stated(report)] if decided else [],
        "decided": _trimmed(decided),
        "outcome": _opened(tuple(run for run in outcome if not run.strong)),
        "deciding": _deciding(report),
        "next": _next(report),
        "remarks": verdict_text.remarks(report),
        "worked_out": verdict_text.worked_out(report),
        "summary": verdict_text.summary(report),
        "judged": sections.judging_text(report, fields),
        "evidence": sections.evidence_text(report),
        "costs": sections.cost_table(report),
        "earlier": verdict_text.earlier_verdict(report),
        "reviewers_note": reviewers.NOTE,
        "flow": figures.flow(report, writer, BEFORE, AFTER),
        "chart": figures.chart(report),
        "gauge": figures.gauge(report),
    }


def _stated(report: ReportModel) -> tuple[str, ...]:
    """The fields that need not stand below the statement: those it says already, and a strength that says nothing,
    since neither side won or no side was scored."""
    idle = report.verdict is not None and (report.verdict.strength is None or not report.scored)
    return (*_STATED, "Strength") if idle else _STATED


def _trimmed(said: Phrase) -> Phrase:
    """A statement without the mark that leads on to the rest of its sentence."""
    return (*said[:-1], said[-1]._replace(text=said[-1].text.rstrip(":."))) if said else ()


def _opened(said: Phrase) -> Phrase:
    """The rest of a sentence as one of its own."""
    if not said:
        return ()
    first = said[0].text.lstrip(" ,:.")
    return (said[0]._replace(text=first[:1].upper() + first[1:]), *said[1:])


def _deciding(report: ReportModel) -> list[tuple[TurnReport, str, int]]:
    """Why a single judge decided, in its own words: its final ballot on the debate as it was, the beginning of the
    reasons it gives there, and how many words follow. Nothing where nothing was decided, or a panel decided."""
    found = []
    if report.verdict is None or (report.verdict.winner == NO_DECISION and not report.verdict.label):
        return []
    for turn in report.finals:
        ballot = turn.fields or {}
        why = next((str(ballot[name]) for name in _REASONS if isinstance(ballot.get(name), str)), "")
        if why and not turn.mirrored:
            found.append((turn, *opening(why, _MOST)))
    return found if len(found) == 1 else []


def _next(report: ReportModel) -> tuple[str, int]:
    """What to do next: the first two sentences of the first recommendation, and how many words of it follow. Nothing
    where nothing is recommended."""
    advice = [one.fields.get("follow_up") for one in report.finals if one.fields and not one.mirrored]
    first = next((one for one in advice if isinstance(one, str) and one.strip()), "")
    return opening(first, _NEXT, sentences=2)


def _structured(report: ReportModel, fields: FieldText, writer: HtmlWriter, turn: TurnReport) -> Markup:
    """A speech in fields, or what a clerk found."""
    assert turn.fields is not None
    if sections.has_findings(turn):
        found = sections.findings(turn, report, fields)
        return writer.items(found) if found else Markup("<p>{}</p>").format(sections.NOTHING)
    return writer.block(fields.block(turn.shape, turn.fields))


@pass_context
def _line(context: Context, text: str) -> Markup:
    writer: HtmlWriter = context["writer"]
    return writer.prose(text)


@pass_context
def _reasons(context: Context, text: str) -> Markup:
    writer: HtmlWriter = context["writer"]
    return writer.reasons(text)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("debate_orchestrator", "reports/html"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "anchor": anchor,
        "line": _line,
        "literal": literal_html,
        "reasons": _reasons,
        "points": decimals,
        "mark": lambda value: f"{value:g}",
        "winner": wording.winner_word,
        "many": lambda n: f"{n:,}",
    }
    environment.tests["phase"] = lambda row: isinstance(row, figures.FlowRow)
    return environment


@cache
def _style() -> Markup:
    """The style of every page."""
    environment = _environment()
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, "page.css")[0])


@cache
def _digest() -> str:
    """What the page's policy knows its style by."""
    return b64encode(sha256(_style().encode()).digest()).decode()
