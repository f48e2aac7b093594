"""Makes untrusted text safe to show to people and models.

Speech is kept verbatim in the journal and sanitized on its way out: into a prompt, a report, a terminal.
Whatever a text contains, after `sanitize` it moves no cursor, hides nothing and reorders nothing; after
`fence` it can't close the block it stands in.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Literal

# Unicode "Cf" and friends that hide or reorder text: bidi embeddings, overrides and isolates,
# the tags block, interlinear annotation, the byte order mark, soft hyphen, word joiner, blanks.
HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
    "\U000e01f0-\U000e0fff"
)
# Joiners, and selectors of variants: nothing in plain ASCII needs any, and nowhere are more than two needed in a row.
JOINER = "[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]"
UNSEEN = re.compile(f"[{HIDDEN}]|{JOINER}")
"""A character that is not seen."""
_HIDING = re.compile(f"[{HIDDEN}]")
_IDLE = re.compile(rf"(?<=[\x00-\x7f]){JOINER}+(?=[\x00-\x7f]|\Z)|(?<={JOINER}{{2}}){JOINER}+")
# Unicode never assigns these, and XML forbids U+FFFE and U+FFFF.
NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    chr(plane + 0xFFFE) + chr(plane + 0xFFFF) for plane in range(0, 0x110000, 0x10000)
)
_CONTROL = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff{NONCHARACTERS}]")
_BREAKS = re.compile("\r\n?|[\x85\u2028\u2029]")
MAX_ADDRESS_LENGTH = 200
_ALIKE = {
    "0": "o\u00f8\u03bf\u043e\u0585",
    "1": "il\u0131\u01c0\u03b9\u0456\u04cf",
    "3": "\u0292\u0437",
    "5": "s\u0455",
    "6": "\u0431",
    "9": "\ua76f",
    "a": "\u0251\u03b1\u0430",
    "b": "\u0184\u0185\u042c\u044c\u15af",
    "c": "\u03c2\u03f2\u0441\u1d04",
    "d": "\u0501\u13e7\u146f",
    "e": "\u0435\u04bd\u212e",
    "f": "\u0192\u0584\u03dd",
}
"""Letters that are written like others, among those that a nonce is made of. Widths, styles, accents and the digits
of other scripts need no mention: Unicode says what they stand for."""


class _Table(dict[int, str]):
    """Character to what `look` says of it, worked out once for each."""

    def __init__(self, look: Callable[[str], str]):
        super().__init__()
        self._look = look

    def __missing__(self, code: int) -> str:
        self[code] = self._look(chr(code))
        return self[code]


def _plain(char: str) -> str:
    """What a character reads like."""
    digit = unicodedata.decimal(char, None)
    folded = unicodedata.normalize("NFKD", char).casefold() if digit is None else str(digit)
    return "".join(_READ_AS.get(character, character) for character in folded)


def _mark(char: str) -> str:
    """`m` where it is drawn over the one before it, `u` where nothing is drawn, `.` elsewhere."""
    if UNSEEN.match(char):
        return "u"
    combines = unicodedata.combining(unicodedata.normalize("NFKD", char)[0])
    return "m" if combines or unicodedata.category(char) in ("Mn", "Me") else "."


_READ_AS = {look: real for real, looks in _ALIKE.items() for look in looks}
_PLAIN, _MARKS = _Table(_plain), _Table(_mark)
_PILED = re.compile(r"(?:mu*+){8}(m[mu]*+)")
"""Marks in a row, with what is not drawn between them: the first eight, and the rest."""


def few_combining_marks(text: str) -> str:
    """`text` with no more than 8 marks on a letter, whatever stands between them and is not drawn, such as a joiner. No
    language needs as many; hundreds cover what stands around the letter, and some fonts draw each with a width."""
    if text.isascii():
        return text
    kept, at = list[str](), 0
    for found in _PILED.finditer(text.translate(_MARKS)):
        kept.append(text[at : found.start(1)])
        at = found.end()
    return "".join([*kept, text[at:]])


def normalized(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFKC") -> str:
    """`text` in a Unicode normalization form, with few combining marks: Unicode sorts those behind a letter, which
    takes the square of their number."""
    return text if text.isascii() else unicodedata.normalize(form, few_combining_marks(text))


_SMALL = "\u00b2\u00b3\u00b9\u2070-\u209c\u00bc-\u00be\u2150-\u215f\u2189\u2460-\u24ff"
"""Raised and lowered figures, fractions, and figures in circles."""
_SMALL_SIGNS = "\u207a-\u207e\u208a-\u208e"
_BESIDE_SMALL = re.compile(rf"(?<=\d)(?=[{_SMALL}])|(?<=[{_SMALL}])(?<![{_SMALL_SIGNS}])(?=\d)")


def part_small_figures(text: str) -> str:
    """`text` with `^` between a digit and a raised or lowered one or a fraction, which normalizing would make one."""
    return _BESIDE_SMALL.sub("^", text)


def sanitize(text: str) -> str:
    """`text` with line breaks made one kind, and with control and hidden characters made harmless.

    C0 controls become their visible pictures (ESC is shown as ␛), so that a reader sees they were
    there; other controls, lone surrogates and noncharacters become U+FFFD. Characters that only hide or reorder
    text are dropped. Joiners that scripts and emoji need are kept.
    """
    if text.replace("\n", "").isprintable() and (text.isascii() or not UNSEEN.search(text)):
        return text  # most texts: to look is many times cheaper than to replace nothing
    text = _BREAKS.sub("\n", text)
    if not text.isascii():
        text = _IDLE.sub("", _HIDING.sub("", text))
    return _CONTROL.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def one_line(text: str) -> str:
    """`text`, sanitized, on a single line with single spaces."""
    return " ".join(sanitize(text).split())


def unbroken(text: str) -> str:
    """`text`, sanitized, on a single line, with the blanks that indent it and keep its columns apart."""
    return sanitize(text).replace("\n", " ")


def fence(text: str, nonce: str) -> str:
    """`text`, sanitized, and without any trace of the nonce that closes its block: in any case, in letters that look
    like its own, and with other characters between them, visible or not."""
    clean = sanitize(text)
    plain = clean.translate(_PLAIN)
    # What stands between the letters of a nonce does not hide it, unless it is a letter or a digit.
    pattern = r"[\W_]*".join(re.escape(char) for char in nonce.translate(_PLAIN))
    traces = list(re.finditer(pattern, plain))
    if not traces:
        return clean
    same = len(plain) == len(clean)
    ends = range(1, len(clean) + 1) if same else list(accumulate(len(_PLAIN[ord(char)]) for char in clean))
    pieces, at = list[str](), 0
    for trace in traces:
        first, last = bisect_right(ends, trace.start()), bisect_right(ends, trace.end() - 1)
        pieces += [clean[at:first], "[...]"]
        at = last + 1
    return "".join([*pieces, clean[at:]])


def safe_url(url: str) -> str:
    """An address as it may stand in a line: without anything that is not part of one, and not too long."""
    plain = "".join(
        char if char.isascii() and char.isprintable() and char not in ' <>"' else "%" for char in sanitize(url)
    )
    return plain if len(plain) <= MAX_ADDRESS_LENGTH else f"{plain[:MAX_ADDRESS_LENGTH]}..."


def count_words(text: str) -> int:
    """How many words `text` has, counted between white space."""
    return len(text.split())
