"""Rate limits of providers, which the calls of all debates of a process share: requests, tokens, calls at once.

A call is admitted before its `BriefSent` is written, so that a call that a journal names as under way has been made.
Calls begin slowly and double every second until one is throttled (HTTP 429, 503 or 529); that pauses all calls to the
model, for as long as the provider asks, and halves how many may be under way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.engine.budget import expected_tokens
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import api, call_errors
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.tournament.spec import RateLimits, TournamentSpec
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import Paused

FIRST_CONCURRENCY = 16
"""Calls of one model that may be under way in the first second."""
MAX_CONCURRENCY = 2_000
_MAX_BACKOFF = 60.0
MAX_PAUSE = 3600.0
"""Seconds that calls are held back at most, however long a provider asks for and whatever it counts."""
_THROTTLED = (429, 503, 529)
_POLL_SECONDS = 0.25
"""Seconds after which a waiting call looks again whether it was told to stop."""
_HEADERS = {
    "requests": ("anthropic-ratelimit-requests-{}", "x-ratelimit-{}-requests"),
    "input_tokens": ("anthropic-ratelimit-input-tokens-{}",),
    "output_tokens": ("anthropic-ratelimit-output-tokens-{}",),
    "tokens": ("x-ratelimit-{}-tokens",),
}
"""The limited quantities, with the headers that report them; {} is `limit` or `remaining`."""


class Bucket:
    """An allowance per minute that grows evenly. It may go below zero: what a call takes is known only afterwards."""

    def __init__(self, per_minute: float, now: float, max_delay: float = MAX_PAUSE):
        """It delays calls for `max_delay` seconds at most."""
        self.per_minute, self._max_delay = per_minute, max_delay
        self._level, self._updated_at = self._max_level, now

    @property
    def _max_level(self) -> float:
        """The amount that may be taken immediately: the allowance of a second."""
        return max(1.0, self.per_minute / 60)

    def wait(self, now: float) -> float:
        """Seconds until something may be taken."""
        level = max(self._level, -self._max_delay * self.per_minute / 60)
        self._level = min(self._max_level, level + (now - self._updated_at) * self.per_minute / 60)
        self._updated_at = now
        return max(0.001, -self._level * 60 / self.per_minute) if self._level <= 0 else 0.0

    def consume(self, amount: float) -> None:
        self._level -= amount

    def cap_to(self, remaining: float) -> None:
        """Takes note of what the provider says is left."""
        self._level = min(self._level, remaining)


class Limiter:
    """The limits of one model, or of one provider for all its models."""

    def __init__(self, limits: RateLimits, clock: Callable[[], float] = time.monotonic):
        self._limits, self._clock = limits, clock
        now = clock()
        self._configured: dict[str, Bucket] = {}
        for name in _HEADERS:
            if (per_minute := getattr(limits, name)) is not None:
                self._configured[name] = Bucket(per_minute, now)
        self._stated = dict[str, Bucket]()
        self.in_flight = 0
        self._max_in_flight = limits.concurrency or MAX_CONCURRENCY
        self._allowed, self._allowed_since, self._slow_growth = float(FIRST_CONCURRENCY), now, False
        self._paused_until, self._throttled_in_a_row = 0.0, 0
        self.throttled = 0

    @property
    def buckets(self) -> dict[str, Bucket]:
        """The allowances in force, by kind: a limit in the spec replaces one that a server states."""
        return {**self._stated, **self._configured}

    def share(self, workers: int) -> None:
        """Keeps to one part of the limits that the spec sets, of as many as there are workers."""
        self._max_in_flight = max(1, (self._limits.concurrency or MAX_CONCURRENCY) // workers)
        for name, bucket in self._configured.items():
            bucket.per_minute = getattr(self._limits, name) / workers

    def blocked_for(self) -> tuple[float, str]:
        """Seconds for which no call may be made, regardless of the calls under way, and the limit that decides it."""
        now = self._clock()
        used_up = (
            (bucket.wait(now), f"the limit of {bucket.per_minute:,.0f} {name.replace('_', ' ')} per minute")
            for name, bucket in self.buckets.items()
        )
        return max([(max(0.0, self._paused_until - now), "the provider"), *used_up])

    def has_room(self) -> bool:
        """Whether one more call may be under way."""
        now = self._clock()
        if now > self._allowed_since:
            factor: float = 1.05 if self._slow_growth else 2.0
            grown = self._allowed * factor ** min(now - self._allowed_since, 60.0)
            self._allowed, self._allowed_since = min(float(self._max_in_flight), grown), now
        return self.in_flight < max(1, int(min(self._allowed, self._max_in_flight)))

    def begin_call(self, amounts: Mapping[str, float]) -> None:
        """Counts a call that begins, and takes the amounts that it is expected to use."""
        self.in_flight += 1
        self.correct(amounts)

    def correct(self, amounts: Mapping[str, float]) -> None:
        """Takes from the allowances what calls took beyond that; negative amounts give back."""
        for name, bucket in self.buckets.items():
            bucket.consume(amounts.get(name, 0.0))

    def end_call(self) -> None:
        self.in_flight -= 1

    def on_response(self, status: int, headers: Mapping[str, str]) -> None:
        for name, (limit, remaining) in read_rates(headers).items():
            # It delays calls by a minute at most: the next response may state another limit.
            bucket = self._stated.setdefault(name, Bucket(limit, self._clock(), max_delay=60.0))
            bucket.per_minute = limit
            if remaining is not None:
                bucket.cap_to(remaining)
        if status in _THROTTLED:
            self._throttle(call_errors.retry_after(headers))
        elif status < 400:
            self._throttled_in_a_row = 0

    def _throttle(self, after: float | None) -> None:
        now = self._clock()
        self.throttled += 1
        if now < self._paused_until:
            return  # calls that were throttled together count once
        backoff = min(2.0 ** min(self._throttled_in_a_row, 10), _MAX_BACKOFF)
        self._throttled_in_a_row += 1
        self._paused_until = now + min(max(backoff, after or 0.0), MAX_PAUSE)
        self._allowed, self._slow_growth = max(1.0, self.in_flight / 2), True
        self._allowed_since = self._paused_until


def read_rates(headers: Mapping[str, str]) -> dict[str, tuple[int, int | None]]:
    """The limits per minute that a server's headers state, by kind, each with the rest that is left now."""
    rates = {}
    for name, words in _HEADERS.items():
        for word in words:
            if limit := _count(headers.get(word.format("limit"))):
                rates[name] = limit, _count(headers.get(word.format("remaining")))
    return rates


