"""The queue of a public site: which of its debates run, which wait, and which are tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from debate_orchestrator.util.errors import JournalWriteError, OverBudget, Paused
from debate_orchestrator.web.live import Viewers
from debate_orchestrator.web.runs import Run, Runs, consent_already_given

RETRY_SECONDS = 900.0
"""Seconds until a debate that was paused by a failure outside goes on."""


class StartQueue:
    """Runs at most `concurrency` debates, in the order in which they came; at most `most` others wait."""

    def __init__(self, runs: Runs, concurrency: int, most: int, ended: Callable[[Run], None]):
        """`ended` is called with each run that has ended, unless the server ends."""
        self._runs, self._concurrency, self._most, self._on_end = runs, concurrency, most, ended
        self._waiting: dict[str, Viewers] = {}
        self._running: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._closed = False
        self.starting = 0
        """Debates that are being opened, and have their place already."""

    @property
    def full(self) -> bool:
        return len(self._waiting) + self.starting >= self._most + max(0, self._concurrency - len(self._running))

    def add(self, path: str) -> None:
        """Runs a debate as soon as there is room."""
        if path not in self._waiting and path not in self._running:
            self._waiting[path] = Viewers()
        self._fill()

    def viewers(self, path: str) -> Viewers | None:
        """Those who wait for a debate to begin; None where it does not wait."""
        return self._waiting.get(path)

    def place(self, path: str) -> int:
        """Its place among those that wait, from 1; 0 where it does not wait. Threads may ask too."""
        return next((n for n, waiting in enumerate(list(self._waiting), start=1) if waiting == path), 0)

    def goes_on(self, path: str) -> bool:
        """Whether a debate that failed is tried again by itself."""
        return path in self._timers

    def close(self) -> None:
        """Starts nothing more."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        for viewers in self._waiting.values():
            viewers.close()

    def _fill(self) -> None:
        moved = False
        while self._waiting and len(self._running) < self._concurrency and not self._closed:
            path = next(iter(self._waiting))
            waited = self._waiting.pop(path)
            self._running.add(path)
            run = self._runs.start(path, consent_already_given)
            run.task.add_done_callback(partial(self._ended, run))
            waited.broadcast("over", {})  # pages then load the debate itself
            waited.close()
            moved = True
        if moved:
            for viewers in self._waiting.values():
                viewers.broadcast("moved", {})

    def _ended(self, run: Run, task: object) -> None:
        self._running.discard(run.path)
        if self._closed:
            return
        if isinstance(run.failure, Paused | JournalWriteError) and not isinstance(run.failure, OverBudget):
            loop = asyncio.get_running_loop()
            self._timers[run.path] = loop.call_later(RETRY_SECONDS, self._again, run.path)
        self._on_end(run)
        self._fill()

    def _again(self, path: str) -> None:
        self._timers.pop(path, None)
        self.add(path)
