"""The drawings of a page as plain values: the flow sheet, bars for the scores, and a scale for how firm a verdict is.

The flow is the sheet that debaters keep: a row for each phase of a round, a column for each side, a line for each turn.
Lengths are units of a drawing that is `WIDE` across; a drawing grows and shrinks with the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core.phases import CLERK, fill_label
from debate_orchestrator.core.verdict import DECISIVE
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.html.excerpts import Purpose, excerpt
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.reports.parts import RoundReport, TurnReport
from debate_orchestrator.util.numbers import decimals, percent
from debate_orchestrator.util.sanitize import sanitize


class FlowNote(NamedTuple):
    """A turn on the sheet."""

    turn: TurnReport
    line: str
    """An excerpt of its speech."""
    attacks: str = ""
    """The turn that it attacks, if it does; the others likewise."""
    answers: str = ""
    attacked_by: tuple[str, ...] = ()
    answered_by: tuple[str, ...] = ()


class FlowRow(NamedTuple):
    """A phase on the sheet."""

    phase: str
    cells: tuple[tuple[str, tuple[FlowNote, ...]], ...]
    """Side to its turns; a side without any has an empty one."""


class FlowLine(NamedTuple):
    """A line across the sheet that is no side's: what a clerk found, how judges voted, that the engine stepped in."""

    kind: str
    name: str
    text: str
    turn: str = ""


class FlowPart(NamedTuple):
    """A round on the sheet, or what is before the first or after the last."""

    title: str
    rows: tuple[FlowRow | FlowLine, ...]


def flow(report: ReportModel, writer: HtmlWriter, before: str, after: str) -> tuple[FlowPart, ...]:
    """The sheet of a debate, as far as it got; empty where neither side argued."""
    parts = [FlowPart(before, tuple(_rows(report, writer, report.before)))]
    parts += [FlowPart(f"Round {one.number}", tuple(_round_rows(report, writer, one))) for one in report.rounds]
    parts.append(FlowPart(after, tuple(_rows(report, writer, report.after))))
    argued = any(isinstance(row, FlowRow) for part in parts for row in part.rows)
    return tuple(part for part in parts if part.rows) if argued else ()


def _round_rows(report: ReportModel, writer: HtmlWriter, one: RoundReport) -> Iterator[FlowRow | FlowLine]:
    yield from _rows(report, writer, one.speeches)
    yield from (_vote(report, turn) for turn in one.ballots if turn.votes)
    if one.forced:
        yield FlowLine("call", "Intervention", fill_label(report.intervention_label, round=one.number))
    yield from _rows(report, writer, one.forced)


def _rows(report: ReportModel, writer: HtmlWriter, turns: Sequence[TurnReport]) -> Iterator[FlowRow | FlowLine]:
    phases: dict[str, list[TurnReport]] = {}
    for turn in turns:
        phases.setdefault(turn.phase_title or turn.heading, []).append(turn)
    for phase, own in phases.items():
        if any(turn.seat in report.arguing for turn in own):
            cells = ((side, [turn for turn in own if turn.seat == side]) for side in report.arguing)
            yield FlowRow(
                phase, tuple((side, tuple(_note(report, writer, turn) for turn in turns)) for side, turns in cells)
            )
        for turn in own:
            if turn.seat == CLERK:
                yield FlowLine("clerk", report.seats[turn.seat], _found(turn), turn.id)
            elif turn.votes:
                yield _vote(report, turn)


def _note(report: ReportModel, writer: HtmlWriter, turn: TurnReport) -> FlowNote:
    link = next((link for link in report.links if link.turn == turn.id), None)
    return FlowNote(
        turn,
        gist(turn, writer, report.judging.quotes, purpose=link.how if link and not turn.concedes else ""),
        attacks=link.to if link and link.how == "attacks" else "",
        answers=link.to if link and link.how == "answers" else "",
        attacked_by=tuple(other.turn for other in report.links if other.to == turn.id and other.how == "attacks"),
        answered_by=tuple(other.turn for other in report.links if other.to == turn.id and other.how == "answers"),
    )


def _found(turn: TurnReport) -> str:
    """How many quotes have each state."""
    states = [str(row.get("state")) for row in (turn.fields or {}).get("checks") or []]
    return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "nothing was cited"


def _vote(report: ReportModel, turn: TurnReport) -> FlowLine:
    vote = wording.reading_line(turn.reading, report.judging.scales) if turn.reading else "no ballot that counts"
    return FlowLine("vote", f"{report.seats[turn.seat]}{', mirrored' if turn.mirrored else ''}", vote, turn.id)


def gist(turn: TurnReport, writer: HtmlWriter, quotes: tuple[str, str] | None = None, purpose: Purpose = "") -> str:
    """A turn in a line: an excerpt of its speech, or that it has none. What stands between the tags of `quotes` is
    quoted; `purpose` is what it does to another turn. `writer` is the page's, so that a speech is parsed once."""
    if turn.declined:
        return "Declined to argue."
    speech = turn.text if turn.text is not None else _argument(turn)
    if not sanitize(speech).strip():
        return "No reply that counts." if turn.fields is None else ""
    paragraphs = writer.speech(speech).paragraphs
    for tag in quotes or ():
        paragraphs = [one.replace(f"<{tag}>", "“").replace(f"</{tag}>", "”") for one in paragraphs]
    return excerpt(paragraphs, purpose)


