"""What a public debate counts for: it is reserved, kept once the debate is opened, and given back where it is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from public_site import REHEARSAL, rules, visiting_public
from web_visitor import PATIENCE

from debate_orchestrator.web.public import site as site_module
from debate_orchestrator.web.public.limits import LimitsUnavailable, MemoryCounts
from debate_orchestrator.web.public.rules import SiteRules

MODEL = "anthropic:claude-sonnet-5-5"


class Counts(MemoryCounts):
    """Counts that may be away once a debate is admitted, and what they were told of debates."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.charged: list[float] = []

    async def charge(self, debate_id: str, day: str, cost: float) -> None:
        if self.away:
            raise LimitsUnavailable("limits_database: the database does not answer (TimeoutError).")
        await super().charge(debate_id, day, cost)
        self.charged.append(cost)


@pytest.fixture
def paid(here: Path, monkeypatch: pytest.MonkeyPatch) -> SiteRules:
    """A site with an offer that may cost half a dollar, from a provider that can't be reached."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-this-test-alone")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    offer = {"about": "Paid", "cast": {"a": MODEL, "b": MODEL, "judge": MODEL}, "max_cost": 0.5, "retry_for": 1.0}
    return rules(offers={"paid": offer, "free": REHEARSAL}, max_cost=0.9)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
def test_a_debate_that_is_opened_keeps_its_dollars(paid: SiteRules) -> None:
    """The server that opens it says so; where that dies before, the next one does. Rehearsals count for nothing."""
    opening = Counts()
    with visiting_public(paid, opening) as visitor:
        visitor.started(offer="paid")
        until(lambda: opening.charged == [0.5])
    following = Counts()
    with visiting_public(paid, following):
        until(lambda: following.charged == [0.5])


def test_limits_that_are_away_learn_it_later(paid: SiteRules, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner is told once, and once more where the server ends before they are back."""
    monkeypatch.setattr(site_module, "CHARGE_SECONDS", 0.05)
    counts = Counts()
    counts.away = True
    with visiting_public(paid, counts) as visitor:
        visitor.started(offer="paid")
        until(lambda: any("does not answer" in line for line in visitor.log))
        counts.away = False
        until(lambda: counts.charged == [0.5])
        counts.away = True
        assert visitor.client.portal is not None
        visitor.client.portal.call(visitor.site._charge, "other", "2030-01-01", 0.1)
    assert [line for line in visitor.log if "limits_database" in line or "reserved" in line] == [
        "limits_database: the database does not answer (TimeoutError).",
        "other: what it has left of its cap stays reserved.",
    ]


def test_a_debate_that_can_not_be_opened_gives_them_back(paid: SiteRules, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason is."""

    async def fail(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(site_module, "open_debate", fail)
    counts = Counts()
    with visiting_public(paid, counts) as visitor:
        with pytest.raises(OSError, match="Too many open files"):
            visitor.start({"topic": "Should we use tabs?", "offer": "paid", "rounds": "1"})
        until(lambda: counts.charged == [0.0])
