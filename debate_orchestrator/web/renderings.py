"""Makes pages in threads. A page is made once and then kept. The pages of one visitor or link delay neither others, nor
the dashboard, nor the debates that run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from starlette.exceptions import HTTPException
from starlette.responses import Response

from debate_orchestrator.engine import api
from debate_orchestrator.util.errors import with_hint
from debate_orchestrator.util.threads import SHUTDOWN_SECONDS
from debate_orchestrator.web import folder
from debate_orchestrator.web.cache import Key, SizedCache
from debate_orchestrator.web.pages import standalone_page

_CONCURRENCY = 2
"""Pages that are made at the same time for all visitors and links together; as many more for the dashboard."""
_KEPT = 100_000_000
"""Bytes of memory that the renderings that are kept may take."""
_ENTRY_SIZE = 500
"""Bytes that each of them takes besides."""
_MAX_WAITING = 100
"""Requests of one visitor or link that may wait at the same time."""

THIS_USER = ""
"""The dashboard as a requester: it has its own threads, and no limit of its own."""

T = TypeVar("T")


@dataclass
class _Request:
    """Work that is asked for and not done yet."""

    work: Callable[[], Any]
    result: asyncio.Future[Any]
    tries: set[asyncio.Task[None]] = field(default_factory=set)
    """Tasks that try to begin it: one for each request that came before it began."""
    begun: bool = False


def _look_at(result: asyncio.Future[Any]) -> None:
    """Takes note of a failure: no request may be left that asks for it, and asyncio would report it as unseen."""
    if not result.cancelled():
        result.exception()


class _Threads:
    """Threads, and how many of them are free: what has to wait for one waits outside the pool, where it can be given
    up."""

    def __init__(self, name: str) -> None:
        self.pool, self.free = ThreadPoolExecutor(_CONCURRENCY, name), asyncio.Semaphore(_CONCURRENCY)


class Renderings:
    """Makes the pages of one application, in threads of its own, so the debates that run don't wait for it. For each
    requester, which is a visitor's pseudonym or the token of a seat's or a review's link, one page is made at a time;
    the next ones wait, and delay no other requester. A page that no request waits for any more is not begun."""

    def __init__(self) -> None:
        self._threads, self._own_threads = _Threads("visitors"), _Threads("dashboard")
        self._cache = SizedCache[bytes](_KEPT)
        self._requests: dict[Hashable, _Request] = {}
        self._working = set[asyncio.Future[Any]]()
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        """Requester to the lock that is held while something is done for it; kept as long as it is used."""
        self._waiting = Counter[str]()

    async def get(self, key: Key, make: Callable[[], str | bytes], requester: str) -> bytes:
        """The page that `make` returns, from the cache if it is there. The key changes with everything that is on the
        page. Text is kept as UTF-8, so that all answers share its bytes. Raises what `make` raises, and HTTPException
        for a requester with too many requests."""
        kept = self._cache.get(key)
        if kept is not None:
            return kept

        def kept_then() -> bytes:
            made = make()
            rendering = made.encode() if isinstance(made, str) else made
            self._cache.put(key, rendering, getsizeof(rendering) + _ENTRY_SIZE)
            return rendering

        return await self.shared(key, kept_then, requester)

    async def run(self, work: Callable[[], T], requester: str) -> T:
        """What `work` returns; it is done for this request alone."""
        return await self.shared(object(), work, requester)

    async def report(self, path: str, requester: str) -> Response:
        """The report of a journal: the very page that `debate report` writes."""
        key = ("report", folder.version(path))
        return standalone_page(await self.get(key, lambda: api.render(path, "html"), requester))

    async def shared(self, key: Hashable, work: Callable[[], T], requester: str) -> T:
        """What `work` returns. It is done once for all who ask with that key until it is done."""
        if self._waiting[requester] >= _MAX_WAITING and requester != THIS_USER:
            hint = "the same again in some seconds"
            raise HTTPException(429, with_hint("Too many requests of yours wait at once.", hint))
        if key not in self._requests:
            pending = asyncio.get_running_loop().create_future()
            pending.add_done_callback(_look_at)
            self._requests[key] = _Request(work, pending)
        request = self._requests[key]
        if not request.begun:
            attempt = asyncio.ensure_future(self._do(key, request, requester))
            request.tries.add(attempt)
        self._waiting[requester] += 1
        try:
            result: T = await asyncio.shield(request.result)
            return result
        finally:
            self._waiting[requester] -= 1
            if not self._waiting[requester]:
                del self._waiting[requester]
            if not request.begun:
                attempt.cancel()
                request.tries.remove(attempt)
                if not request.tries:
                    del self._requests[key]

    async def ended(self) -> None:
        """Waits, up to `SHUTDOWN_SECONDS`, for what is under way: it may write files of the working folder."""
        if self._working:
            await asyncio.wait(self._working, timeout=SHUTDOWN_SECONDS)

    def close(self) -> None:
        """Starts nothing more."""
        for threads in (self._threads, self._own_threads):
            threads.pool.shutdown(wait=False)

    async def _do(self, key: Hashable, request: _Request, requester: str) -> None:
        """Does the work as soon as nothing else is done for this requester and a thread is free, unless it is begun for
        another who waits for it too."""
        is_dashboard = requester == THIS_USER
        threads = self._own_threads if is_dashboard else self._threads
        alone = nullcontext() if is_dashboard else self._locks.setdefault(requester, asyncio.Lock())
        async with alone, threads.free:
            request.begun = True
            for other in request.tries - {asyncio.current_task()}:
                other.cancel()
            try:
                done = asyncio.get_running_loop().run_in_executor(threads.pool, request.work)
                self._working.add(done)
                done.add_done_callback(self._working.discard)
                request.result.set_result(await asyncio.shield(done))
            except (Exception, asyncio.CancelledError) as error:
                request.result.set_exception(error)
            finally:
                del self._requests[key]
