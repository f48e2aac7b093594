"""Limits of a public site: what visitors have started and what debates may cost, counted in this process; who sent a
request, by a pseudonym that tells no address; and how often one visitor may ask."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from starlette.exceptions import HTTPException

from debate_orchestrator.util.errors import with_hint
from debate_orchestrator.web.guard import Scope, last_header_value
from debate_orchestrator.web.public.rules import SiteRules

DAY_COST, ALL_COST = "max_cost_per_day", "max_cost"
VISITOR, TRIES, MODEL, OFFER = "visitor:", "tries:", "model:", "offer:"
"""The prefix of the names of counters."""
Costs = dict[str, tuple[str, float]]
"""Debate to the day on which it was opened, and to what it has cost or may still cost in US dollars."""
_MAX_REQUESTS, _REQUEST_SECONDS = 240, 60.0
"""Requests that one visitor may make in so many seconds."""
_MAX_STREAMS = 10
"""Streams that one visitor may have open at once."""


def today() -> str:
    """The day in UTC, as YYYY-MM-DD."""
    return datetime.now(UTC).date().isoformat()


def seconds_to_midnight() -> int:
    """Seconds until the limits of the day begin again."""
    now = datetime.now(UTC)
    return 86_400 - (now.hour * 3600 + now.minute * 60 + now.second)


def address(scope: Scope) -> str:
    """The client of a request: as the proxy in front of this server says, or the other end of the connection. An
    IPv6 address is cut to the network of 64 bits that one customer has."""
    client = scope.get("client")
    stated = last_header_value(scope, "x-forwarded-for") or (client[0] if client else "")
    try:
        parsed = ipaddress.ip_address(stated)
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


class VisitorLimits:
    """The amounts used so far. Debates are counted per day, from zero in each process; dollars are counted from the
    journals of the folder."""

    def __init__(self, rules: SiteRules, spent: Costs):
        self._rules, self._spent = rules, spent
        self._day, self._counts, self._key = "", Counter[str](), b""
        self._requests, self._requests_began = Counter[str](), 0.0
        self._streams = Counter[str]()

    def _begin_day(self) -> None:
        if self._day != today():
            self._day, self._counts, self._key = today(), Counter(), secrets.token_bytes(32)

    def visitor(self, scope: Scope) -> str:
        """The pseudonym under which the sender of a request is counted today. It is an HMAC of the address with a key
        that changes each day and is kept only in memory. Without the key it does not tell the address."""
        self._begin_day()
        return hmac.new(self._key, address(scope).encode(), hashlib.sha256).hexdigest()[:32]

    def full(self, counters: Mapping[str, int], cost: float | None = None) -> str | None:
        """The first limit that one more debate would exceed; None if there is room. `counters` maps each counter to its
        highest value, and `cost` is what the debate may cost, in US dollars: 0 if that is charged already, None if it
        costs nothing."""
        self._begin_day()
        for counter, maximum in counters.items():
            if self._counts[counter] >= maximum:
                return counter
        day = sum(dollars for day_of_cost, dollars in self._spent.values() if day_of_cost == self._day)
        total = sum(dollars for _, dollars in self._spent.values())
        for name, max_cost, dollars in (
            (DAY_COST, self._rules.max_cost_per_day, day),
            (ALL_COST, self._rules.max_cost, total),
        ):
            # A sum that is not a number is too much.
            if cost is not None and max_cost is not None and not dollars + cost <= max_cost + 1e-9:
                return name
        return None

    def count(self, *counters: str) -> None:
        self._begin_day()
        self._counts.update(counters)

    def charge(self, debate: str, dollars: float) -> None:
        """Charges so many US dollars for a debate, instead of the amount charged before."""
        day = self._spent.get(debate, (today(), 0.0))[0]
        self._spent[debate] = day, dollars

    def check_pace(self, scope: Scope) -> None:
        """Counts a request. Raises HTTPException where its sender has made too many."""
        now = time.monotonic()
        if now - self._requests_began >= _REQUEST_SECONDS:
            self._requests_began, self._requests = now, Counter()
        visitor = self.visitor(scope)
        self._requests[visitor] += 1
        if self._requests[visitor] > _MAX_REQUESTS:
            wait = int(self._requests_began + _REQUEST_SECONDS - now) + 1
            sentence = with_hint("Too many requests came from your network.", f"the same again in {wait} s")
            raise HTTPException(429, sentence, {"retry-after": str(wait)})

    @contextmanager
    def stream(self, visitor: str) -> Iterator[None]:
        """Counts a stream as the visitor's while the block lasts. Raises HTTPException where too many are open."""
        if self._streams[visitor] >= _MAX_STREAMS:
            raise HTTPException(429, "Too many pages of your network follow a debate.", {"retry-after": "30"})
        self._streams[visitor] += 1
        try:
            yield
        finally:
            self._streams[visitor] -= 1
            if not self._streams[visitor]:
                del self._streams[visitor]
