"""Runs the debates of a tournament side by side in one process, within the limits that they share.

The journals are the only record: a run reads them, and continues every debate that is not complete.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import CallFailed, Event, Opened, Reassigned, Reopened
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.phases import JUDGE, NO_DECISION, Turn
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.core.winner import deciding_verdict
from debate_orchestrator.engine.budget import SharedBudget, committed_cost_of, estimate_debate
from debate_orchestrator.engine.debate import DebateSession, drive, open_journal
from debate_orchestrator.engine.start import changed_prompts
from debate_orchestrator.engine.turn import RunOptions, awaited_calls
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.providers.provider import NO_PERMISSIONS, Permissions, Provider
from debate_orchestrator.storage.journal import JournalWriter, read, read_unverified
from debate_orchestrator.storage.journal_lines import state_of_events
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.storage.running_elsewhere import must_not_be_elsewhere
from debate_orchestrator.tournament.batches import Batches
from debate_orchestrator.tournament.folder import FileJournals, Tournament, is_begun
from debate_orchestrator.tournament.plan import ScheduledDebate
from debate_orchestrator.tournament.rate_limits import Limiters
from debate_orchestrator.tournament.rows import Dollars
from debate_orchestrator.tournament.spec import declared_prices
from debate_orchestrator.util.errors import (
    ExternalError,
    JournalWriteError,
    LockedJournal,
    OverBudget,
    Paused,
    PermanentFailure,
    ProviderFailed,
    ReplyPending,
    UserError,
)

_LOG = logging.getLogger(__name__)
CONCURRENCY = 50
"""Debates under way at the same time, unless it is said otherwise."""
INTERNAL_ERROR = "An error in this program stopped it"
"""The prefix of the reason if a debate stopped because of an error in this program."""
_MAX_FAILURES = 3
"""Debates that a model fails for good, one after another, after which no more are begun with it."""

Status = Literal["waiting", "running", "complete", "undecided", "stopped", "unusable", "locked"]
"""`undecided`: complete, without a decision since ballots can't be used. `unusable`: it can't be run here,
since its journal is damaged or another's, or its format or cast can't be used. `locked`: another process has locked its
journal."""


class DebateStatus(NamedTuple):
    status: Status
    winner: str | None = None
    """`pro`, `con`, `tie` or None."""
    cost: Dollars = 0.0
    """US dollars that the cap counts."""
    why: tuple[str, ...] = ()
    """The reason that it stopped."""
    permanent: bool = False
    """Whether it would stop again for that, in the same run."""

    @property
    def is_complete(self) -> bool:
        """Whether no turn is left, with a decision or without."""
        return self.status in ("complete", "undecided")


def count_completed(statuses: Iterable[DebateStatus]) -> int:
    """The number of complete debates, including those without a decision."""
    return sum(debate_status.is_complete for debate_status in statuses)


def status_counts(statuses: Iterable[DebateStatus]) -> dict[str, int]:
    """The numbers of debates, by the fields of `RunCounts`."""
    kinds = Counter(debate_status.status for debate_status in statuses)
    return {
        "complete": kinds["complete"] + kinds["undecided"],
        "undecided": kinds["undecided"],
        "running": kinds["running"],
        "stopped": kinds["stopped"],
        "unusable": kinds["unusable"] + kinds["locked"],
    }


class RunCounts(NamedTuple):
    """The progress of a run for `--json` and `--events`."""

    debates: int
    complete: int = 0
    """Those that are undecided count too."""
    undecided: int = 0
    running: int = 0
    stopped: int = 0
    unusable: int = 0
    """Those that are `locked` count too: this run can't go on with them either."""
    calls: int = 0
    in_flight: int = 0
    failed_calls: int = 0
    throttled: int = 0
    calls_per_minute: float = 0.0
    usd: float = 0.0
    max_cost: float | None = None
    seconds: float = 0.0
    seconds_left: int | None = None
    workers: int | None = None
    """The workers that run debates; None if this process does."""

    @classmethod
    def of(
        cls,
        debates: int,
        statuses: Iterable[DebateStatus],
        *,
        seconds: float,
        completed: int,
        calls: int,
        **more: Any,
    ) -> RunCounts:
        """The progress of a run that has taken so many `seconds`, completed so many debates and made so many calls."""
        counts = status_counts(statuses)
        left = debates - counts["complete"] - counts["unusable"]
        return cls(
            debates,
            **counts,
            calls=calls,
            calls_per_minute=round(calls * 60 / max(1.0, seconds), 1),
            seconds=round(seconds, 1),
            seconds_left=round(seconds / completed * left) if completed else None,
            **more,
        )

    def json(self) -> dict[str, Any]:
        """The numbers as plain data; `workers` if there are any."""
        counts = self._asdict()
        return counts if self.workers is not None else {name: counts[name] for name in counts if name != "workers"}


