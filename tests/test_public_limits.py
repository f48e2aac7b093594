"""The database of a public site's limits: how it is held, and what is left where it is cut off."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from started import PATIENCE
from test_public_guard import DAY, Caps, database  # noqa: F401

from debate_orchestrator.web.public import limits as limits_module
from debate_orchestrator.web.public.limits import LimitsUnavailable, PostgresCounts

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.slow

OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
def connected(database: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:  # noqa: F811
    """The addresses to which connections were made."""
    made: list[str] = []

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def connect(url: str, **options: Any) -> Any:
            made.append(url)
            return real(url, **options)

        return connect

    for kind in (psycopg, psycopg.Connection, psycopg.AsyncConnection):
        monkeypatch.setattr(kind, "connect", counting(kind.connect))
    return made


def counted(database: str) -> int:  # noqa: F811
    """How many debates are counted."""
    with psycopg.Connection.connect(database) as connection:
        (used,) = connection.execute("SELECT coalesce(sum(used), 0) FROM debate_public_counts").fetchone()
    return int(used)


def test_one_connection_is_kept(database: str, connected: list[str]) -> None:  # noqa: F811
    """However many are counted at once; where the database has ended it, it is opened anew."""
    counts = PostgresCounts(database)

    async def run() -> None:
        for debates in (range(20), range(20, 40)):
            admitted = (counts.admit(str(n), DAY, {"visitor:x": 40}, 0.0, Caps()) for n in debates)
            assert await asyncio.gather(*admitted) == [None] * 20

    asyncio.run(run())
    assert connected == [database] and counted(database) == 40
    with psycopg.Connection.connect(database) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {OTHERS}")
    connected.clear()
    assert asyncio.run(counts.admit("40", DAY, {"visitor:x": 40}, 0.0, Caps())) == "visitor:x"
    assert connected == [database]


def test_a_form_of_before_midnight_is_counted_with_those_of_its_day(database: str) -> None:  # noqa: F811
    """Also where another process has counted one of the next day before it; older days are deleted."""
    one, other, most = PostgresCounts(database), PostgresCounts(database), {"visitor:x": 1}

    async def run() -> None:
        assert await one.admit("1", "2029-12-31", most, 0.0, Caps()) is None
        assert await other.admit("2", "2030-01-01", most, 0.0, Caps()) is None
        assert await one.admit("3", "2029-12-31", most, 0.0, Caps()) == "visitor:x"
        assert await other.admit("4", "2030-01-02", most, 0.0, Caps()) is None

    asyncio.run(run())
    assert counted(database) == 2


def test_a_busy_event_loop_holds_no_lock(database: str) -> None:  # noqa: F811
    """A debate is counted, and the lock given back, while the loop does other work."""
    counts = PostgresCounts(database)

    async def run() -> None:
        await counts.day_key(DAY)
        admitting = [asyncio.ensure_future(counts.admit(str(n), DAY, {"visitor:x": 9}, 0.0, Caps())) for n in range(5)]
        await asyncio.sleep(0)
        end = time.monotonic() + PATIENCE
        while counted(database) < 5:  # without giving the loop a turn
            assert time.monotonic() < end, "the event loop is waited for"
            time.sleep(0.01)
        assert await asyncio.gather(*admitting) == [None] * 5

    asyncio.run(run())


def test_what_is_cut_off_counts_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Where the connection is lost once the limits were read, no counter has counted, and the lock is free."""
    counts = PostgresCounts(database)
    cut: list[bool] = []

    def cutting(*arguments: Any) -> None:
        if not cut:
            cut.append(True)
            with psycopg.Connection.connect(database) as connection:
                connection.execute(f"SELECT pg_terminate_backend(pid) {OTHERS}")

    monkeypatch.setattr(limits_module, "full_limit", cutting)
    counters = {"visitor:x": 9, "model:y": 9}

    async def run() -> None:
        await counts.day_key(DAY)
        with pytest.raises(LimitsUnavailable, match="does not answer"):
            await counts.admit("1", DAY, counters, 0.5, Caps())
        assert counted(database) == 0
        assert await counts.admit("2", DAY, counters, 0.5, Caps()) is None
        assert counted(database) == 2

    asyncio.run(run())


def backends(database: str) -> list[int]:  # noqa: F811
    """The processes that serve the connections of the counts."""
    with psycopg.Connection.connect(database) as connection:
        return [pid for (pid,) in connection.execute(f"SELECT pid {OTHERS}")]


