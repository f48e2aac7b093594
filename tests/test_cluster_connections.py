"""The connections of a worker: how many they are, and what they are told."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import contests
import pytest
from test_cluster_database import registered, unheard_of, uploaded

from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster.database import opened
from debate_orchestrator.tournament.cluster.queue import enqueue
from debate_orchestrator.tournament.cluster.worker import Worker

pytestmark = pytest.mark.slow


def test_heartbeats_have_a_connection_of_their_own(here: Path, url: str) -> None:
    """A worker whose other connections are all held up is heard of."""

    async def play() -> None:
        async with opened(url, lambda message: None) as database, opened(url, print) as aside:
            worker, number = Worker(database, lambda tournament: [], concurrency=1), await registered(aside)
            await unheard_of(aside, number)
            async with AsyncExitStack() as held:
                for _ in range(database_module._CONNECTIONS):
                    await held.enter_async_context(database.transaction())
                beating = asyncio.create_task(worker._beat())
                worker._jobs["a tournament", "a debate"] = beating, number
                fresh = "SELECT last_heartbeat > now() - interval '1 minute' FROM procrastinate_workers"
                while await aside.rows(fresh) != [(True,)]:
                    await asyncio.sleep(0.01)
            beating.cancel()

    asyncio.run(asyncio.wait_for(play(), 30))


@pytest.mark.parametrize("level", ["serializable", "repeatable\\ read"])
def test_transactions_have_the_isolation_that_they_are_made_for(here: Path, url: str, level: str) -> None:
    """Another isolation, which the address or the database asks for, would make statements fail that wait for each
    other."""

    async def isolation(address: str) -> str:
        async with opened(address, print) as database:
            ((found,),) = await database.rows("SELECT current_setting('transaction_isolation')")
            return str(found)

    option = quote(f"-c default_transaction_isolation={level}")
    assert asyncio.run(isolation(f"{url}?options={option}")) == "read committed"


def test_a_tournament_takes_no_connection_to_listen(here: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker with many tournaments keeps as many connections as with one."""
    from procrastinate import PsycopgConnector

    listened = list[Any]()

    async def listen_notify(connector: PsycopgConnector, **values: Any) -> None:
        listened.append(values)

    monkeypatch.setattr(PsycopgConnector, "listen_notify", listen_notify)
    one, two = contests.tournament("one", tag="one"), contests.tournament("two", tag="two")

    async def play() -> None:
        async with uploaded(url, one) as (database, first), uploaded(url, two) as (_, second):
            for sync in (first, second):
                await enqueue(database, sync.id, [(sync.tournament.schedule[0].id, False)])
            await Worker(database, lambda tournament: [], concurrency=1).work(until_done=True)
            assert len(await database.rows("SELECT id FROM journals WHERE status = 'complete'")) == 2

    asyncio.run(asyncio.wait_for(play(), 60))
    assert listened == []
