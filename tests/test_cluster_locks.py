"""Rows and tables in PostgreSQL that another session has locked: what needs them is tried again, and all else goes
on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import contests
import pytest
from journals import said
from test_cluster_database import CALL, asked, registered, uploaded

from debate_orchestrator.core.events import Event, Spoke
from debate_orchestrator.engine.retry import UnsavedEvents
from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster import journals as journals_module
from debate_orchestrator.tournament.cluster import queue
from debate_orchestrator.tournament.cluster.database import opened
from debate_orchestrator.tournament.cluster.folder_sync import FolderSync
from debate_orchestrator.tournament.cluster.journals import DatabaseJournals
from debate_orchestrator.tournament.cluster.limits import SharedLimiters
from debate_orchestrator.util.errors import LockedJournal

pytestmark = pytest.mark.slow

WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
"""How many sessions wait for what another one has locked."""
ROWS = "SELECT id FROM journals WHERE debate = ANY(%(debates)s) FOR UPDATE"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that were not taken are tried again soon, and for as long as a test lasts."""
    monkeypatch.setattr(journals_module, "_BLOCKED_WAITS", (0.05,) * 1_000)


@asynccontextmanager
async def locked(url: str, statement: str, **values: Any) -> AsyncIterator[None]:
    """While another session has something locked."""
    async with opened(url, lambda message: None) as database, database.transaction() as connection:
        await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await connection.execute(statement.encode(), values)
        yield


def spoke(text: str) -> Event:
    return Spoke(turn="1.opening.a", reply=said(text))


async def ends(work: Awaitable[Any]) -> Any:
    """What some work returns that must not wait for a lock."""
    return await asyncio.wait_for(work, 20)


def test_a_locked_journal_waits_alone(here: Path, url: str) -> None:
    """While another session has the row of one journal locked, the lines of others are written, and its own are once it
    is free."""
    held = contests.tournament()
    blocked, free = (debate.id for debate in held.schedule[:2])

    async def play() -> list[tuple[str, int]]:
        async with uploaded(url, held) as (database, sync):
            store = DatabaseJournals(database, sync.id, await registered(database))
            opening = [store.open(debate, lambda: held.make_opened(held.schedule[0])) for debate in (blocked, free)]
            async with opening[0] as one, opening[1] as other:
                async with locked(url, ROWS, debates=[blocked]):
                    for journal in (one, other):
                        journal.append(asked(1))
                    waiting = asyncio.ensure_future(one.handed_over())
                    for n in range(3):
                        other.append(asked(n))
                        await ends(other.handed_over())
                    assert not waiting.done()
                await ends(waiting)
            return await database.rows("SELECT debate, lines FROM journals ORDER BY id")

    assert asyncio.run(play()) == [(blocked, 2), (free, 5)]


def test_a_locked_journal_is_taken_later(here: Path, url: str) -> None:
    """A worker passes over a debate whose journal is locked, as over one that another worker has."""
    held = contests.tournament()
    debate = held.schedule[0].id

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            store = DatabaseJournals(database, sync.id, await registered(database))
            await store.take(debate)
            async with locked(url, ROWS, debates=[debate]):
                with pytest.raises(LockedJournal, match="is locked"):
                    await ends(store.take(debate))
            assert (await store.take(debate))[1] == 2

    asyncio.run(play())


