"""From a reply to an event. `briefs` is the other half, from a turn to the brief that the reply answers.

A speech is taken as it is. A structured reply is read in three steps: `json_object` finds the object with the turn's
code in what was said, `normalize` reads its values, and `check` rejects what then does not have the shape asked for,
with all problems at once. What the first two changed is recorded beside the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from debate_orchestrator.core import rapporteur, schedule, speech_rules, tally
from debate_orchestrator.core.events import Declined, Rejected, Spoke, StructuredReplyGiven
from debate_orchestrator.core.phases import JUDGE, RAPPORTEUR, TIE, Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.shape import Shape, fields_asked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.verdict import leader, read_ballot, score_totals
from debate_orchestrator.core.visible_text import VisibleText
from debate_orchestrator.prompting.json_object import (
    FoundObject,
    NoCode,
    NotAlone,
    OnlyPrivateReasoning,
    find_object,
    with_backslashes,
)
from debate_orchestrator.prompting.normalize import (
    NormalizedReply,
    SideWords,
    normalize,
    outcome_words,
    phrase,
    phrase_with_signs,
    unwrap,
)
from debate_orchestrator.prompting.reply_code import ReplyCode, needs_code
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadReply, ReplyCouldBeBetter, first_few, short_repr
from debate_orchestrator.util.numbers import plural

MAX_SIZE = 256 * 1024
"""Bytes that a reply may have: about 40,000 words, eighty times what any phase asks for."""

_PER_WORD, _AT_LEAST = 50, 2_000
"""Characters of a speech for each word of the limit, or in any case: more than any language needs."""
_SURROGATES = re.compile("[\ud800-\udfff]")


def decode(turn_id: str, data: bytes) -> str:
    """The text of a reply that came as bytes. Raises BadReply if it is empty, too long or not text."""
    if len(data) > MAX_SIZE:
        problem = f"{turn_id}: the reply has {len(data):,} bytes; at most {MAX_SIZE:,} are taken."
        raise BadReply(problem, hint="shorten it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadReply(f"{turn_id}: the reply is not UTF-8 text (at offset {error.start}).") from None
    if (place := data.find(0)) >= 0:  # as in a binary file, or in one that a crash left with its size alone
        raise BadReply(f"{turn_id}: the reply is not text (a NUL byte at offset {place}).")
    _check_text(turn_id, text)
    return text


def as_stored(reply: Reply) -> Reply:
    """A reply as a journal holds it: half surrogate pairs are replaced, and what only its reading needs is left out."""
    text = _SURROGATES.sub("\ufffd", reply.text)
    return reply.model_copy(update={"text": text, "received_chars": None, "asked_code": None, "recorded_reading": None})


def _check_text(turn_id: str, text: str) -> None:
    if len(text) > MAX_SIZE:
        raise BadReply(f"{turn_id}: the reply has {len(text):,} characters; at most {MAX_SIZE:,} bytes are taken.")
    if not text.strip():
        raise BadReply(f"{turn_id}: the reply is empty.", hint="answer the turn's brief")


def parse_reply(
    debate: DebateState, turn: Turn, reply: Reply, code: ReplyCode | None, *, last: bool = False
) -> Spoke | Declined | StructuredReplyGiven:
    """The event that a reply amounts to. `code` is the code of the brief that the reply answers. Raises BadReply, with
    every problem, if the reply can't be used. A rapporteur's usable reply is sent back once for its quality, unless it
    is the `last` that is asked for, and a short speech for its length; but no person's, who was shown the problems."""
    recorded_reading = reply.recorded_reading
    if code is not None:
        expected = {"text": reply.asked_code} if reply.asked_code else {}
        code = code.model_copy(update=expected) if needs_code(reply.spec) else None
    reply, shape = as_stored(reply), debate.shape(turn)
    if recorded_reading is not None and recorded_reading.problems:
        raise BadReply(recorded_reading.problems)
    if turn.speaking and (reply.ended == "refused" or (recorded_reading is not None and recorded_reading.declined)):
        return Declined(turn_id=turn.id, reply=reply)
    _check_text(turn.id, reply.text)
    if shape is None:
        speech = speech_rules.visible_before_lookup(debate, reply.text, turn.phase)
        if recorded_reading is not None:  # it was taken when it was recorded
            _check_not_blank(debate, turn, speech)
            return Spoke(turn_id=turn.id, reply=reply, concedes=recorded_reading.concedes and turn.speaking)
        _check_size(turn, speech)
        lines, code_text = debate.format.reserved_lines, code.text if code else ""
        if turn.speaking and speech_rules.has_reserved_line(debate, lines.decline, turn, reply, code_text):
            return Declined(turn_id=turn.id, reply=reply)
        _check_not_blank(debate, turn, speech)
        if reply.spec != model_spec.HUMAN:
            _check_min_words(debate, turn, speech)
        concedes = turn.speaking and speech_rules.has_reserved_line(debate, lines.concede, turn, reply, code_text)
        return Spoke(turn_id=turn.id, reply=reply, concedes=concedes)
    if reply.ended == "cut":
        hint = "reply with the JSON object alone, and more briefly"
        raise BadReply(f"{turn.id}: the reply was cut short by a limit of tokens.", hint=hint)
    stored = recorded_reading if recorded_reading is not None and recorded_reading.data is not None else None
    json_object = (stored.data, list(stored.changes)) if stored else _find_object(turn.id, reply.text, code)
    reading = _normalize_object(debate, turn, shape, json_object, is_stored=stored is not None)
    problems = check(shape, reading.value, schedule.shape_context(debate, turn))
    if not problems and _is_winner_behind(debate, turn, reading.value):
        problems = [*_short_word_problems(debate, reading)]
    if problems:
        raise BadReply([*first_few((f"{turn.id}: {problem}" for problem in problems), turn.id)])
    if recorded_reading is None and not last and reply.spec != model_spec.HUMAN:
        _check_quality(debate, turn, reading.value)
    side_of = debate.mirror.side if turn.mirrored else str
    short_words = stored.short_words if stored else {word: side_of(side) for _, word, side in reading.short_words}
    changes = tuple(reading.changes)
    return StructuredReplyGiven(
        turn_id=turn.id, data=reading.value, reply=reply, changes=changes, short_words=short_words
    )


