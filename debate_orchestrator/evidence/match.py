"""Whether a text holds a quote, and what comes closest to it where it does not.

Both are normalized first (`normalize_text`). Then a quote is one of these:

- verified: the text has it word for word. An ellipsis divides it into parts, which must stand in this order: "the costs
  of transport fell ... within the following year". A part must not be too short (`WORDS`, `CHARACTERS`).
- a near match: a passage is nearly like it (`NEAR`), as "the cost of transport fell"; or it is there, but a part is too
  short, or a figure at one of its ends may belong to a longer one (`may_go_on`), as in "rose by 5 kWh" for "rose by 5".
- not found: no passage is that like it, or the closest one has other figures, as "rose by 5,2" for "rose by 5".

How like a passage is to a quote is the share of characters that agree (rapidfuzz's ratio: twice the length of what both
have in common, over the length of both).

`NEAR` and more is a near match. It was measured on 250 sentences of the debates in examples/, each looked for in all of
them. With one letter in sixty mistyped a sentence is 0.96 like its passage and more; with one word in ten dropped or
replaced, 19 of 20 sentences are 0.91 and more; with a quarter of its words dropped half of them are below 0.89; a
sentence that is not there finds nothing closer than 0.60 half of the time. A "not" slipped in costs 0.02.

A near match says that the words are close, and nothing about the sense, so the passage is there to be read. One thing
is certain enough to be decided here: where the figures differ the match is none, since a changed figure is the forgery
that matters.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from debate_orchestrator.evidence.states import State
from debate_orchestrator.util.sanitize import normalized

NEAR = 0.9
WORDS = 4
"""Words that a quote, or one of its parts, must have to prove anything."""
CHARACTERS = 20
"""Characters that it must have too. Spaces are not counted; characters of wide scripts count twice."""
MAX_LENGTH = 2_000
"""Characters that a quote may have."""
_FAINT = 50.0
"""The likeness, in hundredths, below which nothing is called close: any two sentences of one language have as much."""
_SHOWN = 3
"""How many times as long as its quote a passage may be."""
_ELLIPSIS = re.compile(r"\[\s*(?:\.\s?){2,}\]|\(\s*(?:\.\s?){3,}\)|\.(?:\s?\.){2,}(?!(?<=\d\.{3})\d)")
"""What leaves words out; "5...7" is a range."""
_OUTER = "\"'“”„«»‘’‚‹›`"
_ENDINGS = ".,;:'\" "
_BULLET = re.compile(r"- (?!\d)")


class Match(NamedTuple):
    """How far a text holds a quote."""

    state: State
    similarity: float | None
    passage: str
    """What is closest, for a near match."""
    why: str


def why_unusable(quote: str) -> str:
    """Why a quote can't be looked for; "" where it can."""
    if len(quote) > MAX_LENGTH:
        return f"the quote is too long to check (more than {MAX_LENGTH:,} characters)"
    if not any(_enough(part) for part in parts(quote)):
        return f"the quote is too short to check (less than {WORDS} words or {CHARACTERS} characters)"
    return ""


def parts(quote: str) -> list[str]:
    """What stands between the ellipses of a quote, normalized, without quotes around it and the stop at its end."""
    found = []
    for part in _ELLIPSIS.split(one_encoding(quote)):
        plain = normalize_text(part.strip().lstrip(_OUTER)).text.rstrip(_ENDINGS).removesuffix(" -")
        plain = plain[2:] if _BULLET.match(plain) else plain
        if any(piece.isalnum() for piece in plain):
            found.append(plain)
    return found


def compare(quote: str, text: str) -> Match:
    """How far a text holds `quote`."""
    if why := why_unusable(quote):
        return Match("not found", None, "", why)
    if not text:
        return Match("not found", None, "", "the page shows no text without running its scripts")
    wanted = parts(quote)
    variants = [normalize_text(text)]
    if has_reference_marks(text):
        variants.append(normalize_text(text, reference_marks=False))
    for variant in variants:
        if place := _find_parts(wanted, variant):
            return _judge_found(wanted, variant, place)
    return _closest(wanted, variants[-1])


def _enough(part: str) -> bool:
    return part.count(" ") + 1 >= WORDS and text_weight(part) >= CHARACTERS


