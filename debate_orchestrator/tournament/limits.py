"""Rate limits of providers, which the calls of all debates share: requests, tokens, calls at once.

A call is admitted before its `BriefSent` is written, so that a call that a journal names as under way has been made.
Calls begin slowly and double every second until one is throttled (HTTP 429, 503 or 529); that pauses all calls to the
model, for as long as the provider asks, and halves how many may be under way.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import ConfigDict, Field

from debate_orchestrator.core.reply import Count, Reply, Usage
from debate_orchestrator.core.settings import MAX_COUNT
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine.estimate import cost_after_call, expected_tokens, price_of
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import api, call_errors
from debate_orchestrator.providers.limits import LIMITS, reply_length
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.providers.registry import api_of, provider_entry
from debate_orchestrator.tournament.spec import Limits, TournamentSpec
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import ExternalError, Paused, TransientError

FIRST_CONCURRENCY = 16
"""Calls of one model that may be under way in the first second."""
MAX_CONCURRENCY = 2_000
_BURST = 1.0
"""Seconds of a minute's allowance that may be used at once."""
_MIN_PAUSE = 0.001
_BACKOFF, _MAX_BACKOFF = 1.0, 60.0
MAX_PAUSE = 3600.0
"""Seconds that calls are held back at most, however long a provider asks for."""
_THROTTLED = (429, 503, 529)
_POLL_SECONDS = 0.25
"""Seconds after which a waiting call looks again whether it was told to stop."""
_Kind = Literal["requests", "input_tokens", "output_tokens", "tokens"]
_KINDS: tuple[_Kind, ...] = get_args(_Kind)
Figure = Annotated[float, Field(ge=-1e15, le=1e15)]
"""A number of a limiter's state."""

_HEADERS = {
    "requests": ("anthropic-ratelimit-requests-{}", "x-ratelimit-{}-requests"),
    "input_tokens": ("anthropic-ratelimit-input-tokens-{}",),
    "output_tokens": ("anthropic-ratelimit-output-tokens-{}",),
    "tokens": ("x-ratelimit-{}-tokens",),
}
"""What is limited, and the headers that say so; {} is `limit` or `remaining`."""


class Bucket:
    """An allowance a minute that fills up evenly. It may go below zero: what a call takes is known only afterwards."""

    def __init__(self, a_minute: float, now: float, level: float | None = None, *, stated: bool = False):
        """`level` is what is left now; without it, as much as may be used at once. A limit that is
        `stated` by a server delays calls by a minute at most: the next response may state another limit."""
        self.a_minute, self._longest = a_minute, 60.0 if stated else MAX_PAUSE
        self._level, self._at = self._most if level is None else level, now

    @property
    def _most(self) -> float:
        return max(1.0, self.a_minute * _BURST / 60)

    def wait(self, now: float) -> float:
        """Seconds until something may be taken."""
        level = max(self._level, -self._longest * self.a_minute / 60)
        self._level = min(self._most, level + (now - self._at) * self.a_minute / 60)
        self._at = now
        return max(_MIN_PAUSE, -self._level * 60 / self.a_minute) if self._level <= 0 else 0.0

    def take(self, amount: float) -> None:
        self._level -= amount

    def cap_to(self, remaining: float) -> None:
        """Takes note of what the provider says is left."""
        self._level = min(self._level, remaining)

    def state(self) -> tuple[float, float, float]:
        """What is allowed a minute, what is left, and when that was so."""
        return self.a_minute, self._level, self._at


_Buckets = dict[_Kind, tuple[Annotated[Figure, Field(gt=0)], Figure, Figure]]
"""Kind of limit to `Bucket.state`."""


def _until(now: float, buckets: _Buckets) -> _Buckets:
    """The buckets, none of which is of a time after `now`."""
    return {name: (a_minute, level, min(at, now)) for name, (a_minute, level, at) in buckets.items()}


