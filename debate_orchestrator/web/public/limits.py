"""Quotas of visitors: what they have used is counted in memory, or in PostgreSQL where several processes serve the
site."""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol, TypeVar

from debate_orchestrator.util.errors import BadSettings, ExternalError
from debate_orchestrator.util.threads import in_daemon_thread
from debate_orchestrator.web.public.rules import SiteRules

T = TypeVar("T")
KEY_BYTES = 32
DAY_COST, ALL_COST = "max_cost_per_day", "max_cost"
Most = Mapping[str, int]
"""Counter to the most that it may hold."""
Costs = Mapping[str, tuple[str, float]]
"""Debate to the day on which it was opened, and to what it has cost or may still cost in US dollars."""


def today() -> str:
    """The day in UTC, as YYYY-MM-DD."""
    return datetime.now(UTC).date().isoformat()


class LimitsUnavailable(ExternalError):
    """The limits can't be looked up now, so that nothing may be started."""


class VisitorCounts(Protocol):
    """Where use is counted. A `day` is YYYY-MM-DD in UTC; a debate is named by its address on the site."""

    async def admit(
        self, debate_id: str, day: str, counters: Most, cost: float, caps: SiteRules, below: Mapping[str, int] = {}
    ) -> str | None:
        """Counts a debate, unless a limit is reached; then nothing changes, and the name of that limit is returned.

        `counters` are those of the day that count the debate. Those in `below` do not count it, but must not be full
        either. `cost` is reserved for the debate, in US dollars, until it is charged; in a database for
        `OPENING_SECONDS` at most, since a server that dies charges nothing. Raises LimitsUnavailable."""
        ...

    async def charge(self, debate_id: str, day: str, cost: float) -> None:
        """Replaces the amount reserved for a debate by its cost, or by what it may cost at most. `day` is the day on
        which it was opened. Raises LimitsUnavailable."""
        ...

    async def today(self) -> str:
        """The day, the same for all processes. Raises LimitsUnavailable."""
        ...

    async def day_key(self, day: str) -> bytes:
        """The random key of a day, the same for all processes. Keys of earlier days are deleted for good. Raises
        LimitsUnavailable."""
        ...


class MemoryCounts:
    """The counts of one process. `spent` is what its debates have cost before."""

    def __init__(self, spent: Costs | None = None):
        self._spent = dict(spent or {})
        self._day, self._counts, self._key = "", Counter[str](), b""

    def _begin_day(self, day: str) -> None:
        """Begins a new day. The day before never begins anew: a form may have taken it before midnight. Where the
        clock goes further back, it had jumped ahead."""
        if self._day not in (day, str(date.fromisoformat(day) + timedelta(1))):
            self._day, self._counts, self._key = day, Counter(), secrets.token_bytes(KEY_BYTES)

    async def admit(
        self, debate_id: str, day: str, counters: Most, cost: float, caps: SiteRules, below: Mapping[str, int] = {}
    ) -> str | None:
        self._begin_day(day)
        today = sum(dollars for on, dollars in self._spent.values() if on == day)
        total = sum(dollars for _, dollars in self._spent.values())
        if full := full_limit(self._counts, {**counters, **below}, (today, total), cost, caps):
            return full
        self._counts.update(counters.keys())
        if cost:
            self._spent[debate_id] = day, cost
        return None

    async def charge(self, debate_id: str, day: str, cost: float) -> None:
        self._spent[debate_id] = self._spent.get(debate_id, (day, cost))[0], cost

    async def today(self) -> str:
        return today()

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


def _unavailable(kind: str) -> LimitsUnavailable:
    """Without the text of the error, which may hold the address of the database."""
    return LimitsUnavailable(f"limits_database: the database does not answer ({kind}).")


