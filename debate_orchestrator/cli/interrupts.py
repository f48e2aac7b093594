"""Ctrl-C waits for the replies under way, which are paid for; SIGTERM and SIGHUP end at once, and keep what had come of
them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from debate_orchestrator.cli.output import print_status
from debate_orchestrator.util.coroutines import STOPPING
from debate_orchestrator.util.messages import Tell
from debate_orchestrator.util.signals import terminating


@contextmanager
def handled_signals(interrupted: Callable[[], None], terminated: Callable[[], None]) -> Iterator[None]:
    """Calls `interrupted` in the running event loop for each SIGINT, and `terminated` for each SIGTERM and
    SIGHUP, instead of ending the process. Afterwards the signals do again what they did before."""
    # The loop's own `remove_signal_handler` sets a default first, with which such a signal would end the process.
    loop, before = asyncio.get_running_loop(), {}
    handlers = {signal.SIGINT: interrupted} | dict.fromkeys(terminating(), terminated)
    for number, handle in handlers.items():
        before[number] = signal.signal(number, lambda *_, handle=handle: loop.call_soon_threadsafe(handle))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interruption:
    """Whether the user has interrupted what runs."""

    came = False


@contextmanager
def graceful_stop(
    stop: Callable[[], None], cancel: Callable[[], None], message: str = STOPPING, tell: Tell = print_status
) -> Iterator[Interruption]:
    """The first Ctrl-C is answered with `message`, and calls `stop`, which starts nothing more. The second one,
    SIGTERM and SIGHUP call `cancel`, which cancels running calls."""
    interruption = Interruption()

    def interrupted() -> None:
        again, interruption.came = interruption.came, True
        if again:
            cancel()
        else:
            tell(message)
            stop()

    def terminated() -> None:
        interruption.came = True
        cancel()

    with handled_signals(interrupted, terminated):
        yield interruption


@contextmanager
def graceful_stop_of_calls(stop: asyncio.Event, message: str = STOPPING) -> Iterator[Interruption]:
    """As `graceful_stop`, for calls that the running task awaits. The first Ctrl-C sets `stop`; the second one, SIGTERM
    and SIGHUP also cancel the task, and the block ends."""
    task = asyncio.current_task()

    def cancel() -> None:
        stop.set()
        if task:
            task.cancel()

    with graceful_stop(stop.set, cancel, message) as interruption, suppress(asyncio.CancelledError):
        yield interruption
