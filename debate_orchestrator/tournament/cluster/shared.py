"""The shared state of a tournament's workers in the database: its journals, with the same lines as in files, and the
cap.

No lock keeps a journal for one worker. Line n of a debate can be written once, and so a worker whose debate was taken
over finds another line in the place of its own, and writes nothing more.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine.budget import (
    RUN_AGAIN_HINT,
    check_max_cost,
    cost_after_call,
    cost_before_call,
    received_part,
)
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.storage.journal import JournalWriter, LineToWrite, now
from debate_orchestrator.storage.journal_lines import parse
from debate_orchestrator.tournament.cluster.database import END_SECONDS, Database, fetch_rows
from debate_orchestrator.tournament.rate_limits import wrap_called
from debate_orchestrator.tournament.run import DebateStatus
from debate_orchestrator.util.coroutines import running_timeout
from debate_orchestrator.util.errors import (
    BadFile,
    DamagedJournal,
    ExternalError,
    LockedJournal,
    OverBudget,
    PermanentFailure,
)
from debate_orchestrator.util.redact import redact

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_BEGIN = "INSERT INTO journals (tournament, debate) VALUES (%(id)s, %(debate)s) ON CONFLICT DO NOTHING"
_READ = "SELECT n, line FROM lines WHERE tournament = %(id)s AND debate = %(debate)s ORDER BY n"
_APPEND = """
INSERT INTO lines (tournament, debate, n, line)
SELECT %(id)s, %(debate)s, n, line FROM unnest(%(numbers)s::int[], %(lines)b::bytea[]) AS ours (n, line)
ON CONFLICT DO NOTHING
"""
_DIFFERENT = """
SELECT count(*) FROM unnest(%(numbers)s::int[], %(lines)b::bytea[]) AS ours (n, line)
    LEFT JOIN lines ON tournament = %(id)s AND debate = %(debate)s AND lines.n = ours.n
WHERE lines.line IS DISTINCT FROM ours.line
"""


_RECORD_STATUS = b"""
INSERT INTO journals (tournament, debate, status, winner, cost, why, permanent)
VALUES (%(id)s, %(debate)s, %(status)s, %(winner)s, %(cost)s, %(why)s, %(permanent)s)
ON CONFLICT (tournament, debate) DO UPDATE SET status = excluded.status, winner = excluded.winner,
    cost = excluded.cost, why = excluded.why, permanent = excluded.permanent
