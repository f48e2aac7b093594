"""A worker: takes debates of tournaments from the queue and runs them, until it is stopped.

It says that it is alive by a heartbeat. Debates whose worker has none are put back into the queue by other workers, and
go on there from the last line of their journals.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions
from debate_orchestrator.tournament.cluster.database import (
    END_SECONDS,
    LEASE_SECONDS,
    RETRY_SECONDS,
    Database,
    out_of_reach,
)
from debate_orchestrator.tournament.cluster.jobs import (
    Requeue,
    count_queue,
    register,
    requeue_stalled,
    take_debates,
)
from debate_orchestrator.tournament.cluster.shared import ClusterBudget, DatabaseJournals, record_status
from debate_orchestrator.tournament.folder import Tournament, spec_from_text
from debate_orchestrator.tournament.run import DebateStatus, OnChange, TournamentRun, stopped_by_internal_error
from debate_orchestrator.util.errors import BadSettings, UserError, short_repr
from debate_orchestrator.util.sanitize import quoted

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 2.0
"""The polling interval for tournaments and for debates of dead workers, and the longest heartbeat interval."""
_JOB_POLL_SECONDS = 0.05
"""The polling interval for the end of the debates under way."""

_OPEN = """
SELECT id FROM tournaments WHERE EXISTS (
    SELECT FROM procrastinate_jobs WHERE queue_name = 'debates-' || tournaments.id AND status IN ('todo', 'doing')
) ORDER BY id
"""
_LATEST = "SELECT tag, pass, retry_undecided FROM tournaments WHERE id = %(id)s"
_TAKE_OVER = """
WITH left_over AS (DELETE FROM calls WHERE tournament = %(tournament)s AND debate = %(debate)s)
SELECT count(*) FROM lines WHERE tournament = %(tournament)s AND debate = %(debate)s
"""
"""The number of lines of a debate. Calls that a dead worker has left of it are under way no more, and count as
expected."""


class _Pass(NamedTuple):
    """The latest pass of a tournament, in which its unfinished debates were queued, and its run here."""

    tag: str
    number: int
    problems: list[str]
    """The reasons that it can't run here."""
    run: TournamentRun | None
    """None if there are any."""
    budget: ClusterBudget


