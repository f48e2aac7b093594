"""Short passages out of long ones: the beginning of a text in whole sentences, and a turn in a line."""

from __future__ import annotations

import re

from debate_orchestrator.reports import wording
from debate_orchestrator.reports.html.writer import HtmlWriter
from debate_orchestrator.reports.parts import TurnReport
from debate_orchestrator.reports.wording import Scales
from debate_orchestrator.util import sanitize

LONGEST = 200
"""Characters of a line, for as many whole sentences as fit."""
_SLACK = 80
"""Characters by which a whole text may be longer, rather than be cut for a few words."""
_SENTENCE = re.compile(r"\S.*?(?:(?<!\s\d)(?<!^\d)[.!?…][\"”’')\]]*(?=\s+(?:\d+\.\s|[\"“‘'(\[]*[^\W\d_a-z]))|$)")


def gist(turn: TurnReport, writer: HtmlWriter, scales: Scales, quotes: tuple[str, str] | None = None) -> str:
    """A turn in a line: how its speech begins, what its ballot says, or that it has neither. What stands between the
    tags of `quotes` is quoted. `writer` is the page's, so that a speech is parsed once."""
    if turn.declined:
        return "Declined to argue."
    if turn.votes:
        return _vote(turn, scales)
    speech = turn.text if turn.text is not None else _argument(turn)
    if not sanitize.sanitize(speech).strip():
        return _found(turn) if turn.fields is not None else "No reply that counts."
    line = " ".join(writer.speech(speech).paragraphs)
    for tag in quotes or ():
        line = line.replace(f"<{tag}>", "“").replace(f"</{tag}>", "”")
    return opening(line)[0]


def _vote(turn: TurnReport, scales: Scales) -> str:
    if turn.reading is None:
        return "No ballot that counts."
    fields = turn.fields or {}
    reason = next(
        (str(fields[name]) for name in ("justification", "summary", "why", "reasons") if fields.get(name)), ""
    )
    vote = f"{wording.reading_line(turn.reading, scales)}."
    return f"{vote} {opening(reason, LONGEST - 40)[0]}" if reason else vote


def _found(turn: TurnReport) -> str:
    """How many quotes have each state, of a clerk's turn."""
    states = [str(row.get("state")) for row in (turn.fields or {}).get("checks") or []]
    return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "Nothing was cited."


def _argument(turn: TurnReport) -> str:
    """The argument of a structured reply: its last text."""
    texts = [(turn.fields or {}).get(name) for name, field in turn.shape.items() if field.kind == "text"]
    return next((text for text in reversed(texts) if isinstance(text, str) and text.strip()), "")


def opening(text: str, most: int = LONGEST) -> tuple[str, int]:
    """The beginning of a text on one line, as many whole sentences as fit, and how many words follow it. A first
    sentence that does not fit by itself is cut between words."""
    line, end = sanitize.one_line(text), 0
    if len(line) <= most + _SLACK:
        return line, 0
    for sentence in _SENTENCE.finditer(line):
        if sentence.end() > most:
            break
        end = sentence.end()
    if end:
        return line[:end], sanitize.count_words(line[end:])
    kept = shortened(line, most)
    return kept, sanitize.count_words(line[len(kept.removesuffix("…")) :]) if kept != line else 0


def shortened(text: str, most: int = LONGEST) -> str:
    """A text that is no longer than it may be, cut between words."""
    if len(text) <= most:
        return text
    whole = text[:most].rpartition(" ")[0]
    return f"{(whole or text[:most]).rstrip(' ,;:–—-')}…"
