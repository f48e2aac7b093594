"""Patterns that find a key of whose characters some are escaped."""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterator
from functools import lru_cache


def _digits(number: int, width: int) -> str:
    """A pattern for a number in so many hexadecimal digits, of either case."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{number:0{width}x}")


@lru_cache(maxsize=512)
def _written(char: str) -> re.Pattern[str]:
    """A pattern for the ways in which a character is written in a searchable text, where its UTF-8 stands for it."""
    code, units = ord(char), memoryview(char.encode("utf-16")[2:]).cast("H")
    ways = ["".join(rf"\\u{_digits(unit, 4)}" for unit in units), rf"\\U{_digits(code, 8)}"]
    ways += [f"&#0?{code}(?:;|(?!\\d))", f"&#[xX]0?{_digits(code, 1)}(?:;|(?![0-9a-fA-F]))"]
    ways += [f"&{name}" for name, meaning in html.entities.html5.items() if meaning == char and name.endswith(";")]
    as_bytes = [(_digits(byte, 2), re.escape(chr(byte))) for byte in char.encode()]
    ways.append("".join(rf"(?:%{digits}|\\x{digits}|{itself})" for digits, itself in as_bytes))
    return re.compile("|".join(ways))


_LEFT_OUT = "*`~\\"
"""Characters that markdown leaves out between two others."""
_MAX_LEFT_OUT = 4
"""The maximum number of these."""
_LONGEST_WRITTEN = 40
"""Characters of the longest way in which one is written, with the characters left out after it."""


class EscapedKey:
    """Finds a secret of whose characters some are escaped, also right after what only looks like an escape: in
    `%deadb%65ef` the secret `deadbeef`."""

    def __init__(self, key: str):
        """`key` is a searchable text."""
        self._key = key.encode("latin-1").decode()
        written = [f"(?:{_written(char).pattern})" for char in self._key]
        self.whole = re.compile(f"[{re.escape(_LEFT_OUT)}]{{0,{_MAX_LEFT_OUT}}}".join(written))
        self.first = written[0]
        """A pattern for its first character."""
        self._first = re.compile(f"(?={self.first})")

    def __len__(self) -> int:
        return len(self._key)

    def beginnings(self, text: str) -> Iterator[tuple[int, int]]:
        """The start of each suffix of a text that is a beginning of the secret, and its number of characters."""
        for first in self._first.finditer(text, max(0, len(text) - _LONGEST_WRITTEN * len(self))):
            if length := self._length_to_end(text, first.start()):
                yield first.start(), length

    def _length_to_end(self, text: str, start: int) -> int:
        """The number of characters of the secret in `text[start:]`; 0 if it is not the beginning of it."""
        places = {start}
        for length, char in enumerate(self._key):
            if len(text) in places:
                return length
            places = {after for place in places for end in _ends(char, text, place) for after in _skip(text, end)}
            if not places:
                break
        return 0


def _ends(char: str, text: str, start: int) -> Iterator[int]:
    """The places where a character that is written at `start` may end."""
    if text.startswith(itself := char.encode().decode("latin-1"), start):
        yield start + len(itself)
    if written := _written(char).match(text, start):
        yield written.end()
        if written[0][0] == "&" and written[0][-1] == ";":  # which may be the next character
            yield written.end() - 1


def _skip(text: str, start: int) -> Iterator[int]:
    """The place where the character after those that markdown leaves out may begin."""
    yield start
    for place in range(start, min(start + _MAX_LEFT_OUT, len(text))):
        if text[place] not in _LEFT_OUT:
            return
        yield place + 1
