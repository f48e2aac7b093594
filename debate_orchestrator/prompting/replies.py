"""From a reply to an event: the other half of `briefs`, which makes what the reply answers.

A speech is taken as it is. A structured reply is read in three steps: `json_object` finds the object with the turn's
code in what was said, `normalize` reads its values, and `check` refuses what then does not have the shape asked for,
with all complaints at once. What the first two changed is recorded beside the reply.
"""

from __future__ import annotations

import re
from typing import Any

from debate_orchestrator.core import decision, schedule, speech_rules
from debate_orchestrator.core.events import Declined, Reply, Spoke, Voted
from debate_orchestrator.core.phases import RAPPORTEUR, Turn
from debate_orchestrator.core.schema import Shape, check, fields_asked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.json_object import QUOTES_REPAIRED, Found, PrivateAlone, find_object, find_own
from debate_orchestrator.prompting.normalize import normalize, phrase, side_phrases, unwrapped
from debate_orchestrator.prompting.quotations import Shown, shown
from debate_orchestrator.prompting.reply_code import Code, needs_code
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadReply, short_repr

LARGEST = 256 * 1024
"""Bytes that a reply may have: about 40,000 words, eighty times what any phase asks for."""

ESCAPE = "escape the quotation marks inside texts"
_QUOTED_KEY = re.compile(r"""["'“”‘’]([\w .()/-]{1,80})["'“”‘’]\s{0,20}:""")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
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


def stored(reply: Reply) -> Reply:
    """A reply as a journal holds it: half surrogate pairs, which are no characters, are replaced, and what only its
    reading needs is left out."""
    text = _SURROGATES.sub("\ufffd", reply.text)
    return reply.model_copy(update={"text": text, "code": None, "recorded": None})


def _check_text(turn_id: str, text: str) -> None:
    if len(text) > LARGEST:
        raise BadReply(f"{turn_id}: the reply has {len(text):,} characters; at most {LARGEST:,} bytes are taken.")
    if not text.strip():
        raise BadReply(f"{turn_id}: the reply is empty.", hint="answer the turn's brief")


def parse_reply(
    debate: DebateState, turn: Turn, reply: Reply, code: Code | None, *, last: bool = False
) -> Spoke | Declined | Voted:
    """The event that a reply amounts to. `code` is that of the brief that it answers. A reply after which no other is
    asked for is the `last`: it is not sent back for its shortcomings alone, nor is a person's, who is told of them
    before handing it in. Raises BadReply, with every complaint, if it can't be used."""
    recorded = reply.recorded
    if code is not None:
        code = code.model_copy(update={"text": reply.code or code.text}) if needs_code(reply.by) else None
    reply, shape = stored(reply), debate.shape(turn)
    if recorded is not None and recorded.complaints:
        raise BadReply(recorded.complaints)
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
    texts = shown(debate, turn, code) if code is not None and recorded is None else None
    if recorded is not None and recorded.ballot is not None:
        found = [(recorded.ballot, list(recorded.changes))]
    else:
        found = _found(turn.id, reply.text, code, texts)
    improvable = recorded is None and not last and reply.by != model_spec.HUMAN
    ballot, changes = _read(debate, turn, shape, found, texts, improvable=improvable)
    return Voted(turn=turn.id, ballot=ballot, reply=reply, changes=tuple(changes))


def _read(
    debate: DebateState, turn: Turn, shape: Shape, objects: list[Found], texts: Shown | None, *, improvable: bool
) -> tuple[dict[str, Any], list[str]]:
    """A structured reply in the shape asked for, from the objects that are it, and what was changed to read it. With
    the `texts` that its writer was shown, it is read as one that may quote them."""
    whole = texts is not None
    terms, sides = schedule.terms(debate, turn), _sides(debate, turn)
    names, called = fields_asked(shape, terms), (turn.phase.reply, turn.phase.name)
    readings: list[tuple[Any, list[str]]] = []
    quoted = _quoted_keys(texts) if texts is not None else ()
    repaired = whole and any(QUOTES_REPAIRED in changes for _, changes in objects)
    for found, changes in objects:
        bare, wrapped = unwrapped(found, names, called)
        ballot, more = normalize(shape, bare, terms, sides, whole=whole, closed=repaired, quoted=quoted)
        readings.append((ballot, [*changes, *wrapped, *more]))
    if any(ballot != readings[0][0] for ballot, _ in readings):
        problem = f"{turn.id}: the reply holds {len(readings)} JSON objects with the code, and they differ."
        raise BadReply(problem, hint="reply with the JSON object alone")
    ballot, changes = readings[0]
    if complaints := check(shape, ballot, terms):
        complaints += [f"a text may end too early. Try: {ESCAPE}."] if whole else []
        raise BadReply([f"{turn.id}: {complaint}" for complaint in complaints])
    # Asked once only: what its writer leaves as it is has its shape, and the report says what is wrong with it.
    first = turn.role == RAPPORTEUR and improvable and not decision.was_sent_back(debate, turn)
    if first and (found := decision.shortcomings(debate, turn, ballot)):
        raise Shortcomings(decision.complaints(turn, found))
    return ballot, changes


def _quoted_keys(texts: Shown) -> frozenset[str]:
    """The phrases that what a turn was shown has as keys of JSON. Where a judge repeats them with their quotation
    marks, they may end a text of its reply, and begin other fields."""
    plain = (_ESCAPED.sub(lambda found: chr(int(found[1], 16)), " ".join(text.split())) for text in texts.texts)
    return frozenset(phrase(found[1]) for text in plain for found in _QUOTED_KEY.finditer(text))


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
    return _found(where, text, None)[0][0]


def _found(where: str, text: str, code: Code | None, texts: Shown | None = None) -> list[Found]:
    """The objects in a reply that are its writer's own: those with the code, or the only one if no code is needed. None
    of them may have copied JSON from the `texts` that its writer was shown."""
    try:
        found = {text: find_object(text)} if code is None else find_own(text, code)
    except PrivateAlone:
        if code is None:
            raise _private_alone(where) from None
        problem = f"{where}: what you reply stands in private working."
        raise BadReply(problem, hint="close the marks of the working, and write the JSON object after them") from None
    except ValueError as error:
        problem = f"{where}: the reply is not JSON ({error}): {short_repr(text.strip(), 40)}."
        hint = "reply with the JSON object alone" + (f", and {ESCAPE}" if code else "")
        raise BadReply(problem, hint=hint) from None
    if not found and code is not None:
        if not _holds_object(text):
            problem = f"{where}: the reply is not JSON: {short_repr(text.strip(), 40)}."
            hint = f"reply with one JSON object alone, with {code.entry} first in it, and {code.end_entry} last"
            raise BadReply(problem, hint=hint)
        problem = f"{where}: no JSON object in the reply has the code of this turn twice."
        raise BadReply(problem, hint=f"put {code.entry} first into the object, and {code.end_entry} last")
    if texts is not None and any(texts.is_copied(written) for written in found):
        problem = f"{where}: the reply quotes a text with quotation marks that are not escaped."
        raise BadReply(problem, hint=ESCAPE)
    return [*found.values()]


def _holds_object(text: str) -> bool:
    try:
        return isinstance(find_object(text)[0], dict)
    except ValueError:
        return "{" in text
