"""What others hear of a speech: private working left out, quotes looked up in the context, cut to the length allowed.

The journal keeps a speech word for word. What others read, in a brief or in a report, is worked out from it here,
each time the same, and sanitized before anything else: nothing that hides in a tag makes it another tag.

Private working     what stands in the format's tag, if it has one, and in tags that models use: see `private_text`.
Length              what comes after the most words of the phase is not heard; a quote that is cut in two ends there.
Quotes              `<quote>...</quote>` becomes `<v_quote>` where a context file holds it, else `<u_quote>`.
                    In a format with quotes every other `<` of a speech is heard as `&lt;`, so that no speaker can write
                    a tag that says a quote was found. It must stand there word for word (`core.verbatim`); a quote of
                    a few words proves nothing, and is unverified. So are one with words struck out, and those after
                    the first 200 of a speech.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from debate_orchestrator.core.phases import Phase, Quotes
from debate_orchestrator.core.private_text import public_text
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.core.verbatim import Source, comparable_quote, is_struck, paragraphs, words_of
from debate_orchestrator.util.sanitize import sanitize

MAX_QUOTES = 200
"""Quotes of one text that are looked up; those after them are heard as unverified."""
_WORD = re.compile(r"\S+")
_LESS_THAN = re.compile("[<\ufe64\uff1c]")
_LIKE_LESS_THAN = "<\ufe64\uff1c\u02c2\u2039\u1438\u276e\u2770\u27e8\u2329\u3008\u29fc\u227a\u226a\u22d6\u00ab\u300a"
"""It, and signs that may be taken for it."""


class Quote(FrozenModel):
    """Something a speech quotes from the context files."""

    text: str
    verified: bool


class VisibleText(FrozenModel):
    """A speech as others hear it."""

    text: str
    words: int
    """The number of words that are heard."""
    dropped: int = 0
    """The number of words after those, which are not heard."""
    quotes: tuple[Quote, ...] = ()
    """The quotes in what is heard, as they are heard."""
    private: bool = False
    """Whether there was working that is left out."""


def make_visible(
    text: str,
    phase: Phase | None,
    *,
    private: str = "",
    quotes: Quotes | None = None,
    context_texts: Sequence[str] = (),
) -> VisibleText:
    """A speech as others hear it. Quotes are looked up in `context_texts`, if there are any. `private` is the format's
    tag for private working."""
    public = public_text(sanitize(text), private)
    visible = public.text if quotes is None else with_plain_tags(public.text, quotes)
    visible, dropped_words = cut_to_length(visible, phase.most_words if phase else None)
    checked_quotes: tuple[Quote, ...] = ()
    if quotes is not None and any(context_texts):
        visible, checked_quotes = _mark_quotes(
            _with_open_quote_closed(visible, quotes) if dropped_words else visible, quotes, tuple(context_texts)
        )
    elif quotes is not None and dropped_words:
        visible = _with_open_quote_closed(visible, quotes)
    return VisibleText(
        text=visible, words=len(visible.split()), dropped=dropped_words, quotes=checked_quotes, private=public.private
    )


def mark_quotes(text: str, quotes: Quotes | None, context_texts: Sequence[str]) -> tuple[str, tuple[Quote, ...]]:
    """A text of a structured reply, sanitized, with its quotes looked up in `context_texts`, if there are any."""
    if quotes is None:
        return text, ()
    plain = with_plain_tags(text, quotes)
    return _mark_quotes(plain, quotes, tuple(context_texts)) if any(context_texts) else (plain, ())


def cut_to_length(text: str, maximum: int | None) -> tuple[str, int]:
    """The first words of a text, as many as may be heard, and how many there are after them."""
    if maximum is None:
        return text, 0
    count = len(text.split())
    if count <= maximum:
        return text, 0
    last = next(islice(_WORD.finditer(text), maximum - 1, None)) if maximum else None
    return text[: last.end()] if last else "", count - maximum


def with_plain_tags(text: str, quotes: Quotes) -> str:
    """The text with the plain tags of quotes as its only tags: every other `<` is escaped."""
    text = without_quote_tags(text, quotes)
    tag, parts, at = re.compile(rf"<(/?){quotes.tag}>", re.IGNORECASE), list[str](), 0
    for match in tag.finditer(text):
        parts += [_LESS_THAN.sub("&lt;", text[at : match.start()]), f"<{match[1]}{quotes.tag}>"]
        at = match.end()
    return "".join((*parts, _LESS_THAN.sub("&lt;", text[at:])))


def without_quote_tags(text: str, quotes: Quotes) -> str:
    """The text, sanitized, with the tags escaped that say what a look-up found, however their `<` looks."""
    tags = rf"[{_LIKE_LESS_THAN}](?=[\s/\u2044\u2215]{{0,3}}(?:{quotes.verified}|{quotes.unverified})\b)"
    return re.sub(tags, "&lt;", sanitize(text), flags=re.IGNORECASE)


def _with_open_quote_closed(text: str, quotes: Quotes) -> str:
    """A text that was cut short, with the quote closed in which it was cut."""
    slashes = re.findall(rf"<(/?){quotes.tag}>", text)
    return text if not slashes or slashes[-1] else f"{text}</{quotes.tag}>"


def _mark_quotes(text: str, quotes: Quotes, context_texts: tuple[str, ...]) -> tuple[str, tuple[Quote, ...]]:
    """The text with every quote in the tag that says whether a context file holds it."""
    checked_quotes: list[Quote] = []

    def tagged(match: re.Match[str]) -> str:
        quote, within = match[1], _searchable_files(context_texts)
        verified = len(checked_quotes) < MAX_QUOTES and _is_quoted(quote, within, quotes.least_words)
        checked_quotes.append(Quote(text=quote.strip(), verified=verified))
        name = quotes.verified if verified else quotes.unverified
        return f"<{name}>{quote}</{name}>"

    text = re.sub(rf"<{quotes.tag}>((?:(?!</?{quotes.tag}>).)*)</{quotes.tag}>", tagged, text, flags=re.DOTALL)
    return text, tuple(checked_quotes)


@lru_cache(maxsize=4)
def _searchable_files(context_texts: tuple[str, ...]) -> tuple[Source, ...]:
    """The context files of a debate. Made once, at the first quote."""
    return tuple(Source(paragraphs(sanitize(text))) for text in context_texts)


def _is_quoted(quote: str, within: Sequence[Source], least_words: int) -> bool:
    """Whether a context file holds a quote word for word. One that shows words as struck out is held by none."""
    part = comparable_quote(sanitize(quote).replace("&lt;", "<"))
    if is_struck(quote) or len(words_of(part)) < max(1, least_words):
        return False
    return any(place is not None and place.whole for place in (source.find(part) for source in within))


def writes_lines_for(text: str, names: Sequence[str]) -> bool:
    """Whether a speech writes lines for a speaker of these names: a line that begins with the name and a colon."""
    if not names:
        return False
    alternatives, around = "|".join(re.escape(name) for name in names), r"(?:[^\w\n]|_){0,6}"
    return re.search(rf"^{around}(?:{alternatives}){around}?:", text, flags=re.MULTILINE | re.IGNORECASE) is not None
