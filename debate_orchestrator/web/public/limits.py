"""What visitors have used of the limits: counted in memory, or in PostgreSQL where several processes serve the site."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from debate_orchestrator.util.errors import BadSettings, ExternalError
from debate_orchestrator.web.public.rules import SiteRules

T = TypeVar("T")
KEY_BYTES = 32
DAY_COST, ALL_COST = "max_cost_per_day", "max_cost"
Most = Mapping[str, int]
"""Counter to the most that it may hold."""


class LimitsUnavailable(ExternalError):
    """The limits can't be looked up now, so that nothing may be started."""


class VisitorCounts(Protocol):
    """Where use is counted. A `day` is YYYY-MM-DD in UTC; a debate is named by its address on the site."""

    async def admit(
        self, debate: str, day: str, counters: Most, cost: float, caps: SiteRules, below: Mapping[str, int] = {}
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


class MemoryCounts:
    """The counts of one process. `spent` is what its debates have cost before: debate to its day and US dollars."""

    def __init__(self, spent: Mapping[str, tuple[str, float]] | None = None):
        self._spent = dict(spent or {})
        self._day, self._counts, self._key = "", Counter[str](), b""

    def _begin_day(self, day: str) -> None:
        """Begins a new day; never an old one again, whose counts would begin anew."""
        if day > self._day:
            self._day, self._counts, self._key = day, Counter(), secrets.token_bytes(KEY_BYTES)

    async def admit(
        self, debate: str, day: str, counters: Most, cost: float, caps: SiteRules, below: Mapping[str, int] = {}
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
    counts: Mapping[str, int], counters: Most, spent: tuple[float, float], cost: float, caps: SiteRules
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
"""Seconds until its turn comes, for a connection, and for each statement."""
_TABLES = """
CREATE TABLE IF NOT EXISTS debate_public_counts
  (day text, counter text, used integer NOT NULL, PRIMARY KEY (day, counter));
CREATE TABLE IF NOT EXISTS debate_public_costs
  (debate text PRIMARY KEY, day text NOT NULL, dollars double precision NOT NULL);
CREATE TABLE IF NOT EXISTS debate_public_keys
  (day text PRIMARY KEY, secret bytea NOT NULL);
"""


class PostgresCounts:
    """The counts in a database. Its tables are made on first use, and begin with `debate_public_`."""

    def __init__(self, url: str):
        try:
            import psycopg
        except ImportError:
            hint = 'pip install "debate-orchestrator[postgresql]"'
            raise BadSettings("limits_database: a database needs the extra `postgresql`.", hint=hint) from None
        self._psycopg, self._url = psycopg, url
        self._keys: tuple[str, bytes] = ("", b"")
        self._connection: Any = None
        """It is kept, since to open one takes longer than to count."""
        self._thread = ThreadPoolExecutor(1, "limits")
        """A busy event loop would hold the lock for a turn of its own between any two statements."""
        self._made = False

    async def _locked(self, work: Callable[[Any], T]) -> T:
        """What `work` returns, in a transaction that no other process is in at the same time. Raises
        LimitsUnavailable."""
        until = time.monotonic() + _SECONDS
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transaction, work, until)

    def _transaction(self, work: Callable[[Any], T], until: float) -> T:
        try:
            if time.monotonic() > until:
                raise TimeoutError
            connection = self._connected()
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                if not self._made:
                    connection.execute(_TABLES)
                result = work(connection)
            self._made = True
            return result
        except (self._psycopg.Error, TimeoutError) as error:
            # Without the text of the error, which may hold the address of the database.
            problem = f"limits_database: the database does not answer ({type(error).__name__})."
            raise LimitsUnavailable(problem) from None

    def _connected(self) -> Any:
        """The connection; a new one where it was lost."""
        if self._connection is not None:
            try:
                self._connection.execute("SELECT 1")
                return self._connection
            except self._psycopg.Error:
                self._connection.close()
        # Under another isolation the sums would be read as they were before the lock was waited for.
        isolation = r"-c default_transaction_isolation=read\ committed"
        self._connection = self._psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=_SECONDS,
            tcp_user_timeout=1000 * _SECONDS,  # a machine that is gone ends no connection
            options=f"{isolation} -c statement_timeout={_SECONDS}s -c lock_timeout={_SECONDS}s",
        )
        return self._connection

    async def admit(
        self, debate: str, day: str, counters: Most, cost: float, caps: SiteRules, below: Mapping[str, int] = {}
    ) -> str | None:
        def count(connection: Any) -> str | None:
            connection.execute("DELETE FROM debate_public_counts WHERE day < %s", (day,))
            rows = connection.execute("SELECT counter, used FROM debate_public_counts WHERE day = %s", (day,))
            sums = "SELECT coalesce(sum(dollars) FILTER (WHERE day = %s), 0), coalesce(sum(dollars), 0)"
            spent = connection.execute(f"{sums} FROM debate_public_costs", (day,)).fetchone()
            if full := full_limit(dict(rows), {**counters, **below}, spent, cost, caps):
                return full
            for counter in counters:
                connection.execute(
                    "INSERT INTO debate_public_counts VALUES (%s, %s, 1) ON CONFLICT (day, counter) "
                    "DO UPDATE SET used = debate_public_counts.used + 1",
                    (day, counter),
                )
            if cost:
                connection.execute("INSERT INTO debate_public_costs VALUES (%s, %s, %s)", (debate, day, cost))
            return None

        return await self._locked(count)

    async def settle(self, debate: str, cost: float) -> None:
        update = "UPDATE debate_public_costs SET dollars = %s WHERE debate = %s"
        await self._locked(lambda connection: connection.execute(update, (cost, debate)))

    async def day_key(self, day: str) -> bytes:
        def key(connection: Any) -> bytes:
            connection.execute("DELETE FROM debate_public_keys WHERE day < %s", (day,))
            connection.execute(
                "INSERT INTO debate_public_keys VALUES (%s, %s) ON CONFLICT (day) DO NOTHING",
                (day, secrets.token_bytes(KEY_BYTES)),
            )
            (found,) = connection.execute("SELECT secret FROM debate_public_keys WHERE day = %s", (day,)).fetchone()
            return bytes(found)

        if self._keys[0] != day:
            self._keys = day, await self._locked(key)
        return self._keys[1]
