"""A debate that is watched on glass, with a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import debates
from glass import Glass, OnGlass

from debate_orchestrator.core.events import Asked, Event, Reply, Spoke
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen.live import Live


class Hall:
    """A debate that is watched on glass, with a clock that is moved by hand."""

    def __init__(self, *, columns: int = 80, rows: int = 24, events: Iterable[Event] | None = None, **setup: Any):
        self.glass = Glass(columns, rows)
        self.time = 0.0
        self.debate = DebateState(events or [debates.opening(**setup)])
        self.terminal = OnGlass(self.glass)
        self.live = Live(self.debate, self.terminal, now=lambda: self.time)
        self.terminal.hold()

    def happen(self, *events: Event) -> None:
        for event in events:
            self.debate.take(event)
            self.live.on_event(self.debate, event)

    def ask(self, turn: str) -> None:
        self.happen(Asked(turn=turn, brief="0" * 64, by="anthropic:m"))

    def hear(self, turn: str, piece: str) -> None:
        self.live.hear(self.debate.turn(turn), piece)
        self.live.paint()

    def speak(self, turn: str, text: str, **reply: Any) -> None:
        self.happen(Spoke(turn=turn, reply=Reply(text=text, brief="0" * 64, by="anthropic:m", **reply)))

    @property
    def status(self) -> str:
        """What is below the rule."""
        return "\n".join(self.glass.screen).rpartition("─")[2].strip()

    def left(self) -> list[str]:
        """Every line that is there when the debate has been left."""
        self.live.leave()
        self.terminal.let_go()
        return self.glass.text.splitlines()


def whole(columns: int = 80, **setup: Any) -> tuple[Hall, list[str]]:
    """A whole debate, and every line that was shown of it."""
    events = debates.played(**setup)
    hall = Hall(columns=columns, events=events[:1])
    hall.happen(*events[1:])
    return hall, hall.left()
