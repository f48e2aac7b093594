"""Speeches while they stream: markdown made light, wrapped row by row, and both sides of a stage beside each other.

A row is final when nothing that is still to come can change it. Final rows are handed out once, to be printed for
good; the rest is wrapped anew at each paint, so the terminal may change its width at any moment.
"""

from __future__ import annotations

import re
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
_BLANKS = re.compile(" {40,}")
_START = re.compile(r"(?P<heading>#{1,6} +)(?=\S)|(?P<item>(?:[-*+•>]|\d{1,3}[.)]) +)(?=\S)")
_MARKUP = re.compile(r"\*\*|`")
_HIDDEN = "conceal"
"""The style of markup that is not shown, since its effect is."""


class Paragraph:
    """One line of a source text, however many rows it takes."""

    def __init__(self, source: str = "", style: str = "", indent: int = 0, *, markup: bool = False):
        """With `markup`, list items hang, and headings and strong words are bold and without their markup."""
        self.source, self.style, self.indent, self._markup = source, style, indent, markup
        self.open = False
        """Whether more of it may come."""
        self._bold = self._code = self._begun = False

    def rows(self, width: int) -> list[Text]:
        """Its rows, of which the last one is not final while the paragraph is open."""
        indent, hang = self._margins(width)
        parts = wrap(self._text(), width - indent - hang)
        return [Text.assemble(" " * (indent + (hang if n else 0)), _shown(part)) for n, part in enumerate(parts)]

    def drop(self, count: int, width: int) -> None:
        """Forgets its first rows, which were printed."""
        (indent, hang), text, used = self._margins(width), self._text(), 0
        for row in wrap(text, width - indent - hang)[:count]:
            used += len(row.plain.rstrip())
            used += len(self.source[used:]) - len(self.source[used:].lstrip())  # blanks at a break belong to no row
        self._code ^= self.source[:used].count("`") % 2 == 1
        self._bold = any(span.style == "bold" and span.start < used <= span.end for span in text.spans)
        self.source, self.indent, self._begun = self.source[used:], self.indent + hang, True

    def _start(self) -> re.Match[str] | None:
        return _START.match(self.source) if self._markup and not self._begun else None

    def _margins(self, width: int) -> tuple[int, int]:
        """How far all rows are indented, and how far those after the first one are besides."""
        start, indent = self._start(), min(self.indent, width // 2)
        return indent, min(len(start["item"] or "") if start else 0, width // 2 - indent)

    def _text(self) -> Text:
        text, since = Text(self.source, self.style), 0
        bold, code = self._bold, self._code
        for found in _MARKUP.finditer(self.source) if self._markup else ():
            before = self.source[max(0, found.start() - 1) : found.start()]
            after = self.source[found.end() : found.end() + 1]
            if found[0] == "`":
                code = not code
            elif not code and (bold or (after.strip() and not before.isalnum())):
                text.stylize(_HIDDEN, *found.span())
                text.stylize("bold" if bold else "", since, found.start())
                bold, since = not bold, found.end()
        text.stylize("bold" if bold else "", since)
        if (start := self._start()) and start["heading"]:
            text.stylize("bold")
            text.stylize(_HIDDEN, 0, start.end())
        return text


def _shown(row: Text) -> Text:
    """A row without the markup that is not shown."""
    cuts = sorted(place for span in row.spans if span.style == _HIDDEN for place in (span.start, span.end))
    return Text().join(row.divide(cuts)[::2]) if cuts else row


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
        self._blanks, self._gap = "", True
        """What the line begins with; whether a blank line comes before it."""
        self._printed = False
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
        self._words, self._fence = 0, ""
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
        self._printed = self._printed or count > 0
        while count > 0:
            height = len(self._paragraphs[0].rows(width))
            if count < height:
                self._paragraphs[0].drop(count, width)
            else:
                self._paragraphs.popleft()
            count -= height

    def continue_below(self) -> None:
        """The rest of it is shown below other rows than its beginning: it gets a heading of its own there."""
        if self._printed and (self._paragraphs or not self.is_final):
            self._paragraphs.appendleft(Paragraph(f"{self._heading} (continued)", self._style))

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
        for n, line in enumerate(text.replace("\t", "    ").split("\n")):
            if n:
                self._end_line()
            self._write(line)

    def _write(self, text: str) -> None:
        """More of a line of source."""
        text = _BLANKS.sub(" " * 40, self._blanks + text)
        self._blanks = "" if text.strip() else text
        for start in range(0, 0 if self._blanks else len(text), _MAX_LENGTH):
            part = text[start : start + _MAX_LENGTH]
            if self._line is None or len(self._line.source) + len(part) > _MAX_LENGTH:
                part = self._begin_line(part)
            assert self._line is not None
            self._line.source += part

    def _begin_line(self, text: str) -> str:
        """A paragraph for text that begins a line, or goes on with one that is too long; the text without blanks."""
        if self._line is not None:
            self._line.open = False
        elif self._gap:
            self._paragraphs.append(Paragraph())
        source = text.lstrip(" ")
        self._line = Paragraph(indent=INDENT + len(text) - len(source), markup=not self._fence)
        self._line.open, self._gap = True, False
        self._paragraphs.append(self._line)
        return source

    def _end_line(self) -> None:
        if self._line is None:
            self._gap = True  # blank lines count once
        else:
            fence = self._line.source[:3]
            if fence in ("```", "~~~") and self._fence in ("", fence):
                self._fence = "" if self._fence else fence
            self._line.open = False
        self._line, self._blanks = None, ""


class StageView:
    """The speeches of one stage, in the order in which they are shown: beside each other where there is room, and
    elsewhere one after the other, so that the later ones are kept until the earlier ones have ended."""

    def __init__(self, speeches: Sequence[SpeechView]):
        self.speeches = list(speeches)
        self._at = 0
        """The first speech that is not printed whole."""
        self._beside = False

    @property
    def is_final(self) -> bool:
        return all(speech.is_final for speech in self.speeches)

    def rows(self, width: int, room: int, *, beside: bool) -> tuple[list[Row], list[Row]]:
        """The rows that are final, each once, and at most `room` rows that are open; `beside` says whether the
        terminal can show columns."""
        column = column_width(len(self.speeches), width) if beside and not self._at else 0
        if self._beside and not column:
            for speech in self.speeches[1:]:
                speech.continue_below()
        self._beside, width = column > 0, column or min(width, MAX_WIDTH)
        finished: list[Row] = []
        while self._at < len(self.speeches):
            shown = self.speeches if column else self.speeches[self._at : self._at + 1]
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


def column_width(count: int, width: int) -> int:
    """The width of each of so many columns; 0 where there is no room for them."""
    each = (width - (count - 1) * len(SEPARATOR)) // count
    return min(each, MAX_WIDTH) if count > 1 and each >= COLUMN else 0


def _beside(cells: Sequence[Text | None], width: int) -> Row:
    """One row of several columns, of which all but the last are padded."""
    *padded, last = (cell or Text() for cell in cells)
    row: list[Text] = []
    for cell in padded:
        cell.align("left", width)
        row += [cell, Text(SEPARATOR, "dim")]
    return (*row, last)