def rejected_event(turn: Turn, reply: Reply, error: BadReply, *, absent: bool = False) -> Rejected:
    """The event for a reply that is rejected with this error."""
    could_be_better = isinstance(error, ReplyCouldBeBetter)
    problems = tuple(error.problems)
    return Rejected(turn_id=turn.id, problems=problems, reply=reply, absent=absent, could_be_better=could_be_better)


def _normalize_object(
    debate: DebateState, turn: Turn, shape: Shape, json_object: FoundObject, *, is_stored: bool
) -> NormalizedReply:
    """The reading of a structured reply from the object that was found in it, or that is stored in a journal."""
    shape_context, (value, changes) = schedule.shape_context(debate, turn), json_object
    bare, wrapped = unwrap(value, fields_asked(shape, shape_context), (turn.phase.reply, turn.phase.name))
    public = bare if is_stored else speech_rules.without_private_at_start(debate, bare)
    private = ["private reasoning in the texts left out"] if public != bare else []
    reading = normalize(shape, public, shape_context, side_words(debate, mirrored=turn.mirrored))
    return reading._replace(changes=[*changes, *wrapped, *private, *reading.changes])


def _short_word_problems(debate: DebateState, reading: NormalizedReply) -> Iterator[str]:
    """A sentence for each field that was decided by words which may not mean a side (`SideWords.short_words`), of a
    ballot whose winner has fewer points."""
    sides = " or ".join(debate.format.sides)
    for field in ("winner", "scores"):
        if words := ", ".join(short_repr(word) for where, word, _ in reading.short_words if where == field):
            yield f"{field}: the winner has fewer points, and {words} may mean what is debated; write {sides}."


def _check_quality(debate: DebateState, turn: Turn, structured: dict[str, Any]) -> None:
    """Raises ReplyCouldBeBetter for a rapporteur's reply that has its shape and should be better. A better one is
    asked for only once; after that the reply counts, and the report shows its problems."""
    first = turn.role == RAPPORTEUR and not rapporteur.was_sent_back(debate, turn)
    if first and (problems := rapporteur.quality_problems(debate, turn, structured)):
        raise ReplyCouldBeBetter([*first_few((f"{turn.id}: {problem}" for problem in problems), turn.id)])


def _is_winner_behind(debate: DebateState, turn: Turn, ballot: Mapping[str, Any]) -> bool:
    """Whether a valid ballot declares a winner that has fewer points on it, or on all ballots of the judge so far."""
    sides = debate.format.sides
    if turn.role != JUDGE or ballot.get("winner") not in sides:
        return False
    if "scores" in ballot:
        scores = read_ballot(ballot, sides, debate.weights, {}).scores
    else:
        own_ballots = [earlier.id for earlier in schedule.own_ballot_turns(debate, turn)]
        totals = score_totals(tally.results_of(debate, own_ballots), sides)
        scores = debate.mirror.swapped(totals) if turn.mirrored else totals
    return leader(scores) not in (ballot["winner"], TIE)


_PUNCTUATION = re.compile(
    r"""[,;:.](?=["”’')»]*(?:\s|\Z))|[，、。；：]|(?<=[^\W\d_])[-—’'/](?=[^\W_])|(?<=[^\W_])[-—’'/](?=[^\W\d_])"""
    r"""|(?<=\s)[-–—](?=\s)(?!\s+[\d¼-¾⅐-⅞])|\((?!\d[\d.,]*\))|[)“‘«»]|(?<!\d)["'”’]"""
)
"""The punctuation of a sentence, in its place. Any other sign is part of a name or number: without it `C++` would be
`C`, and `-5` would be `5`."""


