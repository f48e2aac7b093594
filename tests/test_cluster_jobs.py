"""The queue of a tournament's debates, with jobs that others made, and runs that share a folder."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import small_tournaments
from postgres import Postgres
from procrastinate import App
from procrastinate.exceptions import ConnectorException
from procrastinate.testing import InMemoryConnector
from test_cluster_shared import tournament

from debate_orchestrator.storage import running_elsewhere
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.tournament.cluster import coordinator, jobs
from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster.coordinator import Coordinator
from debate_orchestrator.tournament.cluster.database import Database, open_database


def configure(server: Postgres, database: str, setting: str) -> None:
    """Changes a setting for all sessions, which they read a moment later."""
    server.query(database, f"ALTER SYSTEM SET {setting}")
    server.query(database, "SELECT pg_reload_conf()")


async def while_commits_hang(
    server: Postgres, database: str, work: Callable[[], Awaitable[Any]]
) -> asyncio.Future[Any]:
    """Begins work while commits wait for another server, and returns it once it waits for one; none do then."""
    end = time.time() + 10
    configure(server, database, "synchronous_standby_names = 'none'")
    try:
        working = asyncio.ensure_future(work())
        while not server.query(database, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"):
            assert time.time() < end
            if working.done():
                working = asyncio.ensure_future(work())
            await asyncio.sleep(0.05)
    finally:
        configure(server, database, "synchronous_standby_names = ''")
    return working


@asynccontextmanager
async def watched(
    url: str, monkeypatch: pytest.MonkeyPatch, times: list[float]
) -> AsyncIterator[tuple[Database, int, Callable[[float], Awaitable[bool]]]]:
    """A database, the id of a worker that has taken its only debate, and what looks at its heartbeats at a time, which
    is put into `times`. It returns whether the debate waits for another worker."""
    monkeypatch.setattr(database_module, "monotonic", lambda: times[0])
    async with tournament(url, max_cost=1) as database:
        worker = await database.app.job_manager.register_worker()
        await jobs.enqueue(database, "t", [("d", False)])
        assert await database.app.job_manager.fetch_job(["debates-t"], worker)

        async def look(at: float) -> bool:
            times[0] = at
            await jobs.requeue_stalled(database, "t")
            return await database.rows("SELECT FROM procrastinate_jobs WHERE status = 'todo'") != []

        yield database, worker, look


@pytest.mark.parametrize("trouble", ["away", "hangs", "read-only"])
def test_an_outage_takes_no_debate_from_others(
    trouble: str, postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the database is away, takes no writes or hangs, no worker can give a heartbeat. The first that is back, and
    one that begins then, leaves the others their debates for a lease, and takes those of a dead one then, but none of
    one that is just giving a heartbeat. A worker without a debate finds that commits hang."""
    url, times = postgres_server.url(database), [0.0]

    async def play() -> None:
        async with watched(url, monkeypatch, times) as (stored, _, look):
            await stored.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 minute'")
            assert not any([await look(at) for at in range(0, 32, 8)])
            if trouble == "read-only":
                configure(postgres_server, database, "default_transaction_read_only = on")
                await asyncio.sleep(0.5)
                try:
                    for at in range(32, 68, 2):
                        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                            await look(at)
                finally:
                    configure(postgres_server, database, "default_transaction_read_only = off")
                await asyncio.sleep(0.5)
            if trouble == "hangs":
                hanging = await while_commits_hang(postgres_server, database, lambda: look(30))
                times[0] = 68
                assert not await hanging
            assert not any([await look(at) for at in range(68, 99, 2)])
            with psycopg.connect(url) as heartbeat:
                heartbeat.execute("UPDATE debate_orchestrator.procrastinate_workers SET last_heartbeat = now()")
                assert not await look(100)
                heartbeat.rollback()
            assert await look(100)

    asyncio.run(play())