def _find_parts(wanted: Sequence[str], text: NormalizedText) -> tuple[int, int] | None:
    """Where all of the parts stand in order, from the first to the last; None if they do not."""
    begin, place = -1, 0
    for part in wanted:
        start = _find(part, text.text, place)
        if start < 0:
            return None
        begin = start if begin < 0 else begin
        place = start + len(part)
    return begin, place


def _find(part: str, text: str, place: int, *, certain: bool = True) -> int:
    """The first place from `place` on where a part stands whole, -1 where it does not; where it is not `certain`, a
    figure at an end of it may go on there."""
    while (start := text.find(part, place)) >= 0:
        end = start + len(part)
        if not ((certain and may_go_on(text, start, end)) or is_cut(text, start) or is_cut(text, end)):
            return start
        place = start + 1
    return -1


def _judge_found(wanted: Sequence[str], text: NormalizedText, place: tuple[int, int]) -> Match:
    if all(_enough(part) for part in wanted):
        across = f", in {len(wanted)} parts with something left out between them" if len(wanted) > 1 else ""
        return Match("verified", 1.0, "", f"the page holds the quote word for word{across}")
    passage = _shortened(text.original(*place), " ... ".join(wanted))
    return Match("near match", 1.0, passage, "every part is there in order, but one of them is too short to count")


def _closest(wanted: Sequence[str], text: NormalizedText) -> Match:
    """The passages most like each part, in order, and what they amount to."""
    place, minimum, differing, doubt = 0, 1.0, "", ""
    stretches: list[tuple[int, int, str]] = []
    for part in wanted:
        found = _most_like(part, text.text, place)
        if found is None:
            return _nothing()
        likeness, start, end = found
        minimum = min(minimum, likeness)
        start, _ = _figure_around(text.text, start)
        _, end = _figure_around(text.text, end)
        if (page_figures := figures(text.text[start:end])) != (quoted := figures(part)):
            differing = differing or _difference(quoted, page_figures)
        place = end
        if may_go_on(text.text, start, end):
            doubt = ", and a figure at an end of the quote may be part of a longer one"
            start, end = _widened(text.text, start, end, 1)
        stretches.append((start, end, part))
    if minimum < NEAR:
        return Match("not found", minimum, "", f"the closest passage is only {minimum:.0%} alike")
    if differing:
        return Match("not found", minimum, "", f"the closest passage has other figures: {differing}")
    passage = " [...] ".join(_shortened(text.original(start, end), part) for start, end, part in stretches)
    return Match("near match", minimum, passage, f"the closest passage is {minimum:.0%} alike{doubt}")


def _most_like(part: str, text: str, place: int) -> tuple[float, int, int] | None:
    """The stretch of whole words from `place` on that is most like a part, with its likeness."""
    from rapidfuzz import fuzz

    if (start := _find(part, text, place, certain=False)) >= 0:
        return 1.0, start, start + len(part)
    rest = text[place:]
    if len(rest.strip()) < len(part) // 2:
        return None
    rough_match = fuzz.partial_ratio_alignment(part, rest, score_cutoff=_FAINT)
    if rough_match is None:
        return None
    turned = len(rest) <= len(part)  # rapidfuzz then looks for the text in the part
    window = (0, len(rest)) if turned else (rough_match.dest_start, rough_match.dest_end)
    likeness, start, end = _aligned(part, rest, *window)
    return likeness, place + start, place + end


