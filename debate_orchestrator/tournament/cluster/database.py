"""The PostgreSQL database that machines share: its tables and connections, and what is said when it can't be
reached."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import cache
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from debate_orchestrator.util.coroutines import RunningTimeout, running_timeout
from debate_orchestrator.util.errors import BadFile, BadSettings, Paused
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, quoted

if TYPE_CHECKING:
    from procrastinate import App
    from psycopg import AsyncConnection

_LOG = logging.getLogger(__name__)
SCHEMA = "debate_orchestrator"
"""The PostgreSQL schema. Procrastinate's tables are in it too, so that another program may use its own."""
VERSION = 13
"""Of the tables, and of the names in the specs and journals that they hold: a new number with each change."""
_LOCK = 0x64656261
"""The advisory lock under which the tables are created."""
RETRY_SECONDS = 1.0
"""Seconds until a database that could not be reached is tried again."""
LEASE_SECONDS = 30.0
"""Seconds without a heartbeat after which a worker is taken for dead."""
END_SECONDS = 5.0
"""Seconds for what is left to write when a debate is given up or a worker ends."""
_CONNECT_SECONDS = 5
"""Seconds that a connection may take."""
_CONNECTIONS = 7
"""Connections that all queries share. A worker has one more, for its heartbeats."""
_SILENT_SECONDS = 30.0
"""Seconds without a byte after which a connection that is asked for something is taken for lost. The server can't tell:
a router between may have died, or another program that holds its end open."""
_RECONNECT_SECONDS = 10.0
"""Seconds for which a connection is awaited, or tried again in growing steps; then both begin anew."""
_TOO_LARGE = "54"
"""The prefix of the SQLSTATE of a statement or value that is larger than the server ever accepts."""
_GIVE_HEARTBEATS = b"UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = ANY(%(workers)s)"
_PARAMETERS = {
    "user", "host", "hostaddr", "port", "dbname", "connect_timeout", "target_session_attrs", "channel_binding",
    "sslmode", "sslrootcert", "sslcert", "sslkey", "passfile",
}  # fmt: skip
"""What an address may say. No other parameter is taken: it may hold a password, or any text."""

_TABLES = """
CREATE DOMAIN dollars AS double precision CHECK (VALUE BETWEEN 0 AND 1e15);  -- US dollars; no NaN is among them

CREATE TABLE layout (version text NOT NULL);           -- the version of these tables

CREATE TABLE tournaments (
    id text PRIMARY KEY,
    tag text NOT NULL,
    spec text NOT NULL,                                -- as tournament.json
    pass int NOT NULL DEFAULT 0,                       -- the number of the latest pass
    retry_undecided boolean NOT NULL DEFAULT false,    -- whether undecided debates are judged again in this pass
    max_cost dollars,
    spent dollars NOT NULL DEFAULT 0,                  -- of all calls; those under way as expected
    calls bigint NOT NULL DEFAULT 0,                   -- those under way too
    failed_calls bigint NOT NULL DEFAULT 0
);

CREATE TABLE calls (                                   -- under way
    id uuid PRIMARY KEY,
    tournament text NOT NULL REFERENCES tournaments,
    debate text NOT NULL,
    expected_cost dollars NOT NULL
);

CREATE TABLE journals (
    tournament text NOT NULL REFERENCES tournaments,
    debate text NOT NULL,
    status text NOT NULL DEFAULT 'stopped'             -- as the last worker left the debate
        CHECK (status IN ('waiting', 'stopped', 'complete', 'undecided', 'unusable')),
    winner text,
    cost dollars NOT NULL DEFAULT 0,
    why text[] NOT NULL DEFAULT '{}' CHECK (array_position(why, NULL) IS NULL),
    permanent boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tournament, debate)
);

CREATE TABLE lines (
    tournament text NOT NULL,
    debate text NOT NULL,
    n int NOT NULL,
    line bytea NOT NULL,                               -- as in a file, with its newline
    PRIMARY KEY (tournament, debate, n),
    FOREIGN KEY (tournament, debate) REFERENCES journals
);

-- No job waits for a time: clocks differ, and Python can't hold every time.
ALTER TABLE procrastinate_jobs ADD CHECK (scheduled_at BETWEEN '1999-12-31' AND '2000-01-02');
"""