class JournalStore(Protocol):
    """The storage for journals of debates: files, or a database that machines share."""

    def open(self, debate_id: str, make_opened: Callable[[], Opened]) -> AbstractAsyncContextManager[JournalWriter]:
        """The one writer of a journal, which is begun with `make_opened` if there is none. Raises LockedJournal if
        another process has it; BadJournal if it can't be read."""
        ...

    def evidence_folder(self, debate_id: str) -> str | None:
        """The folder for pages that a clerk fetches; None if they are not kept."""
        ...


OnChange = Callable[[ScheduledDebate, DebateStatus, Event | None], None]
"""Called with each event of a debate, and without one when its status changes."""


class TournamentRun:
    """The debates of a tournament, and their statuses."""

    def __init__(
        self,
        tournament: Tournament,
        store: JournalStore | None = None,
        *,
        permissions: Permissions = NO_PERMISSIONS,
        concurrency: int = CONCURRENCY,
        retry_undecided: bool = False,
        on_change: OnChange = lambda scheduled, debate_status, event: None,
        batches: Batches | None = None,
        wrap_providers: Callable[[str, Mapping[str, Provider]], Mapping[str, Provider]] = lambda debate_id, providers: (
            providers
        ),
    ):
        """Without a `store` journals are files in the folder. `batches` are closed at the end of `run`.
        `wrap_providers` gets a debate's id and its providers, and returns those that are called."""
        self.tournament, self._store = tournament, store or FileJournals(tournament)
        self._permissions, self._concurrency, self._retry_undecided = permissions, concurrency, retry_undecided
        self._on_change = on_change
        self._batches, self._wrap_providers = batches, wrap_providers
        self.limiters = Limiters(tournament.spec)
        self.budget = SharedBudget(tournament.spec.max_cost)
        self.statuses: dict[str, DebateStatus] = {}
        self.lost_count = 0
        """Replies that could not be saved; each was reported."""
        self._failures: Counter[str] = Counter()
        self._capped = False

    def read_journals(self) -> None:
        """Reads the status of every debate from its journal in the folder."""
        for scheduled in self.tournament.schedule:
            self.read_status(scheduled)

    def read_status(self, scheduled: ScheduledDebate) -> None:
        """Reads the status of one debate from its journal in the folder."""
        path = self.tournament.journal_path(scheduled.id)
        try:
            if not is_begun(path):
                self.statuses[scheduled.id] = DebateStatus("waiting")
                return
            with declared_prices(self.tournament.spec):
                events = read(path, follow_symlinks=False).events
                self.tournament.must_belong(scheduled, events)
                self._record_status(scheduled, CurrentState(state_of_events(path, events)))
        except UserError as error:
            cost = self._cost_of_unusable(scheduled)
            self.budget.count(scheduled.id, cost)
            status = unusable(error, DebateStatus("stopped", cost=cost))
            cost_note = (f"Its calls may have cost ${cost:.2f}.",) if round(cost, 2) else ()
            self.statuses[scheduled.id] = status._replace(why=(*status.why, *cost_note))

    def _cost_of_unusable(self, scheduled: ScheduledDebate) -> float:
        """US dollars that the cap counts for a debate whose journal can't be used: those of the calls that can be read
        in it or, where a line can't, what the debate is expected to cost if that is more."""
        events = read_unverified(self.tournament.journal_path(scheduled.id))
        with declared_prices(self.tournament.spec):
            cost = committed_cost_of(filter(None, events))
            if self.budget.max_cost is None or None not in events:
                return cost
            return max(cost, estimate_debate(self.tournament.make_opened(scheduled), prices_stand_ins=False).cost)

    def read_awaited_calls(self) -> set[str]:
        """Reads the journals in the folder: the ids of the calls that batches may hold for debates that are left."""
        self.read_journals()
        begun = [scheduled.id for scheduled in self.pending() if self.statuses[scheduled.id].status != "waiting"]
        paths = map(self.tournament.journal_path, begun)
        return {
            call
            for path in paths
            for call in awaited_calls(state_of_events(path, read(path, follow_symlinks=False).events))
        }

    def pending(self) -> list[ScheduledDebate]:
        """The debates that are left, those that have begun first."""
        unfinished = ["stopped", "waiting"] + ["undecided"] * self._retry_undecided
        debates = [
            scheduled for scheduled in self.tournament.schedule if self.statuses[scheduled.id].status in unfinished
        ]
        return sorted(debates, key=lambda scheduled: self.statuses[scheduled.id].status == "waiting")

    async def run(self, stop: asyncio.Event) -> None:
        """Runs the debates that are left, until none of them can go on or `stop` is set. The status of each says why it
        stopped. A debate that stopped is tried again as long as others are completed meanwhile. Raises BadSettings if
        workers of a database may be running them."""
        try:
            if self.pending():
                must_not_be_elsewhere(self.tournament.folder)
            await self._run(stop)
        finally:
            if self._batches is not None:
                await self._batches.close()

    async def _run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            pending = [scheduled for scheduled in self.pending() if not self.statuses[scheduled.id].permanent]
            self._capped = False
            finished_count = count_completed(self.statuses.values())
            queue = iter(pending)
            coroutines = [self._work(queue, stop) for _ in range(min(self._concurrency, len(pending)))]
            for outcome in await asyncio.gather(*coroutines, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
            if count_completed(self.statuses.values()) == finished_count:
                return

    async def _work(self, queue: Iterator[ScheduledDebate], stop: asyncio.Event) -> None:
        for scheduled in queue:
            if stop.is_set():
                return
            try:
                await self.run_debate(scheduled, stop)
            except Exception as error:
                _LOG.exception("%s was stopped by an error in this program.", scheduled.id)
                self._set_status(scheduled, stopped_by_internal_error(error, self.statuses[scheduled.id]))
            except BaseException:
                stop.set()
                raise

    async def run_debate(self, scheduled: ScheduledDebate, stop: asyncio.Event) -> DebateStatus:
        """Takes every turn of one debate that can be taken, and returns its status then. A problem of its journal, its
        format or its cast is in its status, and stops no other debate."""
        earlier_status = self.statuses[scheduled.id]._replace(why=(), permanent=False)
        if self._capped and earlier_status.status == "waiting":
            return earlier_status  # what the cap leaves is for debates that have begun
        names = (scheduled.pro, scheduled.con, *scheduled.judges)
        specs = [self.tournament.spec.model_named(name).spec for name in names]
        if failed_specs := [spec for spec in specs if self._failures[spec] >= _MAX_FAILURES]:
            why = f"{failed_specs[0]} failed in {_MAX_FAILURES} debates in a row, so no more are begun with it."
            return self._set_status(scheduled, earlier_status._replace(why=(why,), permanent=True))
        try:
            self._set_status(scheduled, earlier_status._replace(status="running"))
            with declared_prices(self.tournament.spec):
                await self._take_turns(scheduled, stop)
        except ExternalError as error:
            self._capped = self._capped or isinstance(error, OverBudget)
            debate_status = self.statuses[scheduled.id]._replace(status="stopped", why=tuple(error.problems))
            self._set_status(scheduled, debate_status._replace(permanent=isinstance(error, PermanentFailure)))
            if isinstance(error, JournalWriteError):
                stop.set()  # the disk is full: what is paid for from now on could not be kept
        except UserError as error:
            self._set_status(scheduled, unusable(error, self.statuses[scheduled.id]))
        return self.statuses[scheduled.id]

    async def _take_turns(self, scheduled: ScheduledDebate, stop: asyncio.Event) -> None:
        journal: JournalWriter | None = None
        made: list[Opened] = []  # empty for a journal that was there before

        def make_opened() -> Opened:
            made.append(self.tournament.make_opened(scheduled))
            return made[0]

        try:
            async with self._store.open(scheduled.id, make_opened) as journal:
                if not made:
                    self.tournament.must_belong(scheduled, journal.events)
                session = open_journal(journal, DebateFiles.of_journal(journal.path))
                try:
                    if not made and session.state.due and (note := changed_prompts(session.state)) is not None:
                        session.record(note)
                    if self._retry_undecided and schedule.is_undecided(session.state):
                        session.record(Reopened())
                    while session.state.due and not stop.is_set():
                        await self._drive(scheduled, session, stop)
                    await journal.wait_until_synced()
                finally:
                    self._record_status(scheduled, session.current)
        finally:
            self.lost_count += len(journal.lost_results) if journal is not None else 0  # when it is closed

    async def _drive(self, scheduled: ScheduledDebate, session: DebateSession, stop: asyncio.Event) -> None:
        """Takes a debate's turns until it is complete, or stops; a judge who fails is replaced from the reserve."""

        def on_event(debate: DebateState, event: Event) -> None:
            if hasattr(event, "reply") and not isinstance(event, CallFailed):
                self._failures.pop(event.reply.spec, None)
            self._on_change(scheduled, self.statuses[scheduled.id], event)

        evidence_folder = self._store.evidence_folder(scheduled.id)
        unlimited = cast_providers.make_providers(session.current, evidence_folder, self._permissions)
        providers = self._wrap_providers(scheduled.id, self.limiters.wrap_providers(unlimited))
        if self._batches is not None:
            providers = self._batches.wrap_providers(unlimited, providers, session.current)
        reserve = self._reserve(scheduled, session.journal.events)
        failures: dict[Turn, BaseException] = {}
        try:
            options = RunOptions(
                on_event=on_event,
                on_failures=failures.update,
                stop=stop,
                budget=self.budget.budget(scheduled.id, session.current),
                required_judges="all" if reserve else "quorum",
            )
            await drive(session, providers, options)
        except (Paused, ProviderFailed) as error:
            debate = session.state
            # A call that goes on is paid for: its judge stays.
            failed = {turn: why for turn, why in failures.items() if not isinstance(why, OverBudget | ReplyPending)}
            self._failures.update(
                {spec_in(debate, turn.seat) for turn, why in failed.items() if isinstance(why, PermanentFailure)}
            )
            seats = {turn.seat for turn in failed if turn.role == JUDGE}
            can_be_replaced = failed and len(seats) <= len(reserve) and all(turn.role == JUDGE for turn in failed)
            if not can_be_replaced or stop.is_set():
                raise
            panel = list(debate.cast[JUDGE])
            for seat, spec in zip(sorted(seats), reserve, strict=False):
                panel[debate.judges.index(seat)] = spec
            session.record(Reassigned(seat=JUDGE, specs=tuple(panel)), on_event)
            if isinstance(error, OverBudget | ReplyPending):
                raise

    def _reserve(self, scheduled: ScheduledDebate, events: Sequence[Event]) -> list[str]:
        """The judges of the reserve who have not been on the panel yet."""
        panel_specs: set[str] = set()
        for event in events:
            if isinstance(event, Opened):
                panel_specs.update(event.cast.get(JUDGE, ()))
            elif isinstance(event, Reassigned) and event.seat == JUDGE:
                panel_specs.update(event.specs)
        specs = [self.tournament.spec.model_named(name).spec for name in scheduled.reserve]
        return [spec for spec in specs if spec not in panel_specs]

    def _record_status(self, scheduled: ScheduledDebate, current: CurrentState) -> None:
        debate = current.state
        budget = self.budget.budget(scheduled.id, current)
        self.budget.end_budget(scheduled.id)
        status: Status = "stopped"
        if debate.complete:
            status = "undecided" if schedule.is_undecided(debate) else "complete"
        self._set_status(scheduled, DebateStatus(status, _winner(debate), budget.committed_cost()))

    def _set_status(self, scheduled: ScheduledDebate, debate_status: DebateStatus) -> DebateStatus:
        self.statuses[scheduled.id] = debate_status
        self._on_change(scheduled, debate_status, None)
        return debate_status


def unusable(error: UserError, earlier_status: DebateStatus) -> DebateStatus:
    """The status of a debate that another run could not read or continue either, or whose journal is locked."""
    locked = isinstance(error, LockedJournal)
    status: Status = "locked" if locked else "unusable"
    return earlier_status._replace(status=status, why=tuple(error.problems), permanent=not locked)


def stopped_by_internal_error(error: Exception, earlier_status: DebateStatus) -> DebateStatus:
    """The status of a debate after an error in this program, with its kind and place alone: its message may quote
    anything."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    why = f"{INTERNAL_ERROR}: {type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}."
    return earlier_status._replace(status="stopped", why=(why,), permanent=True)


def _winner(debate: DebateState) -> str | None:
    verdict = deciding_verdict(debate) if debate.complete else None
    if verdict is None or verdict.winner == NO_DECISION:
        return None
    pro, con = debate.format.sides
    return {pro: "pro", con: "con"}.get(verdict.winner, verdict.winner)
