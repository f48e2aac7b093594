"""The PostgreSQL database that machines share: its tables, connections, and what is said when it can't be reached."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from debate_orchestrator.util.errors import BadFile, BadSettings, Paused
from debate_orchestrator.util.redact import add_secret, redact
from debate_orchestrator.util.sanitize import one_line

if TYPE_CHECKING:
    from procrastinate import App
    from psycopg import AsyncConnection

SCHEMA = "debate_orchestrator"
"""The PostgreSQL schema. Procrastinate's tables are in it too, so that another program may use its own."""
VERSION = 3
"""The version of the tables below."""
_LOCK = 0x64656261
"""The advisory lock under which the tables are created."""

_TABLES = """
CREATE TABLE layout (version int NOT NULL, procrastinate text NOT NULL);

CREATE TABLE tournaments (
    id text PRIMARY KEY,
    tag text NOT NULL,
    spec text NOT NULL,                                -- as tournament.json
    round int NOT NULL DEFAULT 0,                      -- the number of the latest pass
    retry_failed boolean NOT NULL DEFAULT false,       -- whether undecided debates are judged again in this pass
    max_cost double precision,                         -- US dollars
    committed double precision NOT NULL DEFAULT 0,     -- US dollars spent, and expected of calls under way
    calls bigint NOT NULL DEFAULT 0,
    failed_calls bigint NOT NULL DEFAULT 0,
    throttled bigint NOT NULL DEFAULT 0,               -- calls that were throttled
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

CREATE TABLE gate_updates (
    gate text PRIMARY KEY,                             -- a worker's calls of one model, in one pass
    number bigint NOT NULL                             -- of its latest update that was committed
);
"""


async def _create_tables(connection: AsyncConnection, where: str) -> None:
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
        hint = f"let its owner run the tournament first, or grant it the schema {SCHEMA}"
        raise BadSettings(problem, hint=hint) from None
    _must_match(layout, newest, where)


def _must_match(layout: tuple[object, ...] | None, newest: str, where: str) -> None:
    version, procrastinate = layout or (None, None)
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        hint = "name an empty database; the folder brings along what was recorded"
        problem = f"{where} has tables of version {version}, and this program uses version {VERSION}."
        raise BadSettings(problem, hint="upgrade debate-orchestrator on this machine" if newer else hint)
    if procrastinate != newest:
        problem = f"{where} was set up by a version of procrastinate with other tables ({procrastinate}, not {newest})."
        hint = "install the same version of procrastinate on all machines, or name an empty database"
        raise BadSettings(problem, hint=hint)


Result = TypeVar("Result")
RETRY = 1.0
"""Seconds until a database that could not be reached is tried again."""
_CONNECT = 5
"""Seconds that a connection may take."""
_TIMEOUT = 10.0
"""Seconds for which a query waits for one of the connections."""
_LAST_TIMEOUT = 2.0
"""Seconds of the same at the end of a worker that was told to leave."""
_IDLE = 5
"""Seconds for which a transaction may wait for its worker."""
_LOCK_TIMEOUT = 8
"""Seconds for which a statement waits for a lock: longer than a frozen worker keeps one (`_IDLE`), so that such a lock
is waited for, and shorter than queries wait for a connection, so that no lock keeps all connections for longer."""
_CONNECTIONS = 8
_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
"""The parts of an address that are never shown."""

AT_THE_END = 5.0
"""Seconds for what is left to write when a debate is given up or a worker takes no more of a tournament."""
SHORTEST_LEASE, MAX_LEASE_LENGTH = 1.0, 3_600.0
"""Seconds. The columns of a database may hold others, and what is no number too."""
_LIVE = f"""SELECT id FROM procrastinate_workers
WHERE last_heartbeat > now() - make_interval(secs => least(greatest(({{lease}}), {SHORTEST_LEASE}), {MAX_LEASE_LENGTH}))
"""
LIVE = _LIVE.format(lease="SELECT lease FROM tournaments WHERE id = %(id)s")
"""Workers whose heartbeat is fresh by the lease of the tournament `id`."""
HAS_JOBS = """EXISTS (
    SELECT FROM procrastinate_jobs WHERE queue_name = 'debates-' || tournaments.id AND status IN ('todo', 'doing')
)"""
"""Whether a row of `tournaments` has debates left."""
LIVE_ANYWHERE = _LIVE.format(
    lease=f"SELECT COALESCE(max(lease) FILTER (WHERE {HAS_JOBS}), max(lease)) FROM tournaments"
)
"""Workers whose heartbeat is fresh by the longest lease of the tournaments with debates left, else of all."""


