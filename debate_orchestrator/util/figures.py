"""Figures in texts that are compared: a digit with all that stands beside it and may make it another number.

A figure is a digit with all letters and signs that touch it (`1.5e-6`, `-US$5`, `5\u20322`). A blank within it is
allowed where signs or digits stand on both sides (`- 5`, `5 %`, `5 000`). Quotation marks, brackets, marks of emphasis,
and punctuation at the end don't belong to it.
"""

from __future__ import annotations

import re
import unicodedata

from debate_orchestrator.util.sanitize import UNSEEN, normalize_unicode, part_small_figures

ALONE = (
    "\u0e00-\u0e3e\u0e40-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1000-\u103f\u104a-\u108f\u109a-\u109f\u1780-\u17da"
    "\u17dc-\u17df\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that set no spaces between words, without their digits: their letters belong to no figure."""
_JOINT = "\u2060"
"""What stands for a blank within a figure: not seen, so that no text that is compared has one of its own."""
_PUNCTUATION = ".,;:!?\u3001\u3002\u061b\u061f\u060c\u0964"
_OUTSIDE = r"\s'\"\u201c-\u201f\u2018-\u201b\u2039\u203a\u00ab\u00bb()\[\]{}|\u3008-\u3011\u2026"
_SIGN = rf"[^\w{_OUTSIDE}{_PUNCTUATION}]"
_SIGN_OR_DIGIT = rf"(?:{_SIGN}|\d)"
_GAP = r"(?:[^\S\n]++\n?+|\n)[^\S\n]*+"
"""Blanks, or the end of a line."""
_WITHIN = re.compile(
    rf"(?<={_SIGN}){_GAP}(?=[.,]\d)|(?<={_SIGN_OR_DIGIT}){_GAP}(?=\d|(?!-){_SIGN}|-++\s*+{_SIGN_OR_DIGIT})"
)
"""A blank within a figure. A dash behind one belongs to it only where the figure goes on."""
_SIGNED_CURRENCY = re.compile(rf"(?<!\w)({_SIGN})(?:{_GAP})?([A-Z]{{2,3}}){_GAP}(?={_SIGN_OR_DIGIT})")
_EMPHASIS = re.compile(r"(?<![\d*_`])(?:(?<!\d\s)[*_`]++|[*_`]++(?!\s))|(?<=\d)[*_`]++(?!\d)")
"""What is not set off by blanks behind a figure, as a sign of multiplication is."""
_DASH_OF_WORDS = re.compile(r"(?<=[^\W\d])[\u2014\u2015]|[\u2014\u2015](?=[^\W\d])|(?<=[^\W\d])\u2013(?=[^\W\d])")
_PLAIN = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-") | {"\u2044": "/", "\u2019": "'"}
)
CHUNK = re.compile(
    rf"(?:[^{_OUTSIDE}{_PUNCTUATION}{ALONE}]|(?<![{_PUNCTUATION}])[{_PUNCTUATION}]++(?={_SIGN_OR_DIGIT})|(?<=\d)'(?=\w))+"
)
"""A run of letters, digits and signs in a text whose figures are joined."""


class _Compatible(dict[int, str]):
    """Maps a character to its compatible form. A symbol counts as itself where it would become letters or digits: a
    letter in a circle may be no letter to its reader."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        compatible = unicodedata.normalize("NFKC", char)
        kinds = [unicodedata.category(letter)[0] for letter in (char, compatible[0])]
        self[code] = plain = char if kinds[0] == "S" != kinds[1] else compatible
        return plain


_COMPATIBLE = _Compatible()


def join_figures(text: str) -> str:
    """`text` in the form in which figures are compared, with a joint for each blank within one."""
    plain = _DASH_OF_WORDS.sub(" ", _EMPHASIS.sub("", UNSEEN.sub("", text)))
    plain = normalize_unicode(part_small_figures(plain).translate(_COMPATIBLE), "NFC").translate(_PLAIN)
    return _WITHIN.sub(_JOINT, _SIGNED_CURRENCY.sub(rf"\1\2{_JOINT}", plain))


def figure(chunk: str) -> str:
    """The figure that a chunk is, with a joint only between digits; "" where it holds no digit."""
    if not re.search(r"\d", chunk):
        return ""
    return re.sub(rf"(?<!\d){_JOINT}|{_JOINT}(?!\d)", "", chunk).casefold()


def part_figures(text: str) -> str:
    """`text` with its joints as blanks again."""
    return text.replace(_JOINT, " ")
