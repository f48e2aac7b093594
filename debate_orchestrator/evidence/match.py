"""Whether a text holds a quote, and what comes closest to it where it does not.

Both are taken apart into words (`util.words`). A figure is one word with all that stands beside it: "rose by 5" is not
in "rose by 50" or "by 5.2". The page is tried as it is and without the reference marks of encyclopedias.

- verified: the words of the quote stand in the text in a row. An ellipsis divides a quote into parts, which must stand
  in this order.
- a near match: a passage shares `NEAR` of its characters with the quote, and has the same figures; or all is there, but
  a part is too short to count, words are joined otherwise ("non-toxic"), a figure or word at an end of it may go on
  ("5" of "5 million"), marks in it strike words out, or the address holds words of it too.
- not found: no passage is that like it, or the closest one has other figures. A changed figure is the forgery that
  matters, so it is never a match.

`NEAR` was measured on 250 sentences of the debates in examples/. With one letter in sixty mistyped a sentence is 0.96
like its passage and more; with one word in ten dropped or replaced, 19 of 20 are 0.91 and more; a sentence that is not
there finds nothing closer than 0.60 half of the time. A near match says nothing about the sense (a "not" costs 0.02),
so the passage is there to be read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from debate_orchestrator.evidence.states import State
from debate_orchestrator.util.figures import ALONE, part_figures
from debate_orchestrator.util.words import APOSTROPHE, Words

NEAR = 0.9
WORDS = 4
"""Words that a quote, or one of its parts, must have to prove anything."""
CHARACTERS = 20
"""Characters that it must have too. Those of wide scripts count twice."""
MAX_LENGTH = 2_000
"""Characters that a quote may have."""
MAX_PLACES = 1_000
"""Places of a part at which it is seen whether its figures are whole there."""
_ELLIPSIS = re.compile(r"[\[(]\s*(?:\.\s?){2,}[\])]|\.(?:\s?\.){2,}(?!(?<=\d\.{3})\d)|\u2026")
"""What leaves words out; "5...7" is a range."""
_REFERENCE_MARK = re.compile(
    rf"(?<=\S)\[(?:\d{{1,3}}|[a-z]|note \d{{1,3}}|citation needed)\](?:(?!\w)|(?=[{ALONE}]))", re.IGNORECASE
)
"""A mark of an encyclopedia behind a word or a sentence, without a blank. What stands alone in brackets is a word."""
ECHO = 0.75
"""If an address holds words with at least this share of a quote's letters, the page may only repeat the address."""
_DECODINGS = 4
_TAG = re.compile("<[^<>]*>?")
_NAME = re.compile("[?&;][^?&;=]*=")
"""The name of a parameter in an address."""
_END = re.compile(r"\s*\Z|[.!?;](?:\s+(?![\s\d])|\Z)")
"""What ends the text or a sentence, right behind a figure."""
_YEAR = re.compile(r"1[5-9]\d\d|2[01]\d\d")
_WORD_BEHIND = re.compile(rf",? [^\W\d_{ALONE}]")
"""What may stand behind a year."""
_BEGIN = re.compile(r"(?:\A|(?<!\d)[.!?;])\s*\Z")
"""What begins the text or a sentence, right before a figure."""


class Match(NamedTuple):
    """How far a text holds a quote."""

    state: State
    similarity: float | None
    passage: str
    """What is closest, for a near match."""
    why: str


