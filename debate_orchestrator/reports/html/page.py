"""Puts the page together: a fixed structure, rendered from a story alone, with its style and a policy that lets nothing
else in."""

from __future__ import annotations

from base64 import b64encode
from functools import cache, partial
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from debate_orchestrator.core.phases import NO_DECISION, fill_label
from debate_orchestrator.reports import markup, reviewers, sections, verdict_text, wording
from debate_orchestrator.reports.html import charts, writer
from debate_orchestrator.reports.html.flow import Row, flow, opening, shortened
from debate_orchestrator.reports.html.writer import HtmlWriter, anchor
from debate_orchestrator.reports.judging_text import AFTER, BEFORE, judging_text
from debate_orchestrator.reports.markdown import SHOWN, SHOWN_LAST
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.model_turns import TurnReport
from debate_orchestrator.reports.rich_text import FieldText, Phrase
from debate_orchestrator.reports.sections import earlier
from debate_orchestrator.util.numbers import decimals
from debate_orchestrator.util.sanitize import one_line

_WEAK = ("Degraded", "Paused", "Rehearsed", "The real cast", "Recast", "Not had", "This is a judging")
"""How sentences on the making of a debate begin that a reader must not overlook."""
_MOST, _NEXT = 1600, 320
"""Characters of a judge's reasons at the head of the page, and of what it recommends: all of both is further down."""
_LATER = "The prompts changed"
"""How the sentence begins that has its place in the appendix."""
_STATED = ("Winner", "Answer", "Label")
"""Fields that the statement above them says already."""
_REASONS = ("justification", "reasons", "summary", "why")
"""The fields of a final ballot that say why, the first of which stands at the head of the page."""


def render(story: ReportModel) -> str:
    """The whole page, or the bare transcript where the format has that told, ending in a newline."""
    told = [turn.id for turn in story.every] + ([story.dissent.id] if story.dissent else [])
    pen, fields = HtmlWriter(story.places, told), FieldText(story.seats)
    elsewhere = {"sources"} if story.looked_up is not None else set()
    values: dict[str, Any] = {
        "story": story,
        "pen": pen,
        "title": shortened(one_line(story.topic)) or "Debate",
        "style": _style(),
        "digest": _digest(),
        "both": verdict_text.both(story),
        "structured": partial(_structured, story, fields, pen),
        "listed": lambda turn: pen.points(fields.points(turn.shape, turn.ballot, SHOWN | elsewhere)),
        "listed_last": lambda turn: pen.points(fields.points(turn.shape, turn.ballot, SHOWN_LAST | elsewhere)),
        "reading": lambda turn: wording.reading_line(turn.reading, story.judging.scales),
        "cited": lambda turn: pen.line(markup.cited(turn.found)),
        "spoken": lambda turn: writer.block(turn.text, story.judging.quotes),
        "ties": {tie.turn: tie for tie in story.ties},
        "weak": [one for one in story.provenance if one.startswith(_WEAK)],
        "made": [one for one in story.provenance if not one.startswith((*_WEAK, _LATER, "Complete."))],
        "changed": [one for one in story.provenance if one.startswith(_LATER)],
        "before": BEFORE,
        "filled": fill_label,
        "after": AFTER,
    }
    if not story.bare:
        values |= _report(story, fields)
    made = _environment().get_template("transcript.html.j2" if story.bare else "report.html.j2").render(values)
    return made.strip("\n") + "\n"


def _report(story: ReportModel, fields: FieldText) -> dict[str, Any]:
    """What a report has beside the transcript."""
    outcome = verdict_text.outcome(story)
    decided = tuple(run._replace(strong=False) for run in outcome if run.strong)
    return {
        "headline": verdict_text.headline(story),
        "facts": [one for one in verdict_text.headline(story) if one[0] not in _stated(story)] if decided else [],
        "decided": _trimmed(decided),
        "outcome": _opened(tuple(run for run in outcome if not run.strong)),
        "deciding": _deciding(story),
        "next": _next(story),
        "remarks": verdict_text.remarks(story),
        "worked_out": verdict_text.worked_out(story),
        "summary": verdict_text.summary(story),
        "judged": judging_text(story, fields),
        "ledger": sections.ledger(story),
        "costs": sections.cost_table(story),
        "earlier": earlier(story),
        "reviewers_note": reviewers.NOTE,
        "flow": flow(story, BEFORE, AFTER),
        "chart": charts.chart(story),
        "gauge": charts.gauge(story),
    }


def _stated(story: ReportModel) -> tuple[str, ...]:
    """The fields that need not be told below the statement: those it says already, and a strength that says nothing,
    since nobody won or nobody was scored."""
    idle = story.verdict is not None and (story.verdict.strength is None or not story.scored)
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


def _deciding(story: ReportModel) -> list[tuple[TurnReport, str, int]]:
    """Why a single judge decided, in its own words: its final ballot on the debate as it was, the beginning of the
    reasons it gives there, and how many words follow. Nothing where nothing was decided, or a panel decided."""
    found = []
    if story.verdict is None or (story.verdict.winner == NO_DECISION and not story.verdict.label):
        return []
    for turn in story.finals:
        ballot = turn.ballot or {}
        why = next((str(ballot[name]) for name in _REASONS if isinstance(ballot.get(name), str)), "")
        if why and not turn.mirrored:
            found.append((turn, *opening(why, _MOST)))
    return found if len(found) == 1 else []


def _next(story: ReportModel) -> tuple[str, int]:
    """What to do next: the first two sentences of the first recommendation, and how many words of it follow. Nothing
    where nothing is recommended."""
    advice = [one.ballot.get("follow_up") for one in story.finals if one.ballot and not one.mirrored]
    first = next((one for one in advice if isinstance(one, str) and one.strip()), "")
    return opening(first, _NEXT, sentences=2)


def _structured(story: ReportModel, fields: FieldText, pen: HtmlWriter, turn: TurnReport) -> Markup:
    """A speech in fields, or what a clerk found."""
    assert turn.ballot is not None
    if turn.seat == sections.CLERK and "checks" in turn.shape:
        found = sections.findings(turn, story, fields)
        return pen.items(found) if found else Markup("<p>{}</p>").format(sections.NOTHING)
    return pen.block(fields.block(turn.shape, turn.ballot), story.judging.quotes)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("debate_orchestrator", "reports/html"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "anchor": anchor,
        "line": writer.line,
        "literal": writer.literal_html,
        "block": writer.block,
        "points": decimals,
        "mark": lambda value: f"{value:g}",
        "winner": wording.winner_word,
        "many": lambda n: f"{n:,}",
    }
    made.tests["phase"] = lambda row: isinstance(row, Row)
    return made


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
