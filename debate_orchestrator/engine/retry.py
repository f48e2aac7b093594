"""Retries failed provider calls: after waits that double, within a bounded time.

A wait costs nothing and another call may, so waits between calls double. The jitter keeps callers that were throttled
together from coming back together. A wait that the provider asks for is honoured. If it is longer than the time left,
the caller gives up at once instead of sleeping through it.
"""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from debate_orchestrator.util.coroutines import RunningTimeout, running_timeout
from debate_orchestrator.util.errors import ExternalError, TransientError

INITIAL_WAIT = 1.0
"""Seconds of the first wait, before jitter."""
MAX_WAIT = 60.0
"""Seconds of the longest wait, unless the provider asks for more."""


class Retries:
    """The failures of one call in a row, made by `bounded_retries`."""

    def __init__(self, retry_for: float, clock: RunningTimeout):
        self._retry_for, self._clock = retry_for, clock
        self._failures, self._since = 0, 0.0

    def next_wait(self, failure: ExternalError) -> float | None:
        """Seconds to wait before the next call; None if the call is not made again."""
        if not isinstance(failure, TransientError):
            return None
        self._failures += 1
        if self._failures == 1:
            self._since = self._clock.elapsed()
        return next_delay(failure, self._failures, self._clock.elapsed() - self._since, self._retry_for)


@asynccontextmanager
async def bounded_retries(retry_for: float) -> AsyncIterator[Retries]:
    """The retries of one call, for so many seconds from its first failure in which this process runs."""
    async with running_timeout(math.inf) as clock:
        yield Retries(retry_for, clock)


def next_delay(
    error: TransientError, failures: int, spent: float, retry_for: float, chance: Callable[[], float] = random.random
) -> float | None:
    """Seconds to wait before the next call; None when it is time to give up, by the debate's limit or the error's own.
    `failures` counts those in a row, `spent` is the seconds since the first of them, `chance` draws from 0 to 1: it
    decides when a call is made again, and never what is heard."""
    if error.tries is not None and failures >= error.tries:
        return None
    limit = retry_for if error.retry_for is None else min(retry_for, error.retry_for)
    jitter = chance()
    # The exponent is capped because 2.0**1024 overflows; a debate may be left to retry for days.
    seconds = min(INITIAL_WAIT * 2 ** min(failures - 1, 16), MAX_WAIT) * (0.5 + jitter / 2)
    seconds = min(seconds, limit / 4)  # with little time there is still more than one attempt
    if error.after is not None:
        seconds = max(error.after * (1 + jitter / 10), seconds)
    return seconds if spent + seconds <= limit else None