"""


async def record_status(
    connection: AsyncConnection, tournament: str, debate_id: str, debate_status: DebateStatus
) -> None:
    """Writes how a debate stands, without secrets."""
    values = {**debate_status._asdict(), "why": [redact(problem) for problem in debate_status.why]}
    await connection.execute(_RECORD_STATUS, {"id": tournament, "debate": debate_id, **values})


class DatabaseJournals:
    def __init__(self, database: Database, tournament: str):
        self._database, self._tournament = database, tournament

    @asynccontextmanager
    async def open(self, debate_id: str, make_opened: Callable[[], Opened]) -> AsyncIterator[JournalWriter]:
        database, names = self._database, {"id": self._tournament, "debate": debate_id}
        await database.retried_until_reached(lambda: database.execute(_BEGIN, **names))
        lines = await database.retried_until_reached(lambda: database.rows(_READ, **names))
        journal = DatabaseJournal(database, self._tournament, debate_id, lines)
        timeout = math.inf
        try:
            if not journal.entries:
                journal.append(make_opened())
            await journal.wait_until_stored()
            yield journal
        except asyncio.CancelledError:
            timeout = END_SECONDS
            raise
        finally:
            try:
                with suppress(TimeoutError, LockedJournal, PermanentFailure):  # reported where the answers are named
                    async with running_timeout(timeout):
                        await journal.wait_until_stored()
            finally:
                journal.close()

    def evidence_folder(self, debate_id: str) -> str | None:
        return None


class DatabaseJournal(JournalWriter):
    """A journal in the database, as one worker reads and writes it."""

    def __init__(self, database: Database, tournament: str, debate_id: str, lines: Sequence[tuple[int, bytes]]):
        """Raises BadJournal if the lines are damaged or one is missing: lines would be appended after a hole."""
        self._set_up(f"{database.address}: {debate_id}", now)
        self._database, self._tournament, self._debate_id = database, tournament, debate_id
        self.entries = parse(self.path, b"".join(bytes(line) for _, line in lines)).entries if lines else []
        self._length = sum(len(line) for _, line in lines)
        if [n for n, _ in lines] != [*range(1, len(self.entries) + 1)]:
            raise DamagedJournal(f"{self.path} lacks lines: the last is {lines[-1][0]:,}, and it has {len(lines):,}.")
        self.stored = len(self.entries)
        self._writing = asyncio.Lock()
        self._failure: LockedJournal | PermanentFailure | None = None
        """The reason that nothing more can be written."""

    def _append_line(self, new: LineToWrite) -> None:
        if self._failure is not None:
            self._lose(new)
            raise self._failure
        self._waiting.append(new)

    async def wait_until_stored(self) -> None:
        """Returns when all that was appended is in the database. Raises LockedJournal if another worker continues the
        debate, PermanentFailure if the database refuses a line."""
        async with self._writing:
            if self._failure is not None:
                raise self._failure
            lines = [waiting.line for waiting in self._waiting]
            if not lines:
                return
            try:
                await self._database.retried_until_reached(lambda: self._append(lines))
            except LockedJournal as error:
                self._failure = error
                raise
            except BadFile as error:
                self._failure = PermanentFailure([f"Lines of a journal were refused. {error.problems[0]}"])
                raise self._failure from None
            del self._waiting[: len(lines)]
            self.stored += len(lines)

    async def _append(self, lines: Sequence[bytes]) -> None:
        async with self._database.transaction() as connection:
            await append_lines(connection, self._tournament, self._debate_id, self.stored, lines, self.path)

    async def wait_until_synced(self) -> None:
        await self.wait_until_stored()

    def close(self) -> None:
        """Names the replies that are not in the database."""
        for line in self._waiting:
            self._lose(line)
        self._waiting.clear()


async def append_lines(
    connection: AsyncConnection, tournament: str, debate_id: str, line_count: int, lines: Sequence[bytes], name: str
) -> None:
    """Writes lines after the first `line_count` ones of a journal with this `name`, in a transaction. Raises
    LockedJournal, which must end the transaction, if others are in their places. Lines that an earlier attempt wrote
    without its answer coming through count as written."""
    numbers = list(range(line_count + 1, line_count + len(lines) + 1))
    values = {"id": tournament, "debate": debate_id, "numbers": numbers, "lines": list(lines)}
    await connection.execute(_APPEND.encode(), values)
    if await fetch_rows(connection, _DIFFERENT, **values) != [(0,)]:
        raise LockedJournal(
            f"{name}: another worker has taken this debate over; its own replies are kept, and no others."
        )


_Count = Callable[["AsyncConnection"], Awaitable[None]]
"""Counts the beginning or the end of a call."""
_LOCK = b"SELECT FROM tournaments WHERE id = %(tournament)s FOR NO KEY UPDATE"
_CAP = """
SELECT max_cost, spent, EXISTS (SELECT FROM calls WHERE id = %(id)s) FROM tournaments WHERE id = %(tournament)s
"""
_BEGIN_CALL = b"""
WITH begun AS (
    INSERT INTO calls (id, tournament, debate, expected_cost) VALUES (%(id)s, %(tournament)s, %(debate)s, %(cost)s)
    ON CONFLICT DO NOTHING RETURNING expected_cost
)
UPDATE tournaments SET spent = spent + expected_cost, calls = calls + 1 FROM begun WHERE tournaments.id = %(tournament)s
"""
_END_CALL = b"""
WITH ended AS (DELETE FROM calls WHERE id = %(id)s RETURNING tournament, expected_cost)
UPDATE tournaments SET spent = greatest(0, spent + coalesce(%(cost)s::float - expected_cost, 0)),
    calls = calls - %(unmade)s, failed_calls = failed_calls + %(failed)s
