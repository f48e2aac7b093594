"""Whether a text holds a quote, and what comes closest to it if it does not.

- verified: the quote is in the text word for word (`core.verbatim`). An ellipsis divides a quote into parts, which
  must be in this order.
- a near match: a passage shares `NEAR` of its characters with the quote, and has the same figures; or all is there, but
  a part is too short to count, a figure or word at an end of it may go on ("5" of "5 million"), marks in it strike
  words out, or the address holds words of it too.
- not found: no passage is that similar, or the closest one has other figures. A changed figure is the forgery that
  matters, so it is never a match.

`NEAR` was measured on 250 sentences of the debates in examples/. With one letter in sixty mistyped a sentence is 0.96
like its passage and more; with one word in ten dropped or replaced, 19 of 20 are 0.91 and more; a sentence that is not
there finds nothing closer than 0.60 half of the time. A near match says nothing about the sense (a "not" costs 0.02),
so the passage is there to be read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from debate_orchestrator.core.verbatim import (
    FootnotedText,
    SearchedText,
    comparable,
    comparable_quote,
    is_struck,
    quote_variants,
    word_spans,
    words_of,
)
from debate_orchestrator.evidence import QuoteState
from debate_orchestrator.evidence.pages import PLACEHOLDERS
from debate_orchestrator.util.sanitize import normalize_unicode, quoted

NEAR = 0.9
WORDS = 4
"""Words that a quote, or one of its parts, must have to prove anything."""
CHARACTERS = 20
"""Characters that it must have too. Those of wide scripts count twice."""
MAX_LENGTH = 2_000
"""Characters that a quote may have."""
_ELLIPSIS = re.compile(r"[\[(]\s*(?:\.\s?){2,}[\])]|\.(?:\s?\.){2,}(?!(?<=\d\.{3})\d)|\u2026")
"""An ellipsis, which leaves words out; "5...7" is a range."""
_FOOTNOTE_AFTER = re.compile(r"(?<=[.,;:])(?:\[\d{1,3}\])+\Z")
"""A footnote marker after the character that ends a figure."""
ECHO_SHARE = 0.75
"""If an address holds words with at least this share of a quote's letters, the page may only repeat the address."""
_DECODINGS = 4
_TAG = re.compile("<[^<>]*>?")
_NAME = re.compile("[?&;][^?&;=]*=")
"""The name of a parameter in an address."""
_ENDING = ".,;:!?\"'"
_AROUND_FIGURE = "\"'()[]\u00ab\u00bb,;:!?*_"
"""Punctuation on both sides of a figure. A full stop counts only after it: ".5" is not "5"."""


class QuoteMatch(NamedTuple):
    """The degree to which a text contains a quote."""

    state: QuoteState
    similarity: float | None
    passage: str
    """The closest passage, for a near match."""
    why: str


def why_unusable(quote: str) -> str:
    """The reason that a quote can't be looked for; "" if it can."""
    if len(quote) > MAX_LENGTH:
        return f"the quote is too long to check (more than {MAX_LENGTH:,} characters)"
    if not any(map(_is_enough, _parts(quote))):
        return f"the quote is too short to check (less than {WORDS} words or {CHARACTERS} characters)"
    return ""


def _parts(quote: str) -> list[FootnotedText]:
    """A part between the ellipses of a quote, in the form in which it is compared."""
    return [part for part in map(comparable_quote, _ELLIPSIS.split(quote)) if part.text.strip(_AROUND_FIGURE + ".")]


def _is_enough(part: FootnotedText) -> bool:
    """Whether a part has so many words and letters that it proves anything."""
    words = words_of(part.text)
    weight = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for word in words for char in word)
    return len(words) >= WORDS and weight >= CHARACTERS


def compare(quote: str, text: str, addresses: Sequence[str] = ()) -> QuoteMatch:
    """Looks for `quote` in a text, each of whose lines is a block. The text came from `addresses`."""
    if why := why_unusable(quote):
        return QuoteMatch("not found", None, "", why)
    parts = _parts(quote)
    searched = SearchedText(text)
    if not words_of(searched.text):
        return QuoteMatch("not found", None, "", "the page shows no text without running its scripts")
    reason_for_doubt = ""
    if is_struck(quote):
        reason_for_doubt = "words of it are marked as struck out"
    elif any(mark in part.text for mark in PLACEHOLDERS for part in parts):
        reason_for_doubt = "it holds a mark that stands in place of what a page shows"
    elif not all(map(_is_enough, parts)):
        reason_for_doubt = "one of its parts is too short to count"
    elif any(_address_contains_quote(address, part.text) for address in addresses for part in parts):
        reason_for_doubt = "the address holds words of it too, so that the page may only repeat what it was asked"
    matches = [
        match for variant in quote_variants(quote) if (match := _exact(_parts(variant), searched, reason_for_doubt))
    ]
    verified = [match for match in matches if match.state == "verified"]
    return next(iter(verified + matches), None) or _closest([part.text for part in parts], searched)


def _address_contains_quote(address: str, part: str) -> bool:
    """Whether an address, as a server may read it, holds `WORDS` words of the part in a row with 8 letters or more, or
    words with `ECHO_SHARE` of its letters, in any order and even if misspelt slightly. A server may decode the
    address and drop tags. An address that is not plain UTF-8 may hold anything, so it counts as one that does."""
    text, forms = address.partition("#")[0].replace("+", " "), dict[str, None]()
    for _ in range(_DECODINGS):
        try:
            text = unescape(unquote_to_bytes(text).decode())
        except UnicodeDecodeError:
            return True
        if re.search(r"[\x00-\x1f\x7f]", text):
            return True
        without_tags = _TAG.sub("", text)
        forms |= dict.fromkeys(map(_letters, (text, without_tags, _NAME.sub("", without_tags))))
    words = [letters for word in words_of(part) if (letters := _letters(word))]
    return any(
        any(run in letters for run in _shortest_runs(words)) or _share(words, letters) >= ECHO_SHARE
        for letters in forms
    )


