"""Visitors: who sent a request, by a pseudonym that tells no address, the token of their forms, and what they are
told of debates that are not started and of failures: what happened, what to try, and whether to try again. Details are
the owner's."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections import OrderedDict
from datetime import UTC, datetime

from debate_orchestrator.util.errors import JournalWriteError, LockedJournal, OverBudget, Paused, with_hint
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.web.guard import Headers, HttpError, RequestLimit, Scope, is_https, stated_last
from debate_orchestrator.web.open_files import is_out_of_files
from debate_orchestrator.web.public.limits import ALL_COST, DAY_COST, today

COOKIE = "debate_visitor"
SECURE_COOKIE = "__Host-debate_visitor"
_COOKIE_VALUE = re.compile(rb"[A-Za-z0-9_-]{43}")
"""32 random bytes, as `token_urlsafe` writes them."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv4 addresses behind a translator, which are in the last 32 bits (RFC 6052)."""
_MAX_REQUESTS, _REQUEST_SECONDS = 240, 60
"""Requests that one visitor may make in so many seconds."""
MAX_FORM_SIZE = 20_000
"""Bytes of a visitor's form."""
_MAX_VISITORS = 20_000
"""Visitors whose requests are counted at once; the earliest are forgotten first."""


def seconds_to_midnight() -> int:
    """Seconds until the limits of the day are fresh."""
    now = datetime.now(UTC)
    return 86_400 - (now.hour * 3600 + now.minute * 60 + now.second)


def address(scope: Scope) -> str:
    """Where a request comes from: what the proxy in front of this server says, or the other end of the connection. An
    IPv6 address is cut to the network of 64 bits that one customer has."""
    client = scope.get("client")
    stated = stated_last(scope, b"x-forwarded-for") or (client[0] if client else "")
    try:
        found = ipaddress.ip_address(_without_port(stated))
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if found in _NAT64:
            return str(ipaddress.IPv4Address(found.packed[-4:]))
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def _without_port(text: str) -> str:
    """An address without the port that some proxies add, as in `192.0.2.1:5678` and `[2001:db8::1]:5678`."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def pseudonym(key: bytes, source: str) -> str:
    """What an address is counted under. Without the key, nothing can be told from it."""
    return hmac.new(key, source.encode(), hashlib.sha256).hexdigest()[:32]


class RequestLimiter:
    """Admits requests at a pace that a person with a browser keeps below."""

    def __init__(self) -> None:
        self._key, self._day = b"", ""
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def pseudonym(self, scope: Scope) -> str:
        """The visitor's pseudonym in this process, whose key is random and changes daily."""
        if (day := today()) != self._day:
            self._key, self._day = secrets.token_bytes(32), day
            self._counts.clear()
        return pseudonym(self._key, address(scope))

    def admit(self, scope: Scope, headers: Headers) -> RequestLimit:
        """Raises HttpError for a visitor who asks too often, and for a form that no page of this site has sent."""
        if scope["method"] == "POST" and not (headers.get("origin") or headers.get("sec-fetch-site")):
            raise HttpError(403, "This form does not say which page it was sent from. Send it with a browser.")
        visitor, now = self.pseudonym(scope), time.monotonic()
        began, count = self._counts.pop(visitor, (now, 0))
        if now - began >= _REQUEST_SECONDS:
            began, count = now, 0
        self._counts[visitor] = began, count + 1
        if len(self._counts) > _MAX_VISITORS:
            self._counts.popitem(last=False)
        if count >= _MAX_REQUESTS:
            wait = max(1, round(began + _REQUEST_SECONDS - now))
            raise HttpError(429, f"Too many requests came from your network. Try again in {wait} s.", retry_after=wait)
        if scope["method"] != "POST":
            return RequestLimit(0)
        return RequestLimit(MAX_FORM_SIZE, visitor, may_be_dropped=True)


def cookie_name(*, https: bool) -> str:
    """The cookie's name; under https one that no other name of the same domain can set."""
    return SECURE_COOKIE if https else COOKIE


