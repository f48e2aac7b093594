"""What visitors have used of the limits: counted in memory, or in PostgreSQL where several processes serve the site."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

from debate_orchestrator.util.errors import BadSettings, ExternalError
from debate_orchestrator.web.public.rules import Rules

KEY_BYTES = 32
DAY_COST, ALL_COST = "max_cost_per_day", "max_cost"
Most = Mapping[str, int]
"""Counter to the most that it may hold."""


class LimitsUnavailable(ExternalError):
    """The limits can't be looked up now, so that nothing may be started."""


class Limits(Protocol):
    """Where use is counted. A `day` is YYYY-MM-DD in UTC; a debate is named by its address on the site."""

    async def admit(
        self, debate: str, day: str, counters: Most, cost: float, caps: Rules, below: Mapping[str, int] = {}
    ) -> str | None:
        """Counts a debate, unless a limit is reached; then nothing changes, and the name of that limit is returned.

        `counters` are those of the day in which it is counted, and `below` others, which must not be full but do not
        count it. `cost` is reserved for the debate, in US dollars, until it is settled. Raises LimitsUnavailable."""
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

    def _begin_day(self, day: str) -> None:
        """Begins a new day; never an old one again, whose counts would begin anew."""
        if day > self._day:
            self._day, self._counts, self._key = day, Counter(), secrets.token_bytes(KEY_BYTES)

    async def admit(
        self, debate: str, day: str, counters: Most, cost: float, caps: Rules, below: Mapping[str, int] = {}
    ) -> str | None:
        self._begin_day(day)
        today = sum(dollars for on, dollars in self._spent.values() if on == day)
        total = sum(dollars for _, dollars in self._spent.values())
        if full := full_limit(self._counts, {**counters, **below}, (today, total), cost, caps):
            return full
        self._counts.update(counters.keys())
        if cost:
            self._spent[debate] = day, cost
        return None

    async def settle(self, debate: str, cost: float) -> None:
        if debate in self._spent:
            self._spent[debate] = self._spent[debate][0], cost

    async def day_key(self, day: str) -> bytes:
        self._begin_day(day)
        return self._key


def full_limit(
    counts: Mapping[str, int], counters: Most, spent: tuple[float, float], cost: float, caps: Rules
) -> str | None:
    """The first limit that one more debate would exceed. `spent` is what is spent or reserved today, and in all."""
    for counter, most in counters.items():
        if counts.get(counter, 0) >= most:
            return counter
    if cost:
        for name, cap, dollars in ((DAY_COST, caps.max_cost_per_day, spent[0]), (ALL_COST, caps.max_cost, spent[1])):
            if cap is not None and not 0 <= dollars + cost <= cap + 1e-9:  # a sum that is no number is never enough
                return name
    return None


_LOCK = 0x64656263  # not one of `tournament.cluster`: both may use one database
"""The number of the lock under which limits are looked up and counted, one process after the other."""
_SECONDS = 5
"""Seconds for a connection, and for what is done with it."""
_TABLES = """
CREATE TABLE IF NOT EXISTS debate_public_counts
  (day text, counter text, used integer NOT NULL, PRIMARY KEY (day, counter));
CREATE TABLE IF NOT EXISTS debate_public_costs
  (debate text PRIMARY KEY, day text NOT NULL, dollars double precision NOT NULL);
CREATE TABLE IF NOT EXISTS debate_public_keys
  (day text PRIMARY KEY, secret bytea NOT NULL);
"""


class PostgresLimits:
    """The limits in a database. Its tables are made on first use, and begin with `debate_public_`."""

    def __init__(self, url: str):
        try:
            import psycopg
        except ImportError:
            hint = 'pip install "debate-orchestrator[postgresql]"'
            raise BadSettings("limits_database: a database needs the extra `postgresql`.", hint=hint) from None
        self._psycopg, self._url = psycopg, url
        self._keys: tuple[str, bytes] = ("", b"")
        self._made = False

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[Any]:
        """A transaction that no other process is in at the same time. Raises LimitsUnavailable."""
        try:
            # Under another isolation the sums would be read as they were before the lock was waited for.
            isolation = r"-c default_transaction_isolation=read\ committed"
            options = f"{isolation} -c statement_timeout={_SECONDS}s -c lock_timeout={_SECONDS}s"
            async with await self._psycopg.AsyncConnection.connect(
                self._url, connect_timeout=_SECONDS, options=options
            ) as connection:
                await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                if not self._made:
                    await connection.execute(_TABLES)
                yield connection
                self._made = True
        except self._psycopg.Error as error:
            # Without the text of the error, which may hold the address of the database.
            problem = f"limits_database: the database does not answer ({type(error).__name__})."
            raise LimitsUnavailable(problem) from None

    async def admit(
        self, debate: str, day: str, counters: Most, cost: float, caps: Rules, below: Mapping[str, int] = {}
    ) -> str | None:
        async with self._locked() as connection:
            await connection.execute("DELETE FROM debate_public_counts WHERE day < %s", (day,))
            rows = await connection.execute("SELECT counter, used FROM debate_public_counts WHERE day = %s", (day,))
            counts = dict(await rows.fetchall())
            sums = "SELECT coalesce(sum(dollars) FILTER (WHERE day = %s), 0), coalesce(sum(dollars), 0)"
            row = await (await connection.execute(f"{sums} FROM debate_public_costs", (day,))).fetchone()
            if full := full_limit(counts, {**counters, **below}, row, cost, caps):
                return full
            for counter in counters:
                await connection.execute(
                    "INSERT INTO debate_public_counts VALUES (%s, %s, 1) ON CONFLICT (day, counter) "
                    "DO UPDATE SET used = debate_public_counts.used + 1",
                    (day, counter),
                )
            if cost:
                await connection.execute("INSERT INTO debate_public_costs VALUES (%s, %s, %s)", (debate, day, cost))
        return None

    async def settle(self, debate: str, cost: float) -> None:
        async with self._locked() as connection:
            await connection.execute("UPDATE debate_public_costs SET dollars = %s WHERE debate = %s", (cost, debate))

    async def day_key(self, day: str) -> bytes:
        if self._keys[0] != day:
            async with self._locked() as connection:
                await connection.execute("DELETE FROM debate_public_keys WHERE day < %s", (day,))
                await connection.execute(
                    "INSERT INTO debate_public_keys VALUES (%s, %s) ON CONFLICT (day) DO NOTHING",
                    (day, secrets.token_bytes(KEY_BYTES)),
                )
                query = "SELECT secret FROM debate_public_keys WHERE day = %s"
                (key,) = await (await connection.execute(query, (day,))).fetchone()
            self._keys = day, bytes(key)
        return self._keys[1]
