"""Threads: a pool in which debates alone are saved and rendered, and daemon threads for work that may never end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from threading import Thread, Timer
from typing import TypeVar

SHUTDOWN_SECONDS = 30.0
"""Seconds that shutdown waits for files that are being written."""
EXIT_SECONDS = SHUTDOWN_SECONDS + 5
"""Seconds after which a server that shuts down exits, whatever still runs."""
T = TypeVar("T")
_POOL_SIZE = 16
"""Threads in the pool. Many debates may wait for the disk at the same time; a waiting one needs no processor."""


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_POOL_SIZE, "debates")


if hasattr(os, "register_at_fork"):  # a process that was forked has the pool, but none of its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


async def in_debate_pool(work: Callable[[], T]) -> T:
    """Returns the result of `work`, which runs in the pool of debates, in the context of the task. `asyncio.to_thread`
    shares its threads with providers, users' functions and host look-ups; those that never end would block every
    debate."""
    return await asyncio.get_running_loop().run_in_executor(_pool(), copy_context().run, work)


async def in_debate_pool_to_end(work: Callable[[], T]) -> T:
    """As `in_debate_pool`, for work that writes files. A thread can't be cancelled: a task that is cancelled meanwhile
    ends once the work is done, or after `SHUTDOWN_SECONDS`, and what the work uses stays open until then."""
    working = asyncio.ensure_future(in_debate_pool(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        if not (await asyncio.wait([working], timeout=SHUTDOWN_SECONDS))[0]:
            raise
        return working.result()


def in_daemon_thread(work: Callable[[], T]) -> Future[T]:
    """Starts `work` in a daemon thread of its own; the future gets what it returns or raises. No other work waits for
    it, and the process can exit while it runs."""
    coming: Future[T] = Future()
    coming.set_running_or_notify_cancel()

    def run() -> None:
        try:
            coming.set_result(work())
        except BaseException as error:  # it belongs to the caller of `result`
            coming.set_exception(error)

    Thread(target=run, name="background", daemon=True).start()
    return coming


async def in_own_thread(work: Callable[[], T]) -> T:
    """The result of `work`, which writes nothing, in the task's context: the process can exit while it runs."""
    return await asyncio.wrap_future(in_daemon_thread(partial(copy_context().run, work)))


def exit_in_time(code: int, last_words: Callable[[], None]) -> None:
    """Ends this process with that exit code after `EXIT_SECONDS`, unless it has ended by then. Python waits for the
    threads of all pools, and no thread can be ended: one may render for minutes, or hang in a disk. Journals and
    reports are whole even so, as after a `kill -9`."""

    def exit_now() -> None:
        with suppress(Exception):
            in_daemon_thread(last_words).result(1)  # a full pipe that is not read would block it
        os._exit(code)

    timer = Timer(EXIT_SECONDS, exit_now)
    timer.daemon = True
    timer.start()
