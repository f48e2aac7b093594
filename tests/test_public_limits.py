"""The database of a public site's limits: how it is held, and what is left where it is cut off."""

from __future__ import annotations

import asyncio
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
