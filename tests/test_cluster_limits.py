"""The cap on costs and the limits in PostgreSQL: what is admitted counts, in the tournaments that ask for it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import contests
import pytest
from test_cluster_database import CALL, registered, uploaded

from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster.database import Database
from debate_orchestrator.tournament.cluster.limits import SharedGate, SharedLimiters
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.limits import MAX_PAUSE, Admission, Gate
from debate_orchestrator.util.errors import BadFile, OverBudget, Paused

pytestmark = pytest.mark.slow

PRICED = Admission(input_tokens=1, output_tokens=1, price=0.10)


async def gate(database: Database, held: Tournament, id: str) -> Gate:
    """The gate of a new worker for one model of a tournament."""
    worker = await registered(database)
    return SharedLimiters(held.spec, database, id, worker, Counter()).gate(contests.OPUS)


def test_calls_that_are_asked_for_at_once_are_within_the_cap(here: Path, url: str) -> None:
    """Of several workers that ask at the same moment, as many are admitted as the cap pays for, and these count."""
    held = contests.tournament(rehearse=False, max_cost=1.0)

    async def play() -> tuple[list[Any], tuple[float, int]]:
        async with uploaded(url, held) as (database, sync):
            await database.execute("UPDATE tournaments SET committed = 0.65")
            gates = [await gate(database, held, sync.id) for _ in range(6)]
            asking = (one.acquire(PRICED, "1.opening.a", asyncio.Event()) for one in gates)
            answers = await asyncio.gather(*asking, return_exceptions=True)
            ((committed, calls),) = await database.rows("SELECT committed, calls FROM tournaments")
            return answers, (round(committed, 6), calls)

    answers, found = asyncio.run(asyncio.wait_for(play(), 20))
    assert answers.count(True) == 3 and found == (0.95, 3)
    refused = [answer for answer in answers if answer is not True]
    assert all(isinstance(one, OverBudget) and "exceeds the cap of $1.00" in str(one) for one in refused), refused


@pytest.mark.parametrize(
    ("column", "value"),
    [("committed", "NaN"), ("committed", "-Infinity"), ("max_cost", "NaN"), ("max_cost", "Infinity")],
)
def test_a_sum_that_is_no_number_admits_no_call(here: Path, url: str, column: str, value: str) -> None:
    """A cap can't be held by figures that no worker wrote."""
    held = contests.tournament(rehearse=False, max_cost=1.0)

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            await database.execute(f"UPDATE tournaments SET {column} = '{value}'")
            with pytest.raises(BadFile, match="holds costs of the tournament that this program did not write"):
                await (await gate(database, held, sync.id)).acquire(PRICED, "1.opening.a", asyncio.Event())
            assert await database.rows("SELECT calls FROM tournaments") == [(0,)]

    asyncio.run(asyncio.wait_for(play(), 20))


@pytest.mark.parametrize("step", ["_locked", "_save"])
def test_a_frozen_worker_keeps_no_lock(here: Path, url: str, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The database ends an exchange whose worker is frozen in it, at each of its steps: the worker takes the room for
    its call in a second one. Otherwise it would keep all others from their calls."""
    held, made, real = contests.tournament(rehearse=False), list[str](), getattr(SharedGate, step)

    async def freeze(*given: Any) -> Any:
        result = await real(*given)
        if not made:
            time.sleep(2.5)  # as SIGSTOP does: nothing else of the worker goes on
        made.append(step)
        return result

    async def play() -> bool:
        async with uploaded(url, held) as (database, exchange):
            one = await gate(database, held, exchange.id)
            assert await one.acquire(CALL, "1", asyncio.Event())
            monkeypatch.setattr(SharedGate, step, freeze)
            return await one.acquire(CALL, "2", asyncio.Event())

    monkeypatch.setattr(database_module, "_IDLE", 1)
    assert asyncio.run(asyncio.wait_for(play(), 20)) and len(made) > 1


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
        async with uploaded(url, given) as (database, sync), uploaded(url, other) as (_, elsewhere):
            first, second, later = [await gate(database, held, sync.id) for held in (given, given, changed)]
            stop = asyncio.Event()
            for n in range(2):
                assert await first.acquire(CALL, f"{n}", stop)
            held_up = asyncio.ensure_future(second.acquire(CALL, "2", stop))
            for free in (await gate(database, other, elsewhere.id), later):
                for n in range(3):
                    assert await asyncio.wait_for(free.acquire(CALL, f"{n}", asyncio.Event()), 20)
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
        async with uploaded(url, held) as (database, sync):
            first, second = [await gate(database, held, sync.id) for _ in range(2)]
            assert await first.acquire(CALL, "1", asyncio.Event())
            await database.execute(
                "UPDATE limiters SET state = jsonb_set(state, '{limiter,paused_until}',"
                " to_jsonb(extract(epoch FROM clock_timestamp()) + 86400))"
            )
            with pytest.raises(Paused, match="the provider allows no call for another 3,600 s"):
                await second.acquire(CALL, "2", asyncio.Event())
            ((seconds,),) = await database.rows(left)
            assert 0 < float(seconds) <= MAX_PAUSE

            # the hour has passed
            await database.execute(
                "UPDATE limiters SET state = jsonb_set(state, '{limiter,paused_until}',"
                " to_jsonb((state->'limiter'->>'paused_until')::float - 3600))"
            )
            assert await second.acquire(CALL, "2", asyncio.Event())

    asyncio.run(asyncio.wait_for(play(), 20))


def test_each_number_that_is_given_is_a_limit_of_its_own(here: Path, url: str) -> None:
    """Two tournaments that give different limits for one provider are each held to their own; those that give the same
    number share it."""

    def limited(name: str, requests: int) -> Tournament:
        return contests.tournament(name, rehearse=False, tag=name, limits={"anthropic": {"requests": requests}})

    slow, same, fast = limited("slow", 60), limited("same", 60), limited("fast", 60_000)

    async def play() -> list[list[float | str]]:
        async with (
            uploaded(url, slow) as (database, one),
            uploaded(url, same) as (_, two),
            uploaded(url, fast) as (_, three),
        ):
            quick = await gate(database, fast, three.id)
            for n in range(3):
                assert await quick.acquire(CALL, f"{n}", asyncio.Event())
            assert await (await gate(database, slow, one.id)).acquire(CALL, "0", asyncio.Event())
            held_up = asyncio.ensure_future((await gate(database, same, two.id)).acquire(CALL, "0", asyncio.Event()))
            assert await quick.acquire(CALL, "3", asyncio.Event())
            ((state,),) = await database.rows("SELECT state::text FROM limiters WHERE key = 'anthropic'")
            held_up.cancel()
            await asyncio.gather(held_up, return_exceptions=True)
            return [one[:3] for one in json.loads(state)["given"]]

    (_, slow_rate, slow_left), (_, fast_rate, fast_left) = sorted(asyncio.run(play()))
    assert (slow_rate, fast_rate) == (60, 60_000)
    assert float(slow_left) <= 0.1 and float(fast_left) > 900
