"""Plays a recorded debate in the live view at a reader's pace, with keys to skip, pause and leave."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from debate_orchestrator.core import schedule, speech_rules
from debate_orchestrator.core.events import (
    CallFailed,
    Declined,
    EndedEarly,
    Event,
    IssuesChanged,
    QuestionAsked,
    Rejected,
    ReplyEvent,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.fold import apply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.terminal.keys import TICK_SECONDS
from debate_orchestrator.terminal.live import LiveView

_SPEECH_PAUSE = 0.8
"""Seconds after a speech."""
_BALLOT_PAUSE = 4.0
"""Seconds after a ballot, to look at the scores."""
_USER_EVENTS = QuestionAsked | IssuesChanged | EndedEarly
"""The user's actions during the debate. These events keep their place: they decide who speaks and who hears what."""
_WORD = re.compile(r"\S{1,16}\s*|\s+")
"""This many characters count as a word, in scripts that put no spaces between words."""


class Player:
    """Plays the events of a debate."""

    def __init__(self, debate: DebateState, events: Iterable[Event], live: LiveView, pace: float | None):
        """`debate` is the state before the events; `pace` is in words per minute, None for all at once."""
        self.debate, self._events, self._live, self._pace = debate, list(events), live, pace
        self._spoken_turn_ids: set[str] = set()
        self._skip, self._running = asyncio.Event(), asyncio.Event()
        self._running.set()
        self._to_verdict = False
        """Whether everything before the final verdict is shown at once."""
        self.has_quit = False
        """Whether the person quit before its end."""

    def press(self, key: str) -> None:
        """q leaves, p pauses, v skips to the verdict; any other key skips a speech, or continues from a pause."""
        running = self._running.is_set()
        self.has_quit = self.has_quit or key in ("q", "Q")
        self._to_verdict = self._to_verdict or key in ("v", "V")
        if key in ("p", "P") and running:
            self._running.clear()
        elif self.has_quit or running:
            self._skip.set()
        if not running:
            self._running.set()
        self.show_keys()

    def show_keys(self) -> None:
        running = self._running.is_set()
        self._live.note = "" if running else "paused"
        self._live.keys = (
            ("any key skips", "v verdict", "p pause", "q quit") if running else ("any key goes on", "q quit")
        )

    async def play(self) -> bool:
        """Plays to the end, or until the person quits; whether the end was reached."""
        remaining = deque(self._events)
        while remaining:
            events = take_stage_events(self.debate, remaining)
            for event in events:
                if isinstance(event, StructuredReplyGiven) and schedule.turn(self.debate, event.turn_id).after_rounds:
                    self._to_verdict = False
                await self._play_before(event, events)
                if self.has_quit:
                    return False
                self.debate = apply(self.debate, event)
                if not isinstance(event, Rejected | CallFailed):  # another attempt takes its place
                    self._live.on_event(self.debate, event)
                if isinstance(event, ReplyEvent):
                    await self._pause(_BALLOT_PAUSE if isinstance(event, StructuredReplyGiven) else _SPEECH_PAUSE)
        return True

    @property
    def _plays_instantly(self) -> bool:
        return self._pace is None or self._to_verdict

    async def _play_before(self, event: Event, events: Sequence[Event]) -> None:
        if isinstance(event, Spoke | Declined) and event.turn_id not in self._spoken_turn_ids:
            events_shown = events if self._live.shows_columns else [event]
            speeches = [speech for speech in events_shown if isinstance(speech, Spoke | Declined)]
            await self._speak(
                {
                    speech.turn_id: speech_rules.without_private_reasoning(self.debate, speech.reply.text)
                    for speech in speeches
                }
            )
        elif isinstance(event, StructuredReplyGiven):
            await self._pause(_SPEECH_PAUSE)

    async def _speak(self, texts: Mapping[str, str]) -> None:
        """Plays these speeches at once, word by word."""
        self._spoken_turn_ids |= set(texts)
        self._skip.clear()
        words = [(schedule.turn(self.debate, turn), _WORD.findall(text)) for turn, text in texts.items()]
        words_shown, longest = 0.0, max(len(word) for _, word in words)
        while not self._plays_instantly and words_shown < longest and not self._skip.is_set():
            next_shown = words_shown + (self._pace or 0) / 60 * TICK_SECONDS
            for turn, word in words:
                self._live.on_text(turn, "".join(word[int(words_shown) : int(next_shown)]))
            words_shown = next_shown
            await self._tick()

    async def _pause(self, seconds: float) -> None:
        """Waits, unless a key skips that."""
        self._skip.clear()
        for _ in range(0 if self._plays_instantly else round(seconds / TICK_SECONDS)):
            if self._skip.is_set():
                break
            await self._tick()

    async def _tick(self) -> None:
        await asyncio.sleep(TICK_SECONDS)
        await self._running.wait()


def take_stage_events(debate: DebateState, remaining: deque[Event]) -> list[Event]:
    """Takes the next events: of one stage at most, replies last in the schedule's order. `debate` is before them."""
    order = {turn.id: rank for rank, turn in enumerate(debate.stages[-1], start=1)}
    taken = [remaining.popleft()]
    if not isinstance(taken[0], _USER_EVENTS):
        while (
            remaining
            and not isinstance(remaining[0], _USER_EVENTS)
            and getattr(remaining[0], "turn_id", "") in {"", *order}
        ):
            taken.append(remaining.popleft())
    replies = [event for event in taken if isinstance(event, Spoke | Declined | StructuredReplyGiven)]
    others = [event for event in taken if event not in replies]
    return [*others, *sorted(replies, key=lambda event: order.get(event.turn_id, 0))]