def _count(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 13 else None


def amounts_of(input_tokens: int, output_tokens: int) -> dict[str, float]:
    """The amounts that a call takes from allowances, by kind."""
    tokens = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    return {"requests": 1, **tokens, "tokens": input_tokens + output_tokens}


class Gate:
    """The limits that the calls of one model pass, in the order in which they come."""

    def __init__(self, limiters: list[Limiter], retry_for: float = MAX_PAUSE):
        """A call waits no longer than `retry_for` seconds, or a minute, for the end of a pause."""
        self._limiters, self._order = limiters, asyncio.Lock()
        self._max_delay = max(retry_for, _MAX_BACKOFF)

    async def acquire(self, amounts: Mapping[str, float], turn: str, stop: asyncio.Event) -> bool:
        """Waits for room for the call, and takes it; False if `stop` is set first. Raises Paused if that takes too
        long."""
        async with self._order:
            while not stop.is_set():
                seconds, cause = max(limiter.blocked_for() for limiter in self._limiters)
                if seconds > self._max_delay:
                    problem = f"{turn}: {cause} allows no call for another {seconds:,.0f} s, and calls are retried for "
                    raise Paused(f"{problem}{self._max_delay:,.0f} s.", hint="the same command later")
                if not seconds and all(limiter.has_room() for limiter in self._limiters):
                    for limiter in self._limiters:
                        limiter.begin_call(amounts)
                    return True
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), min(seconds or 0.01, _POLL_SECONDS))
        return False

    def on_response(self, status: int, headers: Mapping[str, str]) -> None:
        """Passes a response on to the limiter of its model, of which alone it says something."""
        self._limiters[-1].on_response(status, headers)

    def end_call(self, expected: Mapping[str, float], usage: Usage | None) -> None:
        """Gives the room of a call back, and sets right what was expected of it; None if its usage is unknown."""
        for limiter in self._limiters:
            limiter.end_call()
            if usage is not None and usage.output:
                input_tokens = usage.uncached_input + usage.cache_write_5m + usage.cache_write_1h
                taken = amounts_of(input_tokens, usage.output)
                limiter.correct({name: amount - expected[name] for name, amount in taken.items()})


