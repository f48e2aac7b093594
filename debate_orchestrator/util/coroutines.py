"""Coroutines: how one is run from synchronous code, threads for its work that blocks, and limits of its time.

Signals that end the program cancel the coroutine, and raise nothing in the loop.

A limit of time counts only while this process runs. It may be stopped (Ctrl-Z, a paused container) while what it waits
for comes, and a timeout of asyncio's fires as soon as it goes on, before any of that is read. So the event loop checks
its clock each second: a longer time from one check to the next counts as a second.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import cache, partial
from threading import Thread, Timer
from typing import Any, TypeVar

from debate_orchestrator.util.errors import ExternalError
from debate_orchestrator.util.messages import Notify, ignore
from debate_orchestrator.util.signals import LoopInterrupts, handled_by, in_main_thread, interrupt_signals

Result = TypeVar("Result")

STOPPING = "Stopping: waiting for running calls, since they are paid for. Press Ctrl-C again to cancel them."


def run(
    coroutine: Coroutine[Any, Any, Result],
    stop: asyncio.Event | None = None,
    notify: Notify = ignore,
    message: str = STOPPING,
) -> Result:
    """The coroutine's result, from an event loop of its own, as `asyncio.run`.

    While it runs, a signal that would raise KeyboardInterrupt cancels the coroutine instead: raised in the loop's own
    code, it would leave the loop waiting for ever. KeyboardInterrupt is raised after the loop has ended, whatever the
    coroutine has returned. Signals with another handler keep it, and so do all of them outside the main thread.

    With `stop`, the first Ctrl-C cancels nothing: it sets `stop`, on which the coroutine ends once the replies under
    way are saved, and `notify` gets the `message`. What fails after that is reported, too.
    """
    if not in_main_thread():
        return asyncio.run(coroutine)
    interrupts = LoopInterrupts()

    def ask_to_stop() -> None:
        assert stop is not None
        notify(message)
        stop.set()

    async def interruptible() -> Result:
        task = asyncio.current_task()
        assert task is not None
        with interrupts.acting(task.cancel, ask_to_stop if stop is not None else None):
            if interrupts.came:
                raise asyncio.CancelledError
            return await coroutine

    try:
        with handled_by(interrupts, interrupt_signals()):
            result = asyncio.run(interruptible())
    except asyncio.CancelledError:
        if not interrupts.came:
            raise
    except ExternalError as error:
        if stop is None or not interrupts.came:
            raise
        for problem in error.problems:
            notify(problem)
    finally:
        coroutine.close()  # where a signal came before it began
    if interrupts.came:
        raise KeyboardInterrupt
    return result


def cancel_later() -> None:
    """Puts off the cancellation that was caught: it comes where the task next waits. What is first must not wait."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    task.cancel()


# Threads: a pool in which debates alone are saved and rendered, and daemon threads for work that may never end

SHUTDOWN_SECONDS = 30.0
"""Seconds that shutdown waits for files that are being written."""
EXIT_SECONDS = SHUTDOWN_SECONDS + 5
"""Seconds after which a server that shuts down exits, whatever still runs."""
_POOL_SIZE = 16
"""Threads in the pool. Many debates may wait for the disk at the same time; a waiting one needs no processor."""


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_POOL_SIZE, "debates")


if hasattr(os, "register_at_fork"):  # a process that was forked has the pool, but none of its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


async def in_debate_pool(work: Callable[[], Result]) -> Result:
    """Returns the result of `work`, which runs in the pool of debates, in the context of the task. `asyncio.to_thread`
    shares its threads with providers, users' functions and host look-ups; those that never end would block every
    debate."""
    return await asyncio.get_running_loop().run_in_executor(_pool(), copy_context().run, work)


async def in_debate_pool_to_end(work: Callable[[], Result]) -> Result:
    """As `in_debate_pool`, for work that writes files. A thread can't be cancelled: a task that is cancelled meanwhile
    ends once the work is done, or after `SHUTDOWN_SECONDS`, and what the work uses stays open until then."""
    working = asyncio.ensure_future(in_debate_pool(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        if not (await asyncio.wait([working], timeout=SHUTDOWN_SECONDS))[0]:
            raise
        return working.result()


def in_daemon_thread(work: Callable[[], Result]) -> Future[Result]:
    """Starts `work` in a daemon thread of its own; the future gets what it returns or raises. No other work waits for
    it, and the process can exit while it runs."""
    coming: Future[Result] = Future()
    coming.set_running_or_notify_cancel()

    def run() -> None:
        try:
            coming.set_result(work())
        except BaseException as error:  # it belongs to the caller of `result`
            coming.set_exception(error)

    Thread(target=run, name="background", daemon=True).start()
    return coming


async def in_own_thread(work: Callable[[], Result]) -> Result:
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


# Limits of time

_CHECK_SECONDS = 1.0
"""Seconds between two checks of the clock, and those that are given after a stop to read what came during it."""
_LATE_SECONDS = 0.5
"""A check that is later than this shows that the process was stopped."""


class RunningTimeout:
    """The limit of a `running_timeout`, which its block may ask and put off."""

    def __init__(self, timeout: asyncio.Timeout, seconds: float):
        self._timeout, self._loop = timeout, asyncio.get_running_loop()
        self._elapsed, self._checked_at = 0.0, self._loop.time()
        self._limit = seconds
        """The elapsed seconds at which the time is over."""
        self._reading_until = 0.0
        """The elapsed seconds up to which what came during a stop is read, so that the time is not over."""
        self._next_check = self._planned_check()

    def elapsed(self) -> float:
        """The seconds that have counted so far."""
        now = self._loop.time()
        late = now - max(self._next_check.when(), self._checked_at)
        self._elapsed += min(now - self._checked_at, _CHECK_SECONDS)
        self._checked_at = now
        if late > _LATE_SECONDS and self._elapsed > self._reading_until:  # not at each check: each may be late
            self._reading_until = self._elapsed + _CHECK_SECONDS
        return self._elapsed

    def is_over(self) -> bool:
        """Whether the time is over, which it is not right after a stop."""
        return self._left(self.elapsed()) < 1e-6  # the loop's timers are as exact as its clock

    def reschedule(self, seconds: float) -> None:
        """Gives it so many seconds from now."""
        self._limit = self.elapsed() + seconds
        if self._checked_at + self._left(self._elapsed) < self._next_check.when():
            self.cancel()
            self._next_check = self._planned_check()

    def cancel(self) -> None:
        """Stops checking the clock."""
        self._next_check.cancel()

    def _left(self, elapsed: float) -> float:
        return max(self._limit, self._reading_until) - elapsed

    def _planned_check(self) -> asyncio.TimerHandle:
        return self._loop.call_at(self._checked_at + min(self._left(self._elapsed), _CHECK_SECONDS), self._check)

    def _check(self) -> None:
        if self._timeout.expired():  # its task may take a while to end
            return
        if self.is_over():
            self._timeout.reschedule(self._loop.time())
        else:
            self._next_check = self._planned_check()


@asynccontextmanager
async def running_timeout(seconds: float) -> AsyncIterator[RunningTimeout]:
    """As `asyncio.timeout`, for seconds in which this process runs; `math.inf` for no limit."""
    async with asyncio.timeout(None) as timeout:
        running = RunningTimeout(timeout, seconds)
        try:
            yield running
        finally:
            running.cancel()
