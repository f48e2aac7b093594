"""From a reply to an event: the other half of `briefs`, which makes what the reply answers.

A speech is taken as it is. A structured reply is read in three steps: `json_object` finds the object in what was said,
`normalize` reads its values, and `check` refuses what then does not have the shape asked for, with all complaints at
once. What the first two changed is recorded beside the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from debate_orchestrator.core import decision, schedule, speech_rules, transcript
from debate_orchestrator.core.events import Declined, Reply, Spoke, Voted
from debate_orchestrator.core.phases import RAPPORTEUR, Turn
from debate_orchestrator.core.schema import Shape, check, fields_asked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.json_object import PrivateAlone, find_object
from debate_orchestrator.prompting.normalize import normalize, side_phrases, unwrapped
from debate_orchestrator.prompting.quotation import NOTHING_ASKED, Asked, contradiction, extra_keys, is_quoted
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadReply, short_repr

LARGEST = 256 * 1024
"""Bytes that a reply may have: about 40,000 words, eighty times what any phase asks for."""

_NEVER_QUOTES = (model_spec.REHEARSE, model_spec.HUMAN, model_spec.FETCH, model_spec.OFFLINE)
"""Stand-ins, the forms that people fill in, and clerks of the program itself: what they write is their own."""
_SURROGATES = re.compile("[\ud800-\udfff]")


class Shortcomings(BadReply):
    """A reply has its shape, and should be written again once, for the reasons given."""


def decode(turn_id: str, data: bytes) -> str:
    """The text of a reply that came as bytes. Raises BadReply if it is empty, too long or not text."""
    if len(data) > LARGEST:
        problem = f"{turn_id}: the reply has {len(data):,} bytes; at most {LARGEST:,} are taken."
        raise BadReply(problem, hint="shorten it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadReply(f"{turn_id}: the reply is not UTF-8 text (at offset {error.start}).") from None
    _check_text(turn_id, text)
    return text


def storable(reply: Reply) -> Reply:
    """A reply that a file can hold: half surrogate pairs, which are no characters, are replaced."""
    return reply.model_copy(update={"text": _SURROGATES.sub("\ufffd", reply.text)})


def _check_text(turn_id: str, text: str) -> None:
    if len(text) > LARGEST:
        raise BadReply(f"{turn_id}: the reply has {len(text):,} characters; at most {LARGEST:,} bytes are taken.")
    if not text.strip():
        raise BadReply(f"{turn_id}: the reply is empty.", hint="answer the turn's brief")


def parse_reply(debate: DebateState, turn: Turn, reply: Reply) -> Spoke | Declined | Voted:
    """The event that a reply amounts to. Raises BadReply, with every complaint, if it can't be used."""
    reply, shape = storable(reply), debate.shape(turn)
    if reply.ended == "refused" and turn.speaking:
        return Declined(turn=turn.id, reply=reply)
    _check_text(turn.id, reply.text)
    if shape is None:
        if turn.speaking and speech_rules.says(debate, debate.format.lines.decline, turn, reply):
            return Declined(turn=turn.id, reply=reply)
        _check_speech(debate, turn, reply.text)
        return Spoke(turn=turn.id, reply=reply)
    if reply.ended == "cut":
        hint = "reply with the JSON object alone, and more briefly"
        raise BadReply(f"{turn.id}: the reply was cut short by a limit of tokens.", hint=hint)
    ballot, changes = _read(debate, turn, shape, reply)
    return Voted(turn=turn.id, ballot=ballot, reply=reply, changes=tuple(changes))


def _read(debate: DebateState, turn: Turn, shape: Shape, reply: Reply) -> tuple[dict[str, Any], list[str]]:
    """A structured reply in the shape asked for, and what was changed to read it."""
    terms, sides = schedule.terms(debate, turn), _sides(debate, turn)
    may_quote = not turn.speaking and model_spec.kind(reply.by) not in _NEVER_QUOTES
    heard = tuple(_heard(debate, turn)) if may_quote else ()
    asked = Asked(fields=fields_asked(shape, terms), terms=terms, sides=sides, heard=heard)
    found, changes, beside = _found(turn.id, reply.text, asked)
    found, wrapped = unwrapped(found, asked.names, (turn.phase.reply, turn.phase.name))
    ballot, more = normalize(shape, found, terms, sides)
    if is_quoted(ballot, asked, alone=not any(map(str.isalnum, beside))):
        problem = f"{turn.id}: the words of the reply stand in a text of the debate."
        raise BadReply(problem, hint="use your own words")
    if complaints := check(shape, ballot, terms):
        raise BadReply([f"{turn.id}: {complaint}" for complaint in complaints])
    if reason := contradiction(beside, ballot, asked) or contradiction(extra_keys(found, asked), ballot, asked):
        problem = f"{turn.id}: the JSON object may be a quotation, since {reason}."
        raise BadReply(problem, hint="reply with the JSON object alone")
    # Asked once only: what its writer leaves as it is has its shape, and the report says what is wrong with it.
    first = turn.role == RAPPORTEUR and not debate.rejected.get(turn.id)
    if first and (found := decision.shortcomings(debate, turn, ballot)):
        raise Shortcomings([f"{turn.id}: {shortcoming}" for shortcoming in found])
    return ballot, [*changes, *wrapped, *more]


def _heard(debate: DebateState, turn: Turn) -> Iterator[str]:
    """The texts of others that the taker of a turn is shown, as it is shown them."""
    setup = debate.opened.setup
    yield from (setup.topic, *setup.positions.values())
    yield from (file.text for file in debate.opened.context)
    yield from (question.text for question in schedule.questions_put_to(debate, turn))
    for entry in transcript.entries_for(debate, turn):
        yield entry.text
        yield from (text for page in entry.found for text in (page.title, page.quote))


def _sides(debate: DebateState, turn: Turn) -> dict[str, frozenset[str]]:
    """Side to the phrases that mean it in a reply to this turn, and no other side."""
    format, positions = debate.format, debate.opened.setup.positions
    holders = {side: debate.exchange.side(side) if turn.mirrored else side for side in format.sides}
    phrases = {
        side: side_phrases(side, format.name_of(side), format.seats[holder].side, positions[holder])
        for side, holder in holders.items()
    }
    every = [phrase for own in phrases.values() for phrase in own]
    return {side: frozenset(phrase for phrase in own if every.count(phrase) == 1) for side, own in phrases.items()}


def _check_speech(debate: DebateState, turn: Turn, text: str) -> None:
    """Raises BadReply for a speech with nothing that others can hear, or, the first time, one that is too short."""
    phase = turn.phase
    speech = speech_rules.as_spoken(debate, text, phase)
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


def parse_structured(where: str, text: str) -> Any:
    """The JSON object in a reply. Raises BadReply if there is none that can be read without a guess."""
    return _found(where, text)[0]


def _found(where: str, text: str, asked: Asked = NOTHING_ASKED) -> tuple[Any, list[str], str]:
    try:
        return find_object(text, asked)
    except PrivateAlone:
        raise _private_alone(where) from None
    except ValueError as error:
        problem = f"{where}: the reply is not JSON ({error}): {short_repr(text.strip(), 40)}."
        raise BadReply(problem, hint="reply with the JSON object alone") from None