def test_a_database_that_hangs_is_waited_for_no_longer_than_that(
    database: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A start is refused, and counts nothing, not even once the database wakes. Then others are counted again."""
    counts = PostgresCounts(database)

    async def run() -> None:
        await counts.day_key(DAY)
        monkeypatch.setattr(limits_module, "_ALL_SECONDS", 0.3)
        (hung,) = backends(database)
        os.kill(hung, signal.SIGSTOP)
        try:
            admitting = counts.admit("1", DAY, {"visitor:x": 9}, 0.5, Caps())
            with pytest.raises(LimitsUnavailable, match="does not answer"):
                await asyncio.wait_for(admitting, PATIENCE)
        finally:
            os.kill(hung, signal.SIGCONT)
        monkeypatch.undo()
        assert await counts.admit("2", DAY, {"visitor:x": 9}, 0.5, Caps()) is None
        assert counted(database) == 1

    asyncio.run(run())


def test_no_wait_for_a_database_keeps_a_process() -> None:
    """The host may be looked up for minutes, which nothing can cut."""
    code = (
        "import asyncio, time, psycopg\n"
        "from debate_orchestrator.web.public import limits\n"
        "limits._ALL_SECONDS, psycopg.connect = 0.1, lambda *_, **__: time.sleep(600)\n"
        "asyncio.run(limits.PostgresCounts('postgresql://db.example.org/limits').day_key('2030-01-01'))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stderr.endswith("the database does not answer (TimeoutError).\n"), ended.stderr


def test_tables_that_are_gone_are_made_anew(database: str) -> None:  # noqa: F811
    """One start is refused, which tells the owner. The key of the day stays, by which other processes know visitors."""
    counts = PostgresCounts(database)

    async def run() -> None:
        key = await counts.day_key(DAY)
        with psycopg.Connection.connect(database) as connection:
            for table in ("counts", "costs", "keys"):
                connection.execute(f"DROP TABLE debate_public_{table}")
        with pytest.raises(LimitsUnavailable, match=r"its tables are gone. The next start makes them anew"):
            await counts.admit("1", DAY, {"visitor:x": 1}, 0.5, Caps())
        assert await counts.admit("2", DAY, {"visitor:x": 1}, 0.5, Caps()) is None
        assert await counts.admit("3", DAY, {"visitor:x": 1}, 0.5, Caps()) == "visitor:x"
        assert await PostgresCounts(database).day_key(DAY) == key

    asyncio.run(run())


def test_dollars_of_a_debate_that_was_never_opened_are_given_back(
    database: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server may die between counting and opening. What is opened keeps its dollars, also where the tables are of an
    earlier version."""
    with psycopg.Connection.connect(database) as connection:
        connection.execute("CREATE TABLE debate_public_costs (debate text PRIMARY KEY, day text, dollars float8)")
    monkeypatch.setattr(limits_module, "OPENING_SECONDS", 0.0)
    counts, caps = PostgresCounts(database), Caps(max_cost_per_day=1.0)

    async def run() -> None:
        assert await counts.admit("never opened", DAY, {}, 0.6, caps) is None
        assert await counts.admit("opened", DAY, {}, 0.6, caps) is None
        await counts.charge("opened", DAY, 0.6)
        assert await counts.admit("third", DAY, {}, 0.6, caps) == "max_cost_per_day"
        await counts.charge("opened in the end", DAY, 0.4)
        assert await counts.admit("fourth", DAY, {}, 0.1, caps) == "max_cost_per_day"

    asyncio.run(run())


def test_a_new_database_learns_what_was_spent_before(database: str) -> None:  # noqa: F811
    """Also where its tables were dropped. What a process has said itself is not replaced."""
    spent = {"earlier": (DAY, 0.6), "free": (DAY, 0.0)}
    counts, caps = PostgresCounts(database, lambda _: spent), Caps(max_cost=1.0)

    async def run() -> None:
        assert await counts.admit("1", DAY, {}, 0.6, caps) == "max_cost"
        await counts.charge("earlier", DAY, 0.1)
        again = PostgresCounts(database, lambda _: spent)
        assert await again.admit("2", DAY, {}, 0.9, caps) is None
        with psycopg.Connection.connect(database) as connection:
            connection.execute("DROP TABLE debate_public_costs")
        spent["2"] = DAY, 0.3
        with pytest.raises(LimitsUnavailable, match="its tables are gone"):
            await again.admit("3", DAY, {}, 0.2, caps)
        assert await again.admit("4", DAY, {}, 0.2, caps) == "max_cost"
        assert await again.admit("5", DAY, {}, 0.1, caps) is None

    asyncio.run(run())


def test_a_debate_that_was_opened_keeps_its_dollars_though_no_process_could_say_so(
    database: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The database may be away from the admission on for longer than dollars are reserved."""
    monkeypatch.setattr(limits_module, "OPENING_SECONDS", 0.0)
    opened: dict[str, tuple[str, float]] = {}
    counts, caps = PostgresCounts(database, lambda _: opened), Caps(max_cost=1.0)

    async def run() -> None:
        assert await counts.admit("opened", DAY, {}, 0.9, caps) is None
        opened["opened"] = DAY, 0.8
        for other in (counts, PostgresCounts(database)):
            assert await other.admit("2", DAY, {}, 0.3, caps) == "max_cost"
        assert await counts.admit("3", DAY, {}, 0.2, caps) is None
        assert await counts.admit("never opened is given back", DAY, {}, 0.2, caps) is None

    asyncio.run(run())


def test_the_day_is_that_of_the_database(database: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Servers whose clocks differ agree on it. It is not asked for with each start."""
    monkeypatch.setattr(limits_module, "today", lambda: "2001-01-01")
    counts = PostgresCounts(database)
    with psycopg.Connection.connect(database) as connection:
        select = "SELECT (now() AT TIME ZONE 'UTC')::date::text"
        (before,) = connection.execute(select).fetchone()
        day = asyncio.run(counts.today())
        connection.rollback()
        (after,) = connection.execute(select).fetchone()
    assert before <= day <= after
    monkeypatch.setattr(counts, "_locked", lambda _: pytest.fail("the database was asked again"))
    assert asyncio.run(counts.today()) == day