def _aligned(part: str, text: str, start: int, end: int) -> tuple[float, int, int]:
    """A rough stretch, with its ends moved to where it is most like the part: one end after the other, twice."""
    from rapidfuzz import fuzz

    margin = max(6, (part.count(" ") + 1) // 5)
    low, high = _widened(text, start, end, margin)
    words = [found.span() for found in re.finditer("[^ ]+", text[low:high])]
    first = max((place for place, word in enumerate(words) if low + word[0] <= start), default=0)
    last = max((place for place, word in enumerate(words) if low + word[0] < end), default=first)

    def likeness(first: int, last: int) -> float:
        return fuzz.ratio(part, text[low + words[first][0] : low + words[last][1]])

    for _ in range(2):
        last = max(range(first, len(words)), key=lambda end: (likeness(first, end), -end))
        first = max(range(last + 1), key=lambda begin: (likeness(begin, last), begin))
    return round(likeness(first, last) / 100, 3), low + words[first][0], low + words[last][1]


def _widened(text: str, start: int, end: int, words: int) -> tuple[int, int]:
    """A stretch, made wider by so many words on both sides; by what is left of a word where an end is inside one."""
    for _ in range(words):
        start = text.rfind(" ", 0, max(0, start - 1)) + 1
        end = found if (found := text.find(" ", end + 1)) >= 0 else len(text)
    return start, end


def _nothing() -> Match:
    return Match("not found", 0.0, "", "the page holds nothing like it")


def _difference(quoted: Sequence[str], page_figures: Sequence[str]) -> str:
    def some(numbers: Sequence[str]) -> str:
        return ", ".join(number[:20] for number in numbers[:6]) or "none"

    return f"{some(page_figures)} where the quote has {some(quoted)}"


def _shortened(passage: str, part: str) -> str:
    plain, maximum = " ".join(passage.split()), max(200, _SHOWN * len(part))
    return plain if len(plain) <= maximum else f"{plain[:maximum]} ..."


@functools.cache
def _by_category() -> dict[str, list[str]]:
    """The characters of each of Unicode's categories in its first two planes, where all of those asked for stand."""
    found: dict[str, list[str]] = {}
    for char in map(chr, range(0x20000)):
        found.setdefault(unicodedata.category(char), []).append(char)
    return found


def _of_categories(*categories: str) -> str:
    return "".join(char for category in categories for char in _by_category()[category])


BAR = " | "
"""What keeps two figures apart; it is part of none."""
UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufe00-\ufe0f]")
SLASHES = "/\u2044\u2215"
_RAISED = "\u00b2\u00b3\u00b9\u2070\u2074-\u207b\u2080-\u208b\u2460-\u249b\u24ea-\u24ff"
_RAISED_LETTERS = "\u1d2c-\u1d6a\u2071\u207c-\u207f\u208c-\u209c"
_RAISED_RUN = re.compile(f"[{_RAISED}{_RAISED_LETTERS}]+")
_FRACTIONS = "[\u00bc-\u00be\u2150-\u215f\u2189]"
_BESIDE_FRACTION = re.compile(rf"(?<=\d)(?={_FRACTIONS})|(?<={_FRACTIONS})(?=\d|{_FRACTIONS})")
_REFERENCE_MARK = re.compile(r"\[(?:\d{1,3}|[a-z]|(?:note|nb) \d{1,3}|citation needed)\]", re.IGNORECASE)
"""Reference marks, as encyclopedias set them into their sentences."""
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that set no spaces between words: each of their characters is taken for a word."""
_DIGIT = f"[{_of_categories('Nd', 'No')}]"
_LONE = re.compile(f"(?!{_DIGIT})[{_ALONE}]")
_TOKEN = re.compile(rf"(?:[^\s{_ALONE}]|{_DIGIT})+|[{_ALONE}]")
_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a\u0060\u00b4\u02b9\u02bb\u02bc\u02c8\uff07"
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u301d\u301e\u301f\u02ba\uff02"
_HYPHEN = "\u2010\u2011\u2012\u2013\u2043\ufe63\uff0d"
_MINUS = re.compile("(?<!\\s)(?<!^)\u2212|\u2212(?!\\s|$)")
"""A minus sign; one that stands alone is kept, since a hyphen that stands alone is a dash."""
_LONG = "\u2014\u2015\u2e3a\u2e3b\ufe58"
_ALIKE = str.maketrans(
    dict.fromkeys(_SINGLE, "'")
    | dict.fromkeys(_DOUBLE, '"')
    | dict.fromkeys(_HYPHEN, "-")
    | dict.fromkeys(_LONG, "--")
    | dict.fromkeys("\u2044\u2215", "/")
)
_DASH = re.compile("-{2,}")
_SCALE = (
    "k|m|mn|mln|mio|mrd|b|bn|bln|t|tn|trn|cr|lakhs?|crores?|dozens?|hundreds?|thousands?|"
    "(?:m|b|tr|quadr)illi(?:on|ard)[a-z]*|[百千万萬億亿兆]|"
    "pp|ppm|ppb|bps?|pct|p\\.?c\\.|percent(?:age)?|per cent|prozent|pour cent|por ciento|basis points?"
)
"""Words that make a number another one."""
_CURRENCY = _of_categories("Sc")
_UNIT = rf"(?:[%‰‱٪؉؊°]|[{_CURRENCY}](?!\s*{_DIGIT}))"
"""The sign of a unit behind a number; "in 2019 $10" has the sign of another number."""
_SIGNS = re.escape(re.sub("[=|]", "", _of_categories("Sm", "Sk")))  # "n = 5" is 5, and bars part the cells of tables
_SIGN = rf"(?:[{_SIGNS}] ?|(?<!\w)-|[a-z]{{0,3}}[{_CURRENCY}] ?|(?<![\w.,])[.,٫])"
_SUFFIX = rf"(?: ?{_UNIT}(?: ?[cf](?!\w))?|[ -]?(?:{_SCALE})(?!\w))"
_NUMBER = f"{_SIGN}{{0,3}}{_DIGIT}+{_SUFFIX}{{0,3}}"
_DASHES = re.escape(_of_categories("Pd"))
_STOPS = re.escape(_of_categories("Po", "Pc", "So"))
_BLANK = rf" (?={_DIGIT}{{3}}(?!{_DIGIT})|{_DIGIT}+/{_DIGIT})"
_JOINT = rf"(?:[{_STOPS}]{{1,3}}|e[-+]?| ?[{_SIGNS}{_DASHES}/*·x]{{1,3}} ?|{_BLANK})"
_FIGURE = re.compile(rf"(?:(?<=\w)-)?({_NUMBER}(?:{_JOINT}{_NUMBER})*)")
"""A figure: numbers with what stands before, behind and between them. The hyphen of "covid-19" is none of its signs."""
RUNS_ON = re.compile(rf"[.,'\u2019\u00b7\u066b\u066c\ufe52\uff0c\uff0e_]?[\d{_FRACTIONS[1:]}|[^\S\n]+\d{{3}}(?!\d)")
"""Digits that would run into a figure before them."""
GOES_ON = re.compile(rf"{RUNS_ON.pattern}|(?!\s*[{SLASHES}](?!\s*\d))(?:{_SUFFIX}|{_JOINT}{_NUMBER})", re.IGNORECASE)
"""What would be a part of a figure before it; in "\u00b9/\u2082" nothing is."""
_BLANKS = re.compile(r"[^\S\n]+\Z")
_BARE = re.compile(rf"(?:\s|(?<!\d[ex])(?<!\d [ex])(?<!^[ex])(?<=[^\W\d_])(?<!{_DIGIT}))\Z", re.IGNORECASE)
"""What a raised figure needs no mark behind: a blank, and a letter that is part of no figure."""
_REACH = 80
"""Characters around a place in which the figure that holds it is looked for."""
_BESIDE_SIGN = re.compile(r"(?<![\w]) | (?!\w)")
_BESIDE_UNIT = re.compile(rf"(?<={_DIGIT})[^\S\n]+(?={_UNIT})|(?<=[{_CURRENCY}])[^\S\n]+(?={_DIGIT})")
_PLAIN = (
    "the|this|that|these|those|is|are|was|were|has|have|had|it|he|she|we|they|who|which|when|while|where|because|since|at|"
    "der|die|das|des|dem|ist|sind|war|waren|wird|wurde|le|la|les|est|sont|el|los|las|es|fue|son|il|lo|gli"
)
"""Words that are no part of a figure, whatever stands beside them; "and", "to", "of" and "in" can be."""
_SIGN_OR_UNIT = re.compile(f"[{_SIGNS}]|{_UNIT}")
_LETTER = r"[^\W\d_]"
_PAUSE = ",;:?،؛؟।。、"
_ENDS_FIGURE = re.compile(
    rf"""$|[)\]}}](?!\w)|[.{_PAUSE}]["')\]]*(?:$| ["'([]*{_LETTER})"""
    rf"""| - {_LETTER}| ["([]?(?:(?:in|on|at|by|for|from|with) )?(?:{_PLAIN})(?!\w)"""
)
"""What ends a figure before it."""
_BEGINS_FIGURE = re.compile(
    rf"""(?:^|(?<!\w)["([]|(?:{_LETTER}{{4}}\.|{_LETTER}[{_PAUSE}])["')\]]* ["'([]*|(?<!\w)(?:{_PLAIN}) ["'([]?)\Z"""
)
"""What begins a figure behind it; a short word with a stop may be "ca." or "no."."""
_NEIGHBOUR = 12
"""Characters before a figure in which that is looked for: enough for the longest plain word."""


