"""What workers share: the cap on costs against PostgreSQL, what the database refuses, and jobs that others made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import contests
import psycopg
import pytest
from postgres import Postgres
from procrastinate.jobs import Job
from test_tournament_limits import made

from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster import shared
from debate_orchestrator.tournament.cluster.coordinator import Coordinator
from debate_orchestrator.tournament.cluster.database import Database, open_database
from debate_orchestrator.tournament.cluster.shared import CappedProvider, SharedCap
from debate_orchestrator.tournament.cluster.worker import _TAKE_OVER
from debate_orchestrator.util.errors import BadFile, OverBudget, PermanentFailure, TransientError

MODEL = "anthropic:m"
PRICE = 0.5
"""US dollars that each call is expected to cost."""


class Model(Provider):
    """A model whose reply has a cost, or which fails."""

    name, caches = MODEL, True

    def __init__(self, outcome: float | Exception | None = None):
        self._outcome = outcome

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return Reply(text="x", brief_digest="", spec=self.name, cost=self._outcome)


async def begun(cap: SharedCap, debate_id: str = "d", outcome: float | Exception | None = None) -> CappedProvider:
    """A provider whose call of the turn `t` is counted."""
    provider = CappedProvider(Model(outcome), cap, debate_id)
    assert await provider.acquire(made("t"), asyncio.Event())
    return provider


async def answered(cap: SharedCap, outcome: float | Exception) -> None:
    """A call that has ended, and whose end is counted."""
    provider = await begun(cap, outcome=outcome)
    with suppress(PermanentFailure, TransientError):
        await provider.reply(made("t"), lambda text: None)
    await asyncio.gather(*cap.ending_calls)


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


@pytest.fixture(autouse=True)
def price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "cost_before_call", lambda spec, brief: PRICE)
    monkeypatch.setattr(database_module, "RETRY_SECONDS", 0.01)


def test_two_workers_see_the_same_room(postgres_server: Postgres, database: str) -> None:
    """Of two workers that ask at once for the room of one call, one gets it. A call counts with its price from its
    beginning, and from its end with what it did cost; one that was not made counts no more."""
    url = postgres_server.url(database)

    async def play() -> list[tuple[Any, ...]]:
        async with tournament(url, 1.5 * PRICE) as first, open_database(url, lambda sentence: None) as second:
            caps = SharedCap(first, "t"), SharedCap(second, "t")
            with psycopg.connect(url) as other:  # both ask before either is answered
                other.execute("UPDATE debate_orchestrator.tournaments SET tag = tag")
                asking = [asyncio.create_task(begun(cap)) for cap in caps]
                waiting, end = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", time.time() + 30
                while await first.rows(waiting) != [(2,)]:
                    assert time.time() < end
            providers = await asyncio.gather(*asking, return_exceptions=True)
            assert {type(one) for one in providers} == {CappedProvider, OverBudget}
            rows = [await counted(first)]
            for provider in providers:
                if isinstance(provider, CappedProvider):
                    provider.release(made("t"))
            await asyncio.gather(*caps[0].ending_calls, *caps[1].ending_calls)
            rows.append(await counted(first))
            outcomes = (0.0625, PermanentFailure("no"), TransientError("no"), TransientError("no", maybe_billed=True))
            for outcome in outcomes:
                await answered(caps[1], outcome)
                rows.append(await counted(first))
            return rows

    assert asyncio.run(play()) == [
        (PRICE, 1, 0, 1),
        (0.0, 0, 0, 0),
        (0.0625, 1, 0, 0),
        (0.0625, 2, 1, 0),
        (0.0625, 3, 2, 0),
        (0.0625 + PRICE, 4, 3, 0),
    ]


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


def test_a_lost_commit_counts_once(postgres_server: Postgres, database: str) -> None:
    """A call whose COMMITs came through without an answer begins once, in the room of one call, and ends once."""

    async def play() -> list[tuple[Any, ...]]:
        async with tournament(postgres_server.url(database), PRICE) as stored:
            cap = SharedCap(stored, "t")
            lose_next_answer(stored)
            provider = await begun(cap, outcome=TransientError("no"))
            rows = [await counted(stored)]
            lose_next_answer(stored)
            with pytest.raises(TransientError):
                await provider.reply(made("t"), lambda text: None)
            await asyncio.gather(*cap.ending_calls)
            return [*rows, await counted(stored)]

    assert asyncio.run(play()) == [(PRICE, 1, 0, 1), (0.0, 1, 1, 0)]


def test_a_call_that_is_cancelled_as_it_begins(
    postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A debate that is cancelled while the answer to a COMMIT is awaited leaves no call counted."""
    monkeypatch.setattr(database_module, "RETRY_SECONDS", 60)

    async def play() -> list[tuple[Any, ...]]:
        async with tournament(postgres_server.url(database), PRICE) as stored:
            cap = SharedCap(stored, "t")
            lose_next_answer(stored)
            asking = asyncio.create_task(begun(cap))
            while not stored.is_unreachable:
                await asyncio.sleep(0.01)
            rows = [await counted(stored)]
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await asyncio.gather(*cap.ending_calls)
            return [*rows, await counted(stored)]

    assert asyncio.run(play()) == [(PRICE, 1, 0, 1), (0.0, 0, 0, 0)]


