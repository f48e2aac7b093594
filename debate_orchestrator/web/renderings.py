"""The work that pages take: each page is made once and then kept, and no visitor or link holds up another, the
dashboard, or the debates that run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from debate_orchestrator.util.errors import with_hint
from debate_orchestrator.web.kept import Kept

_AT_ONCE = 2
"""How many things are worked on at once for all visitors and links together; as many more for the dashboard."""
_KEPT = 100_000_000
"""Bytes of memory that the renderings that are kept may take."""
_MAX_WAITING = 100
"""Requests of one visitor or link that wait at once."""

DASHBOARD = ""
"""The visitor who is this user: with threads of its own, and as much at once as these do."""

Rendering = str | bytes
T = TypeVar("T")


@dataclass
class _Request:
    """Work that is asked for and not done yet."""

    turn: asyncio.Future[str]
    """The visitor for whom it is done, as soon as one of them has nothing else done."""
    work: asyncio.Task[Any]
    visitors: Counter[str] = field(default_factory=Counter)
    """How many requests of each visitor wait for it."""


class Renderings:
    """The work of one application. It has threads of its own, so the debates that run don't wait for it. For a visitor,
    or the link of a seat or a review, one thing is done at a time; the others wait, and delay no other visitor. What no
    request waits for any more is not begun."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "visitors")
        self._own_pool = ThreadPoolExecutor(_AT_ONCE, "dashboard")
        self._kept = Kept[Rendering](_KEPT)
        self._requests: dict[Hashable, _Request] = {}
        self._busy: set[str] = set()
        """Visitors for whom something is being done."""
        self._waiting = Counter[str]()

    async def get(self, key: Hashable, make: Callable[[], Rendering], visitor: str) -> Rendering:
        """What `make` returns for a key, which changes with what is rendered. Raises what it raises, and HTTPException
        for a visitor with too many requests."""
        if (kept := self._kept.get(key)) is not None:
            return kept

        def kept_then() -> Rendering:
            rendering = make()
            self._kept.put(key, rendering, getsizeof(rendering))
            return rendering

        return await self.shared(key, kept_then, visitor)

    async def page(self, key: Hashable, make: Callable[[], str], visitor: str) -> str:
        """The same for what is text."""
        return str(await self.get(key, make, visitor))

    async def run(self, work: Callable[[], T], visitor: str) -> T:
        """What `work` returns; it is done for this request alone."""
        return await self.shared(object(), work, visitor)

    async def shared(self, key: Hashable, work: Callable[[], T], visitor: str) -> T:
        """What `work` returns. It is done once for all who ask with that key until it is done."""
        if self._waiting[visitor] >= _MAX_WAITING and visitor != DASHBOARD:
            hint = "the same again in some seconds"
            raise HTTPException(429, with_hint("Too many requests of yours wait at once.", hint))
        if key not in self._requests:
            turn: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._requests[key] = _Request(turn, asyncio.ensure_future(self._done(key, work, turn)))
        request = self._requests[key]
        request.visitors[visitor] += 1
        self._waiting[visitor] += 1
        if visitor not in self._busy:
            self._start(request, visitor)
        try:
            result: T = await asyncio.shield(request.work)
            return result
        finally:
            _less(self._waiting, visitor)
            _less(request.visitors, visitor)
            if not request.visitors and not request.turn.done():
                request.turn.cancel()
                self._requests.pop(key, None)

    def close(self) -> None:
        """Starts nothing more."""
        for pool in (self._pool, self._own_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    def _start(self, request: _Request, visitor: str) -> None:
        if not request.turn.done():
            if visitor != DASHBOARD:
                self._busy.add(visitor)
            request.turn.set_result(visitor)

    async def _done(self, key: Hashable, work: Callable[[], T], turn: asyncio.Future[str]) -> T:
        visitor = await turn
        try:
            pool = self._own_pool if visitor == DASHBOARD else self._pool
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        finally:
            self._requests.pop(key, None)
            self._busy.discard(visitor)
            waiting = (r for r in self._requests.values() if visitor in r.visitors and not r.turn.done())
            if (oldest := next(waiting, None)) is not None:
                self._start(oldest, visitor)


def _less(counts: Counter[str], visitor: str) -> None:
    counts[visitor] -= 1
    if not counts[visitor]:
        del counts[visitor]
