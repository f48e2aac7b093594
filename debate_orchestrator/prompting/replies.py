"""Reply in, event out: the other half of `briefs`.

A speech is taken as it is. A structured reply must be exactly the shape that was asked for: it is
parsed strictly, checked field by field, and refused with every complaint at once. Nothing is repaired.
"""

from __future__ import annotations

import re
from typing import Any

from debate_orchestrator.core.events import Declined, Reply, Spoke, Voted
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.private_text import without_private
from debate_orchestrator.core.schema import check
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import BadReply, complaint, short_repr

LARGEST = 256 * 1024
"""Bytes a reply may have: about 40,000 words, eighty times what any phase asks for."""

_FENCED = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)\r?\n```", re.DOTALL)
_BINARY = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_WORKING = "private working alone"
_HALVES = re.compile("[\ud800-\udfff]")


def decode(turn_id: str, data: bytes) -> str:
    """The text of a reply that came as bytes; BadReply where it is empty, too long or no text."""
    if len(data) > LARGEST:
        raise BadReply(complaint(turn_id, f"a reply of {len(data):,} bytes", f"at most {LARGEST:,}", "Shorten it."))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadReply(complaint(turn_id, f"bytes that are no UTF-8 at offset {error.start}", "plain text")) from None
    if found := _BINARY.search(text):
        raise BadReply(complaint(turn_id, f"the control character {found[0]!a}, as in a binary file", "plain text"))
    _must_be_text(turn_id, text)
    return text


def _must_be_text(turn_id: str, text: str) -> None:
    if len(text) > LARGEST:
        raise BadReply(complaint(turn_id, f"a reply of {len(text):,} characters", f"at most {LARGEST:,} bytes"))
    if _HALVES.search(text):
        raise BadReply(complaint(turn_id, "half a surrogate pair", "plain text"))
    if not text.strip():
        raise BadReply(complaint(turn_id, "an empty reply", "the reply itself", "Have the turn's brief answered."))


def parse_reply(debate: DebateState, turn: Turn, reply: Reply) -> Spoke | Declined | Voted:
    """The event that a reply amounts to; BadReply, with every complaint, where it will not do."""
    shape = debate.shape(turn)
    if reply.ended == "refused" and turn.speaking:
        return Declined(turn=turn.id, reply=reply)
    _must_be_text(turn.id, reply.text)
    if shape is None:
        if turn.speaking and debate.says(debate.format.lines.decline, turn, reply):
            return Declined(turn=turn.id, reply=reply)
        _must_say_something(debate, turn, reply.text)
        return Spoke(turn=turn.id, reply=reply)
    if reply.ended == "cut":
        hint = "Reply with the JSON object alone, and more briefly."
        raise BadReply(complaint(turn.id, "a reply that was cut short by a limit of tokens", "a whole one", hint))
    ballot = parse_structured(turn.id, reply.text)
    wrong = check(shape, ballot, debate.terms(turn))
    if wrong:
        raise BadReply([f"{turn.id}: {one}" for one in wrong])
    return Voted(turn=turn.id, ballot=ballot, reply=reply)


def _must_say_something(debate: DebateState, turn: Turn, text: str) -> None:
    """BadReply for a speech of which nobody would hear anything, or, the first time, one that is too short."""
    phase = turn.phase
    said = debate.spoken(text, phase)
    if not said.text.strip() and not said.private:
        raise BadReply(complaint(turn.id, "no visible character", "a speech that others can hear"))
    if not said.text.strip():
        raise BadReply(complaint(turn.id, _WORKING, "a speech that others can hear", _hint(debate.format.private)))
    least = phase.least_words
    if least is not None and said.words + said.dropped < least and not debate.spoiled.get(turn.id):
        raise BadReply(complaint(turn.id, f"{said.words} words", f"at least {least}", "Make the argument."))


def _hint(tag: str = "") -> str:
    """What to do where a reply is private working alone, in a format with that tag for it."""
    marks = f"<{tag}> tag" if tag else "marks of the working"
    return f"Close the {marks}, and write the reply after {'it' if tag else 'them'}."


def _unfenced(text: str) -> str:
    """What stands in the code fence around a text, or the text itself where there is none."""
    whole = _FENCED.fullmatch(text)
    return whole[1].strip() if whole else text


def parse_structured(where: str, text: str) -> Any:
    """The value of a reply in JSON, alone or in one code fence; BadReply where it is none. Private working around it,
    in the marks that models use, is left out."""
    bare = _unfenced(text.strip())
    if not (bare.startswith("{") and bare.endswith("}")):
        bare = _unfenced(without_private(text.strip()))
    if text.strip() and not bare:
        raise BadReply(complaint(where, _WORKING, "JSON", _hint()))
    try:
        return strict_json(bare)
    except ValueError as error:
        hint = "Reply with the JSON object alone."
        raise BadReply(complaint(where, short_repr(bare, 40), f"JSON ({error})", hint)) from None
