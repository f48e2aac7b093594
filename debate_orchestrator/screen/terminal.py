"""A terminal: finished lines go up into its scroll-back, and what is still open is written over below them.

The cursor rests, hidden, where the open part begins, so that whatever a resize makes of the open part, all of it is
below the cursor and is cleared with it. Terminals that can't move a cursor get the finished lines alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from debate_orchestrator.rostrum import moves
from debate_orchestrator.screen.cells import Line
from debate_orchestrator.util.sanitize import sanitize

_COLOURS = {"first": "36", "second": "33", "judge": "35", "alarm": "31"}
"""The style's colour, from the sixteen that a terminal's theme has made readable."""
_STRONG = {"bold", "banner", "alarm", "judge", "first", "second"}
_HOLD, _SHOW = "\x1b[?2026h", "\x1b[?2026l"
"""Between them a terminal that knows how shows nothing half done; others pass over both."""
_FALLBACK = (80, 24)
_WITHOUT = str.maketrans({**dict.fromkeys("█▉▊▋▌", "#"), **dict.fromkeys("▍▎▏░─—·", "-"), "│": "|", "…": "."})
"""What the house draws with, for terminals that lack it."""


class Terminal:
    """Where a debate is shown."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str]):
        self._stream = stream
        self.moves = moves(environment)
        """Whether lines can be written over."""
        self._colours = self.moves and not environment.get("NO_COLOR")
        self._encoding = stream.encoding or "utf-8"
        self._draws = self._encoding.lower().replace("-", "").startswith("utf")
        self._open: list[Line] = []
        self._held = False
        self._gone = False
        self._late: list[Line] = []
        """Lines that came while the terminal was let go."""

    def size(self) -> tuple[int, int]:
        """Columns and rows, as they are now."""
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return _FALLBACK
        return columns or _FALLBACK[0], rows or _FALLBACK[1]

    def hold(self) -> None:
        """From here on the end of the screen is ours."""
        self._held = True
        self._write("\x1b[?25l" if self.moves else "")
        self.paint([], [])

    def let_go(self) -> None:
        """Leaves the cursor on an empty line of its own, and prints nothing until it is held again."""
        if self._held:
            self._write("\r\x1b[J\x1b[?25h" if self.moves else "")
            self._held, self._open = False, []

    def forget(self) -> None:
        """What came while it was let go is never printed."""
        self._late = []

    def paint(self, finished: Sequence[Line], still_open: Sequence[Line]) -> None:
        """Prints what is finished, and below it what is still open in place of what was."""
        if not self._held:
            self._late += finished
            return
        finished, self._late = [*self._late, *finished], []
        if not self.moves:
            self._write("".join(f"{self._drawn(line)}\n" for line in finished))
            return
        if not finished and list(still_open) == self._open:
            return
        self._open = list(still_open)
        made = [_HOLD, "\r\x1b[J", *(f"{self._drawn(line)}\r\n" for line in finished)]
        if still_open:
            up = f"\x1b[{len(still_open) - 1}A" if len(still_open) > 1 else ""
            made += ["\x1b[?7l", "\r\n".join(map(self._drawn, still_open)), "\x1b[?7h\r", up]
        self._write("".join([*made, _SHOW]))

    def _drawn(self, line: Line) -> str:
        made = []
        for span in line:
            column = "" if span.at is None or not self.moves else f"\x1b[{span.at + 1}G"
            text = sanitize(span.text)  # whoever it is from: nothing but this module moves the cursor
            text = text if self._draws else text.translate(_WITHOUT)
            codes = self._codes(span.style)
            made.append(f"{column}\x1b[{codes}m{text}\x1b[0m" if codes and text.strip() else f"{column}{text}")
        return "".join(made)

    def _codes(self, style: str) -> str:
        if not self.moves:
            return ""
        codes = ["1"] if style in _STRONG else ["2"] if style == "dim" else []
        return ";".join(codes + ([_COLOURS[style]] if self._colours and style in _COLOURS else []))

    def _write(self, text: str) -> None:
        if self._gone or not text:
            return
        try:
            self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))
            self._stream.flush()
        except (OSError, ValueError):
            self._gone = True  # nobody looks any more; the debate goes on
