"""Runs coroutines from synchronous code, so that signals that end the program cancel them, and raise nothing in the
loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from debate_orchestrator.util.signals import terminating

Result = TypeVar("Result")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result, from an event loop of its own, as `asyncio.run`.

    While it runs, a signal that would raise KeyboardInterrupt cancels the coroutine instead: raised in the loop's own
    code, it would leave the loop waiting for ever. KeyboardInterrupt is raised after the loop has ended, whatever the
    coroutine has returned. Signals with another handler keep it, and so do all of them outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(coroutine)
    signs = (signal.SIGINT, *terminating())
    raising = [sign for sign in signs if signal.getsignal(sign) is signal.default_int_handler]
    interrupt = _Interrupt()
    try:
        for sign in raising:
            signal.signal(sign, interrupt)
        result = asyncio.run(interrupt.cancelling(coroutine))
    except asyncio.CancelledError:
        if not interrupt.came:
            raise
    finally:
        coroutine.close()  # where a signal came before it began
        for sign in raising:
            signal.signal(sign, signal.default_int_handler)
    if interrupt.came:
        raise KeyboardInterrupt
    return result


def cancel_later() -> None:
    """Puts off the cancellation that the running task has caught: it comes again where the task next waits. What is
    to be done first must not wait."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    task.cancel()


class _Interrupt:
    """A signal handler that cancels one task."""

    def __init__(self) -> None:
        self.came = False
        self._task: asyncio.Task[Any] | None = None

    def __call__(self, *_: object) -> None:
        self.came = True
        if self._task is not None:
            self._task.cancel()
            self._task.get_loop().call_soon_threadsafe(lambda: None)  # wakes a loop that waits

    async def cancelling(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """The coroutine's result; CancelledError once a signal has come."""
        self._task = asyncio.current_task()
        try:
            if self.came:
                raise asyncio.CancelledError
            return await coroutine
        finally:
            self._task = None
