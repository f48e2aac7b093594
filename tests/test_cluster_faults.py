"""Databases that stop, are read-only or refuse a line while answers come: what is lost is named, and no more is."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import contests
import pytest
from conftest import Run
from messages_server import Server
from postgres import Postgres
from started import started
from test_cluster_database import asked, registered, uploaded
from test_cluster_workers import LEASE, coordinator, until, worker, write_spec, written

from debate_orchestrator.core.events import Spoke, StructuredReplyGiven
from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster import journals as journals_module
from debate_orchestrator.tournament.cluster.database import opened
from debate_orchestrator.tournament.cluster.journals import DatabaseJournals
from debate_orchestrator.tournament.cluster.queue import TASK, queue_of
from debate_orchestrator.tournament.cluster.worker import Worker
from debate_orchestrator.util.errors import BadFile, PermanentFailure

pytestmark = pytest.mark.slow

READ_ONLY = "ALTER DATABASE {name} SET default_transaction_read_only = {mode}"
END_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"
)
REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF new.n >= 3 AND {which} THEN
        RAISE EXCEPTION USING errcode = '42501', message = 'permission denied for table lines';
    END IF;
    RETURN new;
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON lines FOR EACH ROW EXECUTE FUNCTION refuse()
"""
_RAISE = "RAISE EXCEPTION USING errcode = '42501', message = 'permission denied for table lines'"
LEAVE_OUT = REFUSE.replace(_RAISE, "RETURN NULL")
"""The same with a trigger that drops the line and reports no error."""
ALTER = REFUSE.replace(_RAISE, "new.line := overlay(new.line PLACING 'X' FROM 10)")
"""The same with one that keeps another line."""


def read_only(postgres: Postgres, name: str, mode: str) -> None:
    """A server that takes no writes in a database for now, or takes them again."""
    postgres.query(name, "BEGIN READ WRITE; " + READ_ONLY.format(name=name, mode=mode) + "; COMMIT")
    postgres.query(name, END_SESSIONS.format(name=name))


def answers(postgres: Postgres, name: str) -> int:
    """How many answers the journals of a database hold."""
    return sum(
        isinstance(event, Spoke | StructuredReplyGiven) for events in written(postgres, name) for event in events
    )


@pytest.mark.parametrize("fault", ["stopped", "read-only"])
@pytest.mark.parametrize("signs", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]], ids=["TERM", "INT twice"])
def test_an_interrupt_names_what_the_database_does_not_take(
    server: Server, postgres_server: Postgres, database: str, fault: str, signs: list[signal.Signals]
) -> None:
    """Where the database is stopped or read-only when answers come, a worker that is told to leave names each of them
    as lost, and does not say that its debates are back in the queue."""
    server.whole, url = 2.5, postgres_server.url(database)
    write_spec(1)
    with coordinator(url, *LEASE), worker(url) as leaving:
        until(lambda: len(server.requests) >= 4, "a call of each of four debates")
        before = answers(postgres_server, database)
        if fault == "stopped":
            postgres_server.stop()
        else:
            read_only(postgres_server, database, "on")
        try:
            leaving.hear("can't be reached")
            until(lambda: server.answered >= 4, "their answers")
            for n, sign in enumerate(signs):
                if n:
                    leaving.hear("Press Ctrl-C again")
                leaving.signal(sign)
            ended = leaving.end(60)
        finally:
            if fault == "stopped":
                postgres_server.start()
            else:
                read_only(postgres_server, database, "off")

    assert before == 0 and ended.code == 130, ended.err
    assert ended.err.count("Lost: start.") == 4 and "4 replies lost" in ended.err, ended.err
    assert "back in the queue" not in ended.err and "reached again" not in ended.err, ended.err
    assert "Traceback" not in ended.err and "never retrieved" not in ended.err, ended.err


def refusing(
    postgres: Postgres, name: str, url: str, which: str, *flags: str, trigger: str = REFUSE
) -> tuple[Any, Any]:
    """How a worker and a run end whose database refuses lines."""
    with coordinator(url) as run:
        run.hear("Workers take the debates")
        until(lambda: postgres.query(name, "SELECT count(*) FROM procrastinate_jobs") == [(6,)], "jobs")
        postgres.query(name, trigger.format(which=which))
        with worker(url, "--until-done", *flags) as working:
            return working.end(), run.end()


