"""Ctrl-C while answers are under way: the first stops the asking, since they are paid for; the second leaves them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPING = "Stopping: answers under way are awaited, since they are paid for. Ctrl-C again leaves them."


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Has SIGTERM do what Ctrl-C does, so that what it ends can say what is lost."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def heeded(interrupted: Callable[[], None]) -> Iterator[None]:
    """Has every interrupt of the process call that in the running loop, instead of ending it."""
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, interrupted)
    try:
        yield
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)
