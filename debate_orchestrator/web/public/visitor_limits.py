"""Limits of a public site: what visitors have started and what debates may cost, counted in this process; an id for
each visitor, a keyed hash of the address; and how often one visitor may ask."""

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
from typing import NamedTuple

from starlette.exceptions import HTTPException

from debate_orchestrator.util.errors import with_hint
from debate_orchestrator.web.guard import Scope, last_header_value
from debate_orchestrator.web.public.rules import SiteRules

DAY_COST, ALL_COST = "max_cost_per_day", "max_cost_in_total"
VISITOR, SCREENED, MODEL, OFFER = "visitor:", "screened:", "model:", "offer:"
"""The prefix of the names of counters."""
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


class Charge(NamedTuple):
    """What a debate counts for, in US dollars."""

    total: float
    """What it has cost or may still cost."""
    earlier: float = 0.0
    """What of it was certainly spent before today, when the server started."""
    last_day: str | None = None
    """The last day on which it could cost something; None while it still may."""


class VisitorLimits:
    """The amounts used so far. Debates are counted per day, from zero in each process; dollars are counted from the
    journals of the folder, for the day on which they are or may be spent."""

    def __init__(self, rules: SiteRules, charges: dict[str, Charge]):
        """`charges` has those of earlier debates, by their names."""
        self._rules, self._charges = rules, charges
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

    def exceeded_limit(self, counters: Mapping[str, int], cost: float | None = None, debate: str = "") -> str | None:
        """The first limit that one more debate would exceed; None if there is room. `counters` maps each counter to its
        highest value, and `cost` is what the debate may cost in all, in US dollars; None if it costs nothing. `debate`
        is its name if it is charged already, which that cost would replace."""
        self._begin_day()
        for counter, maximum in counters.items():
            if self._counts[counter] >= maximum:
                return counter
        if cost is None:
            return None
        charges = [*({**self._charges, debate: self._charge(debate, cost)}).values()]
        day = sum(charge.total - charge.earlier for charge in charges if charge.last_day in (None, self._day))
        total = sum(charge.total for charge in charges)
        for name, max_cost, dollars in (
            (DAY_COST, self._rules.max_cost_per_day, day),
            (ALL_COST, self._rules.max_cost_in_total, total),
        ):
            if max_cost is not None and not dollars <= max_cost + 1e-9:  # a sum that is not a number is too much
                return name
        return None

    def count(self, *counters: str) -> None:
        self._begin_day()
        self._counts.update(counters)

    def charge(self, debate: str, dollars: float, *, ended: bool = False) -> None:
        """Charges so many US dollars for a debate in all, instead of the amount charged before: for today if it has
        `ended`, else for today and each day until then."""
        self._charges[debate] = self._charge(debate, dollars)._replace(last_day=today() if ended else None)

    def _charge(self, debate: str, dollars: float) -> Charge:
        return Charge(dollars, self._charges[debate].earlier if debate in self._charges else 0.0)

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