def _argument(turn: TurnReport) -> str:
    """The argument of a structured reply: its last text."""
    texts = [(turn.fields or {}).get(name) for name, field in turn.shape.items() if field.kind == "text"]
    return next((text for text in reversed(texts) if isinstance(text, str) and text.strip()), "")


WIDE = 360
_LEFT, _RIGHT = 8, 306
_BAR, _STEP, _GAP, _TOP = 12, 15, 26, 4
_SCALE = 2 * DECISIVE


class Bar(NamedTuple):
    """A side's score."""

    side: str
    y: float
    width: float
    label: str


class Group(NamedTuple):
    """The bars of a round, or of a criterion."""

    name: str
    y: float
    bars: tuple[Bar, ...]


class Chart(NamedTuple):
    """Scores as bars."""

    title: str
    text: str
    """All of it in a sentence, for readers who don't see it."""
    high: float
    groups: tuple[Group, ...]


def chart(report: ReportModel) -> Chart | None:
    """The scores by round, or by criterion where rounds are not scored one by one; None where no side is scored."""
    judging, most = report.judging, Fraction(str(report.judging.most or 10))
    if judging.scores_rounds:
        title = "Scores by round"
        given = [(f"Round {one.number}", one.scores) for one in report.rounds if one.scores]
    else:
        title = "Mean scores by criterion"
        given = [
            (name, {side: means[key] for side, means in judging.means.items()})
            for key, name in report.format.criteria.items()
        ]
        given = given if judging.means else []
    if not given:
        return None
    groups, y = [], float(_TOP)
    for name, scores in given:
        bars = [
            Bar(side, y + 18 + n * _STEP, _long(points, most), decimals(points))
            for n, (side, points) in enumerate(scores.items())
        ]
        groups.append(Group(name, y + 12, tuple(bars)))
        y += 18 + len(bars) * _STEP + _GAP - _STEP
    text = "; ".join(
        f"{group.name}: {', '.join(f'{bar.side.upper()} {bar.label}' for bar in group.bars)}" for group in groups
    )
    return Chart(title, f"{text}. Each bar begins at 0 and would end at {decimals(most)}.", y, tuple(groups))


def _long(points: Fraction, most: Fraction) -> float:
    return round(float(min(max(points / most, Fraction(0)), Fraction(1))) * (_RIGHT - _LEFT), 2)


class Gauge(NamedTuple):
    """Where something lies on a scale."""

    text: str
    """What it shows, in a sentence."""
    at: float
    marks: tuple[tuple[float, str, str], ...]
    """Places on the scale, each with a word, and which way the word is set: `start`, `middle` or `end`."""


def gauge(report: ReportModel) -> Gauge | None:
    """How firm a verdict is: its lead, its probability, or the score of its label. None where it has none of them."""
    verdict = report.verdict
    if verdict is None:
        return None
    if report.judging.labelled:
        most = Fraction(report.judging.scales.score or "0")
        if verdict.label is None or verdict.score is None or not most:
            return None
        low, high = report.judging.scales.ends
        text = f"The score is {decimals(verdict.score)} on a scale from 0 ({low}) to {decimals(most)} ({high})."
        ends = ((_x(Fraction(0)), f"0, {low}", "start"), (_x(Fraction(1)), f"{decimals(most)}, {high}", "end"))
        return Gauge(text, _x(verdict.score / most), ends)
    if verdict.share is not None:
        text = f"The probability is {percent(verdict.share)}; 50% would be a toss of a coin."
        marks = (
            (_x(Fraction(0)), "0%", "start"),
            (_x(Fraction(1, 2)), "50%", "middle"),
            (_x(Fraction(1)), "100%", "end"),
        )
        return Gauge(text, _x(verdict.share), marks)
    if verdict.gap is None or verdict.winner not in report.positions:
        return None
    ahead = [side for side, total in verdict.totals.items() if total == max(verdict.totals.values())]
    lead = f"{report.seats[ahead[0]]} leads by {percent(verdict.gap)} of the larger total"
    lead = lead if len(ahead) == 1 else "Neither side leads"
    text = f"{lead}; a lead of over {percent(DECISIVE)} is decisive."
    marks = (
        (_x(Fraction(0)), "no lead", "start"),
        (_x(DECISIVE / _SCALE), f"{percent(DECISIVE)}, decisive beyond", "middle"),
        (_x(Fraction(1)), f"{percent(_SCALE)} or more", "end"),
    )
    return Gauge(text, _x(verdict.gap / _SCALE), marks)


def _x(share: Fraction) -> float:
    return round(_LEFT + float(min(max(share, Fraction(0)), Fraction(1))) * (WIDE - 2 * _LEFT), 2)
