"""A person at the lectern, for tests: what they type is given beforehand, and what they see can be read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from debates import played
from persons import BREAK, ENTER, Screen, fed

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.podium.lectern import Blank, Left
from debate_orchestrator.podium.papers import Papers
from debate_orchestrator.podium.turn import Taken
from debate_orchestrator.podium.writing import Terminal
from debate_orchestrator.prompting.briefs import brief

T = TypeVar("T")
HAND_IN = BREAK
F2, F3, EDIT = "\x1bOQ", "\x1bOR", "\x18\x05"
PEOPLE: dict[str, tuple[str, ...]] = {"a": ("human",), "b": ("human",), "judge": ("human",)}


@contextmanager
def standing(*keys: str, columns: int = 100) -> Iterator[tuple[Terminal, Screen]]:
    """A terminal at which exactly these keys are pressed, and then nothing more comes."""
    screen = Screen(columns)
    with fed("".join(keys)) as pipe:
        yield Terminal(pipe, screen), screen


def lines(*answers: str) -> str:
    """Keys of these answers, each ended with Enter."""
    return "".join(answer + ENTER for answer in answers)


class Script:
    """A lectern at which things are said beforehand: a text, or an exception. What is told is kept."""

    long_keys: tuple[str, ...] = ("keys",)
    short_keys: tuple[str, ...] = ("keys",)

    def __init__(self, *said: str | Exception, edits: Callable[[Path], str | None] = lambda path: None):
        self.said = list(said)
        self.told: list[str] = []
        self.asked: list[Blank] = []
        self.entered: list[str] = []
        """What could be seen of a form at each question."""
        self.cleared = 0
        self.elsewhere = False
        self._edits = edits

    def tell(self, lines: Any) -> None:
        self.told += [line.text for line in lines]

    async def ask(self, blank: Blank) -> str:
        self.asked.append(blank)
        self.entered.append(blank.shows.get("entered", str)())
        said = self.said.pop(0) if self.said else Left()
        await asyncio.sleep(0)
        if isinstance(said, Exception):
            raise said
        blank.changed(said)
        return said

    async def edit(self, command: str, path: str) -> str | None:
        return self._edits(Path(path))

    def clear(self) -> None:
        self.cleared += 1
        self.told.append("(cleared)")

    def abandon(self) -> None:
        self.said.clear()

    @property
    def text(self) -> str:
        """Everything that was told."""
        return "\n".join(self.told)


def due(turn: str, **setup: Any) -> DebateState:
    """A debate in which that turn is due, with people in all seats."""
    return fold(played(until=turn, **({"cast": PEOPLE, "rounds": 2} | setup)))


def taken(turn: str, lectern: Any, folder: Path, debate: DebateState | None = None, **setup: Any) -> Taken:
    """That turn, taken by whoever stands there."""
    debate = debate or due(turn, **setup)
    one = schedule.turn(debate, turn)
    return Taken(debate, one, brief(debate, one), lectern, Papers(str(folder / "r.drafts")))


def run(coming: Awaitable[T]) -> T:
    """What it comes to."""

    async def wait() -> T:
        return await coming

    return asyncio.run(wait())


def events(debate: DebateState) -> list[Event]:
    """The answers of a debate."""
    return list(debate.answers.values())