def must_be_installed() -> None:
    """BadSettings without the extra `cluster`."""
    if any(find_spec(name) is None for name in ("procrastinate", "psycopg", "psycopg_pool")):
        problem = "Tournaments on many machines need the extra `cluster`, which is not installed."
        raise BadSettings(problem, hint='pip install "debate-orchestrator[cluster]"')


def shown_address(url: str) -> str:
    """An address of a database without its passwords. BadSettings if it can't be read."""
    known = _parameters(url)
    hosts, ports = known.pop("host", "").split(","), known.pop("port", "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports  # one port is for all hosts
    places = ",".join(_place(host, port) for host, port in zip(hosts, ports, strict=False))
    user = f"{quote(known.pop('user'), safe='')}@" if "user" in known else ""
    database = quote(known.pop("dbname", ""), safe="")
    options = urlencode({name: text for name, text in known.items() if name not in _SECRETS}, quote_via=quote)
    return f"postgresql://{user}{places}/{database}{'?' if options else ''}{options}"


def _place(host: str, port: str) -> str:
    """A host with its port, as an address has them; a socket's folder is a host too."""
    named = f"[{quote(host, safe=':')}]" if ":" in host else quote(host, safe="")
    return f"{named}:{port}" if port else named


def _parameters(url: str) -> dict[str, str]:
    """What an address says, by the names that libpq has for it. Its passwords are redacted from now on. BadSettings if
    it can't be read."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    hint = "postgresql://USER@HOST/DATABASE, with the password in PGPASSWORD or ~/.pgpass"
    if not url.startswith(("postgresql://", "postgres://")):
        raise BadSettings("The address of the database must begin with postgresql://.", hint=hint)
    try:
        known = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except (ProgrammingError, ValueError):  # whose text may hold the password
        raise BadSettings("The address of the database can't be read.", hint=hint) from None
    # A password ends at the first @ or / in it, and the rest is then taken for the host or the database.
    misread = "@" in f"{known.get('host')} {known.get('dbname')}" or re.search(r"[^\d,]", known.get("port", ""))
    if misread:
        problem = "The address of the database can't be read: it has more than one @, or a port that is no number."
        raise BadSettings(problem, hint=f"%40 for @ and %2F for / in a password; or {hint}")
    for name in _SECRETS:
        add_secret(known.get(name, ""))
    return known


class Database:
    """An open database. `app` is Procrastinate's, whose connections serve all queries, and `pulse` another one, whose
    only connection is for heartbeats: they must never wait for another query."""

    def __init__(self, app: App, pulse: App, where: str, tell: Callable[[str], None]):
        self.app, self._pulse, self.where, self._tell = app, pulse, where, tell
        self.away = False
        """Whether it can't be reached, or work that waited for it is not written yet."""
        self._waiting: set[object] = set()
        """Work that waits until it can be reached."""
        self._gave_up = False
        """Whether some of that was given up."""
        self._told_of_locks = False
        self._reached = time.monotonic()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A connection, in a transaction that is committed at the end. One of `out_of_reach` if the server can't be
        reached or takes nothing for now. BadFile if a statement can't work with what the database holds or does, in its
        own words without parts of keys."""
        from psycopg import Error
        from psycopg.errors import InsufficientPrivilege

        connector: Any = self.app.connector
        try:
            async with connector.pool.connection() as connection:
                yield connection
        except out_of_reach() as error:
            if _is_away(error):
                raise
            raise refusal(error, self.where) from None
        except InsufficientPrivilege as error:
            problem = f"This user may not do what it has to in {self.where} ({_reason(error)})."
            raise BadFile(problem, hint=f"grant it all of the schema {SCHEMA}") from None
        except Error as error:
            problem = f"{self.where} holds values that this program did not write ({_reason(error)})."
            raise BadFile(problem, hint="restore the database, or name an empty one") from None

    async def rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """What one statement returns."""
        async with self.transaction() as connection:
            return await fetched(connection, query, **values)

    async def execute(self, query: str, **values: object) -> None:
        """Runs one statement that returns nothing."""
        async with self.transaction() as connection:
            await connection.execute(query.encode(), values)

    async def retried_until_reached(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Does some work, again and again while the database can't be reached."""
        waits = object()
        try:
            while True:
                try:
                    result = await work()
                except out_of_reach() as error:
                    if not _passes(error):
                        self._waiting.add(waits)
                    self.lost(error)
                    await asyncio.sleep(RETRY)
                else:
                    self._waiting.discard(waits)
                    self.reached()
                    return result
        finally:
            self._gave_up = self._gave_up or waits in self._waiting
            self._waiting.discard(waits)

    async def beat(self, worker_id: int) -> None:
        """Gives a heartbeat for a worker id."""
        await self._pulse.job_manager.update_heartbeat(worker_id)

    async def must_take_writes(self) -> None:
        """Raises what a statement that writes would, where the server takes none for now."""
        from psycopg.errors import ReadOnlySqlTransaction

        if await self.rows("SELECT current_setting('transaction_read_only')") == [("on",)]:
            raise ReadOnlySqlTransaction("it is read-only")

    def shorten_timeout(self) -> None:
        """Has queries wait for a connection for a moment alone from now on: the process is to end."""
        connector: Any = self.app.connector
        connector.pool.timeout = _LAST_TIMEOUT

    def lost(self, error: Exception) -> None:
        """Takes note that the database can't be reached, and says so the first time. One that has something locked, is
        slow, or undoes a transaction that was in another's way, can be reached; that is said once."""
        if _passes(error):
            if not self._told_of_locks:
                self._tell(f"{self.where} keeps something waiting ({_reason(error)}). It is tried again and again.")
            self._told_of_locks = True
            return
        if not self.away:
            self._gave_up = False
            self._tell(f"{self.where} can't be reached ({_reason(error)}). What was answered waits in memory.")
        self.away = True

    def reached(self) -> None:
        """Takes note that the database was reached. If it was away, that is said once nothing waits for it any more:
        where it can be read, it may take no writes yet."""
        if self.away and not self._waiting:
            self.away, self._reached = False, time.monotonic()
            self._tell(f"{self.where} can be reached again{'' if self._gave_up else ', and what waited is saved'}.")

    def reached_for(self, lease: float) -> bool:
        """Whether it has been reached for so many seconds that heartbeats in it tell who is alive."""
        return not self.away and time.monotonic() - self._reached > lease


async def fetched(connection: AsyncConnection, query: str, **values: object) -> list[tuple[Any, ...]]:
    """What one statement returns on a connection."""
    return await (await connection.execute(query.encode(), values)).fetchall()


@asynccontextmanager
async def opened(url: str, tell: Callable[[str], None]) -> AsyncIterator[Database]:
    """The database at an address, with its tables. BadSettings if the address or the tables are wrong, Paused if the
    database can't be reached."""
    must_be_installed()
    conninfo = _conninfo(url)
    await _prepare(conninfo, shown_address(url))
    import procrastinate

    for name in ("psycopg", "procrastinate"):  # what they would say is told in one sentence by `lost`
        logging.getLogger(name).setLevel(logging.CRITICAL)
    app, pulse = [
        procrastinate.App(
            connector=procrastinate.PsycopgConnector(conninfo=conninfo, min_size=least, max_size=most, timeout=_TIMEOUT)
        )
        for least, most in ((1, _CONNECTIONS), (0, 1))
    ]
    try:
        for one in (app, pulse):
            await one.open_async()
    except out_of_reach() as error:
        raise _unreachable(shown_address(url), error) from None
    try:
        yield Database(app, pulse, shown_address(url), tell)
    finally:
        with suppress(*out_of_reach()):
            await pulse.close_async()
            await app.close_async()


def _conninfo(url: str) -> str:
    """All that an address says, and what this program adds to it."""
    from psycopg.conninfo import make_conninfo

    known: dict[str, Any] = {"connect_timeout": _CONNECT, "keepalives_idle": 10, **_parameters(url)}
    # A worker that is frozen in a transaction would keep what the transaction has locked from all others.
    options = f"-c search_path={SCHEMA} -c idle_in_transaction_session_timeout={_IDLE * 1000}"
    # Statements are made for this isolation: they lock what must not change meanwhile, and read anew what they find.
    options += " -c default_transaction_isolation=read\\ committed"
    locks = f"-c lock_timeout={_LOCK_TIMEOUT}s"  # before what the address says, which may name another
    return make_conninfo(**{**known, "options": f"{locks} {known.get('options', '')} {options}"})


async def _prepare(conninfo: str, where: str) -> None:
    from psycopg import AsyncConnection, Error, OperationalError

    try:
        connection = await AsyncConnection.connect(conninfo)
        async with connection:
            await _create_tables(connection, where)
    except OperationalError as error:
        raise _unreachable(where, error) from None
    except Error as error:
        problem = f"{where} can't be used ({_reason(error)})."
        raise BadSettings(problem, hint="name an empty database of PostgreSQL 13 or later") from None


def _unreachable(where: str, error: Exception) -> Paused:
    if _passes(error):
        return Paused(f"{where} did not take it ({_reason(error)}).", hint="run the same command again")
    hint = "start it, or check address, user and password (PGPASSWORD or ~/.pgpass)"
    return Paused(f"{where} can't be reached ({_reason(error)}).", hint=hint)


def _reason(error: Exception) -> str:
    """Why, in one line. The library names every address that it tried, one a line: the last is told."""
    error = _cause(error)
    said = getattr(getattr(error, "diag", None), "message_primary", None)
    lines = (said or str(error)).strip().splitlines() or [type(error).__name__]
    return redact(one_line(lines[-1].strip().removeprefix("- "))).rstrip(".")


_AWAY = re.compile("08...|25006|25P03|40...|53...|57P0.|58...")
"""SQLSTATEs of a server that is not there or takes nothing for now: the connection is lost, it is read-only, it lacks
memory, room or connections, its system fails, it ends or begins, or transactions were in each other's way."""
_MAY_BE_ALONE = re.compile("53(?!100|300)...|58...")
"""Those of them that a statement's own size or data may cause too."""
_BLOCKED = ("55P03", "57014")
"""SQLSTATEs of a statement that waited too long for a lock, or took too long. Both pass."""
_UNDONE = ("40001", "40P01")
"""Those of a transaction that was in another's way, by a deadlock for instance: nothing of it is kept, and it is made
again."""


def refusal(error: Exception, where: str) -> BadFile:
    """What to say of an error that is one statement's."""
    return BadFile(f"{where} did not take it ({_reason(error)}).", hint="see what its log says, and resume")


def _cause(error: Exception) -> Exception:
    """The error of the database itself, which is the cause of one of Procrastinate's."""
    cause = error.__cause__
    return cause if isinstance(cause, Exception) and hasattr(cause, "sqlstate") else error


def is_blocked(error: Exception) -> bool:
    """Whether a statement waited too long, and may be taken when it is tried again."""
    return getattr(_cause(error), "sqlstate", None) in _BLOCKED


def _passes(error: Exception) -> bool:
    """Whether the database can be reached, and takes when it is tried again what it did not take."""
    return is_blocked(error) or getattr(_cause(error), "sqlstate", None) in _UNDONE


def may_be_alone(error: Exception) -> bool:
    """Whether an error of the server may strike one statement, while the server takes others."""
    return _MAY_BE_ALONE.fullmatch(getattr(error, "sqlstate", None) or "") is not None


def _is_away(error: Exception) -> bool:
    """Whether an error of the `out_of_reach` kinds passes, and is not that of one statement, such as its size."""
    code = getattr(error, "sqlstate", None)
    return code is None or is_blocked(error) or _AWAY.fullmatch(code) is not None


def out_of_reach() -> tuple[type[Exception], ...]:
    """The exceptions of a database that can't be reached, or not just now."""
    from procrastinate.exceptions import ConnectorException
    from psycopg import InterfaceError, OperationalError
    from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction
    from psycopg_pool import PoolTimeout

    # A server that takes over for another, or whose disk is full, is read-only for a while.
    for_a_while = ReadOnlySqlTransaction, IdleInTransactionSessionTimeout
    return OperationalError, InterfaceError, PoolTimeout, ConnectorException, *for_a_while
