"""Speeches while they stream: wrapped row by row, and both sides of a stage beside each other.

A row is final when nothing that is still to come can change it. Final rows are handed out once, to be printed for
good; the rest is wrapped anew at each paint, so the terminal may change its width at any moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import zip_longest

from rich.text import Text

from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.private_text import PrivateFilter, without_private
from debate_orchestrator.terminal.display import ALARM, Row, wrap
from debate_orchestrator.util.redact import StreamRedactor
from debate_orchestrator.util.sanitize import one_line, sanitize
from debate_orchestrator.util.terminal_text import MAX_WIDTH

COLUMN = 58
"""Width of a column at least: two of them and the separator in 120 columns, less the last one."""
SEPARATOR = " │ "
INDENT = 2
"""How far speech is indented. The engine's own words are not, so no speech can pass for them."""

_MAX_LENGTH = 4_000
"""Characters of a paragraph at most, so that wrapping it again takes a few milliseconds."""
_STRONG = r"^#{1,6} .*|\*\*[^*]+\*\*"
"""Headings and strong words in markdown, which are shown bold."""


class Paragraph:
    """One line of a source text, however many rows it takes."""

    def __init__(self, source: str = "", style: str = "", indent: int = 0):
        self.source, self.style, self.indent = source, style, indent
        self.open = False
        """Whether more of it may come."""

    def rows(self, width: int) -> list[Text]:
        """Its rows, of which the last one is not final while the paragraph is open."""
        text, indent = Text(self.source, self.style), min(self.indent, width // 2)
        if self.indent:
            text.highlight_regex(_STRONG, "bold")
        return [Text.assemble(" " * indent, row) for row in wrap(text, width - indent)]

    def drop(self, count: int, width: int) -> None:
        """Forgets its first rows, which were printed."""
        for row in self.rows(width)[:count]:
            content = row.plain.strip()
            end = self.source.index(content) + len(content)
            self.source = self.source[end:].lstrip()


class SpeechView:
    """One turn while it is taken: what came of it, attempt after attempt."""

    def __init__(self, turn: Turn, heading: str, style: str, since: float, tag: str = "", *, model_tags: bool = True):
        """`since` is when it was asked, in seconds; `tag` the format's own tag of private working; `model_tags` says
        whether the tags that models use count too."""
        self.turn, self.since = turn, since
        self.until: float | None = None
        """When it is asked again, in seconds; None while it is not waiting for that."""
        self.asked = 0
        self.is_final = False
        self._heading, self._style, self._tag, self._model_tags = heading, style, tag, model_tags
        self._paragraphs = deque([Paragraph(heading, style)])
        self._line: Paragraph | None = None
        """The line of source that is being written; None at its very beginning."""
        self._gap = True
        """Whether a blank line comes before the next one."""
        self.wait(None)

    def begin(self, now: float) -> None:
        """It is asked, for the first time or again."""
        self.asked += 1
        self.since, self.until = now, None
        if self.asked > 1:
            self.note(f"{self._heading} (asked again)", self._style)
            self.wait(None)

    def hear(self, piece: str) -> None:
        """A piece of the speech has come."""
        self.until, self.begun = None, True
        self._pieces.append(piece)

    def wait(self, until: float | None) -> None:
        """The turn will be asked again: what came of this attempt no longer counts."""
        self.until = until
        self.begun = False
        """Whether the answer has begun, even if no word of it has come."""
        self._pieces: list[str] = []  # joined at the next look, since each addition copies what came before
        self._shown: list[str] = []
        self._words = 0
        self._private = PrivateFilter(self._tag, model_tags=self._model_tags)
        # A secret may become whole only when private working is left out of it.
        self._redacted = StreamRedactor(self._show)

    def break_off(self, why: str, until: float | None = None) -> None:
        """This attempt failed; `until` is when it is asked again, if it is."""
        self._add()
        self._redacted.end()
        self.note(f"-- broken off here, and not counted: {why}" if self._shown else why)
        self.wait(until)

    def show_recorded(self, text: str, note: str = "") -> None:
        """Shows the rest of the speech as it is on record; the whole of it if it differs from what was shown."""
        self._add()
        self._redacted = StreamRedactor(self._show)  # the record has what was held back
        record = without_private(sanitize(text), self._tag, model_tags=self._model_tags).lstrip()
        shown = "".join(self._shown)
        if not record.startswith(shown) and record.split() != shown.split():
            self.note("-- what is on record is not what was heard on the way:")
            self.note(self._heading, self._style)
            self.wait(None)
            shown = ""
        self._show(record[len(shown) :] if record.startswith(shown) else "")
        self.note(note)
        self.is_final, self.until = True, None

    def stop(self) -> None:
        """Shows what was heard so far, since the user quits the debate."""
        self._add()
        self._redacted.end()
        self.note("" if self.is_final or not self._shown else "-- left here, before its end.")
        self.is_final = True

    @property
    def words(self) -> int:
        """How many words of this attempt are shown."""
        self._add()
        return self._words

    def note(self, text: str, style: str = ALARM) -> None:
        """Ends the text so far, with the engine's words below it unless they are empty."""
        self._end_line()
        if text:
            self._paragraphs += [Paragraph(), Paragraph(one_line(text), style)]
            self._gap = True

    def rows(self, width: int, most: int) -> tuple[list[Text], int]:
        """Its first rows that were not printed yet, `most` of them at most, and how many of these are final."""
        self._add()
        found, final = list[Text](), 0
        for paragraph in self._paragraphs:
            found += paragraph.rows(width)
            final = len(found) - paragraph.open
            if len(found) >= most:
                break
        return found[:most], min(final, most)

    def drop(self, count: int, width: int) -> None:
        """Forgets its first rows, which were printed."""
        while count > 0:
            height = len(self._paragraphs[0].rows(width))
            if count < height:
                self._paragraphs[0].drop(count, width)
            else:
                self._paragraphs.popleft()
            count -= height

    def _add(self) -> None:
        """Adds the pieces that came since the last look, without what is private."""
        piece, restarts = "".join(self._pieces), self._private.restarts
        self._pieces.clear()
        text = self._private.feed(piece) if piece else ""
        if self._private.restarts > restarts and self._shown:
            self.note("-- what stands above was private working, which no other seat hears.")
            self._shown, self._words, self._redacted = [], 0, StreamRedactor(self._show)
        self._redacted.take(text)

    def _show(self, text: str) -> None:
        text = text if self._shown else text.lstrip()
        if not text:
            return
        joined = bool(self._shown) and not self._shown[-1][-1].isspace() and not text[0].isspace()
        self._words += len(text.split()) - joined if text.strip() else 0
        self._shown.append(text)
        first, *others = text.replace("\t", "    ").split("\n")
        self._write(first)
        for line in others:
            self._end_line()
            self._write(line)

    def _write(self, text: str) -> None:
        """More of a line of source. One that gets too long goes on in another paragraph."""
        for start in range(0, len(text), _MAX_LENGTH):
            if self._line is not None and len(self._line.source) > _MAX_LENGTH:
                self._line.open, self._line = False, None
            if self._line is None:
                self._line = Paragraph(indent=INDENT)
                self._line.open = True
                self._paragraphs += [Paragraph(), self._line] if self._gap else [self._line]
                self._gap = False
            self._line.source += text[start : start + _MAX_LENGTH]

    def _end_line(self) -> None:
        if self._line is None:
            self._gap = True  # blank lines count once
        else:
            self._line.open, self._line = False, None


class StageView:
    """The speeches of one stage, in the order in which they are shown: beside each other where there is room at the
    beginning, and elsewhere one after the other, so that the later ones are kept until the earlier ones have ended."""

    def __init__(self, speeches: Sequence[SpeechView], width: int):
        self.speeches = list(speeches)
        self._at = 0
        """The first speech that is not printed whole."""
        self.beside = has_columns(len(speeches), width)

    @property
    def is_final(self) -> bool:
        return all(speech.is_final for speech in self.speeches)

    def rows(self, width: int, room: int) -> tuple[list[Row], list[Row]]:
        """The rows that are final, each once, and at most `room` rows that are open."""
        width = min(_column(len(self.speeches), width) if self.beside else width, MAX_WIDTH)
        finished: list[Row] = []
        while self._at < len(self.speeches):
            shown = self.speeches if self.beside else self.speeches[self._at : self._at + 1]
            looks = [speech.rows(width, max(room, 24)) for speech in shown]
            rows = [_beside(cells, width) for cells in zip_longest(*(found for found, _ in looks))]
            # A column that has ended leaves its place empty; one that goes on holds the rows of the others back.
            ended = [
                speech.is_final and final == len(found) for speech, (found, final) in zip(shown, looks, strict=True)
            ]
            ready = min(len(rows) if end else final for end, (_, final) in zip(ended, looks, strict=True))
            finished += rows[:ready]
            for speech, (found, _) in zip(shown, looks, strict=True):
                speech.drop(min(ready, len(found)), width)
            if not rows and all(ended):
                self._at += len(shown)
                finished += [()] if self._at < len(self.speeches) else []
            elif not ready:
                return finished, rows[:room]
        return finished, []


def has_columns(count: int, width: int) -> bool:
    """Whether there is room for so many speeches beside each other."""
    return count > 1 and _column(count, width) >= COLUMN


def _column(count: int, width: int) -> int:
    return max(2, (width - (count - 1) * len(SEPARATOR)) // count)


def _beside(cells: Sequence[Text | None], width: int) -> Row:
    """One row of several columns, of which all but the last are padded."""
    *padded, last = (cell or Text() for cell in cells)
    row: list[Text] = []
    for cell in padded:
        cell.align("left", width)
        row += [cell, Text(SEPARATOR, "dim")]
    return (*row, last)
