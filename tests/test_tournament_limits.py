"""Limits that all debates share: allowances, refusals, what providers say, and no call on record too early."""

from __future__ import annotations

import asyncio

import pytest
import small_tournaments

from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.prompting.briefs import Brief, Message
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.tournament.rate_limits import (
    FIRST_CONCURRENCY,
    Bucket,
    Gate,
    LimitedProvider,
    Limiter,
    Limiters,
    amounts_of,
    read_rates,
)
from debate_orchestrator.tournament.spec import RateLimits
from debate_orchestrator.util.errors import Paused


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def admitted(limiter: Limiter, most: int = 10_000, **amounts: float) -> int:
    """How many calls are admitted at once."""
    count = 0
    while count < most and limiter.has_room() and not limiter.blocked_for()[0]:
        limiter.begin_call({"requests": 1, **amounts})
        count += 1
    return count


def test_an_allowance_fills_evenly() -> None:
    """Over ten minutes no more is taken than ten minutes allow and one burst, and no less than the ten minutes."""
    now, taken = 0.0, 0
    bucket = Bucket(60, now)
    while now < 600:
        if (wait := bucket.wait(now)) == 0.0:
            bucket.consume(1)
            taken += 1
        else:
            now += wait + 1e-9

    assert 600 <= taken <= 600 + 2


def test_calls_begin_slowly() -> None:
    """A few calls are under way in the first second, twice as many in the next, and never more than permitted."""
    clock = Clock()
    limiter = Limiter(RateLimits(concurrency=40), clock)
    first = admitted(limiter)
    clock.now += 1.01
    second = admitted(limiter)
    clock.now += 60

    assert first == FIRST_CONCURRENCY
    assert first + second == 2 * FIRST_CONCURRENCY and first + second + admitted(limiter) == 40


def test_a_refusal_pauses_everyone() -> None:
    """After a refusal no call is made for as long as the provider asks, and then half as many at once. Calls that were
    refused together count once. Without a word from the provider the pauses double."""
    clock = Clock()
    limiter = Limiter(RateLimits(), clock)
    clock.now += 10
    begun = admitted(limiter, 100)
    limiter.on_response(429, {"retry-after": "30"})
    limiter.on_response(429, {"retry-after": "30"})
    for _ in range(begun):
        limiter.end_call()

    assert limiter.blocked_for()[0] == pytest.approx(30) and limiter.throttled == 2
    clock.now += 30
    assert admitted(limiter) == begun // 2

    silent, waits = Limiter(RateLimits(), clock), list[float]()
    for _ in range(4):
        silent.on_response(529, {})
        waits.append(silent.blocked_for()[0])
        clock.now += waits[-1]
    assert waits == [1, 2, 4, 8]


def test_what_a_provider_says_counts() -> None:
    """Limits in the headers of a response are kept; one that the spec gives is not replaced by them."""
    headers = {
        "anthropic-ratelimit-requests-limit": "600",
        "anthropic-ratelimit-requests-remaining": "2",
        "anthropic-ratelimit-output-tokens-limit": "6000",
    }
    clock = Clock()
    unlimited, fixed = Limiter(RateLimits(), clock), Limiter(RateLimits(requests=6000), clock)
    for limiter in (unlimited, fixed):
        limiter.on_response(200, headers)

    assert read_rates(headers)["requests"] == (600, 2)
    assert admitted(unlimited) == 2
    assert fixed.buckets["requests"].per_minute == 6000 and unlimited.buckets["output_tokens"].per_minute == 6000
    assert read_rates({"x-ratelimit-limit-requests": "10k", "x-ratelimit-limit-tokens": "5"}) == {"tokens": (5, None)}


class Model(Provider):
    """A model that answers when it is told to."""

    name, caches = "anthropic:m", True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go_on = asyncio.Event()

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        self.asked.append(brief.turn_id)
        await self.go_on.wait()
        return Reply(text="x", brief_digest="", spec=self.name, usage=Usage(uncached_input=1, output=1))


def made(turn: str) -> Brief:
    return Brief(turn_id=turn, system="s", wants="text", messages=(Message(role="user", parts=("p",)),))


