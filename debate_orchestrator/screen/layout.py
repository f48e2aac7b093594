"""Text to lines: what was said so far, wrapped to a width, as it comes.

A `Flow` is fed pieces of a text and gives its lines; a line that nothing still to come can change may be taken off
it. What is left is wrapped anew whenever it is asked for, so that a terminal may change its width in the middle.
Speech is shown as it is written, wrapped between words, with its lists hanging; where a terminal has styles,
markdown's headings and strong words are shown in bold instead of by their signs. Nothing else is interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from debate_orchestrator.screen.cells import Line, Span, cells, graphemes, width
from debate_orchestrator.util.sanitize import sanitize

_BLANKS = re.compile(r"(?:[^\S\n]*\n)+")
_BLACK = re.compile(r"\S")
_HEADING = re.compile(r"#{1,6}[^\S\n]+(?=\S)")
_ITEM = re.compile(r"([^\S\n]{0,12})([-*+•]|\d{1,3}[.)]|>)[^\S\n]+(?=\S)")
_FENCE = re.compile(r"[^\S\n]{0,3}(```|~~~)")
_LAID_OUT = re.compile(r"[^\S\n]*\||\t|[^\S\n]{4}")
"""Begins a line whose blanks mean something: a table's row, or code."""
_MARK = re.compile(r"(\*\*|`)")
_CLOSING = frozenset("、。，．：；！？）」』】〉》”’·ー,.:;!?)]}")
"""What never begins a line in scripts without blanks."""
_MOST_BLANKS = 40
"""Blanks in a row that are shown of code or a table."""
_NARROWEST = 30
"""Cells below which nothing is indented."""


class State(NamedTuple):
    """Where in a text a line begins."""

    begun: bool = False
    """Whether anything came before."""
    hang: int | None = None
    """How far a line is set in that goes on with the same line of the text; None where a new one begins."""
    heading: bool = False
    bold: bool = False
    code: bool = False
    fence: str = ""
    """What closes the block of code that this is in; empty outside of one."""
    laid_out: bool = False


class Wrapped(NamedTuple):
    """One line of a flow."""

    line: Line
    end: int
    """Up to where in the flow's text it goes."""
    after: State
    whole: bool
    """Whether nothing that is still to come can change it."""


class Flow:
    """A text that comes in pieces and goes in lines."""

    def __init__(self, text: str = "", *, style: str = "", indent: int = 0, gap: bool = False, markup: bool = False):
        """`gap` puts an empty line before it; `markup` shows markdown's headings and strong words in bold."""
        self._style, self._indent, self._markup = style, indent, markup
        self._gap, self._state, self._held = gap, State(), ""
        self._text = ""
        self.closed = False
        self.feed(text)

    def feed(self, piece: str) -> None:
        """More of the text, as it came: it is tamed here."""
        piece = self._held + piece
        self._held = "\r" if piece.endswith("\r") else ""  # it may be half of a line break
        self._text += sanitize(piece[:-1] if self._held else piece)

    def close(self) -> Flow:
        """Nothing more will come."""
        self._text, self._held = (self._text + sanitize(self._held)).rstrip(), ""
        self.closed = True
        return self

    def lines(self, wide: int, most: int | None = None) -> list[Wrapped]:
        """Its lines so far, or the first `most` of them, none wider than `wide` cells."""
        return list(islice(self._lines(wide), most))

    def _lines(self, wide: int) -> Iterator[Wrapped]:
        indent = self._indent if wide >= _NARROWEST else 0
        state, end = self._state, 0
        # Whether signs at the very end mean something depends on what follows them.
        text = self._text.rstrip("*") if self._markup and not self.closed else self._text
        if self._gap and _BLACK.search(text):
            yield Wrapped((), 0, state, True)
        while (one := self._next(text, end, state, wide - indent)) is not None:
            end, state = one.end, one.after
            yield one._replace(line=(Span(" " * indent), *one.line)) if indent and one.line else one

    def _next(self, text: str, start: int, state: State, wide: int) -> Wrapped | None:
        if not (black := _BLACK.search(text, start)):
            return None  # blank lines at the end are none until something follows
        if state.hang is None and (blanks := _BLANKS.match(text, start, black.start())):
            start = blanks.end()
            if state.begun:
                return Wrapped((), start, state, True)
        return _Filler(text, start, state, max(wide, 1), self._style, self._markup).line(self.closed)

    def take(self, taken: list[Wrapped]) -> None:
        """These lines, the first of those that `lines` gave, were shown for good."""
        if taken:
            self._gap = False
            self._text, self._state = self._text[taken[-1].end :], taken[-1].after

    @property
    def begun(self) -> bool:
        """Whether some of it was shown for good."""
        return self._state.begun