class Limiters:
    def __init__(self, spec: TournamentSpec):
        self._spec, self._workers = spec, 1
        self._limiters: dict[str, Limiter] = {}
        self._gates: dict[str, Gate] = {}

    def share(self, workers: int) -> None:
        """Keeps to one part of the limits that the spec sets, of as many as there are workers."""
        self._workers = max(1, workers)
        for limiter in self._limiters.values():
            limiter.share(self._workers)

    def limiters_of(self, model: str) -> list[Limiter]:
        """The limiters that a call to a model passes: that of its provider first, which is one for each server given by
        address, and then its own, under its spec."""
        limits = self._spec.limits
        names = [entry.name for entry in (*self._spec.models, *self._spec.judges.pool) if entry.spec == model]
        limits_of_model = next((limits[key] for key in (model, *names) if key in limits), RateLimits())
        kind = model_spec.kind(model)
        keys = ({model_spec.server(model): limits[kind]} if kind in limits else {}) | {model: limits_of_model}
        for key, limits_of_key in keys.items():
            if key not in self._limiters:
                self._limiters[key] = Limiter(limits_of_key)
                self._limiters[key].share(self._workers)
        return [self._limiters[key] for key in keys]

    def gate(self, model: str) -> Gate:
        if model not in self._gates:
            retry_for = float(self._spec.settings.get("retry_for") or LIMITS.retry_for)
            self._gates[model] = Gate(self.limiters_of(model), retry_for)
        return self._gates[model]

    def wrap_providers(self, providers: Mapping[str, Provider]) -> dict[str, Provider]:
        """The providers of a debate, those that call a model or a program after their limits."""
        return wrap_called(providers, lambda provider: LimitedProvider(provider, self.gate(provider.name)))

    @property
    def throttled(self) -> int:
        return sum(limiter.throttled for limiter in self._limiters.values())


def wrap_called(providers: Mapping[str, Provider], wrap: Callable[[Provider], Provider]) -> dict[str, Provider]:
    """The providers of a debate by seat, with each that calls a model or a program wrapped."""
    called = {id(provider): provider for provider in providers.values() if model_spec.makes_calls(provider.name)}
    wrapped = {key: wrap(provider) for key, provider in called.items()}
    return {seat: wrapped.get(id(provider), provider) for seat, provider in providers.items()}


class LimitedProvider(Provider):
    def __init__(self, provider: Provider, gate: Gate):
        self.name, self.caches = provider.name, provider.caches
        self._provider, self._gate = provider, gate
        self._admitted: dict[str, dict[str, float]] = {}
        """Turn id to what its call is expected to take. A turn has one call at a time."""

    async def acquire(self, brief: Brief, stop: asyncio.Event) -> bool:
        amounts = amounts_of(*expected_tokens(brief))
        if not await self._gate.acquire(amounts, brief.turn_id, stop):
            return False
        self._admitted[brief.turn_id] = amounts
        return True

    def release(self, brief: Brief) -> None:
        self._end(brief.turn_id, None)

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        token = api.response_listener.set(self._gate.on_response)
        usage: Usage | None = None
        try:
            reply = await self._provider.reply(brief, on_text)
            usage = reply.usage
            return reply
        finally:
            api.response_listener.reset(token)
            self._end(brief.turn_id, usage)

    def _end(self, turn: str, usage: Usage | None) -> None:
        if (expected := self._admitted.pop(turn, None)) is not None:
            self._gate.end_call(expected, usage)

    async def close(self) -> None:
        await self._provider.close()