Result = TypeVar("Result")
_Heartbeat = tuple[int, str]
"""A worker id, and the time that the worker gave, as the database has it."""


class Database:
    """An open database. `app` is Procrastinate's, whose connections serve all queries but heartbeats."""

    def __init__(self, app: App, address: str, notify: Callable[[str], None]):
        self.app, self.address, self.notify = app, address, notify
        self.is_unreachable = False
        """Whether it can't be reached."""
        self._looks: dict[str, tuple[float, dict[_Heartbeat, float]]] = {}
        """By tournament: the time of the last look, the last heartbeat of each worker, and when it was first seen."""
        self._heartbeat_connection: AsyncConnection | None = None

    async def give_heartbeats(self, workers: Iterable[int]) -> None:
        """Gives a heartbeat for each of these worker ids. It waits for no other query: the connection is kept for that,
        and is made again after an error. Raises one of `out_of_reach`."""
        if self._heartbeat_connection is None:
            pool: Any = cast(Any, self.app.connector).pool
            self._heartbeat_connection = await pool.connection_class.connect(pool.conninfo, autocommit=True)
        try:
            await self._heartbeat_connection.execute(_GIVE_HEARTBEATS, {"workers": list(workers)})
        except BaseException:
            await self.close_heartbeats()
            raise

    async def close_heartbeats(self) -> None:
        """Closes the connection for heartbeats, if there is one."""
        connection, self._heartbeat_connection = self._heartbeat_connection, None
        if connection is not None:
            await connection.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A connection, in a transaction that is committed at the end. One of `out_of_reach` if the server can't be
        reached or takes nothing for now, BadFile if it refuses a statement."""
        from psycopg import Error

        connector: Any = self.app.connector
        try:
            async with connector.pool.connection() as connection:
                yield connection
        except Error as error:
            if isinstance(error, out_of_reach()) and not (error.sqlstate or "").startswith(_TOO_LARGE):
                raise
            problem = f"{self.address} did not take it ({_reason(error)})."
            raise BadFile(problem, hint="see what its log says, and resume") from None

    async def rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """The result of one statement."""
        async with self.transaction() as connection:
            return await fetch_rows(connection, query, **values)

    async def execute(self, query: str, **values: object) -> None:
        """Runs one statement that returns nothing."""
        async with self.transaction() as connection:
            await connection.execute(query.encode(), values)

    async def retried_until_reached(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Does some work, again and again while the database can't be reached. The work may have been done although its
        answer was lost, so it must be harmless to do it twice."""
        while True:
            try:
                result = await work()
            except out_of_reach() as error:
                self.note_unreachable(error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self.note_reached()
                return result

    def note_unreachable(self, error: Exception) -> None:
        """Takes note that the database can't be reached, and says so the first time; or says that it has given a job to
        another worker."""
        from psycopg.errors import RaiseException

        if isinstance(error.__cause__, RaiseException):  # Procrastinate's: the job is no longer there to be ended
            self.notify("A debate of this worker was given to another one: this one was not heard of for a while.")
            return
        if not self.is_unreachable:
            self.notify(f"{self.address} can't be reached ({_reason(error)}). What was answered waits in memory.")
        self.is_unreachable = True

    def note_reached(self) -> None:
        if self.is_unreachable:
            self.notify(f"{self.address} can be reached again.")
        self.is_unreachable = False

    def silent_workers(self, tournament: str, heartbeats: Iterable[_Heartbeat]) -> list[_Heartbeat]:
        """The last heartbeats of the workers that have given no other for a lease, by the clock of this machine: that
        of the database may be set. If the last look was a while ago, the lease begins anew for all workers: while a
        database is away, takes no writes or hangs, no worker can give a heartbeat."""
        now = monotonic()
        _, seen = self._looks[tournament] if self.has_just_looked(tournament) else (now, {})
        self._looks[tournament] = now, {heartbeat: seen.get(heartbeat, now) for heartbeat in heartbeats}
        return [heartbeat for heartbeat, at in self._looks[tournament][1].items() if now - at > LEASE_SECONDS]

    def has_just_looked(self, tournament: str) -> bool:
        """Whether `silent_workers` was called for it a moment ago. A database that hangs raises no error."""
        return tournament in self._looks and monotonic() - self._looks[tournament][0] <= LEASE_SECONDS / 3


async def fetch_rows(connection: AsyncConnection, query: str, **values: object) -> list[tuple[Any, ...]]:
    """The result of one statement on a connection."""
    return await (await connection.execute(query.encode(), values)).fetchall()


@asynccontextmanager
async def open_database(url: str, notify: Callable[[str], None]) -> AsyncIterator[Database]:
    """The database at an address, with its tables. Raises BadSettings if the address or the tables are wrong, Paused if
    the database can't be reached."""
    must_be_installed()
    address = url
    for name in ("psycopg", "procrastinate"):  # what they say is reported in one sentence
        logging.getLogger(name).setLevel(logging.CRITICAL)
    conninfo = _conninfo(url, await _prepare(_conninfo(url), address))
    import procrastinate

    pool: dict[str, Any] = {"min_size": 1, "max_size": _CONNECTIONS, "connection_class": _connection_class()}
    pool |= {"timeout": _RECONNECT_SECONDS, "reconnect_timeout": _RECONNECT_SECONDS}
    # The arguments of jobs, which others may have written, are not looked at.
    connector = procrastinate.PsycopgConnector(conninfo=conninfo, json_loads=lambda text: {}, **pool)
    app = procrastinate.App(connector=connector)
    try:
        await app.open_async()
    except out_of_reach() as error:
        raise _unreachable(address, error) from None
    database = Database(app, address, notify)
    try:
        yield database
    finally:
        await database.close_heartbeats()
        if database.is_unreachable:  # connections that are being made would be awaited
            await connector.pool.close(timeout=RETRY_SECONDS)
        await app.close_async()


@cache
def _connection_class() -> Any:
    """A connection that raises OperationalError where nothing comes from the server for `_SILENT_SECONDS`."""
    from psycopg import AsyncConnection, OperationalError

    class Connection(AsyncConnection):
        async def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
            try:
                async with running_timeout(_SILENT_SECONDS) as timeout:
                    return await super().wait(_put_off(timeout, gen), *args, **options)
            except TimeoutError:
                self.pgconn.finish()
                raise OperationalError(f"it has said nothing for {_SILENT_SECONDS:g} seconds") from None

    return Connection


def _put_off(timeout: RunningTimeout, gen: Any) -> Any:
    """A generator of psycopg's, which yields what it waits for; each time that it comes, the `timeout` begins anew."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                timeout.reschedule(_SILENT_SECONDS)
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


def must_be_installed() -> None:
    """Raises BadSettings without the extra `cluster`."""
    if any(find_spec(name) is None for name in ("procrastinate", "psycopg", "psycopg_pool")):
        problem = "Tournaments on many machines need the extra `cluster`, which is not installed."
        raise BadSettings(problem, hint='pip install "debate-orchestrator[cluster]"')


def check_address(url: str) -> dict[str, str]:
    """The parts of an address, by libpq's names. Raises BadSettings if it can't be read or holds a password:
    an address is shown, and is visible in command lines. The error quotes nothing of it."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parameters = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (ProgrammingError, ValueError):
        parameters = {}
    is_plain = url.startswith(("postgresql://", "postgres://")) and url.isprintable()
    # A colon in the user comes before a password that is encoded with it. An @ or a / in a password ends it too early,
    # and its rest is taken for the host, the port or the database.
    is_misread = (
        ":" in parameters.get("user", "")
        or "@" in f"{parameters.get('host')} {parameters.get('dbname')}"
        or re.search(r"[^\d,]", parameters.get("port", ""))
    )
    if not parameters or not is_plain or is_misread or not parameters.keys() <= _PARAMETERS:
        problem = "The address of the database can't be read, or it holds a password, or a parameter that may hold one."
        raise BadSettings(problem, hint="postgresql://USER@HOST/DATABASE, with the password in PGPASSWORD or ~/.pgpass")
    return parameters


def _conninfo(url: str, server_version: int = 0) -> str:
    """All that an address says, and what this program adds to it for a server of that version (0: not known yet)."""
    from psycopg.conninfo import make_conninfo

    parameters: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, **check_address(url), "client_encoding": "UTF8"}
    parameters |= {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
    # A worker that hangs in a transaction must not keep what it has locked from all others.
    options = f"-c search_path={SCHEMA} -c idle_in_transaction_session_timeout=5s -c lock_timeout=8s"
    options += " -c default_transaction_isolation=read\\ committed"
    options += " -c idle_session_timeout=0" if server_version >= 140_000 else ""  # connections wait in the pool
    return make_conninfo(**{**parameters, "options": options})


async def _prepare(conninfo: str, address: str) -> int:
    """Creates the tables, unless they are there. Returns the server's version. Raises BadSettings if the tables that
    are there are of another version."""
    from psycopg import Error, OperationalError

    try:
        async with await _connection_class().connect(conninfo) as connection:
            await _create_tables(connection, address)
            return int(connection.info.server_version)
    except OperationalError as error:
        raise _unreachable(address, error) from None
    except Error as error:
        problem = f"{address} can't be used ({_reason(error)})."
        hint = f"an empty database of PostgreSQL 13 or later, in which you may create the schema {SCHEMA}"
        raise BadSettings(problem, hint=hint) from None


async def _create_tables(connection: AsyncConnection, address: str) -> None:
    from procrastinate.schema import SchemaManager

    newest = max(name for name in os.listdir(SchemaManager.get_migrations_path()) if name.endswith(".sql"))
    layout = f"{VERSION}, procrastinate {newest}"
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        problem = f"{address} can't hold every text: its encoding is {encoding}, not UTF8."
        raise BadSettings(problem, hint="a database in UTF8: createdb -E UTF8 -T template0")
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        ((tables_exist,),) = await fetch_rows(connection, f"SELECT to_regclass('{SCHEMA}.layout') IS NOT NULL")
        if not tables_exist:
            await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
            await connection.execute(SchemaManager.get_schema().encode())
            await connection.execute(_TABLES.encode())
            await connection.execute("INSERT INTO layout VALUES (%s)", (layout,))
        ((version,),) = await fetch_rows(connection, "SELECT version::text FROM layout")
    if version != layout:
        problem = (
            f"{address} was set up by another version of this program or of procrastinate ({version}, not {layout})."
        )
        hint = "install the same versions on all machines, or name an empty database"
        raise BadSettings(problem, hint=f"{hint}; the folder brings along what was recorded")


def _unreachable(address: str, error: Exception) -> Paused:
    hint = "start it, or check address, user and password (PGPASSWORD or ~/.pgpass)"
    return Paused(f"{address} can't be reached ({_reason(error)}).", hint=hint)


def _reason(error: Exception) -> str:
    """Why, in the words of the server. The library names every address that it tried, one a line: the last is given."""
    messages = (getattr(getattr(raised, "diag", None), "message_primary", None) for raised in (error, error.__cause__))
    lines = (next(filter(None, messages), None) or str(error.__cause__ or error)).strip().splitlines() or [
        type(error).__name__
    ]
    return quoted(redact(one_line(lines[-1].strip().removeprefix("- "))).rstrip("."))


def out_of_reach() -> tuple[type[Exception], ...]:
    """The exceptions of a database that can't be reached, or takes nothing just now: it may be full, restarting or
    read-only, or a lock may be in the way."""
    from procrastinate.exceptions import ConnectorException
    from psycopg import InterfaceError, OperationalError
    from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction
    from psycopg_pool import PoolTimeout

    for_a_while = ReadOnlySqlTransaction, IdleInTransactionSessionTimeout
    return OperationalError, InterfaceError, PoolTimeout, ConnectorException, *for_a_while
