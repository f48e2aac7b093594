"""Keeps the calls of all debates within the limits of providers, which they share: requests, tokens, calls at once.

A call is admitted before its intent is written, so that what a journal names as under way is under way. Calls begin
slowly and double every second until something is refused; a refusal pauses all calls to that model, for as long as
the provider asks, and halves how many may be under way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from debate_orchestrator.core.events import Reply, Usage
from debate_orchestrator.engine.estimate import sizes
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import faults, rates
from debate_orchestrator.providers.registry import Piece, Provider, entry
from debate_orchestrator.tournament.spec import Limits, Spec
from debate_orchestrator.util import model_spec

FIRST_AT_ONCE = 16
"""Calls of one model that may be under way in the first second."""
MOST_AT_ONCE = 2_000
_BURST = 1.0
"""Seconds of a minute's allowance that may be used at once."""
_SHORTEST = 0.001
_BACKOFF, _LONGEST_BACKOFF = 1.0, 60.0
_REFUSALS = (429, 503, 529)
_LOOK = 0.25
"""Seconds after which a waiting call looks again whether it was told to stop."""
_KINDS = ("requests", "input_tokens", "output_tokens", "tokens")


class Bucket:
    """An allowance a minute that fills up evenly. It may go below zero: what a call takes is known only afterwards."""

    def __init__(self, a_minute: float, now: float):
        self.a_minute = a_minute
        self._level, self._at = self._most, now

    @property
    def _most(self) -> float:
        return max(1.0, self.a_minute * _BURST / 60)

    def wait(self, now: float) -> float:
        """Seconds until something may be taken."""
        self._level = min(self._most, self._level + (now - self._at) * self.a_minute / 60)
        self._at = now
        return max(_SHORTEST, -self._level * 60 / self.a_minute) if self._level <= 0 else 0.0

    def take(self, amount: float) -> None:
        self._level -= amount

    def hold_to(self, remaining: float) -> None:
        """Takes note of what the provider says is left."""
        self._level = min(self._level, remaining)


