"""A recorded debate, played to a live screen at a reader's pace. Whatever key is pressed skips to a speech's end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from debate_orchestrator.core.events import (
    Answer,
    BudgetChanged,
    CallFailed,
    Declined,
    EndedEarly,
    Event,
    Noted,
    Opened,
    QuestionAsked,
    Reassigned,
    Rejected,
    Spoke,
    Voted,
)
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen.live import Live
from debate_orchestrator.screen.session import TICK

_REST = 0.8
"""Seconds after a speech."""
_LOOK = 4.0
"""Seconds for scores to be looked at."""
_WORD = re.compile(r"\s*\S{1,16}\s*")
"""What is a word to the clock: where there are no blanks between words, so many characters."""


class Player:
    """Plays the events of a debate."""

    def __init__(self, debate: DebateState, events: Iterable[Event], live: Live, pace: float | None):
        """`debate` has been opened, and is kept in step; `pace` is in words a minute, None for all at once."""
        self._debate, self._events, self._live, self._pace = debate, events, live, pace
        self._spoken: set[str] = set()
        self._skip = asyncio.Event()
        self._going = asyncio.Event()
        self._going.set()
        self.left = False
        """Whether it was left before its end."""

    def press(self, key: str) -> None:
        """q leaves, p pauses, anything else skips, or goes on where it is paused."""
        was_going = self._going.is_set()
        self.left = self.left or key in ("q", "Q")
        if key in ("p", "P") and was_going:
            self._going.clear()
        elif self.left or was_going:
            self._skip.set()
        if not was_going:
            self._going.set()
        self.tell_keys()

    def tell_keys(self) -> None:
        """Has the status tell what the keys do now."""
        going = self._going.is_set()
        self._live.note = "" if going else "paused"
        self._live.keys = ("any key skips", "p pause", "q quit") if going else ("any key goes on", "q quit")

    async def play(self) -> bool:
        """Plays to the end, or until it is left; whether the end was reached."""
        for stage in stages(self._debate, self._events):
            for event in stage:
                await self._prepare(event, stage)
                if self.left:
                    return False
                self._debate.take(event)
                self._live.on_event(self._debate, event)
                if isinstance(event, Answer):
                    await self._rest(_LOOK if isinstance(event, Voted) else _REST)
        return True

    async def _prepare(self, event: Event, stage: Sequence[Event]) -> None:
        """What is seen before an event is over."""
        if isinstance(event, Spoke | Declined) and event.turn not in self._spoken:
            speeches = [one for one in stage if isinstance(one, Spoke | Declined)] if self._live.beside else [event]
            await self._speak({one.turn: self._debate.public(one.reply.text) for one in speeches})
        elif isinstance(event, Rejected | CallFailed) and event.reply is not None:
            self._live.hear(self._debate.turn(event.turn), self._debate.public(event.reply.text))
        elif isinstance(event, Voted):
            await self._rest(_REST)

    async def _speak(self, texts: Mapping[str, str]) -> None:
        """Speaks so many texts at once, word by word."""
        self._spoken |= set(texts)
        self._skip.clear()
        words = [(self._debate.turn(turn), _WORD.findall(text)) for turn, text in texts.items()]
        said, most = 0.0, max(len(one) for _, one in words)
        while self._pace is not None and said < most and not self._skip.is_set():
            until = said + self._pace / 60 * TICK
            for turn, one in words:
                self._live.hear(turn, "".join(one[int(said) : int(until)]))
            said = until
            await self._tick()

    async def _rest(self, seconds: float) -> None:
        """Lets so much time pass, unless that is skipped."""
        self._skip.clear()
        ticks = 0 if self._pace is None else round(seconds / TICK)
        while ticks > 0 and not self._skip.is_set():
            ticks -= 1
            await self._tick()

    async def _tick(self) -> None:
        """A moment; while it is paused, until it goes on."""
        await asyncio.sleep(TICK)
        await self._going.wait()


def stages(debate: DebateState, events: Iterable[Event]) -> Iterator[list[Event]]:
    """The events stage by stage, those that settle a turn last and in the order of the agenda. Each stage is to be
    taken before the next is asked for."""
    rest = list(events)
    while rest:
        *_, stage = debate.stages()
        places = {turn.id: place for place, turn in enumerate(stage)}
        count = next((n for n, one in enumerate(rest) if _place(one, places) is None), len(rest)) or 1
        mine, rest = rest[:count], rest[count:]
        yield [one for part in _parts(mine) for one in _in_order(part, places)]


def _parts(events: list[Event]) -> Iterator[list[Event]]:
    """The events between those that decide who is next, or who hears what, which keep their place."""
    part: list[Event] = []
    for one in events:
        if isinstance(one, QuestionAsked | EndedEarly):
            yield part
            yield [one]
            part = []
        else:
            part.append(one)
    yield part


def _in_order(events: list[Event], places: Mapping[str, int]) -> list[Event]:
    """The same with those that settle a turn last, in the order of the agenda."""
    settling = [one for one in events if isinstance(one, Spoke | Declined | Voted)]
    return [*(one for one in events if one not in settling), *sorted(settling, key=lambda one: places.get(one.turn, 0))]


def _place(event: Event, places: Mapping[str, int]) -> int | None:
    """Where in a stage an event belongs; None where it belongs to another."""
    return (
        0
        if isinstance(event, Opened | Reassigned | BudgetChanged | QuestionAsked | EndedEarly | Noted)
        else places.get(event.turn)
    )
