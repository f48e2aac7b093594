"""The clerk: checks what the sides cite. `fetch` fetches each page and looks for the quote, `offline` checks nothing.

Either answers in the shape that the format asks for; no model is called.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debate_orchestrator.core import schedule
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.shape import json_schema
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief, citations_to_check
from debate_orchestrator.providers import call_errors
from debate_orchestrator.providers.provider import OnPiece, Permissions, Provider
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadFile, short_repr

if TYPE_CHECKING:
    from debate_orchestrator.evidence.fetch import Fetcher


class Clerk(Provider):
    def __init__(self, spec: str, current: CurrentState, fetcher: Callable[[], Fetcher] | None = None):
        """`fetcher` makes what fetches the pages of a round; by default it reaches the public web only."""
        self.name = spec
        self._current, self._fetcher = current, fetcher

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """One check for each citation of the round. An unreachable page is a result too. Raises TransientError if this
        process can open no more files, which says nothing of a page, and BadFile if the folder can't be written."""
        citations = citations_to_check(self._current.state, schedule.turn(self._current.state, brief.turn_id))
        try:
            checks = (
                await self._check_citations(citations) if self.name == model_spec.FETCH else _skip_checks(citations)
            )
        except (OSError, BadFile) as error:
            reason = (isinstance(error, BadFile) and error.__context__) or error
            raise call_errors.out_of_files("The clerk", reason) or error from None
        text = _to_json(checks, brief.json_schema)
        on_text(text)
        return Reply(text=text, brief_digest=brief.digest, spec=self.name, cost=0.0)

    async def _check_citations(self, citations: list[dict[str, str]]) -> list[dict[str, Any]]:
        from debate_orchestrator.evidence.check import check
        from debate_orchestrator.evidence.fetch import Fetcher

        folder = None if self.evidence_folder is None else Path(self.evidence_folder)
        fetcher = (self._fetcher or Fetcher)()
        running = [check(cited["url"], cited["quote"], folder, fetcher) for cited in citations]
        results = await asyncio.gather(*running, return_exceptions=True)  # none goes on beside the next call
        checks = []
        for cited, result in zip(citations, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            values = {name: None if value == "" else value for name, value in result.model_dump(mode="json").items()}
            checks.append({"turn": cited["turn"]} | values)
        return checks


def offline_reply(debate: DebateState, turn: Turn) -> str:
    shape = debate.shape(turn)
    schema = json_schema(shape, schedule.shape_context(debate, turn)) if shape is not None else None
    return _to_json(_skip_checks(citations_to_check(debate, turn)), schema)


def _skip_checks(citations: list[dict[str, str]]) -> list[dict[str, Any]]:
    fields = {"state": "not checked", "why": "Not looked up: the clerk is offline."}
    return [{"turn": cited["turn"], "url": cited["url"], **fields} for cited in citations]


def _to_json(checks: list[dict[str, Any]], schema: dict[str, Any] | None) -> str:
    """Checks as JSON with the fields that the schema asks for; what is unknown is null."""
    field_names = (schema or {}).get("properties", {}).get("checks", {}).get("items", {}).get("properties", {})
    rows = [{name: values.get(name) for name in field_names} for values in checks]
    return json.dumps({"checks": rows}, ensure_ascii=False, indent=1)


def problem(spec: str) -> str | None:
    """The problem with the spec of a clerk: nothing may follow the word."""
    return f"{short_repr(spec)} is not a clerk. Try: fetch or offline." if model_spec.rest(spec) else None


def provider(spec: str, current: CurrentState, permissions: Permissions) -> Clerk:
    return Clerk(spec, current)
