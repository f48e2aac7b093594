"""Prepares a text for a search for secrets: characters that a reader passes over are left out, and escapes are read as
they are and as what they mean, with the place in the text of each character."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from debate_orchestrator.util.sanitize import NOT_READ


def searchable(text: str) -> str:
    """`text` as it is searched: without white space and all that `sanitize` changes or puts in place of something, the
    other characters as the bytes of their UTF-8, each as one character. So an escape of a byte and one of a character
    stand for the same."""
    text = "".join(text.split())
    if not text.isprintable():
        text = "".join(filter(str.isprintable, text))
    return _short_zeros(text if text.isascii() else NOT_READ.sub("", text).encode("utf-8").decode("latin-1"))


_ZEROS = re.compile(r"(?:(?<=&#)|(?<=&#[xX]))0+(?=0)")
"""The zeros before the number of a character, but for one."""


def _short_zeros(text: str) -> str:
    """`text` without `_ZEROS`, so that no escape in it is long."""
    return _ZEROS.sub("", text) if "&#" in text else text


_ESCAPE = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|(?:\\x[0-9A-Fa-f]{2})+|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|\\(?:u[0-9A-Fa-f]{4}|U000[01][0-9A-Fa-f]{4}|[bfnrtv]|[!-/:-@\[-`{-~])"
    r"|&(?:#\d{1,31}|#[xX][0-9A-Fa-f]{1,31}|\w{1,31}(?=;));?"
)
_UNFINISHED_ESCAPE = re.compile(
    r"(?:(?:%[89A-Fa-f][0-9A-Fa-f]){1,3}%?[0-9A-Fa-f]?|(?:\\x[89A-Fa-f][0-9A-Fa-f]){1,3}(?:\\(?:x[0-9A-Fa-f]?)?)?|%[0-9A-Fa-f]?|\\(?:u[0-9A-Fa-f]{0,3}|u[dD][89abAB][0-9A-Fa-f]{2}(?:\\(?:u[0-9A-Fa-f]{0,3})?)?"
    r"|U[0-9A-Fa-f]{0,7}|x[0-9A-Fa-f]?)?|&#?\w{0,31})\Z"
)
_LONGEST_UNFINISHED = 64
"""Characters of the longest escape that is not finished."""
_EMPHASIS = {ord(sign): None for sign in "*`~\\"}
"""The characters that markdown leaves out: its emphasis, and a backslash before the end of a line."""
MAX_NESTED = 3
"""The maximum depth of repeated escapes."""
_SHORT_ESCAPE = 16
"""Characters of the longest escape whose meaning is kept."""
AS_READ = re.compile(r"[!-$'-)+-\[\]-_a-}]*")
"""Text of ASCII without signs of escapes and of emphasis."""


def _unescape(match: re.Match[str]) -> str:
    """The characters that an escape stands for; empty if they are left out of the search."""
    return _meaning(match[0]) if match.end() - match.start() <= _SHORT_ESCAPE else _meaning.__wrapped__(match[0])


@lru_cache(maxsize=20_000)
def _meaning(escape: str) -> str:
    """As `_unescape`. A text that is full of escapes has the same ones again and again."""
    if escape[0] == "&":
        return searchable(html.unescape(escape))
    if escape[0] == "%" or escape[1] == "x":
        raw = bytes.fromhex(re.sub(r"%|\\x", "", escape))
        try:
            return searchable(raw.decode())
        except UnicodeDecodeError:  # characters of another encoding, or not all of a character
            return raw.decode("latin-1")
    if escape[1] in "uU":
        codes = "".join(chr(int(code, 16)) for code in re.split(r"\\[uU]", escape)[1:])
        return searchable(codes.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass"))
    return "" if escape[1] in "bfnrtv" else escape[1]


def has_escapes(text: str) -> bool:
    """Whether there may be an escape in a text. Most have none, and to look for a sign takes no time."""
    return "%" in text or "\\" in text or "&" in text


def readings(text: str) -> Iterator[str]:
    """A searchable text as it is, and as its escapes mean it, each also without the signs of emphasis."""
    for _ in range(MAX_NESTED + 1):
        yield text
        if (plain := text.translate(_EMPHASIS)) != text:
            yield plain
        if not has_escapes(text) or (unescaped := _short_zeros(_ESCAPE.sub(_unescape, text))) == text:
            return
        text = unescaped


class Reading(NamedTuple):
    """A reading of a text, with the place in the original text where each of its characters begins and ends."""

    text: str
    starts: list[int]
    stops: list[int]

    @classmethod
    def of(cls, text: str) -> Reading:
        if text.isascii():
            places = [place for place, char in enumerate(text) if "!" <= char <= "~"]
            reading = cls("".join([text[place] for place in places]), places, [place + 1 for place in places])
            return reading._short_zeros()
        reading = cls(text, [*range(len(text))], [*range(1, len(text) + 1)])
        reading = reading._substitute((place, place + 1, searchable(char)) for place, char in enumerate(text))
        return reading._short_zeros()

    def plain(self) -> Reading:
        """The same without the signs of emphasis."""
        if self.text.translate(_EMPHASIS) == self.text:
            return self
        return self._substitute(
            (place, place + 1, "") for place, sign in enumerate(self.text) if ord(sign) in _EMPHASIS
        )

    def unescape(self) -> Reading:
        """The same as its escapes mean it."""
        escapes = _ESCAPE.finditer(self.text)
        return self._substitute((match.start(), match.end(), _unescape(match)) for match in escapes)._short_zeros()

    def _short_zeros(self) -> Reading:
        """The same without `_ZEROS`."""
        if "&#" not in self.text:
            return self
        return self._substitute((match.start(), match.end(), "") for match in _ZEROS.finditer(self.text))

    def _substitute(self, pieces: Iterable[tuple[int, int, str]]) -> Reading:
        texts, starts, stops, at = list[str](), list[int](), list[int](), 0
        for first, end, meaning in pieces:
            texts += [self.text[at:first], meaning]
            starts += self.starts[at:first] + [self.starts[first]] * len(meaning)
            stops += self.stops[at:first] + [self.stops[end - 1]] * len(meaning)
            at = end
        text = "".join([*texts, self.text[at:]])
        return Reading(text, starts + self.starts[at:], stops + self.stops[at:])

    def without_unfinished_escape(self) -> Reading:
        """The same but for an end that may continue as an escape."""
        match = _UNFINISHED_ESCAPE.search(self.text, max(0, len(self.text) - _LONGEST_UNFINISHED))
        if match is None:
            return self
        end = match.start()
        return Reading(self.text[:end], self.starts[:end], self.stops[:end])
