"""Workers that are frozen or cut off for longer than the lease, while replies take longer than that too: a debate that
another worker has meanwhile stays with it, and so does one that another execution in the same worker has."""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime
from pathlib import Path

import contests
import pytest
from messages_server import Server
from postgres import Postgres, line
from started import started
from test_cluster_database import registered, unheard_of, uploaded
from test_cluster_workers import coordinator, outcomes, until, worker, write_spec, written

from debate_orchestrator.tournament.cluster.queue import enqueue, queue_of, register, requeue_stalled

pytestmark = pytest.mark.slow

SHORT_LEASE = ("--lease", "2")
LONG_REPLY = 6.0
"""Seconds of a reply, which is longer than that lease, and than a debate waits that another worker has."""
PUT_BACK = "UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts + 1 WHERE status = 'doing'"
"""What another worker does with the jobs of one that was frozen."""
PUT_BACK_JOBS = "SELECT count(*) FROM procrastinate_jobs WHERE attempts > 0"


@pytest.mark.parametrize("ends", ["retried", "finished"])
@pytest.mark.parametrize("taker", ["another worker", "the same worker"])
def test_an_execution_ends_its_own_job_alone(
    here: Path, postgres_server: Postgres, database: str, taker: str, ends: str
) -> None:
    """An execution whose job was put back and taken again changes nothing about it, and reports no error. The one that
    has the job now ends it."""
    from procrastinate.jobs import Status

    held = contests.tournament()

    async def play() -> tuple[list[tuple[object, ...]], int]:
        async def no_debate(worker_id: int, tournament: str, debate_id: str) -> None:
            raise AssertionError("no job is run")

        async with uploaded(postgres_server.url(database), held) as (db, sync):
            register(db.app, no_debate)
            await enqueue(db, sync.id, [(held.schedule[0].id, False)])
            manager, queues = db.app.job_manager, [queue_of(sync.id)]
            early = late = await registered(db)
            stale = await manager.fetch_job(queues, early)
            await unheard_of(db, early)
            await requeue_stalled(db, sync.id, 1.0)
            if taker == "another worker":
                late = await registered(db)
            current = await manager.fetch_job(queues, late)
            assert stale is not None and current is not None and current.id == stale.id
            if ends == "retried":
                await manager.retry_job(stale)
            else:
                await manager.finish_job(stale, Status.SUCCEEDED, delete_job=True)
            rows = await db.rows("SELECT status, worker_id = %(late)s, attempts FROM procrastinate_jobs", late=late)
            await manager.finish_job(current, Status.SUCCEEDED, delete_job=True)
            ((left,),) = await db.rows("SELECT count(*) FROM procrastinate_jobs")
            return rows, left

    assert asyncio.run(play()) == ([("doing", True, 1)], 0)


def test_a_job_is_put_back_as_it_is_told(here: Path, postgres_server: Postgres, database: str) -> None:
    """A job that is put back takes the time, priority, queue and lock that it is given, and keeps the others."""
    held, later = contests.tournament(), datetime(2040, 1, 1, tzinfo=UTC)

    async def play() -> list[tuple[object, ...]]:
        async def no_debate(worker_id: int, tournament: str, debate_id: str) -> None:
            raise AssertionError("no job is run")

        async with uploaded(postgres_server.url(database), held) as (db, sync):
            register(db.app, no_debate)
            await enqueue(db, sync.id, [(debate.id, False) for debate in held.schedule[:2]])
            manager, queues, worker_id = db.app.job_manager, [queue_of(sync.id)], await registered(db)
            jobs = [job for _ in range(2) if (job := await manager.fetch_job(queues, worker_id))]
            await manager.retry_job(jobs[0], later)
            await manager.retry_job(jobs[1], later, priority=7, queue="other", lock="own")
            found = await db.rows("SELECT scheduled_at, priority, queue_name, lock FROM procrastinate_jobs ORDER BY id")
            assert found[0] == (later, jobs[0].priority, jobs[0].queue, jobs[0].lock)
            return found

    assert asyncio.run(play())[1] == (later, 7, "other", "own")


def test_a_worker_that_is_given_its_own_debates_again(server: Server, postgres_server: Postgres, database: str) -> None:
    """A worker whose jobs were put back, since it had not been heard of, takes them again while it runs their debates.
    These go on as if nothing had been: no reply is lost and no call repeated."""
    server.whole, url = 1.0, postgres_server.url(database)
    write_spec(1)
    with coordinator(url, *SHORT_LEASE) as run, worker(url) as working:
        for begun in (4, 14):
            until(lambda begun=begun: len(server.requests) >= begun, "calls")
            postgres_server.query(database, PUT_BACK)
        ended = run.end(120)
        working.signal(signal.SIGINT)
        told = working.end().err
    asked, back, answered = outcomes(written(postgres_server, database))

    assert ended.code == 0 and "Lost" not in told and "can't be reached" not in told, told + ended.err
    assert asked == back == answered == len(server.requests) == 6 * 8


@pytest.mark.parametrize(("fault", "slots"), [("frozen", 2), ("cut off", 50)])
def test_one_fault_costs_no_more_than_the_calls_of_its_worker(
    server: Server, postgres_server: Postgres, database: str, fault: str, slots: int
) -> None:
    """After a worker was away for longer than the lease, each debate has one worker again, also where the other one is
    full. That one loses no reply, and the first those alone of the debates that the other one took over."""
    server.whole, url = LONG_REPLY, postgres_server.url(database)
    write_spec(1)
    with (
        line(postgres_server.port) as way,
        coordinator(url, *SHORT_LEASE) as run,
        started("worker", postgres_server.url(database, way.port)) as away,
    ):
        until(lambda: len(server.requests) >= 6, "a call of each debate")
        with started("worker", url, "--at-once", str(slots)) as steady:
            steady.hear("Taking debates")
            way.cut() if fault == "cut off" else away.stop()
            until(lambda: postgres_server.query(database, PUT_BACK_JOBS) == [(6,)], "the jobs are put back")
            way.mend() if fault == "cut off" else away.signal(signal.SIGCONT)
            until(lambda: len(server.requests) >= 24, "more calls of each debate")
            server.whole = 0.2
            ended = run.end(120)
            for leaving in (steady, away):
                leaving.signal(signal.SIGINT)
            lost = [leaving.end().err.count("Lost:") for leaving in (steady, away)]
    asked, back, answered = outcomes(written(postgres_server, database))
    ((tokens,),) = postgres_server.query(database, "SELECT max(token) FROM journals")

    taken_over = min(slots, 6)
    assert ended.code == 0 and answered == 6 * 8, ended.err
    assert lost[0] == 0 and lost[1] <= taken_over and asked - back <= taken_over
    assert len(server.requests) <= 6 * 8 + taken_over
    assert tokens <= 3  # the first worker's, that of the one that took over, and one of a job that finds it complete
