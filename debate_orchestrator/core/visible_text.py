"""The part of a speech that others hear: without private reasoning, quotes looked up in the context, cut to the length
allowed.

The journal keeps a speech word for word. What others read, in a brief or in a report, is worked out from it here,
each time the same, and sanitized before anything else: nothing that hides in a tag makes it another tag.

Private reasoning   the text in the format's tag, if it has one, and in tags that models use: see `private_text`.
Length              what comes after the most words of the phase is not heard; a quote that is cut in two ends there.
Quotes              `<quote>...</quote>` becomes `<v_quote>` where a context file holds it, else `<u_quote>`.
                    It must be there word for word (`core.verbatim`); a quote of a few words proves nothing, and is
                    unverified. So are one with words struck out, and those after the first 200 of a speech.
Tags                In a format with quotes every other `<` of a speech is heard as `&lt;`, so programs tell these tags
                    from words of the speaker. Models and people might not, since other characters look like them. So a
                    brief shows each tag with the marker of its document, which the speaker can't know, and elsewhere
                    what was found is said outside of the speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from debate_orchestrator.core.phases import Phase, QuoteRules
from debate_orchestrator.core.private_text import PublicText
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.core.verbatim import (
    SearchedText,
    comparable_quote,
    is_struck,
    paragraphs,
    quote_variants,
    words_of,
)
from debate_orchestrator.util.sanitize import LOOK_ALIKES, count_words, quoted, sanitize

MAX_QUOTES = 200
"""Quotes of one text that are looked up; those after them are heard as unverified."""
_WORD = re.compile(r"\S+")

_COLONS = ":\u02d0\u02f8\u205a\u2236\ua789\ufe13\ufe55\uff1a\u1361"
"""The colon, and characters that look like it."""


class Quote(FrozenModel):
    """A quote from the context files."""

    text: str
    """As the speech has it."""
    verified: bool
    """Whether they hold it, word for word."""


class VisibleText(FrozenModel):
    """A speech as others hear it: its public text up to the phase's limit of words, with its quotes looked up."""

    text: str
    words: int
    dropped: int = 0
    """The number of words that were cut off and that no one hears."""
    quotes: tuple[Quote, ...] = ()
    """The quotes in what is heard, as they are heard."""
    had_private: bool = False
    """Whether there was reasoning that is left out."""


def make_visible(
    public: PublicText,
    phase: Phase | None,
    *,
    quotes: QuoteRules | None = None,
    context_texts: Sequence[str] = (),
) -> VisibleText:
    """The public part of a speech as others hear it, its quotes looked up in `context_texts`."""
    visible = public.text if quotes is None else _with_plain_tags(public.text, quotes)
    visible, dropped_words = cut_to_length(visible, phase.max_words if phase else None)
    if quotes is not None and dropped_words:
        visible = _with_open_quote_closed(visible, quotes)
    visible, checked_quotes = mark_quotes(visible, quotes, context_texts)
    return VisibleText(
        text=visible,
        words=count_words(visible),
        dropped=dropped_words,
        quotes=checked_quotes,
        had_private=public.had_private,
    )


def mark_quotes(text: str, quotes: QuoteRules | None, context_texts: Sequence[str]) -> tuple[str, tuple[Quote, ...]]:
    """A text of a structured reply, sanitized, with its quotes looked up in `context_texts`, if there are any."""
    if quotes is None:
        return text, ()
    plain = _with_plain_tags(text, quotes)
    return _mark_quotes(plain, quotes, tuple(context_texts)) if any(context_texts) else (plain, ())


def cut_to_length(text: str, maximum: int | None) -> tuple[str, int]:
    """The first words of a text, as many as may be heard, and how many there are after them."""
    if maximum is None:
        return text, 0
    count = count_words(text)
    if count <= maximum:
        return text, 0
    last = next(islice(_WORD.finditer(text), maximum - 1, None)) if maximum else None
    return text[: last.end()] if last else "", count - maximum


def with_marker(text: str, quotes: QuoteRules, marker: str) -> str:
    """The heard text with a marker in each tag of a quote that was looked up: `<v_quote MARKER>`."""
    return re.sub(rf"<(/?)({'|'.join(quotes.checked_tags)})>", rf"<\1\2 {marker}>", text)


def without_marked_tags(text: str, quotes: QuoteRules, marker: str) -> tuple[str, list[Quote]]:
    """The text with quotation marks in place of the tags that hold that marker, and the quotes in these tags."""
    tags = rf"<(?P<tag>{'|'.join(quotes.checked_tags)}) {marker}>(?P<quote>.*?)</(?P=tag) {marker}>"
    checked = [
        Quote(text=match["quote"].strip(), verified=match["tag"] == quotes.verified)
        for match in re.finditer(tags, text, re.DOTALL)
    ]
    return re.sub(tags, r"“\g<quote>”", text, flags=re.DOTALL), checked


