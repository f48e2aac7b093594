"""How many cells of a terminal a text takes, and the spans and lines that everything shown is made of.

Terminals do not agree on emoji that are joined or varied. What is said here is the most that any of them takes, so
that no line is wider anywhere than it was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from wcwidth import iter_graphemes, wcswidth, wcwidth


class Span(NamedTuple):
    """Some text in one style."""

    text: str
    style: str = ""
    """A name that `terminal` knows: `bold`, `dim`, `banner`, `alarm`, `judge`, or a side's `first` or `second`."""
    at: int | None = None
    """The column from 0 where it must begin, whatever stands before it; None for right after that."""


Line = tuple[Span, ...]
"""One line on the screen."""


def width(text: str) -> int:
    """The cells that a tamed text of one line takes at most."""
    return len(text) if text.isascii() else sum(map(cells, graphemes(text)))


def graphemes(text: str) -> Iterator[str]:
    """What a reader takes for single characters: a letter with its accents, a joined emoji."""
    return iter(text) if text.isascii() else iter_graphemes(text)


@lru_cache(maxsize=8192)
def cells(grapheme: str) -> int:
    """The cells that one grapheme takes at most: as one, or as its characters one by one."""
    return max(wcswidth(grapheme), sum(max(0, wcwidth(one)) for one in grapheme))


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(span.text for span in line)


def wide(line: Line) -> int:
    """The cells of a line."""
    return sum(width(span.text) for span in line)


def clipped(text: str, most: int) -> str:
    """As much of `text` as fits, with an ellipsis for the rest."""
    if width(text) <= most:
        return text
    kept, room = "", most - 1
    for one in graphemes(text):
        room -= cells(one)
        if room < 0:
            break
        kept += one
    return f"{kept}…" if most > 0 else ""


def padded(line: Line, most: int) -> Line:
    """`line` with blanks up to so many cells."""
    left = most - wide(line)
    return (*line, Span(" " * left)) if left > 0 else line
