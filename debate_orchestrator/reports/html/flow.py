"""The flow, the sheet that debaters keep: a row for each phase of a round, a column for each side, a line a turn.

What a challenge attacks and what a rebuttal answers is told by `reports.ties`; here both ends of a tie name each other.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from debate_orchestrator.core.phases import fill_label
from debate_orchestrator.reports import sections, wording
from debate_orchestrator.reports.html import writer
from debate_orchestrator.reports.model import ReportModel, RoundReport
from debate_orchestrator.reports.model_turns import TurnReport
from debate_orchestrator.util import sanitize as safe_text
from debate_orchestrator.util.sanitize import sanitize


class Note(NamedTuple):
    """A turn on the sheet."""

    turn: TurnReport
    line: str
    attacks: str = ""
    """The turn that it attacks, if it does; the others likewise."""
    answers: str = ""
    attacked_by: tuple[str, ...] = ()
    answered_by: tuple[str, ...] = ()


class Row(NamedTuple):
    """A phase on the sheet."""

    phase: str
    cells: tuple[tuple[str, tuple[Note, ...]], ...]
    """Side to its turns; a side without any has an empty one."""


class Call(NamedTuple):
    """A line across the sheet that is no side's: what a clerk found, how judges voted, that the engine stepped in."""

    kind: str
    name: str
    said: str
    turn: str = ""


class Leg(NamedTuple):
    """A round on the sheet, or what is before the first or after the last."""

    title: str
    rows: tuple[Row | Call, ...]


def flow(story: ReportModel, before: str, after: str) -> tuple[Leg, ...]:
    """The sheet of a debate, as far as it got; empty where nobody argued."""
    tied = {tie.turn: tie for tie in story.ties}
    made = [Leg(before, tuple(_rows(story, story.before, tied)))]
    for one in story.told:
        forced = (
            [Call("call", "Intervention", fill_label(story.tag_intervention, round=one.number))] if one.forced else []
        )
        rows = [*_rows(story, one.speeches, tied), *_votes(story, one), *forced, *_rows(story, one.forced, tied)]
        made.append(Leg(f"Round {one.number}", tuple(rows)))
    made.append(Leg(after, tuple(_rows(story, story.after, tied))))
    argued = any(isinstance(row, Row) for leg in made for row in leg.rows)
    return tuple(leg for leg in made if leg.rows) if argued else ()


def _rows(story: ReportModel, turns: Sequence[TurnReport], tied: dict) -> Iterator[Row | Call]:  # type: ignore[type-arg]
    phases: dict[str, list[TurnReport]] = {}
    for turn in turns:
        phases.setdefault(turn.phase or turn.heading, []).append(turn)
    for phase, own in phases.items():
        sides = [turn for turn in own if turn.seat in story.arguing]
        if sides:
            cells = (
                (side, tuple(_note(story, turn, tied) for turn in sides if turn.seat == side)) for side in story.arguing
            )
            yield Row(phase, tuple(cells))
        for turn in own:
            if turn.seat == sections.CLERK:
                yield Call("clerk", story.seats[turn.seat], _found(turn), turn.id)
            elif turn.votes:
                yield _vote(story, turn)


def _note(story: ReportModel, turn: TurnReport, tied: dict) -> Note:  # type: ignore[type-arg]
    tie = tied.get(turn.id)
    ends = {how: tuple(one.turn for one in story.ties if one.to == turn.id and one.how == how) for how in _HOW}
    return Note(
        turn,
        gist(turn, story.judging.quotes, how=tie.how if tie and not turn.concedes else ""),
        attacks=tie.to if tie and tie.how == "attacks" else "",
        answers=tie.to if tie and tie.how == "answers" else "",
        attacked_by=ends["attacks"],
        answered_by=ends["answers"],
    )


_HOW = ("attacks", "answers")


def _found(turn: TurnReport) -> str:
    """How many of the quotes a clerk found to be what."""
    states = [str(row.get("state")) for row in (turn.ballot or {}).get("checks") or []]
    return ", ".join(f"{states.count(one)} {one}" for one in dict.fromkeys(states)) or "nothing was cited"


def _votes(story: ReportModel, one: RoundReport) -> Iterator[Call]:
    yield from (_vote(story, turn) for turn in one.ballots if turn.votes)


def _vote(story: ReportModel, turn: TurnReport) -> Call:
    said = wording.reading_line(turn.reading, story.judging.scales) if turn.reading else "no ballot that counts"
    mirrored = ", mirrored" if turn.mirrored else ""
    return Call("vote", f"{story.seats[turn.seat]}{mirrored}", said, turn.id)


def gist(turn: TurnReport, quotes: tuple[str, str] | None = None, how: How = "") -> str:
    """A turn in a line: an excerpt of its speech, as `excerpts.telling` takes it, or that it has none. What stands
    between the tags of `quotes` is quoted; `how` is what it does to another."""
    if turn.declined:
        return "Declined to argue."
    said = turn.text if turn.text is not None else _argued(turn)
    if not sanitize(said).strip():
        return "No reply that counts." if turn.ballot is None else ""
    for tag in quotes or ():
        said = said.replace(f"<{tag}>", "“").replace(f"</{tag}>", "”")
    return telling(writer.plainly(said), how)


