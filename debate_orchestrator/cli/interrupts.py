"""Ctrl-C and SIGTERM: the first one stops new calls and waits for those under way, which are paid for."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPING = "Stopping: answers under way are awaited, since they are paid for. Ctrl-C again leaves them."


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Makes SIGTERM raise KeyboardInterrupt, so that the caller can say what was lost."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def heeded(interrupted: Callable[[], None]) -> Iterator[None]:
    """Calls `interrupted` in the running event loop for each SIGINT and SIGTERM, instead of ending the process."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupted)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