def test_only_answers_of_the_locked_journal_are_lost(here: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is told to leave saves the answers of all other debates."""
    monkeypatch.setattr(journals_module, "AT_THE_END", 2.0)
    held, told = contests.tournament(), list[str]()
    debates = [debate.id for debate in held.schedule[:4]]

    async def speak(store: DatabaseJournals, debate_id: str, leaving: asyncio.Event, ready: asyncio.Semaphore) -> None:
        async with store.open(debate_id, lambda: held.make_opened(held.schedule[0])) as journal:
            ready.release()
            await leaving.wait()
            journal.append(spoke(f"It is {debate_id}."))
            ready.release()
            await asyncio.sleep(60)

    async def play() -> list[tuple[str, int, bool]]:
        async with uploaded(url, held) as (database, sync):
            store = DatabaseJournals(database, sync.id, await registered(database), UnsavedEvents(told.append))
            leaving, ready = asyncio.Event(), asyncio.Semaphore(0)
            speaking = [asyncio.ensure_future(speak(store, debate, leaving, ready)) for debate in debates]
            for _ in debates:
                await ends(ready.acquire())
            async with locked(url, ROWS, debates=debates[:1]):
                leaving.set()
                for _ in debates:
                    await ends(ready.acquire())
                for task in speaking:
                    task.cancel()
                await ends(asyncio.wait(speaking))
            return await database.rows("SELECT debate, lines, holder IS NULL FROM journals ORDER BY debate")

    found = asyncio.run(play())
    assert found == sorted((debate, 1 + (debate != debates[0]), debate != debates[0]) for debate in debates)
    assert len(told) == 1 and debates[0] in told[0] and "Lost: 1.opening.a" in told[0], told


def test_locked_journals_keep_no_connection(here: Path, url: str) -> None:
    """More locked journals are let go than there are connections, and another debate goes on meanwhile."""
    held = contests.tournament(topics=10)
    *blocked, free = [debate.id for debate in held.schedule[:13]]

    async def play() -> int:
        async with uploaded(url, held) as (database, sync):
            store = DatabaseJournals(database, sync.id, await registered(database))
            leaving = asyncio.Event()

            async def hold(debate_id: str) -> None:
                async with store.open(debate_id, lambda: held.make_opened(held.schedule[0])):
                    ready.release()
                    await leaving.wait()

            ready = asyncio.Semaphore(0)
            holding = [asyncio.ensure_future(hold(debate)) for debate in blocked]
            for _ in blocked:
                await ends(ready.acquire())
            async with locked(url, ROWS, debates=blocked):
                leaving.set()
                await asyncio.sleep(0)
                async with store.open(free, lambda: held.make_opened(held.schedule[0])) as journal:
                    for n in range(3):
                        journal.append(asked(n))
                        await ends(journal.handed_over())
                assert not any(task.done() for task in holding)
            await ends(asyncio.gather(*holding))
            return len(await database.rows("SELECT id FROM journals WHERE holder IS NULL"))

    assert asyncio.run(play()) == 13


def test_lines_wait_while_a_table_is_locked(here: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no line of any debate is taken, because a whole table is locked, no line is refused, however long that
    takes, and it is told once."""
    monkeypatch.setattr(journals_module, "_BLOCKED_WAITS", (0.0,) * 4)
    held, told, impatient = contests.tournament(), list[str](), f"{url}?options=-c%20lock_timeout%3D20ms"

    async def play() -> list[tuple[int]]:
        async with uploaded(url, held) as (_, sync), opened(impatient, told.append) as database:
            monkeypatch.setattr("debate_orchestrator.tournament.cluster.database.RETRY", 0.01)
            store, tries = DatabaseJournals(database, sync.id, await registered(database)), list[int]()
            append = store._append

            async def counted(lines: Any) -> Any:
                tries.append(len(lines))
                return await append(lines)

            opening = [
                store.open(debate.id, lambda: held.make_opened(held.schedule[0])) for debate in held.schedule[:2]
            ]
            async with opening[0] as one, opening[1] as other:
                monkeypatch.setattr(store, "_append", counted)
                async with locked(url, "LOCK TABLE lines IN ACCESS EXCLUSIVE MODE"):
                    for journal in (one, other):
                        journal.append(asked(1))
                    writing = [asyncio.ensure_future(journal.handed_over()) for journal in (one, other)]
                    while len(tries) < 40 and not any(task.done() for task in writing):
                        await asyncio.sleep(0.01)
                await ends(asyncio.gather(*writing))
            return await database.rows("SELECT lines FROM journals")

    assert asyncio.run(asyncio.wait_for(play(), 60)) == [(2,), (2,)]
    assert len(told) == 1 and "lock timeout" in told[0], told


def test_a_lock_is_not_waited_for_without_end(here: Path, url: str) -> None:
    """A worker's statements wait for a lock for some seconds, unless the address or the statement says otherwise."""

    async def timeout(address: str) -> str:
        async with opened(address, print) as database:
            ((found,),) = await database.rows("SELECT current_setting('lock_timeout')")
            return str(found)

    assert asyncio.run(timeout(url)) == "8s"
    assert asyncio.run(timeout(f"{url}?options=-c%20lock_timeout%3D1s")) == "1s"


@pytest.mark.parametrize("models", [1, 4])
def test_a_locked_tournament_holds_up_no_other(here: Path, url: str, models: int) -> None:
    """While the row of a tournament is locked, its calls wait by one connection, whatever its models, with nothing
    locked that other tournaments need; a call of another tournament is admitted."""
    specs = [contests.OPUS, *(f"anthropic:claude-m{n}" for n in range(1, models))]
    held, other = contests.tournament(rehearse=False), contests.tournament("other", rehearse=False, tag="other")

    async def play() -> tuple[int, list[bool]]:
        async with uploaded(url, held) as (database, sync), uploaded(url, other) as (aside, elsewhere):
            limiters = SharedLimiters(held.spec, database, sync.id, await registered(database), Counter())
            stop = asyncio.Event()
            await aside.execute("INSERT INTO limiters (key) SELECT unnest(%(keys)s::text[])", keys=specs)
            async with locked(url, "SELECT id FROM tournaments WHERE id = %(id)s FOR UPDATE", id=sync.id):
                asking = [asyncio.ensure_future(limiters.gate(spec).acquire(CALL, "1", stop)) for spec in specs]
                while not (waiting := (await aside.rows(WAITING))[0][0]):
                    await asyncio.sleep(0.01)
                assert len(await aside.rows("SELECT key FROM limiters FOR UPDATE NOWAIT")) == models
                free = SharedLimiters(other.spec, aside, elsewhere.id, await registered(aside), Counter())
                assert await ends(free.gate(contests.OPUS).acquire(CALL, "1", asyncio.Event()))
                assert not any(task.done() for task in asking)
                waiting = max(waiting, (await aside.rows(WAITING))[0][0])
            return waiting, await ends(asyncio.gather(*asking))

    assert asyncio.run(asyncio.wait_for(play(), 60)) == (1, [True] * models)


def test_a_debate_of_a_locked_tournament_begins_later(here: Path, url: str) -> None:
    """A worker passes over a debate that has not begun where the row of its tournament is locked, and keeps no
    connection for it; one that has begun is taken."""
    held = contests.tournament()
    begun, new = (debate.id for debate in held.schedule[:2])

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            store = DatabaseJournals(database, sync.id, await registered(database))
            await store.take(begun)
            async with locked(url, "SELECT id FROM tournaments FOR UPDATE"):
                with pytest.raises(LockedJournal, match="is locked"):
                    await ends(store.take(new))
                assert (await ends(store.take(begun)))[1] == 2
            assert (await store.take(new))[1] == 1

    asyncio.run(play())


@pytest.mark.parametrize("code", ["40P01", "40001"])
@pytest.mark.parametrize("table", ["tournaments", "procrastinate_jobs"])
def test_a_transaction_that_was_undone_is_made_again(
    here: Path, url: str, code: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the database undoes a transaction that was in another's way, it is made again. It is told once, and not as
    a database that can't be reached: debates of dead workers are taken over meanwhile."""
    monkeypatch.setattr(database_module, "RETRY", 0.01)
    held, told = contests.tournament(topics=1), list[str]()
    refuse = f"""
        CREATE SEQUENCE refused;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('refused') <= 3 THEN
                RAISE EXCEPTION USING errcode = '{code}', message = 'in the way of another';
            END IF;
            RETURN new;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()
    """

    async def play() -> list[tuple[int]]:
        async with opened(url, told.append) as database:
            async with database.transaction() as connection:
                await connection.execute(refuse.encode())
            sync = FolderSync(database, held)
            debates = [(debate.id, False) for debate in held.schedule]
            await database.retried_until_reached(lambda: sync.register(retry_failed=False))
            await database.retried_until_reached(lambda: queue.enqueue(database, sync.id, debates))
            assert not database.away
            return await database.rows("SELECT count(*) FROM procrastinate_jobs")

    assert asyncio.run(asyncio.wait_for(play(), 60)) == [(len(held.schedule),)]
    assert len(told) == 1 and "in the way of another" in told[0] and "reached" not in told[0], told