class LimiterState(FrozenModel):
    """What a limiter knows, as plain data. Times are those of its clock, in seconds. Workers share it in the database,
    under the keys that it has there."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    allowed: Annotated[Figure, Field(ge=0)]
    """Calls that may be under way."""
    allowed_since: Annotated[Figure, Field(alias="grown_at")]
    """When so many were allowed: more are, the more time passes."""
    slow_growth: Annotated[bool, Field(alias="careful")]
    """Whether a call was ever throttled, after which only a twentieth more calls are allowed every second."""
    paused_until: Figure
    throttled_in_a_row: Count
    """Throttled calls since the last one that was answered."""
    throttled: Count
    buckets: _Buckets
    """The allowances of the limits that the server states."""
    given: _Buckets | None = None
    """The allowances of the limits that tournaments set. None in states of earlier versions, which have these among
    `buckets`."""


class Limiter:
    """The limits of one model, or of one provider for all its models."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        now = clock()
        configured = ((name, getattr(limits, name)) for name in _KINDS)
        self._configured: dict[str, Bucket] = {
            name: Bucket(amount, now) for name, amount in configured if amount is not None
        }
        self._stated = dict[str, Bucket]()
        self._restored: _Buckets = {}
        """The allowances of limits that tournaments set, this one or others, from a restored state."""
        self.in_flight = 0
        self.most = limits.at_once or MAX_CONCURRENCY
        # Others may give no such limit: what is known of the server does not depend on it.
        self.allowed, self.allowed_since, self.slow_growth = float(FIRST_CONCURRENCY), now, False
        self.paused_until, self.throttled_in_a_row = 0.0, 0
        self.throttled = 0
        """Calls that were throttled, in all."""

    @property
    def buckets(self) -> dict[str, Bucket]:
        """The allowances in force, by what is limited: one that the spec sets replaces one that a server states."""
        return {**self._stated, **self._configured}

    def wait(self) -> float | None:
        """Seconds until a call may be made; None if that depends on calls under way."""
        now = self._clock()
        self._grow(now)
        if self.paused_until > now:
            return self.paused_until - now
        if self.in_flight >= max(1, int(min(self.allowed, self.most))):
            return None
        return max((bucket.wait(now) for bucket in self.buckets.values()), default=0.0)

    def blocked_for(self) -> tuple[float, str]:
        """Seconds for which no call may be made, whichever calls are under way, and what decides on that."""
        now = self._clock()
        used_up = (
            (bucket.wait(now), f"the limit of {bucket.a_minute:,.0f} {name.replace('_', ' ')} a minute")
            for name, bucket in self.buckets.items()
        )
        return max([(max(0.0, self.paused_until - now), "the provider"), *used_up])

    def take(self, amounts: Mapping[str, float]) -> None:
        """A call begins, which is expected to take these amounts."""
        self.in_flight += 1
        self.correct(amounts)

    def correct(self, amounts: Mapping[str, float]) -> None:
        """Takes from the allowances what calls took beyond that; negative amounts give back."""
        for name, bucket in self.buckets.items():
            bucket.take(amounts.get(name, 0.0))

    def done(self) -> None:
        """A call has ended."""
        self.in_flight -= 1

    def on_response(self, status: int, headers: Mapping[str, str]) -> None:
        """A response has come."""
        for name, rate in read_rates(headers).items():
            bucket = self._stated.setdefault(name, Bucket(rate.limit, self._clock(), stated=True))
            bucket.a_minute = rate.limit
            if rate.remaining is not None:
                bucket.cap_to(rate.remaining)
        if status in _THROTTLED:
            self._throttle(call_errors.retry_after(headers))
        elif status < 400:
            self.throttled_in_a_row = 0

    def _throttle(self, after: float | None) -> None:
        now = self._clock()
        self.throttled += 1
        if now < self.paused_until:
            return  # calls that were throttled together count once
        self.throttled_in_a_row += 1
        backoff = min(_BACKOFF * 2 ** min(self.throttled_in_a_row - 1, 10), _MAX_BACKOFF)
        self.paused_until = now + min(max(backoff, after or 0.0), MAX_PAUSE)
        self.allowed, self.slow_growth = max(1.0, self.in_flight / 2), True
        self.allowed_since = self.paused_until

    def state(self) -> LimiterState:
        """What is known of the limits, without the calls under way."""
        configured: _Buckets = {name: self._configured[name].state() for name in _KINDS if name in self._configured}
        return LimiterState(
            allowed=self.allowed,
            allowed_since=self.allowed_since,
            slow_growth=self.slow_growth,
            paused_until=self.paused_until,
            throttled_in_a_row=self.throttled_in_a_row,
            throttled=self.throttled,
            buckets={name: self._stated[name].state() for name in _KINDS if name in self._stated},
            given=self._restored | configured,
        )

    def restore(self, state: LimiterState) -> None:
        """Takes over what another limiter of the same clock knew. The limits of this tournament stay as they are; those
        of other tournaments don't count here. The clock may have been set back since, so times in the future are taken
        as now, and a pause lasts at most MAX_PAUSE."""
        now = self._clock()
        self.slow_growth = state.slow_growth
        self.throttled_in_a_row, self.throttled = state.throttled_in_a_row, state.throttled
        self.paused_until = min(state.paused_until, now + MAX_PAUSE)
        self.allowed = min(state.allowed, self._most_allowed)
        self.allowed_since = min(state.allowed_since, max(now, self.paused_until))  # it may be the end of a pause
        self._restored = _until(now, state.buckets if state.given is None else state.given)
        for name, (_, level, at) in self._restored.items():
            if name in self._configured:
                self._configured[name] = Bucket(self._configured[name].a_minute, at, level)
        if state.given is not None:  # otherwise it is not known which of them a server stated, and it states them again
            for name, (a_minute, level, at) in _until(now, state.buckets).items():
                self._stated[name] = Bucket(a_minute, at, level, stated=True)

    @property
    def _most_allowed(self) -> float:
        return float(max(self.most, MAX_CONCURRENCY))

    def _grow(self, now: float) -> None:
        """Lets more calls be made at once: twice as many every second, and once one was throttled a twentieth more."""
        if now > self.allowed_since:
            factor: float = 1.05 if self.slow_growth else 2.0
            self.allowed = min(self._most_allowed, self.allowed * factor ** min(now - self.allowed_since, 60.0))
            self.allowed_since = now