def side_words(debate: DebateState, *, mirrored: bool = False) -> SideWords:
    """The words for sides in a structured reply. One may mean the other side, or what is debated. Where that could have
    any word for a side, only a position, a name with its label, and a name that is not debated are sure. Tags are words
    of any kind."""
    format, positions, in_doubt = debate.format, debate.opened.settings.positions, debate.plan.words_in_doubt
    meanings, sure_texts = dict[str, str](), set[str]()
    for side in format.sides:
        actual_side = debate.mirror.side(side) if mirrored else side
        name, label, tag = format.name_of(side), format.seats[actual_side].label, format.seats[side].tag
        words = {name, side, f"side {side}", *((label, f"{label} side", f"{label} {name}") if label else ())}
        sure = ({name} - in_doubt) | ({f"{name} {label}"} if label else set())
        position = positions[actual_side]
        sure |= set() if re.search(r"[^\w\s]|_", _PUNCTUATION.sub("", position)) else {position}
        sure_meanings = {phrase(text): side for text in sure} | {phrase_with_signs(position): side}
        sure_texts |= sure_meanings.keys()
        own = {phrase(tag): ""} | {phrase(text): "" if in_doubt else side for text in words} | sure_meanings
        meanings |= {text: meaning if meanings.get(text, meaning) == meaning else "" for text, meaning in own.items()}
    own_words = {text for position in positions.values() for text in (phrase(position), phrase_with_signs(position))}
    meanings |= dict.fromkeys(outcome_words(debate.opened.settings.topic, own_words), "")
    meanings.pop("", None)
    return SideWords(meanings, meanings.keys() - sure_texts, own_words)


def _check_size(turn: Turn, speech: VisibleText) -> None:
    """Raises BadReply for a speech of far more characters than its words need: all who speak later would read them."""
    size, max_words = len(speech.text), turn.phase.max_words
    if max_words is not None and size > (max_size := max(_AT_LEAST, _PER_WORD * max_words)):
        problem = f"{turn.id}: the speech has {size:,} characters in {plural(speech.words, 'word')}"
        raise BadReply(
            f"{problem}; at most {max_size:,} characters are taken.", hint="leave out spaces and line breaks"
        )


def _check_not_blank(debate: DebateState, turn: Turn, speech: VisibleText) -> None:
    """Raises BadReply for a speech with nothing that others can hear."""
    if not speech.text.strip() and not speech.had_private:
        raise BadReply(f"{turn.id}: the speech has no visible character.")
    if not speech.text.strip():
        raise _only_private_reasoning(turn.id, debate.format.private_tag)


def _check_min_words(debate: DebateState, turn: Turn, speech: VisibleText) -> None:
    """Raises ReplyCouldBeBetter for a speech that is too short, once: a seat that has no more to say keeps it."""
    words, min_words = speech.words + speech.dropped, turn.phase.min_words
    if min_words is not None and words < min_words and not debate.rejected_replies(turn.id):
        problem = f"{turn.id}: the speech has {plural(words, 'word')}; at least {min_words} are needed."
        raise ReplyCouldBeBetter(problem, hint="make the argument")


def _only_private_reasoning(where: str, tag: str = "") -> BadReply:
    tags, pronoun = (f"<{tag}> tag", "it") if tag else ("tags of the reasoning", "them")
    hint = f"close the {tags}, and write the reply after {pronoun}"
    return BadReply(f"{where}: the reply has no text outside private reasoning.", hint=hint)


def parse_structured(where: str, text: str) -> Any:
    """The JSON object in a reply. Raises BadReply if there is none that can be read without a guess."""
    _check_text(where, text)
    return _find_object(where, with_backslashes(text)[0], None)[0]


def _find_object(where: str, text: str, code: ReplyCode | None) -> FoundObject:
    """The object in a reply that is its writer's own, without the code of the turn."""
    hint = "reply with the JSON object alone"
    if code is not None:
        hint = f"put {code.entry} first into the object, and {code.end_entry} last"
    try:
        escaped, backslashes = with_backslashes(text) if code else (text, [])  # people's texts are escaped
        value, changes = find_object(escaped, code)
    except OnlyPrivateReasoning:
        raise _only_private_reasoning(where) from None
    except NotAlone as error:
        raise BadReply(f"{where}: {error}, and so does not count.", hint="reply with the JSON object alone") from None
    except NoCode as error:
        which = f": `{error}` is missing or wrong" if str(error) else ""
        problem = f"{where}: the reply has no JSON object with the code of this turn at both ends{which}."
        raise BadReply(problem, hint=hint) from None
    except ValueError as error:
        problem = f"{where}: the reply is not JSON ({error}): {short_repr(text.strip(), 40)}."
        raise BadReply(problem, hint=f"{hint}; escape the quotation marks inside texts") from None
    return value if code is None else code.removed_from(value), [*backslashes, *changes]