def test_a_call_waits_before_it_is_announced() -> None:
    """While all places are taken a call is not admitted; told to stop, it never is, and takes no place."""

    async def scene() -> None:
        model, stop = Model(), asyncio.Event()
        limiter = Limiter(RateLimits(concurrency=1))
        provider = LimitedProvider(model, Gate([limiter]))
        assert await provider.acquire(made("one"), stop)
        answering = asyncio.create_task(provider.reply(made("one"), lambda text: None))
        waiting = asyncio.create_task(provider.acquire(made("two"), stop))
        third = asyncio.create_task(provider.acquire(made("three"), stop))
        await asyncio.sleep(0.05)
        assert not waiting.done() and model.asked == ["one"]
        model.go_on.set()
        await answering
        assert await waiting and limiter.in_flight == 1
        stop.set()
        assert not await third
        provider.release(made("two"))
        assert limiter.in_flight == 0

    asyncio.run(scene())


@pytest.mark.parametrize(("after", "waits"), [("601", False), ("599", True)])
def test_a_long_pause_pauses_the_debate(after: str, waits: bool) -> None:
    """A call that would wait for longer than it is retried pauses its debate; a shorter pause is waited for."""
    limiters = Limiters(small_tournaments.spec(rehearse=False, retry_for=600))
    gate, stop = limiters.gate(small_tournaments.OPUS), asyncio.Event()
    gate.on_response(429, {"retry-after": after})

    async def admit() -> bool:
        asyncio.get_running_loop().call_later(0.05, stop.set)
        return await gate.acquire(amounts_of(1, 1), "1.opening.a", stop)

    if waits:
        assert not asyncio.run(admit())
    else:
        with pytest.raises(Paused, match="allows no call for another 60"):
            asyncio.run(admit())


@pytest.mark.parametrize("used", [100, 32_000])
def test_a_limit_that_was_given_is_kept(used: int) -> None:
    """Whatever calls take beyond what was expected of them, an hour's calls take what an hour allows and what the first
    calls took, which were under way before any count was known."""
    clock, limit, expected = Clock(), 10_000, 800
    limiter, ends, taken = Limiter(RateLimits(output_tokens=limit), clock), list[float](), 0
    while clock.now < 3_700:
        while ends and ends[0] <= clock.now:
            ends.pop(0)
            limiter.end_call()
            limiter.correct({"output_tokens": used - expected})
        for _ in range(admitted(limiter, output_tokens=expected)):
            ends.append(clock.now + 5)
            taken += used
        clock.now += 0.25

    assert taken <= limit * 60 + used * FIRST_CONCURRENCY
    assert taken >= limit * 60 * 0.9 * min(1, used / expected)


def test_a_limit_that_a_server_states_holds_for_a_minute() -> None:
    """A server that allows a token a minute is asked once a minute, and may then state another limit."""
    clock = Clock()
    limiter = Limiter(RateLimits(), clock)
    limiter.on_response(200, {"x-ratelimit-limit-tokens": "1", "x-ratelimit-remaining-tokens": "0"})
    for _ in range(3):
        limiter.begin_call({"tokens": 5_000})
    assert limiter.blocked_for()[0] == pytest.approx(60)

    clock.now += 61
    assert limiter.blocked_for()[0] == 0


def test_servers_have_their_own_allowances() -> None:
    """A limit of a provider holds for each server of its kind by itself: what one server counts holds back no call to
    another, nor to the vendor."""
    ours, theirs = "openai:m@https://one.example.org/v1", "openai:m@https://two.example.org/v1"
    same = "openai:n@https://ONE.example.org/v2"
    models = [ours, theirs, same, "openai:gpt-5.1"]
    limiters = Limiters(small_tournaments.spec(models=models, rehearse=False, limits={"openai": {"tokens": 1_000}}))

    first = {spec: limiters.limiters_of(spec)[0] for spec in models}
    assert first[ours] is first[same] and len({id(limiter) for limiter in first.values()}) == 3
    assert all("tokens" in limiter.buckets for limiter in first.values())


def test_workers_share_a_limit_that_was_given() -> None:
    """Each of three workers keeps to a third of the requests a minute and of the calls at once."""
    for workers, calls in ((1, 9), (3, 3)):
        by_rate, by_calls = (
            Limiter(limits, Clock()) for limits in (RateLimits(requests=180), RateLimits(concurrency=9))
        )
        for limiter in (by_rate, by_calls):
            limiter.share(workers)
        assert by_rate.buckets["requests"].per_minute == 180 / workers and admitted(by_calls) == calls
