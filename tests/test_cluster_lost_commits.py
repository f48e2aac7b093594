"""Answers to COMMIT that are lost: what an update adds to the sums of a tournament and its limits is added once, and a
line counts as written only where it is."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import contests
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres import Postgres
from test_cluster_database import asked, registered, uploaded

from debate_orchestrator.core.events import Event
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.storage.journal import read
from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster import limits as limits_module
from debate_orchestrator.tournament.cluster.database import Database
from debate_orchestrator.tournament.cluster.journals import DatabaseJournals
from debate_orchestrator.tournament.cluster.limits import SharedLimiters
from debate_orchestrator.tournament.limits import Admission
from debate_orchestrator.util.errors import OverBudget, PermanentFailure

pytestmark = pytest.mark.slow

Fate = Literal["answered", "lost", "rolled back"]
"""What becomes of a COMMIT: answered; made, and its answer lost; not made, and that not known."""
FATES = st.lists(st.sampled_from(("answered", "lost", "rolled back")), max_size=4)
A_MINUTE, AT_ONCE = 60_000_000, 1_000_000
"""Tokens that a limit allows, and how many of them at once."""
COSTS = st.sampled_from((0.0, 0.25, 0.75))
"""What a call costs that was expected to cost half a dollar."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), FATES),
        st.tuples(st.just("stopped"), FATES),
        st.tuples(st.just("end"), FATES, COSTS, st.integers(0, 3_000)),
        st.tuples(st.just("throttled"), FATES),
    ),
    max_size=12,
)


class Unsure(Database):
    """A database whose COMMITs have the fates that a test gives them."""

    fates: list[Fate]
    stop: asyncio.Event | None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        from psycopg import OperationalError

        fate: Fate = "answered"
        async with super().transaction() as connection:
            yield connection
            if self.fates:
                fate = self.fates.pop(0)
            if fate == "rolled back":
                self.break_off()
                raise OperationalError("the connection is lost")
        if fate == "lost":
            self.break_off()
            raise OperationalError("the connection is lost")

    def break_off(self) -> None:
        """Stops the call that asks, where the test wants it to be stopped then."""
        if self.stop is not None:
            self.stop.set()


async def sums(database: Database) -> tuple[float, int, int, int]:
    """Dollars that are held and spent, calls, failed calls, throttled ones."""
    ((committed, *counts),) = await database.rows("SELECT committed, calls, failed_calls, throttled FROM tournaments")
    return (committed, *counts)


async def played(database: Database, limiters: SharedLimiters, steps: list[Any]) -> tuple[Any, Any, float]:
    """The sums that are right and those that the database has after these steps, and the tokens that are taken."""
    own = Unsure(database.app, database.app, database.where, lambda message: None)
    own.fates, own.stop, limiters.database = [], None, own
    gate = limiters.gate(contests.OPUS)
    under_way, costs, made, failed, throttled, tokens = list[Admission](), list[float](), 0, 0, 0, 0.0
    for kind, fates, *rest in steps:
        own.fates[:], stop = fates, asyncio.Event()
        own.stop = stop if kind == "stopped" else None
        if kind in ("call", "stopped") and len(under_way) < 10:
            call = Admission(input_tokens=500, output_tokens=500, price=0.5)
            if await gate.acquire(call, "1.opening.a", stop):
                under_way.append(call)
                made += 1
        elif kind == "end" and under_way:
            cost, used = rest
            gate.ended(under_way.pop(), Usage(uncached_input=used, output=500), cost, failed=not cost)
            costs.append(cost)
            tokens += used + 500
            failed += not cost
        elif kind == "throttled":
            gate.on_response(429, {})
            throttled += 1
        least = 0.5 * len(under_way) + sum(min(cost, 0.5) for cost in costs)
        assert (await sums(database))[0] >= least - 1e-9, (kind, fates)
    own.fates.clear()
    for call in under_way:
        gate.ended(call, None, None, failed=False)
    await limiters.close()
    ((state,),) = await database.rows("SELECT state::text FROM limiters WHERE key = %(key)s", key=contests.OPUS)
    assert set(json.loads(state)["in_flight"].values()) == {0}
    taken = AT_ONCE - json.loads(state)["given"][0][2]
    right = sum(costs) + 0.5 * len(under_way), made, failed, throttled
    return right, await sums(database), taken - tokens - 1_000 * len(under_way)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(steps=STEPS)
def test_what_an_update_adds_is_added_once(
    here: Path, postgres_server: Postgres, database: str, steps: list[Any]
) -> None:
    """However COMMITs fail, the sum that the cap holds is never below what is held and spent, and in the end all sums
    and allowances are right: each call is counted once, and what it gave back is given back once."""
    url = postgres_server.url(database)
    held = contests.tournament(rehearse=False, max_cost=100.0, limits={contests.OPUS: {"tokens": A_MINUTE}})

    async def play() -> None:
        async with uploaded(url, held) as (server, sync):
            await server.execute("DELETE FROM limiters")
            await server.execute("UPDATE tournaments SET committed = 0, calls = 0, failed_calls = 0, throttled = 0")
            worker = await registered(server)
            limiters = SharedLimiters(held.spec, server, sync.id, worker, Counter())
            right, found, tokens = await played(server, limiters, [("call", []), *steps])
            assert found == (pytest.approx(right[0]), *right[1:])
            assert tokens == pytest.approx(0)

    with pytest.MonkeyPatch.context() as patch:
        for module in (database_module, limits_module):
            patch.setattr(module, "RETRY", 0.001)
        # Time stands still, so that allowances do not fill up; a pause would have ended long ago.
        patch.setattr(limits_module, "_NOW", "SELECT 0, ARRAY[]::bigint[]")
        patch.setattr("debate_orchestrator.tournament.limits.Limiter._throttle", _count_alone)
        asyncio.run(asyncio.wait_for(play(), 60))


