"""The rules by which speeches are read: what other seats hear of one, and which reserved lines in it count.

A reserved line counts only as a speech's own last line, in a paragraph of its own: not in a code block, a quotation, a
comment or private reasoning, not after a colon, and in no speech that is cut short. If a seat is shown its lines with a
reply code, only a line with that code counts. No other text has it, so a line that a side quotes or repeats decides
nothing. People and stand-ins have no reply code: their line does not count after an open quotation mark either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from debate_orchestrator.core.events import Declined, Spoke, StructuredReplyGiven
from debate_orchestrator.core.phases import Phase, Turn
from debate_orchestrator.core.private_text import (
    PublicText,
    public_text,
    with_code_blanked,
    without_end_of_message,
    without_leading_pair,
)
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.visible_text import (
    Quote,
    VisibleText,
    make_visible,
    mark_quotes,
    writes_lines_by_earlier_rule,
    writes_lines_for,
)
from debate_orchestrator.util.redact import map_leaves
from debate_orchestrator.util.sanitize import sanitize

_WORD = re.compile(r"[^\W_]+")
_REPLY_CODE = re.compile(
    r"[ \xa0]{0,2}(?:\*\*\[\w{1,12}\]\*\*|\[\w{1,12}\]|`\[\w{1,12}\]`|\\\[\w{1,12}\\\])\.?(?P<emphasis>[*_]{0,3})\.?"
    r"(?P<tag>\s*</(?:answer|response)>)?\Z"
)
"""A possible reply code, at the end of a speech."""
_FENCE = re.compile(r"^[ \t>*+-]*(?:```|~~~)", re.MULTILINE)
_CITATION_FIELDS = ("url", "quote")
"""The fields of what a side cites, as a clerk looks it up."""
_QUOTATION_MARKS = ('"', "“”„‟", "＂", "«»", "‹›", "「」", "『』", "《》", "〝〞〟")
"""Marks of quotations, by kind. Of each kind one opens and the next one closes."""
_SINGLE_MARK = re.compile(r"(?P<opening>(?<!\w)[‘‚](?=\S)|(?<![\w'])''(?=\w))|[’‘](?!\w)|(?<=[^\s'])''(?!')")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_QUOTING_TAG = re.compile(r"<(/?)(blockquote|code|details|pre|q|quote|samp|template|textarea|xmp)\b", re.IGNORECASE)
"""Tags around what is quoted, shown as code or folded away."""


# What others hear


def visible_speech(debate: DebateState, turn: Turn) -> VisibleText:
    visible = debate.speeches.get(turn.id)
    return visible_text(debate, debate.reply(turn).text, turn.phase) if visible is None else visible


def visible_text(debate: DebateState, text: str, phase: Phase | None = None) -> VisibleText:
    """The part of a text that others hear, cut to the length of `phase` if there is one."""
    format, context_texts = debate.format, [file.text for file in debate.opened.context]
    return make_visible(_public(debate, text), phase, quotes=format.quotes, context_texts=context_texts)


def visible_fields(debate: DebateState, fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Quote, ...]]:
    """A structured reply with each of its texts as others hear it, sanitized and whole, and the quotes in them."""
    quotes, context_texts = list[Quote](), [file.text for file in debate.opened.context]

    def heard(leaf: Any) -> Any:
        if not isinstance(leaf, str):
            return leaf
        text, quotes_in_text = mark_quotes(sanitize(leaf), debate.format.quotes, context_texts)
        quotes.extend(quotes_in_text)
        return text

    return {name: map_leaves(value, heard) for name, value in fields.items()}, tuple(quotes)


def visible_before_lookup(debate: DebateState, text: str, phase: Phase) -> VisibleText:
    """A text as others hear it, with quotes in the tags that the speaker wrote: none is looked up."""
    return make_visible(_public(debate, text), phase)


def without_private_reasoning(debate: DebateState, text: str) -> str:
    """A speech without what its speaker thought."""
    return _public(debate, text).text


def _public(debate: DebateState, text: str) -> PublicText:
    """The part of a speech that is meant for others. If the speeches are already those that others heard, it is all of
    it: to remove private reasoning again could take words of the speech."""
    earlier, text = debate.opened.earlier_debate, sanitize(text)
    return PublicText(text) if earlier and earlier.speeches_as_heard else public_text(text, debate.format.private_tag)


def without_private_at_start(debate: DebateState, fields: Any) -> Any:
    """A structured reply without pairs of private tags at the start of its texts; what a side cites stays."""

    def without_pair(leaf: Any) -> Any:
        text = sanitize(leaf) if isinstance(leaf, str) else ""
        bare = without_leading_pair(text, debate.format.private_tag)
        return leaf if bare == text else bare

    if not isinstance(fields, Mapping):
        return map_leaves(fields, without_pair)
    return {
        name: value if name in _CITATION_FIELDS else map_leaves(value, without_pair) for name, value in fields.items()
    }


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
    spoke = isinstance(debate.replies.get(turn.id), Spoke)
    return spoke and _writes_for_the_other(debate, turn, visible_speech(debate, turn).text)


def _writes_for_the_other(debate: DebateState, turn: Turn, text: str) -> bool:
    return "other's lines" in debate.format.forbids and writes_lines_for(text, _names_of_others(debate, turn))


def _names_of_others(debate: DebateState, turn: Turn) -> list[str]:
    return [debate.format.seats[side].name for side in debate.format.sides if side != turn.seat]


# Reserved lines


def concedes(debate: DebateState, turn: Turn, event: Spoke) -> bool:
    """Whether a speech concedes the debate: as its event says, or, in journals of earlier versions, by its text."""
    if event.concedes is not None:
        return event.concedes and turn.speaking
    visible = visible_before_lookup(debate, event.reply.text, turn.phase)
    return (
        turn.speaking
        and _last_line(sanitize(event.reply.text)) == _last_line(visible.text)
        and _ends_with_line(debate, debate.format.reserved_lines.concede, visible, event.reply)
        and not writes_lines_by_earlier_rule(visible.text, _names_of_others(debate, turn))
    )


def has_reserved_line(debate: DebateState, line: str, turn: Turn, reply: Reply, code: str = "") -> bool:
    """Whether a speech says a reserved line, with the `code` of its turn, as its last line and uncut. Where the format
    forbids lines for the other side, a speech with such lines says none."""
    visible = visible_before_lookup(debate, reply.text, turn.phase)
    return _ends_with_line(debate, line, visible, reply, code) and not _writes_for_the_other(debate, turn, visible.text)


def _ends_with_line(debate: DebateState, line: str, visible: VisibleText, reply: Reply, code: str = "") -> bool:
    public = _public(debate, reply.text)
    if reply.ended == "cut" or public.has_unpaired_tag or visible.dropped:
        return False
    if not ends_with_line(visible.text, line, code):
        return False
    after = sanitize(reply.text).rpartition(_last_line(visible.text))[2]
    return without_end_of_message(after).strip() in ("", "</answer>", "</response>")


def without_code(debate: DebateState, text: str) -> str:
    """A speech without what may be the code of its turn, after a reserved line at its end."""
    spoken, lines = without_end_of_message(sanitize(text)).rstrip(), debate.format.reserved_lines
    code = _REPLY_CODE.search(spoken)
    bare = spoken[: code.start()] + code["emphasis"] if code else spoken
    sentences = (line.removesuffix(".") for line in (lines.concede, lines.decline))
    if not any(sentence.casefold() in _last_line(bare).casefold() for sentence in sentences):
        return text
    return bare + (code["tag"] or "") if code else bare


def ignored_line_remark(debate: DebateState, turn: Turn, reply: Reply, *, needs_code: bool) -> str:
    """Why a reserved line of this speech does not count, in a sentence. Only a line that stands alone is looked at, in
    any case and punctuation; empty if there is none, or if the speech concedes or declines."""
    if not turn.speaking or turn.phase.reply != "text":
        return ""
    lines, spoken = debate.format.reserved_lines, sanitize(reply.text).casefold()
    # Few speeches have the words at all, and what follows reads a speech several times.
    reserved = [
        line
        for line in (lines.concede, lines.decline)
        if all(word in spoken for word in _WORD.findall(line.casefold()))
    ]
    if not reserved:
        return ""
    bare = reply.model_copy(update={"text": without_code(debate, reply.text)})
    if line_without_code := next((line for line in reserved if has_reserved_line(debate, line, turn, bare)), None):
        return lines.remark(line_without_code, lacks_code=needs_code)
    text = without_private_reasoning(debate, reply.text).casefold()
    reserved_line = next((line for line in reserved if _line_pattern(line).search(text)), None)
    if reserved_line is None:
        return ""
    visible = visible_before_lookup(debate, reply.text, turn.phase)
    return lines.remark(reserved_line, other_lines=_writes_for_the_other(debate, turn, visible.text))


def ignored_line_remark_of(debate: DebateState, turn: Turn) -> str:
    """The same of the speech of a turn; its line needs a code where the journal has such codes."""
    event = debate.replies.get(turn.id)
    if not isinstance(event, Spoke) or turn.id in debate.conceding_turns:
        return ""
    return ignored_line_remark(debate, turn, event.reply, needs_code=event.concedes is not None)


@lru_cache(maxsize=64)
def _line_pattern(line: str) -> re.Pattern[str]:
    """A pattern for lines with the words of `line` in lower case, with any punctuation between and around them, and
    perhaps a code. A `line` without words matches nothing, since it would match every blank line."""
    separator = r"(?:[^\w\n]|_)"
    words = f"{separator}++".join(map(re.escape, _WORD.findall(line.casefold())))
    pattern = rf"^{separator}*+{words}(?:{separator}*?\[\w{{1,12}}\])?{separator}*+$"
    return re.compile(pattern if words else "(?!)", re.MULTILINE)


def ends_with_line(text: str, line: str, code: str = "") -> bool:
    """Whether a sanitized text ends with that line in a paragraph of its own, and says it itself. A line with a code
    may be in any case, a heading or emphasised, also without the code, and end with a full stop before or after it, or
    with none."""
    text_above, _, last = text.rstrip().rpartition("\n")
    pattern = re.escape(line)
    if code:
        sentence = rf"(?i:{re.escape(line.removesuffix('.'))})\.?"
        if not re.search(sentence, last):
            return False  # most speeches; what follows is compiled anew for each code
        bare = rf"(?i:{re.escape(code)})"
        bracketed = rf"[ \xa0]{{0,2}}(?:\[{bare}\]|`\[{bare}\]`|\*\*\[{bare}\]\*\*|\\\[{bare}\\\])\.?"
        pattern = rf"(?:#{{1,6}} )?([*_]{{0,3}}){sentence}(?:{bracketed}\1|\1\.?{bracketed})"
    if not re.fullmatch(f" ?{pattern}", last) or text_above.rpartition("\n")[2].strip(" \t"):
        return False
    prose = with_code_blanked(text_above)
    if _FENCE.search(prose) or prose.rfind("<!--") > prose.rfind("-->") or _is_in_quoting_tag(prose):
        return False
    if text_above.rstrip(" \t\n*_").endswith((":", "：")):
        return False
    return bool(code) or not _is_quoted(prose)


def _is_in_quoting_tag(prose: str) -> bool:
    """Whether what follows a text is within one of `_QUOTING_TAG`."""
    depths = dict[str, int]()
    for slash, name in _QUOTING_TAG.findall(_INLINE_CODE.sub("", prose)):
        depths[name.lower()] = max(0, depths.get(name.lower(), 0) + (-1 if slash else 1))
    return any(depths.values())


def _is_quoted(prose: str) -> bool:
    """Whether what follows a text is within quotation marks, as far as the marks of each kind tell."""
    singles = [*_SINGLE_MARK.finditer(prose)]
    if singles and singles[-1]["opening"]:  # the last one: an apostrophe looks like a mark that closes
        return True
    return any(sum(map(prose.count, marks)) % 2 for marks in _QUOTATION_MARKS)


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2]
