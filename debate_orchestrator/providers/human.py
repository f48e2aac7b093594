"""A person as a provider: asked at the terminal for one turn at a time, however many are due."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

from debate_orchestrator.core import schedule
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece, Permissions, Provider
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import ProviderFailed, short_repr

_AS_FILES = "Try: seat `host` instead; `debate open` and `debate step` take replies as files, which people can write."


class Human(Provider):
    """The people of one debate, in every seat that they fill."""

    name = model_spec.HUMAN

    def __init__(self, current: CurrentState):
        self._current = current
        self._terminal = asyncio.Lock()

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The person's reply. Raises ProviderFailed if there is no terminal to ask at, Paused if the person leaves."""
        if self.people is None:
            raise ProviderFailed(f"{brief.turn_id} is a person's turn, and there is no terminal to ask at. {_AS_FILES}")
        async with self._terminal if self.people.one_at_a_time else nullcontext():
            text = await self.people.reply(
                self._current.state, schedule.turn(self._current.state, brief.turn_id), brief
            )
        on_text(text)
        return Reply(text=text, brief_digest=brief.digest, spec=self.name, cost=0.0)

    async def close(self) -> None:
        """Removes the drafts of turns that are on record."""
        if self.people is not None:
            self.people.remove_drafts(self._current.state)


def problem(spec: str) -> str | None:
    """The problem with the spec of a person: nothing may follow the word."""
    if spec == model_spec.HUMAN:
        return None
    return f"{short_repr(spec)} names a person, and `human` takes no name. Try: human."


def provider(spec: str, current: CurrentState, permissions: Permissions) -> Human:
    return Human(current)
