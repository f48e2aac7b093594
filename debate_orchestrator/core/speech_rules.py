"""The rules by which speeches are read: what other seats hear of one, and which reserved lines in it count.

A reserved line counts only as a speech's own last line: neither quoted, nor shown, nor only introduced. The rule errs
on the safe side: a concession that is missed costs a turn, a forged one costs the debate. The line counts as the whole
speech, or below a blank line where all of this holds of the text above it:

Code         every fence is closed, and every backtick is part of a code span on one line
Markup       nothing outside code could be a tag, a comment or a directive (`<q>`, `<!--`, `:::`, `[quote]`)
Quotations   every quotation mark and bracket that is opened is closed
Lines        none is a heading, nothing but bold, begins with `[`, is given to a side or announces another one
Sentences    the last words end a sentence, with a full stop, question mark or exclamation mark, not an ellipsis
Private      no closing tag alone made text above it private
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from typing import Any

from debate_orchestrator.core.events import Declined, Spoke, StructuredReplyGiven
from debate_orchestrator.core.phases import Phase, Turn
from debate_orchestrator.core.private_text import code_blocks, public_text, without_private
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.visible_text import Quote, VisibleText, make_visible, writes_lines_for
from debate_orchestrator.util.redact import map_leaves
from debate_orchestrator.util.sanitize import sanitize

_WORD = re.compile(r"[^\W_]+")
_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)[^`\n]+\1(?!`)")
_MARKUP = re.compile(
    r"<[A-Za-z/!?]|^[ \t>]*(?::::|\[/?(?:quote|cite|code|spoiler)\b)|\\begin\b", re.MULTILINE | re.IGNORECASE
)
_UNSURE_FENCE = re.compile(r"^(?:[ \t>*+-]+(?:```|~~~)|(?:```|~~~).*\|)", re.MULTILINE)
"""A fence of a list or a quotation, or the head of a table: readers differ in what it is."""
_STRAIGHT = re.compile(r"(?<!\d)[\"＂″]|\"(?=\w)|''")  # behind a digit it means inches
_EITHER_WAY = ("«»", "‹›", "❝❞", "❛❜")
"""Marks that open in some languages and close in others, or have no kind in Unicode."""
_NOT_PAIRED = set("‘‚‛’«»‹›")
"""Marks that are counted by themselves: an apostrophe looks like one."""
_SINGLE = re.compile(r"(?P<opens>(?<!\w)['‚‛](?=[^\W\d])|(?<![\w.!?,])‘(?=\w))|['’](?!\w)|(?<=[\w.!?,])‘")
"""A single quotation mark that opens or closes. An apostrophe within a word or before a year does neither."""
_SIGNS = r"(?:[^\w\n]|_)*+"
_LABEL = re.compile(
    rf"^{_SIGNS}\w[\w ().-]{{0,40}}:{_SIGNS}$|^{_SIGNS}(?:pro|con|[ab]|side [ab])\b[^.!?\n]{{0,40}}:"
    r"|^[ \t>+\-\d.)]*+(?:\*[ \t]+)?(?:#|\[|(?:\*\*|__)(?!\s).*(?:\*\*|__)[ \t]*$)"
    r"|^[ \t>]*\w.*\n[ \t>]*(?:=+|-+)[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that announces what follows or gives it to a side: a label, a heading, a line of bold or one in brackets."""
_CLOSES = {"(": ")", "[": "]", "{": "}", "“": "”", "「": "」", "『": "』", "《": "》", "（": "）"}
_EMPHASIS = re.compile(r"[*_~]+")
_LAST_SENTENCE = re.compile(r"(?<![.。…])[.!?。！？।؟։][\s\"'”’»)\]›」』》]*(?:\[\^?\d{1,4}\]\s*)*\Z")


# What others hear


def visible_speech(debate: DebateState, turn: Turn) -> VisibleText:
    """What others hear of the speech of a turn."""
    visible = debate.speeches.get(turn.id)
    return visible_text(debate, debate.reply(turn).text, turn.phase) if visible is None else visible


def visible_text(debate: DebateState, text: str, phase: Phase | None = None) -> VisibleText:
    """The part of a text that others hear, cut to the length of `phase` if there is one."""
    format, context_texts = debate.format, [file.text for file in debate.opened.context]
    return make_visible(text, phase, private=format.private, quotes=format.quotes, context_texts=context_texts)


def visible_fields(debate: DebateState, fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Quote, ...]]:
    """A structured reply with each of its texts as others hear it, and the quotes in them."""
    quotes = list[Quote]()

    def heard(leaf: Any) -> Any:
        if not isinstance(leaf, str):
            return leaf
        text = visible_text(debate, leaf)
        quotes.extend(text.quotes)
        return text.text

    return {name: map_leaves(value, heard) for name, value in fields.items()}, tuple(quotes)