class NormalizedText(NamedTuple):
    """A normalized text, and what it was made from."""

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


def normalize_text(text: str, *, reference_marks: bool = True) -> NormalizedText:
    """`text` in one encoding and case, with one kind of quotes, dashes and spaces; without its reference marks where
    `reference_marks` is False."""
    source = one_encoding(text)
    if not reference_marks:
        source = _REFERENCE_MARK.sub("", source)
    return NormalizedText(" ".join(_alike(_LONE.sub(r" \g<0> ", source)).split()), source)


def one_encoding(text: str) -> str:
    """`text` in Unicode's compatibility form (NFKC), with what that form would run into a figure kept apart from it,
    and no blank between a number and the sign of its unit."""
    text = _RAISED_RUN.sub(_kept_apart, UNSEEN.sub("", text))
    return _BESIDE_UNIT.sub("", normalized(_BESIDE_FRACTION.sub(" ", text)))


def needs_mark(before: str) -> bool:
    """Whether a raised figure behind a text, of which the last three characters matter, would be one with it."""
    return bool(before) and not _BARE.search(before)


def _kept_apart(raised: re.Match[str]) -> str:
    text, (start, end) = raised.string, raised.span()
    before = text[max(0, start - 9) : start]
    if (word := _BLANKS.sub("", before))[-1:].isdigit():
        before = word
    lower = before[-1:] in SLASHES and "\u2080" <= raised[0][0] <= "\u2089"  # of a fraction, as in "\u00b9/\u2082"
    marked = needs_mark(before) and not lower and any(not char.isalpha() for char in raised[0])
    goes_on = RUNS_ON.match(text, end) if marked else GOES_ON.match(text, end)
    return f"{'^' if marked else ''}{raised[0]}{BAR if goes_on else ''}"


