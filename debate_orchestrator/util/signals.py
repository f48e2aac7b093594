"""The signals that ask this process to end. The command line needs them before it imports asyncio."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


def terminating() -> list[signal.Signals]:
    """SIGTERM, and SIGHUP, as of a closed terminal, if the system has it and it is not ignored, as by `nohup`."""
    hangup = [signal.SIGHUP] if hasattr(signal, "SIGHUP") else []
    return [signal.SIGTERM, *(signum for signum in hangup if signal.getsignal(signum) is not signal.SIG_IGN)]


def in_main_thread() -> bool:
    """Whether this thread may handle signals: Python lets no other do it."""
    return threading.current_thread() is threading.main_thread()


_REPEAT_SECONDS = 1.0
"""Signals that follow sooner are one: a program that starts this one passes on the Ctrl-C that the terminal sent to
both. The second would end what the first has begun, such as the sentence on what is saved."""


class Interrupts:
    """A handler of signals that raises KeyboardInterrupt until `is_ending` is set. It can be set without a call, as the
    first statement of an `except` block: Python handles no signal before it."""

    is_loading = False
    """Set while modules are imported: a KeyboardInterrupt crashes some extension modules. Nothing can be lost
    yet, so a signal ends the process."""
    is_ending = False
    _raised_at = -_REPEAT_SECONDS

    def __call__(self, *_: object) -> None:
        if self.is_loading:
            try:
                os.write(2, b"debate: interrupted.\n")
            finally:
                os._exit(130)
        now = time.monotonic()
        if not self.is_ending and now - self._raised_at >= _REPEAT_SECONDS:
            self._raised_at = now
            raise KeyboardInterrupt


def interrupting() -> list[signal.Signals]:
    """Those of SIGINT, SIGTERM and SIGHUP that raise KeyboardInterrupt now."""
    handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, *terminating())}
    raising = signal.default_int_handler
    return [signum for signum, handler in handlers.items() if handler is raising or isinstance(handler, Interrupts)]


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
def deferred() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP that arrive within the block, which must be short, take effect when it has ended."""
    came = list[int]()
    try:
        with handled_by(lambda number, _: came.append(number), [signal.SIGINT, *terminating()]):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])
