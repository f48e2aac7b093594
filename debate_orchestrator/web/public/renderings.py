"""Pages, reports and pictures of debates as they are made for visitors: each once, a few at a time, and then kept."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor

_AT_ONCE = 2
"""Renderings that are made at once in the whole site."""
_OF_A_VISITOR = 1
"""Those of them that one visitor may have; the others of this visitor wait, and hold up nobody else's."""
_KEPT = 100_000_000
"""Bytes, or characters, that are kept; with more the one that was not asked for the longest time goes."""

Rendering = str | bytes


class Renderings:
    """The renderings of one site. They have threads of their own: other requests wait for none of them."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "rendering")
        self._kept: OrderedDict[Hashable, Rendering] = OrderedDict()
        self._size = 0
        self._making: dict[Hashable, asyncio.Future[Rendering]] = {}
        self._visitors: dict[str, tuple[asyncio.Semaphore, int]] = {}

    async def get(self, key: Hashable, make: Callable[[], Rendering], visitor: str) -> Rendering:
        """What `make` returns for a key, which changes with what is rendered. Raises what it raises."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._making:
            self._making[key] = asyncio.ensure_future(self._made(key, make, visitor))
            self._making[key].add_done_callback(lambda _: self._making.pop(key))
        return await asyncio.shield(self._making[key])

    def close(self) -> None:
        """Starts nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _made(self, key: Hashable, make: Callable[[], Rendering], visitor: str) -> Rendering:
        turn, count = self._visitors.get(visitor, (asyncio.Semaphore(_OF_A_VISITOR), 0))
        self._visitors[visitor] = turn, count + 1
        try:
            async with turn:
                made = await asyncio.get_running_loop().run_in_executor(self._pool, make)
        finally:
            turn, count = self._visitors.pop(visitor)
            if count > 1:
                self._visitors[visitor] = turn, count - 1
        self._keep(key, made)
        return made

    def _keep(self, key: Hashable, made: Rendering) -> None:
        self._kept[key] = made
        self._size += len(made)
        while self._size > _KEPT:
            self._size -= len(self._kept.popitem(last=False)[1])
