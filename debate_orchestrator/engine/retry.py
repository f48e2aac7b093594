"""How long to wait after trouble, and when to stop: back-off with jitter, within a bounded time.

Waiting costs nothing and asking again may, so the waits double, and no two callers that were refused
together come back together. What a provider asks for is honoured, unless it is more than what is left
of the patience: then the debate is paused at once, since nobody should watch a sleeping program.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from debate_orchestrator.util.errors import TransientError

FIRST = 1.0
"""Seconds of the first wait, before jitter."""
LONGEST = 60.0


def delay(
    attempt: int, spent: float, patience: float, after: float | None, chance: Callable[[], float]
) -> float | None:
    """Seconds to wait before asking again; None where it is time to stop.

    `attempt` counts the failures in a row from 1, `spent` is the seconds since the first of them, `after` is
    what the provider asked for, `chance` draws from 0 to 1.
    """
    jitter = chance()
    delay = min(FIRST * 2 ** min(attempt - 1, 16), LONGEST) * (0.5 + jitter / 2)
    delay = min(delay, patience / 4)  # a short patience still tries more than once
    if after is not None:
        delay = max(after * (1 + jitter / 10), delay)
    return delay if spent + delay <= patience else None


def next_delay(trouble: TransientError, failures: int, spent: float, patience: float) -> float | None:
    """Seconds until a call in trouble is made again; None where it is time to stop: as `wait`, within what the trouble
    itself allows."""
    if trouble.tries is not None and failures >= trouble.tries:
        return None
    whole = patience if trouble.patience is None else min(patience, trouble.patience)
    return delay(failures, spent, whole, trouble.after, random_share)


def random_share() -> float:
    """From 0 to 1. It decides when somebody is asked again, and never what is said or heard."""
    return random.random()