@pytest.mark.parametrize(
    ("trigger", "why"),
    [
        (REFUSE, "permission denied for table lines"),
        (LEAVE_OUT, "does not have lines that it was given"),
        (ALTER, "does not have lines that it was given"),
    ],
    ids=["refused", "left out", "altered"],
)
def test_a_refused_line_stops_its_debate_alone(
    server: Server, postgres_server: Postgres, database: str, trigger: str, why: str
) -> None:
    """Where the database refuses the lines of one journal, or leaves them out or alters them without an error, that
    debate stops with the reason, its answers are named as lost, its journal is let go, and all other debates are
    completed. Later a run goes on with it."""
    server.whole, url = 0.2, postgres_server.url(database)
    write_spec(1)
    working, run = refusing(postgres_server, database, url, "new.journal = 1", trigger=trigger)
    standings = postgres_server.query(database, "SELECT id, status, holder, why FROM journals ORDER BY id")
    refused = [row for row in standings if row[0] == 1]
    postgres_server.query(database, "DROP TRIGGER refuse ON lines")
    with worker(url), started("tournament", "resume", "out", "--cluster", url, "--no-reports") as resumed:
        ended = resumed.end()

    assert [row[1:3] for row in standings if row[0] != 1] == [("complete", None)] * 5
    assert refused[0][1:3] == ("stopped", None) and why in refused[0][3][0]
    assert working.code == 4 and why in working.err, working.err
    assert working.err.count("Lost: start.") == 1 and "Traceback" not in working.err, working.err
    assert run.code == 3 and why in run.err and "Every answer is saved" not in run.err, run.err
    assert ended.code == 0, ended.err


def test_all_lines_are_refused(server: Server, postgres_server: Postgres, database: str) -> None:
    """Where the database refuses the lines of all journals, no call is made again, and each journal is let go."""
    server.whole, url = 0.2, postgres_server.url(database)
    write_spec(1)
    working, run = refusing(postgres_server, database, url, "true", "--json")
    standings = postgres_server.query(database, "SELECT DISTINCT status, holder FROM journals")

    assert standings == [("stopped", None)]
    assert (working.code, run.code) == (4, 3), working.err + run.err
    assert len(server.requests) == 6 and working.err.count("Lost: start.") == 6, working.err
    assert json.loads(working.out)["status"] == "stopped" and json.loads(working.out)["lost"] == 6


