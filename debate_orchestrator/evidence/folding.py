"""Texts made alike where their difference says nothing: case, white space, typographic quotes and dashes, letters that
have two encodings, characters that nobody sees.

What does say something stays different: a figure from one with another digit, 10² from 102, a range from its parts.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from debate_orchestrator.speech import normalized

_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufe00-\ufe0f]")
_RAISED = re.compile(r"(?<=\d)([\u00b2\u00b3\u00b9\u2070-\u2079\u207a\u207b\u2080-\u2089\u2460-\u249b\u24ea-\u24ff]+)")
_FRACTION = re.compile("(?<=\\d)([\u00bc-\u00be\u2150-\u215f])")
_MARK = re.compile(r"\[(?:\d{1,3}|[a-z]|(?:note|nb) \d{1,3}|citation needed)\]", re.IGNORECASE)
"""Reference marks, as encyclopedias set them into their sentences."""
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that set no spaces between words: each of their characters is taken for a word."""
_LONE = re.compile(f"[{_ALONE}]")
_TOKEN = re.compile(rf"[{_ALONE}]|[^\s{_ALONE}]+")
_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a\u0060\u00b4\u02b9\u02bb\u02bc\u02c8\uff07"
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u301d\u301e\u301f\u02ba\uff02"
_HYPHEN = "\u2010\u2011\u2012\u2013\u2212\u2043\ufe63\uff0d"
_LONG = "\u2014\u2015\u2e3a\u2e3b\ufe58"
_ALIKE = str.maketrans(
    dict.fromkeys(_SINGLE, "'") | dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_HYPHEN, "-") | dict.fromkeys(_LONG, "--")
)
_DASH = re.compile("-{2,}")
_SCALE = "hundred|thousand|million|billion|trillion"
_FIGURE = re.compile(rf"(?:(?<!\w)-)?(?:(?<![\w.,])[.,])?\d+(?:[.,']\d+)*(?:[ -](?:{_SCALE})\b)?")
_CUT_BEFORE = re.compile(r"\d[.,:/'^]$|[-+±~<>≤≥≈.,^]$")
_CUT_AFTER = re.compile(rf"[.,:/'^-]\d|[%‰°]| \d{{3}}(?!\d)|[ -](?:{_SCALE}|percent|per cent)\b")
_GROUP = re.compile(r"\d{3}(?!\d)")


class Folded(NamedTuple):
    """A text, made alike, and what it was made from."""

    text: str
    """Words with one space between them."""
    source: str

    def original(self, start: int, end: int) -> str:
        """What `text[start:end]`, which begins and ends with whole words, was made from."""
        first, last = self.text.count(" ", 0, start), self.text.count(" ", 0, end)
        begins, count = -1, 0
        for found in _TOKEN.finditer(self.source):
            count += len(_alike(found[0]).split())
            if begins < 0 and count > first:
                begins = found.start()
            if count > last:
                return self.source[begins : found.end()]
        return ""


def fold(text: str, *, marks: bool = True) -> Folded:
    """`text` made alike; without its reference marks where `marks` is False."""
    source = one_encoding(text)
    if not marks:
        source = _MARK.sub("", source)
    return Folded(" ".join(_alike(_LONE.sub(r" \g<0> ", source)).split()), source)


def one_encoding(text: str) -> str:
    """`text` in Unicode's compatibility form (NFKC), with what that form would run into a figure kept apart from it."""
    text = _RAISED.sub(r"^\1", _UNSEEN.sub("", text))
    text = _FRACTION.sub(r" \1", text)
    return normalized(text)


def _alike(text: str) -> str:
    """A text without case, with one kind of quotes and dashes; a long dash parts words."""
    return _DASH.sub(" - ", text.casefold().translate(_ALIKE)).replace("''", '"')


def marked(text: str) -> bool:
    """Whether a text has reference marks."""
    return _MARK.search(text) is not None


def figures(folded: str) -> list[str]:
    """The numbers of a text that was made alike, in order, with their signs, separators and powers of ten."""
    return _FIGURE.findall(folded)


def weight(folded: str) -> int:
    """Characters that are no spaces, those of wide scripts counted double."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in folded if one != " ")


def cut_before(text: str, start: int) -> bool:
    """Whether what begins at `start` begins inside a word or a figure, as "5" does in "2.5", "-5" and "3-5"."""
    before, first = text[max(0, start - 2) : start], text[start]
    if before and _letter(first) and _letter(before[-1]):
        return True
    if not first.isdigit():
        return False
    grouped = before[-1:] == " " and before[:1].isdigit() and _GROUP.match(text, start)
    return bool(grouped or _CUT_BEFORE.search(before))


def cut_after(text: str, end: int) -> bool:
    """Whether what ends at `end` ends inside a word or a figure, as "5" does in "5.2", "5-7", "5 000", "5%" and
    "5 million"."""
    last, after = text[end - 1], text[end : end + 12]
    if after and _letter(last) and _letter(after[0]):
        return True
    return last.isdigit() and _CUT_AFTER.match(after) is not None


def _letter(one: str) -> bool:
    return one.isalnum() or one == "_"
