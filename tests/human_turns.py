"""A person who takes turns, for tests: what they type is given beforehand, and what they see can be read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

from debates import play_events
from persons import ALT_ENTER

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.terminal.asking import Asker, Line, Question, Quit
from debate_orchestrator.terminal.drafts import Drafts
from debate_orchestrator.terminal.turn import PersonTurn

T = TypeVar("T")
HAND_IN = ALT_ENTER
F2, F3, EDIT = "\x1bOQ", "\x1bOR", "\x18\x05"
PEOPLE: dict[str, tuple[str, ...]] = {"a": ("human",), "b": ("human",), "judge": ("human",)}


class Script(Asker):
    """A terminal at which things are typed beforehand: a text, or an exception. What is shown is kept."""

    def __init__(self, *typed: str | Exception):
        self.is_in_other_program = False
        self.typed = list(typed)
        self.shown_lines: list[str] = []
        self.asked: list[Question] = []
        self.entered: list[str] = []
        """What could be seen of a form at each question."""
        self.cleared = 0

    def show(self, *lines: str | Line) -> None:
        self.shown_lines += [line.text if isinstance(line, Line) else line for line in lines]

    async def _read(self, question: Question) -> str:
        self.asked.append(question)
        self.entered.append(question.shows.get("entered", str)())
        typed = self.typed.pop(0) if self.typed else Quit()
        await asyncio.sleep(0)
        if isinstance(typed, Exception):
            raise typed
        question.on_change(typed)
        return typed

    def clear(self) -> None:
        self.cleared += 1
        self.shown_lines.append("(cleared)")

    def quit(self) -> None:
        self.typed.clear()

    @property
    def text(self) -> str:
        """Everything that was shown."""
        return "\n".join(self.shown_lines)


def due(turn: str, **setup: Any) -> DebateState:
    """A debate in which that turn is due, with people in all seats."""
    return fold(play_events(until=turn, **({"cast": PEOPLE, "rounds": 2} | setup)))


def taken(turn: str, asker: Any, folder: Path, debate: DebateState | None = None, **setup: Any) -> PersonTurn:
    """That turn, taken by the person who is there."""
    debate = debate or due(turn, **setup)
    one = schedule.turn(debate, turn)
    return PersonTurn(debate, one, brief(debate, one), asker, Drafts(str(folder / "r.drafts")))


def run(coming: Awaitable[T]) -> T:
    """What it comes to."""

    async def wait() -> T:
        return await coming

    return asyncio.run(wait())


def events(debate: DebateState) -> list[Event]:
    """The answers of a debate."""
    return list(debate.replies.values())
