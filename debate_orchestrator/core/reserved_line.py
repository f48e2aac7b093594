"""Whether a speech ends with a reserved line that is its own: neither quoted, nor shown, nor only introduced.

The rule errs on the safe side: a concession that is missed costs a turn, a forged one costs the debate. The line counts
as the whole speech, or below a blank line where all of this holds of the text above it:

Code         every fence is closed, and every backtick is part of a code span on one line
Markup       nothing outside code could be a tag, a comment or a directive (`<q>`, `<!--`, `:::`, `[quote]`)
Quotations   every quotation mark and bracket that is opened is closed, and no line is given to a side or announces
             another one
Sentences    the last words end a sentence, with a full stop, question mark or exclamation mark, not an ellipsis
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)[^`\n]+\1(?!`)")
_MARKUP = re.compile(r"<[A-Za-z/!?]|^[ \t>]*(?::::|\[/?(?:quote|cite|code|spoiler)\b)", re.MULTILINE | re.IGNORECASE)
_UNSURE_FENCE = re.compile(r"[ \t>*+-]+(?:```|~~~)|(?:```|~~~).*\|")
"""A fence of a list or a quotation, or the head of a table: readers differ in what it is."""
_STRAIGHT = re.compile(r"(?<!\d)[\"＂″]|\"(?=\w)|''")  # behind a digit it means inches
_EITHER_WAY = ("«»", "‹›", "❝❞", "❛❜")
"""Marks that open in some languages and close in others, or have no kind in Unicode."""
_NOT_PAIRED = set("‘‚‛’«»‹›")
"""Marks that are counted by themselves: an apostrophe looks like one."""
_SINGLE, _SINGLE_END = re.compile(r"(?<!\w)[‘‚‛](?=\w)"), re.compile(r"’|(?<=[\w.!?,])‘")
_LABEL = re.compile(
    r"^\W*[\w][\w ().-]{0,40}:\W*$|^\W*(?:pro|con|[ab]|side [ab])\b[^.!?\n]{0,40}:", re.MULTILINE | re.IGNORECASE
)
"""A line of its own that announces what follows, or words that are given to a side."""
_CLOSES = {"(": ")", "[": "]", "{": "}", "“": "”", "「": "」", "『": "』", "《": "》", "（": "）"}
_EMPHASIS = re.compile(r"[*_~]+")
_LAST_SENTENCE = re.compile(r"(?<![.。…])[.!?。！？।؟։][\s\"'”’»)\]›」』》]*(?:\[\^?\d{1,4}\]\s*)*\Z")


class Fence:
    """The code fence that is open after the lines so far."""

    def __init__(self) -> None:
        self._open = ""

    def __bool__(self) -> bool:
        return bool(self._open)

    def read(self, line: str) -> bool:
        """Takes the next line; whether it is part of a code block, the fences included."""
        found, opening = _FENCE.fullmatch(line), self._open
        if found and not opening:
            self._open = found[1]
        elif found and found[1].startswith(opening) and not found[2].strip(" \t"):
            self._open = ""
        return bool(opening or self._open)


def ends_with_line(text: str, line: str) -> bool:
    """Whether a sanitized text ends with that line in a paragraph of its own, and says it itself."""
    *above, last = text.rstrip(" \t\n").split("\n")
    if last.removeprefix(" ") != line or (above and above[-1].strip(" \t")):
        return False
    if any(map(_UNSURE_FENCE.match, above)):
        return False
    fence = Fence()
    prose = [_CODE_SPAN.sub("x", one) for one in above if not fence.read(one)]
    bare = unescape("\n".join(prose))
    if fence or "`" in bare or _MARKUP.search(bare) or _LABEL.search(bare):
        return False
    words = _EMPHASIS.sub("", next((one for one in reversed(prose) if re.search(r"\w", one)), "So."))
    return bool(_LAST_SENTENCE.search(words[-200:])) and _closes_all(bare)


def _closes_all(text: str) -> bool:
    """Whether every quotation mark and bracket that is opened is closed, in the order in which they were opened."""
    if len(_STRAIGHT.findall(text)) % 2 or any(sum(map(text.count, marks)) % 2 for marks in _EITHER_WAY):
        return False
    if len(_SINGLE.findall(text)) > len(_SINGLE_END.findall(text)):
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
