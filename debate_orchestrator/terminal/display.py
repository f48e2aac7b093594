"""Writes rows to a terminal: finished rows go into its scroll-back, open rows below them are written over.

rich styles the text. Its `Live` is not used: it leaves the cursor below the open rows, so that a terminal
made narrower wraps them again and keeps leftovers among the finished rows. Here the cursor rests at the first open
row, and everything below it is cleared before each paint, however the terminal was resized.

While a speech streams, the open rows show as much of its end as there is room for; when it is complete, all of it is
printed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple, TextIO

from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.private_text import PrivateFilter
from debate_orchestrator.util.redact import StreamRedactor, redact
from debate_orchestrator.util.sanitize import one_line, sanitize, without_line_breaks
from debate_orchestrator.util.terminal_text import (
    MAX_WIDTH,
    is_reordered,
    lay_out,
    terminal_size,
    width_of,
    without_tabs,
)

SIDE_STYLES = ("bold cyan", "bold yellow")
"""The styles of the sides, in the order of the format: colours that a terminal's theme keeps readable."""
JUDGE_STYLE, ALARM = "bold magenta", "bold red"
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
        drawn = ""
        for piece, style, _ in Text.assemble(text).render(_CONSOLE):  # `render` alone passes over a text's own style
            part = without_tabs(without_line_breaks(piece))  # no text reaches a terminal with an escape sequence in it
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


# Speeches while they stream

MIN_COLUMN = 58
"""The minimum width of a column: two and the separator fit into 120 columns, of which the last stays empty."""
INDENT = 2
"""The indentation of speech. The engine's own rows, with scores too, have none, so no speech can pass for one."""
_STRONG = r"^ *#{1,6} .*|\*\*[^*]+\*\*"
"""Headings and strong words in markdown, which are shown bold."""


class Block(NamedTuple):
    """A text between two blank rows."""

    text: str
    style: str = ""
    indent: int = 0

    def rows(self, width: int) -> list[Text]:
        return paragraph(self.text, width, self.style, indent=self.indent, strong=_STRONG if self.indent else "")


class SpeechView:
    """The view of one turn: its attempts and their outcome."""

    def __init__(self, turn: Turn, heading: str, style: str, asked_at: float, tag: str = ""):
        """`asked_at` is when it was asked, in seconds; `tag` the format's own tag of private reasoning."""
        self.turn, self.asked_at = turn, asked_at
        self.retry_at: float | None = None
        """When it is asked again, on the clock of `asked_at`; None while it is not waiting for that."""
        self.attempts = 0
        self.is_final = False
        self._heading, self._style, self._tag = heading, style, tag
        self._blocks = [Block(heading, style)]
        self.reset_attempt(None)

    def begin(self, now: float) -> None:
        """Notes that the turn is asked, for the first time or again."""
        self.attempts += 1
        self.asked_at, self.retry_at = now, None
        if self.attempts > 1:
            self._blocks.append(Block(f"{self._heading} (asked again)", self._style))

    def add_piece(self, piece: str) -> None:
        self.retry_at, self.has_begun = None, True
        restarts = self._private.restarts
        text = self._private.feed(piece)
        if self._private.restarts > restarts:  # what came before was private reasoning
            self._text, self._redacted = "", StreamRedactor(self._show)
        self._redacted.feed(text)

    def reset_attempt(self, retry_at: float | None) -> None:
        """Forgets what came of the attempt; `retry_at` is when the turn is asked again, if it is."""
        self.retry_at = retry_at
        self.has_begun = False
        """Whether the answer has begun, even if no word of it has come."""
        self._text = ""
        self._private: PrivateFilter = PrivateFilter(self._tag)
        # A secret may become whole only when private reasoning is left out of it.
        self._redacted = StreamRedactor(self._show)

    def break_off(self, why: str, retry_at: float | None = None) -> None:
        """Ends an attempt that failed; `retry_at` is when the turn is asked again, if it is."""
        self._redacted.end()
        self._end(f"-- broken off here, not counted: {why}" if self._text else why)
        self.reset_attempt(retry_at)

    def show_recorded(self, text: str, note: str = "", findings: Sequence[str] = ()) -> None:
        """Shows the recorded speech as others hear it, and below it what was found of its quotes, and a note."""
        recorded = redact(sanitize(text)).strip()
        self._blocks += [_block(recorded)] if recorded else []
        self._blocks += [Block("\n".join(map(one_line, findings)))] if findings else []
        self._text = ""
        self._end(note)
        self.is_final, self.retry_at = True, None

    def stop(self) -> None:
        """Shows what was heard so far, since the user quits the debate."""
        if not self.is_final:
            self._redacted.end()
            self._end("-- left here, before its end." if self._text else "")
        self.is_final = True

    @property
    def is_reordered(self) -> bool:
        """Whether a terminal may put characters of it in another order."""
        return any(map(is_reordered, [*(block.text for block in self._blocks), self._text]))

    @property
    def words(self) -> int:
        """The number of words of this attempt that are shown."""
        return len(self._text.split())

    def rows(self, width: int) -> list[Text]:
        """All its rows, with a blank one between two blocks."""
        rows: list[Text] = []
        for block in [*self._blocks, *([_block(self._text)] if self._text else [])]:
            rows += [Text()] if rows else []
            rows += block.rows(width)
        return rows

    def _show(self, text: str) -> None:
        self._text += text if self._text else text.lstrip()

    def _end(self, note: str) -> None:
        """Ends the text so far, with the engine's words below it unless they are empty."""
        self._blocks += [_block(self._text)] if self._text else []
        self._blocks += [Block(one_line(note), ALARM)] if note else []
        self._text = ""


