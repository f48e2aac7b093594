"""The tables that machines share, in a PostgreSQL schema of their own, and how they are created and checked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from debate_orchestrator.util.errors import BadSettings

if TYPE_CHECKING:
    from psycopg import AsyncConnection

SCHEMA = "debate_orchestrator"
"""The PostgreSQL schema. Procrastinate's tables are in it too, so that another program may use its own."""
VERSION = 2
"""The version of the tables below."""
_LOCK = 0x64656261
"""The advisory lock under which the tables are created."""

_TABLES = """
CREATE TABLE layout (version int NOT NULL, procrastinate text NOT NULL);

CREATE TABLE tournaments (
    id text PRIMARY KEY,
    tag text NOT NULL,
    spec text NOT NULL,                                -- as tournament.json
    round int NOT NULL DEFAULT 0,                      -- how often debates were queued
    retry_failed boolean NOT NULL DEFAULT false,       -- whether undecided debates are judged again in this round
    max_cost double precision,                         -- US dollars
    committed double precision NOT NULL DEFAULT 0,     -- US dollars spent, and expected of calls under way
    calls bigint NOT NULL DEFAULT 0,
    failed_calls bigint NOT NULL DEFAULT 0,
    throttled bigint NOT NULL DEFAULT 0,               -- refusals because of load
    lease double precision NOT NULL                    -- seconds without a heartbeat until a worker is taken for dead
);

CREATE TABLE journals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tournament text NOT NULL REFERENCES tournaments,
    debate text NOT NULL,
    lines int NOT NULL DEFAULT 0,
    token bigint NOT NULL DEFAULT 0,                   -- one more each time that a worker takes the journal
    holder bigint,                                     -- the worker that has it, while its heartbeat is fresh
    status text,                                       -- of a debate that no worker has
    winner text,
    cost double precision NOT NULL DEFAULT 0,
    why text[] NOT NULL DEFAULT '{}',
    for_good boolean NOT NULL DEFAULT false,
    settled timestamptz,                               -- when that was noted
    UNIQUE (tournament, debate)
);

CREATE TABLE lines (
    journal bigint NOT NULL REFERENCES journals,
    n int NOT NULL,
    line bytea NOT NULL,                               -- as in a file, with its newline
    PRIMARY KEY (journal, n)
);

CREATE TABLE limiters (key text PRIMARY KEY, state jsonb NOT NULL DEFAULT '{}');
"""


async def prepare(connection: AsyncConnection, where: str) -> None:
    """Creates the tables, unless they are there. BadSettings if those that are there are of another version."""
    from procrastinate.schema import SchemaManager
    from psycopg import errors

    newest = max(name for name in os.listdir(SchemaManager.get_migrations_path()) if name.endswith(".sql"))
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            found = await (await connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.layout",))).fetchone()
            if found is None or found[0] is None:
                await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
                await connection.execute(SchemaManager.get_schema().encode())
                await connection.execute(_TABLES.encode())
                await connection.execute("INSERT INTO layout VALUES (%s, %s)", (VERSION, newest))
                return
            layout = await (await connection.execute("SELECT version, procrastinate FROM layout")).fetchone()
    except errors.InsufficientPrivilege as error:
        problem = f"This user may not create tables in {where} ({error.diag.message_primary})."
        raise BadSettings(
            problem, hint=f"let its owner run the tournament first, or grant it the schema {SCHEMA}"
        ) from None
    _must_match(layout, newest, where)


def _must_match(layout: tuple[object, ...] | None, newest: str, where: str) -> None:
    version, procrastinate = layout or (None, None)
    if isinstance(version, int) and version > VERSION:
        problem = f"{where} has tables of version {version}, and this program uses version {VERSION}."
        raise BadSettings(problem, hint="upgrade debate-orchestrator on this machine")
    if version != VERSION:
        problem = f"{where} has tables of version {version}, and this program uses version {VERSION}."
        raise BadSettings(problem, hint="name an empty database; the folder brings along what was recorded")
    if procrastinate != newest:
        problem = f"{where} was set up by a version of procrastinate with other tables ({procrastinate}, not {newest})."
        raise BadSettings(
            problem, hint="install the same version of procrastinate on all machines, or name an empty database"
        )