class Limiter:
    """The limits of one model, or of one provider for all its models."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._given = limits
        now = clock()
        given = {name: getattr(limits, name) for name in _KINDS}
        self.buckets = {name: Bucket(amount, now) for name, amount in given.items() if amount is not None}
        self.in_flight = 0
        self.most = limits.at_once or MOST_AT_ONCE
        self._allowed, self._grown_at, self._careful = float(min(FIRST_AT_ONCE, self.most)), now, False
        self._paused_until, self._refusals = 0.0, 0
        self.throttled = 0
        """Refusals because of load, in all."""

    def wait(self) -> float | None:
        """Seconds until a call may be made; None if that depends on calls under way."""
        now = self._clock()
        self._grow(now)
        if self._paused_until > now:
            return self._paused_until - now
        if self.in_flight >= max(1, int(self._allowed)):
            return None
        return max((bucket.wait(now) for bucket in self.buckets.values()), default=0.0)

    def take(self, amounts: Mapping[str, float]) -> None:
        """A call begins."""
        self.in_flight += 1
        self.correct(amounts)

    def correct(self, amounts: Mapping[str, float]) -> None:
        """Takes these amounts from the allowances; negative ones give back."""
        for name, amount in amounts.items():
            if name in self.buckets:
                self.buckets[name].take(amount)

    def done(self) -> None:
        """A call has ended."""
        self.in_flight -= 1

    def told(self, status: int, headers: Mapping[str, str]) -> None:
        """A response has come."""
        for name, rate in rates.read_rates(headers).items():
            if getattr(self._given, name) is None:
                bucket = self.buckets.setdefault(name, Bucket(rate.limit, self._clock()))
                bucket.a_minute = rate.limit
                if rate.remaining is not None:
                    bucket.hold_to(rate.remaining)
        if status in _REFUSALS:
            self._refused(faults.retry_after(headers))
        elif status < 400:
            self._refusals = 0

    def _refused(self, after: float | None) -> None:
        now = self._clock()
        self.throttled += 1
        if now < self._paused_until:
            return  # calls that were refused together count once
        self._refusals += 1
        backoff = min(_BACKOFF * 2 ** min(self._refusals - 1, 10), _LONGEST_BACKOFF)
        self._paused_until = now + max(backoff, after or 0.0)
        self._allowed, self._careful = max(1.0, self.in_flight / 2), True
        self._grown_at = self._paused_until

    def _grow(self, now: float) -> None:
        """Lets more calls be made at once: twice as many every second, and after a refusal a twentieth more."""
        if now > self._grown_at:
            factor: float = 1.05 if self._careful else 2.0
            self._allowed = min(float(self.most), self._allowed * factor ** min(now - self._grown_at, 60.0))
            self._grown_at = now


class Limiters:
    """All limiters of a run."""

    def __init__(self, spec: Spec):
        self._spec = spec
        self._limiters: dict[str, Limiter] = {}
        self._gates: dict[tuple[str, ...], asyncio.Lock] = {}

    def of(self, model: str) -> tuple[list[Limiter], asyncio.Lock]:
        """The limiters that a call to a model passes, its own last, and the lock that keeps its calls in order."""
        limits = self._spec.limits
        names = [one.name for one in (*self._spec.models, *self._spec.judges.pool) if one.spec == model]
        own = next((limits[key] for key in (model, *names) if key in limits), Limits())
        kind = model_spec.kind(model)
        found = [self._limiter(kind, limits[kind])] if kind in limits else []
        return [*found, self._limiter(model, own)], self._gates.setdefault((model,), asyncio.Lock())

    def _limiter(self, key: str, limits: Limits) -> Limiter:
        if key not in self._limiters:
            self._limiters[key] = Limiter(limits)
        return self._limiters[key]

    def limited(self, providers: Mapping[str, Provider]) -> dict[str, Provider]:
        """The providers of a debate, those that call a server or a program behind their limits."""
        wrapped: dict[int, Provider] = {}
        for provider in providers.values():
            if model_spec.is_called(provider.name) and entry(provider.name) is not None:
                wrapped[id(provider)] = LimitedProvider(provider, *self.of(provider.name))
        return {seat: wrapped.get(id(provider), provider) for seat, provider in providers.items()}

    @property
    def in_flight(self) -> int:
        """Calls under way."""
        return sum(limiter.in_flight for key, limiter in self._limiters.items() if ":" in key)

    @property
    def throttled(self) -> int:
        """Refusals because of load."""
        return sum(limiter.throttled for key, limiter in self._limiters.items() if ":" in key)

    def tightest(self) -> Iterator[tuple[str, str, float]]:
        """Model, what is limited, and how much a minute, for every limit that is known."""
        for key, limiter in self._limiters.items():
            yield from ((key, name, bucket.a_minute) for name, bucket in limiter.buckets.items())


class _Admission(NamedTuple):
    """A call that was admitted, with the tokens it was expected to take."""

    sent: int
    answered: int


class LimitedProvider:
    """A provider whose calls wait for their limits."""

    def __init__(self, provider: Provider, limiters: list[Limiter], gate: asyncio.Lock):
        self.name, self.caches = provider.name, provider.caches
        self._provider, self._limiters, self._gate = provider, limiters, gate
        self._admitted: dict[str, _Admission] = {}
        """By turn: a debate asks for a turn once at a time."""

    async def admitted(self, brief: Brief, stop: asyncio.Event) -> bool:
        async with self._gate:  # first come, first served
            while True:
                if stop.is_set():
                    return False
                waits = [limiter.wait() for limiter in self._limiters]
                if all(wait == 0.0 for wait in waits):
                    break
                seconds = max((wait for wait in waits if wait is not None), default=0.0)
                seconds = _LOOK if seconds == 0.0 else min(seconds, _LOOK)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), min(seconds, 0.01) if None in waits else seconds)
            admission = _Admission(*sizes(brief))
            for limiter in self._limiters:
                limiter.take(_amounts(admission.sent, admission.answered))
        self._admitted[brief.turn] = admission
        return True

    def withdraw(self, brief: Brief) -> None:
        self._end(brief.turn, used=None)

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        token = rates.listener.set(self._told)
        usage: Usage | None = Usage()
        try:
            reply = await self._provider.reply(brief, on_text)
            usage = reply.usage
            return reply
        finally:
            rates.listener.reset(token)
            self._end(brief.turn, used=usage)

    def _told(self, status: int, headers: Mapping[str, str]) -> None:
        self._limiters[-1].told(status, headers)

    def _end(self, turn: str, *, used: Usage | None) -> None:
        """Gives the room back, and sets right what was expected; nothing is set right if the usage is unknown."""
        if (admission := self._admitted.pop(turn, None)) is None:
            return
        for limiter in self._limiters:
            limiter.done()
            if used is not None and used.output:
                sent = used.fresh + used.written + used.written_hour - admission.sent
                actual = _amounts(sent, used.output - admission.answered)
                limiter.correct({name: amount for name, amount in actual.items() if name != "requests"})

    async def close(self) -> None:
        await self._provider.close()


def _amounts(sent: int, answered: int) -> dict[str, float]:
    return {"requests": 1, "input_tokens": sent, "output_tokens": answered, "tokens": sent + answered}
