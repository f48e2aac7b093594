"""The debates that wait for a worker: one job of Procrastinate for each, in a queue for each tournament.

A run queues its debates in passes: it watches until none is left, and queues those that stopped again as long as others
are completed meanwhile, as in a run on one machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from debate_orchestrator.tournament.cluster.database import LIVE, RETRY, Database, fetched, out_of_reach
from debate_orchestrator.tournament.cluster.folder_sync import FolderSync
from debate_orchestrator.tournament.run import DebateStatus, RunCounts, count_completed

if TYPE_CHECKING:
    from procrastinate import App, JobContext
    from procrastinate.jobs import Job, Status

TASK = "run_debate"
_BATCH = 1_000
"""Jobs that are queued by one statement."""
_SWEEP_LOCK = 0x64656262
"""The advisory lock of the one worker that looks for stalled jobs."""

RunDebate = Callable[[int, str, str], Awaitable[None]]
"""Runs a debate: the worker id, the tournament, the debate. Raises Requeue if it has to be run later."""


_OWN = """id = %(id)s AND status = 'doing' AND worker_id IS NOT DISTINCT FROM %(worker)s AND attempts = %(attempts)s"""
"""Whether a job is as it was when an execution took it. Another execution may have it since, in this worker too."""
_FINISH = f"DELETE FROM procrastinate_jobs WHERE {_OWN}"
_RETRY = f"""
UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts + 1, scheduled_at = %(at)s,
    priority = coalesce(%(priority)s, priority), queue_name = coalesce(%(queue)s, queue_name),
    lock = coalesce(%(lock)s, lock)
WHERE {_OWN}
"""


class Requeue(Exception):
    """A debate goes back into the queue."""

    def __init__(self, seconds: int = 0):
        super().__init__("the debate goes back into the queue")
        self.seconds = seconds
        """Until a worker may take it."""


def queue_of(tournament: str) -> str:
    """The name of a tournament's queue, which is short: it is part of a channel's name."""
    return f"debates-{tournament}"


def register(app: App, run_debate: RunDebate) -> None:
    """Makes `run_debate` what is done for each job. A job is put back or deleted only by the execution that has it, and
    changed by no other: Procrastinate would go by its id alone."""
    from procrastinate import BaseRetryStrategy, RetryDecision
    from procrastinate.manager import JobManager

    class RequeueAlone(BaseRetryStrategy):
        """Retries a job after Requeue, and after no other error."""

        def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
            return RetryDecision(retry_in={"seconds": exception.seconds}) if isinstance(exception, Requeue) else None

    class OwnJobs(JobManager):
        async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
            await self._change(_FINISH, job)

        async def retry_job(
            self,
            job: Job,
            retry_at: datetime | None = None,
            priority: int | None = None,
            queue: str | None = None,
            lock: str | None = None,
        ) -> None:
            await self._change(_RETRY, job, at=retry_at, priority=priority, queue=queue, lock=lock)

        async def _change(self, query: str, job: Job, **values: Any) -> None:
            own = {"id": job.id, "worker": job.worker_id, "attempts": job.attempts}
            await self.connector.execute_query_async(query, **own, **values)

    app.job_manager = OwnJobs(app.connector)

    @app.task(name=TASK, pass_context=True, retry=RequeueAlone())
    async def task(context: JobContext, *, tournament: str, debate: str) -> None:
        assert context.job.worker_id is not None
        await run_debate(context.job.worker_id, tournament, debate)


async def enqueue(database: Database, tournament: str, debates: Iterable[tuple[str, bool]]) -> None:
    """Queues debates, unless they are queued or running already. Each has its id and whether it has begun: these come
    first."""
    from procrastinate.exceptions import AlreadyEnqueued

    queue = queue_of(tournament)
    known = "SELECT queueing_lock FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status IN ('todo', 'doing')"
    queued = {lock for (lock,) in await database.rows(known, queue=queue)}
    manager = database.app.job_manager
    jobs = [
        _job(queue, tournament, debate_id, begun)
        for debate_id, begun in debates
        if f"{tournament}/{debate_id}" not in queued
    ]
    for start in range(0, len(jobs), _BATCH):
        batch = jobs[start : start + _BATCH]
        try:
            await manager.batch_defer_jobs_async(batch)
        except AlreadyEnqueued:  # another run of the same tournament queues the same debates
            for job in batch:
                with suppress(AlreadyEnqueued):
                    await manager.defer_job_async(job)


def _job(queue: str, tournament: str, debate_id: str, begun: bool) -> Job:
    from procrastinate.jobs import Job

    return Job(
        id=None,
        lock=None,  # the journal's token is what keeps two workers apart
        queueing_lock=f"{tournament}/{debate_id}",
        task_name=TASK,
        task_kwargs={"tournament": tournament, "debate": debate_id},
        queue=queue,
        priority=int(begun),
    )


_GIVE_UP = """
UPDATE procrastinate_jobs SET status = 'failed'
WHERE queue_name = %(queue)s AND status IN ('todo', 'doing') AND CASE jsonb_typeof(args)
    WHEN 'object' THEN args - '{tournament,debate}'::text[] <> '{}'
        OR jsonb_typeof(args -> 'tournament') IS DISTINCT FROM 'string'
        OR jsonb_typeof(args -> 'debate') IS DISTINCT FROM 'string'
    ELSE true END