def _argued(turn: TurnReport) -> str:
    """The argument of a structured reply: its last text."""
    texts = [(turn.ballot or {}).get(name) for name, field in turn.shape.items() if field.kind == "text"]
    return next((one for one in reversed(texts) if isinstance(one, str) and one.strip()), "")


How = Literal["", "attacks", "answers"]
"""What a speech does to another, if it does."""
LONGEST = 160
"""Characters of a line."""
_FEWEST = 4
"""Words of a sentence that tells something."""
_SHORT = 60
"""Characters of a line that has room for the sentence after it."""
_NEAR = 4
"""Sentences among which a thesis is looked for."""
_BRIEF = 8
"""Words of a quote that is kept where it stands in a sentence."""
_SENTENCE = re.compile(r"\S.*?(?:[.!?…][\"”’')\]]*(?=\s+[\"“‘'(\[]*[^\W\d_a-z])|$)")
_QUOTED = re.compile(r'“[^“”]*”|(?<!\w)"(?=\S).{0,1000}?"(?!\w)')
_THESIS = re.compile(
    r"\b(?:my (?:thesis|case|claim|position|answer|point)|i (?:argue|hold|maintain|claim|submit))\b", re.IGNORECASE
)
_GRANTS = re.compile(
    r"(?:(?:i|we) (?:fully |readily |also )?(?:grant|concede|accept|acknowledge|admit)|granted)\b", re.I
)
_TURNS = re.compile(r"\b(?:but|yet|however|though|although|still|nonetheless|nevertheless|only|while)\b", re.I)
_TURNED = re.compile(r"(?:but|yet|however|still|even so|nonetheless|nevertheless|none of|neither)\b", re.I)


def telling(paragraphs: Sequence[str], how: How = "") -> str:
    """A speech in a line: the first sentence of its paragraphs that tells something in the speaker's own words; its
    thesis, if it soon names one. What attacks or answers another speech quotes it: its long quotes are left out with
    a mark. What answers may open with what it grants: that is passed over as far as its second paragraph, or a
    sentence before that which says "but". Empty where there is nothing to tell."""
    own = [list(_own(paragraph, whole=not how)) for paragraph in paragraphs]
    every = [sentence[0] for paragraph in paragraphs for sentence in _SENTENCE.finditer(paragraph)]
    found = [sentence for sentences in own for sentence in sentences]
    found = found or [one for one in every if len(one.split()) >= _FEWEST] or every
    if not found:
        return ""
    if how == "answers":
        found = found[_granted(own) :]
    theses = [n for n, one in enumerate(found[:_NEAR]) if _THESIS.search(one)]
    first = theses[0] if theses else 0
    line = found[first]
    return shortened(f"{line} {found[first + 1]}" if len(line) < _SHORT and found[first + 1 :] else line)


def _granted(own: Sequence[Sequence[str]]) -> int:
    """With how many sentences a speech does nothing but grant a point. A sentence that only follows may be part of
    what is granted, so that it takes a turn of phrase or a paragraph to end it; 0 where neither comes soon."""
    first, *rest = [sentences for sentences in own if sentences] or [()]
    if not first or not _GRANTS.match(first[0]) or _TURNS.search(first[0]):
        return 0
    turned = next((n for n, one in enumerate(first) if _TURNED.match(one)), None)
    if turned is not None:
        return turned
    return len(first) if rest and not _GRANTS.match(rest[0][0]) else 0


def _own(paragraph: str, *, whole: bool) -> Iterator[str]:
    """The sentences of a paragraph that tell something outside quotation marks, with long quotes whole or left out."""
    brief = paragraph if whole else _QUOTED.sub(_brief, paragraph)
    edges = [edge for quote in _QUOTED.finditer(brief) for edge in quote.span()]  # in order: no two quotes overlap
    for sentence in _SENTENCE.finditer(brief):
        words = (word.start() + sentence.start() for word in re.finditer(r"\S+", sentence[0]))
        if sum(bisect_right(edges, word) % 2 == 0 for word in words) >= _FEWEST:
            yield sentence[0]


def _brief(quote: re.Match[str]) -> str:
    return quote[0] if len(quote[0].split()) <= _BRIEF else "“…”"


def opening(text: str, most: int, sentences: int | None = None) -> tuple[str, int]:
    """The beginning of a text on one line, as many whole sentences as fit, and how many words follow it. A first
    sentence that does not fit by itself is cut between words."""
    said = safe_text.one_line(text)
    ends = [one.end() for one in _SENTENCE.finditer(said)][:sentences]
    fitting = [end for end in ends if end <= most]
    if fitting:
        return said[: fitting[-1]], safe_text.count_words(said[fitting[-1] :])
    kept = shortened(said, most)
    return kept, safe_text.count_words(said[len(kept.removesuffix("…")) :]) if kept != said else 0


def shortened(text: str, most: int = LONGEST) -> str:
    """A text that is no longer than it may be, cut between words."""
    if len(text) <= most:
        return text
    whole = text[:most].rpartition(" ")[0]
    return f"{(whole or text[:most]).rstrip(' ,;:–—-')}…"
