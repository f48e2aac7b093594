"""The retry loop for provider calls: exponential back-off with jitter, within a bounded time.

A wait costs nothing and another call may, so waits double. The jitter keeps callers that were refused together from
coming back together. A wait that the provider asks for is honoured. If it is longer than the time left, the loop
gives up at once instead of sleeping through it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from debate_orchestrator.util.errors import ExternalError, TransientError

FIRST = 1.0
"""Seconds of the first wait, before jitter."""
LONGEST = 60.0
"""Seconds of the longest wait, unless the provider asks for more."""

Result = TypeVar("Result")


async def call_with_retry(
    call: Callable[[], Awaitable[Result]],
    retry_for: float,
    *,
    before: Callable[[], Awaitable[bool]] | None = None,
    on_failure: Callable[[ExternalError, float | None], Awaitable[None]],
    stop: asyncio.Event | None = None,
) -> Result | None:
    """The result of `call`, which is made again after a TransientError; None if `stop` was set before it succeeded.

    `before` runs ahead of each call; what it raises ends the loop, and so does False. `on_failure` gets each failure of
    the call with the seconds until the next one, or None for the last failure. The last failure is then raised, unless
    `on_failure` raised another error in its place. `retry_for` is in seconds, counted from the first failure.
    """
    stop = stop or asyncio.Event()
    failures, since = 0, 0.0
    while not stop.is_set():
        if before is not None and not await before():
            return None
        try:
            return await call()
        except ExternalError as failure:
            wait = None
            if isinstance(failure, TransientError):
                failures += 1
                since = time.monotonic() if failures == 1 else since
                wait = next_delay(failure, failures, time.monotonic() - since, retry_for)
            await on_failure(failure, wait)
            if wait is None:
                raise
        try:
            await asyncio.wait_for(stop.wait(), wait)
        except TimeoutError:
            pass
    return None


def next_delay(
    trouble: TransientError, failures: int, spent: float, retry_for: float, chance: Callable[[], float] = random.random
) -> float | None:
    """Seconds to wait before the next call; None when it is time to give up, by the debate's limit or the error's own.

    `failures` counts those in a row, `spent` is the seconds since the first of them, `chance` draws from 0 to 1: it
    decides when a call is made again, and never what is heard.
    """
    if trouble.tries is not None and failures >= trouble.tries:
        return None
    limit = retry_for if trouble.retry_for is None else min(retry_for, trouble.retry_for)
    jitter = chance()
    # The exponent is capped because 2.0**1024 overflows; a debate may be left in trouble for days.
    seconds = min(FIRST * 2 ** min(failures - 1, 16), LONGEST) * (0.5 + jitter / 2)
    seconds = min(seconds, limit / 4)  # with little time there is still more than one attempt
    if trouble.after is not None:
        seconds = max(trouble.after * (1 + jitter / 10), seconds)
    return seconds if spent + seconds <= limit else None
