"""Limits of time that count only while this process runs.

A process may be stopped (Ctrl-Z, a paused container) while what it waits for comes. A timeout of asyncio's fires as
soon as the process goes on, before any of that is read. No clock leaves that time out, so the event loop looks at its
clock each second: a longer time from one look to the next counts as a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_LOOK_SECONDS = 1.0
"""Seconds between two looks at the clock, and those that are given after a stop to read what came during it."""
_LATE_SECONDS = 0.5
"""A look that is later than this shows that the process was stopped."""


class RunningTimeout:
    """The time of what runs in `running_timeout`."""

    def __init__(self, timeout: asyncio.Timeout, seconds: float):
        self._timeout, self._loop = timeout, asyncio.get_running_loop()
        self._elapsed, self._looked_at = 0.0, self._loop.time()
        self._limit = seconds
        """The elapsed seconds at which the time is over."""
        self._reading_until = 0.0
        """The elapsed seconds up to which what came during a stop is read, so that the time is not over."""
        self._look_planned = self._planned_look()

    def elapsed(self) -> float:
        """The seconds that have counted so far."""
        now = self._loop.time()
        late = now - max(self._look_planned.when(), self._looked_at)
        self._elapsed += min(now - self._looked_at, _LOOK_SECONDS)
        self._looked_at = now
        if late > _LATE_SECONDS and self._elapsed > self._reading_until:  # not at each look: each may be late
            self._reading_until = self._elapsed + _LOOK_SECONDS
        return self._elapsed

    def is_over(self) -> bool:
        """Whether the time is over, which it is not right after a stop."""
        return self._left(self.elapsed()) < 1e-6  # the loop's timers are as exact as its clock

    def reschedule(self, seconds: float) -> None:
        """Gives it so many seconds from now."""
        self._limit = self.elapsed() + seconds
        if self._looked_at + self._left(self._elapsed) < self._look_planned.when():
            self.cancel()
            self._look_planned = self._planned_look()

    def cancel(self) -> None:
        """Ends the looks at the clock."""
        self._look_planned.cancel()

    def _left(self, elapsed: float) -> float:
        return max(self._limit, self._reading_until) - elapsed

    def _planned_look(self) -> asyncio.TimerHandle:
        return self._loop.call_at(self._looked_at + min(self._left(self._elapsed), _LOOK_SECONDS), self._look)

    def _look(self) -> None:
        if self._timeout.expired():  # its task may take a while to end
            return
        if self.is_over():
            self._timeout.reschedule(self._loop.time())
        else:
            self._look_planned = self._planned_look()


@asynccontextmanager
async def running_timeout(seconds: float) -> AsyncIterator[RunningTimeout]:
    """As `asyncio.timeout`, for seconds in which this process runs; `math.inf` for no limit."""
    async with asyncio.timeout(None) as timeout:
        running = RunningTimeout(timeout, seconds)
        try:
            yield running
        finally:
            running.cancel()
