"""Asks a program or function of the owner of a public site about each topic, a few at a time."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import shlex
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Any

from debate_orchestrator.providers.command import GRACE, Program, environment, kill, started
from debate_orchestrator.util.errors import BadSettings, ExternalError, with_hint
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.threads import in_daemon_thread

PYTHON = "python:"
MODERATION_SECONDS = 20.0
"""Seconds that the answer may take, with the wait for those that are asked for before it."""
_CONCURRENCY = 4
"""Topics that are screened at the same time, and calls of a function that may hang before it is called no more."""
_MAX_REASON_LENGTH = 500
"""Characters of a reason that are shown."""
_OUTPUT = 64 * 1024
"""Bytes that are kept of what a program prints."""
_UNEXPLAINED = "This topic is not debated on this site."

Request = Mapping[str, Any]
"""The `topic`, `positions` and `offer`."""
TopicCheck = Callable[[Request], Awaitable[str]]
"""Returns why a topic is refused, or an empty text."""


class ModerationFailed(ExternalError):
    """The screening gave no answer, so the debate must not be started."""


class TopicScreener:
    """Asks the program or the function of a `moderation` setting.

    A program gets the request as one JSON object on standard input. It accepts with exit code 0 and refuses with 1;
    the first line that it prints is the reason. A function, `python:MODULE:NAME`, gets the request as a dictionary and
    returns the reason, or None to accept.
    """

    def __init__(self, spec: str):
        """BadSettings where it can't be loaded; an empty `spec` accepts every topic."""
        self._check = self._loaded(spec) if spec else None
        self._places = asyncio.Semaphore(_CONCURRENCY)
        self._waiting = set[asyncio.Task[Any] | None]()
        """The tasks whose topics wait to be screened."""
        self._given_up: list[Future[Any]] = []
        """Calls of the function that did not answer in time. No thread can be ended from outside."""

    async def reason(self, request: Request) -> str:
        """Why a topic is refused; empty where it is accepted. Raises ModerationFailed."""
        if self._check is None:
            return ""
        try:
            async with asyncio.timeout(MODERATION_SECONDS):
                self._waiting.add(task := asyncio.current_task())
                try:
                    await self._places.acquire()
                finally:
                    self._waiting.discard(task)
                try:
                    return await self._check(request)
                finally:
                    self._places.release()
        except TimeoutError:
            raise ModerationFailed(f"moderation: no answer within {MODERATION_SECONDS:g} s.") from None

    def drop(self, task: asyncio.Task[Any]) -> None:
        """Ends a task whose topic waits. One that is looked at already is looked at to the end."""
        if task in self._waiting:
            task.cancel()

    def _loaded(self, spec: str) -> TopicCheck:
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
        return lambda request: self._function(function, request)

    async def _function(self, function: Callable[[Request], Any], request: Request) -> str:
        self._given_up = [call for call in self._given_up if not call.done()]
        if len(self._given_up) >= _CONCURRENCY:
            problem = f"moderation: {_CONCURRENCY} calls of the function hang, so it is not called now."
            raise ModerationFailed(with_hint(problem, "mend the function, and start the server again"))
        try:
            if inspect.iscoroutinefunction(function):
                reason = await function(dict(request))
            else:
                call = in_daemon_thread(lambda: function(dict(request)))
                try:
                    reason = await asyncio.wrap_future(call)
                finally:
                    self._given_up += [] if call.done() else [call]
        except Exception as error:
            raise ModerationFailed(f"moderation: the function failed ({type(error).__name__}: {error}).") from error
        if reason is not None and not isinstance(reason, str):
            raise ModerationFailed(f"moderation: the function returned {type(reason).__name__}, not text or None.")
        return one_line(reason)[:_MAX_REASON_LENGTH] if reason else ""


class _Run(Program):
    """The beginning of what a program prints; the rest is read and left out, since a pipe that is full would hold it
    up. A child that it leaves behind may hold the pipe open for a while."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.out, self.closed = bytearray(), asyncio.Event()
        self.exited = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.out += data[: _OUTPUT - len(self.out)]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        self._loop.call_later(GRACE, self.closed.set)


async def _program(words: list[str], request: Request) -> str:
    """The verdict of a program, which runs without a shell, and with the part of the environment that others get."""
    try:
        transport, run = await started(_Run, words, stderr=None, env=environment())
    except (OSError, ValueError) as error:
        raise ModerationFailed(f"moderation: the program can't be run ({error}).") from None
    stdin = transport.get_pipe_transport(0)
    assert isinstance(stdin, asyncio.WriteTransport)
    try:
        stdin.write(json.dumps(request).encode())  # it may decide without reading
        stdin.write_eof()
        await run.exited.wait()
        await run.closed.wait()
    finally:
        await kill(transport, run)
    code = transport.get_returncode()
    if code not in (0, 1):
        raise ModerationFailed(f"moderation: the program ended with {code}; 0 accepts and 1 refuses.")
    reason = one_line(run.out.decode("utf-8", "replace").strip().partition("\n")[0])[:_MAX_REASON_LENGTH]
    return (reason or _UNEXPLAINED) if code else ""