class Admission(NamedTuple):
    """A call that was admitted, with what it was expected to take."""

    input_tokens: int
    output_tokens: int
    price: float
    """US dollars; 0 if the price is unknown."""
    most_input: int = MAX_COUNT
    """Input tokens that it can have had at most, whatever the server counts."""
    most_output: int = MAX_COUNT
    """The same of output tokens."""

    @classmethod
    def of(cls, model: str, brief: Brief) -> Admission:
        input_tokens, output_tokens = expected_tokens(brief)
        most = _most_tokens(model, brief)
        return cls(input_tokens, output_tokens, price_of(model, input_tokens, output_tokens) or 0.0, *most)

    @property
    def amounts(self) -> dict[str, float]:
        """What it takes from allowances."""
        return _amounts(self.input_tokens, self.output_tokens)

    def surplus(self, used: Usage | None) -> dict[str, float]:
        """What it took beyond that, which may be negative; nothing if the usage is unknown."""
        if used is None or not used.output:
            return {}
        input_tokens = min(used.uncached_input + used.cache_write_5m + used.cache_write_1h, self.most_input)
        amounts = _amounts(input_tokens - self.input_tokens, min(used.output, self.most_output) - self.output_tokens)
        return {name: amount for name, amount in amounts.items() if name != "requests"}


class Gate:
    """The limits that the calls of one model pass, in the order in which they come."""

    def __init__(self, limiters: list[Limiter], retry_for: float = MAX_PAUSE):
        """A call waits no longer than `retry_for` seconds, or a minute, for the end of a pause."""
        self._limiters, self._order = limiters, asyncio.Lock()
        self._longest = max(retry_for, _MAX_BACKOFF)

    async def acquire(self, call: Admission, turn: str, stop: asyncio.Event) -> bool:
        """Waits until the limits have room for the call, and takes it; False if `stop` is set first. Paused if the wait
        would be too long."""
        async with self._order:
            while not stop.is_set():
                wait = await self._take(call, turn)
                if isinstance(wait, Paused):
                    raise wait
                if not wait:
                    return True
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), wait)
        return False

    async def _take(self, call: Admission, turn: str) -> float | Paused:
        """Takes room for a call; seconds after which to try again if there is none, or Paused where the call would wait
        for longer than it would be retried."""
        return self._taken(self._limiters, call, turn, 0.01)

    def _taken(self, limiters: Sequence[Limiter], call: Admission, turn: str, soon: float) -> float | Paused:
        """The same, in these limiters, which are looked at again after `soon` if a call under way may make room. Paused
        is returned, so that what they know now is kept."""
        seconds, what = max(limiter.blocked_for() for limiter in limiters)
        if seconds > self._longest:
            problem = f"{turn}: {what} allows no call for another {seconds:,.0f} s, and calls are retried for "
            return Paused(f"{problem}{self._longest:,.0f} s.", hint="the same command later")
        waits = [limiter.wait() for limiter in limiters]
        if None in waits:
            return soon
        if longest := max(wait for wait in waits if wait is not None):
            return min(longest, _POLL_SECONDS)
        for limiter in limiters:
            limiter.take(call.amounts)
        return 0.0

    def on_response(self, status: int, headers: Mapping[str, str]) -> None:
        """A response has come."""
        self._limiters[-1].on_response(status, headers)

    def ended(self, call: Admission, used: Usage | None, cost: float | None, *, failed: bool) -> None:
        """Gives the room of a call back, and sets right what was expected. None where that is unknown."""
        for limiter in self._limiters:
            limiter.done()
            limiter.correct(call.surplus(used))


