"""One turn that a person takes: what it is about, where they stand, and what is kept while they are at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.podium import briefing
from debate_orchestrator.podium.briefing import Line
from debate_orchestrator.podium.lectern import Lectern
from debate_orchestrator.podium.papers import Papers
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadFile, BadReply

SOON = 0.4
"""Seconds after which what is typed is on the disk."""
T = TypeVar("T")


class Taken(NamedTuple):
    """A turn that is being taken."""

    debate: DebateState
    turn: Turn
    brief: Brief
    lectern: Lectern
    papers: Papers

    def tell(self, *lines: str, strong: bool = False) -> None:
        self.lectern.tell([Line(line, strong) for line in lines])

    def whole(self) -> str:
        """The whole brief, to be looked at."""
        return briefing.whole(self.debate, self.turn, self.brief)

    def set_aside(self) -> None:
        """Sets a paper for this turn aside that can't be read, so that nothing is written over it, and tells where."""
        if path := self.papers.set_aside(self.brief):
            self.tell(f"What was written can't be read as it is; it is kept in {path}.", strong=True)

    def wrong(self, text: str) -> list[str]:
        """What is wrong with a text as the reply to this turn; nothing where it will do."""
        try:
            replies.parse_reply(self.debate, self.turn, Reply(text=text, brief=self.brief.digest, by=model_spec.HUMAN))
        except BadReply as error:
            return [one.removeprefix(f"{self.turn.id}: ") for one in error.complaints]
        return []


class Keeping(Generic[T]):
    """Keeps what is being written, a moment after it has changed."""

    def __init__(self, keep: Callable[[T], None]):
        self._keep = keep
        self._latest: list[T] = []
        self._timer: asyncio.TimerHandle | None = None
        self.trouble = ""
        """Why nothing can be kept, where nothing can."""

    def soon(self, what: T) -> None:
        """Keeps that, unless something newer comes before."""
        self._latest = [what]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SOON, self.now)

    def now(self) -> None:
        """Keeps the latest at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        latest, self._latest = self._latest, []
        for what in latest:
            try:
                self._keep(what)
                self.trouble = ""
            except BadFile as error:
                self.trouble = f"can't be kept: {error}"
