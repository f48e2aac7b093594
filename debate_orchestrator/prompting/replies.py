"""From a reply to an event: the other half of `briefs`, which makes what the reply answers.

A speech is taken as it is. A structured reply must be exactly the shape that its brief asked for: it is parsed
strictly, checked field by field, and refused with all complaints at once. Nothing is repaired.
"""

from __future__ import annotations

import re
from typing import Any

from debate_orchestrator.core import hearing, schedule
from debate_orchestrator.core.events import Declined, Reply, Spoke, Voted
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.private_text import without_private
from debate_orchestrator.core.schema import check
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import BadReply, short_repr

LARGEST = 256 * 1024
"""Bytes that a reply may have: about 40,000 words, eighty times what any phase asks for."""

_CODE_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)\r?\n```", re.DOTALL)
_BINARY = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def decode(turn_id: str, data: bytes) -> str:
    """The text of a reply that came as bytes. Raises BadReply if it is empty, too long or not text."""
    if len(data) > LARGEST:
        problem = f"{turn_id}: the reply has {len(data):,} bytes; at most {LARGEST:,} are taken."
        raise BadReply(problem, hint="shorten it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadReply(f"{turn_id}: the reply is not UTF-8 text (at offset {error.start}).") from None
    if found := _BINARY.search(text):
        raise BadReply(f"{turn_id}: the reply holds the control character {found[0]!a}, as a binary file does.")
    _check_text(turn_id, text)
    return text


def _check_text(turn_id: str, text: str) -> None:
    if len(text) > LARGEST:
        raise BadReply(f"{turn_id}: the reply has {len(text):,} characters; at most {LARGEST:,} bytes are taken.")
    if _SURROGATES.search(text):
        raise BadReply(f"{turn_id}: the reply holds half a surrogate pair, which is not a character.")
    if not text.strip():
        raise BadReply(f"{turn_id}: the reply is empty.", hint="answer the turn's brief")


def parse_reply(debate: DebateState, turn: Turn, reply: Reply) -> Spoke | Declined | Voted:
    """The event that a reply amounts to. Raises BadReply, with every complaint, if it can't be used."""
    shape = debate.shape(turn)
    if reply.ended == "refused" and turn.speaking:
        return Declined(turn=turn.id, reply=reply)
    _check_text(turn.id, reply.text)
    if shape is None:
        if turn.speaking and hearing.says(debate, debate.format.lines.decline, turn, reply):
            return Declined(turn=turn.id, reply=reply)
        _check_speech(debate, turn, reply.text)
        return Spoke(turn=turn.id, reply=reply)
    if reply.ended == "cut":
        hint = "reply with the JSON object alone, and more briefly"
        raise BadReply(f"{turn.id}: the reply was cut short by a limit of tokens.", hint=hint)
    ballot = parse_structured(turn.id, reply.text)
    if complaints := check(shape, ballot, schedule.terms(debate, turn)):
        raise BadReply([f"{turn.id}: {text}" for text in complaints])
    return Voted(turn=turn.id, ballot=ballot, reply=reply)


def _check_speech(debate: DebateState, turn: Turn, text: str) -> None:
    """Raises BadReply for a speech with nothing that others can hear, or, the first time, one that is too short."""
    phase = turn.phase
    speech = hearing.as_spoken(debate, text, phase)
    if not speech.text.strip() and not speech.private:
        raise BadReply(f"{turn.id}: the speech has no visible character.")
    if not speech.text.strip():
        raise _private_alone(turn.id, debate.format.private)
    least = phase.least_words
    # Asked once only: a seat that has no more to say keeps its short speech.
    if least is not None and speech.words + speech.dropped < least and not debate.rejected.get(turn.id):
        problem = f"{turn.id}: the speech has {speech.words} words; at least {least} are needed."
        raise BadReply(problem, hint="make the argument")


def _private_alone(where: str, tag: str = "") -> BadReply:
    """The error for a reply that is all private working; `tag` is the format's own tag for that, if it has one."""
    marks, them = (f"<{tag}> tag", "it") if tag else ("marks of the working", "them")
    hint = f"close the {marks}, and write the reply after {them}"
    return BadReply(f"{where}: the reply is private working alone.", hint=hint)


def _without_fence(text: str) -> str:
    """What is inside the code fence around a text, or the text itself if there is none."""
    fenced = _CODE_FENCE.fullmatch(text)
    return fenced[1].strip() if fenced else text


def parse_structured(where: str, text: str) -> Any:
    """The value of a reply in JSON, alone or in one code fence. Raises BadReply if it is not JSON.

    Private working around it, in the marks that models use, is left out.
    """
    bare = _without_fence(text.strip())
    if not (bare.startswith("{") and bare.endswith("}")):
        bare = _without_fence(without_private(text.strip()))
    if text.strip() and not bare:
        raise _private_alone(where)
    try:
        return strict_json(bare)
    except ValueError as error:
        problem = f"{where}: the reply is not JSON ({error}): {short_repr(bare, 40)}."
        raise BadReply(problem, hint="reply with the JSON object alone") from None
