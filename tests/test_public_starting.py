"""Forms of visitors that come at the same time: one visitor leaves room for others, and a form that comes twice starts
one debate."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from public_site import TOPIC, PublicVisitor, rules, visiting_public
from test_public_guard import database, limits  # noqa: F401
from web_visitor import plain

from debate_orchestrator.web.public.limits import DAY_COST, Limits, MemoryLimits
from debate_orchestrator.web.public.rules import Rules

MODERATOR = """\
import asyncio, pathlib
asked = []
async def check(request):
    asked.append(request["topic"])
    if pathlib.Path("broken").exists():
        raise OSError
    while "slow" in request["topic"] and not pathlib.Path("decided").exists():
        await asyncio.sleep(0.01)
"""


@pytest.fixture
def moderation(here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A moderator that accepts all. Over slow topics it takes its time, until one file is there; while another is, it
    fails."""
    (here / "patient.py").write_text(MODERATOR, encoding="utf-8")
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.delitem(__import__("sys").modules, "patient", raising=False)
    return "python:patient:check"


def begun() -> int:
    return len(list(Path().glob("*.journal.jsonl")))


def from_address(visitor: PublicVisitor, address: str) -> PublicVisitor:
    """Another visitor of the same site."""
    other = PublicVisitor(visitor.client, visitor.site, visitor.log)
    other.address = address
    return other


def test_topics_that_are_looked_at_take_no_place(moderation: str) -> None:
    """Visitors whose topics the moderator looks at for long keep no other out, and none of them has a second topic
    looked at beside it."""
    permitted = rules(moderation=moderation, at_once=1, queue=1)
    with visiting_public(permitted) as visitor, ThreadPoolExecutor(2) as clicks:
        import patient

        visitor.token()  # the cookie, which all of this client have
        slow_ones = [from_address(visitor, f"198.51.100.{n}") for n in range(2)]
        slow = [clicks.submit(one.start, {**TOPIC, "topic": "Is slow good?"}) for one in slow_ones]
        while len(patient.asked) < 2:
            assert not any(click.done() for click in slow)
        second = slow_ones[0].start({**TOPIC, "topic": "Is a second one good?"})
        assert second.status_code == 429 and second.headers["retry-after"]
        assert "One of your network is being started" in plain(second.text)
        visitor.until(visitor.started(), "Complete")
        Path("decided").touch()
        assert [click.result().status_code for click in slow] == [303, 303] and begun() == 3
        assert len(patient.asked) == 3


def test_no_topic_of_a_visitor_who_may_start_nothing_is_looked_at(moderation: str) -> None:
    """The moderator may cost money."""
    with visiting_public(rules(moderation=moderation, debates_per_visitor=1)) as visitor:
        import patient

        visitor.started()
        refused = visitor.start({**TOPIC, "topic": "Is another good?"})
        assert refused.status_code == 429 and "started 1 debate today" in plain(refused.text)
        assert len(patient.asked) == 1


def test_what_is_only_looked_up_is_not_counted(limits: Limits) -> None:  # noqa: F811
    """A counter that is full refuses; one that is not stays as it was."""

    async def run() -> None:
        for _ in range(3):
            assert await limits.admit("1", "2030-01-01", {"tries:x": 9}, 0.0, rules(), {"visitor:x": 1}) is None
        assert await limits.admit("2", "2030-01-01", {"visitor:x": 1}, 0.0, rules()) is None
        assert await limits.admit("3", "2030-01-01", {"tries:x": 4}, 0.0, rules(), {"visitor:x": 1}) == "visitor:x"
        assert await limits.admit("4", "2030-01-01", {"tries:x": 4}, 0.0, rules()) is None
        assert await limits.admit("5", "2030-01-01", {"tries:x": 4}, 0.0, rules()) == "tries:x"

    asyncio.run(run())


def test_a_form_that_comes_twice_starts_one_debate(moderation: str) -> None:
    """A form that comes again while its topic is looked at, and later, leads to the debate that it began. Another
    topic, and the same form of another visitor, begin others."""
    with visiting_public(rules(moderation=moderation)) as visitor, ThreadPoolExecutor(2) as clicks:
        import patient

        (form_key,) = re.findall(r'name="form_key" value="(\w{32})"', visitor.get("/").text)
        form = {**TOPIC, "topic": "Is slow good?", "form_key": form_key}
        twice = [clicks.submit(visitor.start, form)]
        while not patient.asked:
            assert not twice[0].done()
        twice.append(clicks.submit(visitor.start, form))
        Path("decided").touch()
        addresses = {click.result().headers["location"] for click in twice}
        assert len(addresses) == 1 and visitor.start(form).headers["location"] in addresses and begun() == 1
        assert visitor.start({**form, "topic": "Is another good?"}).headers["location"] not in addresses
        visitor.client.cookies.clear()
        assert visitor.start(form).headers["location"] not in addresses and begun() == 3


def test_a_form_that_was_refused_may_come_again(moderation: str) -> None:
    """What failed is not what the same form leads to later."""
    with visiting_public(rules(moderation=moderation)) as visitor:
        form = {**TOPIC, "form_key": "f" * 32}
        Path("broken").touch()
        assert visitor.start(form).status_code == 503 and begun() == 0
        Path("broken").unlink()
        assert visitor.start(form).status_code == 303 and begun() == 1


@pytest.mark.parametrize("spent", [float("nan"), float("-inf"), float("inf")])
def test_a_sum_that_is_no_number_is_never_enough(spent: float) -> None:
    """Where the costs so far are not known, no debate that costs anything begins."""
    caps = Rules(max_cost_per_day=1.0)
    counted = MemoryLimits({"earlier": ("2026-11-01", spent)})

    assert asyncio.run(counted.admit("paid", "2026-11-01", {}, 0.1, caps)) == DAY_COST
    assert asyncio.run(counted.admit("free", "2026-11-01", {}, 0.0, caps)) is None
