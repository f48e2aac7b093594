"""A terminal as far as the screen needs one: what it has been sent, it shows."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

from wcwidth import iter_graphemes, wcswidth

from debate_orchestrator.screen.terminal import Terminal

_SENT = re.compile(r"\x1b\[(\??)(\d*(?:;\d+)*)([A-Za-z])|\r|\n|[^\x1b\r\n]+|\x1b")
_BEGUN = re.compile(r"\x1b(?:\[\??[\d;]*)?\Z")
_ONLY = {"m", "A", "J", "G", "h", "l"}


class Glass(io.StringIO):
    """The lines that are there from the beginning, of which the last ones are on the screen. Longer lines go on in the
    next one, unless that is switched off. Nothing is known of it that `Terminal` does not send."""

    encoding = "utf-8"

    def __init__(self, columns: int = 80, rows: int = 24):
        super().__init__()
        self.columns, self.rows = columns, rows
        self.lines = [""]
        self.at = self.column = 0
        self.hidden = False
        self.wraps = True
        self.raw = self._begun = ""

    def write(self, text: str) -> int:
        self.raw += text
        text = self._begun + text
        begun = _BEGUN.search(text)  # an order of which the rest is not here yet
        text, self._begun = (text[: begun.start()], begun[0]) if begun else (text, "")
        for found in _SENT.finditer(text):
            self._take(found)
        return len(text)

    def _take(self, found: re.Match[str]) -> None:
        private, number, order = found[1], found[2], found[3]
        if order is not None:
            assert order in _ONLY, found[0]
            self._obey(private + number, order)
        elif found[0] == "\r":
            self.column = 0
        elif found[0] == "\n":
            self._down()
        else:
            assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", found[0]), ascii(found[0])
            for one in iter_graphemes(found[0]):
                self._put(one)

    def _obey(self, number: str, order: str) -> None:
        top = max(0, len(self.lines) - self.rows)
        if order == "A":
            self.at = max(top, self.at - int(number or 1))
        elif order == "G":
            self.column = int(number) - 1
        elif order == "J":
            del self.lines[self.at + 1 :]
            self.lines[self.at] = _cut(self.lines[self.at], self.column)
        elif number == "?25":
            self.hidden = order == "l"
        elif number == "?7":
            self.wraps = order == "h"

    def _down(self) -> None:
        self.at += 1
        if self.at == len(self.lines):
            self.lines.append("")

    def _put(self, one: str) -> None:
        cells = wcswidth(one)
        if self.column + cells > self.columns:
            if not self.wraps:
                return
            self.column = 0
            self._down()
        line = _cut(self.lines[self.at], self.column).ljust(self.column)
        self.lines[self.at] = line + one + self.lines[self.at][len(line) + len(one) :]
        self.column += cells

    @property
    def text(self) -> str:
        """Everything, from the top of the scroll-back."""
        return "\n".join(line.rstrip() for line in self.lines).rstrip()

    @property
    def screen(self) -> list[str]:
        """What can be seen without scrolling back."""
        return [line.rstrip() for line in self.lines[-self.rows :]]


def _cut(line: str, cells: int) -> str:
    """The first cells of a line."""
    kept = ""
    for one in iter_graphemes(line):
        if wcswidth(kept + one) > cells:
            break
        kept += one
    return kept


class OnGlass(Terminal):
    """A terminal that shows on glass."""

    def __init__(self, glass: Glass, environment: Mapping[str, str] | None = None):
        super().__init__(glass, {"TERM": "xterm"} if environment is None else environment)
        self.glass = glass

    def size(self) -> tuple[int, int]:
        return self.glass.columns, self.glass.rows
