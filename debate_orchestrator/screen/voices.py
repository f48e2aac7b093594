"""Those who speak: one turn as it is heard and shown, and all turns of a stage together.

Where the terminal is wide enough the speeches of a stage stand side by side, each in its column, and a row is
finished when nobody can add to it. Elsewhere they stand one after the other: the first is shown as it is written,
the others are kept until their turn comes to be shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import repeat

from debate_orchestrator.core.private import PrivateFilter, public
from debate_orchestrator.core.rules import Turn
from debate_orchestrator.redaction import Pieces
from debate_orchestrator.rostrum import WIDEST
from debate_orchestrator.screen.cells import Line, Span, padded
from debate_orchestrator.screen.layout import Flow, Wrapped
from debate_orchestrator.speech import one_line, tame

COLUMN = 58
"""Cells that a column has at least: two of them, and what is between, in 120 columns less the last."""
INDENT = 2
"""How far speech is set in. What the engine says is not, so that no speech can pass for it."""


class Voice:
    """One turn that is being taken: what was heard of it, attempt after attempt."""

    def __init__(self, turn: Turn, heading: str, style: str, since: float, tag: str = "", *, known: bool = True):
        """`tag` is the format's own for private working; `known` says whether the marks that models use count too."""
        self.turn, self.since = turn, since
        self._tag, self._known = tag, known
        self.until: float | None = None
        """When it is asked again; None while nobody waits for that."""
        self.settled = False
        self.asked = 0
        self._heading, self._style = heading, style
        self._flows = deque([Flow(heading, style=style).close()])
        self._pieces: list[str] = []
        """What came since the text was last looked at. It is added at once, since each addition copies the whole."""
        self._listen()

    def _listen(self) -> None:
        """Nothing was heard so far."""
        self._pieces.clear()
        self._private, self._shown, self._words = PrivateFilter(self._tag, known=self._known), list[str](), 0
        self._redacted = Pieces(self._show)  # a secret may be whole only now that private working is left out

    def begin(self, now: float) -> None:
        """It is asked: for the first time, or again after what came to nothing."""
        self.asked += 1
        self.since, self.until = now, None
        if self.asked > 1:
            self._anew(f"{self._heading} (asked again)")

    def _anew(self, heading: str) -> None:
        self._close()
        self._flows.append(Flow(heading, style=self._style, gap=True).close())
        self._listen()

    @property
    def words(self) -> int:
        """How many are shown of this attempt."""
        self._add()
        return self._words

    def hear(self, piece: str) -> None:
        """A piece of the speech."""
        self.until = None
        if piece:
            self._pieces.append(piece)

    def _add(self) -> None:
        """Adds what came since the last time."""
        piece, restarts = "".join(self._pieces), self._private.restarts
        self._pieces.clear()
        if not piece:
            return
        said = self._private.feed(piece)
        if self._private.restarts > restarts and self._shown:
            self.mark("-- what stands above was private working, which no other seat hears.")
            self._shown, self._words, self._redacted = [], 0, Pieces(self._show)
        self._redacted.take(said)

    def _show(self, piece: str) -> None:
        piece = piece if self._shown else piece.lstrip()
        if not piece:
            return
        joined = bool(self._shown) and not self._shown[-1][-1].isspace() and not piece[0].isspace()
        self._words += len(piece.split()) - joined if piece.strip() else 0
        self._shown.append(piece)
        if self._flows[-1].closed:
            self._flows.append(Flow(indent=INDENT, gap=True, markup=True))
        self._flows[-1].feed(piece)

    def settle(self, text: str, note: str = "") -> None:
        """The speech as it is on record: what was not heard of it follows; if it is another, it is shown anew."""
        self._add()
        self._redacted = Pieces(self._show)  # the record has what was held back
        said, shown = public(tame(text), self._tag, known=self._known).lstrip(), "".join(self._shown)
        if said.startswith(shown):
            self._show(said[len(shown) :])
        elif said.split() != shown.split():
            self.mark("-- what is on record is not what was heard on the way:")
            self._anew(self._heading)
            self._show(said)
        if note:
            self.mark(note)
        self._close()
        self.settled, self.until = True, None

    def break_off(self, why: str, until: float | None = None) -> None:
        """This attempt came to nothing."""
        self._add()
        self._redacted.end()
        broken = "-- broken off here, and not counted: " if self._shown else ""
        self.mark(f"{broken}{why}")
        self._listen()
        self.until = until

    def wait(self, until: float | None) -> None:
        """It is asked again then; what it said was not shown, and does not count."""
        self._listen()
        self.until = until

    def leave(self) -> None:
        """Nobody listens any more."""
        self._add()
        self._redacted.end()
        if not self.settled and self._shown:
            self.mark("-- left here, before its end.")
        self._close()

    def mark(self, said: str) -> None:
        """A word of the engine's about the speech."""
        self._close()
        self._flows.append(Flow(one_line(said), style="alarm", gap=True).close())

    def goes_on(self) -> None:
        """The rest of it is shown in another place than its beginning: it gets a heading there."""
        if self._flows[0].begun and (not self.settled or self.peek(COLUMN, 1)):
            self._flows.appendleft(Flow(f"{self._heading} (continued)", style=self._style).close())

    def _close(self) -> None:
        self._add()
        if not self._flows[-1].closed:
            self._flows[-1].close()

    def peek(self, cells: int, most: int | None = None) -> list[Wrapped]:
        """Its first lines that are not finished, up to so many."""
        self._add()
        found: list[Wrapped] = []
        for flow in self._flows:
            found += flow.lines(cells, None if most is None else most - len(found))
            if not flow.closed or len(found) == most:
                break
        return found

    def take(self, cells: int, count: int) -> None:
        """So many of the lines that `peek` gives were shown for good."""
        while count:
            lines = self._flows[0].lines(cells, count)
            self._flows[0].take(lines)
            count -= len(lines)
            if count:
                self._flows.popleft()