def with_quotation_marks(text: str, checked_tags: Iterable[str]) -> str:
    for tag in checked_tags:
        text = text.replace(f"<{tag}>", "“").replace(f"</{tag}>", "”")
    return text


def quote_results(quotes: Iterable[Quote]) -> list[str]:
    """The results of looking up quotes, a line for each that differs from the ones before it."""
    return list(dict.fromkeys(f"{quote_result(quote)}: {quoted(quote.text)}" for quote in quotes))


def quote_result(quote: Quote) -> str:
    """The result of looking up a quote."""
    return "Found in the context files" if quote.verified else "Not found in the context files"


def _with_plain_tags(text: str, quotes: QuoteRules) -> str:
    """A sanitized text with the plain tags of quotes as its only tags: every other `<` is escaped."""
    text = re.sub(rf"<(?!/?{quotes.tag}>)", "&lt;", text, flags=re.IGNORECASE)
    return re.sub(rf"<(/?){quotes.tag}>", rf"<\1{quotes.tag}>", text, flags=re.IGNORECASE)


def _with_open_quote_closed(text: str, quotes: QuoteRules) -> str:
    slashes = re.findall(rf"<(/?){quotes.tag}>", text)
    return text if not slashes or slashes[-1] else f"{text}</{quotes.tag}>"


def _mark_quotes(text: str, quotes: QuoteRules, context_texts: tuple[str, ...]) -> tuple[str, tuple[Quote, ...]]:
    """The text with every quote in the tag that says whether a context file holds it."""
    checked_quotes: list[Quote] = []

    def tagged(match: re.Match[str]) -> str:
        quote, within = match[1], _searchable_files(context_texts)
        verified = len(checked_quotes) < MAX_QUOTES and _is_quoted(quote, within, quotes.min_words)
        checked_quotes.append(Quote(text=quote.strip(), verified=verified))
        name = quotes.verified if verified else quotes.unverified
        return f"<{name}>{quote}</{name}>"

    text = re.sub(rf"<{quotes.tag}>((?:(?!</?{quotes.tag}>).)*)</{quotes.tag}>", tagged, text, flags=re.DOTALL)
    return text, tuple(checked_quotes)


@lru_cache(maxsize=4)
def _searchable_files(context_texts: tuple[str, ...]) -> tuple[SearchedText, ...]:
    """The context files of a debate. Made once, at the first quote."""
    return tuple(SearchedText(paragraphs(sanitize(text))) for text in context_texts)


def _is_quoted(quote: str, within: Sequence[SearchedText], min_words: int) -> bool:
    """Whether a context file holds a quote word for word. One that shows words as struck out is held by none."""
    parts = [comparable_quote(variant) for variant in quote_variants(sanitize(quote).replace("&lt;", "<"))]
    if is_struck(quote) or len(words_of(parts[0].text)) < max(1, min_words):
        return False
    return any(place is not None and place.whole for source in within for place in map(source.find, parts))


_PHASE = r"(?:opening|constructive|challenge|rebuttal|reply|response|closing)(?:[^\S\n]+(?:statement|\d{1,2}))?"


def writes_lines_for(text: str, names: Sequence[str]) -> bool:
    """Whether a speech writes lines for a speaker of these names: a line that begins with the name and a colon, also in
    letters that look alike, perhaps after numbers, a time or a round, and before a phase and notes in brackets."""
    if not names:
        return False
    alternatives = "|".join(r"[^\S\n]+".join(map(re.escape, _alike(name).split())) for name in names)
    around = r"(?:[^\w\n]|_){0,6}"
    before = r"(?:(?:\d\w{0,7}|[ap]\.?m|[a-z](?=[.)])|round|turn)(?:[^\w\n]|_){1,6}){0,9}"
    notes = rf"(?:,[^\S\n]+{_PHASE}{around})?(?:[(\[][^()\[\]\n]{{1,40}}[)\]]{around}?){{0,3}}"
    line = rf"^{around}{before}(?:{alternatives}){around}?{notes}[{_COLONS}]"
    return re.search(line, _alike(text), flags=re.MULTILINE) is not None


def writes_lines_by_earlier_rule(text: str, names: Sequence[str]) -> bool:
    """The same as versions read it whose journals have no codes of speeches: with nothing but marks around the name.
    No speech with such a line conceded then, in any format."""
    alternatives, around = "|".join(map(re.escape, names)) or "(?!)", r"(?:[^\w\n]|_){0,6}"
    return re.search(rf"^{around}(?:{alternatives}){around}?:", text, flags=re.MULTILINE | re.IGNORECASE) is not None


def _alike(text: str) -> str:
    return text.casefold().translate(LOOK_ALIKES)
