"""The cap on costs and the limits in PostgreSQL: what is admitted counts, in the tournaments that ask for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import contests
import pytest
from postgres import Postgres
from test_cluster_database import CALL, brought, registered

from debate_orchestrator.tournament.cluster import limits as limits_module
from debate_orchestrator.tournament.cluster.database import Database
from debate_orchestrator.tournament.cluster.limits import SharedLimiters
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.limits import MAX_PAUSE, Admission, Gate
from debate_orchestrator.util.errors import BadFile, OverBudget, Paused

pytestmark = pytest.mark.slow

PRICED = Admission(sent=1, answered=1, price=0.10)


@pytest.fixture
def url(postgres_server: Postgres) -> str:
    """The address of an empty database."""
    return postgres_server.url(postgres_server.database())


async def gate(database: Database, held: Tournament, id: str) -> Gate:
    """The gate of a new worker for one model of a tournament."""
    worker = await registered(database)
    return SharedLimiters(held.spec, database, id, worker, Counter()).gate(contests.OPUS)


@pytest.mark.parametrize(("given_back", "found"), [(0.2, (0.85, 1)), (0.01, (0.94, 0)), (0.0, (0.95, 0))])
def test_a_call_is_admitted_only_if_it_counts(
    here: Path, url: str, monkeypatch: pytest.MonkeyPatch, given_back: float, found: tuple[float, int]
) -> None:
    """Where another worker gives money back just when a call is found to exceed the cap, the call is admitted if there
    is enough now, and it is counted then."""
    held = contests.tournament(rehearse=False, max_cost=1.0)
    fetched = limits_module.fetched

    async def play() -> tuple[float, int]:
        async with brought(url, held) as (database, exchange):
            await database.execute("UPDATE tournaments SET committed = 0.95")

            async def interrupted(connection: Any, query: str, **values: Any) -> list[Any]:
                rows = await fetched(connection, query, **values)
                if query is limits_module._COMMIT and not rows and not refused:
                    refused.append(query)
                    await database.execute("UPDATE tournaments SET committed = committed - %(back)s", back=given_back)
                return rows

            refused = list[str]()
            monkeypatch.setattr(limits_module, "fetched", interrupted)
            admitting = (await gate(database, held, exchange.id)).admitted(PRICED, "1.opening.a", asyncio.Event())
            if found[1]:
                assert await admitting
            else:
                with pytest.raises(OverBudget, match=r"exceeds the cap of \$1\.00"):
                    await admitting
            ((committed, calls),) = await database.rows("SELECT committed, calls FROM tournaments")
            return round(committed, 6), calls

    assert asyncio.run(asyncio.wait_for(play(), 20)) == found


@pytest.mark.parametrize(
    ("column", "value"),
    [("committed", "NaN"), ("committed", "-Infinity"), ("max_cost", "NaN"), ("max_cost", "Infinity")],
)
def test_a_sum_that_is_no_number_admits_no_call(here: Path, url: str, column: str, value: str) -> None:
    """A cap can't be held by figures that no worker wrote."""
    held = contests.tournament(rehearse=False, max_cost=1.0)

    async def play() -> None:
        async with brought(url, held) as (database, exchange):
            await database.execute(f"UPDATE tournaments SET {column} = '{value}'")
            with pytest.raises(BadFile, match="holds costs of the tournament that this program did not write"):
                await (await gate(database, held, exchange.id)).admitted(PRICED, "1.opening.a", asyncio.Event())
            assert await database.rows("SELECT calls FROM tournaments") == [(0,)]

    asyncio.run(asyncio.wait_for(play(), 20))


def test_a_limit_holds_the_tournaments_that_give_it(here: Path, url: str) -> None:
    """A limit that one tournament gives holds up no other in the same database, nor itself once it is taken out of the
    spec; while it is given, all workers of the tournament share it."""
    limits = {contests.OPUS: {"requests": 1}}
    given, changed = (
        contests.tournament("given", rehearse=False, limits=limits),
        contests.tournament("changed", rehearse=False),
    )
    other = contests.tournament("other", rehearse=False, tag="other")

    async def play() -> bool:
        async with brought(url, given) as (database, exchange), brought(url, other) as (_, elsewhere):
            first, second, later = [await gate(database, held, exchange.id) for held in (given, given, changed)]
            stop = asyncio.Event()
            for n in range(2):
                assert await first.admitted(CALL, f"{n}", stop)
            held_up = asyncio.ensure_future(second.admitted(CALL, "2", stop))
            for free in (await gate(database, other, elsewhere.id), later):
                for n in range(3):
                    assert await asyncio.wait_for(free.admitted(CALL, f"{n}", asyncio.Event()), 20)
            early = held_up.done()
            stop.set()
            return early or await held_up

    assert not asyncio.run(play())


def test_a_pause_that_lies_far_ahead_ends(here: Path, url: str) -> None:
    """Where the clock of the database was set back during a pause, the call is refused, and the pause that is left is
    written down: it ends an hour after the first look at it, and not when the clock has caught up."""
    held = contests.tournament(rehearse=False)
    left = "SELECT (state->'limiter'->>'paused_until')::float - extract(epoch FROM clock_timestamp()) FROM limiters"

    async def play() -> None:
        async with brought(url, held) as (database, exchange):
            first, second = [await gate(database, held, exchange.id) for _ in range(2)]
            assert await first.admitted(CALL, "1", asyncio.Event())
            await database.execute(
                "UPDATE limiters SET state = jsonb_set(state, '{limiter,paused_until}',"
                " to_jsonb(extract(epoch FROM clock_timestamp()) + 86400))"
            )
            with pytest.raises(Paused, match="the provider allows no call for another 3,600 s"):
                await second.admitted(CALL, "2", asyncio.Event())
            ((seconds,),) = await database.rows(left)
            assert 0 < float(seconds) <= MAX_PAUSE

            # the hour has passed
            await database.execute(
                "UPDATE limiters SET state = jsonb_set(state, '{limiter,paused_until}',"
                " to_jsonb((state->'limiter'->>'paused_until')::float - 3600))"
            )
            assert await second.admitted(CALL, "2", asyncio.Event())

    asyncio.run(asyncio.wait_for(play(), 20))
