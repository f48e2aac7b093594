"""Visitors: who sent a request, as a mark that forgets the address, and the token that their forms carry."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections import OrderedDict
from datetime import UTC, datetime

from debate_orchestrator.web.guard import Headers, Refused, Scope, cookie

COOKIE = "debate_visitor"
SECURE_COOKIE = "__Host-debate_visitor"
_MOST_REQUESTS, _REQUEST_SECONDS = 240, 60
"""Requests that one visitor may make in so many seconds."""
_MOST_VISITORS = 20_000
"""Visitors whose requests are counted at once; the earliest are forgotten first."""


def today() -> str:
    """The day in UTC, as YYYY-MM-DD."""
    return datetime.now(UTC).date().isoformat()


def seconds_to_midnight() -> int:
    """Seconds until the limits of the day are fresh."""
    now = datetime.now(UTC)
    return 86_400 - (now.hour * 3600 + now.minute * 60 + now.second)


def address(scope: Scope, headers: Headers) -> str:
    """Where a request comes from: what the proxy in front of this server says, which stands last in the header, or the
    other end of the connection. An IPv6 address is cut to the network of 64 bits that one customer has."""
    client = scope.get("client")
    stated = headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or (client[0] if client else "")
    try:
        found = ipaddress.ip_address(_without_port(stated))
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def _without_port(text: str) -> str:
    """An address without the port that some proxies add, as in `192.0.2.1:5678` and `[2001:db8::1]:5678`."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def mark(key: bytes, source: str) -> str:
    """What an address is counted under. Without the key, nothing can be told from it."""
    return hmac.new(key, source.encode(), hashlib.sha256).hexdigest()[:32]


class Requests:
    """Admits requests at a pace that a person with a browser keeps below."""

    def __init__(self) -> None:
        self._key, self._day = b"", ""
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def mark(self, scope: Scope, headers: Headers) -> str:
        """The visitor's mark in this process, whose key is random and changes daily."""
        if (day := today()) != self._day:
            self._key, self._day = secrets.token_bytes(32), day
            self._counts.clear()
        return mark(self._key, address(scope, headers))

    def admit(self, scope: Scope, headers: Headers) -> None:
        """Raises Refused for a visitor who asks too often, and for a form that no page of this site has sent."""
        if scope["method"] == "POST" and not (headers.get("origin") or headers.get("sec-fetch-site")):
            raise Refused(403, "This form does not say which page it was sent from. Send it with a browser.")
        visitor, now = self.mark(scope, headers), time.monotonic()
        began, count = self._counts.pop(visitor, (now, 0))
        if now - began >= _REQUEST_SECONDS:
            began, count = now, 0
        self._counts[visitor] = began, count + 1
        if len(self._counts) > _MOST_VISITORS:
            self._counts.popitem(last=False)
        if count >= _MOST_REQUESTS:
            wait = max(1, round(began + _REQUEST_SECONDS - now))
            raise Refused(429, f"Too many requests came from your network. Try again in {wait} s.", retry_after=wait)


def cookie_name(*, https: bool) -> str:
    """The cookie's name; under https one that no other name of the same domain can set."""
    return SECURE_COOKIE if https else COOKIE


def form_cookie(headers: Headers, *, https: bool) -> str:
    """The cookie of this visitor's forms, or a new one."""
    held = cookie(headers, cookie_name(https=https))
    return held if len(held) == 43 else secrets.token_urlsafe(32)


def form_token(value: str) -> str:
    """What stands in the forms of a visitor with that cookie: a page of another site can neither read nor set it."""
    return hashlib.sha256(f"form {value}".encode()).hexdigest()[:40]