@pytest.mark.parametrize("code", ["53400", "54000", "55P03", "57014", "58030"])
@pytest.mark.parametrize("times", [3, 1_000], ids=["passes", "stays"])
def test_lines_of_one_debate_hold_up_no_others(
    here: Path, postgres_server: Postgres, database: str, code: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the database fails at the lines of one debate, by a lock, its time or a size, only that debate stops. A
    lock, a statement's time and trouble of the server may pass, and are waited for a few times."""
    monkeypatch.setattr(journals_module, "_BLOCKED_WAITS", (0.1,) * 4)
    which = "new.n >= 3 AND new.journal = (SELECT min(id) FROM journals)"
    ended = written_while_refused(postgres_server.url(database), which, code, times)
    stopped = 0 if times == 3 and code != "54000" else 1
    assert ended.count(4) == 3 - stopped, ended
    assert sum(isinstance(one, PermanentFailure) for one in ended) == stopped, ended


@pytest.mark.parametrize("code", ["53000", "53100", "53200", "53400", "58000", "58030"])
def test_a_server_in_trouble_loses_no_answer(
    here: Path, postgres_server: Postgres, database: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the server takes no line at all, as where its memory is short, all lines wait, however long that takes."""
    monkeypatch.setattr(journals_module, "_BLOCKED_WAITS", (0.01,) * 4)
    monkeypatch.setattr(database_module, "RETRY", 0.05)

    assert written_while_refused(postgres_server.url(database), "true", code, 40) == [4, 4, 4]


def written_while_refused(url: str, which: str, code: str, times: int) -> list[Any]:
    """How many lines of three debates are written, or what ended each, where the database fails with that SQLSTATE so
    many times at the lines for which a condition holds."""
    held = contests.tournament()
    refuse = f"""
        CREATE SEQUENCE refused;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF {which} AND nextval('refused') <= {times} THEN
                RAISE EXCEPTION USING errcode = '{code}', message = 'no';
            END IF;
            RETURN new;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON lines FOR EACH ROW EXECUTE FUNCTION refuse()
    """

    async def play() -> list[Any]:
        async with uploaded(url, held) as (found, sync):
            async with found.transaction() as connection:
                await connection.execute(refuse.encode())
            store = DatabaseJournals(found, sync.id, await registered(found))

            async def written(debate_id: str) -> int:
                async with store.open(debate_id, lambda: held.make_opened(held.schedule[0])) as journal:
                    for n in range(1, 4):
                        journal.append(asked(n))
                        await asyncio.sleep(0.01)  # lines of all debates wait together
                    await journal.synced()
                    return journal.stored

            debates = [debate.id for debate in held.schedule[:3]]
            return await asyncio.gather(*map(written, debates), return_exceptions=True)

    return asyncio.run(asyncio.wait_for(play(), 15))


@pytest.mark.parametrize("trigger", [LEAVE_OUT, ALTER], ids=["left out", "altered"])
def test_lines_of_a_folder_that_are_not_brought(
    postgres_server: Postgres, database: str, here: Path, trigger: str
) -> None:
    """Where the database leaves out or alters lines that are uploaded from a folder, nothing of their journal is kept,
    and a later run uploads it."""
    held, url = contests.ran(contests.tournament()).tournament, postgres_server.url(database)
    counts = "SELECT count(*), (SELECT count(*) FROM lines) FROM journals"

    async def sync() -> list[tuple[int, int]]:
        async with uploaded(url, held) as (found, _):
            return await found.rows(counts)

    async def empty() -> None:
        async with opened(url, print):
            pass

    asyncio.run(empty())
    postgres_server.query(database, trigger.format(which="true"))
    with pytest.raises(BadFile, match="does not have lines that it was given"):
        asyncio.run(sync())
    kept = postgres_server.query(database, counts)
    postgres_server.query(database, "DROP TRIGGER refuse ON lines")

    ((journals, lines),) = asyncio.run(sync())
    assert kept == [(0, 0)] and journals == len(held.schedule) and lines > journals


def test_a_statement_that_is_too_large_is_not_waited_for(here: Path, postgres_server: Postgres, database: str) -> None:
    """What the server refuses to one statement is told at once, whatever the statement is for."""

    async def play() -> None:
        raises = "DO $$ BEGIN RAISE EXCEPTION USING errcode = '54000', message = 'too large'; END $$"
        async with opened(postgres_server.url(database), print) as found:
            with pytest.raises(BadFile, match="did not take it \\(too large\\)"):
                await found.retried_until_reached(lambda: found.execute(raises))

    asyncio.run(asyncio.wait_for(play(), 10))


def test_a_run_waits_for_a_database_that_takes_writes(
    debate: Run, server: Server, postgres_server: Postgres, database: str
) -> None:
    """A run on a database that is read-only says so, waits, and goes on once it takes writes; Ctrl-C ends its wait
    with what is known."""
    url = postgres_server.url(database)
    assert debate("worker", url, "--until-done").code == 0  # which makes the tables
    write_spec(1)
    read_only(postgres_server, database, "on")
    with coordinator(url, "--json") as waiting:
        waiting.hear("can't be reached")
        waiting.signal(signal.SIGINT)
        ended = waiting.end(60)
    with coordinator(url) as run:
        run.hear("can't be reached")
        read_only(postgres_server, database, "off")
        run.hear("Workers take the debates")
        with worker(url):
            held = run.end()

    assert ended.code == 130 and json.loads(ended.out)["status"] == "interrupted", ended.err
    assert "Traceback" not in ended.err and "Traceback" not in held.err
    assert held.code == 0, held.err


def test_reached_once_nothing_waits(here: Path, postgres_server: Postgres, database: str) -> None:
    """A database that can be read and takes no writes is not told to be reached again while something waits to be
    written, and what is given up does not count as saved."""
    told = list[str]()

    async def play() -> None:
        async with opened(postgres_server.url(database), told.append) as found:

            async def write() -> None:
                async with found.transaction() as connection:
                    await connection.execute(b"SET TRANSACTION READ ONLY; CREATE TABLE written (n int)")

            writing = asyncio.create_task(found.retried_until_reached(write))
            while not told:
                await asyncio.sleep(0.01)
            assert await found.retried_until_reached(lambda: found.rows("SELECT 1")) == [(1,)]
            found.reached()
            assert len(told) == 1 and "can't be reached" in told[0]
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            found.reached()

    asyncio.run(asyncio.wait_for(play(), 20))
    assert len(told) == 2 and "can be reached again" in told[1] and "saved" not in told[1]


def test_a_line_that_comes_after_a_lost_answer(
    here: Path, postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is appended while an earlier one is written anew, whose writing was not confirmed, does not cost the
    worker its journal."""
    from psycopg import OperationalError

    monkeypatch.setattr(database_module, "RETRY", 0.2)
    held = contests.tournament()
    debate, broken = held.schedule[0], [0]

    async def play() -> int:
        async with uploaded(postgres_server.url(database), held) as (found, sync):
            whole = found.transaction

            @asynccontextmanager
            async def breaking() -> AsyncIterator[Any]:
                async with whole() as connection:
                    yield connection
                broken[0] += 1
                if broken[0] == 1:
                    raise OperationalError("the connection is lost")

            store = DatabaseJournals(found, sync.id, await registered(found))
            async with store.open(debate.id, lambda: held.make_opened(debate)) as journal:
                monkeypatch.setattr(found, "transaction", breaking)
                journal.append(asked(0))
                writing = asyncio.create_task(journal.handed_over())
                while not broken[0]:
                    await asyncio.sleep(0.01)
                journal.append(asked(1))
                await writing
                await journal.handed_over()
                return len(journal.events)

    assert asyncio.run(asyncio.wait_for(play(), 20)) == 3
    assert [len(events) for events in written(postgres_server, database)] == [3]


def test_a_job_of_a_tournament_that_is_not_there(
    here: Path, postgres_server: Postgres, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker passes over a job that names a tournament which the database does not have, and says so in a
    sentence."""
    held, told = contests.tournament(), list[str]()

    async def play() -> None:
        async with uploaded(postgres_server.url(database), held) as (found, sync):
            args = '{"tournament": "nosuch", "debate": "x"}'
            insert = "INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES (%(q)s, %(t)s, %(a)s)"
            await found.execute(insert, q=queue_of(sync.id), t=TASK, a=args)
            await Worker(found, lambda tournament: [], concurrency=1, tell=told.append).work(until_done=True)

    asyncio.run(asyncio.wait_for(play(), 20))
    assert "No debate 'x' is run: there is no tournament 'nosuch'." in told
    assert [record for record in caplog.records if record.exc_info] == []