class Limiters:
    """All limiters of a run."""

    def __init__(self, spec: TournamentSpec):
        self._spec = spec
        self._limiters: dict[str, Limiter] = {}
        self._gates: dict[str, Gate] = {}

    def of(self, model: str) -> list[Limiter]:
        """The limiters that a call to a model passes, its own last."""
        return [self._limiters.setdefault(key, Limiter(limits)) for key, limits in self.keys(model).items()]

    def keys(self, model: str) -> dict[str, Limits]:
        """The limits that hold for a model: those of its provider first, under the provider or, for a server given by
        address, under that server, since no server's answers may hold back calls to another; then its own, under its
        spec."""
        limits = self._spec.limits
        names = [one.name for one in (*self._spec.models, *self._spec.judges.pool) if one.model_spec == model]
        own = next((limits[key] for key in (model, *names) if key in limits), Limits())
        kind = model_spec.kind(model)
        return ({model_spec.server(model): limits[kind]} if kind in limits else {}) | {model: own}

    def gate(self, model: str) -> Gate:
        """The gate that all calls of a model pass."""
        if model not in self._gates:
            self._gates[model] = self._gate(model)
        return self._gates[model]

    @property
    def retry_for(self) -> float:
        """Seconds for which the debates of the spec retry a call."""
        return float(self._spec.settings.get("retry_for") or LIMITS.retry_for)

    def _gate(self, model: str) -> Gate:
        return Gate(self.of(model), self.retry_for)

    def limited(self, providers: Mapping[str, Provider]) -> dict[str, Provider]:
        """The providers of a debate, those that call a server or a program behind their limits."""
        wrapped: dict[int, Provider] = {}
        for provider in providers.values():
            if model_spec.is_called(provider.name) and provider_entry(provider.name) is not None:
                wrapped[id(provider)] = LimitedProvider(provider, self.gate(provider.name))
        return {seat: wrapped.get(id(provider), provider) for seat, provider in providers.items()}

    @property
    def throttled(self) -> int:
        """Calls that were throttled."""
        return sum(limiter.throttled for limiter in self._limiters.values())


class LimitedProvider(Provider):
    """A provider whose calls wait for their limits."""

    def __init__(self, provider: Provider, gate: Gate):
        self.name, self.caches = provider.name, provider.caches
        self._provider, self._gate = provider, gate
        self._admitted: dict[str, Admission] = {}
        """Turn id to the admission of its call. A turn has one call at a time."""

    async def acquire(self, brief: Brief, stop: asyncio.Event) -> bool:
        call = Admission.of(self.name, brief)
        if not await self._gate.acquire(call, brief.turn, stop):
            return False
        self._admitted[brief.turn] = call
        return True

    def release(self, brief: Brief) -> None:
        self._end(brief.turn, None, 0.0, failed=False)

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        token = api.response_listener.set(self._gate.on_response)
        usage: Usage | None = None
        cost: float | None = None
        failed = False
        try:
            reply = await self._provider.reply(brief, on_text)
            usage = reply.usage
            cost = cost_after_call(self.name, brief, reply) if reply.cost is None else reply.cost
            return reply
        except ExternalError as error:
            failed = True
            partial = error.partial if isinstance(error, TransientError) else None
            if isinstance(partial, Reply):
                cost = cost_after_call(self.name, brief, partial)
            elif not isinstance(error, TransientError) or not error.maybe_billed:
                cost = 0.0
            raise
        finally:
            api.response_listener.reset(token)
            self._end(brief.turn, usage, cost, failed=failed)

    def _end(self, turn: str, used: Usage | None, cost: float | None, *, failed: bool) -> None:
        if (call := self._admitted.pop(turn, None)) is not None:
            self._gate.ended(call, used, cost, failed=failed)

    async def close(self) -> None:
        await self._provider.close()


def _most_tokens(model: str, brief: Brief) -> tuple[int, int]:
    """How many tokens a call can send and be answered with: one for each byte of its brief, and as many as its answer
    is limited to. Results of a search, and an answer without a limit, count as long as they may be."""
    schema = json.dumps(brief.json_schema) if brief.json_schema is not None else ""
    parts = (part for message in brief.messages for part in message.parts)
    sent = sum(len(text.encode("utf-8", "replace")) for text in (brief.system, schema, *parts))
    answered = reply_length(brief, model).tokens if api_of(model) is not None else None
    return sent + (LIMITS.max_received_chars if brief.search else 0), answered or LIMITS.max_received_chars


def _amounts(sent: int, answered: int) -> dict[str, float]:
    return {"requests": 1, "input_tokens": sent, "output_tokens": answered, "tokens": sent + answered}


class Rate(NamedTuple):
    """A limit a minute, and what is left of it now."""

    limit: int
    remaining: int | None


def read_rates(headers: Mapping[str, str]) -> dict[str, Rate]:
    """The limits that headers tell, by what they limit."""
    found = {}
    for name, words in _HEADERS.items():
        for word in words:
            limit = _count(headers.get(word.format("limit")))
            if limit:
                found[name] = Rate(limit, _count(headers.get(word.format("remaining"))))
    return found


def _count(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 13 else None