def _block(text: str) -> Block:
    """A text of a speaker; several blank lines count once."""
    lines = [line.rstrip() for line in text.rstrip().split("\n")]
    lines_kept = [line for before, line in zip(["", *lines], lines, strict=False) if line or before]
    return Block("\n".join(lines_kept), indent=INDENT)


class StageView:
    """The speeches of one stage: beside each other where there is room at the beginning, and elsewhere one after the
    other; so too from the first letter on that a terminal reorders, since it does that with a row as a whole."""

    def __init__(self, speeches: Sequence[SpeechView], width: int):
        self.speeches = list(speeches)
        self._unprinted = list(speeches)
        """Those that are not printed yet."""
        self.in_columns = has_columns(len(speeches), width)

    @property
    def is_final(self) -> bool:
        return all(speech.is_final for speech in self.speeches)

    def rows(self, width: int, room: int) -> tuple[list[Text], list[Text]]:
        """The rows that are final, each once, and at most `room` rows that are open."""
        finished: list[Text] = []
        self.in_columns = self.in_columns and not any(speech.is_reordered for speech in self.speeches)
        while self._unprinted:
            shown = self._unprinted if self.in_columns else self._unprinted[:1]
            columns = [speech.rows(self._column(width)) for speech in shown]
            if not all(speech.is_final for speech in shown):
                hidden = max(0, max(map(len, columns)) - room)
                return finished, _join_columns([rows[hidden:] for rows in columns], self._column(width))
            self._unprinted = self._unprinted[len(shown) :]
            finished += [*_join_columns(columns, self._column(width)), *([Text()] if self._unprinted else [])]
        return finished, []

    def _column(self, width: int) -> int:
        return min(column_width(len(self.speeches), width), MAX_WIDTH) if self.in_columns else text_width(width)


def has_columns(count: int, width: int) -> bool:
    """Whether there is room for so many speeches beside each other."""
    return count > 1 and column_width(count, width) >= MIN_COLUMN


def text_width(width: int) -> int:
    """The width of text that stands alone: no more than a column has, if there may be two, so that no such text reaches
    the place of the second and seems to be in it."""
    return min(column_width(2, width) if has_columns(2, width) else width, MAX_WIDTH)


def _join_columns(columns: Sequence[Sequence[Text]], width: int) -> list[Text]:
    return [beside(cells, width) for cells in zip_longest(*columns)]
