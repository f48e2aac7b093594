"""Text at a terminal: its rows, choices by number, and the words to go back or quit.

Terminals disagree on the width of a character: of a vowel sign, of emoji that are joined, of what is newer than their
tables. Each counts here as the widest that one draws it. A row that a terminal had to break itself would go on in the
first column, where only the program's own lines begin.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TextIO

from debate_orchestrator.util.sanitize import sanitize

BACK = ("back", ":back")
"""The input that goes back to the previous question."""
QUIT = ("quit", "exit", ":quit", ":q")
"""The input that quits, like Ctrl-C."""
_DUMB = ("", "dumb", "unknown")


class Unanswered(Exception):
    """A question ends without its answer; `typed` is the text that was in the line."""

    def __init__(self, text: str = ""):
        super().__init__(text)
        self.typed = text


class Back(Unanswered):
    """The question before is wanted."""


class Postponed(Exception):
    """The setup is complete, and the person wants to begin the debate another time."""


def can_move_cursor(environment: Mapping[str, str]) -> bool:
    """Whether the terminal of that environment can move its cursor; one that can't is written line by line."""
    return environment.get("TERM", "").lower() not in _DUMB


_WORDS_FOR_SIDES = ("pro", "con", "yes", "no")
"""Labels of sides in the formats that come with the program, and the shortest positions."""


def match_option(options: Sequence[str], answer: str, *, by_beginning: bool = True) -> str | None:
    """The option that an answer names: by name, number or, if `by_beginning`, the only such beginning; else None. A
    word for a side is no beginning: `con` is not `consensus`."""
    answer = answer.strip()
    if answer in options:
        return answer
    same_but_for_case = [option for option in options if option.lower() == answer.lower()]
    if len(same_but_for_case) == 1:
        return same_but_for_case[0]
    if (n := option_number(answer, len(options))) is not None:
        return options[n - 1]
    by_beginning = by_beginning and answer.lower() not in ("", *_WORDS_FOR_SIDES)
    matches = [option for option in options if by_beginning and option.lower().startswith(answer.lower())]
    return matches[0] if len(matches) == 1 else None


def option_number(answer: str, maximum: int) -> int | None:
    """The number from 1 to `maximum` in an answer; None if there is none."""
    if not (answer.isascii() and answer.isdigit() and len(answer) <= 6):
        return None
    return n if 1 <= (n := int(answer)) <= maximum else None


MAX_WIDTH = 100
"""Columns that a line of prose may have, for it to be read with ease."""
USUAL_SIZE = (80, 24)
_TAB = "    "
_HANGING, _HANGING_AT_MARGIN = 2, 8
"""Columns by which the rows of a line after the first are indented deeper than the line. Below a line in the first
column the program has lines of its own that are indented by up to 6 columns, and no other line may begin like them."""
_REORDERED = ("R", "AL", "AN", "")
"""The classes of characters that may change the order of a row, which `sanitize` leaves; of a character newer than the
tables it is unknown."""
_JOINERS = "\u200c\u200d"
_EMOJI_SELECTOR = "\ufe0f"
_WIDE_SOMEWHERE = re.compile(
    "[\u2630-\u2637\u268a-\u268f\u3248-\u324f\u4dc0-\u4dff\U0001d300-\U0001d37f\U0001f000-\U0001ffff]"
)
"""Symbols and emoji, of which some tables say that they are wide, and some that they are not."""
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_WORD = re.compile("[^ ]+")
_LEAD = re.compile(">[> ]*| *")
"""The prefix of each row of a line: the marks of a block quote, or spaces."""
_COLUMNS = re.compile(r" *(?:[-+]?[\d.?]+ {2,})+| +\d+ \S+ {2,}")
"""The beginning of a line whose other rows are aligned with its last column: figures of a table, or the number and the
word of a choice. No line begins there."""
_ITEM = re.compile(r" +(?:-|[A-Z]?\d+\.) ")
"""The beginning of an item of a list, in whose column the lines of the item begin."""


class Row(NamedTuple):
    """A row of a line: `begin`, and then the characters of the line from `start` to `end`."""

    begin: str
    start: int
    end: int


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Columns and rows of the terminal behind a stream now; 80 and 24 if they are unknown."""
    try:
        width, height = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return USUAL_SIZE
    return width or USUAL_SIZE[0], height or USUAL_SIZE[1]


def width_of(text: str) -> int:
    """The maximum number of columns that a text without tabs takes."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