def visible_as_quoted(debate: DebateState, text: str, phase: Phase) -> VisibleText:
    """What others hear of a text, with quotes in the tags that the speaker wrote: none is looked up."""
    return make_visible(text, phase, private=debate.format.private)


def without_private_working(debate: DebateState, text: str) -> str:
    """A reply without its private working."""
    return without_private(sanitize(text), debate.format.private)


def without_private_fields(debate: DebateState, fields: Any) -> Any:
    """A structured reply without the private working in its texts. Only pairs of tags count there: one alone is a
    word about tags."""

    def public(leaf: Any) -> Any:
        text = public_text(sanitize(leaf), debate.format.private) if isinstance(leaf, str) else None
        return text.text if text is not None and text.private and text.text and not text.restarted else leaf

    return map_leaves(fields, public)


def has_declined(debate: DebateState, turn_id: str) -> bool:
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
    return writes_lines_for(visible_speech(debate, turn).text, _names_of_others(debate, turn))


def _names_of_others(debate: DebateState, turn: Turn) -> list[str]:
    return [debate.format.seats[side].name for side in debate.format.sides if side != turn.seat]


# Reserved lines


def concedes(debate: DebateState, turn: Turn, reply: Reply) -> bool:
    """Whether a side's speech concedes the debate by the line that is reserved for that."""
    return turn.speaking and says(debate, debate.format.lines.concede, turn, reply)


def says(debate: DebateState, line: str, turn: Turn, reply: Reply) -> bool:
    """Whether a speech says a reserved line: as its own last line, if nothing cut it short."""
    text = sanitize(reply.text)
    visible = visible_as_quoted(debate, reply.text, turn.phase)
    if reply.ended == "cut" or visible.dropped or not text.rstrip().endswith(line):
        return False
    if public_text(text, debate.format.private).restarted or not ends_with_line(visible.text, line):
        return False
    return not writes_lines_for(visible.text, _names_of_others(debate, turn))


def ignored_line(debate: DebateState, turn: Turn, reply: Reply) -> str | None:
    """The reserved line that stands alone on a line of a speech, in any case and punctuation, and does not count. None
    if one counts."""
    if not turn.speaking or turn.phase.reply != "text":
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
    without words is never found: any blank line would be it."""
    between = r"(?:[^\w\n]|_)"
    words = f"{between}++".join(map(re.escape, _WORD.findall(line.casefold())))
    return re.compile(f"^{between}*+{words}{between}*+$" if words else "(?!)", re.MULTILINE)


def ends_with_line(text: str, line: str) -> bool:
    """Whether a sanitized text ends with that line, in a paragraph of its own and not as a quotation."""
    above, _, last = text.rstrip(" \t\n").rpartition("\n")
    if last.removeprefix(" ") != line or above.rpartition("\n")[2].strip(" \t"):
        return False
    if _UNSURE_FENCE.search(above):
        return False
    prose = _CODE_SPAN.sub("x", _without_code_blocks(above))
    bare = unescape(prose)
    if "`" in bare or "~~~" in bare or _MARKUP.search(bare) or _LABEL.search(bare):
        return False
    lines = prose.split("\n")
    words = _EMPHASIS.sub("", next((each for each in reversed(lines) if re.search(r"\w", each)), "So."))
    return bool(_LAST_SENTENCE.search(words[-200:])) and _closes_all(bare)


def _without_code_blocks(text: str) -> str:
    parts, at = list[str](), 0
    for start, end in code_blocks(text):
        parts.append(text[at:start])
        at = end
    return "".join((*parts, text[at:]))


def _closes_all(text: str) -> bool:
    """Whether every quotation mark and bracket that is opened is closed, in the order in which they were opened."""
    if len(_STRAIGHT.findall(text)) % 2 or any(sum(map(text.count, marks)) % 2 for marks in _EITHER_WAY):
        return False
    single = 0
    for mark in _SINGLE.finditer(text):
        single = single + 1 if mark["opens"] else max(0, single - 1)
    if single:
        return False
    opened = list[str]()
    for char in text:
        if char in _NOT_PAIRED or char.isalnum():
            continue
        kind = unicodedata.category(char)
        if opened and (kind in ("Pe", "Pf") or (opened[-1] in "„‟" and char == "“")):
            if _CLOSES.get(opened[-1], char) == char or opened[-1] in "„‟":
                opened.pop()
        elif kind in ("Ps", "Pi"):
            opened.append(char)
    return not opened
