"""Ends what a test has started and all that it started in turn, so that nothing is waited for without end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Where it takes longer, every process that this one has started is killed: who waits for one hears that it ended,
    and fails. For waits that have no end of their own."""
    timer = threading.Timer(seconds, lambda: kill(started_by(os.getpid())))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def kill(processes: list[int]) -> None:
    """Kills these, as far as they are still there."""
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def started_by(process: int) -> list[int]:
    """The processes that one has started, with those that these have started, the youngest last."""
    parents = _parents()
    found = [process]
    for one in found:
        found += sorted(child for child, parent in parents.items() if parent == one)
    return found[1:]


def _parents() -> dict[int, int]:
    """Every process to the one that started it; none if the system does not say."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            about = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            parents[int(entry.name)] = int(about.rpartition(")")[2].split()[1])
    return parents
