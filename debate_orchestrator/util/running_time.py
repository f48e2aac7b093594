"""Limits of time that count only while this process runs.

A process may be stopped (Ctrl-Z, a paused container) while what it waits for comes. A timeout of asyncio's fires as
soon as the process goes on, before any of that is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_LOOK_SECONDS = 1.0
"""Seconds from one look at the clock to the next, and those in which what came during a stop is read."""
_LATE_SECONDS = 0.5
"""Seconds by which a look is late where the process was stopped, or could not run for another reason."""


class RunningTimeout:
    """The time that is left to what runs in `running_timeout`."""

    def __init__(self, timeout: asyncio.Timeout, seconds: float):
        self._timeout, self._loop = timeout, asyncio.get_running_loop()
        self.stopped_seconds = 0.0
        """Seconds in which the process did not run."""
        self._deadline = self._loop.time() + seconds
        self._was_late = False
        self._look_planned = self._planned_look()

    def reschedule(self, seconds: float) -> None:
        """Gives it so many seconds from now."""
        self._deadline = self._loop.time() + seconds
        if self._deadline < self._look_planned.when():
            self._plan_look()

    def is_over(self) -> bool:
        """Whether the time is over, which it never is right after a stop."""
        now = self._loop.time()
        if (late := now - self._look_planned.when()) > _LATE_SECONDS:
            self.stopped_seconds += late
            self._deadline += late
            if not self._was_late:  # on a machine that is busy for good, looks are late for good
                self._deadline = max(self._deadline, now + _LOOK_SECONDS)
            self._was_late = True
            self._plan_look()
        return self._deadline - now < 1e-6  # the loop's timers are as exact as its clock

    def cancel(self) -> None:
        """Ends the looks at the clock."""
        self._look_planned.cancel()

    def _plan_look(self) -> None:
        self._look_planned.cancel()
        self._look_planned = self._planned_look()

    def _planned_look(self) -> asyncio.TimerHandle:
        return self._loop.call_at(min(self._deadline, self._loop.time() + _LOOK_SECONDS), self._look)

    def _look(self) -> None:
        look = self._look_planned
        if self.is_over():
            self._timeout.reschedule(self._loop.time())
        elif look is self._look_planned:
            self._was_late = False
            self._plan_look()


@asynccontextmanager
async def running_timeout(seconds: float) -> AsyncIterator[RunningTimeout]:
    """As `asyncio.timeout`, for seconds in which this process runs."""
    async with asyncio.timeout(None) as timeout:
        running = RunningTimeout(timeout, seconds)
        try:
            yield running
        finally:
            running.cancel()
