"""The status of a debate that is running, in as few lines as the width allows: where it stands, who is writing and
for how long, what was spent, and which keys do what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen.cells import Line, Span, clipped, width
from debate_orchestrator.util.sanitize import one_line

MOST = 5
"""Lines of a status at most."""


def where(debate: DebateState) -> list[str]:
    """Round and phase of what is due, or was last."""
    *_, stage = debate.stages()
    turn = stage[0]
    round = [f"Round {turn.round} of {debate.rounds}"] if turn.round else []
    return [*round, one_line(turn.phase.title)]


def writer(name: str, words: int, now: float, since: float, until: float | None) -> str:
    """What somebody who was asked is doing."""
    name = one_line(name)
    if until is not None:
        return f"{name}: asked again in {max(0, until - now):.0f} s"
    if not words:
        return f"{name} thinks, {clock(now - since)}"
    return f"{name} writes, {words:,} word{'s' * (words != 1)}"


def clock(seconds: float) -> str:
    """A duration: `42 s`, `3:05`, `1:02:03`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def spent(debate: DebateState) -> list[str]:
    """What the calls have cost so far; nothing where nobody was called."""
    total = costs_of(debate).total
    if not total.calls:
        return []
    calls = "a call" if total.unknown == 1 else f"{total.unknown} calls"
    return [f"${total.cost:.4f}" + (f" and {calls} of unknown price" if total.unknown else "")]


def lines(parts: Iterable[str], keys: Iterable[str], wide: int) -> list[Line]:
    """The parts and then the keys, broken between parts; one that fits in no line is broken between its words, and a
    word that fits in none is cut. The keys begin a line of their own where not all of them fit behind the parts."""
    made: list[list[Span]] = []
    used = wide
    for whole, style in ((parts, "dim"), (keys, "bold")):
        group = [piece for one in whole for piece in _pieces(one, wide)]
        if used + _wide(group) > wide:
            used = wide
        for text in group:
            if made and used + 3 + width(text) <= wide:
                made[-1].append(Span(" · ", "dim"))
                used += 3
            else:
                made.append([])
                used = 0
            made[-1].append(Span(text, style))
            used += width(text)
    return [tuple(line) for line in made[:MOST]]


def _pieces(text: str, wide: int) -> list[str]:
    """A text as it is, or line by line where it is wider than that."""
    if width(text) <= wide:
        return [text]
    made: list[str] = []
    for word in text.split():
        if made and width(f"{made[-1]} {word}") <= wide:
            made[-1] = f"{made[-1]} {word}"
        else:
            made.append(clipped(word, wide))
    return made


def _wide(group: Sequence[str]) -> int:
    """The cells that a group takes behind another."""
    return sum(3 + width(text) for text in group)
