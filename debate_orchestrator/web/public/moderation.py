"""Asks a program of the owner of a public site about each topic, a few at a time."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
from collections.abc import Mapping
from typing import Any

from debate_orchestrator.providers.programs import NotRun, ProgramRun, environment
from debate_orchestrator.util.errors import BadSettings, ExternalError
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line

MODERATION_SECONDS = 20.0
"""Seconds that the answer may take, with the wait for those that are asked for before it."""
_CONCURRENCY = 4
"""Topics that are screened at the same time."""
_MAX_REASON_LENGTH = 500
"""Characters of a reason that are shown."""
_UNEXPLAINED = "This topic is not debated on this site."


class ModerationFailed(ExternalError):
    """The screening gave no answer, so the debate must not be started."""


class TopicScreener:
    """Runs the program of a `moderation` setting. It gets the `topic`, `positions` and `offer` as one JSON object on
    standard input, accepts with exit code 0 and refuses with 1; the first line that it prints is the reason."""

    def __init__(self, command: str):
        """BadSettings where the command line names no program; an empty one accepts every topic."""
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise BadSettings(f"moderation: the command line can't be read ({error}).") from None
        if self._words and shutil.which(self._words[0]) is None:
            raise BadSettings(f"moderation: there is no program {self._words[0]!r}.")
        self._slots = asyncio.Semaphore(_CONCURRENCY)

    async def reason(self, request: Mapping[str, Any]) -> str:
        """The reason that a topic is refused; empty if it is accepted. Raises ModerationFailed."""
        if not self._words:
            return ""
        deadline = asyncio.get_running_loop().time() + MODERATION_SECONDS
        try:
            async with asyncio.timeout_at(deadline):
                await self._slots.acquire()
            try:
                return await self._ask(json.dumps(request).encode(), deadline)
            finally:
                self._slots.release()
        except TimeoutError:
            raise ModerationFailed(f"moderation: no answer within {MODERATION_SECONDS:g} s.") from None

    async def _ask(self, request: bytes, deadline: float) -> str:
        run, seconds = ProgramRun(), deadline - asyncio.get_running_loop().time()
        try:
            await run.run(self._words, environment(), request, seconds, stderr=False)
        except NotRun as failure:
            raise ModerationFailed(f"moderation: the program can't be run ({failure.error}).") from None
        code = run.code
        if code not in (0, 1):
            raise ModerationFailed(f"moderation: the program ended with {code}; 0 accepts and 1 refuses.")
        reason = one_line(redact(run.stdout.decode("utf-8", "replace")).strip().partition("\n")[0])[:_MAX_REASON_LENGTH]
        return (reason or _UNEXPLAINED) if code else ""
