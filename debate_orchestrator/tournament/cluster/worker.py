"""A worker: takes debates of tournaments from the queue and runs them, until it is stopped.

It says that it is alive by a heartbeat. Debates whose worker has none are put back into the queue by other workers, and
go on there from the last line of their journals.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from debate_orchestrator.engine.retry import UnsavedEvents
from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions
from debate_orchestrator.tournament.cluster import queue
from debate_orchestrator.tournament.cluster.database import (
    AT_THE_END,
    HAS_JOBS,
    MAX_LEASE_LENGTH,
    SHORTEST_LEASE,
    Database,
    out_of_reach,
)
from debate_orchestrator.tournament.cluster.folder_sync import stored_spec
from debate_orchestrator.tournament.cluster.journals import DatabaseJournals
from debate_orchestrator.tournament.cluster.limits import SharedLimiters
from debate_orchestrator.tournament.cluster.queue import Requeue
from debate_orchestrator.tournament.folder import Tournament, unfrozen
from debate_orchestrator.tournament.plan import ScheduledDebate
from debate_orchestrator.tournament.run import (
    DebateStatus,
    OnChange,
    TournamentRun,
    internal_error,
    stopped_by_internal_error,
)
from debate_orchestrator.util.errors import BadFile, BadSettings, UserError, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redact

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 2.0
"""Seconds between two looks for tournaments and for debates of dead workers, and the most between two heartbeats."""

_OPEN = f"SELECT id, tag, round, lease FROM tournaments WHERE {HAS_JOBS} ORDER BY id"
_DEBATE = """
SELECT round, lease, retry_failed,
    EXISTS (SELECT FROM journals WHERE tournament = tournaments.id AND debate = %(debate)s AND lines > 0)
FROM tournaments WHERE id = %(tournament)s
"""
_RECORD_STATUS = """
UPDATE journals SET status = %(status)s, winner = %(winner)s, cost = %(cost)s, why = %(why)s, for_good = %(for_good)s,
    settled = now()