def _count_alone(limiter: Any, after: float | None) -> None:
    limiter.throttled += 1


def test_the_cap_holds_where_answers_are_lost(here: Path, postgres_server: Postgres, database: str) -> None:
    """No more calls are made than the cap pays for, where every other report of what a call gave back is committed and
    not answered."""
    held = contests.tournament(rehearse=False, max_cost=2.0)

    async def play() -> float:
        async with uploaded(postgres_server.url(database), held) as (found, sync):
            limiters = SharedLimiters(held.spec, found, sync.id, await registered(found), Counter())
            own = Unsure(found.app, found.app, found.where, lambda message: None)
            own.fates, own.stop, limiters.database = [], None, own
            gate, spent = limiters.gate(contests.OPUS), 0.0
            call = Admission(input_tokens=10, output_tokens=10, price=1.0)
            while spent < 10:
                try:
                    await gate.acquire(call, "1.opening.a", asyncio.Event())
                except OverBudget:
                    break
                own.fates[:] = ["lost"] if round(spent / 0.3) % 2 else []
                gate.ended(call, None, 0.3, failed=False)
                spent += 0.3
                await limiters.close()
            return spent

    with pytest.MonkeyPatch.context() as patch:
        for module in (database_module, limits_module):
            patch.setattr(module, "RETRY", 0.001)
        assert asyncio.run(asyncio.wait_for(play(), 60)) == pytest.approx(1.2)


def test_an_append_whose_answer_was_lost(
    here: Path, postgres_server: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that were written although the connection broke before the answer came are not written twice, and do not
    cost the worker its journal."""
    from psycopg import OperationalError

    url = postgres_server.url(database)
    held = contests.tournament()
    debate, broken = held.schedule[0], [0]

    async def play() -> list[Event]:
        async with uploaded(url, held) as (server, sync):
            whole = server.transaction

            @asynccontextmanager
            async def breaking() -> AsyncIterator[Any]:
                async with whole() as connection:
                    yield connection
                broken[0] += 1
                if broken[0] == 3:
                    raise OperationalError("the connection is lost")

            store = DatabaseJournals(server, sync.id, await registered(server))
            async with store.open(debate.id, lambda: held.make_opened(debate)) as journal:
                monkeypatch.setattr(server, "transaction", breaking)
                for n in range(4):
                    journal.append(asked(n))
                    await journal.handed_over()
                kept = journal.events
            await sync.fetch(everything=True)
            return kept

    assert asyncio.run(play()) == read(held.journal(debate)).events and broken[0] > 5


class PutBack(Unsure):
    """A database in which another writer has written a line when it is reached again."""

    async def retried_until_reached(self, work: Callable[[], Awaitable[Any]]) -> Any:
        from psycopg import OperationalError

        try:
            return await work()
        except OperationalError:
            line = "INSERT INTO lines SELECT id, lines + 1, 'theirs' FROM journals WHERE id = 1"
            await self.execute(line)
            await self.execute("UPDATE journals SET lines = lines + 1, holder = -1 WHERE id = 1")
            return await super().retried_until_reached(work)


def test_a_line_of_another_writer_does_not_count_as_ours(here: Path, postgres_server: Postgres, database: str) -> None:
    """A database that was put back to an earlier state gives a token again. Where another writer then has a line at the
    number of one whose COMMIT was not answered, that one does not count as written: its journal takes no more, the
    other writer's stays as it is and is not let go, and the one written beside it loses nothing."""
    held = contests.tournament()
    debate, beside = held.schedule[:2]

    async def play() -> None:
        async with uploaded(postgres_server.url(database), held) as (server, sync):
            store = DatabaseJournals(server, sync.id, await registered(server))
            with pytest.raises(PermanentFailure, match="does not have lines that it was given"):
                async with (
                    store.open(debate.id, lambda: held.make_opened(debate)) as journal,
                    store.open(beside.id, lambda: held.make_opened(beside)) as other,
                ):
                    for each in (journal, other):
                        each.append(asked(1))
                    store._database = own = PutBack(server.app, server.app, server.where, lambda message: None)
                    own.fates, own.stop = ["rolled back"], None
                    await journal.handed_over()
            rows = await server.rows("SELECT debate, lines, holder FROM journals ORDER BY id")
            assert rows == [(debate.id, 2, -1), (beside.id, 2, None)]
            assert await server.rows("SELECT journal, n FROM lines WHERE line = 'theirs'") == [(1, 2)]

    asyncio.run(play())
