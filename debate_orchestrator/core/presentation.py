"""What of a debate is put before others: each settled speech as it is heard, in the order in which it is shown.

A judge may be shown the debate mirrored. Then the sides change names, and within a phase the one who was shown
first is shown last; which speech was given after which is said where the order no longer tells it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Found, Spoke, Voted
from debate_orchestrator.core.hearing import Quote
from debate_orchestrator.core.rules import Turn
from debate_orchestrator.core.shapes import Field, Shape
from debate_orchestrator.core.values import Value


class Shown(Value):
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
    found: tuple[Found, ...] = ()
    other_lines: bool = False
    """Whether it writes lines for the other side, which is a fault."""
    after: str | None = None
    """The turn after which it was given, where the order does not tell."""


def heard(debate: Debate, listener: Turn) -> list[Shown]:
    """What the taker of a turn has heard, in the order in which it is shown."""
    turns = debate.heard(listener)
    if not listener.mirrored:
        return [shown(debate, turn) for turn in turns]
    made: list[Shown] = []
    for _, group in groupby(turns, key=lambda turn: (turn.round, turn.closing, turn.phase.name)):
        made += _exchanged(debate, list(group))
    return made


def _exchanged(debate: Debate, turns: Sequence[Turn]) -> list[Shown]:
    """The turns of one phase for a mirrored judge: the last first, each under the other side's name."""
    made = []
    for n, turn in reversed(list(enumerate(turns))):
        after = debate.exchange.turn_id(turns[n - 1].id) if n and turn.phase.order == "in turn" else None
        made.append(shown(debate, turn, mirrored=True).model_copy(update={"after": after}))
    return made


def shown(debate: Debate, turn: Turn, *, mirrored: bool = False) -> Shown:
    """One settled speech, or what a clerk found."""
    answer, reply = debate.answers[turn.id], debate.reply(turn)
    exchange = debate.exchange
    if isinstance(answer, Spoke):
        said = debate.hear(turn)
        text, words, dropped, quotes = said.text, said.words, said.dropped, said.quotes
        text = exchange.text(text) if mirrored else text
    else:
        shape = debate.shape(turn) or {}
        ballot = answer.ballot if isinstance(answer, Voted) else {}
        ballot = exchange.ballot(shape, ballot) if mirrored else ballot
        text = _structured(shape, ballot) if ballot else exchange.text(reply.text) if mirrored else reply.text
        words, dropped, quotes = len(text.split()), 0, ()
    return Shown(
        turn=exchange.turn(turn) if mirrored else turn,
        text=text,
        declined=debate.declined(turn.id),
        cut=isinstance(answer, Spoke) and reply.ended == "cut",
        dropped=dropped,
        words=words,
        quotes=quotes,
        found=reply.found if isinstance(answer, Spoke) else (),
        other_lines=debate.writes_for_the_other(turn),
    )


def _structured(shape: Shape, ballot: Mapping[str, Any]) -> str:
    """A structured reply as text; of a refusal, its reason."""
    return str(ballot.get("reason") or "") if ballot.get("refused") is True else spelled(shape, ballot)


def spelled(shape: Shape, value: Mapping[str, Any]) -> str:
    """A structured reply as people read it: a line for each field that is filled in."""
    lines = []
    for name, field in shape.items():
        said = value.get(name)
        if said is None or said == [] or name == "refused":
            continue
        lines.append(f"{title(name)}: {_said(field, said)}")
    return "\n".join(lines)


def title(name: str) -> str:
    """The name of a field as people read it: `Unsupported claims`, `URL`."""
    return name.upper() if name == "url" else name.replace("_", " ").capitalize()


def _said(field: Field, value: Any) -> str:
    if field.per_side and isinstance(value, Mapping):
        one = field.model_copy(update={"per_side": False})
        return "; ".join(f"{side}: {_said(one, said)}" for side, said in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if field.kind == "record" and isinstance(value, Mapping):
        return "; ".join(spelled(field.fields, value).splitlines())
    if isinstance(value, list):
        if field.fields:
            return "".join(f"\n- {'; '.join(spelled(field.fields, one).splitlines())}" for one in value)
        return ", ".join(str(one) for one in value)
    return str(value)