RETURNING id
"""


async def give_up_unreadable(database: Database, tournament: str) -> int:
    """Gives up the jobs that name no debate, which this program never writes. Returns how many. Procrastinate can't
    run a job whose arguments are no mapping, and would leave it as running."""
    return len(await database.rows(_GIVE_UP, queue=queue_of(tournament)))


async def count_unfinished(database: Database, tournament: str) -> int:
    """How many debates are queued or running."""
    query = "SELECT count(*) FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status IN ('todo', 'doing')"
    ((count,),) = await database.rows(query, queue=queue_of(tournament))
    return int(count)


async def requeue_stalled(database: Database, tournament: str, lease: float) -> None:
    """Puts the debates back into the queue whose worker has given no heartbeat for `lease` seconds."""
    manager = database.app.job_manager
    async with database.transaction() as connection:
        ((alone,),) = await fetched(connection, "SELECT pg_try_advisory_xact_lock(%(lock)s)", lock=_SWEEP_LOCK)
        if alone:  # of two workers that look, the later could put back what was taken meanwhile
            queue = queue_of(tournament)
            for job in await manager.get_stalled_jobs(queue=queue, seconds_since_heartbeat=lease):
                await manager.retry_job(job)


async def work(database: Database, tournament: str, concurrency: int, lease: float) -> None:
    """Takes the debates of a tournament as a worker until it is cancelled; those under way are finished then."""
    await database.app.run_worker_async(
        queues=[queue_of(tournament)],
        concurrency=concurrency,
        install_signal_handlers=False,
        delete_jobs="always",
        fetch_job_polling_interval=min(5.0, lease),
        listen_notify=False,  # which takes a connection for each tournament; the queue is full when it is found
        update_heartbeat_interval=lease / 3,
        # A worker that was away is forgotten late: it may come back and go on with debates that no other worker took.
        stalled_worker_timeout=max(3_600.0, 10 * lease),
    )


_POLL_SECONDS = 1.0
"""Seconds between two looks at the database."""

_STATUSES = """
SELECT debate, coalesce(status, CASE WHEN lines > 0 THEN 'stopped' ELSE 'waiting' END), winner, cost, why, for_good
FROM journals WHERE tournament = %(id)s
"""
_COUNTS = f"""
SELECT count(*) FILTER (WHERE status = 'complete'), count(*) FILTER (WHERE status = 'undecided'),
    count(*) FILTER (WHERE holder IN ({LIVE})),
    count(*) FILTER (WHERE status = 'stopped' AND holder IS NULL), count(*) FILTER (WHERE status = 'unusable')
