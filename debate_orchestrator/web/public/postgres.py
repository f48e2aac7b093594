"""The limits of a public site in PostgreSQL, for several processes that serve it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.web.public.limits import KEY_BYTES, Caps, LimitsUnavailable, full_limit

_LOCK = 0x64656262  # not that of tournament.cluster.schema: both may use one database
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
            raise BadSettings("limits: a database needs the extra `postgresql`.", hint=hint) from None
        self._psycopg, self._url = psycopg, url
        self._keys: tuple[str, bytes] = ("", b"")
        self._made = False

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[Any]:
        """A transaction that no other process is in at the same time. Raises LimitsUnavailable."""
        try:
            options = f"-c statement_timeout={_SECONDS}s -c lock_timeout={_SECONDS}s"
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
            raise LimitsUnavailable(f"limits: the database does not answer ({type(error).__name__}).") from None

    async def admit(self, debate: str, day: str, counters: Mapping[str, int], cost: float, caps: Caps) -> str | None:
        async with self._locked() as connection:
            await connection.execute("DELETE FROM debate_public_counts WHERE day < %s", (day,))
            rows = await connection.execute("SELECT counter, used FROM debate_public_counts WHERE day = %s", (day,))
            counts = dict(await rows.fetchall())
            sums = "SELECT coalesce(sum(dollars) FILTER (WHERE day = %s), 0), coalesce(sum(dollars), 0)"
            row = await (await connection.execute(f"{sums} FROM debate_public_costs", (day,))).fetchone()
            if full := full_limit(counts, counters, row, cost, caps):
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
