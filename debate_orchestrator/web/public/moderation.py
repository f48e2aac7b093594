"""Asks the owner's program or Python function whether a topic may be debated."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import shlex
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from debate_orchestrator.providers.command import environment
from debate_orchestrator.util.errors import BadSettings, ExternalError
from debate_orchestrator.util.sanitize import one_line

PYTHON = "python:"
SECONDS = 20.0
"""Seconds that the answer may take."""
_LONGEST = 500
"""Characters of a reason that are shown."""
_OUTPUT = 64 * 1024
_UNEXPLAINED = "This topic is not debated on this site."

Request = Mapping[str, Any]
Moderator = Callable[[Request], Awaitable[str]]
"""Gets `topic`, `positions` and `cast`; returns why it is refused, or an empty text."""


class ModerationFailed(ExternalError):
    """There is no answer, so that nothing may be started."""


def moderator(spec: str) -> Moderator:
    """What asks the program or the function of a `moderation` setting. BadSettings where it can't be loaded.

    A program gets the request as one JSON object on standard input. It accepts with exit code 0 and refuses with 1;
    the first line that it prints is the reason. A function, `python:MODULE:NAME`, gets the request as a dictionary and
    returns the reason, or None to accept.
    """
    if not spec:
        return _accept
    if not spec.startswith(PYTHON):
        try:
            words = shlex.split(spec)
        except ValueError as error:
            raise BadSettings(f"moderation: the command line can't be read ({error}).") from None
        return lambda request: _program(words, request)
    module, _, name = spec.removeprefix(PYTHON).partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        hint = "python:MODULE:FUNCTION, in a module that Python finds"
        raise BadSettings(f"moderation: {spec!r} can't be loaded ({error}).", hint=hint) from None
    return lambda request: _function(function, request)


async def _accept(request: Request) -> str:
    return ""


async def _function(function: Callable[[Request], Any], request: Request) -> str:
    try:
        async with asyncio.timeout(SECONDS):
            if inspect.iscoroutinefunction(function):
                reason = await function(dict(request))
            else:
                reason = await asyncio.to_thread(function, dict(request))
    except Exception as error:
        raise ModerationFailed(f"moderation: the function failed ({type(error).__name__}: {error}).") from error
    if reason is not None and not isinstance(reason, str):
        raise ModerationFailed(f"moderation: the function returned {type(reason).__name__}, not text or None.")
    return one_line(reason)[:_LONGEST] if reason else ""


async def _program(words: list[str], request: Request) -> str:
    """The verdict of a program, which runs without a shell, and with the part of the environment that others get."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=pipe, stdout=pipe, stderr=None, env=environment(), start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise ModerationFailed(f"moderation: the program can't be run ({error}).") from None
    assert process.stdin and process.stdout
    try:
        async with asyncio.timeout(SECONDS):
            with suppress(BrokenPipeError, ConnectionResetError):  # it may decide without reading
                process.stdin.write(json.dumps(request).encode())
                await process.stdin.drain()
            process.stdin.close()
            out = await process.stdout.read(_OUTPUT)
            code = await process.wait()
    except TimeoutError:
        raise ModerationFailed(f"moderation: no answer within {SECONDS:g} s.") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if code not in (0, 1):
        raise ModerationFailed(f"moderation: the program ended with {code}; 0 accepts and 1 refuses.")
    reason = one_line(out.decode("utf-8", "replace").strip().partition("\n")[0])[:_LONGEST]
    return (reason or _UNEXPLAINED) if code else ""
