"""Ctrl-C, SIGTERM and SIGHUP during calls: the first lets running calls finish, the next cancels them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from debate_orchestrator.cli.output import print_status
from debate_orchestrator.util.coroutines import STOPPING
from debate_orchestrator.util.messages import Notify
from debate_orchestrator.util.signals import handled_by, terminating


@contextmanager
def handled_signals(interrupted: Callable[[], None], terminated: Callable[[], None]) -> Iterator[None]:
    """Calls `interrupted` in the running event loop for each SIGINT, and `terminated` for each SIGTERM and
    SIGHUP, instead of ending the process. Restores the previous handlers at the end."""
    # The loop's own `remove_signal_handler` sets a default first, with which such a signal would end the process.
    loop = asyncio.get_running_loop()
    callbacks = {signal.SIGINT: interrupted} | dict.fromkeys(terminating(), terminated)

    def handle(number: int, _: object) -> None:
        loop.call_soon_threadsafe(callbacks[signal.Signals(number)])

    with handled_by(handle, callbacks):
        yield


class Interruption:
    """Whether the user has asked to stop what runs."""

    requested = False


@contextmanager
def graceful_stop(
    stop: Callable[[], None], cancel: Callable[[], None], message: str = STOPPING, notify: Notify = print_status
) -> Iterator[Interruption]:
    """The first Ctrl-C is answered with `message`, and calls `stop`, which starts nothing more. The second one,
    SIGTERM and SIGHUP call `cancel`, which cancels running calls."""
    interruption = Interruption()

    def interrupted() -> None:
        second_interrupt, interruption.requested = interruption.requested, True
        if second_interrupt:
            cancel()
        else:
            notify(message)
            stop()

    def terminated() -> None:
        interruption.requested = True
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