class Floor:
    """The voices of one stage, in the order in which they are shown."""

    def __init__(self, voices: Sequence[Voice]):
        self.voices = list(voices)
        self._at = 0
        """The voice that is shown, where they stand one after the other."""
        self._beside = False

    @property
    def settled(self) -> bool:
        return all(voice.settled for voice in self.voices)

    def leave(self) -> None:
        """Nobody listens any more: all that was heard can be shown."""
        for voice in self.voices:
            voice.leave()
            voice.settled = True

    def rows(self, cells: int, room: int, between: str) -> tuple[list[Line], list[Line]]:
        """The rows that are finished, each told once, and at most `room` rows that are still open. `between` is
        what stands between columns; where it is empty there are none."""
        column = 0 if self._at else columns(len(self.voices), cells, between)
        if self._beside and not column:
            for voice in self.voices[1:]:
                voice.goes_on()
        self._beside = bool(column)
        return self._side_by_side(column, room, between) if column else self._in_turn(min(cells, WIDEST), room)

    def _in_turn(self, cells: int, room: int) -> tuple[list[Line], list[Line]]:
        finished: list[Line] = []
        while self._at < len(self.voices):
            voice = self.voices[self._at]
            lines = voice.peek(cells)
            whole = sum(1 for one in lines if one.whole)
            voice.take(cells, whole)
            finished += [one.line for one in lines[:whole]]
            if not voice.settled:
                return finished, [one.line for one in lines[whole:]][:room]
            self._at += 1
            finished += [()] if self._at < len(self.voices) else []
        return finished, []

    def _side_by_side(self, cells: int, room: int, between: str) -> tuple[list[Line], list[Line]]:
        finished: list[Line] = []
        while True:
            shown = [voice.peek(cells, max(room, 1)) for voice in self.voices]
            ready, most = 0, max(map(len, shown))
            while ready < most and all(map(_may_pass, self.voices, shown, repeat(ready))):
                ready += 1
            rows = [_row(shown, n, cells, between) for n in range(most)]
            if not ready:
                return finished, rows[:room]
            finished += rows[:ready]
            for voice, lines in zip(self.voices, shown, strict=True):
                voice.take(cells, min(ready, len(lines)))


def columns(count: int, cells: int, between: str) -> int:
    """The cells of each of so many columns; 0 where they would be too narrow, or nothing may stand between."""
    each = (cells - (count - 1) * len(between)) // count
    return min(each, WIDEST) if between and count > 1 and each >= COLUMN else 0


def _may_pass(voice: Voice, column: Sequence[Wrapped], n: int) -> bool:
    """Whether a column's row of that number is one to which nobody adds any more."""
    return column[n].whole if n < len(column) else voice.settled


def _row(shown: Sequence[Sequence[Wrapped]], n: int, cells: int, between: str) -> Line:
    """One row of several columns."""
    row: Line = ()
    for place, column in enumerate(shown):
        line = column[n].line if n < len(column) else ()
        if place:
            row += (Span(between, "dim", place * (cells + len(between)) - len(between)),)
        row += padded(line, cells) if place < len(shown) - 1 else line
    return row
