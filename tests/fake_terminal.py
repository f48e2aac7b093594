"""A terminal that shows what it is sent, and a debate that is shown on it, with a clock set by hand."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import debates
from wcwidth import iter_graphemes, wcswidth

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import BriefSent, Event, Spoke
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.terminal.display import Display
from debate_orchestrator.terminal.live import LiveView

_SENT = re.compile(r"\x1b\[(\??)(\d*(?:;\d+)*)([A-Za-z])|\r|\n|[^\x1b\r\n]+|\x1b")
_BEGUN = re.compile(r"\x1b(?:\[\??[\d;]*)?\Z")
_KNOWN = {"m", "A", "G", "J", "h", "l"}


class FakeTerminal(io.StringIO):
    """All its lines, of which the last ones are on the screen. Longer lines wrap, unless that is switched off. It knows
    the sequences that `Display` sends, and fails on any other. One that `joins` no signs draws each by itself, and a
    vowel sign in a column of its own."""

    encoding = "utf-8"

    def __init__(self, columns: int = 80, rows: int = 24, *, joins: bool = True):
        super().__init__()
        self._joins = joins
        self.columns, self.rows = columns, rows
        self.lines = [""]
        self.at = self.column = 0
        self.hidden = False
        self.wraps = True
        self.raw = self._begun = ""

    def write(self, text: str) -> int:
        self.raw += text
        text = self._begun + text
        begun = _BEGUN.search(text)  # a sequence that is not complete yet
        text, self._begun = (text[: begun.start()], begun[0]) if begun else (text, "")
        for found in _SENT.finditer(text):
            self._take(found)
        return len(text)

    def _take(self, found: re.Match[str]) -> None:
        private, number, order = found[1], found[2], found[3]
        if order is not None:
            assert order in _KNOWN, found[0]
            self._obey(private + number, order)
        elif found[0] == "\r":
            self.column = 0
        elif found[0] == "\n":
            self._down()
        else:
            assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", found[0]), ascii(found[0])
            for grapheme in self._signs(found[0]):
                self._put(grapheme)

    def _obey(self, number: str, order: str) -> None:
        top = max(0, len(self.lines) - self.rows)
        if order == "A":
            self.at = max(top, self.at - int(number or 1))
        elif order == "G":
            self.column = int(number or 1) - 1
        elif order == "J":
            del self.lines[self.at + 1 :]
            self.lines[self.at] = self._cut(self.lines[self.at])
        elif number == "?25":
            self.hidden = order == "l"
        elif number == "?7":
            self.wraps = order == "h"

    def _down(self) -> None:
        self.at += 1
        if self.at == len(self.lines):
            self.lines.append("")

    def _put(self, grapheme: str) -> None:
        cells = _cells(grapheme)
        if self.column + cells > self.columns:
            if not self.wraps:
                return
            self.column = 0
            self._down()
        line = self._cut(self.lines[self.at])
        line += " " * (self.column - sum(map(_cells, self._signs(line))))
        self.lines[self.at] = line + grapheme + self.lines[self.at][len(line) + len(grapheme) :]
        self.column += cells

    def _signs(self, text: str) -> Iterable[str]:
        return iter_graphemes(text) if self._joins else text

    def _cut(self, line: str) -> str:
        """What is in a line before the cursor."""
        if line.isascii():
            return line[: self.column]
        kept, used = "", 0
        for sign in self._signs(line):
            if (used := used + _cells(sign)) > self.column:
                break
            kept += sign
        return kept

    @property
    def text(self) -> str:
        """The whole scroll-back."""
        return "\n".join(line.rstrip() for line in self.lines).rstrip()

    @property
    def screen(self) -> list[str]:
        """The rows that are visible."""
        return [line.rstrip() for line in self.lines[-self.rows :]]


def _cells(sign: str) -> int:
    return 1 if unicodedata.category(sign[-1]) == "Mc" and len(sign) == 1 else wcswidth(sign)


class FakeDisplay(Display):
    """A display that writes to a fake terminal."""

    def __init__(self, terminal: FakeTerminal, **environment: str):
        super().__init__(terminal, environment)
        self.terminal = terminal

    def size(self) -> tuple[int, int]:
        return self.terminal.columns, self.terminal.rows


class Shown:
    """A debate in the live view on a fake terminal."""

    def __init__(
        self,
        *,
        columns: int = 80,
        rows: int = 24,
        events: Sequence[Event] = (),
        ballots_hidden: bool = False,
        joins: bool = True,
        **setup: Any,
    ):
        """`events` have happened before; without them the debate is opened with that setup."""
        self.terminal, self.time = FakeTerminal(columns, rows, joins=joins), 0.0
        self.debate = fold(events or [debates.opened_event(**setup)])
        self.display = FakeDisplay(self.terminal)
        self.live = LiveView(self.debate, self.display, now=lambda: self.time, ballots_hidden=ballots_hidden)
        self.display.acquire()

    def happen(self, *events: Event) -> None:
        for event in events:
            self.debate = apply(self.debate, event)
            self.live.on_event(self.debate, event)

    def ask(self, turn: str) -> None:
        self.happen(BriefSent(turn_id=turn, brief_digest="0" * 64, spec="anthropic:m"))

    def on_text(self, turn: str, piece: str) -> None:
        self.live.on_text(schedule.turn(self.debate, turn), piece)
        self.live.paint()

    def speak(self, turn: str, text: str, **reply: Any) -> None:
        self.happen(Spoke(turn_id=turn, reply=Reply(text=text, brief_digest="0" * 64, spec="anthropic:m", **reply)))

    @property
    def status(self) -> str:
        """The text below the rule."""
        return "\n".join(self.terminal.screen).rpartition("─")[2].strip()

    def close(self) -> list[str]:
        """Leaves the debate; every line that was shown."""
        self.live.close()
        self.display.release()
        return self.terminal.text.splitlines()


def whole(columns: int = 80, **setup: Any) -> tuple[Shown, list[str]]:
    """A whole debate, and every line that was shown of it."""
    events = debates.play_events(**setup)
    shown = Shown(columns=columns, events=events[:1])
    shown.happen(*events[1:])
    return shown, shown.close()
