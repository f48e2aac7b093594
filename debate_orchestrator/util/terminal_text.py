"""What the terminal modules share: the width of a line, choices by number, and the words to go back or quit."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from debate_orchestrator.util.sanitize import sanitize

MAX_WIDTH = 100
"""Columns that a line of prose may have, for it to be read with ease."""
BACK = ("back", ":back")
"""What is typed where the question before is wanted."""
QUIT = ("quit", "exit", ":quit", ":q")
"""What is typed to quit, as Ctrl-C does."""
_DUMB = ("", "dumb", "unknown")


class Unanswered(Exception):
    """A question ends without its answer; `typed` is what stood in the line."""

    def __init__(self, text: str = ""):
        super().__init__(text)
        self.typed = text


class Back(Unanswered):
    """The question before is wanted."""


class Postponed(Exception):
    """The setup is complete, and the person wants to begin the debate another time."""


def moves(environment: Mapping[str, str]) -> bool:
    """Whether the terminal of that environment can move its cursor; one that can't is written line by line."""
    return environment.get("TERM", "").lower() not in _DUMB


def match_option(options: Sequence[str], answer: str, *, by_beginning: bool = True) -> str | None:
    """The option that an answer names: by its name, its number or, if `by_beginning`, the beginning of only one
    option; None if it names none."""
    answer = answer.strip()
    if answer in options:
        return answer
    alike = [option for option in options if option.lower() == answer.lower()]
    if len(alike) == 1:
        return alike[0]
    if (n := option_number(answer, len(options))) is not None:
        return options[n - 1]
    matches = [option for option in options if by_beginning and answer and option.lower().startswith(answer.lower())]
    return matches[0] if len(matches) == 1 else None


def option_number(answer: str, maximum: int) -> int | None:
    """The number from 1 to `maximum` in an answer; None if there is none."""
    if not (answer.isascii() and answer.isdigit() and len(answer) <= 6):
        return None
    return n if 1 <= (n := int(answer)) <= maximum else None


def wrap(text: str, columns: int) -> str:
    """`text`, sanitized, with its lines broken as `fill_line` does."""
    width = max(10, min(columns - 1, MAX_WIDTH))
    return "\n".join(fill_line(line, width) for line in sanitize(text).split("\n"))


def fill_line(line: str, width: int) -> str:
    """A line, broken between words. Its other rows are indented, so that nothing it quotes looks like a line of its
    own: by two blanks, or as far as its text if it begins with blanks, with a number and a gap, or with the dash of a
    list (`  - ...`). In an item of a list a long word is broken too, so that none of its rows leaves the list."""
    if len(line) <= width:
        return line
    gap = re.match(r"\s+\d+ \S+ {2,}|\s+(- )?", line)
    indent = " " * (gap.end() if gap and gap.end() < width // 2 else min(2, width // 2))
    item = gap is not None and gap[1] is not None
    return textwrap.fill(
        line, width, subsequent_indent=indent, replace_whitespace=False, break_long_words=item, break_on_hyphens=False
    )