@lru_cache(maxsize=8192)
def _columns_of(char: str) -> int:
    category = unicodedata.category(char)
    if char in _JOINERS:
        return 0
    if unicodedata.east_asian_width(char) in ("W", "F") or category in ("Cn", "Co") or _WIDE_SOMEWHERE.match(char):
        return 2
    return 0 if category in ("Mn", "Me") and char != _EMOJI_SELECTOR else 1


def is_reordered(text: str) -> bool:
    """Whether a terminal may draw the characters of a row with this text in another order."""
    return not text.isascii() and any(unicodedata.bidirectional(char) in _REORDERED for char in set(text))


def padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def shortened(text: str, width: int) -> str:
    """As much of the beginning of a line as that width takes."""
    return text if width_of(text) <= width else f"{text[: _end_that_fits(text, 0, len(text), width - 1)]}…"


def without_tabs(text: str) -> str:
    """`text` with spaces in place of tabs, whose width depends on their column."""
    return text.replace("\t", _TAB)


def _never(word: str) -> bool:
    return False


def wrap(text: str, terminal_columns: int, *, whole_paths: bool = False) -> str:
    """`text`, sanitized, with its lines broken for a terminal of that width. With `whole_paths` a line that is not
    indented and names an existing file may be wider, so that its path can be copied."""
    width = max(10, min(terminal_columns - 1, MAX_WIDTH))
    return "\n".join(
        row
        for line in sanitize(text).split("\n")
        for row in rows(line, width, _is_path if whole_paths and not line.startswith(" ") else _never)
    )


def rows(line: str, width: int, is_whole: Callable[[str], bool] = _never) -> list[str]:
    line = without_tabs(line)
    return [row.begin + line[row.start : row.end] for row in lay_out(line, width, is_whole)]


def lay_out(line: str, width: int, is_whole: Callable[[str], bool] = _never) -> list[Row]:
    """Breaks a sanitized line without tabs between words, and words that are wider than a row. No row is wider than
    `width` columns, which are at least 2, unless it is one word that `is_whole`.

    The rows after the first are indented deeper than the line, or than the text of an item; those of a block quote
    begin as the line does. So nothing that a line quotes looks like a line of its own."""
    width = max(2, width)
    most = width // 2 if width >= 4 else 0
    lead = next(_LEAD.finditer(line))[0][:most]
    columns, item = _COLUMNS.match(line), _ITEM.match(line)
    if lead.startswith(">"):
        later = lead
    elif columns:
        later = " " * min(width_of(columns[0]), most)
    else:
        margin = len(item[0] if item else lead)
        later = " " * min(margin + (_HANGING if margin else _HANGING_AT_MARGIN), most)

    laid_out: list[Row] = []
    begin, used = lead, len(lead)
    start = end = None
    for word in _WORD.finditer(line, len(lead)):
        index, size = word.start(), width_of(word[0])
        if start is not None and end is not None:
            if used + (index - end) + size <= width:
                used, end = used + (index - end) + size, word.end()
                continue
            laid_out.append(Row(begin, start, end))
            begin, used = later, len(later)
        while used + size > width and not is_whole(word[0]):
            cut = _end_that_fits(line, index, word.end(), width - used)
            laid_out.append(Row(begin, index, cut))
            size -= width_of(line[index:cut])
            begin, used, index = later, len(later), cut
        start, end, used = index, word.end(), used + size
    return [*laid_out, Row(begin, start, end)] if start is not None and end is not None else [Row(lead.rstrip(), 0, 0)]


def _end_that_fits(text: str, start: int, end: int, room: int) -> int:
    """The end of the part that fits: before a combined character if possible, never before the first."""
    index, left = start, room
    while index < end and (left := left - _columns_of(text[index])) >= 0:
        index += 1
    whole_sign = index
    while start < whole_sign < end and _is_combined(text, whole_sign):
        whole_sign -= 1
    return whole_sign if whole_sign > start else max(index, start + 1)


def _is_combined(text: str, index: int) -> bool:
    char = text[index]
    return unicodedata.category(char)[0] == "M" or char in _JOINERS + _SKIN_TONES or text[index - 1] in _JOINERS


def _is_path(word: str) -> bool:
    """Whether a word names a file that is there, in plain letters and as short as can be."""
    path = word.strip("`'\"().,:;")
    return word.isascii() and os.path.normpath(path) == path and os.path.lexists(path)