def _share(words: list[str], letters: str) -> float:
    """The fraction of the letters in words found in `letters`; those of more than four letters may be misspelt."""
    from rapidfuzz import fuzz

    found_lengths = (
        len(word)
        for word in words
        if word in letters or (len(word) > 4 and fuzz.partial_ratio(word, letters, score_cutoff=80))
    )
    return sum(found_lengths) / max(1, len("".join(words)))


def _shortest_runs(words: list[str]) -> Iterator[str]:
    """The shortest run of enough words from each word on, as letters; all of them where none is enough."""
    ends = [
        next((n for n in range(first + WORDS, len(words) + 1) if len("".join(words[first:n])) >= 8), 0)
        for first in range(len(words))
    ]
    yield from ("".join(words[first:end]) for first, end in enumerate(ends) if end)
    if not any(ends):
        yield "".join(words)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalize_unicode(comparable(text)).casefold()))


def _exact(parts: Sequence[FootnotedText], searched: SearchedText, reason_for_doubt: str) -> QuoteMatch | None:
    """The match where all parts are in the text in order, a near one if in doubt; None if one part is not."""
    spans: list[tuple[int, int]] = []
    for part in parts:
        place = searched.find(part, spans[-1][1] if spans else 0)
        if place is None or _figures(searched.with_whole_words(place.start, place.end)) != _figures(part.text):
            return None
        spans.append((place.start, place.end))
        reason_for_doubt = reason_for_doubt or (
            "" if place.whole else "a figure or a word of the quote may be part of a longer one"
        )
    if not reason_for_doubt:
        across = f", in {len(parts)} parts with something left out between them" if len(parts) > 1 else ""
        return QuoteMatch("verified", 1.0, "", f"the page holds the quote word for word{across}")
    return QuoteMatch(
        "near match",
        1.0,
        _passage(searched, map(searched.with_neighbours, spans)),
        f"the page holds the quote, but {reason_for_doubt}",
    )


def _closest(parts: Sequence[str], searched: SearchedText) -> QuoteMatch:
    minimum, differing, begin = 1.0, "", 0
    spans: list[tuple[int, int]] = []
    for part in parts:
        likeness, start, end = _most_like(part, searched, begin)
        minimum = min(minimum, likeness)
        quote_figures, page_figures = _figures(part), _figures(searched.text[start:end])
        if quote_figures != page_figures:
            names = [
                ", ".join(quoted(figure[:20]) for figure in figures[:6]) or "none"
                for figures in (page_figures, quote_figures)
            ]
            differing = differing or f"{names[0]} where the quote has {names[1]}"
        spans.append((start, end))
        begin = end
    if minimum < NEAR:
        return QuoteMatch("not found", minimum, "", f"the closest passage is only {minimum:.0%} alike")
    if differing:
        return QuoteMatch("not found", minimum, "", f"the closest passage has other figures: {differing}")
    return QuoteMatch("near match", minimum, _passage(searched, spans), f"the closest passage is {minimum:.0%} alike")


def _figures(text: str) -> list[str]:
    """The words with a digit, without the punctuation around them."""
    words = (_FOOTNOTE_AFTER.sub("", word) for word in words_of(text) if any(map(str.isnumeric, word)))
    return [word.lstrip(_AROUND_FIGURE).rstrip(_AROUND_FIGURE + ".") for word in words]


def _most_like(part: str, searched: SearchedText, begin: int) -> tuple[float, int, int]:
    """The stretch of words from `begin` on most similar to `part`: its similarity (0 to 1), start and end."""
    from rapidfuzz import fuzz

    quoted, rest = in_one_case(part), in_one_case(searched.text[begin:])
    rough = fuzz.partial_ratio_alignment(quoted, rest, score_cutoff=50) if len(rest) > len(quoted) // 2 else None
    if rough is None:
        return 0.0, begin, begin
    start, end = (0, len(rest)) if len(rest) <= len(quoted) else (rough.dest_start, rough.dest_end)
    margin, letters = 2 + len(words_of(part)) // 10, len(quoted) // 4 + 50
    spans = word_spans(rest, max(0, start - letters), end + letters)
    first = next((n for n, span in enumerate(spans) if span[1] > start), len(spans) - 1)
    last = max((n for n, span in enumerate(spans) if span[0] < end), default=0)
    best = max(
        (fuzz.ratio(quoted, rest[spans[low][0] : spans[high][1]].rstrip(_ENDING)), low - high, low, high)
        for low in range(max(0, first - margin), min(len(spans), first + margin + 1))
        for high in range(max(low, last - margin), min(len(spans), last + margin + 1))
    )
    first_char, stop = spans[best[2]][0], spans[best[3]][1]
    return round(best[0] / 100, 3), begin + first_char, begin + len(rest[:stop].rstrip(_ENDING))


def in_one_case(text: str) -> str:
    """`text` in one case, each character in its place."""
    return text.replace("\u0130", "i").lower()


def _passage(searched: SearchedText, spans: Iterable[tuple[int, int]]) -> str:
    """The text at these places, on one line and of limited length."""
    lines, maximum = (" ".join(searched.text[start:end].split()) for start, end in spans), 2 * MAX_LENGTH
    return " [...] ".join(line if len(line) <= maximum else f"{line[:maximum]} ..." for line in lines)
