"""Asks a program of the owner of a public site about each topic, a few at a time."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from debate_orchestrator.providers.command import environment
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
        """Why a topic is refused; empty where it is accepted. Raises ModerationFailed."""
        if not self._words:
            return ""
        try:
            async with asyncio.timeout(MODERATION_SECONDS), self._slots:
                return await self._ask(json.dumps(request).encode())
        except TimeoutError:
            raise ModerationFailed(f"moderation: no answer within {MODERATION_SECONDS:g} s.") from None

    async def _ask(self, request: bytes) -> str:
        pipe = asyncio.subprocess.PIPE
        try:
            program = await asyncio.create_subprocess_exec(
                *self._words, stdin=pipe, stdout=pipe, env=environment(), start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise ModerationFailed(f"moderation: the program can't be run ({error}).") from None
        try:
            output, _ = await program.communicate(request)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
        code = program.returncode
        if code not in (0, 1):
            raise ModerationFailed(f"moderation: the program ended with {code}; 0 accepts and 1 refuses.")
        reason = one_line(redact(output.decode("utf-8", "replace")).strip().partition("\n")[0])[:_MAX_REASON_LENGTH]
        return (reason or _UNEXPLAINED) if code else ""
