"""The signals that ask this process to end. The command line needs them before it imports asyncio.

`Interrupts` raises KeyboardInterrupt; `LoopInterrupts` ends what runs in an event loop, in two steps. A signal that
follows another within a second counts for neither: a program that starts this one passes on the Ctrl-C that the
terminal sent to both. The second would end what the first has begun, such as a wait for replies that are paid for, or
the sentence on what is saved.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


def termination_signals() -> list[signal.Signals]:
    """SIGTERM, and SIGHUP, as of a closed terminal, if the system has it and it is not ignored, as by `nohup`."""
    hangup = [signal.SIGHUP] if hasattr(signal, "SIGHUP") else []
    return [signal.SIGTERM, *(signum for signum in hangup if signal.getsignal(signum) is not signal.SIG_IGN)]


def in_main_thread() -> bool:
    """Whether this thread may handle signals: Python lets no other do it."""
    return threading.current_thread() is threading.main_thread()


_REPEAT_SECONDS = 1.0
"""Signals that follow sooner are one."""


class _LastSignal:
    """The signal that was heeded last in this process."""

    def __init__(self) -> None:
        self._time, self._is_final = -math.inf, False

    def is_repeated(self, *, is_final: bool = False) -> bool:
        """Whether a signal that has come now is that one once more. If not, it is the last one from now on. One that is
        final, such as SIGTERM, repeats none that is not."""
        now = time.monotonic()
        if now - self._time < _REPEAT_SECONDS and self._is_final >= is_final:
            return True
        self._time, self._is_final = now, is_final
        return False


_last_signal = _LastSignal()


class Interrupts:
    """A handler of signals that raises KeyboardInterrupt until `is_ending` is set. It can be set without a call, as the
    first statement of an `except` block: Python handles no signal before it."""

    is_loading = False
    """Set while modules are imported: a KeyboardInterrupt crashes some extension modules. Nothing can be lost
    yet, so a signal ends the process."""
    is_ending = False

    def __call__(self, *_: object) -> None:
        if self.is_loading:
            try:
                os.write(2, b"debate: interrupted.\n")
            finally:
                os._exit(130)
        if not self.is_ending and not _last_signal.is_repeated():
            raise KeyboardInterrupt


class LoopInterrupts:
    """A handler of signals for what runs in an event loop. The first Ctrl-C asks it to stop, so that replies under way,
    which are paid for, come in; the second one, SIGTERM and SIGHUP cancel it."""

    came = False
    """Whether a signal has come."""
    _act: Callable[[bool], object] | None = None

    def __call__(self, signum: int, *_: object) -> None:
        is_final = signum != signal.SIGINT
        if not _last_signal.is_repeated(is_final=is_final):
            self.came = True
            if self._act is not None:
                self._act(is_final)

    @contextmanager
    def acting(self, cancel: Callable[[], object], stop: Callable[[], bool | None] | None = None) -> Iterator[None]:
        """Calls `stop` and `cancel` in the running event loop while the block runs. Without `stop`, every signal
        cancels. `stop` returns False where a Ctrl-C is not for this program, and does not count."""
        import asyncio

        loop, was_asked = asyncio.get_running_loop(), False

        def act(is_final: bool) -> None:
            nonlocal was_asked
            if stop is None or is_final or was_asked:
                cancel()
            else:
                was_asked = stop() is not False

        self._act = lambda is_final: loop.call_soon_threadsafe(act, is_final)
        try:
            yield
        finally:
            self._act = None


def interrupt_signals() -> list[signal.Signals]:
    """Those of SIGINT, SIGTERM and SIGHUP that interrupt this program now: others are ignored, or end the process."""
    handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, *termination_signals())}
    raising = signal.default_int_handler
    kinds = Interrupts | LoopInterrupts
    return [signum for signum, handler in handlers.items() if handler is raising or isinstance(handler, kinds)]


@contextmanager
def handled_by(handler: Any, signums: Iterable[signal.Signals]) -> Iterator[None]:
    """Handles these signals by `handler` while the block runs (main thread only), then restores their handlers."""
    before = {signum: signal.getsignal(signum) for signum in signums} if in_main_thread() else {}
    try:
        for signum in before:
            signal.signal(signum, handler)
        yield
    finally:
        for signum, earlier in before.items():
            signal.signal(signum, earlier)


@contextmanager
def interrupts_acting(
    cancel: Callable[[], object], stop: Callable[[], bool | None] | None = None
) -> Iterator[LoopInterrupts]:
    """Handles what interrupts this program as `LoopInterrupts.acting` does while the block runs, in an event loop."""
    interrupts = LoopInterrupts()
    with interrupts.acting(cancel, stop), handled_by(interrupts, interrupt_signals()):
        yield interrupts


@contextmanager
def deferred() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP that arrive within the block, which must be short, take effect when it has ended."""
    came = list[int]()
    try:
        with handled_by(lambda number, _: came.append(number), [signal.SIGINT, *termination_signals()]):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])
