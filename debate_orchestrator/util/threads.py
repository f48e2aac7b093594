"""Threads for the work of debates alone: what is saved, and what is shown of them; and for work that may never end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from threading import Thread
from typing import TypeVar

ENDING_SECONDS = 30.0
"""Seconds for which what ends waits for files that are being written."""
T = TypeVar("T")
_AT_ONCE = 16
"""Threads: many debates may wait for the disk at once, and none of them needs the processor meanwhile."""


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, "debates")


if hasattr(os, "register_at_fork"):  # a process that was forked has the pool, but none of its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


async def in_own_thread(work: Callable[[], T]) -> T:
    """What `work` returns, in the context of the task. `asyncio.to_thread` shares its threads with providers, functions
    of users and look-ups of hosts: those that never end would hold up every debate."""
    return await asyncio.get_running_loop().run_in_executor(_pool(), copy_context().run, work)


async def to_its_end(work: Callable[[], T]) -> T:
    """As `in_own_thread`, for work that writes files. A thread can't be cancelled: a task that is cancelled meanwhile
    ends once the work is done, or after `ENDING_SECONDS`, and what the work uses stays open until then."""
    working = asyncio.ensure_future(in_own_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        if not (await asyncio.wait([working], timeout=ENDING_SECONDS))[0]:
            raise
        return working.result()


def in_background(work: Callable[[], T]) -> Future[T]:
    """What `work` will return or raise, from a thread of its own. Neither other work nor a process that ends waits for
    it."""
    coming: Future[T] = Future()
    coming.set_running_or_notify_cancel()

    def run() -> None:
        try:
            coming.set_result(work())
        except BaseException as error:  # it belongs to the caller of `result`
            coming.set_exception(error)

    Thread(target=run, name="background", daemon=True).start()
    return coming
