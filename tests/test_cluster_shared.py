"""What workers share: the cap on costs against PostgreSQL, what the database refuses, and jobs that others made."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import psycopg
import pytest
import small_tournaments
from corpus import for_each
from postgres import Line, Postgres, line
from procrastinate import App
from procrastinate.testing import InMemoryConnector
from test_tournament_limits import made

from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster import shared
from debate_orchestrator.tournament.cluster import worker as worker_module
from debate_orchestrator.tournament.cluster.coordinator import Coordinator
from debate_orchestrator.tournament.cluster.database import Database, open_database, out_of_reach
from debate_orchestrator.tournament.cluster.jobs import QueueCounts, Requeue, enqueue
from debate_orchestrator.tournament.cluster.shared import BudgetedProvider, ClusterBudget
from debate_orchestrator.tournament.cluster.worker import _TAKE_OVER, Worker
from debate_orchestrator.tournament.folder import Tournament, spec_data
from debate_orchestrator.util.errors import BadFile, OverBudget, PermanentFailure, TransientError

MODEL = "anthropic:m"
PRICE = 0.5
"""US dollars that each call is expected to cost."""
BROKEN_OFF = Reply(text="It be", brief_digest="", spec=MODEL, cost=0.125)
"""The part of a reply whose call ended before it did; the cost is not final."""
PART_PRICE = 3.0
"""US dollars that a call is estimated at of which that part came."""


class Model(Provider):
    """A model whose reply has a cost, or which fails, or is cancelled in it."""

    name, caches = MODEL, True

    def __init__(self, outcome: float | BaseException | None = None):
        self._outcome = outcome

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        if isinstance(self._outcome, asyncio.CancelledError):
            on_text(BROKEN_OFF.text)
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return Reply(text="x", brief_digest="", spec=self.name, cost=self._outcome)


async def begun(
    budget: ClusterBudget, debate_id: str = "d", outcome: float | BaseException | None = None
) -> BudgetedProvider:
    """A provider whose call of the turn `t` is counted."""
    provider = BudgetedProvider(Model(outcome), budget, debate_id)
    assert await provider.acquire(made("t"), asyncio.Event())
    return provider


async def ended(budget: ClusterBudget) -> None:
    """Returns once all that waits is counted."""
    if budget.counting is not None:
        await budget.counting


async def answered(budget: ClusterBudget, outcome: float | BaseException) -> None:
    """A call that has ended, and whose end is counted."""
    provider = await begun(budget, outcome=outcome)
    with suppress(PermanentFailure, TransientError, asyncio.CancelledError):
        await provider.reply(made("t"), lambda text: None)
    await ended(budget)


async def counted(database: Database) -> tuple[Any, ...]:
    """US dollars spent, calls, failed calls, and calls under way."""
    query = "SELECT spent, calls, failed_calls, (SELECT count(*) FROM calls) FROM tournaments"
    (row,) = await database.rows(query)
    return row


@asynccontextmanager
async def tournament(url: str, max_cost: float) -> AsyncIterator[Database]:
    """A database with the tournament `t`."""
    async with open_database(url, lambda sentence: None) as database:
        insert = "INSERT INTO tournaments (id, tag, spec, max_cost) VALUES ('t', 't', '{}', %(max_cost)s)"
        await database.execute(insert, max_cost=max_cost)
        yield database


def offline(notices: list[str]) -> Database:
    """A database without a server."""
    return Database(App(connector=InMemoryConnector()), "postgresql://h/x", notices.append)


@pytest.fixture(autouse=True)
def price(monkeypatch: pytest.MonkeyPatch) -> None:
    def estimated(spec: str, brief: Brief, reply: Reply, *, batch: bool = False) -> float:
        assert (reply.text, reply.cost) == (BROKEN_OFF.text, None)
        return PART_PRICE

    monkeypatch.setattr(shared, "cost_before_call", lambda spec, brief: PRICE)
    monkeypatch.setattr(shared, "cost_after_call", estimated)
    monkeypatch.setattr(database_module, "RETRY_SECONDS", 0.01)


def test_two_workers_see_the_same_room(postgres_server: Postgres, database: str) -> None:
    """Of two workers that ask at once for the room of one call, one gets it. A call counts with its price from its
    beginning, and from its end with what it did cost, or is estimated at by what came before it broke off; one that
    was not made counts no more."""
    url = postgres_server.url(database)

    async def play() -> list[tuple[Any, ...]]:
        async with tournament(url, 1.5 * PRICE) as first, open_database(url, lambda sentence: None) as second:
            budgets = ClusterBudget(first, "t"), ClusterBudget(second, "t")
            with psycopg.connect(url) as other:  # both ask before either is answered
                other.execute("UPDATE debate_orchestrator.tournaments SET tag = tag")
                asking = [asyncio.create_task(begun(budget)) for budget in budgets]
                waiting, end = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", time.time() + 30
                while await first.rows(waiting) != [(2,)]:
                    assert time.time() < end
            providers = await asyncio.gather(*asking, return_exceptions=True)
            assert {type(one) for one in providers} == {BudgetedProvider, OverBudget}
            rows = [await counted(first)]
            for provider in providers:
                if isinstance(provider, BudgetedProvider):
                    provider.release(made("t"))
            await asyncio.gather(*map(ended, budgets))
            rows.append(await counted(first))
            await first.execute("UPDATE tournaments SET max_cost = 9")
            broken_off = TransientError("HTTP 502", partial=BROKEN_OFF)
            billed = TransientError("no", maybe_billed=True), broken_off, asyncio.CancelledError()
            for outcome in (0.0625, PermanentFailure("no"), TransientError("no"), *billed):
                await answered(budgets[1], outcome)
                rows.append(await counted(first))
            return rows

    assert asyncio.run(play()) == [
        (PRICE, 1, 0, 1),
        (0.0, 0, 0, 0),
        (0.0625, 1, 0, 0),
        (0.0625, 2, 1, 0),
        (0.0625, 3, 2, 0),
        (0.0625 + PRICE, 4, 3, 0),
        (0.0625 + PRICE + PART_PRICE, 5, 4, 0),
        (0.0625 + PRICE + 2 * PART_PRICE, 6, 4, 0),
    ]


def test_calls_that_wait_for_the_row_of_their_tournament(postgres_server: Postgres, database: str) -> None:
    """While every shared connection waits for that row, the worker still gives heartbeats, also after its connection
    for them was lost. Calls that wait are counted together, each within the cap, and so are their ends."""
    url, calls = postgres_server.url(database), 12
    last = "SELECT last_heartbeat FROM procrastinate_workers"

    async def play() -> list[tuple[Any, ...]]:
        async with tournament(url, (calls - 1) * PRICE) as stored:
            worker, budget = Worker(stored, lambda held: [], concurrency=1), ClusterBudget(stored, "t")
            worker._jobs[asyncio.create_task(asyncio.sleep(60))] = await stored.app.job_manager.register_worker()
            with psycopg.connect(url) as other:
                other.execute("UPDATE debate_orchestrator.tournaments SET tag = tag")
                asking = [asyncio.create_task(begun(budget)) for _ in range(calls)]
                filling = [asyncio.create_task(stored.execute("UPDATE tournaments SET tag = tag")) for _ in range(9)]
                await asyncio.sleep(0.5)
                beating = asyncio.create_task(worker._send_heartbeats())
                for kill in ("query LIKE '%last_heartbeat = %'", "false"):
                    end, before = time.time() + 6, postgres_server.query(database, last)
                    while postgres_server.query(database, last) == before:
                        assert time.time() < end
                        await asyncio.sleep(0.05)
                    sessions = f"FROM pg_stat_activity WHERE pid != pg_backend_pid() AND {kill}"
                    postgres_server.query(database, f"SELECT pg_terminate_backend(pid) {sessions}")
            *_, providers = await asyncio.gather(*filling, asyncio.gather(*asking, return_exceptions=True))
            beating.cancel()
            admitted = [provider for provider in providers if isinstance(provider, BudgetedProvider)]
            assert [type(one) for one in providers if one not in admitted] == [OverBudget]
            rows, transactions = [await counted(stored)], (await stored.rows("SELECT txid_current()"))[0][0]
            for provider in admitted:
                provider.release(made("t"))
            await ended(budget)
            transactions -= (await stored.rows("SELECT txid_current()"))[0][0]
            assert -transactions < calls / 2
            return [*rows, await counted(stored)]

    assert asyncio.run(play()) == [((calls - 1) * PRICE, calls - 1, 0, calls - 1), (0.0, 0, 0, 0)]


def lose_next_answer(database: Database) -> None:
    """Has the next transaction committed without its answer coming through."""
    transaction = database.transaction

    @asynccontextmanager
    async def losing() -> AsyncIterator[Any]:
        database.transaction = transaction  # type: ignore[method-assign]
        async with transaction() as connection:
            yield connection
        raise psycopg.OperationalError("the connection was lost")

    database.transaction = losing  # type: ignore[method-assign]


def test_a_lost_commit_counts_once(postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call whose COMMITs came through without an answer begins once, in the room of one call, and ends once. A debate
    that is cancelled while such an answer is awaited leaves no call counted."""

    async def play() -> list[tuple[Any, ...]]:
        async with tournament(postgres_server.url(database), PRICE) as stored:
            budget = ClusterBudget(stored, "t")
            lose_next_answer(stored)
            provider = await begun(budget, outcome=TransientError("no"))
            rows = [await counted(stored)]
            lose_next_answer(stored)
            with pytest.raises(TransientError):
                await provider.reply(made("t"), lambda text: None)
            await ended(budget)
            rows.append(await counted(stored))

            monkeypatch.setattr(database_module, "RETRY_SECONDS", 1)
            lose_next_answer(stored)
            asking = asyncio.create_task(begun(budget))
            while not stored.is_unreachable:
                await asyncio.sleep(0.01)
            rows.append(await counted(stored))
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await ended(budget)
            return [*rows, await counted(stored)]

    begun_once = [(PRICE, 1, 0, 1), (0.0, 1, 1, 0)]
    assert asyncio.run(play()) == [*begun_once, (PRICE, 2, 1, 1), (0.0, 1, 1, 0)]


