"""What visitors have used of the limits: counted in memory, or in a database that several processes share."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from debate_orchestrator.util.errors import ExternalError

KEY_BYTES = 32
DAY_COST, ALL_COST = "max_cost_per_day", "max_cost"


class LimitsUnavailable(ExternalError):
    """The limits can't be looked up now, so that nothing may be started."""


class Caps(Protocol):
    """US dollars for all debates together; None for no cap."""

    @property
    def max_cost_per_day(self) -> float | None: ...
    @property
    def max_cost(self) -> float | None: ...


class Limits(Protocol):
    """Where use is counted. A `day` is YYYY-MM-DD in UTC; a debate is named by its address on the site."""

    async def admit(self, debate: str, day: str, counters: Mapping[str, int], cost: float, caps: Caps) -> str | None:
        """Counts a debate, unless a limit is reached; then nothing changes, and the name of that limit is returned.

        `counters` maps each counter of the day to the most that it may hold. `cost` is reserved for the debate, in US
        dollars, until it is settled. Raises LimitsUnavailable."""
        ...

    async def settle(self, debate: str, cost: float) -> None:
        """Replaces what is reserved for a debate by what it has cost. Raises LimitsUnavailable."""
        ...

    async def day_key(self, day: str) -> bytes:
        """The random key of a day, the same for all processes. Keys of earlier days are deleted for good."""
        ...


class MemoryLimits:
    """The limits of one process. `spent` is what its debates have cost before: debate to its day and US dollars."""

    def __init__(self, spent: Mapping[str, tuple[str, float]] | None = None):
        self._spent = dict(spent or {})
        self._day, self._counts, self._key = "", Counter[str](), b""

    def _turn_to(self, day: str) -> None:
        if day != self._day:
            self._day, self._counts, self._key = day, Counter(), secrets.token_bytes(KEY_BYTES)

    async def admit(self, debate: str, day: str, counters: Mapping[str, int], cost: float, caps: Caps) -> str | None:
        self._turn_to(day)
        today = sum(dollars for on, dollars in self._spent.values() if on == day)
        total = sum(dollars for _, dollars in self._spent.values())
        if full := full_limit(self._counts, counters, (today, total), cost, caps):
            return full
        self._counts.update(counters.keys())
        if cost:
            self._spent[debate] = day, cost
        return None

    async def settle(self, debate: str, cost: float) -> None:
        if debate in self._spent:
            self._spent[debate] = self._spent[debate][0], cost

    async def day_key(self, day: str) -> bytes:
        self._turn_to(day)
        return self._key


def full_limit(
    counts: Mapping[str, int], counters: Mapping[str, int], spent: tuple[float, float], cost: float, caps: Caps
) -> str | None:
    """The first limit that one more debate would exceed. `spent` is what is spent or reserved today, and in all."""
    for counter, most in counters.items():
        if counts.get(counter, 0) >= most:
            return counter
    if cost:
        for name, cap, dollars in ((DAY_COST, caps.max_cost_per_day, spent[0]), (ALL_COST, caps.max_cost, spent[1])):
            if cap is not None and dollars + cost > cap + 1e-9:
                return name
    return None
