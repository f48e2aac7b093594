"""What of a debate is put before others: each settled speech as it is heard, in the order in which it is shown.

A judge may be shown the debate mirrored. Then the sides change names, and within a phase the one who was shown
first is shown last; which speech was given after which is said where the order no longer tells it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from debate_orchestrator.core import hearing, schedule
from debate_orchestrator.core.events import FoundPage, Spoke, Voted
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.schema import Field, Shape
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import Value
from debate_orchestrator.core.visible_text import Quote, VisibleText


class TranscriptEntry(Value):
    """A settled speech, or what a clerk found, as it is put before others."""

    turn: Turn
    """As it is called there: a mirrored judge sees A's turns as B's."""
    text: str
    """What is heard of it; of a structured reply, its fields, a line each."""
    declined: bool = False
    cut: bool = False
    """Whether a limit of tokens cut it short."""
    dropped: int = 0
    """Words over the limit of the phase, which nobody hears."""
    words: int = 0
    quotes: tuple[Quote, ...] = ()
    found: tuple[FoundPage, ...] = ()
    other_lines: bool = False
    """Whether it writes lines for the other side, which is a fault."""
    after: str | None = None
    """The turn after which it was given, where the order does not tell."""


def entries_for(debate: DebateState, listener: Turn) -> list[TranscriptEntry]:
    """What the taker of a turn has heard, in the order in which it is shown."""
    turns = schedule.heard(debate, listener)
    if not listener.mirrored:
        return [entry(debate, turn) for turn in turns]
    made: list[TranscriptEntry] = []
    for _, group in groupby(turns, key=lambda turn: (turn.round, turn.closing, turn.phase.title, turn.phase.on)):
        made += _exchanged(debate, list(group))
    return made


def _exchanged(debate: DebateState, turns: Sequence[Turn]) -> list[TranscriptEntry]:
    """The turns of one phase for a mirrored judge: the side that spoke last comes first, each under the other's name;
    whoever is no side keeps its place."""
    speaking = [turn for turn in turns if turn.speaking]
    before = {turn.id: earlier for earlier, turn in pairwise(speaking) if turn.phase.order == "in turn"}
    left, made = list(speaking), []
    for turn in turns:
        one = left.pop() if turn.speaking else turn
        after = debate.exchange.turn_id(before[one.id].id) if one.id in before else None
        made.append(entry(debate, one, mirrored=True).model_copy(update={"after": after}))
    return made


def entry(debate: DebateState, turn: Turn, *, mirrored: bool = False) -> TranscriptEntry:
    """One settled speech, or what a clerk found."""
    answer, reply, exchange = debate.answers[turn.id], debate.reply(turn), debate.exchange
    if isinstance(answer, Voted):
        said = _spoken(debate, turn, answer.ballot, mirrored=mirrored)
    else:
        said = hearing.visible(debate, turn)
        said = said.model_copy(update={"text": exchange.text(said.text)}) if mirrored else said
    spoke = isinstance(answer, Spoke)
    return TranscriptEntry(
        turn=exchange.turn(turn) if mirrored else turn,
        text=said.text,
        declined=hearing.declined(debate, turn.id),
        cut=spoke and reply.ended == "cut",
        dropped=said.dropped,
        words=said.words,
        quotes=tuple(Quote(text=exchange.text(one.text), verified=one.verified) for one in said.quotes)
        if mirrored
        else said.quotes,
        found=reply.found if spoke else (),
        other_lines=hearing.writes_for_the_other(debate, turn),
    )


def _spoken(debate: DebateState, turn: Turn, ballot: Mapping[str, Any], *, mirrored: bool) -> VisibleText:
    """What is heard of a structured reply: of each of its texts what is heard of a speech; of a refusal, its reason."""
    quotes: list[Quote] = []

    def aloud(value: Any) -> Any:
        if isinstance(value, str):
            said = hearing.text_heard(debate, value)
            quotes.extend(said.quotes)
            return said.text
        if isinstance(value, list):
            return [aloud(one) for one in value]
        return {name: aloud(one) for name, one in value.items()} if isinstance(value, Mapping) else value

    shape = debate.shape(turn) or {}
    said = aloud(ballot)
    said = debate.exchange.ballot(shape, said) if mirrored else said
    text = str(said.get("reason") or "") if ballot.get("refused") is True else as_text(shape, said)
    return VisibleText(text=text, words=len(text.split()), quotes=tuple(quotes))


def as_text(shape: Shape, value: Mapping[str, Any]) -> str:
    """A structured reply as people read it: each field that is filled in begins a line. Whatever else a field holds
    is indented under it, so that no text passes for a field, or an item of a list, that it is not."""
    return "\n".join(_fields(shape, value))


def _fields(shape: Shape, value: Mapping[str, Any]) -> list[str]:
    filled = {name: value[name] for name in shape if name != "refused" and value.get(name) not in (None, [])}
    return [line for name, said in filled.items() for line in _under(f"{title(name)}: ", _said(shape[name], said))]


def title(name: str) -> str:
    """The name of a field as people read it: `Unsupported claims`, `URL`."""
    return name.upper() if name == "url" else name.replace("_", " ").capitalize()


def _under(label: str, lines: Sequence[str]) -> list[str]:
    """Lines after a label, set in from the second on."""
    return [f"{label}{lines[0]}".rstrip(), *(f"  {line}".rstrip() for line in lines[1:])] if lines else []


def _said(field: Field, said: Any) -> list[str]:
    """What a field holds, in lines; the first one is empty where they begin under its label."""
    if field.per_side and isinstance(said, Mapping):
        one = field.model_copy(update={"per_side": False})
        return ["", *(line for side, held in said.items() for line in _under(f"{side}: ", _said(one, held)))]
    if field.kind == "record":
        return ["", *_fields(field.fields, said)]
    if field.kind == "scores":
        marks = {side: ", ".join(f"{name} {mark:g}" for name, mark in given.items()) for side, given in said.items()}
        return ["; ".join(f"{side}: {given}" for side, given in marks.items())]
    if field.kind == "list":
        items = [_fields(field.fields, one) if field.fields else _lines(one) for one in said]
        return ["", *(line for item in items for line in _under("- ", item))]
    if isinstance(said, list):
        return [", ".join(str(one) for one in said)]
    if isinstance(said, bool):
        return ["yes" if said else "no"]
    return [f"{said:g}"] if isinstance(said, float) else _lines(said)


def _lines(text: Any) -> list[str]:
    return str(text).strip().split("\n")
