"""What can go wrong between us and a server of models, and what each of it means.

One decided treatment for each fault, the same for every library: `errors.Trouble` is asked again for a
while, `Paused` stops the debate until something outside has changed, `Failed` until the setup has.
docs/faults.md has the whole table; the tests follow it row by row.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime

from debate_orchestrator.errors import Failed, Paused, Theirs, Trouble, complaint
from debate_orchestrator.providers import servers
from debate_orchestrator.providers.limits import LIMITS, Limits
from debate_orchestrator.redaction import redact
from debate_orchestrator.speech import one_line

_SHOWN = 300
_UNREACHED = 20.0
"""Seconds after which a server that never answered is likely not to be there."""
_TRIES = 2
"""Calls after which a server that sends too much is likely to do so always: each may be billed, and is kept."""
_OUT_OF_CREDIT = ("credit balance", "spend limit", "spending limit", "insufficient_quota", "insufficient credit")
_TOO_LONG = ("prompt is too long", "context_length", "context length", "context window", "maximum context")


def shown(message: object) -> str:
    """What a server said, as it may stand in a complaint and a journal: one line, short, and without a key."""
    text = one_line(redact(str(message)).encode("utf-8", "replace").decode())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def refused(who: str, status: int, message: str, headers: Mapping[str, str], code: str = "") -> Theirs:
    """The fault that an HTTP status amounts to. `message` is what the server said, `shown` already; `code` is
    its own word for the error."""
    said = f"HTTP {status}: {message}" if status != 200 else message
    about = f"{code} {message}".lower()
    if status == 402 or (status in (200, 400, 403, 429) and any(sign in about for sign in _OUT_OF_CREDIT)):
        return Paused(complaint(who, said, "an account with credit", "Add credit, then resume."))
    if status == 413 or (status in (200, 400, 422) and any(sign in about for sign in _TOO_LONG)):
        hint = "Give the seat to a model with a larger context: `debate resume JOURNAL --a, --b or --judge WHO`."
        return Failed(complaint(who, said, "a transcript that fits its context", hint))
    if status in (408, 409, 425, 429) or status >= 500 or status == 200:
        return Trouble(complaint(who, said, "an answer"), after=retry_after(headers), unsure=status == 200)
    if status in (401, 403):
        names = " or ".join(servers.key_names(who))
        hint = f"Set the key in {names or 'the environment (`debate models` names the variable)'}, then resume."
        return Failed(complaint(who, said, "a key that it takes", hint))
    if status == 404:
        hint = "Resume with another: `debate resume JOURNAL --a, --b or --judge WHO`."
        return Failed(complaint(who, said, "a model and an address that it knows", hint))
    return Failed(complaint(who, said, "a request that it takes"))


def broken(who: str, what: str, partial: object = None, hint: str = "") -> Trouble:
    """The fault of a line or an answer that broke off."""
    return Trouble(complaint(who, what, "a whole answer", hint), unsure=True, partial=partial)


def oversized(who: str, what: str, partial: object = None) -> Trouble:
    """The fault of an answer that was stopped since there was too much of it."""
    return Trouble(complaint(who, what, "a whole answer"), unsure=True, partial=partial, tries=_TRIES)


def unreachable(who: str, what: str, *, reached: bool) -> Trouble:
    """The fault of a server that is not there. One that never was is not waited for long."""
    hint = "" if reached else "Is it running, and is its address right?"
    return Trouble(complaint(who, what, "a server that answers", hint), patience=None if reached else _UNREACHED)


def with_partial(fault: Theirs, partial: object) -> Theirs:
    """The fault, with what had come before it."""
    if isinstance(fault, Trouble):
        fault.partial = partial
    return fault


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds that a server asks to wait: a number, milliseconds, or a date; None where it asks for none
    or for something that is none."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        said = headers.get(name, "").strip()
        if said.replace(".", "", 1).isascii() and said.replace(".", "", 1).isdigit():
            return min(float(said[:20]) * scale, 1e9)
    try:
        at = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, at - (time.time() if now is None else now))


class Clock:
    """Watches one answer: how long its first word takes, how long it falls silent, and how long it takes in all."""

    def __init__(self, patience: float, limits: Limits = LIMITS):
        self.first = min(limits.first, patience)
        """Seconds until the first word."""
        self.silence = min(limits.silence, patience / 2)
        """Seconds from one word to the next; what only keeps the line open does not count."""
        self._total = limits.total
        self._begun: float | None = None
        self._spoken = False
        self._limit: asyncio.Timeout | None = None

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """While inside, TimeoutError is raised once the answer has been silent, or has taken, too long. An answer
        in several requests is listened to several times; its whole time begins with the first."""
        self._begun = time.monotonic() if self._begun is None else self._begun
        self._spoken = False
        async with asyncio.timeout(self._left(self.first)) as self._limit:
            yield

    def check(self) -> None:
        """TimeoutError once the time is over. The event loop can't tell while it parses what has come already."""
        when = self._limit.when() if self._limit is not None else None
        if when is not None and when <= asyncio.get_running_loop().time():
            raise TimeoutError

    def heard(self) -> None:
        """Something of the answer itself came."""
        self._spoken = True
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time() + self._left(self.silence))

    def _left(self, seconds: float) -> float:
        """So many seconds, or what is left of the whole time."""
        return min(seconds, self._total - self._taken())

    def _taken(self) -> float:
        return 0.0 if self._begun is None else time.monotonic() - self._begun

    def verdict(self) -> str:
        """What ran out."""
        if self._taken() >= self._total:
            return f"no end after {self._taken():,.0f} s"
        return f"silence for {self.silence:g} s" if self._spoken else f"no word for {self.first:g} s"