class Passages(Words):
    """A text, or a part of a quote, as words of which passages can be shown."""

    @property
    def is_enough(self) -> bool:
        weight = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for word in self.words for char in word)
        return len(self) >= WORDS and weight >= CHARACTERS

    def text_of(self, first: int, last: int) -> str:
        return " ".join(self.words[first:last])

    def original(self, first: int, last: int) -> str:
        """What the words were made from, on one line and of limited length."""
        source = part_figures(self.source[self.spans[first][0] : self.spans[last - 1][1]])
        plain = " ".join(source.replace(APOSTROPHE, "'").split())
        maximum = max(200, 12 * (last - first))
        return plain if len(plain) <= maximum else f"{plain[:maximum]} ..."

    def figures(self, first: int, last: int) -> list[str]:
        return [word for word in self.words[first:last] if any(char.isdigit() for char in word)]

    def has_whole_figures(self, first: int, last: int) -> bool:
        """Whether no figure at an end of these words may be a part of a longer one, as "5" in "5 million"."""
        start, end = self.spans[first][0], self.spans[last - 1][1]
        begins = not self.figures(first, first + 1) or _BEGIN.search(self.source[max(0, start - 50) : start])
        ends = not self.figures(last - 1, last) or _END.match(self.source, end)
        is_year = _YEAR.fullmatch(self.words[last - 1]) and _WORD_BEHIND.match(self.source, end)
        return bool(begins and (ends or is_year))


def why_unusable(quote: str) -> str:
    """Why a quote can't be looked for; "" where it can."""
    if len(quote) > MAX_LENGTH:
        return f"the quote is too long to check (more than {MAX_LENGTH:,} characters)"
    if not any(part.is_enough for part in _parts(quote)):
        return f"the quote is too short to check (less than {WORDS} words or {CHARACTERS} characters)"
    return ""


def _parts(quote: str) -> list[Passages]:
    """What stands between the ellipses of a quote."""
    return [part for part in map(Passages, _ELLIPSIS.split(quote)) if len(part)]


def compare(quote: str, text: str, addresses: Sequence[str] = ()) -> Match:
    """How far a text, which came from `addresses`, holds `quote`."""
    if why := why_unusable(quote):
        return Match("not found", None, "", why)
    parts = _parts(quote)
    pages = [Passages(form) for form in dict.fromkeys((_REFERENCE_MARK.sub("", text), text))]
    if not len(pages[0]):
        return Match("not found", None, "", "the page shows no text without running its scripts")
    doubt = ""
    if any(part.are_struck for part in parts):
        doubt = "words of it are marked as struck out"
    elif not all(part.is_enough for part in parts):
        doubt = "one of its parts is too short to count"
    elif any(_echoes(address, part) for address in addresses for part in parts):
        doubt = "the address holds words of it too, so that the page may only repeat what it was asked"
    matches = [match for page in pages if (match := _exact(parts, page, doubt))]
    verified = [match for match in matches if match.state == "verified"]
    return next(iter(verified + matches), None) or _closest(parts, pages[0])


def _echoes(address: str, part: Words) -> bool:
    """Whether an address, as a server may read it, holds `WORDS` words of the part in a row with 8 letters or more, or
    words with `ECHO` of its letters, in any order and nearly spelt so. A server may decode the address and drop tags.
    An address that is not plain UTF-8 may hold anything, so that the answer is yes."""
    text, forms = address.partition("#")[0].replace("+", " "), dict[str, None]()
    for _ in range(_DECODINGS):
        try:
            text = unescape(unquote_to_bytes(text).decode())
        except UnicodeDecodeError:
            return True
        if re.search(r"[\x00-\x1f\x7f]", text):
            return True
        without_tags = _TAG.sub("", text)
        forms |= dict.fromkeys(_letters(Words(form)) for form in (text, without_tags, _NAME.sub("", without_tags)))
    return any(any(run in letters for run in _runs(part)) or _share(part, letters) >= ECHO for letters in forms)


def _share(part: Words, letters: str) -> float:
    """The share of a part's letters that is in words that stand in `letters`, the long ones nearly so spelt."""
    from rapidfuzz import fuzz

    words = ["".join(filter(str.isalnum, word)) for word in part.words]
    there = (
        len(word)
        for word in words
        if word in letters or (len(word) > 4 and fuzz.partial_ratio(word, letters, score_cutoff=80))
    )
    return sum(there) / max(1, len("".join(words)))


