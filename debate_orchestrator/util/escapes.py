"""Prepares a text for a search for secrets: invisible characters are left out, and escapes are read both as
written and decoded, with the place in the text of each character. `escaped_key` finds a key some of whose characters
are escaped."""

from __future__ import annotations

import html
import html.entities
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from debate_orchestrator.util.sanitize import INVISIBLE_OR_PLACEHOLDER


def _digits(number: int, width: int) -> str:
    """A pattern for a number in so many hexadecimal digits, of either case."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{number:0{width}x}")


@lru_cache(maxsize=512)
def _written(char: str) -> re.Pattern[str]:
    """A pattern for the ways in which a character is written in a searchable text, where its UTF-8 stands for it."""
    code, units = ord(char), memoryview(char.encode("utf-16")[2:]).cast("H")
    patterns = ["".join(rf"\\u{_digits(unit, 4)}" for unit in units), rf"\\U{_digits(code, 8)}"]
    patterns += [f"&#0?{code}(?:;|(?!\\d))", f"&#[xX]0?{_digits(code, 1)}(?:;|(?![0-9a-fA-F]))"]
    names = [name for name, meaning in html.entities.html5.items() if meaning == char and name.endswith(";")]
    patterns += [rf"&{name[:-1]}(?:;|\Z)" for name in names]  # a text may be cut off before the semicolon
    as_bytes = [(_digits(byte, 2), re.escape(chr(byte))) for byte in char.encode()]
    patterns.append("".join(rf"(?:%{digits}|\\x{digits}|{itself})" for digits, itself in as_bytes))
    return re.compile("|".join(patterns))


_LEFT_OUT = "*`~\\"
"""Characters that markdown leaves out between two others."""
_MAX_LEFT_OUT = 4
"""The maximum number of these."""


def escaped_key(key: str) -> re.Pattern[str]:
    """A pattern for a secret of whose characters some are escaped, also right after what only looks like an escape: in
    `%deadb%65ef` the secret `deadbeef`. `key` is a searchable text, of which the last character may be cut."""
    pattern, before = "", "*"
    for char in key.encode("latin-1").decode(errors="ignore"):
        # Beside one of the secret's own, a search among them would take exponential time.
        if before not in _LEFT_OUT and char not in _LEFT_OUT:
            pattern += f"[{re.escape(_LEFT_OUT)}]{{0,{_MAX_LEFT_OUT}}}"
        pattern, before = f"{pattern}(?:{_written(char).pattern})", char
    return re.compile(pattern)


def searchable(text: str) -> str:
    """`text` as it is searched: without white space and all that `sanitize` changes or puts in place of something, the
    other characters as the bytes of their UTF-8, each as one character. So an escape of a byte and one of a character
    stand for the same."""
    text = "".join(text.split())
    if not text.isprintable():
        text = "".join(filter(str.isprintable, text))
    return _short_zeros(
        text if text.isascii() else INVISIBLE_OR_PLACEHOLDER.sub("", text).encode("utf-8").decode("latin-1")
    )


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
_EMPHASIS = {ord(sign): None for sign in "*`~\\"}
"""The characters that markdown leaves out: its emphasis, and a backslash before the end of a line."""
MAX_NESTED = 3
"""The maximum depth of repeated escapes."""
_SHORT_ESCAPE = 16
"""Characters of the longest escape whose meaning is kept."""


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
        return searchable(codes.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))
    return "" if escape[1] in "bfnrtv" else escape[1]


def has_escapes(text: str) -> bool:
    """Whether there may be an escape in a text. Most have none, and to look for a sign takes no time."""
    return "%" in text or "\\" in text or "&" in text


def decoded_texts(text: str) -> Iterator[str]:
    """A searchable text as it is, and as its escapes mean it, each also without the signs of emphasis."""
    for _ in range(MAX_NESTED + 1):
        yield text
        if (plain := text.translate(_EMPHASIS)) != text:
            yield plain
        if not has_escapes(text) or (unescaped := _short_zeros(_ESCAPE.sub(_unescape, text))) == text:
            return
        text = unescaped


class DecodedText(NamedTuple):
    """A reading of a text, with the place in the original text where each of its characters begins and ends."""

    text: str
    starts: list[int]
    stops: list[int]

    @classmethod
    def of(cls, text: str) -> DecodedText:
        if text.isascii():
            places = [place for place, char in enumerate(text) if "!" <= char <= "~"]
            reading = cls("".join([text[place] for place in places]), places, [place + 1 for place in places])
            return reading._short_zeros()
        reading = cls(text, [*range(len(text))], [*range(1, len(text) + 1)])
        reading = reading._substitute((place, place + 1, searchable(char)) for place, char in enumerate(text))
        return reading._short_zeros()

    def plain(self) -> DecodedText:
        """The same without the signs of emphasis."""
        if self.text.translate(_EMPHASIS) == self.text:
            return self
        return self._substitute(
            (place, place + 1, "") for place, sign in enumerate(self.text) if ord(sign) in _EMPHASIS
        )

    def unescape(self) -> DecodedText:
        """The same as its escapes mean it."""
        escapes = _ESCAPE.finditer(self.text)
        return self._substitute((match.start(), match.end(), _unescape(match)) for match in escapes)._short_zeros()

    def _short_zeros(self) -> DecodedText:
        """The same without `_ZEROS`."""
        if "&#" not in self.text:
            return self
        return self._substitute((match.start(), match.end(), "") for match in _ZEROS.finditer(self.text))

    def _substitute(self, pieces: Iterable[tuple[int, int, str]]) -> DecodedText:
        texts, starts, stops, at = list[str](), list[int](), list[int](), 0
        for first, end, meaning in pieces:
            texts += [self.text[at:first], meaning]
            starts += self.starts[at:first] + [self.starts[first]] * len(meaning)
            stops += self.stops[at:first] + [self.stops[end - 1]] * len(meaning)
            at = end
        text = "".join([*texts, self.text[at:]])
        return DecodedText(text, starts + self.starts[at:], stops + self.stops[at:])
