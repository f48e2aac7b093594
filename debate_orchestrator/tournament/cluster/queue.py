"""The debates that wait for a worker: one job of Procrastinate for each, in a queue for each tournament.

A job that a worker has taken is done once. If the worker is not heard of for a while, its job is given up and the
debate gets a new job, so that a worker that comes back can't end the job of another.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from debate_orchestrator.tournament.cluster.database import Database

if TYPE_CHECKING:
    from procrastinate import App, JobContext
    from procrastinate.jobs import Job

LEASE = 30.0
"""Seconds without a heartbeat after which a worker is taken for dead."""
_TASK = "run_debate"
_BATCH = 1_000
"""Jobs that are queued by one statement."""

RunDebate = Callable[[int, str, str], Awaitable[None]]
"""Runs a debate: the worker id, the tournament, the debate. Raises Requeue if it has to be run later."""


class Requeue(Exception):
    """A debate goes back into the queue."""

    def __init__(self, seconds: int = 0):
        super().__init__("the debate goes back into the queue")
        self.seconds = seconds
        """Until a worker may take it."""


def _queue_of(tournament: str) -> str:
    """The name of a tournament's queue."""
    return f"debates-{tournament}"


def register(app: App, run_debate: RunDebate) -> None:
    """Makes `run_debate` the task of every job. A job is queued again after Requeue, and after no other error."""
    from procrastinate import BaseRetryStrategy, RetryDecision

    class RequeueAlone(BaseRetryStrategy):
        def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
            return RetryDecision(retry_in={"seconds": exception.seconds}) if isinstance(exception, Requeue) else None

    @app.task(name=_TASK, pass_context=True, retry=RequeueAlone())
    async def task(context: JobContext, *, tournament: str, debate: str) -> None:
        assert context.job.worker_id is not None
        await run_debate(context.job.worker_id, tournament, debate)


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
    """How many debates are queued or running."""
    query = "SELECT count(*) FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status IN ('todo', 'doing')"
    ((count,),) = await database.rows(query, queue=_queue_of(tournament))
    return int(count)


async def count_workers(database: Database, tournament: str) -> int:
    """How many workers run debates of a tournament."""
    query = "SELECT count(DISTINCT worker_id) FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status = 'doing'"
    ((count,),) = await database.rows(query, queue=_queue_of(tournament))
    return int(count)


async def requeue_stalled(database: Database, tournament: str, lease: float) -> None:
    """Gives the jobs up whose worker has given no heartbeat for `lease` seconds, and queues their debates again."""
    from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
    from procrastinate.jobs import Status

    manager = database.app.job_manager
    for job in await manager.get_stalled_jobs(queue=_queue_of(tournament), seconds_since_heartbeat=lease):
        assert job.id is not None
        # The new job comes first: a run that counts jobs must not find none in between.
        with suppress(AlreadyEnqueued):  # another worker has found it
            await manager.defer_job_async(_job(tournament, str(job.task_kwargs["debate"]), 1))
        with suppress(ConnectorException):  # or it has ended meanwhile
            await manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=True)


async def work(database: Database, tournament: str, concurrency: int, lease: float) -> None:
    """Takes the debates of a tournament as a worker until it is cancelled; those under way are finished then."""
    await database.app.run_worker_async(
        queues=[_queue_of(tournament)],
        concurrency=concurrency,
        install_signal_handlers=False,
        delete_jobs="always",
        fetch_job_polling_interval=min(5.0, lease),
        listen_notify=False,  # which takes a connection for each tournament; the queue is full when it is found
        update_heartbeat_interval=lease / 3,
        stalled_worker_timeout=max(3_600.0, 10 * lease),
    )