class Worker:
    """Takes debates of every tournament that it may and can run."""

    def __init__(
        self,
        database: Database,
        find_problems: Callable[[Tournament], list[str]],
        *,
        concurrency: int,
        permissions: Permissions = NO_PERMISSIONS,
        on_change: OnChange = lambda scheduled, debate_status, event: None,
        notify: Callable[[str], None] = _LOG.info,
    ):
        """`find_problems` returns why a tournament can't run here: a missing key, no consent. `concurrency` debates of
        each tournament run at the same time. `notify` gets sentences for people."""
        self._database, self._find_problems, self._concurrency = database, find_problems, concurrency
        self._permissions, self._on_change, self._notify = permissions, on_change, notify
        self._stop = asyncio.Event()
        self._passes: dict[str, _Pass] = {}
        """By tournament, the pass that was loaded last."""
        self._loading = asyncio.Lock()
        self._runs: list[TournamentRun] = []
        self._taking: dict[str, asyncio.Task[None]] = {}
        """By tournament, what takes its debates."""
        self._jobs: dict[asyncio.Task[Any], int] = {}
        """The debates under way, with the worker id under which each runs."""
        self._tasks: set[asyncio.Task[Any]] = set()
        """Those, and all others of this worker that have not ended; `_finish_writing` waits for them."""
        self._cancelled = asyncio.Event()
        self._last_write: float | None = None
        """The time at which this worker stops writing, once its debates are cancelled: a time of the event loop."""
        register(database.app, self._run_job)

    @property
    def lost_count(self) -> int:
        """The number of replies that could not be stored; each was reported."""
        return sum(run.lost_count for run in self._runs)

    def stop(self) -> None:
        """Takes no more debates, and makes no more calls. Replies under way are awaited."""
        self._stop.set()

    def cancel_jobs(self) -> None:
        """Stops, and cancels the debates under way with their calls."""
        self._stop.set()
        self._cancelled.set()
        if self._last_write is None:
            self._last_write = asyncio.get_running_loop().time() + END_SECONDS
        for job in self._jobs:
            job.cancel()

    async def work(self, *, until_done: bool = False) -> None:
        """Works until it is stopped, or with `until_done` until no debate is left that it can run. Raises BadSettings
        if at the beginning there are only tournaments that it can't run."""
        heartbeats = self._begin_task(self._send_heartbeats())
        serving = asyncio.create_task(self._serve(until_done=until_done))
        cancellation = asyncio.create_task(self._cancelled.wait())
        self._keep_task(cancellation)
        try:
            await asyncio.wait({serving, cancellation}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
        finally:
            self.stop()
            cancellation.cancel()
            if not serving.done():
                serving.cancel()
                self._keep_task(serving)
            for tournament in list(self._taking):
                self._stop_taking(tournament)
            while self._jobs and not self._cancelled.is_set():  # replies under way are awaited
                await asyncio.sleep(_JOB_POLL_SECONDS)
            heartbeats.cancel()
            await self._finish_writing()

    async def _finish_writing(self) -> None:
        """Waits until the end of all debates and calls is written down. What the database has not taken in time is
        left: other workers find the debates when their lease is over."""
        loop = asyncio.get_running_loop()
        last_write = self._last_write if self._last_write is not None else loop.time() + END_SECONDS
        while tasks := self._unfinished_tasks():
            if (seconds := last_write - loop.time()) <= 0:
                seconds = _JOB_POLL_SECONDS
                for task in tasks:
                    task.cancel()  # again and again: Procrastinate goes on to the next step of its own end
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    def _unfinished_tasks(self) -> set[asyncio.Task[Any]]:
        counting = (current.budget.counting for current in self._passes.values())
        return self._tasks.union(task for task in counting if task is not None and not task.done())

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._keep_task(task)
        return task

    def _keep_task(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._end_task)

    def _end_task(self, task: asyncio.Task[Any]) -> None:
        """Forgets a task that has ended. Its error, that the database could not be reached, is
        reported by `note_unreachable`."""
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, out_of_reach()):
            self._database.note_unreachable(error)
        else:
            _LOG.error("A part of this worker was stopped by an error in this program.", exc_info=error)

    async def _serve(self, *, until_done: bool) -> None:
        has_looked = False
        while not self._stop.is_set():
            try:
                problems = await self._find_tournaments()
                if not has_looked and problems and all(problems):
                    raise BadSettings([problem for tournament_problems in problems for problem in tournament_problems])
                has_looked = True
                unfinished = [await self._look_after(tournament) for tournament in list(self._taking)]
                if None not in unfinished:
                    self._database.note_reached()
                if until_done and not any(count != 0 for count in unfinished):
                    return
            except out_of_reach() as error:
                self._database.note_unreachable(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _POLL_SECONDS)

    async def _look_after(self, tournament: str) -> int | None:
        """Queues debates of dead workers again, and shares the limits with the living. Returns the number of debates
        that are not finished; None if the worker has to stop, or the database can't be reached, which keeps back no
        other tournament."""
        if self._stop.is_set():
            return None
        try:
            await requeue_stalled(self._database, tournament)
            queue = await count_queue(self._database, tournament)
        except out_of_reach() as error:
            self._database.note_unreachable(error)
            return None
        if (current := self._passes.get(tournament)) is not None and current.run is not None:
            current.run.limiters.share(queue.workers)
        return queue.unfinished

    async def _find_tournaments(self) -> list[list[str]]:
        """Starts on the tournaments that have debates left, and stops with those that have none. Returns, for each of
        the former, why it can't run here."""
        rows = await self._database.rows(_OPEN)
        for tournament in self._taking.keys() - {tournament for (tournament,) in rows}:
            self._stop_taking(tournament)
        return [await self._begin(tournament) for (tournament,) in rows]

    async def _begin(self, tournament: str) -> list[str]:
        """Takes debates of a tournament from now on, unless something prevents it. Returns what prevents it."""
        current = await self._pass(tournament)
        if current.problems:
            self._stop_taking(tournament)
        elif tournament not in self._taking:
            self._notify(f"Taking debates of {quoted(current.tag)}, up to {self._concurrency:,} at once.")
            self._taking[tournament] = self._begin_task(self._take(tournament))
        return current.problems

    def _stop_taking(self, tournament: str) -> None:
        """Takes no more debates of a tournament; those under way go on."""
        if (taking := self._taking.pop(tournament, None)) is not None:
            taking.cancel()

    async def _take(self, tournament: str) -> None:
        """Takes debates of a tournament until `_stop_taking`, again and again where the database was down. If the
        database is down when this is cancelled, its error is raised instead of the cancellation."""
        while True:
            try:
                await take_debates(self._database, tournament, self._concurrency)
            except out_of_reach() as error:
                self._database.note_unreachable(error)
            if self._taking.get(tournament) is not asyncio.current_task():
                return
            await asyncio.sleep(RETRY_SECONDS)

    async def _send_heartbeats(self) -> None:
        """Gives heartbeats for the debates under way, also while no new ones are taken, until the last has ended."""
        while self._jobs or not self._stop.is_set():
            try:
                if self._jobs:
                    await self._database.give_heartbeats(set(self._jobs.values()))
            except out_of_reach() as error:
                self._database.note_unreachable(error)
            await asyncio.sleep(min(_POLL_SECONDS, LEASE_SECONDS / 3))

    async def _run_job(self, worker_id: int, tournament: str, debate_id: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._jobs[task] = worker_id
        self._keep_task(task)
        try:
            await self._run_debate(tournament, debate_id)
        except asyncio.CancelledError:
            raise Requeue from None
        except Requeue:
            raise
        except Exception as error:
            _LOG.exception("%s was stopped by an error in this program.", debate_id)
            await self._record_status(tournament, debate_id, stopped_by_internal_error(error, DebateStatus("stopped")))
        finally:
            del self._jobs[task]

    async def _run_debate(self, tournament: str, debate_id: str) -> None:
        current = await self._database.retried_until_reached(lambda: self._pass(tournament))
        if current.run is None:
            self._stop_taking(tournament)  # or it would come back here, and not to a worker that can run it
            raise Requeue
        if self._stop.is_set():
            raise Requeue
        if (scheduled := current.run.tournament.debates.get(debate_id)) is None:
            # Nothing is written of it: others may have queued it.
            _LOG.warning("%s is not a debate of the tournament %s.", short_repr(debate_id), tournament)
            return
        ((lines,),) = await self._database.retried_until_reached(
            lambda: self._database.rows(_TAKE_OVER, tournament=tournament, debate=debate_id)
        )
        current.run.statuses[debate_id] = DebateStatus("stopped" if lines else "waiting")
        debate_status = await current.run.run_debate(scheduled, self._stop)
        if debate_status.status == "locked":
            return  # the worker that took it over reports its status
        if self._stop.is_set() and not (debate_status.why or debate_status.is_complete):
            raise Requeue
        await self._record_status(tournament, debate_id, debate_status)

    async def _record_status(self, tournament: str, debate_id: str, debate_status: DebateStatus) -> None:
        async def record() -> None:
            async with self._database.transaction() as connection:
                await record_status(connection, tournament, debate_id, debate_status)

        await self._database.retried_until_reached(record)

    async def _pass(self, tournament: str) -> _Pass:
        """The latest pass of a tournament. It is loaded once; what prevents it from running here is told then."""
        async with self._loading:  # debates that begin together have one run, with its limits
            rows = await self._database.rows(_LATEST, id=tournament)
            ((tag, number, retry_undecided),) = rows or [(tournament, -1, False)]
            current = self._passes.get(tournament)
            if current is not None and current.number == number:
                return current
            loaded, problems = await self._load(tournament)
            budget = current.budget if current is not None else ClusterBudget(self._database, tournament)
            run = None
            if loaded is None or problems:
                self._notify(f"No debates of {quoted(tag)} are taken: {' '.join(problems)}")
            else:
                run = TournamentRun(
                    loaded,
                    DatabaseJournals(self._database, tournament),
                    permissions=self._permissions,
                    retry_undecided=retry_undecided,
                    on_change=self._on_change,
                    wrap_providers=budget.wrap_providers,
                )
                self._runs.append(run)
            self._passes[tournament] = _Pass(tag, number, problems, run, budget)
            return self._passes[tournament]

    async def _load(self, tournament: str) -> tuple[Tournament | None, list[str]]:
        """A tournament of the database, and why it can't run here. Its cap is kept in the database, not here."""
        rows = await self._database.rows("SELECT spec FROM tournaments WHERE id = %(id)s", id=tournament)
        name = f"The tournament {quoted(tournament)} in {self._database.address}"
        if not rows:
            return None, [f"{name} was removed."]

        def scheduled() -> Tournament:
            spec = spec_from_text(rows[0][0], name).model_copy(update={"max_cost": None})
            return Tournament.from_spec(name, spec)

        try:
            # A large schedule takes seconds, in which the running debates must not stop.
            loaded = await asyncio.to_thread(scheduled)
            return loaded, self._find_problems(loaded)
        except UserError as error:
            return None, error.problems
