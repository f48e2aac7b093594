"""Speeches while they stream. The open rows show the text being written, as much of its end as there is room for;
when it is complete, all of it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.text import Text

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.private_text import PrivateFilter
from debate_orchestrator.terminal.display import ALARM, beside, column_width, paragraph
from debate_orchestrator.util.redact import StreamRedactor, redact
from debate_orchestrator.util.sanitize import one_line, sanitize
from debate_orchestrator.util.terminal_text import MAX_WIDTH, is_reordered

COLUMN = 58
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
        """The seconds until it is asked again; None while it is not waiting for that."""
        self.attempts = 0
        self.is_final = False
        self._heading, self._style, self._tag = heading, style, tag
        self._blocks = [Block(heading, style)]
        self.wait(None)

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

    def wait(self, retry_at: float | None) -> None:
        """Marks the current attempt as failed: the turn will be asked again."""
        self.retry_at = retry_at
        self.has_begun = False
        """Whether the answer has begun, even if no word of it has come."""
        self._text = ""
        self._private: PrivateFilter = PrivateFilter(self._tag)
        # A secret may become whole only when private reasoning is left out of it.
        self._redacted = StreamRedactor(self._show)

    def break_off(self, why: str, retry_at: float | None = None) -> None:
        """Ends an attempt that failed; `retry_at` is when the turn is asked again, if it is."""
        self._redacted.end(is_cut=True)
        self._end(f"-- broken off here, not counted: {why}" if self._text else why)
        self.wait(retry_at)

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
            self._redacted.end(is_cut=True)
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
    return count > 1 and column_width(count, width) >= COLUMN


def text_width(width: int) -> int:
    """The width of text that stands alone: no more than a column has, if there may be two, so that no such text reaches
    the place of the second and seems to be in it."""
    return min(column_width(2, width) if has_columns(2, width) else width, MAX_WIDTH)


def _join_columns(columns: Sequence[Sequence[Text]], width: int) -> list[Text]:
    return [beside(cells, width) for cells in zip_longest(*columns)]
