"""The queue of the debates that wait for a worker, in the database that machines share.

Each such debate is one job of Procrastinate, in a queue for each tournament. A job that a worker has taken is done
once. If the worker is not heard of for a while, its job is given up and the debate gets a new job, so that a worker
that comes back can't end the job of another.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from debate_orchestrator.tournament.cluster.database import LEASE_SECONDS, Database, fetch_rows, job_arguments
from debate_orchestrator.util.sanitize import quoted

if TYPE_CHECKING:
    from procrastinate import App, JobContext
    from procrastinate.jobs import Job

_LOG = logging.getLogger(__name__)
_FORGET_SECONDS = 7 * 86_400.0
"""Seconds without a heartbeat after which the row of a worker is removed, and no heartbeat counts any more: longer than
a database is down."""
_TASK = "run_debate"
_END_LONG_WAITS = """
UPDATE procrastinate_jobs SET scheduled_at = NULL
WHERE queue_name = %(queue)s AND status = 'todo' AND scheduled_at > now() + 10 * %(lease)s * interval '1 second'
"""
"""Takes back times further ahead than this program sets any: a job would wait."""
_PROBE = b"SELECT pg_logical_emit_message(true, 'debate_orchestrator', '')"
"""Writes a record to the log that is read by nothing. Its commit waits as that of a heartbeat does, where the disk or a
standby hangs; one that has written nothing would not wait."""
_HEARTBEATS = """
SELECT id, last_heartbeat::text FROM procrastinate_workers
WHERE id IN (SELECT worker_id FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status = 'doing')
"""
_GIVE_UP = """
WITH dead AS (
    SELECT id FROM procrastinate_workers JOIN unnest(%(workers)s::bigint[], %(heartbeats)s::text[])
        AS silent (worker, heartbeat) ON id = worker AND last_heartbeat::text = heartbeat
    FOR UPDATE OF procrastinate_workers SKIP LOCKED
)
DELETE FROM procrastinate_jobs
WHERE queue_name = %(queue)s AND status = 'doing' AND (worker_id IS NULL OR worker_id IN (SELECT id FROM dead))
RETURNING task_name, args::text
"""
"""The row of a worker is locked while it gives a heartbeat, or while another gives its jobs up."""
_QUEUE = """
INSERT INTO procrastinate_jobs (queue_name, task_name, priority, queueing_lock, args)
VALUES (%(queue)s, %(task)s, %(priority)s, %(lock)s, %(arguments)s::jsonb) ON CONFLICT DO NOTHING
"""
_BATCH = 1_000
"""Jobs that are queued by one statement."""
_MAX_ID_LENGTH = 1_000
"""Characters of the id of a debate in the queue."""

RunDebate = Callable[[int, str, str], Awaitable[None]]
"""Runs a debate: the worker id, the tournament, the debate. Raises Requeue if it has to be run later."""


class Requeue(Exception):
    """A debate goes back into the queue."""

    def __init__(self, seconds: int = 0):
        super().__init__("the debate goes back into the queue")
        self.seconds = seconds
        """Until a worker may take it."""


def _queue_of(tournament: str) -> str:
    return f"debates-{tournament}"


def _debate_of(task: str, queue: str, arguments: Mapping[str, Any]) -> str | None:
    """The id of a job's debate; None if this program made no such job of that queue, so that it can't be run."""
    tournament, debate_id = (arguments.get(name) for name in ("tournament", "debate"))
    if not (isinstance(tournament, str) and isinstance(debate_id, str) and len(debate_id) <= _MAX_ID_LENGTH):
        return None
    return debate_id if (task, queue) == (_TASK, _queue_of(tournament)) else None


def register(app: App, run_debate: RunDebate) -> None:
    """Makes `run_debate` the task of every job. A job is queued again after Requeue, and after no other error."""
    from procrastinate import BaseRetryStrategy, RetryDecision

    class RequeueAlone(BaseRetryStrategy):
        def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
            return RetryDecision(retry_in={"seconds": exception.seconds}) if isinstance(exception, Requeue) else None

    @app.task(name=_TASK, pass_context=True, retry=RequeueAlone())
    async def task(context: JobContext, /, **_: object) -> None:
        job = context.job
        assert job.worker_id is not None
        if (debate_id := _debate_of(job.task_name, job.queue, job.task_kwargs)) is None:
            _LOG.warning("Job %s of the queue %s names no debate, and is removed.", job.id, quoted(job.queue))
            return
        await run_debate(job.worker_id, job.queue.removeprefix(_queue_of("")), debate_id)


async def enqueue(database: Database, tournament: str, debates: Iterable[tuple[str, bool]]) -> None:
    """Queues debates, unless they are queued or running already. Each has its id and whether it has begun: these come
    first."""
    from procrastinate.exceptions import AlreadyEnqueued

    query = (
        "SELECT args ->> 'debate' FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status IN ('todo', 'doing')"
    )
    queued = {debate_id for (debate_id,) in await database.rows(query, queue=_queue_of(tournament))}
    manager = database.app.job_manager
    jobs = [_job(tournament, debate_id, int(is_begun)) for debate_id, is_begun in debates if debate_id not in queued]
    for start in range(0, len(jobs), _BATCH):
        try:
            await manager.batch_defer_jobs_async(jobs[start : start + _BATCH])
        except AlreadyEnqueued:  # another run of the same tournament queues the same debates
            for job in jobs[start : start + _BATCH]:
                with suppress(AlreadyEnqueued):
                    await manager.defer_job_async(job)


def _job(tournament: str, debate_id: str, priority: int) -> Job:
    from procrastinate.jobs import Job

    return Job(
        id=None,
        lock=None,
        queueing_lock=f"{tournament}/{debate_id}",
        task_name=_TASK,
        task_kwargs={"tournament": tournament, "debate": debate_id},
        queue=_queue_of(tournament),
        priority=priority,
    )


async def count_unfinished(database: Database, tournament: str) -> int:
    """The number of debates that are queued or running."""
    query = "SELECT count(*) FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status IN ('todo', 'doing')"
    ((count,),) = await database.rows(query, queue=_queue_of(tournament))
    return int(count)


async def count_workers(database: Database, tournament: str) -> int:
    """The number of workers that run debates of a tournament."""
    query = "SELECT count(DISTINCT worker_id) FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status = 'doing'"
    ((count,),) = await database.rows(query, queue=_queue_of(tournament))
    return int(count)


async def requeue_stalled(database: Database, tournament: str) -> None:
    """Gives the jobs up whose worker has given no heartbeat for `LEASE_SECONDS`, and queues their debates again;
    none while the workers may have been kept from giving one."""
    queue = _queue_of(tournament)
    async with database.transaction() as connection:
        await connection.execute(_END_LONG_WAITS.encode(), {"queue": queue, "lease": LEASE_SECONDS})
        await connection.execute(_PROBE)
        heartbeats = await fetch_rows(connection, _HEARTBEATS, queue=queue)
    silent = database.silent_workers(tournament, heartbeats)
    if not database.has_taken_heartbeats():
        return
    async with database.transaction() as connection:
        workers, last = [worker for worker, _ in silent], [heartbeat for _, heartbeat in silent]
        rows = await fetch_rows(connection, _GIVE_UP, queue=queue, workers=workers, heartbeats=last)
        debates = [_debate_of(task, queue, job_arguments(arguments)) for task, arguments in rows]
        for job in (_job(tournament, debate_id, 1) for debate_id in debates if debate_id is not None):
            fields = {"queue": queue, "task": job.task_name, "priority": job.priority, "lock": job.queueing_lock}
            await connection.execute(_QUEUE.encode(), {**fields, "arguments": json.dumps(job.task_kwargs)})
        if not database.has_taken_heartbeats():  # the database may have been long in answering
            await connection.rollback()


async def take_debates(database: Database, tournament: str, concurrency: int) -> None:
    """Takes the debates of a tournament as a worker until it is cancelled; those under way are finished then."""
    await database.app.run_worker_async(
        queues=[_queue_of(tournament)],
        concurrency=concurrency,
        install_signal_handlers=False,
        delete_jobs="always",
        fetch_job_polling_interval=min(5.0, LEASE_SECONDS),
        listen_notify=False,  # which takes a connection for each tournament; the queue is full when it is found
        update_heartbeat_interval=LEASE_SECONDS / 3,
        stalled_worker_timeout=_FORGET_SECONDS,
    )