_LOCK = 0x64656263  # not one of `tournament.cluster`: both may use one database
"""The number of the lock under which limits are looked up and counted, one process after the other."""
_SECONDS = 5
"""Seconds until its turn comes, for a connection, and for each statement."""
_ALL_SECONDS = 10.0
"""Seconds for all of these together."""
OPENING_SECONDS = 600.0
"""Seconds for which dollars are reserved for a debate until it is opened."""
_DAY_SECONDS = 600.0
"""Seconds after which the database is asked for the day again."""
_TABLES = """
CREATE TABLE IF NOT EXISTS debate_public_counts
  (day text, counter text, used integer NOT NULL, PRIMARY KEY (day, counter));
CREATE TABLE IF NOT EXISTS debate_public_costs
  (debate text PRIMARY KEY, day text NOT NULL, dollars double precision NOT NULL);
ALTER TABLE debate_public_costs ADD COLUMN IF NOT EXISTS opens_by timestamptz;
CREATE TABLE IF NOT EXISTS debate_public_keys
  (day text PRIMARY KEY, secret bytea NOT NULL);
"""


class PostgresCounts:
    """The counts in a database. Its tables are made on first use, and begin with `debate_public_`.

    `spent` returns what the debates of those names have cost, or all of the folder for None; those that were never
    opened are not in it. Debates that the database does not know are counted with that: it may be newer than they
    are."""

    def __init__(self, url: str, spent: Callable[[Collection[str] | None], Costs] = lambda _: {}):
        try:
            import psycopg
        except ImportError:
            hint = 'pip install "debate-orchestrator[postgresql]"'
            raise BadSettings("limits_database: a database needs the extra `postgresql`.", hint=hint) from None
        self._psycopg, self._url, self._spent = psycopg, url, spent
        self._spent_before = spent(None)
        self._day: tuple[str, float] = ("", 0.0)
        """The day, and until when it is taken for that, by the monotonic clock."""
        self._keys: tuple[str, bytes] = ("", b"")
        self._connection: Any = None
        """It is kept, since to open one takes longer than to count."""
        self._socket: socket.socket | None = None
        """The socket of the connection, by which another thread can cut it."""
        self._lock = threading.Lock()
        """Held by the thread that uses the connection."""
        self._made = False

    async def _locked(self, work: Callable[[Any], T]) -> T:
        """What `work` returns, in a transaction that no other process is in at the same time. Raises
        LimitsUnavailable."""
        until = time.monotonic() + _ALL_SECONDS
        # In a thread: a busy event loop would hold the lock for a turn of its own between any two statements.
        call = in_daemon_thread(lambda: self._transaction(work, until))
        try:
            async with asyncio.timeout(_ALL_SECONDS + 1):
                return await asyncio.wrap_future(call)
        except TimeoutError:  # it hangs where nothing can be cut, as in looking up the host
            raise _unavailable("TimeoutError") from None

    def _transaction(self, work: Callable[[Any], T], until: float) -> T:
        if not self._lock.acquire(timeout=_SECONDS):
            raise _unavailable("TimeoutError")
        try:
            with self._cut_at(until):
                connection = self._connected()
                if time.monotonic() >= until:  # nothing would cut it any more
                    raise TimeoutError
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                    if not self._made:
                        self._make_tables(connection)
                    result = work(connection)
            self._made = True
            return result
        except (self._psycopg.errors.UndefinedTable, self._psycopg.errors.UndefinedColumn):
            self._made, self._spent_before = False, self._spent(None)
            problem = "limits_database: its tables are gone. The next start makes them anew, and counts debates from 0."
            raise LimitsUnavailable(problem) from None
        except (self._psycopg.Error, OSError) as error:
            raise _unavailable(type(error).__name__) from None
        finally:
            self._lock.release()

    @contextmanager
    def _cut_at(self, until: float) -> Iterator[None]:
        """Cuts the connection then. A database that hangs keeps no timeout of its own, and the client reads without an
        end."""

        def cut() -> None:
            if (connected := self._socket) is not None:
                with suppress(OSError):
                    connected.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(max(0.0, until - time.monotonic()), cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _connected(self) -> Any:
        """The connection; a new one where it was lost."""
        if self._connection is not None:
            try:
                self._connection.execute("SELECT 1")
                return self._connection
            except self._psycopg.Error:
                self._connection.close()
                self._connection = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        # Under another isolation the sums would be read as they were before the lock was waited for.
        isolation = r"-c default_transaction_isolation=read\ committed"
        connection = self._psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=_SECONDS,
            tcp_user_timeout=1000 * _SECONDS,  # a machine that is gone ends no connection
            options=f"{isolation} -c statement_timeout={_SECONDS}s -c lock_timeout={_SECONDS}s",
        )
        self._socket = socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM)
        self._connection = connection
        return connection

    def _make_tables(self, connection: Any) -> None:
        connection.execute(_TABLES)
        if self._keys[0]:  # other processes may know it too
            connection.execute("INSERT INTO debate_public_keys VALUES (%s, %s) ON CONFLICT DO NOTHING", self._keys)
        self._count_opened(connection, self._spent_before)

    def _count_opened(self, connection: Any, costs: Costs) -> None:
        """Counts debates that have journals, unless a process has said already what they count for."""
        known = [(debate, day, dollars) for debate, (day, dollars) in costs.items() if dollars]
        if known:
            connection.execute(
                "INSERT INTO debate_public_costs (debate, day, dollars) SELECT * FROM unnest(%s::text[], %s::text[], "
                "%s::double precision[]) ON CONFLICT (debate) DO UPDATE SET dollars = excluded.dollars, "
                "opens_by = NULL WHERE debate_public_costs.opens_by IS NOT NULL",
                [list(column) for column in zip(*known, strict=True)],
            )

    def _end_reservations(self, connection: Any) -> None:
        """Gives back the dollars of debates that were not opened in time. A process that opened one may not have been
        able to say so, since the database was away."""
        rows = connection.execute("SELECT debate FROM debate_public_costs WHERE opens_by < now()")
        if late := [debate for (debate,) in rows]:
            self._count_opened(connection, self._spent(late))
            connection.execute("DELETE FROM debate_public_costs WHERE opens_by < now() AND debate = ANY(%s)", (late,))

    async def admit(
        self, debate_id: str, day: str, counters: Most, cost: float, caps: SiteRules, below: Mapping[str, int] = {}
    ) -> str | None:
        def count(connection: Any) -> str | None:
            # The day before is kept: a form that took its day before midnight may be counted after another's of today.
            connection.execute("DELETE FROM debate_public_counts WHERE day::date < %s::date - 1", (day,))
            self._end_reservations(connection)
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
                connection.execute(
                    "INSERT INTO debate_public_costs (debate, day, dollars, opens_by) "
                    "VALUES (%s, %s, %s, now() + make_interval(secs => %s))",
                    (debate_id, day, cost, OPENING_SECONDS),
                )
            return None

        return await self._locked(count)

    async def charge(self, debate_id: str, day: str, cost: float) -> None:
        upsert = (
            "INSERT INTO debate_public_costs (debate, day, dollars) VALUES (%s, %s, %s) "
            "ON CONFLICT (debate) DO UPDATE SET dollars = excluded.dollars, opens_by = NULL"
        )
        delete = "DELETE FROM debate_public_costs WHERE debate = %s"

        def replace(connection: Any) -> None:
            connection.execute(*((upsert, (debate_id, day, cost)) if cost else (delete, (debate_id,))))

        await self._locked(replace)

    async def today(self) -> str:
        def look(connection: Any) -> tuple[str, float]:
            now = "SELECT now() AT TIME ZONE 'UTC' AS utc"
            select = "utc::date::text, extract(epoch FROM utc::date + 1 - utc)::float8"
            (row,) = connection.execute(f"SELECT {select} FROM ({now}) AS clock")
            return row[0], row[1]

        asked = time.monotonic()
        if asked >= self._day[1]:
            day, left = await self._locked(look)
            self._day = day, asked + min(left, _DAY_SECONDS)
        return self._day[0]

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
