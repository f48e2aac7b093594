"""Patterns that find a key of whose characters some are escaped."""

from __future__ import annotations

import html.entities
import re
from functools import lru_cache


@lru_cache(maxsize=512)
def _written(char: str) -> str:
    """A pattern for a character of a bare text: as it is, or in any escape of its own."""
    code = ord(char)
    digits = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{code:02x}")
    ways = [re.escape(char), f"%{digits}", rf"\\x{digits}"]
    if char.isascii():
        ways += [
            rf"\\u00{digits}",
            rf"\\U000000{digits}",
            f"&#0*{code}(?:;|(?!\\d))",
            f"&#[xX]0*{digits}(?:;|(?![0-9a-fA-F]))",
        ]
        ways += [f"&{name}" for name, meaning in html.entities.html5.items() if meaning == char and name.endswith(";")]
    return f"(?:{'|'.join(ways)})"


_BEGINNING = 8
"""Characters of a key by which its beginning is recognised at the end of a text."""
_LEFT_OUT = r"[*`~\\]{0,4}"
"""What markdown leaves out between two characters."""


class EscapedKey:
    """Finds a secret of whose characters some are escaped, also right behind what only looks like an escape: in
    `%deadb%65ef` the secret `deadbeef`."""

    def __init__(self, bare: str):
        written = [_written(char) for char in bare]
        self.whole = re.compile(_LEFT_OUT.join(written))
        begun = rf"{written[_BEGINNING - 1]}(?s:.{{0,{12 * len(bare)}}})"
        for way in written[_BEGINNING - 2 :: -1]:
            begun = f"{way}{_LEFT_OUT}(?:{begun})?"
        self._begun = re.compile(rf"{begun}\Z")
        self._window = 16 * (_BEGINNING + len(bare))

    def begun(self, text: str) -> int:
        """Where an end of a text begins that may go on as the secret, but for the whole of it; its length if there is
        none."""
        place = max(0, len(text) - self._window)
        while match := self._begun.search(text, place):
            whole = self.whole.match(text, match.start())
            if whole is None:
                return match.start()
            place = whole.end()
        return len(text)
