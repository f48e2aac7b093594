"""The people in the seats of a debate, who reply in browsers."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from debate_orchestrator.core.phases import MIRRORED, Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.util.errors import Paused
from debate_orchestrator.web.live import Viewers

NOT_WAITING = "This turn does not wait for a reply now. What was typed is kept in this browser."


class AwaitedTurn(NamedTuple):
    """A turn that waits for a person."""

    debate: DebateState
    turn: Turn
    brief: Brief
    reply: asyncio.Future[str]


class BrowserPeople:
    one_at_a_time = False

    def __init__(self) -> None:
        self.awaited_turns: dict[str, AwaitedTurn] = {}
        """By turn id, the turns that wait for their person."""
        self.viewers = Viewers()
        """Those who look at the page of a seat: told only that something has changed."""
        self._is_paused = False

    async def reply(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """The reply that is handed in for a turn. Raises Paused where the debate is paused before."""
        if self._is_paused:
            raise _paused(turn)
        awaited_turn = AwaitedTurn(debate, turn, brief, asyncio.get_running_loop().create_future())
        self.awaited_turns[turn.id] = awaited_turn
        self.notify(debate)
        try:
            return await awaited_turn.reply
        finally:
            del self.awaited_turns[turn.id]

    def remove_drafts(self, debate: DebateState) -> None:
        """Does nothing: drafts are kept by the browser."""

    def notify(self, debate: DebateState) -> None:
        """Tells the pages of seats that the debate has changed."""
        self.viewers.broadcast("change", {})

    def pause(self) -> None:
        """Ends every wait for a reply with Paused, since the debate is paused."""
        self._is_paused = True
        for awaited_turn in list(self.awaited_turns.values()):
            if not awaited_turn.reply.done():
                awaited_turn.reply.set_exception(_paused(awaited_turn.turn))

    def end(self) -> None:
        """Closes the streams of the pages: the debate no longer runs."""
        self.viewers.broadcast("change", {})
        self.viewers.close()

    def awaited_turn(self, seat: str) -> AwaitedTurn | None:
        """The turn that waits for the person of a seat; None if none does."""
        waiting = (awaited for awaited in self.awaited_turns.values() if not awaited.reply.done())
        return next((awaited for awaited in waiting if awaited.turn.seat.removesuffix(MIRRORED) == seat), None)


def _paused(turn: Turn) -> Paused:
    problem = "the debate was paused before it was handed in. What was typed is kept in the browser."
    return Paused(f"{turn.neutral_id}: {problem}")
