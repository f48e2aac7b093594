"""A question from the floor while it is typed below the live view."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.cells import split_graphemes
from rich.text import Text

from debate_orchestrator.core.events import MAX_QUESTION_LENGTH
from debate_orchestrator.terminal.display import Row, packed, paragraph
from debate_orchestrator.util.sanitize import one_line


class QuestionPrompt:
    """First to which seat, then the text."""

    def __init__(self, names: Mapping[str, str], done: Callable[[str, tuple[str, ...]], None]):
        """`names` has the seats that can be asked. `done` gets the question and its seats, both empty if cancelled."""
        self._names, self._done = dict(names), done
        self._seats: tuple[str, ...] = ()
        self._text = ""
        self.open = True

    def press(self, key: str) -> None:
        """Enter confirms, Escape cancels, Ctrl-U clears; keys that mean nothing here do nothing."""
        if key == "\x1b":
            self._end("", ())
        elif not self._seats:
            chosen = self._names if key in "\r\n" else [seat for seat in self._names if seat[0] == key.casefold()]
            self._seats = tuple(chosen)
        elif key in "\r\n":
            if self._text.strip():
                self._end(self._text.strip(), self._seats)
        elif key in "\x7f\x08":
            spans, _ = split_graphemes(self._text)
            self._text = self._text[: spans[-1][0]] if spans else ""
        elif key == "\x15":
            self._text = ""
        elif key.isprintable() and len(self._text) < MAX_QUESTION_LENGTH:
            self._text += key

    def _end(self, text: str, seats: tuple[str, ...]) -> None:
        self.open = False
        self._done(text, seats)

    def rows(self, width: int) -> list[Row]:
        """What is asked for, and the end of what was typed."""
        if not self._seats:
            choices = [f"{seat[0]} {one_line(name)}" for seat, name in self._names.items()]
            return packed(["A question from the floor, to whom?", *choices, "Enter all", "Esc cancel"], width, "bold")
        names = " and ".join(one_line(self._names[seat]) for seat in self._seats)
        spans, _ = split_graphemes(self._text)
        start, used = len(self._text), 2
        for first, _, cells in reversed(spans):
            used += cells
            if used > width:
                break
            start = first
        typed = Text(f"{'…' if start else ''}{self._text[start:]}▏", "bold")
        return [
            *paragraph(f"To {names}:", width, "bold"),
            (typed,),
            *packed(["Enter ask", "Esc cancel"], width, "bold"),
        ]