WHERE id = (
    SELECT id FROM journals WHERE tournament = %(tournament)s AND debate = %(debate)s AND holder IS NULL
    FOR NO KEY UPDATE NOWAIT
)
"""


class _Pass(NamedTuple):
    """A tournament as it was queued last, and its run under one worker id. Procrastinate gives a process a new one for
    each tournament, and again after the database was away."""

    pass_number: int
    worker_id: int
    debates: dict[str, ScheduledDebate]
    run: TournamentRun
    limiters: SharedLimiters


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
        tell: Callable[[str], None] = _LOG.info,
        unsaved: UnsavedEvents | None = None,
    ):
        """`find_problems` returns why a tournament can't run here: a missing key, no consent. `concurrency` debates of
        each tournament run at the same time. `tell` gets sentences for people, and `unsaved` names events that are
        lost."""
        self._database, self._find_problems, self._concurrency = database, find_problems, concurrency
        self._permissions, self._on_change, self._tell = permissions, on_change, tell
        self.unsaved = unsaved or UnsavedEvents(tell)
        self.refused = Counter[str]()
        """Why the database refuses what this worker writes, with the number of debates that stopped for it."""
        self._stop = asyncio.Event()
        self._passes: dict[str, _Pass] = {}
        self._loading = asyncio.Lock()
        self._leases: dict[str, float] = {}
        """The lease, in seconds, of each tournament that has debates left."""
        self._taking: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        """What still ends of tournaments that have no debates left."""
        self._unusable: dict[str, int] = {}
        """Tournaments that can't be run here, with the pass for which that was found."""
        self._jobs: dict[tuple[str, str], tuple[asyncio.Task[Any], int]] = {}
        """The debates under way, by tournament and id, with the worker id under which each runs."""
        self._under_way: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """Calls under way, by that id and by the limits that they pass."""
        queue.register(database.app, self._run_job)

    def stop(self) -> None:
        """Takes no more debates, and makes no more calls. Replies under way are awaited."""
        self._stop.set()

    def cancel_jobs(self) -> None:
        """Stops, and cancels the debates under way with their calls."""
        self._stop.set()
        self._database.shorten_timeout()
        for job, _ in self._jobs.values():
            job.cancel()

    async def work(self, *, until_done: bool = False) -> None:
        """Works until it is stopped, or with `until_done` until no debate is left that it can run. BadSettings if at
        the beginning there are only tournaments that it can't run."""
        beating = asyncio.create_task(self._beat())
        try:
            await self._serve(until_done=until_done)
        finally:
            self.stop()
            for tournament in list(self._taking):
                self._leave(tournament)
            await asyncio.gather(*self._ending, return_exceptions=True)
            beating.cancel()

    async def _serve(self, *, until_done: bool) -> None:
        looked = False
        while not self._stop.is_set():
            try:
                problems = await self._look()
                if not looked and problems and all(problems):
                    raise BadSettings([problem for several in problems for problem in several])
                looked = True
                unfinished = await self._requeue_or_give_up()
                await self._database.must_take_writes()
                self._database.reached()
                if until_done and not unfinished:
                    return
            except out_of_reach() as error:
                self._database.lost(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _POLL_SECONDS)

    async def _look(self) -> list[list[str]]:
        """Starts on the tournaments that have debates left, and stops with those that have none. Returns, for each of
        the former, why it can't run here."""
        found = await self._database.rows(_OPEN)
        self._leases = {tournament: lease for tournament, _, _, lease in found if _may_be_lease(lease)}
        for tournament in self._taking.keys() - self._leases.keys():
            self._leave(tournament)
        return [await self._begin(*tournament) for tournament in found]

    async def _begin(self, tournament: str, tag: str, pass_number: int, lease: float) -> list[str]:
        """Takes debates of a tournament from now on, unless something prevents it. Returns what prevents it."""
        if tournament in self._taking or self._unusable.get(tournament) == pass_number:
            return []
        _, problems = await self._loaded(tournament)
        if not _may_be_lease(lease):
            allowed = f"one of {SHORTEST_LEASE:,.0f} to {MAX_LEASE_LENGTH:,.0f} is allowed"
            problems = [
                *problems,
                f"The tournament {tournament} in {self._database.where} has a lease of {lease} seconds, and {allowed}.",
            ]
        if problems:
            self._skip(tournament, tag, pass_number, problems)
            return problems
        await self._give_up_unreadable(tournament)
        self._tell(f"Taking debates of {tag}, up to {self._concurrency:,} at once.")
        self._taking[tournament] = asyncio.create_task(self._take(tournament))
        return []

    def _skip(self, tournament: str, tag: str, pass_number: int, problems: list[str]) -> None:
        self._unusable[tournament] = pass_number
        self._tell(f"No debates of {tag} are taken: {' '.join(problems)}")
        self._leave(tournament)

    def _leave(self, tournament: str) -> None:
        """Takes no more debates of a tournament. Those under way are finished, and its limits in the database are
        closed."""
        current_pass, taking = self._passes.pop(tournament, None), self._taking.pop(tournament, None)

        async def end() -> None:
            if taking is not None:
                taking.cancel()
                await asyncio.gather(taking, return_exceptions=True)
            if current_pass is not None:
                with suppress(TimeoutError, BadFile):  # a limit that is refused is told by the calls that need it
                    await asyncio.wait_for(current_pass.limiters.close(), AT_THE_END)

        ending = asyncio.create_task(end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _take(self, tournament: str) -> None:
        """Takes debates of a tournament until it is cancelled, again and again where the database was away."""
        while not self._stop.is_set():
            try:
                await queue.work(self._database, tournament, self._concurrency, self._leases[tournament])
            except out_of_reach() as error:
                self._database.lost(error)
            await asyncio.sleep(1.0)

    async def _requeue_or_give_up(self) -> int:
        """Puts debates of dead workers back, and gives jobs up that name no debate; how many debates are left that this
        worker can run."""
        count = 0
        for tournament in list(self._taking):
            lease = self._leases[tournament]
            await self._give_up_unreadable(tournament)
            if self._database.reached_for(lease):
                await queue.requeue_stalled(self._database, tournament, lease)
            count += await queue.count_unfinished(self._database, tournament)
        return count

    async def _give_up_unreadable(self, tournament: str) -> None:
        if count := await queue.give_up_unreadable(self._database, tournament):
            self._tell(f"{plural(count, 'job')} of the tournament {tournament} given up: such a job names no debate.")

    async def _beat(self) -> None:
        """Gives heartbeats for the worker ids under which debates run, also while no new ones are taken under them."""
        while True:
            try:
                for worker_id in {worker_id for _, worker_id in self._jobs.values()}:
                    await self._database.beat(worker_id)
            except out_of_reach() as error:
                self._database.lost(error)
            await asyncio.sleep(min([_POLL_SECONDS, *(lease / 3 for lease in self._leases.values())]))

    async def _run_job(self, worker_id: int, tournament: str, debate_id: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        if (tournament, debate_id) in self._jobs:
            # The job was put back while this worker was not heard of. The debate goes on under its first execution,
            # whose journal another one would take from it: this one looks later whether anything is left to do.
            raise Requeue(round(self._leases.get(tournament, SHORTEST_LEASE)) + 1)
        self._jobs[tournament, debate_id] = task, worker_id
        task.add_done_callback(self._noted)
        try:
            await self._run_debate(worker_id, tournament, debate_id)
        except asyncio.CancelledError:
            raise Requeue from None
        except Requeue:
            raise
        except BadFile as error:  # the database refuses to note how the debate stands
            self._on_refusal(debate_id, error.problems[0])
            raise
        except Exception as error:
            _LOG.exception("%s was stopped by an error in this program.", debate_id)
            await self._record_status(tournament, debate_id, stopped_by_internal_error(error, DebateStatus("stopped")))
            raise
        finally:
            del self._jobs[tournament, debate_id]

    def _noted(self, job: asyncio.Task[Any]) -> None:
        """Takes note of a database that could not be told how a job ended; the job's own errors are told before."""
        error = None if job.cancelled() else job.exception()
        if isinstance(error, out_of_reach()):
            self._database.lost(error)

    async def _run_debate(self, worker_id: int, tournament: str, debate_id: str) -> None:
        """Runs a debate, and notes how it stands then."""
        params = {"tournament": tournament, "debate": debate_id}
        rows = await self._database.retried_until_reached(lambda: self._database.rows(_DEBATE, **params))
        if not rows:
            self._tell(f"No debate {short_repr(debate_id)} is run: there is no tournament {short_repr(tournament)}.")
            return
        ((pass_number, lease, retry_failed, begun),) = rows
        lease = lease if _may_be_lease(lease) else MAX_LEASE_LENGTH
        current_pass = await self._pass(tournament, pass_number, worker_id, retry_failed=retry_failed)
        if current_pass is None:
            raise Requeue(round(lease))
        if self._stop.is_set():
            raise Requeue
        run, scheduled = current_pass.run, current_pass.debates.get(debate_id)
        if scheduled is None:
            why = ("The tournament has no such debate.",)
            await self._record_status(tournament, debate_id, DebateStatus("unusable", why=why, for_good=True))
            self._tell(f"No debate {short_repr(debate_id)} is run: the tournament {tournament} has none of that id.")
            return
        run.statuses[debate_id] = DebateStatus("stopped" if begun else "waiting")
        debate_status = await run.run_debate(scheduled, self._stop)
        if debate_status.status == "elsewhere":
            raise Requeue(round(lease) + 1)
        if self._stop.is_set() and not (debate_status.why or debate_status.is_complete):
            raise Requeue
        await self._record_status(tournament, debate_id, debate_status)

    def _on_refusal(self, journal: str, why: str) -> None:
        self.refused[why] += 1
        self._tell(f"{journal} stops here, since the database refuses what it has to write. {why}")

    async def _record_status(self, tournament: str, debate_id: str, debate_status: DebateStatus) -> None:
        """Writes the status of a debate that no worker runs to the database."""
        values = {**debate_status._asdict(), "why": [redact(problem) for problem in debate_status.why]}
        params = {"tournament": tournament, "debate": debate_id}
        await self._database.retried_until_reached(lambda: self._database.execute(_RECORD_STATUS, **params, **values))

    async def _pass(self, tournament: str, pass_number: int, worker_id: int, *, retry_failed: bool) -> _Pass | None:
        """The run of a tournament's latest pass. None if this worker may not or can't run it any more."""
        async with self._loading:
            current_pass = self._passes.get(tournament)
            if current_pass is not None and (current_pass.pass_number, current_pass.worker_id) == (
                pass_number,
                worker_id,
            ):
                return current_pass
            loaded, problems = await self._database.retried_until_reached(lambda: self._loaded(tournament))
            if loaded is None or problems:
                self._skip(tournament, f"the tournament {tournament}", pass_number, problems)
                return None
            limiters = SharedLimiters(loaded.spec, self._database, tournament, worker_id, self._under_way[worker_id])

            run = TournamentRun(
                loaded,
                DatabaseJournals(self._database, tournament, worker_id, self.unsaved, self._on_refusal),
                limiters=limiters,
                permissions=self._permissions,
                retry_failed=retry_failed,
                on_change=self._on_change,
                unsaved=self.unsaved,
            )
            debates = {scheduled.id: scheduled for scheduled in loaded.schedule}
            self._passes[tournament] = _Pass(pass_number, worker_id, debates, run, limiters)
            return self._passes[tournament]

    async def _loaded(self, tournament: str) -> tuple[Tournament | None, list[str]]:
        """A tournament of the database, and why it can't run here. Its cap is kept in the database, not here."""
        found = await self._database.rows("SELECT spec FROM tournaments WHERE id = %(id)s", id=tournament)
        name = f"The tournament {tournament} in {self._database.where}"

        def scheduled() -> Tournament:
            ((text,),) = found
            spec = unfrozen(stored_spec(text, name), name).model_copy(update={"max_cost": None})
            return Tournament.of(name, spec)

        try:
            # A large schedule takes seconds, in which the debates that run must not stand still.
            loaded = await asyncio.to_thread(scheduled)
            return loaded, self._find_problems(loaded)
        except UserError as error:
            return None, error.problems
        except Exception as error:  # other tournaments must not stand still for it
            _LOG.exception("The tournament %s was skipped because of an error in this program.", tournament)
            return None, [f"{name}: {internal_error(error)}"]


def _may_be_lease(lease: object) -> bool:
    """Whether that is a number of seconds that a run may write."""
    return isinstance(lease, float) and SHORTEST_LEASE <= lease <= MAX_LEASE_LENGTH