def held_cookie(scope: Scope) -> str:
    """The cookie of this visitor's forms; empty where none was sent that this site could have set. The header is not
    parsed whole: Python's parser takes time with the square of a quoted value's length."""
    name = cookie_name(https=is_https(scope)).encode()
    for header, line in scope["headers"]:
        for cookie in line.split(b";") if header == b"cookie" else ():
            given, _, value = cookie.strip().partition(b"=")
            if given == name and _COOKIE_VALUE.fullmatch(value):
                return str(value, "ascii")
    return ""


def form_token(value: str) -> str:
    """What stands in the forms of a visitor with that cookie: a page of another site can neither read nor set it."""
    return hashlib.sha256(f"form {value}".encode()).hexdigest()[:40]


VISITOR, TRIES, MODEL, OFFER = "visitor:", "tries:", "model:", "cast:"
"""How the names of counters begin, also in databases that are in use."""


class FormError(Exception):
    """A debate that is not started: its HTTP status, and sentences by the field that they stand beside."""

    def __init__(self, status: int, problems: dict[str, list[str]], *, retry_after: float | None = None):
        super().__init__(" ".join(sentence for sentences in problems.values() for sentence in sentences))
        self.status, self.problems = status, problems
        self.retry_after = None if retry_after is None else max(1, round(retry_after))
        """Seconds after which the same form may be taken; None where something in it has to change."""


def public_reasons(error: Exception) -> list[str]:
    """Why a debate is paused, without the files, keys and addresses that the errors name to the owner."""
    if isinstance(error, LockedJournal):
        return [with_hint("Another server of this site runs this debate.", "load this page again to follow it")]
    if is_out_of_files(error):
        return ["Too many people use this site at the moment. Nothing that was said is lost."]
    if isinstance(error, JournalWriteError):
        return ["This site can't save anything at the moment. What was saved until now is kept."]
    if isinstance(error, OverBudget):
        hint = "start a debate with fewer rounds"
        return [with_hint("This debate has reached the most that one debate may cost. What was said is kept.", hint)]
    if isinstance(error, Paused):
        return ["A model did not answer in time. Nothing that was said is lost."]
    sentence = "A model can't be asked until the owner of this site has looked at it. What was said is kept."
    return [with_hint(sentence, "come back later, or start a debate with another offer")]


def not_started(status: int, sentence: str, hint: str, retry_after: float | None = None) -> FormError:
    """The error for a debate that is not started for a reason that is in none of the fields."""
    return FormError(status, {"": [with_hint(sentence, hint)]}, retry_after=retry_after)


def limit_reached(name: str, per_visitor: int) -> FormError:
    """The error for a debate that is not started because of a limit."""
    if name == ALL_COST:
        hint = "choose an offer that costs nothing, if there is one; trying again won't help"
        return not_started(503, "This site has reached its limit of costs.", hint)
    hint = "choose another offer, or come back tomorrow"
    if name.startswith((VISITOR, TRIES)):
        hint = "come back tomorrow; days begin at 00:00 UTC"
    debates = plural(per_visitor, "debate")
    sentences: dict[str | tuple[str, ...], str] = {
        VISITOR: f"Your network has started {debates} today, and that is the most for one visitor.",
        TRIES: "Your network has tried too many topics today.",
        (MODEL, OFFER): "The models of this offer have reached their limit of debates for today.",
        DAY_COST: "This site has reached its limit of costs for today.",
    }
    sentence = next(text for begin, text in sentences.items() if name.startswith(begin))
    return not_started(429, sentence, hint, seconds_to_midnight())


def queue_full(waiting: int, seconds: float | None) -> FormError:
    """The error for a debate that is not started because too many wait already."""
    when = f"in about {minutes(seconds)}" if seconds else "in some minutes"
    wait = "One debate waits" if waiting == 1 else f"{waiting} debates wait"
    return not_started(503, f"{wait} already, and no more are taken now.", f"the same again {when}", seconds or 300)


def minutes(seconds: float) -> str:
    """A time in words, for people who wait."""
    if seconds < 90:
        return "a minute"
    return f"{round(seconds / 60)} minutes" if seconds < 5_400 else f"{round(seconds / 3600)} hours"
