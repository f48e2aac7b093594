"""Runs coroutines from synchronous code, so that signals that end the program cancel them, and raise nothing in the
loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from debate_orchestrator.util.errors import ExternalError
from debate_orchestrator.util.messages import Notify, ignore
from debate_orchestrator.util.signals import interrupting

Result = TypeVar("Result")

STOPPING = "Stopping: waiting for running calls, since they are paid for. Press Ctrl-C again to cancel them."


def run(coroutine: Coroutine[Any, Any, Result], stop: asyncio.Event | None = None, notify: Notify = ignore) -> Result:
    """The coroutine's result, from an event loop of its own, as `asyncio.run`.

    While it runs, a signal that would raise KeyboardInterrupt cancels the coroutine instead: raised in the loop's own
    code, it would leave the loop waiting for ever. KeyboardInterrupt is raised after the loop has ended, whatever the
    coroutine has returned. Signals with another handler keep it, and so do all of them outside the main thread.

    With `stop`, the first Ctrl-C cancels nothing: it sets `stop`, on which the coroutine ends once the replies under
    way are saved, and `notify` gets a sentence. What fails after that is told, too.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(coroutine)
    raising = {signum: signal.getsignal(signum) for signum in interrupting()}
    interrupt = _Interrupt(stop, notify)
    try:
        for signum in raising:
            signal.signal(signum, interrupt)
        result = asyncio.run(interrupt.cancelling(coroutine))
    except asyncio.CancelledError:
        if not interrupt.came:
            raise
    except ExternalError as error:
        if stop is None or not interrupt.came:
            raise
        for problem in error.problems:
            notify(problem)
    finally:
        coroutine.close()  # where a signal came before it began
        for signum, handler in raising.items():
            signal.signal(signum, handler)
    if interrupt.came:
        raise KeyboardInterrupt
    return result


def cancel_later() -> None:
    """Puts off the cancellation that was caught: it comes where the task next waits. What is first must not wait."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    task.cancel()


class _Interrupt:
    """A signal handler that cancels one task; with `stop`, the first Ctrl-C asks it to stop."""

    def __init__(self, stop: asyncio.Event | None, notify: Notify) -> None:
        self.came = False
        self._stop, self._notify = stop, notify
        self._task: asyncio.Task[Any] | None = None

    def __call__(self, signum: int, *_: object) -> None:
        first, self.came = not self.came, True
        if self._task is None:
            return
        if first and signum == signal.SIGINT and self._stop is not None:
            self._task.get_loop().call_soon_threadsafe(self._ask_to_stop, self._stop)
        else:
            self._task.cancel()
            self._task.get_loop().call_soon_threadsafe(lambda: None)  # wakes a loop that waits

    def _ask_to_stop(self, stop: asyncio.Event) -> None:
        self._notify(STOPPING)
        stop.set()

    async def cancelling(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """The coroutine's result; CancelledError once a signal has come."""
        self._task = asyncio.current_task()
        try:
            if self.came:
                raise asyncio.CancelledError
            return await coroutine
        finally:
            self._task = None