class _Filler:
    """Fills one line, from some place of a text on."""

    def __init__(self, text: str, start: int, state: State, wide: int, style: str, markup: bool):
        self._text, self._wide, self._base, self._markup = text, wide, style, markup
        stop = text.find("\n", start)
        self._ended = stop >= 0
        self._stop = stop if self._ended else len(text)
        self._at, self._state = start, state._replace(begun=True)
        self._most = start + 16 * wide + 256
        """Up to where a line may go, so that none is endless in which nothing takes a cell."""
        self._spans: list[Span] = []
        self._used = 0

    def line(self, closed: bool) -> Wrapped:
        """The line; `closed` says that no more text will come."""
        if self._state.hang is None:
            self._begin()
        else:
            self._put(" " * min(self._state.hang, self._wide // 2))
        full = self._lay_out() if self._state.laid_out else self._fill()
        if full:
            return Wrapped(tuple(self._spans), self._at, self._state, True)
        after = State(begun=True, fence=self._state.fence)
        return Wrapped(tuple(self._spans), self._stop + self._ended, after, self._ended or closed)

    def _begin(self) -> None:
        """What stands at the beginning of a line of the text, and how what follows it hangs."""
        text, start, fence = self._text, self._at, self._state.fence
        self._state = self._state._replace(hang=0)
        if (found := _FENCE.match(text, start)) and fence in ("", found[1]):
            self._state = self._state._replace(laid_out=True, fence="" if fence else found[1])
        elif fence:
            self._state = self._state._replace(laid_out=True)
        elif item := _ITEM.match(text, start, self._stop):
            lead = f"{' ' * len(item[1])}{item[2]} "
            if len(lead) * 2 <= self._wide:
                self._state = self._state._replace(hang=len(lead))
                self._put(lead)
                self._at = item.end()
        elif _LAID_OUT.match(text, start):
            self._state = self._state._replace(laid_out=True)
        elif self._markup and (heading := _HEADING.match(text, start, self._stop)):
            self._state = self._state._replace(heading=True)
            self._at = heading.end()
        elif (black := self._more()) is not None:
            set_in = min(black.start() - start, self._wide // 2)
            self._state = self._state._replace(hang=set_in)
            self._put(" " * set_in)
            self._at = black.start()

    def _fill(self) -> bool:
        """Prose: blanks between words count once. True where the line is full before its text ends."""
        set_in = self._used
        while (black := self._more()) is not None:
            if self._at >= self._most:
                return True
            start = black.start()
            gap = int(self._used > set_in and start > self._at)
            for unit in _units(self._word(start)):
                spans, state = self._dressed(unit)
                takes = sum(width(span.text) for span in spans)
                if self._used + gap + takes > self._wide:
                    return True if self._used > set_in else self._split(start, unit)
                for n, span in enumerate(spans):
                    self._put(" " * (gap if n == 0 else 0) + span.text, span.style)
                start += len(unit)
                self._at, self._state, gap = start, state, 0
        return False

    def _word(self, start: int) -> str:
        """The word that begins there; of one that no line can hold, enough to fill a line."""
        stop = min(self._stop, start + 4 * self._wide + 64)
        return self._text[start:stop].split(None, 1)[0]

    def _split(self, start: int, unit: str) -> bool:
        """A word wider than a whole line, as far as it fits: at least one grapheme of it."""
        self._at = start
        for n, one in enumerate(graphemes(unit)):
            if n and self._used + cells(one) > self._wide:
                break
            self._put(one, self._style(self._state))
            self._at += len(one)
        return self._more() is not None

    def _lay_out(self) -> bool:
        """Code and tables: blanks count, though not very many in a row. True where the line is full before its text
        ends."""
        set_in, blanks = self._used, 0
        for one in graphemes(self._text[self._at : min(self._stop, self._most)]):
            blanks = blanks + 1 if one.isspace() else 0
            shown = "" if blanks > _MOST_BLANKS else " " * min(4, self._wide) if one == "\t" else one
            if self._used > set_in and self._used + width(shown) > self._wide:
                break
            self._put(shown, self._base)
            self._at += len(one)
        black = self._more()
        if black is not None and blanks > _MOST_BLANKS:
            self._at = black.start()
        return black is not None

    def _more(self) -> re.Match[str] | None:
        """What comes next in this line of the text; None where nothing does but blanks."""
        return _BLACK.search(self._text, self._at, self._stop)

    def _dressed(self, unit: str) -> tuple[list[Span], State]:
        """A part of a word in its style, without the signs that the style stands for; and what holds after it."""
        state = self._state
        if not self._markup or not _MARK.search(unit):
            return [Span(unit, self._style(state))], state
        spans, before = [], ""
        parts = [part for part in _MARK.split(unit) if part]
        for n, part in enumerate(parts):
            opens = n + 1 < len(parts) and not before[-1:].isalnum()
            before = part
            if part == "`":
                state = state._replace(code=not state.code)
            elif part == "**" and not state.code and (state.bold or opens):
                state = state._replace(bold=not state.bold)
                continue
            spans.append(Span(part, self._style(state)))
        return spans, state

    def _style(self, state: State) -> str:
        return "bold" if state.bold or state.heading else self._base

    def _put(self, text: str, style: str = "") -> None:
        if not text:
            return
        self._used += width(text)
        if self._spans and self._spans[-1].style == style:
            text = self._spans.pop().text + text
        self._spans.append(Span(text, style))


def _units(word: str) -> Iterator[str]:
    """The parts of a word between which a line may break: none within scripts that set blanks between words, one
    after each character of those that do not."""
    if word.isascii():
        yield word
        return
    unit, last = "", False
    for one in graphemes(word):
        alone = len(one) == 1 and cells(one) == 2
        if unit and (alone or last) and one not in _CLOSING:
            yield unit
            unit = ""
        unit += one
        last = alone
    yield unit


def paragraph(text: str, wide: int, *, style: str = "", indent: int = 0) -> list[Line]:
    """A whole text in lines no wider than `wide` cells."""
    return [one.line for one in Flow(text, style=style, indent=indent).close().lines(wide)]
