"""The drawings of a page as plain values: bars for the scores, and a scale for how firm a verdict is.

All lengths are units of a drawing that is `WIDE` across; a drawing grows and shrinks with the page.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from debate_orchestrator.core.verdict import DECISIVE
from debate_orchestrator.reports import wording
from debate_orchestrator.reports.model import ReportModel
from debate_orchestrator.util.numbers import decimals, percent

WIDE = 360
_LEFT, _RIGHT = 8, 306
_BAR, _STEP, _GAP, _TOP = 12, 15, 26, 4
_SCALE = 2 * DECISIVE


class Bar(NamedTuple):
    """A side's score."""

    side: str
    y: float
    width: float
    said: str


class Group(NamedTuple):
    """The bars of a round, or of a criterion."""

    name: str
    y: float
    bars: tuple[Bar, ...]


class Chart(NamedTuple):
    """Scores as bars."""

    title: str
    said: str
    """All of it in a sentence, for those who don't see it."""
    high: float
    groups: tuple[Group, ...]


def chart(story: ReportModel) -> Chart | None:
    """The scores by round, or by criterion where rounds are not scored one by one; None where nobody is scored."""
    judging, most = story.judging, Fraction(str(story.judging.most or 10))
    if judging.scores_rounds:
        title = "Scores by round"
        given = [(f"Round {one.number}", one.result.scores) for one in story.told if one.result and one.result.scores]
    else:
        title = "Mean scores by criterion"
        given = [
            (name, {side: means[key] for side, means in judging.means.items()}) for key, name in story.criteria.items()
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
    told = "; ".join(f"{one.name}: {', '.join(f'{bar.side.upper()} {bar.said}' for bar in one.bars)}" for one in groups)
    return Chart(title, f"{told}. Each bar begins at 0 and would end at {decimals(most)}.", y, tuple(groups))


def _long(points: Fraction, most: Fraction) -> float:
    return round(float(min(max(points / most, Fraction(0)), Fraction(1))) * (_RIGHT - _LEFT), 2)


class Gauge(NamedTuple):
    """Where something lies on a scale."""

    said: str
    """What it shows, in a sentence."""
    at: float
    marks: tuple[tuple[float, str, str], ...]
    """Places on the scale, each with a word, and which way the word is set: `start`, `middle` or `end`."""


def gauge(story: ReportModel) -> Gauge | None:
    """How firm a verdict is: its lead, its probability, or the score of its label. None where it has none of them."""
    verdict = story.verdict
    if verdict is None:
        return None
    if story.judging.labelled:
        most = Fraction(story.judging.scales.score or "0")
        if wording.label_of(verdict) is None or verdict.score is None or not most:
            return None
        low, high = story.judging.scales.ends
        said = f"The score is {decimals(verdict.score)} on a scale from 0 ({low}) to {decimals(most)} ({high})."
        ends = ((_x(Fraction(0)), f"0, {low}", "start"), (_x(Fraction(1)), f"{decimals(most)}, {high}", "end"))
        return Gauge(said, _x(verdict.score / most), ends)
    if verdict.probability is not None:
        certain = story.judging.scales.certain
        said = f"The probability is {story.judging.scales.likely(verdict.probability)}; 50% would be a toss of a coin."
        marks = (
            (_x(Fraction(0)), "0%", "start"),
            (_x(Fraction(1, 2)), "50%", "middle"),
            (_x(Fraction(1)), "100%", "end"),
        )
        return Gauge(said, _x(verdict.probability / certain), marks)
    if verdict.gap is None or verdict.winner not in story.positions:
        return None
    ahead = [side for side, total in verdict.totals.items() if total == max(verdict.totals.values())]
    who = f"{story.seats[ahead[0]]} leads" if len(ahead) == 1 else "Nobody leads"
    said = f"{who} by {percent(verdict.gap)} of the larger total; a lead of over {percent(DECISIVE)} is decisive."
    marks = (
        (_x(Fraction(0)), "no lead", "start"),
        (_x(DECISIVE / _SCALE), f"{percent(DECISIVE)}, decisive beyond", "middle"),
        (_x(Fraction(1)), f"{percent(_SCALE)} or more", "end"),
    )
    return Gauge(said, _x(verdict.gap / _SCALE), marks)


def _x(share: Fraction) -> float:
    return round(_LEFT + float(min(max(share, Fraction(0)), Fraction(1))) * (WIDE - 2 * _LEFT), 2)
