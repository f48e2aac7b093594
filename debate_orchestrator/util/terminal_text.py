"""Shared parts of the terminal modules: choices by number, and the words to go back or quit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def moves(environment: Mapping[str, str]) -> bool:
    """Whether the terminal of that environment can move its cursor; one that can't is written line by line."""
    return environment.get("TERM", "").lower() not in _DUMB


def match_option(options: Sequence[str], answer: str, *, by_beginning: bool = True) -> str | None:
    """The option that an answer names: by name, number or, if `by_beginning`, the only such beginning; else None."""
    answer = answer.strip()
    if answer in options:
        return answer
    same_but_for_case = [option for option in options if option.lower() == answer.lower()]
    if len(same_but_for_case) == 1:
        return same_but_for_case[0]
    if (n := option_number(answer, len(options))) is not None:
        return options[n - 1]
    matches = [option for option in options if by_beginning and answer and option.lower().startswith(answer.lower())]
    return matches[0] if len(matches) == 1 else None


def option_number(answer: str, maximum: int) -> int | None:
    """The number from 1 to `maximum` in an answer; None if there is none."""
    if not (answer.isascii() and answer.isdigit() and len(answer) <= 6):
        return None
    return n if 1 <= (n := int(answer)) <= maximum else None
