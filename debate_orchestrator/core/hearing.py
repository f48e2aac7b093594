"""What others hear of a speech: private working left out, quotes looked up in the material, length held.

The record keeps a speech word for word. What reaches anybody else, in a brief or in a report, is worked out from it
here, each time the same.

Private working     everything in `<thinking>...</thinking>`, if that is the format's tag; where a tag is not closed,
                    the rest of the speech. A side that leaves a tag open says nothing rather than too much.
Quotes              `<quote>...</quote>` becomes `<v_quote>` where the material holds it, `<u_quote>` where it does not.
                    Marks of that kind that a speaker writes are taken for plain quotes, and looked up like them.
                    Compared without case, punctuation and space; a quote of a few words proves nothing, and is
                    unverified.
Length              what comes after the most words of the phase is not heard.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from debate_orchestrator.core.parts import Phase, Quotes
from debate_orchestrator.core.values import Value

_WORD = re.compile(r"\S+")


class Quote(Value):
    """Something a speech quotes from the material."""

    text: str
    verified: bool


class Heard(Value):
    """A speech as others hear it."""

    text: str
    words: int
    """Of what is heard."""
    dropped: int = 0
    """Words after those, which nobody heard."""
    quotes: tuple[Quote, ...] = ()
    private: bool = False
    """Whether there was working that is left out."""


def heard(
    text: str, phase: Phase, *, private: str = "", quotes: Quotes | None = None, material: Sequence[str] = ()
) -> Heard:
    """A speech as others hear it. Quotes are looked up where there is material to look in."""
    said = _public(text, private) if private else text
    hidden = said != text
    found: tuple[Quote, ...] = ()
    if quotes is not None:
        said, found = _marked(said, quotes, tuple(material))
    said, dropped = held(said, phase.most_words)
    if dropped and quotes is not None:
        said = _closed(said, quotes)
    return Heard(text=said, words=len(said.split()), dropped=dropped, quotes=found, private=hidden)


def held(text: str, most: int | None) -> tuple[str, int]:
    """The first words of a text, as many as may be heard, and how many there are after them."""
    if most is None:
        return text, 0
    words = list(_WORD.finditer(text))
    if len(words) <= most:
        return text, 0
    return text[: words[most - 1].end()] if most else "", len(words) - most


def _public(text: str, tag: str) -> str:
    """A speech without its private working; without all that follows a tag that is never closed."""
    made = re.sub(rf"<\s*{tag}\b[^>]*>.*?(?:<\s*/\s*{tag}\s*>|\Z)", "\n", text, flags=re.DOTALL | re.IGNORECASE)
    # A closing tag alone means that working came before it, opened in a way that was not understood.
    *_, after = re.split(rf"<\s*/\s*{tag}\s*>", made, flags=re.IGNORECASE)
    return after.strip() if made != text or after != made else text


def _marked(text: str, quotes: Quotes, material: tuple[str, ...]) -> tuple[str, tuple[Quote, ...]]:
    """The text with every quote marked by what was found of it; as it is, but for forged marks, where there is
    nothing to look in."""
    names = "|".join(re.escape(name) for name in quotes.names)
    text = re.sub(rf"<\s*(/?)\s*(?:{names})\b[^>]*>", rf"<\1{quotes.tag}>", text, flags=re.IGNORECASE)
    if not any(material):
        return text, ()
    found: list[Quote] = []

    def mark(match: re.Match[str]) -> str:
        inner = match[1]
        verified = _in(inner, material, quotes.least_words)
        found.append(Quote(text=inner.strip(), verified=verified))
        name = quotes.verified if verified else quotes.unverified
        return f"<{name}>{inner}</{name}>"

    made = re.sub(rf"<{quotes.tag}>((?:(?!</?{quotes.tag}>).)*)</{quotes.tag}>", mark, text, flags=re.DOTALL)
    return made, tuple(found)


def _closed(text: str, quotes: Quotes) -> str:
    """A text that was cut short, with the quote closed in which it was cut, as one that is not verified."""
    opened = [match for match in re.finditer(r"<(/?)(\w+)>", text) if match[2] in quotes.names]
    text = re.sub(r"<[^<>]*\Z", "", text)
    if not opened or opened[-1][1]:
        return text
    last = opened[-1]
    return f"{text[: last.start()]}<{quotes.unverified}>{text[last.end() :]}</{quotes.unverified}>"


def _in(quote: str, material: Sequence[str], least_words: int) -> bool:
    """Whether the material holds a quote, word for word."""
    plain = normal(quote)
    if len(plain.split()) < least_words:
        return False
    return any(f" {plain} " in f" {normal(one)} " for one in material)


@lru_cache(maxsize=64)
def normal(text: str) -> str:
    """A text as quotes are compared: words of letters and digits in small letters, one space between them."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    # An apostrophe within a word belongs to it, however it is written; a hyphen parts words, as a space does.
    folded = re.sub(r"(?<=\w)['’‘ʼ`´](?=\w)", "", folded)
    return " ".join(re.findall(r"[^\W_]+", folded))


def writes_lines_for(text: str, names: Sequence[str]) -> bool:
    """Whether a speech writes lines for somebody of these names: a line that begins with the name and a colon,
    or with a turn's tag that holds it."""
    listed = "|".join(re.escape(name) for name in names)
    return re.search(rf"^[\W_]{{0,6}}(?:{listed})[\W_]{{0,6}}?:", text, flags=re.MULTILINE | re.IGNORECASE) is not None