FROM journals WHERE tournament = %(id)s
"""
_CALLS = f"""
SELECT calls, failed_calls, throttled, committed, max_cost, (
    SELECT count(DISTINCT holder) FROM journals WHERE tournament = %(id)s AND holder IN ({LIVE})
), (
    SELECT coalesce(sum(count::int), 0)
    FROM limiters, jsonb_each_text(state -> 'in_flight') AS own (worker, count)
    WHERE key = ANY(%(models)s::text[])
      AND worker::bigint IN (SELECT holder FROM journals WHERE tournament = %(id)s AND holder IN ({LIVE}))
) FROM tournaments WHERE id = %(id)s
"""


class Passes:
    """The passes of one run over its debates, and how far they are."""

    def __init__(self, folder_sync: FolderSync, *, retry_failed: bool, on_fetched: Callable[[str], None]):
        """`on_fetched` is called with the id of each debate whose journal has come into the folder."""
        self._folder_sync, self._database, self._retry_failed = folder_sync, folder_sync.database, retry_failed
        self._on_fetched = on_fetched
        self._began = time.monotonic()
        self._before: tuple[int, tuple[int, int, int]] | None = None
        """Debates that were complete when the run began; calls, failed calls and throttled ones that were counted."""
        self.statuses: dict[str, DebateStatus] = {}
        """How the debates stand that have begun, by the database."""
        spec = folder_sync.tournament.spec
        self.numbers = RunCounts(len(folder_sync.tournament.schedule), max_cost=spec.max_cost, workers=0)

    async def run(self) -> None:
        """Returns when no more debates can be completed for now."""
        first = True
        while True:
            await self._database.retried_until_reached(self._look)
            done, pending = count_completed(self.statuses.values()), self._pending(again=first)
            if not pending:
                return
            await self._database.retried_until_reached(partial(self._enqueue, pending))
            await self._until_run()
            await self._database.retried_until_reached(self._look)
            if count_completed(self.statuses.values()) == done:
                return
            first = False

    async def _enqueue(self, pending: list[tuple[str, bool]]) -> None:
        await self._folder_sync.register(retry_failed=self._retry_failed)
        await enqueue(self._database, self._folder_sync.id, pending)

    def _pending(self, *, again: bool) -> list[tuple[str, bool]]:
        """The debates that are left, and whether each has begun; with `again` those too that stopped for good."""
        found = []
        for scheduled in self._folder_sync.tournament.schedule:
            debate_status = self.statuses.get(scheduled.id)
            if debate_status is None:
                found.append((scheduled.id, False))
            elif debate_status.status == "undecided" and self._retry_failed and again:
                found.append((scheduled.id, True))
            elif not debate_status.is_complete and (again or not debate_status.for_good):
                found.append((scheduled.id, debate_status.status != "waiting"))
        return found

    async def _until_run(self) -> None:
        """Watches until no debate is queued or running, and fetches what is complete."""
        while True:
            try:
                for debate_id in await self._folder_sync.fetch():
                    self._on_fetched(debate_id)
                await self._count()
                unfinished = await count_unfinished(self._database, self._folder_sync.id)
                self._database.reached()
                if not unfinished:
                    return
            except out_of_reach() as error:
                self._database.lost(error)
                await asyncio.sleep(RETRY)
            await asyncio.sleep(_POLL_SECONDS)

    async def _look(self) -> None:
        """Reads how the debates stand."""
        rows = await self._database.rows(_STATUSES, id=self._folder_sync.id)
        for debate_id, status, winner, cost, why, for_good in rows:
            self.statuses[debate_id] = DebateStatus(status, winner, cost, tuple(why), for_good)
        await self._count()

    async def _count(self) -> None:
        """Reads how far the debates are."""
        id = self._folder_sync.id
        models = sorted({spec for specs in self._folder_sync.tournament.spec.everyone.values() for spec in specs})
        ((complete, undecided, running, stopped, unusable),) = await self._database.rows(_COUNTS, id=id)
        ((calls, failed, throttled, usd, cap, workers, in_flight),) = await self._database.rows(
            _CALLS, id=id, models=models
        )
        done, counted = complete + undecided, (calls, failed, throttled)
        if self._before is None:
            self._before = done, counted
        seconds = time.monotonic() - self._began
        here = done - self._before[0]
        calls, failed, throttled = (now - before for now, before in zip(counted, self._before[1], strict=True))
        self.numbers = RunCounts(
            debates=self.numbers.debates,
            complete=done,
            undecided=undecided,
            running=running,
            stopped=stopped,
            unusable=unusable,
            calls=calls,
            in_flight=int(in_flight),
            failed_calls=failed,
            throttled=throttled,
            calls_a_minute=round(calls * 60 / max(1.0, seconds), 1),
            usd=round(usd, 6),
            max_cost=cap,
            seconds=round(seconds, 1),
            seconds_left=round(seconds / here * (self.numbers.debates - done)) if here else None,
            workers=workers,
        )
