"""The rules by which speeches are read: what other seats hear of one, and which reserved lines in it count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from debate_orchestrator.core.events import SPEECH_RULES, Declined, Spoke, StructuredReplyGiven
from debate_orchestrator.core.phases import Phase, Turn
from debate_orchestrator.core.private_text import may_be_quoting, without_private
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.reserved_line import ends_with_line
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.visible_text import Quote, VisibleText, make_visible, writes_lines_for
from debate_orchestrator.util.sanitize import sanitize

_WORD = re.compile(r"[^\W_]+")


def visible_speech(debate: DebateState, turn: Turn) -> VisibleText:
    """What others hear of the speech of a turn."""
    found = debate.speeches.get(turn.id)
    return visible_text(debate, debate.reply(turn).text, turn.phase) if found is None else found


def visible_text(debate: DebateState, text: str, phase: Phase | None = None) -> VisibleText:
    """The part of a text that others hear, cut to the length of `phase` if there is one."""
    format, context_texts = debate.format, [file.text for file in debate.opened.context]
    return make_visible(
        text,
        phase,
        private=format.private,
        quotes=format.quotes,
        context_texts=context_texts,
        model_tags=debate.knows_model_tags,
    )


def visible_fields(debate: DebateState, fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Quote, ...]]:
    """A structured reply with each of its texts as others hear it, and the quotes in them."""
    quotes = list[Quote]()

    def heard(value: Any) -> Any:
        if isinstance(value, str):
            text = visible_text(debate, value)
            quotes.extend(text.quotes)
            return text.text
        if isinstance(value, list):
            return [heard(item) for item in value]
        return {name: heard(item) for name, item in value.items()} if isinstance(value, Mapping) else value

    return {name: heard(value) for name, value in fields.items()}, tuple(quotes)


def visible_as_quoted(debate: DebateState, text: str, phase: Phase | None = None) -> VisibleText:
    """What others hear of a text, with quotes in the tags that the speaker wrote: none is looked up."""
    return make_visible(text, phase, private=debate.format.private, model_tags=debate.knows_model_tags)


def without_private_working(debate: DebateState, text: str) -> str:
    """A reply without its private working."""
    return without_private(sanitize(text), debate.format.private, model_tags=debate.knows_model_tags)


def concedes(debate: DebateState, turn: Turn, reply: Reply) -> bool:
    """Whether a side's speech concedes the debate by the line that is reserved for that."""
    return turn.speaking and says(debate, debate.format.lines.concede, turn, reply)


def says(debate: DebateState, line: str, turn: Turn, reply: Reply) -> bool:
    """Whether a speech says a reserved line, as others hear it: as its own last line, if nothing cut it short and
    no private working may be a quotation; under the first rules, on any line."""
    spoken = visible_as_quoted(debate, reply.text, turn.phase)
    if debate.opened.speech_rules == 1:
        return line in spoken.text and any(found.strip() == line for found in spoken.text.split("\n"))
    if reply.ended == "cut" or spoken.dropped or not ends_with_line(spoken.text, line):
        return False
    others = [debate.format.seats[side].name for side in debate.format.sides if side != turn.seat]
    if writes_lines_for(spoken.text, others):
        return False
    return not may_be_quoting(sanitize(reply.text), debate.format.private, model_tags=debate.knows_model_tags)


def ignored_line(debate: DebateState, turn: Turn, reply: Reply) -> str | None:
    """The reserved line that stands alone on a line of a speech, in any case and punctuation, and does not count. None
    if one counts, and under the first version of the rules, which had no such remark."""
    if debate.opened.speech_rules < SPEECH_RULES or not turn.speaking or turn.phase.reply != "text":
        return None
    reserved = (debate.format.lines.concede, debate.format.lines.decline)
    text = without_private_working(debate, reply.text).casefold()
    alone = next((line for line in reserved if _alone(line).search(text)), None)
    if alone is None or any(says(debate, line, turn, reply) for line in reserved):
        return None
    return alone


@lru_cache(maxsize=64)
def _alone(line: str) -> re.Pattern[str]:
    """What finds a line with the words of that one, whatever stands between and around them, in small letters. A line
    without words, as formats had before it was refused, is never found: any blank line would be it."""
    between = r"(?:[^\w\n]|_)"
    words = f"{between}++".join(map(re.escape, _WORD.findall(line.casefold())))
    return re.compile(f"^{between}*+{words}{between}*+$" if words else "(?!)", re.MULTILINE)


def declined(debate: DebateState, turn_id: str) -> bool:
    """Whether a side declined to argue in a turn: in a speech, or in a structured reply."""
    reply_event = debate.replies.get(turn_id)
    if isinstance(reply_event, Declined):
        return True
    seat = turn_id.rpartition(".")[2]
    return (
        isinstance(reply_event, StructuredReplyGiven)
        and seat in debate.format.sides
        and reply_event.data.get("refused") is True
    )


def writes_for_the_other(debate: DebateState, turn: Turn) -> bool:
    """Whether a speech has lines for the other side in it, where the format forbids that."""
    if "other's lines" not in debate.format.forbids or not isinstance(debate.replies.get(turn.id), Spoke):
        return False
    names = [debate.format.seats[side].name for side in debate.format.sides if side != turn.seat]
    return writes_lines_for(visible_speech(debate, turn).text, names)