FROM ended WHERE tournaments.id = tournament
"""
"""Spending is rounded with each call, and could fall below zero by that."""


class ClusterBudget:
    """The budget of a tournament, which all workers share. A call counts from its beginning, with what it is
    expected to cost; so does one whose worker was killed. A call that is under way has a row in the database, so that
    it begins and ends once even where the answer to a COMMIT was lost. A worker counts in one transaction at a time,
    with all that waits: the row of the tournament is locked until it is committed."""

    def __init__(self, database: Database, tournament: str):
        self._database, self._tournament = database, tournament
        self._waiting: list[tuple[_Count, asyncio.Future[None]]] = []
        """What is to be counted, in its order, and who waits for it."""
        self.counting: asyncio.Task[None] | None = None
        """Ends once nothing waits."""

    def wrap_providers(self, debate_id: str, providers: Mapping[str, Provider]) -> dict[str, Provider]:
        """The providers of a debate, those that call a model or a program under the cap."""
        return wrap_called(providers, lambda provider: BudgetedProvider(provider, self, debate_id))

    async def begin(self, call: UUID, debate_id: str, turn: str, model: str, expected_cost: float | None) -> None:
        """Counts a call that is about to be made. Raises OverBudget if it would exceed the cap."""
        values = {"id": call, "tournament": self._tournament, "debate": debate_id, "cost": expected_cost or 0.0}

        async def admit(connection: AsyncConnection) -> None:
            ((max_cost, spent, is_counted),) = await fetch_rows(connection, _CAP, **values)
            if not is_counted:  # by an attempt whose answer was lost
                check_max_cost(max_cost, lambda: spent, turn, model, expected_cost, RUN_AGAIN_HINT)
                await connection.execute(_BEGIN_CALL, values)

        await self._count(admit)

    def end(self, call: UUID, cost: float | None, *, was_made: bool, failed: bool) -> None:
        """Counts what a call did cost instead of what was expected, soon; None if that is unknown. Nothing if the call
        was not counted."""
        values = {"id": call, "cost": cost, "unmade": int(not was_made), "failed": int(failed)}

        async def count(connection: AsyncConnection) -> None:
            await connection.execute(_END_CALL, values)

        # A refusal is reported by the next call, which can't be counted either.
        self._count(count).add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def _count(self, work: _Count) -> asyncio.Future[None]:
        """Has some work done in a transaction, with all that waits by then. The future has its OverBudget, or the error
        of the transaction."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, future))
        if self.counting is None or self.counting.done():
            self.counting = asyncio.create_task(self._count_waiting())
        return future

    async def _count_waiting(self) -> None:
        at_once: int | None = None
        while waiting := self._waiting[:at_once]:
            outcomes: list[Exception | None]
            try:
                works = [work for work, _ in waiting]
                outcomes = await self._database.retried_until_reached(partial(self._counted, works))
            except Exception as error:
                if len(waiting) > 1:
                    at_once = 1  # what is refused keeps back nothing else
                    continue
                outcomes = [error]
            del self._waiting[: len(waiting)]
            for (_, future), outcome in zip(waiting, outcomes, strict=True):
                if future.done():  # its debate was cancelled; the end of its call waits too
                    continue
                future.set_result(None) if outcome is None else future.set_exception(outcome)

    async def _counted(self, works: Sequence[_Count]) -> list[Exception | None]:
        """Does all of it in one transaction; the OverBudget of each, or None."""
        outcomes: list[Exception | None] = []
        async with self._database.transaction() as connection:
            # No two workers may see the same room.
            await connection.execute(_LOCK, {"tournament": self._tournament})
            for work in works:
                try:
                    await work(connection)
                    outcomes.append(None)
                except OverBudget as error:
                    outcomes.append(error)
        return outcomes


class BudgetedProvider(Provider):
    """A provider of one debate whose calls count towards the budget."""

    def __init__(self, provider: Provider, budget: ClusterBudget, debate_id: str):
        self.name, self.caches = provider.name, provider.caches
        self._provider, self._budget, self._debate_id = provider, budget, debate_id
        self._calls: dict[str, UUID] = {}
        """Turn id to the id of its call. A turn has one call at a time."""

    async def acquire(self, brief: Brief, stop: asyncio.Event) -> bool:
        if not await self._provider.acquire(brief, stop):
            return False
        call = self._calls[brief.turn_id] = uuid4()
        try:
            expected_cost = cost_before_call(self.name, brief)
            await self._budget.begin(call, self._debate_id, brief.turn_id, self.name, expected_cost)
        except BaseException:
            self.release(brief)  # it may have been counted, as where the debate is cancelled meanwhile
            raise
        return True

    def release(self, brief: Brief) -> None:
        self._provider.release(brief)
        self._end(brief, 0.0, was_made=False, failed=False)

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        pieces: list[str] = []

        def on_piece(piece: str) -> None:
            pieces.append(piece)
            on_text(piece)

        try:
            reply = await self._provider.reply(brief, on_piece)
        except BaseException as error:
            failure = error if isinstance(error, ExternalError) else None
            is_free = failure is not None and not failure.maybe_billed
            cost = 0.0 if is_free else self._cost(brief, received_part(self.name, error, pieces))
            self._end(brief, cost, was_made=True, failed=failure is not None)
            raise
        self._end(brief, self._cost(brief, reply), was_made=True, failed=False)
        return reply

    def _cost(self, brief: Brief, reply: Reply | None) -> float | None:
        """US dollars of a call by what came of its reply; None if nothing came, or its price is unknown."""
        if reply is None:
            return None
        return cost_after_call(self.name, brief, reply) if reply.cost is None else reply.cost

    def _end(self, brief: Brief, cost: float | None, *, was_made: bool, failed: bool) -> None:
        if (call := self._calls.pop(brief.turn_id, None)) is not None:
            self._budget.end(call, cost, was_made=was_made, failed=failed)

    async def close(self) -> None:
        await self._provider.close()
