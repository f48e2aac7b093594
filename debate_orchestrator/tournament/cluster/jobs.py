"""The queue of the debates that wait for a worker, in the database that machines share.

Each such debate is one job of Procrastinate, in a queue for each tournament; its `queueing_lock` names the debate.
A job that a worker has taken is done once. If the worker is not heard of for a while, its job is given up and the
debate gets a new job, so that a worker that comes back can't end the job of another.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from debate_orchestrator.tournament.cluster.database import LEASE_SECONDS, Database

if TYPE_CHECKING:
    from procrastinate import App, JobContext
    from procrastinate.jobs import Job

_FORGET_SECONDS = 7 * 86_400.0
"""Seconds without a heartbeat after which the row of a worker is removed, and no heartbeat counts any more: longer than
a database is down."""
_TASK = "run_debate"
_AT_ONCE = datetime(2000, 1, 1, tzinfo=UTC)
"""A time that is past by every clock."""
_HEARTBEATS = """
SELECT id, last_heartbeat::text FROM procrastinate_workers
WHERE id IN (SELECT worker_id FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status = 'doing')
FOR KEY SHARE
"""
"""Lets others give heartbeats, and fails or waits as one does where the database takes no writes."""
_GIVE_UP = """
WITH dead AS (
    SELECT id FROM procrastinate_workers JOIN unnest(%(workers)s::bigint[], %(heartbeats)s::text[])
        AS silent (worker, heartbeat) ON id = worker AND last_heartbeat::text = heartbeat
    FOR UPDATE OF procrastinate_workers SKIP LOCKED
), given_up AS (
    DELETE FROM procrastinate_jobs
    WHERE queue_name = %(queue)s::text AND status = 'doing'
        AND (worker_id IS NULL OR worker_id IN (SELECT id FROM dead))
    RETURNING queueing_lock
)
INSERT INTO procrastinate_jobs (queue_name, task_name, priority, queueing_lock)
SELECT %(queue)s::text, %(task)s, 1, queueing_lock FROM given_up ON CONFLICT DO NOTHING
"""
"""The row of a worker is locked while it gives a heartbeat, or while another gives its jobs up."""
_QUEUE = """
INSERT INTO procrastinate_jobs (queue_name, task_name, priority, queueing_lock)
SELECT %(queue)s::text, %(task)s, priority, debate FROM unnest(%(debates)s::text[], %(priorities)s::int[])
    AS ours (debate, priority)
WHERE NOT EXISTS (
    SELECT FROM procrastinate_jobs WHERE queue_name = %(queue)s::text AND queueing_lock = debate AND status = 'doing'
) ON CONFLICT DO NOTHING
"""
"""No two jobs that wait have the same `queueing_lock`."""
_COUNTS = """
SELECT count(*), count(*) FILTER (WHERE status = 'doing'), count(DISTINCT worker_id) FILTER (WHERE status = 'doing')
FROM procrastinate_jobs WHERE queue_name = %(queue)s::text AND status IN ('todo', 'doing')
"""

RunDebate = Callable[[int, str, str], Awaitable[None]]
"""Runs a debate: the worker id, the tournament, the debate. Raises Requeue if it has to be run later."""


class Requeue(Exception):
    """A debate goes back into the queue."""


def _queue_of(tournament: str) -> str:
    return f"debates-{tournament}"


def register(app: App, run_debate: RunDebate) -> None:
    """Makes `run_debate` the task of every job. A job is queued again after Requeue, and after no other error."""
    from procrastinate import BaseRetryStrategy, RetryDecision

    class RequeueAlone(BaseRetryStrategy):
        def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
            return RetryDecision(retry_at=_AT_ONCE) if isinstance(exception, Requeue) else None

    @app.task(name=_TASK, pass_context=True, retry=RequeueAlone())
    async def task(context: JobContext, /) -> None:
        job = context.job
        assert job.worker_id is not None
        tournament = job.queue.removeprefix(_queue_of(""))
        await run_debate(job.worker_id, tournament, (job.queueing_lock or "").removeprefix(f"{tournament}/"))


async def enqueue(database: Database, tournament: str, debates: Iterable[tuple[str, bool]]) -> None:
    """Queues debates, unless they are queued or running already. Each has its id and whether it has begun: these come
    first."""
    priorities = {f"{tournament}/{debate_id}": int(is_begun) for debate_id, is_begun in debates}
    values = {"debates": list(priorities), "priorities": list(priorities.values())}
    await database.execute(_QUEUE, queue=_queue_of(tournament), task=_TASK, **values)


class QueueCounts(NamedTuple):
    unfinished: int
    """Debates that are queued or running."""
    running: int
    workers: int
    """Those that run debates of the tournament."""


async def count_queue(database: Database, tournament: str) -> QueueCounts:
    (counts,) = await database.rows(_COUNTS, queue=_queue_of(tournament))
    return QueueCounts(*counts)


async def requeue_stalled(database: Database, tournament: str) -> None:
    """Gives the jobs up whose worker has given no heartbeat for `LEASE_SECONDS`, and queues their debates again."""
    queue = _queue_of(tournament)
    silent = database.silent_workers(tournament, await database.rows(_HEARTBEATS, queue=queue))
    async with database.transaction() as connection:
        workers, last = [worker for worker, _ in silent], [heartbeat for _, heartbeat in silent]
        values = {"queue": queue, "task": _TASK, "workers": workers, "heartbeats": last}
        await connection.execute(_GIVE_UP.encode(), values)
        if not database.has_just_looked(tournament):  # the database was long in answering
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
