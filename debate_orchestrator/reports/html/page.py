"""The report as one HTML page: a fixed structure, rendered from a report model alone, with its style and a policy that
lets nothing else in."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from debate_orchestrator.core.phases import CLERK
from debate_orchestrator.core.schedule import CHALLENGE, REBUTTAL
from debate_orchestrator.core.visible_text import with_quotation_marks
from debate_orchestrator.reports import compare, report_sections, verdict_text, wording
from debate_orchestrator.reports.compare import Comparison
from debate_orchestrator.reports.html.writer import HtmlWriter, anchor, escaped_html, line, text_of_others
from debate_orchestrator.reports.markdown import template_environment
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import DisputedClaim, TurnReport
from debate_orchestrator.reports.report_sections import AFTER, BEFORE
from debate_orchestrator.reports.rich_text import plain_text
from debate_orchestrator.reports.wording import VoteScales
from debate_orchestrator.util import sanitize
from debate_orchestrator.util.numbers import decimals
from debate_orchestrator.util.sanitize import one_line

COMPARISON_PREFIX = '<!doctype html>\n<html lang="en" class="debate-comparison">'
"""The beginning of the page of a comparison."""


def render(report: ReportModel) -> str:
    """The whole page, or the bare transcript where the format has no other report, ending in a newline."""
    checked_tags = report.rules.checked_tags
    writer = HtmlWriter(report.turn_places, checked_tags)
    values = report_sections.template_values(report, writer) | {
        "title": wording.shorten(one_line(report.topic)) or "Debate",
        "document": "Debate transcript" if report.transcript_only else "Debate report",
        "description": wording.shorten(one_line(" / ".join(report.positions.values()))),
        "spoken": lambda turn: writer.speech(turn.text),
        "gist": partial(gist, checked_tags=checked_tags, scales=report.judging.scales),
        "excerpt": excerpt,
        "claims_of": lambda turn: [f"C{n}" for n, row in enumerate(report.dissent or (), 1) if turn.id in row.turns],
        "argument_links": {link.turn: link for link in report.argument_links},
        "before": BEFORE,
        "after": AFTER,
    }
    if not report.transcript_only:
        values |= {
            "description": wording.shorten(
                one_line(" ".join([plain_text(values["outcome"]), *values["strength"]])), 300
            ),
            "score_bar": verdict_text.score_bar(report),
            "claim_course": partial(_claim_course, report),
            "summary": verdict_text.summary(report),
        }
    return _render_template("transcript.html.j2" if report.transcript_only else "report.html.j2", values)


def render_comparison(comparison: Comparison) -> str:
    """Some debates side by side."""
    topic = one_line(comparison.topic)
    values = {
        "comparison": comparison,
        "sections": compare.sections(comparison),
        "writer": HtmlWriter({}),
        "title": wording.shorten(topic) or "Debates",
        "document": "Debate comparison",
        "kind": "debate-comparison",
        "description": f"{len(comparison.winners)} debates compared: {wording.shorten(topic)}",
        "note": compare.NOTE,
    }
    return _render_template("compare.html.j2", values)


def _render_template(template: str, values: dict[str, Any]) -> str:
    frame = {"style": style(), "digest": _digest(), "kind": "debate-report"}
    return _environment().get_template(template).render(frame | values).strip("\n") + "\n"


def _claim_course(report: ReportModel, row: DisputedClaim) -> Iterator[tuple[str, list[str]]]:
    """The course of a disputed claim: where it was made, then each challenge with its answer."""
    places = [turn for turn in report.turn_places if turn in row.turns]
    answers = {link.to: link.turn for link in report.argument_links if link.how == "answers" and link.turn in row.turns}
    statements = [turn for turn in places if turn.split(".")[1] not in (CHALLENGE, REBUTTAL)]
    challenges = [turn for turn in places if turn.split(".")[1] == CHALLENGE]
    if statements:
        yield "Made in", statements
    for challenge in challenges:
        yield "challenged in", [challenge]
        if challenge in answers:
            yield "answered in", [answers[challenge]]
    answer_ids = {answers[challenge] for challenge in challenges if challenge in answers}
    if more := [turn for turn in places if turn not in (*statements, *challenges) and turn not in answer_ids]:
        yield "taken up in", more


@cache
def _environment() -> Environment:
    filters = {
        "anchor": anchor,
        "line": line,
        "escaped": escaped_html,
        "text_of_others": text_of_others,
        "decimals": decimals,
        "winner": wording.winner_word,
        "round_winner": wording.round_winner,
        "thousands": lambda n: f"{n:,}",
        "coordinate": lambda length: f"{float(length):.1f}",
    }
    return template_environment("reports/html", filters)


@cache
def style() -> Markup:
    return Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8"))


@cache
def _digest() -> str:
    """The hash by which the page's policy knows its style."""
    return b64encode(sha256(style().encode()).digest()).decode()


_SLACK = 80
"""Characters by which a whole text may be longer, rather than be cut for a few words."""
_SIGNS = re.compile(r"[*`#>|]+|(?<!\w)_+|_+(?!\w)")
"""Characters of markdown, which mean nothing in a line of plain text."""


def gist(turn: TurnReport, scales: VoteScales, checked_tags: Sequence[str] = ()) -> tuple[str, str]:
    """A turn in a line: what the program says of it, and how its speech or the reason of its ballot begins; either may
    be empty. `checked_tags` are those of quotes that were looked up."""
    if turn.declined:
        return "Declined to argue.", ""
    if turn.is_vote:
        return _vote(turn, scales)
    speech = turn.text if turn.text is not None else _argument(turn)
    if not sanitize.sanitize(speech).strip():
        return _count_states(turn) if turn.fields is not None else "No reply that counts.", ""
    return "", excerpt(one_line(_SIGNS.sub("", with_quotation_marks(speech, checked_tags))))[0]


def _vote(turn: TurnReport, scales: VoteScales) -> tuple[str, str]:
    if turn.parsed_ballot is None:
        return "No ballot that counts.", ""
    fields = turn.fields or {}
    reason = next(
        (str(fields[name]) for name in ("justification", "summary", "why", "reasons") if fields.get(name)), ""
    )
    vote = f"{wording.counted_ballot_line(turn.parsed_ballot, scales, left_out=turn.left_out)}."
    return vote, excerpt(reason, wording.MAX_LENGTH - 40)[0]


def _count_states(turn: TurnReport) -> str:
    """The number of quotes in each state, of a clerk's turn."""
    states = [str(row.get("state")) for row in (turn.fields or {}).get("checks") or [] if turn.seat == CLERK]
    return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "Nothing was cited."


def _argument(turn: TurnReport) -> str:
    """The argument of a structured reply: its last text."""
    texts = [(turn.fields or {}).get(name) for name, field in turn.shape.items() if field.kind == "text"]
    return next((text for text in reversed(texts) if isinstance(text, str) and text.strip()), "")


def excerpt(text: str, maximum: int = wording.MAX_LENGTH) -> tuple[str, int]:
    """The beginning of a text on one line, cut between words, and how many words follow it."""
    line = one_line(text)
    beginning = line if len(line) <= maximum + _SLACK else wording.shorten(line, maximum)
    return beginning, sanitize.count_words(line) - sanitize.count_words(beginning) if beginning != line else 0
