"""What came of a turn, for the live view: the scores of a ballot as bars, notes on a speech, why a reply failed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from rich.cells import cell_len
from rich.text import Text

from debate_orchestrator.core import schedule, speech_rules, tally
from debate_orchestrator.core.events import CallFailed, Declined, Rejected, Spoke, Voted
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.verdict import Verdict
from debate_orchestrator.core.votes import read_ballot
from debate_orchestrator.terminal.display import SIDES, Row, paragraph
from debate_orchestrator.terminal.speeches import INDENT
from debate_orchestrator.util.numbers import decimals
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import WIDEST

_LONGEST = 20
"""Columns of a bar at most."""
_NUMBER = 6
"""Columns of a score at most, with the blank before it: ` 66.67`."""


def bar(share: Fraction, width: int) -> str:
    """A bar filled up to that share, to an eighth of a column."""
    full, eighths = divmod(int(min(max(share, Fraction(0)), Fraction(1)) * width * 8 + Fraction(1, 2)), 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[eighths].strip()).ljust(width, "░")


def side_style(debate: DebateState, side: str) -> str:
    """The style of a side wherever it is named."""
    return SIDES[debate.format.sides.index(side) % len(SIDES)]


def ballot(debate: DebateState, voted: Voted, width: int) -> list[Row]:
    """A ballot with scores: each side's bar, and each criterion for both sides. A mirrored ballot is shown in the
    terms of the sides as they are."""
    format, turn = debate.format, schedule.turn(debate, voted.turn)
    seen = tally.unmirrored(debate, format.shapes[turn.phase.reply], voted)
    points = read_ballot(seen, format.sides, debate.weights, format.winner_of).scores
    criteria = (
        f"{format.rubric.criteria[name].title} "
        + " | ".join(decimals(Fraction(str(seen["scores"][side][name]))) for side in format.sides)
        for name in debate.criteria
    )
    return [
        *_bars(debate, points, Fraction(str(format.rubric.most)), width),
        *paragraph("; ".join(criteria), min(width, WIDEST), "dim", indent=INDENT),
    ]


def totals(debate: DebateState, verdict: Verdict, width: int) -> list[Row]:
    """The points of the whole debate as bars; no rows where nothing was scored."""
    scored = sum(bool(result.scores) for result in tally.scored(debate))
    most = scored * Fraction(str(debate.format.rubric.most))
    return _bars(debate, verdict.totals, most, width) if scored else []


def _bars(debate: DebateState, points: Mapping[str, Fraction], most: Fraction, width: int) -> list[Row]:
    names = {side: one_line(debate.format.name_of(side)) for side in points}
    indent = INDENT if width >= 40 else 0
    room = width - indent - _NUMBER
    longest = max(1, min(max(map(cell_len, names.values())), room // 2))
    length = max(1, min(_LONGEST, room - longest - 1))
    rows: list[Row] = []
    for side, value in points.items():
        name = Text(names[side])
        name.truncate(longest, overflow="ellipsis", pad=True)
        drawn = (bar(value / most, length), side_style(debate, side))
        rows.append((Text.assemble(" " * indent, name, " ", drawn, (f" {decimals(value)}", "bold")),))
    return rows


def notes(debate: DebateState, turn: Turn, event: Spoke | Declined) -> str:
    """What to note below a speech; empty where there is nothing."""
    found = ["cut short by a limit of length"] if event.reply.ended == "cut" else []
    if isinstance(event, Spoke):
        heard = speech_rules.visible(debate, turn)
        found += [f"the last {heard.dropped} words are over the limit, and no seat hears them"] if heard.dropped else []
        missing = sum(not quote.verified for quote in heard.quotes)
        found += [f"{missing} of {len(heard.quotes)} quotes not found in the material"] if missing else []
    return f"-- {'; '.join(found)}." if found else ""


def failure(debate: DebateState, event: Rejected | CallFailed, *, sealed: bool = False) -> str:
    """Why a call failed, or a reply does not count. Complaints may quote the reply; `sealed` leaves them out."""
    if isinstance(event, CallFailed):
        return event.trouble + ("" if event.wait is None else f" Asked again in {event.wait:.0f} s.")
    if not sealed:
        return f"a reply that can't be taken: {'; '.join(event.complaints)}"
    return "a reply that can't be taken." + ("" if event.turn in debate.answers else " It is asked for again.")