def _runs(part: Words) -> Iterator[str]:
    """The shortest run of enough words from each word of a part on, as letters; all of it where none is enough."""
    words = ["".join(filter(str.isalnum, word)) for word in part.words]
    ends = [
        next((n for n in range(first + WORDS, len(words) + 1) if len("".join(words[first:n])) >= 8), 0)
        for first in range(len(words))
    ]
    yield from ("".join(words[first:end]) for first, end in enumerate(ends) if end)
    if not any(ends):
        yield "".join(words)


def _letters(words: Words) -> str:
    return "".join(filter(str.isalnum, words.text))


def _exact(parts: Sequence[Passages], page: Passages, doubt: str) -> Match | None:
    """The match where all parts stand in the page in order; None where one does not. With a doubt it is a near one."""
    places: list[tuple[int, int]] = []
    for part in parts:
        begin, size = places[-1][1] if places else 0, len(part)
        tried = islice(page.places(part, begin), MAX_PLACES)
        place = next((place for place in tried if page.has_whole_figures(place, place + size)), None)
        if place is None:
            offset = page.text.find(part.text, page.starts[begin]) if begin < len(page) else -1
            if offset < 0:
                return None
            place = page.word_at(offset)
            doubt = doubt or "a figure or a word of the quote may be part of a longer one"
        places.append((place, place + size))
    if not doubt:
        across = f", in {len(parts)} parts with something left out between them" if len(parts) > 1 else ""
        return Match("verified", 1.0, "", f"the page holds the quote word for word{across}")
    wider = [(max(0, first - 1), min(len(page), last + 1)) for first, last in places]
    return Match("near match", 1.0, _passage(page, wider), f"the page holds the quote, but {doubt}")


def _closest(parts: Sequence[Passages], page: Passages) -> Match:
    """The passages most like each part, in order, and what they amount to."""
    minimum, differing, begin = 1.0, "", 0
    places: list[tuple[int, int]] = []
    for part in parts:
        likeness, first, last = _most_like(part, page, begin)
        minimum = min(minimum, likeness)
        quoted, there = part.figures(0, len(part)), page.figures(first, last)
        if quoted != there:
            names = [", ".join(figure[:20] for figure in figures[:6]) or "none" for figures in (there, quoted)]
            differing = differing or f"{names[0]} where the quote has {names[1]}"
        places.append((first, last))
        begin = last
    if minimum < NEAR:
        return Match("not found", minimum, "", f"the closest passage is only {minimum:.0%} alike")
    if differing:
        return Match("not found", minimum, "", f"the closest passage has other figures: {differing}")
    return Match("near match", minimum, _passage(page, places), f"the closest passage is {minimum:.0%} alike")


def _most_like(part: Passages, page: Passages, begin: int) -> tuple[float, int, int]:
    """The stretch of words from `begin` on that is most like a part, with its likeness."""
    from rapidfuzz import fuzz

    words, offset = part.text.strip(), page.starts[begin] if begin < len(page) else len(page.text)
    rest = page.text[offset:]
    rough = fuzz.partial_ratio_alignment(words, rest, score_cutoff=50) if len(rest) > len(words) // 2 else None
    if rough is None:
        return 0.0, begin, begin
    start, end = (0, len(rest)) if len(rest) <= len(words) else (rough.dest_start, rough.dest_end)
    first, last = page.word_at(offset + start), page.word_at(offset + end - 1) + 1
    margin = 2 + len(part) // 10
    best = max(
        (fuzz.ratio(words, page.text_of(low, high)), low - high, low)
        for low in range(max(begin, first - margin), first + margin + 1)
        for high in range(max(low, last - margin), min(len(page), last + margin) + 1)
    )
    return round(best[0] / 100, 3), best[2], best[2] - best[1]


def _passage(page: Passages, places: Sequence[tuple[int, int]]) -> str:
    return " [...] ".join(page.original(first, last) for first, last in places)
