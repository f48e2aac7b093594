"""The queue of a public site: which of its debates run, which wait, and which are tried again."""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from debate_orchestrator.util.errors import JournalWriteError, OverBudget, Paused
from debate_orchestrator.web.live import Viewers
from debate_orchestrator.web.runs import ServedDebate, ServedDebates, consent_already_given

RETRY_SECONDS = (60.0, 300.0, 900.0, 3600.0)
"""Seconds until a debate that was paused by a failure goes on, after the first failure, the second, and so on."""
_DURATIONS = 50
"""Debates whose time is remembered, to say how long others wait."""


class StartQueue:
    """Runs at most `concurrency` debates, in the order in which they came; at most `max_waiting` others wait."""

    def __init__(
        self, served_debates: ServedDebates, concurrency: int, max_waiting: int, on_end: Callable[[ServedDebate], None]
    ):
        """`on_end` is called with each run that has ended, unless the server ends."""
        self._served_debates = served_debates
        self._concurrency = concurrency
        self._max_waiting = max_waiting
        self._on_end = on_end
        self._waiting: dict[str, Viewers] = {}
        self._running: set[str] = set()
        self._retries: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._durations: deque[float] = deque(maxlen=_DURATIONS)
        self._closed = False
        self.starting = 0
        """Debates that are being opened, and have their place already."""

    @property
    def full(self) -> bool:
        return len(self._waiting) + self.starting >= self._max_waiting + max(0, self._concurrency - len(self._running))

    def add(self, path: str) -> None:
        """Runs a debate as soon as there is room."""
        if path not in self._waiting and path not in self._running:
            self._waiting[path] = Viewers()
        self._fill()

    def viewers(self, path: str) -> Viewers | None:
        """Those who wait for a debate to begin; None if it does not wait."""
        return self._waiting.get(path)

    def queue_position(self, path: str) -> int:
        """Its position in the queue, from 1; 0 if it does not wait. Threads may ask too."""
        return next((n for n, waiting in enumerate(list(self._waiting), start=1) if waiting == path), 0)

    def wait_seconds(self, queue_position: int) -> float | None:
        """About how long a debate at this position waits; None before any debate has ended here."""
        if not self._durations:
            return None
        return math.ceil(queue_position / self._concurrency) * statistics.median(self._durations)

    def retry_seconds(self, path: str) -> float | None:
        """Seconds until a debate that failed goes on; None if it does not."""
        timer = self._timers.get(path)
        return None if timer is None else max(0.0, timer.when() - asyncio.get_running_loop().time())

    def given_up(self, path: str) -> bool:
        """Whether a debate has failed as often as it is tried."""
        tries_left = self._retries.get(path, 0) < len(RETRY_SECONDS)
        return not (tries_left or path in self._timers or path in self._waiting or path in self._running)

    def close(self) -> None:
        """Starts nothing more."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        for viewers in self._waiting.values():
            viewers.close()

    def _fill(self) -> None:
        has_changed = False
        while self._waiting and len(self._running) < self._concurrency and not self._closed:
            path = next(iter(self._waiting))
            viewers = self._waiting.pop(path)
            self._running.add(path)
            began, served = time.monotonic(), self._served_debates.start(path, consent_already_given)
            served.task.add_done_callback(partial(self._ended, served, began))
            viewers.broadcast("over", {})  # pages then load the debate itself
            viewers.close()
            has_changed = True
        if has_changed:
            for viewers in self._waiting.values():
                viewers.broadcast("moved", {})

    def _ended(self, served: ServedDebate, began: float, task: object) -> None:
        self._running.discard(served.path)
        if self._closed:
            return
        if served.failure is None:
            self._retries.pop(served.path, None)
            self._durations.append(time.monotonic() - began)
        elif isinstance(served.failure, Paused | JournalWriteError) and not isinstance(served.failure, OverBudget):
            self._retry(served.path)
        self._on_end(served)
        self._fill()

    def _retry(self, path: str) -> None:
        attempts = self._retries.get(path, 0)
        if attempts < len(RETRY_SECONDS):
            self._retries[path] = attempts + 1
            self._timers[path] = asyncio.get_running_loop().call_later(RETRY_SECONDS[attempts], self._start_again, path)

    def _start_again(self, path: str) -> None:
        self._timers.pop(path, None)
        self.add(path)
