"""The debates that wait for a worker: one job of Procrastinate for each, in a queue for each tournament."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from debate_orchestrator.tournament.cluster.database import Database, fetched

if TYPE_CHECKING:
    from procrastinate import App, JobContext
    from procrastinate.jobs import Job

TASK = "run_debate"
_BATCH = 1_000
"""Jobs that are queued by one statement."""
_SWEEP_LOCK = 0x64656262
"""The advisory lock of the one worker that looks for stalled jobs."""

RunDebate = Callable[[int, str, str], Awaitable[None]]
"""Runs a debate: the worker's number, the tournament, the debate. Raises Requeue if it has to be run later."""


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
    """Makes `run_debate` what is done for each job."""
    from procrastinate import BaseRetryStrategy, RetryDecision

    class RequeueAlone(BaseRetryStrategy):
        """Retries a job after Requeue, and after no other error."""

        def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
            return RetryDecision(retry_in={"seconds": exception.seconds}) if isinstance(exception, Requeue) else None

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
        _job(queue, tournament, debate, begun) for debate, begun in debates if f"{tournament}/{debate}" not in queued
    ]
    for start in range(0, len(jobs), _BATCH):
        batch = jobs[start : start + _BATCH]
        try:
            await manager.batch_defer_jobs_async(batch)
        except AlreadyEnqueued:  # another run of the same tournament queues the same debates
            for job in batch:
                try:
                    await manager.defer_job_async(job)
                except AlreadyEnqueued:
                    pass


def _job(queue: str, tournament: str, debate: str, begun: bool) -> Job:
    from procrastinate.jobs import Job

    return Job(
        id=None,
        lock=None,  # the journal's token is what keeps two workers apart
        queueing_lock=f"{tournament}/{debate}",
        task_name=TASK,
        task_kwargs={"tournament": tournament, "debate": debate},
        queue=queue,
        priority=int(begun),
    )


async def left(database: Database, tournament: str) -> int:
    """How many debates are queued or running."""
    query = "SELECT count(*) FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status IN ('todo', 'doing')"
    ((count,),) = await database.rows(query, queue=queue_of(tournament))
    return int(count)


async def requeue_stalled(database: Database, tournament: str, lease: float) -> int:
    """Puts the debates back into the queue whose worker has given no heartbeat for `lease` seconds; how many."""
    manager, count = database.app.job_manager, 0
    async with database.transaction() as connection:
        ((alone,),) = await fetched(connection, "SELECT pg_try_advisory_xact_lock(%(lock)s)", lock=_SWEEP_LOCK)
        if alone:  # of two workers that look, the later could put back what was taken meanwhile
            queue = queue_of(tournament)
            for job in await manager.get_stalled_jobs(queue=queue, seconds_since_heartbeat=lease):
                await manager.retry_job(job)
                count += 1
    return count


async def work(database: Database, tournament: str, at_once: int, lease: float) -> None:
    """Takes the debates of a tournament as a worker until it is cancelled; those under way are finished then."""
    await database.app.run_worker_async(
        queues=[queue_of(tournament)],
        concurrency=at_once,
        install_signal_handlers=False,
        delete_jobs="always",
        fetch_job_polling_interval=min(5.0, lease),
        update_heartbeat_interval=lease / 3,
        # A worker that was away is forgotten late: it may come back and go on with debates that no other worker took.
        stalled_worker_timeout=max(3_600.0, 10 * lease),
    )
