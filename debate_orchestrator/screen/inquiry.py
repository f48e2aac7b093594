"""A question from the floor while somebody is putting it, key by key, below a debate that goes on: first to whom, then
what."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from debate_orchestrator.core.events import QUESTION
from debate_orchestrator.screen.cells import cells, clipped, graphemes, width
from debate_orchestrator.util.sanitize import one_line

_ENTER, _BACK, _CLEAR, _ESCAPE = ("\r", "\n"), ("\x7f", "\x08"), "\x15", "\x1b"
_CURSOR = "▏"

Put = Callable[[str, tuple[str, ...]], None]
"""Is told the question and the seats it is put to; neither where it was given up."""


class Inquiry:
    """One question in the making. It is `open` until it is put or given up."""

    def __init__(self, names: Mapping[str, str], put: Put):
        """`names` has the seats that can be asked, with what they are called."""
        self._names, self._put = dict(names), put
        self._to: tuple[str, ...] = ()
        self._text = ""
        self.open = True

    def press(self, key: str) -> None:
        """A key was pressed. Escape gives up; what is no character and none of the keys here does nothing."""
        if key == _ESCAPE:
            self._end("", ())
        elif not self._to:
            self._choose(key)
        else:
            self._write(key)

    def _choose(self, key: str) -> None:
        if key in _ENTER:
            self._to = tuple(self._names)
        for seat in self._names:
            if seat[0] == key.casefold():
                self._to = (seat,)

    def _write(self, key: str) -> None:
        if key in _ENTER:
            if self._text.strip():
                self._end(self._text.strip(), self._to)
        elif key in _BACK:
            self._text = "".join([*graphemes(self._text)][:-1])
        elif key == _CLEAR:
            self._text = ""
        elif key.isprintable() and len(self._text) < QUESTION:
            self._text += key

    def _end(self, text: str, to: tuple[str, ...]) -> None:
        self.open = False
        self._put(text, to)

    def rows(self, wide: int) -> list[str]:
        """What is shown of it: what is asked for, with what was typed, and the keys. None is wider than `wide`."""
        if not self._to:
            choices = [f"{seat[0]} {one_line(name)}" for seat, name in self._names.items()]
            return _packed(["A question from the floor, to whom?", *choices, "Enter all of them", "Esc nobody"], wide)
        to = " and ".join(one_line(self._names[seat]) for seat in self._to)
        return [clipped(f"To {to}:", wide), _end_of(self._text, wide), clipped("Enter puts it · Esc gives it up", wide)]


def _packed(parts: list[str], wide: int) -> list[str]:
    """The parts in lines, broken between parts."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else clipped(part, wide)
        if width(longer) <= wide:
            lines[-1] = longer
        else:
            lines.append(clipped(part, wide))
    return lines


def _end_of(text: str, wide: int) -> str:
    """As much of the end of what is typed as fits before the cursor."""
    if width(text) + 1 <= wide:
        return text + _CURSOR
    kept, room = [], wide - 2
    for one in reversed([*graphemes(text)]):
        room -= cells(one)
        if room < 0:
            break
        kept.append(one)
    return f"…{''.join(reversed(kept))}{_CURSOR}"
