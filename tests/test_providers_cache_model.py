"""The cache model counts by the documented rules: written at marks, read up to marks, and gone in time."""

from __future__ import annotations

from collections.abc import Iterable

import messages_cache
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import Usage
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.caching import Call, counted

RULES = pricing.table().cache
READ = 0.1


def call(*blocks: int, at: float = 0.0, marks: Iterable[int] | None = None, **other: object) -> Call:
    """A call whose last shared block is marked, answered after five seconds."""
    made = Call("family", blocks, (len(blocks) - 2,), False, at, at + 5, 512)
    made = made if marks is None else made._replace(marks=tuple(marks))
    return made._replace(**other)  # type: ignore[arg-type]


def counts(*calls: Call) -> list[tuple[int, int, int]]:
    """Fresh, cached and written of each call."""
    return [(one.fresh, one.cached, one.written) for one in counted(calls, RULES)]


def test_what_is_marked_is_read() -> None:
    """The first call writes up to its mark, the next reads that and writes what is new up to its own."""
    assert counts(call(1000, 50), call(1000, 400, 60, at=10)) == [(50, 0, 1000), (60, 1000, 400)]


def test_a_call_without_a_mark_reads_nothing() -> None:
    """What was written helps only a call that has a mark of its own."""
    assert counts(call(1000, 50), call(1000, 50, at=10, marks=()))[1] == (1050, 0, 0)


def test_families_share_nothing() -> None:
    """A call of another family reads nothing."""
    assert counts(call(1000, 50), call(1000, 50, at=10, family="other"))[1] == (50, 0, 1000)


def test_what_is_short_is_not_kept() -> None:
    """A beginning below the minimum is neither written nor read."""
    assert counts(call(511, 50), call(511, 50, at=10)) == [(561, 0, 0), (561, 0, 0)]
    assert counts(call(512, 50), call(512, 50, at=10)) == [(50, 0, 512), (50, 512, 0)]


def test_it_lasts_from_the_start_of_a_request() -> None:
    """What was written can be read for 300 seconds after its request began, and no longer."""
    assert [counts(call(1000, 50), call(1000, 50, at=at))[1][1] for at in (300, 301)] == [1000, 0]


def test_a_read_makes_it_last_anew() -> None:
    """What is read every four minutes is there for as long as that goes on."""
    assert [one[1] for one in counts(*(call(1000, 50, at=240 * n) for n in range(9)))] == [0, *[1000] * 8]


def test_an_hour_is_an_hour() -> None:
    """What is written for an hour is counted apart and is there fifty minutes later."""
    first, second = counted([call(1000, 50, hour=True), call(1000, 50, at=3000)], RULES)

    assert (first.written, first.written_hour, second.cached) == (0, 1000, 1000)


def test_calls_that_begin_together_each_write() -> None:
    """Nothing can be read before the answer of the call that wrote it has begun."""
    assert counts(call(1000, 50), call(1000, 50, at=4.9), call(1000, 50, at=5)) == [
        (50, 0, 1000),
        (50, 0, 1000),
        (50, 1000, 0),
    ]


@pytest.mark.parametrize(("more", "cached"), [(19, 600), (20, 0)])
def test_it_looks_back_so_far(more: int, cached: int) -> None:
    """A mark finds what ends within the twenty blocks of which it is the last."""
    assert counts(call(600, 1), call(600, *[10] * more, 1, at=10))[1][1] == cached


FIRSTS = st.lists(st.integers(1, 700), min_size=60, max_size=60)
GAPS = st.sampled_from([0.0, 50.0, 280.0, 1000.0, 4000.0])


@st.composite
def series(draw: st.DrawFn) -> list[Call]:
    """Calls of two families in time order, each sending so many of its family's blocks and one of its own."""
    blocks = {family: draw(FIRSTS) for family in ("one", "two")}
    least = draw(st.sampled_from([1, 512, 4096]))
    hours = {family: draw(st.booleans()) for family in blocks}
    made, now = [], 0.0
    for _ in range(draw(st.integers(1, 12))):
        family, n = draw(st.sampled_from(sorted(blocks))), draw(st.integers(1, 60))
        marks = tuple(sorted(draw(st.sets(st.integers(0, n - 1), max_size=4))))
        sent = (*blocks[family][:n], draw(st.integers(1, 300)))
        made.append(Call(family, sent, marks, hours[family], now, now + 5, least))
        now += draw(GAPS)
    return made


@given(calls=series())
def test_everything_is_counted_once(calls: list[Call]) -> None:
    """What is fresh, read and written adds up to what was sent; a call's own block is always fresh."""
    for one, usage in zip(calls, counted(calls, RULES), strict=True):
        assert usage.input == sum(one.blocks)
        assert usage.fresh >= one.blocks[-1]
        assert min(usage.fresh, usage.cached, usage.written, usage.written_hour) >= 0


@given(calls=series())
def test_nothing_short_is_cached(calls: list[Call]) -> None:
    """What a call reads and writes together is at least the minimum, or nothing."""
    for one, usage in zip(calls, counted(calls, RULES), strict=True):
        kept = usage.cached + usage.written + usage.written_hour
        assert kept == 0 or kept >= one.least


@given(calls=series())
def test_it_is_never_cheaper_than_it_can_be(calls: list[Call]) -> None:
    """Every token is paid for in full once by its family, and at least for a read each time after that."""
    seen: dict[object, int] = {}
    bound = 0.0
    for one in calls:
        shared, before = sum(one.blocks[:-1]), seen.get(one.family, 0)
        again = min(shared, before)
        bound += one.blocks[-1] + (shared - again) + again * READ
        seen[one.family] = max(shared, before)

    assert sum(map(_paid, counted(calls, RULES))) >= bound - 1e-6


def _paid(usage: Usage) -> float:
    written = usage.written * RULES.write + usage.written_hour * RULES.write_hour
    return usage.fresh + usage.cached * READ + written


@given(calls=series())
def test_a_second_reading_of_the_rules_agrees(calls: list[Call]) -> None:
    """A cache that is kept by what is on the wire, and knows nothing of families, counts the same."""
    cache = messages_cache.Cache(calls[0].least)
    for one, usage in zip(calls, counted(calls, RULES), strict=True):
        *shared, own = [{"type": "text", "text": "x" * int(3.5 * n)} for n in one.blocks]
        for mark in one.marks:
            shared[mark]["cache_control"] = {"type": "ephemeral", **({"ttl": "1h"} if one.hour else {})}  # type: ignore
        sizes = [messages_cache.tokens(block["text"]) for block in (*shared, own)]
        assert sizes == list(one.blocks)
        request = {"model": one.family, "messages": [{"role": "user", "content": [*shared, own]}]}
        told = cache.count(request, one.start, one.begun)
        assert (told.fresh, told.cached) == (usage.fresh, usage.cached)
        assert (told.written, told.written_hour) == (usage.written, usage.written_hour)
