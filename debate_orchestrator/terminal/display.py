"""Writes rows to a terminal: finished rows go into its scroll-back, open rows below them are written over.

rich styles and wraps the text. Its `Live` is not used: it leaves the cursor below the open rows, so that a terminal
made narrower wraps them anew and keeps leftovers among the finished rows. Here the cursor rests at the first open
row, and everything below it is cleared before each paint, however the terminal was resized.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from debate_orchestrator.util.sanitize import sanitize

SIDES = ("bold cyan", "bold yellow")
"""The styles of the sides, in the order of the format: colours that a terminal's theme keeps readable."""
JUDGE, ALARM = "bold magenta", "bold red"

_CONSOLE = Console(file=io.StringIO(), color_system="standard", force_terminal=True, legacy_windows=False)
"""Only to wrap and style: nothing is printed with it."""
_FALLBACK = (80, 24)
_PLAIN = str.maketrans({**dict.fromkeys("█▉▊▋▌", "#"), **dict.fromkeys("▍▎▏░─—·", "-"), "│": "|", "…": "."})
"""What the live view draws with, for terminals whose encoding lacks it."""
_CLEAR, _HIDE, _SHOW = "\r\x1b[J", "\x1b[?25l", "\x1b[?25h"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Synchronized output: terminals that know it show no half-painted screen, the others ignore it."""


def wrap(text: Text, width: int) -> list[Text]:
    """The rows of one paragraph, none wider than `width` columns, which are at least 2. Only an empty one is blank."""
    rows = text.wrap(_CONSOLE, max(2, width), overflow="fold")
    return [row for row in rows if row.plain.strip()] or [Text()]


def paragraph(text: str, width: int, style: str = "", *, indent: int = 0, hanging: int = 0) -> list[Text]:
    """A whole text as rows, with control characters made visible. Of a line that is broken, the rows after the first
    are indented by `hanging` more."""
    lines = sanitize(text).split("\n")
    return [row for line in lines for row in _rows(Text(line, style), width, indent, hanging)]


def _rows(line: Text, width: int, indent: int, hanging: int) -> list[Text]:
    rows = wrap(line, width - indent)
    rows = wrap(line, width - indent - hanging) if len(rows) > 1 and hanging else rows
    return [Text.assemble(" " * (indent + hanging * (n > 0)), row) for n, row in enumerate(rows)]


def pack(parts: Sequence[str], width: int, style: str) -> list[Text]:
    """The parts, joined by dots, in as few rows as possible; a part wider than a row is wrapped."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and cell_len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part)
    return [row for line in lines for row in paragraph(line, width, style)]


class Display:
    """The terminal behind one stream. Nothing is written before `acquire`, nor after `release`."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str]):
        """`environment` may have NO_COLOR."""
        self._stream = stream
        self._colour = not environment.get("NO_COLOR")
        self._encoding = stream.encoding or "utf-8"
        self._draws = self._encoding.lower().replace("-", "").startswith("utf")
        self._is_acquired = self._is_closed = False
        self._open: list[Text] = []
        self._pending_rows: list[Text] = []
        """Finished rows that came while the terminal was released."""

    def size(self) -> tuple[int, int]:
        """Columns and rows now; 80 and 24 where they are unknown."""
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return _FALLBACK
        return columns or _FALLBACK[0], rows or _FALLBACK[1]

    def acquire(self) -> None:
        """Takes over the bottom of the screen, and prints the finished rows that came meanwhile."""
        self._is_acquired = True
        self._write(_HIDE)
        self.paint([], [])

    def release(self) -> None:
        """Leaves the cursor in an empty row. Finished rows wait until the next `acquire`."""
        if self._is_acquired:
            self._write(f"{_CLEAR}{_SHOW}")
            self._is_acquired, self._open = False, []

    def forget(self) -> None:
        """Drops the rows that wait."""
        self._pending_rows = []

    def paint(self, finished: Sequence[Text], still_open: Sequence[Text]) -> None:
        """Prints the finished rows, and below them the open ones in place of those before."""
        self._pending_rows += finished
        if not self._is_acquired:
            return
        rows, self._pending_rows = self._pending_rows, []
        if not rows and list(still_open) == self._open:
            return
        self._open = list(still_open)
        output = [_BEGIN, _CLEAR, *(f"{self._styled(row)}\r\n" for row in rows)]
        if still_open:
            # Not wrapped, so that text which this terminal shows wider than it was measured shifts nothing.
            up = f"\x1b[{len(still_open) - 1}A" if len(still_open) > 1 else ""
            output += [_NO_WRAP, "\r\n".join(map(self._styled, still_open)), f"{_WRAP}\r{up}"]
        self._write("".join([*output, _END]))

    def _styled(self, text: Text) -> str:
        safe = sanitize(text.plain).replace("\n", " ")
        if safe != text.plain:  # the last guard: no text reaches a terminal with an escape sequence in it
            text = Text(safe)
        segments = Text.assemble(text).render(_CONSOLE)  # `render` alone passes over a text's own style
        styled = segments if self._colour else Segment.remove_color(segments)
        drawn = "".join(
            style.render(part, color_system=ColorSystem.STANDARD) if style else part for part, style, _ in styled
        )
        return drawn if self._draws else drawn.translate(_PLAIN)

    def _write(self, text: str) -> None:
        if self._is_closed or not text:
            return
        try:
            self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))
            self._stream.flush()
        except (OSError, ValueError):
            self._is_closed = True  # the terminal is closed; the debate goes on
