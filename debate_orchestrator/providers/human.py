"""A person: asked one turn after the other, however many are due at once, since there is one terminal.

Who knows how to reach them says so by `person`; nobody is reached before that.
"""

from __future__ import annotations

import asyncio

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.registry import Person, Piece
from debate_orchestrator.util import errors, model_spec
from debate_orchestrator.util.errors import ProviderFailed

HINT = "Seat `host` instead: `debate open` and `debate step` take replies as files, which people can write by hand."


class Human:
    """The persons of one debate, in whichever seats they sit."""

    caches = False

    def __init__(self, debate: DebateState):
        self.name = model_spec.HUMAN
        self.person: Person | None = None
        self._debate = debate
        self._terminal = asyncio.Lock()

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        """What the person says. No model has said it, and nobody is paid for it. Failed where nobody is there to be
        asked, Paused where the person leaves."""
        if self.person is None:
            raise ProviderFailed(errors.complaint(brief.turn, "nobody to ask", "a person at a terminal", HINT))
        async with self._terminal:
            text = await self.person.answer(self._debate, self._debate.turn(brief.turn), brief)
        on_text(text)
        return Reply(text=text, brief=brief.digest, by=self.name, cost=0.0)

    async def close(self) -> None:
        """Nothing is open; what was kept of turns that are on record is put away."""
        if self.person is not None:
            self.person.tidy(self._debate)


def complaint(spec: str) -> str | None:
    """What is wrong with how a person is named: there is nothing to be said after the word."""
    if spec == model_spec.HUMAN:
        return None
    return errors.complaint(
        model_spec.HUMAN, errors.short_repr(spec), model_spec.HUMAN, "A person has no model and no name here."
    )


def provider(spec: str, debate: DebateState) -> Human:
    return Human(debate)