def _alike(text: str) -> str:
    """A text without case, with one kind of quotes and dashes; a long dash parts words."""
    return _DASH.sub(" - ", _MINUS.sub("-", text.casefold().translate(_ALIKE))).replace("''", '"')


def has_reference_marks(text: str) -> bool:
    """Whether a text has reference marks."""
    return _REFERENCE_MARK.search(text) is not None


def figures(normalized_text: str) -> list[str]:
    """The figures of a normalized text, in order: numbers with their signs, separators, powers, units of scale and
    currencies. "5-7" is one figure, and so is "5 ± 3"; blanks beside signs are left out."""
    return [_BESIDE_SIGN.sub("", figure) for figure in _FIGURE.findall(normalized_text)]


def text_weight(normalized_text: str) -> int:
    """Characters that are no spaces, those of wide scripts counted double."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in normalized_text if char != " ")


def is_cut(text: str, place: int) -> bool:
    """Whether `place` is inside a word or a figure, as the end of "5" is in "5.2", "5-7", "5 000", "5 %" and "5
    million", and its beginning in "2.5", "-5" and "$5"."""
    inside_word = 0 < place < len(text) and _letter(text[place - 1]) and _letter(text[place])
    return inside_word or _figure_around(text, place) != (place, place)


def may_go_on(text: str, start: int, end: int) -> bool:
    """Whether a figure at an end of `text[start:end]` may be part of a longer one: whether what stands beside it there
    is not known to end it, as the end of a sentence, a bracket and a plain word are."""
    if _FIGURE.match(text, start, start + _REACH) and not _BEGINS_FIGURE.search(
        text, max(0, start - _NEIGHBOUR), start
    ):
        return True
    last = any(figure.end() == end for figure in _FIGURE.finditer(text, max(start, end - _REACH), end))
    if not (last or _SIGN_OR_UNIT.match(text, end - 1)) or _ENDS_FIGURE.match(text, end):
        return False
    closes_quotation = text[end] == '"' and text.count('"', max(0, end - MAX_LENGTH), end) % 2  # or it means inches
    return not closes_quotation or _letter(text[end + 1 : end + 2])


def _figure_around(text: str, place: int) -> tuple[int, int]:
    """Where the figure that `place` is inside begins and ends; `place` twice where it is inside none."""
    for found in _FIGURE.finditer(text, max(0, place - _REACH), place + _REACH):
        if found.start() < place < found.end():
            return found.span()
    return place, place


def _letter(char: str) -> bool:
    return char.isalnum() or char == "_"
