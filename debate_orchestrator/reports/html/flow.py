"""The flow, the sheet that debaters keep: a row for each phase of a round, a column for each side, a line a turn.

What a challenge attacks and what a rebuttal answers is told by `reports.ties`; here both ends of a tie name each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from debate_orchestrator.core.parts import filled
from debate_orchestrator.reports import ledger, lines
from debate_orchestrator.reports.html import excerpts, speech
from debate_orchestrator.reports.story import RoundStory, Story
from debate_orchestrator.reports.told import Told
from debate_orchestrator.speech import tame


class Note(NamedTuple):
    """A turn on the sheet."""

    turn: Told
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


def flow(story: Story, before: str, after: str) -> tuple[Leg, ...]:
    """The sheet of a debate, as far as it got; empty where nobody argued."""
    tied = {tie.turn: tie for tie in story.ties}
    made = [Leg(before, tuple(_rows(story, story.before, tied)))]
    for one in story.told:
        forced = [Call("call", "Intervention", filled(story.tag_intervention, round=one.number))] if one.forced else []
        rows = [*_rows(story, one.speeches, tied), *_votes(story, one), *forced, *_rows(story, one.forced, tied)]
        made.append(Leg(f"Round {one.number}", tuple(rows)))
    made.append(Leg(after, tuple(_rows(story, story.after, tied))))
    argued = any(isinstance(row, Row) for leg in made for row in leg.rows)
    return tuple(leg for leg in made if leg.rows) if argued else ()


def _rows(story: Story, turns: Sequence[Told], tied: dict) -> Iterator[Row | Call]:  # type: ignore[type-arg]
    phases: dict[str, list[Told]] = {}
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
            if turn.seat == ledger.CLERK:
                yield Call("clerk", story.seats[turn.seat], _found(turn), turn.id)
            elif turn.votes:
                yield _vote(story, turn)


def _note(story: Story, turn: Told, tied: dict) -> Note:  # type: ignore[type-arg]
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


def _found(turn: Told) -> str:
    """How many of the quotes a clerk found to be what."""
    states = [str(row.get("state")) for row in (turn.ballot or {}).get("checks") or []]
    return ", ".join(f"{states.count(one)} {one}" for one in dict.fromkeys(states)) or "nothing was cited"


def _votes(story: Story, one: RoundStory) -> Iterator[Call]:
    yield from (_vote(story, turn) for turn in one.ballots if turn.votes)


def _vote(story: Story, turn: Told) -> Call:
    said = lines.reading_line(turn.reading, story.judging.scales) if turn.reading else "no ballot that counts"
    mirrored = ", mirrored" if turn.mirrored else ""
    return Call("vote", f"{story.seats[turn.seat]}{mirrored}", said, turn.id)


def gist(turn: Told, quotes: tuple[str, str] | None = None, how: excerpts.How = "") -> str:
    """A turn in a line: an excerpt of its speech, as `excerpts.telling` takes it, or that it has none. What stands
    between the tags of `quotes` is quoted; `how` is what it does to another."""
    if turn.declined:
        return "Declined to argue."
    said = turn.text if turn.text is not None else _argued(turn)
    if not tame(said).strip():
        return "No reply that counts." if turn.ballot is None else ""
    for tag in quotes or ():
        said = said.replace(f"<{tag}>", "“").replace(f"</{tag}>", "”")
    return excerpts.telling(speech.plainly(said), how)


def _argued(turn: Told) -> str:
    """The argument of a structured reply: its last text."""
    texts = [(turn.ballot or {}).get(name) for name, field in turn.shape.items() if field.kind == "text"]
    return next((one for one in reversed(texts) if isinstance(one, str) and one.strip()), "")