@pytest.mark.slow
def test_a_silent_connection(postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a connection passes nothing on any more, without an error, calls are counted and heartbeats given on a
    new one. An answer that takes longer is waited for while parts of it come."""
    monkeypatch.setattr(database_module, "_SILENT_SECONDS", 0.5)

    async def play(line: Line) -> None:
        async with asyncio.timeout(30), tournament(postgres_server.url(database, line.port), 9.0) as stored:
            await begun(ClusterBudget(stored, "t"))
            await stored.give_heartbeats([1])
            line.silence()
            beat = stored.retried_until_reached(lambda: stored.give_heartbeats([1]))
            await asyncio.gather(begun(ClusterBudget(stored, "t")), beat)
            slow = await stored.rows("SELECT repeat('x', 20000), pg_sleep(0.02)::text FROM generate_series(1, 60)")
            assert len(slow) == 60 and await counted(stored) == (2 * PRICE, 2, 0, 2)

    with line(postgres_server.port) as to_server:
        asyncio.run(play(to_server))


def test_calls_in_flight_of_workers(postgres_server: Postgres, database: str, here: Path) -> None:
    """A run counts the calls under way of all workers. Those that a dead worker has left are under way no more once
    another takes their debate over, and stay paid for as expected. A row that is of no debate of the tournament counts
    for nothing."""

    async def play() -> list[tuple[int, int, float, int]]:
        rows = []
        async with open_database(postgres_server.url(database), lambda sentence: None) as stored:
            run = Coordinator(stored, small_tournaments.tournament(topics=1))
            await run.upload()
            for debate_id in ("no debate of it", run.tournament.schedule[0].id):
                await begun(ClusterBudget(stored, run.id), debate_id)
                insert = "INSERT INTO journals (tournament, debate, status) VALUES (%(id)s, %(debate)s, 'complete')"
                await stored.execute(insert, id=run.id, debate=debate_id)
            for _ in range(2):
                await run._read_progress()
                rows.append((run.numbers.in_flight, run.numbers.calls, run.numbers.usd, run.numbers.complete))
                await stored.rows(_TAKE_OVER, tournament=run.id, debate=debate_id)
        return rows

    assert asyncio.run(play()) == [(2, 0, 2 * PRICE, 1), (1, 0, 2 * PRICE, 1)]


NEVER_WRITTEN = {
    "tournaments": ("spent = 'NaN'", "spent = -1", "max_cost = 'Infinity'"),
    "journals": ("cost = 'NaN'", "status = 'won'", "why = '{NULL}'"),
    "procrastinate_jobs": [f"scheduled_at = '{time}'" for time in ("infinity", "-infinity", "2100-01-01")],
}


def test_rows_that_could_not_be_read(postgres_server: Postgres, database: str) -> None:
    """The database itself refuses values that this program never writes, from any client."""

    async def play() -> None:
        async with tournament(postgres_server.url(database), PRICE) as stored:
            await stored.execute("INSERT INTO journals (tournament, debate) VALUES ('t', 'd')")
            await enqueue(stored, "t", [("d", True)])
            for table, values in NEVER_WRITTEN.items():
                for value in values:
                    with pytest.raises(BadFile, match="violates check constraint"):
                        await stored.execute(f"UPDATE {table} SET {value}")

    asyncio.run(play())


def test_rounding_leaves_no_debt(postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is spent is never less than nothing, in whatever order calls begin and end. A call that the database refuses
    keeps back no other that is counted with it."""
    expected = [0.1, 0.4, 0.2, -1.0]
    monkeypatch.setattr(shared, "cost_before_call", lambda spec, brief: expected.pop(0))

    async def play() -> list[Any]:
        async with tournament(postgres_server.url(database), 10) as stored:
            budget = ClusterBudget(stored, "t")
            *admitted, refused = await asyncio.gather(*(begun(budget) for _ in range(4)), return_exceptions=True)
            for provider in admitted:
                assert isinstance(provider, BudgetedProvider)
                provider.release(made("t"))
                await ended(budget)
            return [type(refused), *await counted(stored)]

    assert 0.1 + 0.4 + 0.2 - 0.1 - 0.4 - 0.2 < 0 and asyncio.run(play()) == [BadFile, 0.0, 0, 0, 0]


def test_a_worker_that_was_cut_off_leaves_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the database is away just as a worker stops to take the debates of a tournament, it takes no more of them,
    and all of its tasks have ended when it has."""
    open_tournaments, taken = [("t",)], []

    async def take(*_: object) -> None:
        taken.append(asyncio.current_task())
        open_tournaments.clear()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            worker.stop()
            raise psycopg.OperationalError("the connection was lost") from None

    async def rows(query: str, **_: object) -> list[tuple[Any, ...]]:
        return [("tag", 1, False)] if query == worker_module._LATEST else [*open_tournaments]

    async def nothing(*_: object) -> QueueCounts:
        return QueueCounts(0, 0, 0)

    monkeypatch.setattr(worker_module, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(worker_module, "take_debates", take)
    for name in ("requeue_stalled", "count_queue"):
        monkeypatch.setattr(worker_module, name, nothing)
    stored = offline([])
    monkeypatch.setattr(stored, "rows", rows)
    worker = Worker(stored, lambda held: [], concurrency=1)
    loaded = small_tournaments.spec()
    monkeypatch.setattr(worker, "_load", AsyncMock(return_value=(Tournament.from_spec("t", loaded), [])))

    async def play() -> set[asyncio.Task[Any]]:
        await asyncio.wait_for(worker.work(), 30)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(play()) == set() and len(taken) == 1


def test_a_worker_is_given_up_while_the_database_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that answers nothing keeps a worker that is given up no longer than its last write may take, also
    where a query outlives its first cancellation, as one does until the server has confirmed it."""

    async def hang(*_: object) -> list[tuple[Any, ...]]:
        for _ in range(3):
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        raise psycopg.OperationalError

    monkeypatch.setattr(worker_module, "END_SECONDS", 0.1)
    stored = offline([])
    for query in ("rows", "give_heartbeats"):
        monkeypatch.setattr(stored, query, hang)
    worker = Worker(stored, lambda held: [], concurrency=1)
    monkeypatch.setattr(worker, "_run_debate", hang)
    monkeypatch.setattr(worker, "_record_status", hang)

    async def play() -> set[asyncio.Task[Any]]:
        working, job = asyncio.create_task(worker.work()), asyncio.create_task(worker._run_job(1, "t", "d"))
        await asyncio.sleep(0.05)
        worker.cancel_jobs()
        done, _ = await asyncio.wait({working, job}, timeout=10)
        assert done == {working, job}
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(play()) == set()


def test_what_keeps_a_tournament_from_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told once, in a sentence. A user who can write to the database can name a tournament freely, or remove
    it at any time."""
    notices: list[str] = []
    stored, tag = offline(notices), "demo: none here.” 12 debates completed here"
    worker = Worker(stored, lambda held: ["No key."], concurrency=1, notify=notices.append)
    text = json.dumps(spec_data(small_tournaments.spec()))

    async def play(*rows: list[tuple[Any, ...]]) -> None:
        monkeypatch.setattr(stored, "rows", AsyncMock(side_effect=rows))
        await worker._begin("t")

    async def run() -> None:
        worker._taking["t"] = taking = asyncio.create_task(asyncio.sleep(60))
        monkeypatch.setattr(stored, "rows", AsyncMock(side_effect=[[(tag, 1, False)]]))
        with pytest.raises(Requeue):  # and no more of them are taken, as this one would be at once
            await asyncio.wait_for(worker._run_debate("t", "d"), 5)
        await asyncio.gather(taking, return_exceptions=True)
        assert taking.cancelled() and not worker._taking

    asyncio.run(play([(tag, 1, False)], [(text,)]))
    asyncio.run(play([(tag, 1, False)]))
    asyncio.run(run())
    asyncio.run(play([(tag, 2, False)], []))

    said = "No debates of “demo: none here.' 12 debates completed here” are taken:"
    assert notices == [f"{said} No key.", f"{said} The tournament “t” in postgresql://h/x was removed."]


@for_each(
    [
        (psycopg.errors.ProgramLimitExceeded("index row size exceeds the maximum"), BadFile),
        (psycopg.errors.StatementTooComplex("stack depth limit exceeded"), BadFile),
        (psycopg.errors.CheckViolation("no such line"), BadFile),
        (psycopg.DataError("a number is out of range"), BadFile),
        (psycopg.OperationalError("the connection was lost"), psycopg.OperationalError),
        (psycopg.errors.AdminShutdown("terminating"), psycopg.OperationalError),
        (psycopg.errors.DiskFull("no space left"), psycopg.OperationalError),
        (psycopg.errors.ReadOnlySqlTransaction("read-only"), psycopg.errors.ReadOnlySqlTransaction),
    ]
)
def test_what_the_database_refuses(error: psycopg.Error, raised: type[Exception]) -> None:
    """What is too large for the server, as what it refuses otherwise, is reported and not tried again. A server that
    can't be reached or takes nothing for now is not a refusal."""

    @asynccontextmanager
    async def connection() -> AsyncIterator[Any]:
        yield SimpleNamespace(execute=AsyncMock(side_effect=error))

    app: Any = SimpleNamespace(connector=SimpleNamespace(pool=SimpleNamespace(connection=connection)))
    database = Database(app, "postgresql://h/x", lambda sentence: None)
    with pytest.raises(raised, match=str(error)):
        asyncio.run(database.execute(""))
    assert (raised is BadFile) is not issubclass(raised, out_of_reach())
