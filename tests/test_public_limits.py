"""The limits of a public site, in memory and in PostgreSQL: counted for a day, capped in dollars, shared."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

import pytest
from postgres import Postgres
from public_site import REHEARSAL, rules, visiting_public

from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.web.public.limits import (
    ALL_COST,
    DAY_COST,
    Limits,
    LimitsUnavailable,
    MemoryLimits,
    PostgresLimits,
)
from debate_orchestrator.web.public.site import charged, spent_before

DAY, NEXT = "2030-01-01", "2030-01-02"


class Caps(NamedTuple):
    """US dollars for all debates together."""

    max_cost_per_day: float | None = None
    max_cost: float | None = None


@pytest.fixture
def database(postgres_server: Postgres) -> str:
    """The address of an empty database."""
    return postgres_server.url(postgres_server.database())


@pytest.fixture(params=["memory", pytest.param("postgresql", marks=pytest.mark.slow)])
def limits(request: pytest.FixtureRequest) -> Limits:
    """Limits of which nothing is used."""
    if request.param == "memory":
        return MemoryLimits()
    return PostgresLimits(request.getfixturevalue("database"))


def test_counters_are_for_a_day(limits: Limits) -> None:
    """A counter that is full refuses, and what is refused counts nowhere; the next day begins anew."""

    async def run() -> None:
        assert await limits.admit("1", DAY, {"visitor:x": 1, "model:y": 3}, 0.0, Caps()) is None
        assert await limits.admit("2", DAY, {"model:y": 3, "visitor:x": 1}, 0.0, Caps()) == "visitor:x"
        assert await limits.admit("3", DAY, {"model:y": 3}, 0.0, Caps()) is None
        assert await limits.admit("4", DAY, {"model:y": 3}, 0.0, Caps()) is None
        assert await limits.admit("5", DAY, {"model:y": 3}, 0.0, Caps()) == "model:y"
        assert await limits.admit("6", NEXT, {"visitor:x": 1}, 0.0, Caps()) is None

    asyncio.run(run())


def test_a_day_that_has_begun_does_not_begin_anew(limits: Limits) -> None:
    """A form of the day before, which was looked at over midnight, leaves the counts of the new day as they are."""

    async def run() -> None:
        assert await limits.admit("1", NEXT, {"visitor:x": 1}, 0.0, Caps()) is None
        await limits.admit("2", DAY, {"visitor:y": 1}, 0.0, Caps())
        assert await limits.admit("3", NEXT, {"visitor:x": 1}, 0.0, Caps()) == "visitor:x"

    asyncio.run(run())


def test_dollars_are_reserved_and_settled(limits: Limits) -> None:
    """A debate's cap is reserved until what it has cost is known; a day has a cap of its own, and a debate that costs
    nothing is never refused for money."""

    async def run() -> None:
        caps = Caps(max_cost_per_day=1.0, max_cost=1.5)
        assert await limits.admit("1", DAY, {}, 0.6, caps) is None
        assert await limits.admit("2", DAY, {}, 0.6, caps) == DAY_COST
        assert await limits.admit("free", DAY, {}, 0.0, caps) is None
        await limits.settle("1", 0.2)
        assert await limits.admit("3", DAY, {}, 0.6, caps) is None
        assert await limits.admit("4", NEXT, {}, 0.8, caps) == ALL_COST
        await limits.settle("3", 0.1)
        assert await limits.admit("5", NEXT, {}, 0.8, caps) is None

    asyncio.run(run())


def test_the_key_changes_with_the_day(limits: Limits) -> None:
    """A day has one random key, and an earlier day's is gone: asked for again, it is another one."""

    async def run() -> None:
        key = await limits.day_key(DAY)
        assert await limits.day_key(DAY) == key and len(key) == 32
        assert await limits.day_key(NEXT) != key
        if isinstance(limits, PostgresLimits):
            assert await PostgresLimits(limits._url).day_key(NEXT) == await limits.day_key(NEXT)
        assert await limits.day_key(DAY) != key

    asyncio.run(run())


@pytest.mark.slow
def test_processes_share_a_limit(database: str, limits: Limits) -> None:
    """Of many processes that ask at the same time, no more are admitted than the limit says."""
    if not isinstance(limits, PostgresLimits):
        pytest.skip("memory is of one process")

    async def run() -> None:
        sites = [PostgresLimits(database) for _ in range(24)]
        asked = (site.admit(str(n), DAY, {"visitor:x": 5}, 0.1, Caps(max_cost=1.0)) for n, site in enumerate(sites))
        answers = await asyncio.gather(*asked)
        assert sorted(answer or "" for answer in answers) == [""] * 5 + ["visitor:x"] * 19
        keys = await asyncio.gather(*(site.day_key(DAY) for site in sites))
        assert len(set(keys)) == 1

    asyncio.run(run())


@pytest.mark.slow
def test_a_site_whose_database_is_away_starts_nothing(database: str, here: Path) -> None:
    """Without its limits a site starts no debate, and says so without the address of the database."""
    away = "postgresql://owner:hunter22-secret@127.0.0.1:1/limits"
    with visiting_public(limits=PostgresLimits(away)) as visitor:
        refused = visitor.start()
        assert refused.status_code == 503 and refused.headers["retry-after"]
        assert "hunter22" not in refused.text + "".join(visitor.log) and "does not answer" in visitor.log[-1]
        assert not list(Path().iterdir())
    with pytest.raises(LimitsUnavailable):
        asyncio.run(PostgresLimits(away).day_key(DAY))
    with visiting_public(rules(debates_per_visitor=1), PostgresLimits(database)) as visitor:
        visitor.started()
        assert visitor.start().status_code == 429


def test_money_is_counted_before_a_debate_begins(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A debate is started only where its own cap fits below the site's; the cap stands in its journal, so that it also
    holds for those who go on with it; and it stays reserved after a restart while the debate is not complete."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-this-test-alone")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    model = "anthropic:claude-sonnet-5-5"
    paid = {"about": "Paid", "cast": {"a": model, "b": model, "judge": model}, "max_cost": 0.5, "retry_for": 1.0}
    permitted = rules(casts={"paid": paid, "free": REHEARSAL}, max_cost=0.9)
    for _ in range(2):
        with visiting_public(permitted) as visitor:
            if not spent_before():
                visitor.started(cast="paid")
            refused = visitor.start({"topic": "Should we use tabs?", "cast": "paid"})
            assert refused.status_code == 503 and "has reached its limit of costs" in refused.text
            assert "retry-after" not in refused.headers
            visitor.started(cast="free")
    (journal,) = Path().glob("*.public.journal.jsonl")
    assert fold(read(str(journal)).events).opened.setup.max_cost == 0.5
    assert charged(fold(read(str(journal)).events)) == 0.5
    assert "sk-ant" not in journal.read_text(encoding="utf-8")


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library of the database is not installed, the sentence says how to get it."""
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(DebateError, match=r"debate-orchestrator\[postgresql\]"):
        PostgresLimits("postgresql:///x")
