"""Forms that may come twice, by a double click or because the first answer took long: both get what the first began."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.exceptions import HTTPException

from debate_orchestrator.util.errors import with_hint
from debate_orchestrator.util.messages import ignore
from debate_orchestrator.web.guard import shutdown_error

_MAX_BEGUN = 1_000
"""Forms of which it is known what they began."""
_MAX_WAITING = 5
"""Requests with one form that wait for what it began."""


class _Begun:
    """What a form has begun, and how many requests wait for it."""

    def __init__(self, work: Coroutine[Any, Any, str]):
        self.task, self.waiting = asyncio.ensure_future(work), 0


def _shutdown_error() -> HTTPException:
    error = shutdown_error()
    return HTTPException(error.status, error.sentence)


class RepeatedForms:
    """What forms began, by the value that their page sends as `form_key`."""

    def __init__(self, unwanted: Callable[[asyncio.Task[str]], None] = ignore) -> None:
        """`unwanted` may cancel a task for which no request waits any more; it goes on otherwise."""
        self._begun: dict[str, _Begun] = {}
        self._working = set[asyncio.Task[str]]()
        self._ended = False
        self._unwanted = unwanted

    async def begin(self, form_key: str, begin: Callable[[], Coroutine[Any, Any, str]], *form: object) -> str:
        """Calls `begin` and returns its result. If the same `form_key` and `form` came before, returns the earlier
        result instead. After an error, or with an empty key, `begin` is called again. Raises HTTPException if many
        requests wait for it already, and where the server ends."""
        if self._ended:
            raise _shutdown_error()
        key = hashlib.sha256(repr((form_key, form)).encode("utf-8", "surrogatepass")).hexdigest()
        begun = self._begun.get(key) if form_key else None
        if begun is None or begun.task.cancelling():
            begun = _Begun(begin())
            self._keep(key if form_key else None, begun)
        if begun.waiting >= _MAX_WAITING:
            problem = f"This form was sent {_MAX_WAITING} times and is not answered yet."
            raise HTTPException(429, with_hint(problem, "wait for the first answer"))
        begun.waiting += 1
        try:
            await asyncio.wait({begun.task})  # which goes on where this request is given up
            if begun.task.cancelled():
                raise _shutdown_error()
            return begun.task.result()
        finally:
            begun.waiting -= 1
            if not begun.waiting and not begun.task.done():
                self._unwanted(begun.task)

    async def end(self) -> None:
        """Cancels what forms have begun and is not done, waits for its end, and takes no more forms."""
        self._ended = True
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)

    def _keep(self, key: str | None, begun: _Begun) -> None:
        def forget_failed(task: asyncio.Task[str]) -> None:
            if (task.cancelled() or task.exception()) and key and self._begun.get(key) is begun:
                del self._begun[key]

        self._working.add(begun.task)
        begun.task.add_done_callback(self._working.discard)
        begun.task.add_done_callback(forget_failed)
        if key:
            self._begun[key] = begun
        while len(self._begun) > _MAX_BEGUN:
            del self._begun[next(iter(self._begun))]
