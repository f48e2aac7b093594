"""Threads for the work of debates alone: what is saved, and what is shown of them; and for work that may never end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from threading import Thread, Timer
from typing import TypeVar

ENDING_SECONDS = 30.0
"""Seconds for which what ends waits for files that are being written."""
LEAVING_SECONDS = ENDING_SECONDS + 5
"""Seconds after which a server that ends leaves what still runs."""
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


def leave_in_time(code: int, last_words: Callable[[], None]) -> None:
    """Ends this process with that exit code after `LEAVING_SECONDS`, unless it has ended by then. Python waits for the
    threads of all pools, and no thread can be ended: one may render for minutes, or hang in a disk. Journals and
    reports are whole even so, as after a `kill -9`."""

    def leave() -> None:
        with suppress(Exception):
            in_background(last_words).result(1)  # a pipe that is full and not read would hold it up
        os._exit(code)

    timer = Timer(LEAVING_SECONDS, leave)
    timer.daemon = True
    timer.start()
