"""Figures in texts that are compared: a digit with all that stands beside it and may make it another number.

A figure is a digit with all letters and signs that touch it (`1.5e-6`, `-US$5`, `5\u20322`). A blank within it is
allowed where signs or digits stand on both sides (`- 5`, `5 %`, `5 000`). Quotation marks, brackets, marks of emphasis,
and punctuation at the end don't belong to it.

Letters are compared in one form (`\ufb01` is `fi`) and one case, but a raised or lowered letter or digit is another
one: `x\u00b2` is `x^2`. A lowered digit behind a letter (`CO\u2082`) counts as the plain one, as a raised ordinal does.
"""

from __future__ import annotations

import re
import unicodedata

from debate_orchestrator.util.sanitize import UNSEEN, normalize_unicode

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
_ENDING = r"[.,;:!?)\]'\"\u2018-\u201f\u00ab\u00bb]"
_DASH = r"(?:[\u2014\u2015]|(?<!-)--(?:-(?!-)|(?!-)))"
_DASH_OF_WORDS = re.compile(
    rf"(?:(?<=[^\W\d])|(?<=[^\W\d]{_ENDING})|(?<=[^\W\d]{_ENDING}{{2}})){_DASH}|{_DASH}(?=[(\['\"\u2018-\u201f\u00ab\u00bb]*+[^\W\d])"
)
"""What parts words without a blank, too."""
_PLAIN = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-") | {"\u2044": "/", "\u2019": "'"}
)
CHUNK = re.compile(
    rf"(?:[^{_OUTSIDE}{_PUNCTUATION}{ALONE}]|(?<![{_PUNCTUATION}])[{_PUNCTUATION}]++(?={_SIGN_OR_DIGIT})|(?<=\d)'(?=\w))+"
)
"""A run of letters, digits and signs in a text whose figures are joined."""


RAISED, LOWERED = "^", "\u02c5"
"""What stands before raised and lowered letters and digits."""
_SMALL = re.compile("(?:\x02[^\x02\x03])+|(?:\x03[^\x02\x03])+")
"""A run of raised or lowered characters, each marked."""
_SMALL_MARKS = {"<super>": "\x02", "<sub>": "\x03"}
_ORDINALS = {"st", "nd", "rd", "th", "er", "re", "\u00e8re", "\u00e8me", "eme"}
_FRACTIONS = "\u00bc-\u00be\u2150-\u215f\u2189\u2460-\u24ff"
"""Fractions, and figures in circles."""
_BESIDE_FRACTION = re.compile(rf"(?<=\d)(?=[{_FRACTIONS}])|(?<=[{_FRACTIONS}])(?=\d)")


class _Compatible(dict[int, str]):
    """Maps a character to its compatible form, with a mark before a raised or lowered one. A symbol counts as itself
    where it would become letters or digits: a letter in a circle may be no letter to its reader."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        compatible = unicodedata.normalize("NFKC", char)
        kinds = [unicodedata.category(letter)[0] for letter in (char, compatible[0])]
        mark = "" if char in "\u00aa\u00ba" else _SMALL_MARKS.get(unicodedata.decomposition(char).partition(" ")[0], "")
        self[code] = plain = char if kinds[0] == "S" != kinds[1] else mark + compatible
        return plain


_COMPATIBLE = _Compatible()


def marks_of_small(text: str, sign: str, before: str, behind: str) -> tuple[str, str]:
    """What stands before and behind a raised or lowered text on the line, by the sign for it and the characters that
    touch it: 10\u00b2 is not 102, nor x\u1d4f "xk". Behind a sentence raised digits are a note's, in brackets."""
    if not any(map(str.isalnum, text)):
        return "", ""
    touches = behind[:1].isalnum()
    if not before or before.isspace() or unicodedata.category(before) in ("Ps", "Pi"):
        return "", " " if touches else ""
    if sign == RAISED and text.isdecimal() and before in ".,;:!?\u201d\u2019\u00bb":
        return "[", "]"
    if sign == RAISED and before.isdigit() and text.lower() in _ORDINALS:
        return "", ""
    if sign == LOWERED and before.isalpha() and text.isdecimal():
        return "", sign if behind[:1].isdigit() else ""
    return sign, sign if touches or not re.fullmatch(r"[-+\u2212]?\w+", text) else ""


def _written_small(match: re.Match[str]) -> str:
    plain, text = match[0][1::2], match.string
    sign = RAISED if match[0][0] == "\x02" else LOWERED
    first, last = marks_of_small(
        plain, sign, text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
    )
    return f"{first}{plain}{last}"


def fold_case(text: str) -> str:
    """`text` in one case. Other letters stay other letters, as \u00df and ss do."""
    return text.lower().replace("\u03c2", "\u03c3")


def join_figures(text: str) -> str:
    """`text` in the form in which figures are compared, with a joint for each blank within one."""
    plain = _DASH_OF_WORDS.sub(" ", _EMPHASIS.sub("", UNSEEN.sub("", text).translate({2: " ", 3: " "})))
    plain = _SMALL.sub(_written_small, _BESIDE_FRACTION.sub("^", plain).translate(_COMPATIBLE))
    plain = normalize_unicode(plain, "NFC").translate(_PLAIN)
    return _WITHIN.sub(_JOINT, _SIGNED_CURRENCY.sub(rf"\1\2{_JOINT}", plain))


def figure(chunk: str) -> str:
    """The figure that a chunk is, with a joint only between digits; "" where it holds no digit."""
    if not re.search(r"\d", chunk):
        return ""
    return fold_case(re.sub(rf"(?<!\d){_JOINT}|{_JOINT}(?!\d)", "", chunk))


def part_figures(text: str) -> str:
    """`text` with its joints as blanks again."""
    return text.replace(_JOINT, " ")
