"""Patterns that find a key of whose characters some are escaped."""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterator
from functools import lru_cache


@lru_cache(maxsize=512)
def _escapes(char: str) -> re.Pattern[str]:
    """A pattern for the escapes of a character of a searchable text."""
    code = ord(char)
    digits = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{code:02x}")
    ways = [f"%{digits}", rf"\\x{digits}"]
    if char.isascii():
        ways += [rf"\\u00{digits}", rf"\\U000000{digits}"]
        ways += [f"&#0?{code}(?:;|(?!\\d))", f"&#[xX]0?{digits}(?:;|(?![0-9a-fA-F]))"]
        ways += [f"&{name}" for name, meaning in html.entities.html5.items() if meaning == char and name.endswith(";")]
    return re.compile("|".join(ways))


_LEFT_OUT = "*`~\\"
"""Characters that markdown leaves out between two others."""
_MAX_LEFT_OUT = 4
"""The maximum number of these."""
_LONGEST_WRITTEN = 24
"""Characters of the longest way in which one is written, with the characters left out after it."""


class EscapedKey:
    """Finds a secret of whose characters some are escaped, also right after what only looks like an escape: in
    `%deadb%65ef` the secret `deadbeef`."""

    def __init__(self, key: str):
        self._key = key
        written = [f"(?:{re.escape(char)}|{_escapes(char).pattern})" for char in key]
        self.whole = re.compile(f"[{re.escape(_LEFT_OUT)}]{{0,{_MAX_LEFT_OUT}}}".join(written))
        self._first = re.compile(f"(?={written[0]})")

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
        return 0


def _ends(char: str, text: str, start: int) -> Iterator[int]:
    """The places where a character that is written at `start` may end."""
    if text.startswith(char, start):
        yield start + 1
    if escape := _escapes(char).match(text, start):
        yield escape.end()
        if escape[0][-1] == ";":  # which may be the next character
            yield escape.end() - 1


def _skip(text: str, start: int) -> Iterator[int]:
    """The place where the character after those that markdown leaves out may begin."""
    yield start
    for place in range(start, min(start + _MAX_LEFT_OUT, len(text))):
        if text[place] not in _LEFT_OUT:
            return
        yield place + 1
