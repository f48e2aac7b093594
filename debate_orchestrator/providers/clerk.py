"""The clerk: looks up what the sides cite, so that nobody has to take their word for it.

`fetch` fetches each page, keeps it beside the journal and looks for the quote in it; `offline` says of each that it was
not checked. Either answers with the checks, in the shape that the format asks for. No model is asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.schema import json_schema
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief, evidence
from debate_orchestrator.providers.registry import Piece
from debate_orchestrator.util import errors, model_spec

if TYPE_CHECKING:
    from debate_orchestrator.evidence.fetch import Fetcher


class Clerk:
    """Whoever looks things up."""

    caches = False

    def __init__(self, spec: str, debate: DebateState, fetcher: Callable[[], Fetcher] | None = None):
        """`fetcher` makes what fetches the pages of a round; one that reaches the public web alone, if it is None."""
        self.name = spec
        self.archive: str | None = None
        self._debate, self._fetcher = debate, fetcher

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        """What was found of everything cited in the round. It fails never: what can't be had is a state too."""
        cited = evidence(self._debate, self._debate.turn(brief.turn))
        looks = model_spec.kind(self.name) == model_spec.FETCH
        found = await self._looked_up(cited) if looks else [_unchecked(one) for one in cited]
        text = _written(found, brief.json_schema)
        on_text(text)
        return Reply(text=text, brief=brief.digest, by=self.name, cost=0.0)

    async def _looked_up(self, cited: list[dict[str, str]]) -> list[dict[str, Any]]:
        from debate_orchestrator.evidence import check
        from debate_orchestrator.evidence.fetch import Fetcher

        folder = None if self.archive is None else Path(self.archive)
        fetcher = (self._fetcher or Fetcher)()
        made = await asyncio.gather(*(check.check(one["url"], one["quote"], folder, fetcher) for one in cited))
        return [{"turn": one["turn"], **_told(found)} for one, found in zip(cited, made, strict=True)]

    async def close(self) -> None:
        """Nothing is open."""


def unchecked(debate: DebateState, turn: Turn) -> str:
    """The reply of a clerk who looks nothing up."""
    shape = debate.shape(turn)
    schema = json_schema(shape, debate.terms(turn)) if shape is not None else None
    return _written([_unchecked(one) for one in evidence(debate, turn)], schema)


def _written(found: list[dict[str, Any]], schema: dict[str, Any] | None) -> str:
    """Checks in the fields that are asked for: what is not known is null."""
    checks = [{name: one.get(name) for name in _fields(schema)} for one in found]
    return json.dumps({"checks": checks}, ensure_ascii=False, indent=1)


def _told(found: Any) -> dict[str, Any]:
    """A check in the fields of the clerk's reply: what is not known is null."""
    return {name: value if value != "" else None for name, value in found.model_dump(mode="json").items()}


def _unchecked(one: dict[str, str]) -> dict[str, Any]:
    return {
        "turn": one["turn"],
        "url": one["url"],
        "state": "not checked",
        "why": "Nobody looked: the clerk is offline.",
    }


def _fields(schema: dict[str, Any] | None) -> list[str]:
    """The fields of one check."""
    checks = (schema or {}).get("properties", {}).get("checks", {})
    return list(checks.get("items", {}).get("properties", {}))


def complaint(spec: str) -> str | None:
    """What is wrong with a clerk in a cast; None where nothing is."""
    extra = model_spec.rest(spec)
    return (
        errors.complaint("clerk", errors.short_repr(spec), f"{model_spec.FETCH} or {model_spec.OFFLINE}")
        if extra
        else None
    )


def provider(spec: str, debate: DebateState) -> Clerk:
    return Clerk(spec, debate)