@pytest.mark.parametrize("last_minute", ["heartbeat", "long answer", ""])
def test_a_worker_is_heard_of_as_it_is_given_up(
    last_minute: str, postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heartbeat after the look at all of them leaves a worker its debate, and so does a database that turns out to
    have been long in answering."""

    times = [0.0]

    async def play() -> bool:
        async with watched(postgres_server.url(database), monkeypatch, times) as (stored, _, look):
            silent_workers = stored.silent_workers

            def look_too_early(*seen: Any) -> Any:
                silent = silent_workers(*seen)
                if silent and last_minute == "heartbeat":
                    postgres_server.query(database, "UPDATE procrastinate_workers SET last_heartbeat = now()")
                times[0] += 11 * (bool(silent) and last_minute == "long answer")
                return silent

            monkeypatch.setattr(stored, "silent_workers", look_too_early)
            return [await look(at) for at in range(0, 33, 8)][-1]

    assert asyncio.run(play()) is not bool(last_minute)


@pytest.mark.parametrize("step", ["-1 hour", "1 minute", "1 year"])
def test_a_clock_that_is_set(
    step: str, postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the clock of the database says, a worker has its debate while it gives heartbeats, and until a lease
    after the last one."""
    set_back = f"UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat - interval '{step}'"

    async def play() -> list[int]:
        async with watched(postgres_server.url(database), monkeypatch, [0.0]) as (stored, worker, look):
            free = []
            for at in range(0, 100, 2):
                if at < 60:
                    await stored.app.job_manager.update_heartbeat(worker)
                if at in (50, 58):
                    await stored.execute(set_back)
                free += [at] if await look(at) else []
            return free

    assert asyncio.run(play())[0] == 90


def test_a_job_that_was_given_to_another_worker() -> None:
    """It is reported as that, by a database that can be reached; what else the queue fails at has its reason."""
    notices: list[str] = []
    database = Database(App(connector=InMemoryConnector()), "postgresql://h/x", notices.append)
    failure = ConnectorException()
    failure.__cause__ = psycopg.errors.RaiseException('Job was not found or not in "doing" status\nCONTEXT: line 23')
    database.note_unreachable(failure)
    assert notices == ["A debate of this worker was given to another one: this one was not heard of for a while."]
    assert not database.is_unreachable

    class ReadOnly(psycopg.errors.ReadOnlySqlTransaction):
        diag = SimpleNamespace(message_primary="cannot execute UPDATE in a read-only transaction")  # type: ignore[assignment]

    failure.__cause__ = ReadOnly(
        "cannot execute UPDATE in a read-only transaction\nCONTEXT: PL/pgSQL function x, line 3"
    )
    database.note_unreachable(failure)
    assert "(“cannot execute UPDATE in a read-only transaction”)" in notices[-1]


def test_runs_that_share_a_folder_share_its_note(postgres_server: Postgres, database: str, here: Path) -> None:
    """Runs that begin at once write one note. It stays while a later one may still queue debates, and the last one to
    end may find it gone."""

    async def play() -> list[bool]:
        async with open_database(postgres_server.url(database), lambda sentence: None) as stored:
            runs = [Coordinator(stored, small_tournaments.tournament(topics=1)) for _ in range(2)]
            await asyncio.gather(*(run.upload() for run in runs))
            earlier, later = sorted(runs, key=lambda run: run._pass)
            kept = []
            for run in (earlier, later, later):
                await run._withdraw_cluster_file()
                kept.append(Path("held", "cluster.txt").exists())
            return kept

    assert asyncio.run(play()) == [True, False, False]


def test_no_run_removes_the_note_before_another_has_queued_its_debates(
    postgres_server: Postgres, database: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run keeps the note from its registration until its debates are in the queue, where others see them. One that
    waits long for it says so."""
    notices = list[str]()
    monkeypatch.setattr(coordinator, "_SILENT_WAITS", 2)

    async def play() -> None:
        async with open_database(postgres_server.url(database), notices.append) as stored:
            run, other = (Coordinator(stored, small_tournaments.tournament(topics=1)) for _ in range(2))

            async def enqueue(*debates: Any) -> None:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(other._withdraw_cluster_file(), 0.5)

            monkeypatch.setattr(coordinator, "enqueue", enqueue)
            await run.queue(include_stopped=True)

    asyncio.run(play())
    assert Path("held", "cluster.txt").exists()
    assert notices == ["Another run of this folder, which may be suspended, keeps its cluster.txt."]


def test_a_run_that_stands_still_with_the_note(
    postgres_server: Postgres, database: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ends while another one of its folder begins leaves that one its note, however long it takes to remove
    its own: the database would end a transaction meanwhile."""
    url, threads = postgres_server.url(database), list[Thread]()

    async def with_run(work: Callable[[Coordinator], Awaitable[None]]) -> None:
        async with open_database(url, lambda sentence: None) as stored:
            await work(Coordinator(stored, small_tournaments.tournament(topics=1)))

    def remove_slowly(folder: str) -> None:
        idle = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        postgres_server.query(database, idle)
        threads.append(Thread(target=lambda: asyncio.run(with_run(Coordinator.upload))))
        threads[0].start()
        threads[0].join(2)
        running_elsewhere.remove_cluster_file(folder)

    async def play(run: Coordinator) -> None:
        await run.upload()
        monkeypatch.setattr(coordinator, "remove_cluster_file", remove_slowly)
        with suppress(psycopg.OperationalError):
            await run._withdraw_cluster_file()

    asyncio.run(with_run(play))
    threads[0].join()
    assert Path("held", "cluster.txt").exists()


@pytest.mark.parametrize("is_open", [False, True])
def test_a_debate_that_went_on_alone_is_not_queued(
    postgres_server: Postgres, database: str, here: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    """While a run waits to queue its debates, another may have ended, and removed the note. A debate of the folder that
    was run alone since then is uploaded as it is now; one that still is run alone is left to that process."""
    held = small_tournaments.tournament(topics=1)
    small_tournaments.run_tournament(held)
    journal = Path(held.journal_path(held.schedule[0].id))
    lines = journal.read_bytes()
    journal.write_bytes(b"".join(lines.splitlines(keepends=True)[:8]))
    alone = ExitStack()

    def take_lock(*which: Any) -> bool:
        if Path("held", "cluster.txt").exists() and not alone_done:
            alone_done.append(True)
            running_elsewhere.remove_cluster_file("held")
            if is_open:
                alone.enter_context(JournalWriter(journal))
            else:
                journal.write_bytes(lines)
        return take(*which)

    take, alone_done = coordinator.take_lock, list[bool]()
    monkeypatch.setattr(coordinator, "take_lock", take_lock)

    async def play() -> tuple[int, bytes]:
        async with open_database(postgres_server.url(database), lambda sentence: None) as stored:
            run = Coordinator(stored, held)
            await run.upload()
            await asyncio.wait_for(run.run(), 5)
            assert alone_done and [*run.unusable] == [held.schedule[0].id] * is_open
            text = "SELECT string_agg(line, '' ORDER BY n) FROM lines WHERE debate = %(debate)s"
            ((stored_lines,),) = await stored.rows(text, debate=held.schedule[0].id)
            alone.close()
            await run.upload()
            assert run.unusable == {}, "the lock is free"
            return (await jobs.count_queue(stored, run.id)).unfinished, bytes(stored_lines)

    with alone:
        assert asyncio.run(play()) == (0, journal.read_bytes())


def test_a_cap_that_a_later_run_has_lowered(postgres_server: Postgres, database: str, here: Path) -> None:
    """The spec, with its cap, is that of the run that began last: an earlier one does not put its own back."""

    async def play() -> list[tuple[float, ...]]:
        async with open_database(postgres_server.url(database), lambda sentence: None) as stored:
            earlier, later = (
                Coordinator(stored, small_tournaments.tournament(topics=1, max_cost=cost)) for cost in (40.0, 2.0)
            )
            for run in (earlier, later, earlier):
                await run.upload()
            caps = "SELECT max_cost, (spec::json ->> 'max_cost')::float, pass FROM tournaments"
            return await stored.rows(caps)

    assert asyncio.run(play()) == [(2.0, 2.0, 2)]


def test_a_journal_that_can_not_be_used_counts(postgres_server: Postgres, database: str, here: Path) -> None:
    """What may have been paid for it counts towards the cap in a database that begins with the folder, once."""
    held = small_tournaments.tournament(topics=1, rehearse=False, max_cost=1.0)
    Path(held.journal_path(held.schedule[0].id)).write_bytes(b"{}\n")

    async def play() -> list[tuple[Any, ...]]:
        async with open_database(postgres_server.url(database), lambda sentence: None) as stored:
            for _ in range(2):
                await Coordinator(stored, held).upload()
            return await stored.rows("SELECT spent FROM tournaments")

    expected = small_tournaments.runner(held).statuses[held.schedule[0].id].cost
    assert expected > 0 and asyncio.run(play()) == [(expected,)]