def test_calls_in_flight_of_workers(postgres_server: Postgres, database: str, here: Path) -> None:
    """A run counts the calls under way of all workers. Those that a dead worker has left are under way no more once
    another takes their debate over, and stay paid for as expected."""

    async def play() -> list[tuple[int, int, float]]:
        rows = []
        async with open_database(postgres_server.url(database), lambda sentence: None) as stored:
            run = Coordinator(stored, contests.tournament(topics=1))
            await run.register()
            for debate_id in ("d", "e"):
                await begun(SharedCap(stored, run.id), debate_id)
            for _ in range(2):
                await run._read_progress()
                rows.append((run.numbers.in_flight, run.numbers.calls, run.numbers.usd))
                await stored.rows(_TAKE_OVER, tournament=run.id, debate="d")
        return rows

    assert asyncio.run(play()) == [(2, 0, 2 * PRICE), (1, 0, 2 * PRICE)]


class Failing:
    """What the pool of a database gives: connections on which every statement fails."""

    def __init__(self, error: Exception):
        self._error = error

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Failing]:
        yield self

    async def execute(self, *_: object) -> None:
        raise self._error


def failing(error: Exception) -> Database:
    app: Any = SimpleNamespace(connector=SimpleNamespace(pool=Failing(error)))
    return Database(app, "postgresql://h/x", lambda sentence: None)


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.ProgramLimitExceeded("index row size exceeds the maximum"),
        psycopg.errors.StatementTooComplex("stack depth limit exceeded"),
        psycopg.errors.CheckViolation("no such line"),
        psycopg.DataError("a number is out of range"),
    ],
)
def test_what_the_database_refuses(error: psycopg.Error) -> None:
    """What is too large for the server, as what it refuses otherwise, is told and not tried again."""
    database = failing(error)
    with pytest.raises(BadFile, match=str(error)):
        asyncio.run(database.retried_until_reached(lambda: database.execute("")))
    assert not database.is_unreachable


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("the connection was lost"),
        psycopg.errors.AdminShutdown("terminating"),
        psycopg.errors.DiskFull("no space left"),
        psycopg.errors.ReadOnlySqlTransaction("read-only"),
    ],
)
def test_what_the_database_takes_later(error: psycopg.Error) -> None:
    """A server that can't be reached or takes nothing for now is no refusal: its work is tried again."""
    with pytest.raises(type(error)):
        asyncio.run(failing(error).execute(""))


def job(arguments: Any, task: str = "run_debate", queue: str = "debates-t") -> Job:
    return Job(queue=queue, lock=None, queueing_lock=None, task_name=task, task_kwargs=arguments)


def test_the_debate_of_a_job() -> None:
    """A job that this program made names its debate, and not one in the queue of another tournament."""
    made_here = database_module._job("t", "d", 1)
    assert database_module._debate_of(made_here) == "d"
    assert database_module._debate_of(job({"tournament": "t", "debate": "x" * 1_000})) == "x" * 1_000
    assert database_module._debate_of(job({"tournament": "u", "debate": "d"})) is None


@pytest.mark.parametrize(
    ("arguments", "task"),
    [
        ({}, "run_debate"),
        ({"tournament": "t"}, "run_debate"),
        ({"debate": "d"}, "run_debate"),
        ({"tournament": ["t"], "debate": "d"}, "run_debate"),
        ({"tournament": "t", "debate": ["d"]}, "run_debate"),
        ({"tournament": "t", "debate": "x" * 1_001}, "run_debate"),
        ({"tournament": "t", "debate": "d"}, "another"),
    ],
)
def test_a_job_that_names_no_debate(arguments: dict[str, Any], task: str) -> None:
    """A job with other arguments or of another task names none, whatever its queue is."""
    assert database_module._debate_of(job(arguments, task)) is None
    assert database_module._debate_of(job(arguments, task, f"debates-{arguments.get('tournament')}")) is None


@pytest.mark.parametrize(("text", "arguments"), [('{"debate": "d"}', {"debate": "d"}), ("[1]", {}), ('"text"', {})])
def test_the_arguments_of_a_job(text: str, arguments: dict[str, Any]) -> None:
    """What is no object counts as no arguments."""
    assert database_module._job_arguments(text) == arguments
