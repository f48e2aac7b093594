"""Writes rows to a terminal: finished rows go into its scroll-back, open rows below them are written over.

rich styles the text. Its `Live` is not used: it leaves the cursor below the open rows, so that a terminal
made narrower wraps them again and keeps leftovers among the finished rows. Here the cursor rests at the first open
row, and everything below it is cleared before each paint, however the terminal was resized.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import TextIO

from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from debate_orchestrator.util.sanitize import sanitize, without_line_breaks
from debate_orchestrator.util.terminal_text import lay_out, terminal_size, width_of, without_tabs

SIDES = ("bold cyan", "bold yellow")
"""The styles of the sides, in the order of the format: colours that a terminal's theme keeps readable."""
JUDGE, ALARM = "bold magenta", "bold red"
SEPARATOR = " │ "
_COLUMN = "column"
"""In the style of a part: the column of the terminal where it begins, from 1."""

_CONSOLE = Console(file=io.StringIO(), color_system="standard", force_terminal=True, legacy_windows=False)
"""Only to style: nothing is printed with it."""
_PLAIN = str.maketrans({**dict.fromkeys("█▉▊▋▌", "#"), **dict.fromkeys("▍▎▏░─—·", "-"), "│": "|", "…": "."})
"""Replacements for characters of the live view, for terminals whose encoding lacks them."""
_CLEAR, _HIDE, _SHOW = "\r\x1b[J", "\x1b[?25l", "\x1b[?25h"
_NO_WRAP, _WRAP, _TO_COLUMN = "\x1b[?7l", "\x1b[?7h", "\x1b[{}G"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Synchronized output: terminals that know it show no half-painted screen, the others ignore it."""


def paragraph(text: str, width: int, style: str = "", *, indent: int = 0, strong: str = "") -> list[Text]:
    """A whole text as rows, with control characters made visible. What matches the pattern `strong` is bold."""
    lines = sanitize(text).split("\n")
    return [row for line in lines for row in _styled_rows(without_tabs(" " * indent + line), width, style, strong)]


@lru_cache(4096)  # a speech that streams is laid out again at each paint; all its lines but the last are the same
def _styled_rows(line: str, width: int, style: str, strong: str) -> tuple[Text, ...]:
    text = Text(line, style)
    if strong:
        text.highlight_regex(strong, "bold")
    rows = lay_out(line, width)
    parts = text.divide([place for row in rows for place in row[1:]])[1::2]
    return tuple(Text.assemble(row.begin, part) for row, part in zip(rows, parts, strict=True))


def pack(parts: Sequence[str], width: int, style: str) -> list[Text]:
    """The parts, joined by dots, in as few rows as possible; a part wider than a row is broken."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and width_of(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part)
    return [row for line in lines for row in paragraph(line, width, style)]


def beside(cells: Sequence[Text | None], width: int) -> Text:
    """One row of several columns of that width, with a line between two. Where the line and the next column begin is
    also told to the terminal, which may draw a text narrower or wider than it was measured."""
    row = Text()
    for n, cell in enumerate(cells):
        if n:
            place = n * (width + len(SEPARATOR)) + 1
            line, gap = SEPARATOR[:-1], SEPARATOR[-1]
            row.append(" " * (place - 1 - len(SEPARATOR) - width_of(row.plain)))
            row.append(line, Style(dim=True, meta={_COLUMN: place - len(SEPARATOR)}))
            row.append(gap, Style(meta={_COLUMN: place - len(gap)}))
        row.append_text(cell or Text())
    return row


def column_width(count: int, width: int) -> int:
    return max(2, (width - (count - 1) * len(SEPARATOR)) // count)


def _broken_again(row: Text, width: int) -> list[Text]:
    starts = [span.start for span in row.spans if isinstance(span.style, Style) and _COLUMN in span.style.meta]
    if not starts:
        return paragraph(row.plain, width)
    cells = [part.plain.rstrip() for part in row.divide(starts)][::2]  # each separator has two places
    cells[1:] = [cell.removeprefix(SEPARATOR[-1]) for cell in cells[1:]]
    column = column_width(len(cells), width)
    return [beside(parts, column) for parts in zip_longest(*(paragraph(cell, column) for cell in cells))]


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
        """Columns and rows now; 80 and 24 if they are unknown."""
        return terminal_size(self._stream)

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
        # Not wrapped, so that text which this terminal draws wider than it was measured begins no row.
        output = [_BEGIN, _CLEAR, _NO_WRAP, *(f"{self._styled(row)}\r\n" for row in self._that_fit(rows))]
        output.append("\r\n".join(map(self._styled, still_open)))
        up = f"\x1b[{len(still_open) - 1}A" if len(still_open) > 1 else ""
        self._write("".join([*output, f"{_WRAP}\r{up}", _END]))

    def _that_fit(self, rows: Sequence[Text]) -> Iterator[Text]:
        """The rows, those broken again that were laid out before the terminal became narrower."""
        width = self.size()[0]
        for row in rows:
            yield from [row] if width_of(row.plain) <= width else _broken_again(row, width - 1)

    def _styled(self, text: Text) -> str:
        safe = without_tabs(without_line_breaks(text.plain))
        if safe != text.plain:  # the last guard: no text reaches a terminal with an escape sequence in it
            text = Text(safe)
        drawn = ""
        for part, style, _ in Text.assemble(text).render(_CONSOLE):  # `render` alone passes over a text's own style
            if style and (column := style.meta.get(_COLUMN)):
                drawn += _TO_COLUMN.format(column)
            shown_style = style if self._colour or not style else style.without_color
            drawn += shown_style.render(part, color_system=ColorSystem.STANDARD) if shown_style else part
        return drawn if self._draws else drawn.translate(_PLAIN)

    def _write(self, text: str) -> None:
        if self._is_closed or not text:
            return
        try:
            self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))
            self._stream.flush()
        except (OSError, ValueError):
            self._is_closed = True  # the terminal is closed; the debate goes on
