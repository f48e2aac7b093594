"""Scores, drawn: a bar for each side, with what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from debate_orchestrator.core.events import Voted
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.verdict import Verdict
from debate_orchestrator.core.votes import read_ballot
from debate_orchestrator.rostrum import WIDEST
from debate_orchestrator.screen.cells import Line, Span, clipped, width
from debate_orchestrator.screen.layout import paragraph
from debate_orchestrator.screen.voices import INDENT
from debate_orchestrator.util.numbers import decimals
from debate_orchestrator.util.sanitize import one_line

_LONGEST = 20
"""Cells of a bar at most."""
_NUMBER = 6
"""Cells of a score at most, with the blank before it: ` 66.67`."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
SIDES = ("first", "second")
"""The styles of the sides, in the order of the format."""


def bar(share: Fraction, cells: int) -> str:
    """A bar of so many cells, filled up to that share."""
    eighths = int(min(max(share, Fraction(0)), Fraction(1)) * cells * 8 + Fraction(1, 2))
    full, part = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(cells, "░")


def rows(debate: DebateState, points: Mapping[str, Fraction], most: Fraction, wide: int) -> list[Line]:
    """A row for each side: its name, its bar, its points out of so many."""
    names = {side: one_line(debate.format.name_of(side)) for side in points}
    indent = INDENT if wide >= 40 else 0
    room = wide - indent - _NUMBER
    name = min(max(map(width, names.values())), room // 2)
    cells = max(1, min(_LONGEST, room - name - 1))
    made: list[Line] = []
    for side, value in points.items():
        called = clipped(names[side], name)
        lead = Span(" " * indent + called + " " * (name - width(called) + 1))
        drawn = Span(bar(value / most, cells), style(debate, side))
        made.append((lead, drawn, Span(f" {decimals(value)}", "bold")))
    return made


def style(debate: DebateState, side: str) -> str:
    """The style of a side."""
    return SIDES[debate.format.sides.index(side) % len(SIDES)]


def ballot(debate: DebateState, voted: Voted, wide: int) -> list[Line]:
    """A ballot with scores: what each side gets, and each criterion for both sides. A mirrored ballot is told in the
    terms of the sides as they are."""
    rules, turn = debate.format, debate.turn(voted.turn)
    seen = debate.seen(rules.shapes[turn.phase.reply], voted)
    points = read_ballot(seen, rules.sides, debate.weights, rules.winner_of).scores
    made = rows(debate, points, Fraction(str(rules.rubric.most)), wide)
    each = (
        f"{rules.rubric.criteria[name].title} "
        + " | ".join(decimals(Fraction(str(seen["scores"][side][name]))) for side in rules.sides)
        for name in debate.criteria
    )
    return made + paragraph("; ".join(each), min(wide, WIDEST), style="dim", indent=INDENT)


def totals(debate: DebateState, verdict: Verdict, wide: int) -> list[Line]:
    """The points of the whole debate; nothing where nothing was scored."""
    judged = sum(bool(one.scores) for one in debate.scored())
    if not judged:
        return []
    return rows(debate, verdict.totals, judged * Fraction(str(debate.format.rubric.most)), wide)
