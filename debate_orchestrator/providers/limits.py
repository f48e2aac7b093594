"""Limits of one response: its size, the time that it may take, and the length of the reply to a brief.

A small model may never stop by itself. The limit of tokens follows from the words that the phase allows, with room for
thinking; not every server keeps to it, so a stream is closed where its visible text is twice as long as the phase
allows.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import pricing, servers
from debate_orchestrator.util.coroutines import RunningTimeout, running_timeout
from debate_orchestrator.util.sanitize import count_words

MAX_LENGTH_FACTOR = 2
"""A reply is closed at this many times the most words of its phase."""
_TOKENS_PER_WORD = 3
"""English takes 1.3 tokens a word, other languages up to this; a limit must not cut a speech of the asked length."""
_STRUCTURED_TOKENS = 8_000
"""Tokens of a structured reply: those of the shipped debates have 700 to 2,600."""
_CHARACTERS_PER_TOKEN = 4


class ProviderLimits(NamedTuple):
    """Each limit is far above what a working server needs, and low enough to hold in memory."""

    max_reply_chars: int = replies.MAX_SIZE
    """The longest reply that is taken: characters of text from a server, bytes from a program."""
    max_received_chars: int = 8_000_000
    """Characters of everything in a reply, with thinking and the results of searches: a million tokens' thinking
    takes about half of it."""
    max_response_bytes: int = 128 * 1024 * 1024
    """Bytes of a response: the longest reply in pieces of a character each, with 500 bytes around each piece."""
    max_response_lines: int = 900_000
    """Lines of a response: the longest replies have 128,000 tokens, each in an event of three lines at most, and twice
    as many are allowed. The libraries and the event loop need about 5 µs for each line."""
    max_event_bytes: int = 4 * 1024 * 1024
    """Bytes of one event: the largest hold a page that a search found, about 100 kB."""
    max_event_parts: int = 200_000
    """Lists, objects and commas of one event; a page that a search found has some 10,000."""
    max_nesting: int = 32
    """The maximum nesting of the JSON of one event: events of either API need about 10, as `util/data.py` allows."""
    max_error_bytes: int = 64 * 1024
    """Bytes that are read of the body of an error: the reason is at its beginning, and about 300 are shown."""
    error_body_seconds: float = 5.0
    """Seconds for which the body of an error is read: it is a few hundred bytes, and the status decides."""
    retry_for: float = 600.0
    """The usual setting `retry_for`, in seconds. The next three times hold for it and change in proportion with another
    setting; the total only grows."""
    first_token_seconds: float = 900.0
    """Seconds until the first word: a laptop takes minutes to read a long brief."""
    silence_seconds: float = 300.0
    """Seconds between one word and the next: only a search, or a server that is gone, is silent for long."""
    total_seconds: float = 1_800.0
    """Seconds of a whole reply: 32,000 tokens from a slow server."""
    program_seconds: float = 600.0
    """Seconds of a program's turn with the usual `retry_for`: most print nothing until they are done."""
    max_stderr_bytes: int = 16 * 1024 * 1024
    """Bytes of a program's standard error: an agent that tells of all its steps writes about 1 MB."""
    lookup_seconds: float = 4.0
    """Seconds of a look-up of a server's models, from the first byte to the last: `debate models` waits for it."""
    max_listing_bytes: int = 4_000_000
    """Bytes of a server's list of models: the longest, of hundreds of models with descriptions, are about 1 MB."""


LIMITS = ProviderLimits()


class OverLimit(Exception):
    """A server has sent too much; the message says of what."""


class Length(NamedTuple):
    """The maximum length of a reply. None means no limit of that kind."""

    tokens: int | None
    """The limit sent to the server, with room for reasoning."""
    words: int | None = None
    """Words of visible text, above which the stream is closed."""
    characters: int | None = None
    """The same for a structured reply, whose words tell nothing: a model may repeat white space without end."""


def reply_length(brief: Brief, spec: str) -> Length:
    """The maximum length of a model's reply to a brief. A limit of the format's own replaces the one for tokens."""
    if brief.wants == "json":
        return Length(
            brief.max_tokens or _STRUCTURED_TOKENS + reasoning_tokens(spec),
            characters=_STRUCTURED_TOKENS * _CHARACTERS_PER_TOKEN,
        )
    maximum = brief.max_words or (brief.target_words and MAX_LENGTH_FACTOR * brief.target_words)
    if maximum is None:
        return Length(brief.max_tokens)
    tokens = brief.max_tokens or MAX_LENGTH_FACTOR * maximum * _TOKENS_PER_WORD + reasoning_tokens(spec)
    return Length(tokens, words=MAX_LENGTH_FACTOR * maximum)


def reasoning_tokens(spec: str) -> int:
    """Tokens of reasoning that a model may need before it answers, from the table of prices or the registry."""
    price = pricing.price_of(spec)
    if price is not None and price.thinking is not None:
        return price.thinking
    server = servers.server(spec)
    is_other_server = server.url is not None and server.api.other_servers
    return server.api.thinking_elsewhere if is_other_server else server.api.thinking


class Meter:
    """Tells when the visible text of a reply has become too long. `visible` leaves private reasoning out of a text."""

    def __init__(self, length: Length, visible: Callable[[str], str]):
        self._length, self._visible = length, visible
        # A word takes two characters at least, so there is nothing to count before.
        self._next_check = length.characters or (2 * length.words if length.words else math.inf)

    def exceeded(self, characters: int, text: Callable[[], str]) -> bool:
        """Whether a reply of so many characters is too long. Its text is looked at only a few times."""
        if characters <= self._next_check:
            return False
        self._next_check = characters + max(characters // 8, 200)
        visible = self._visible(text())
        if self._length.characters is not None:
            return len(visible) > self._length.characters
        return count_words(visible) > (self._length.words or 0)


class SilenceClock:
    """Limits one reply: the time to its first word, from one word to the next, and in total. With the usual 600 s for
    retries these are the times of `LIMITS`. They grow and shrink with it, except for the time in all, which only grows.
    Time in which this process was stopped does not count."""

    def __init__(self, retry_for: float, limits: ProviderLimits = LIMITS):
        share = retry_for / limits.retry_for
        self.first_token_seconds = limits.first_token_seconds * share
        """Seconds until the first word: a laptop takes minutes to read a long prompt."""
        self.silence_seconds = limits.silence_seconds * share
        """Seconds from one word to the next. Pings and the like are not words."""
        self._total = limits.total_seconds * max(1.0, share)
        self._retry_for = retry_for
        self._elapsed_before = 0.0
        """Seconds of the earlier requests of the reply."""
        self._heard_any = False
        self._timeout: RunningTimeout | None = None

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Raises TimeoutError inside after too long a silence or reply, which begins with the first of its requests."""
        self._heard_any = False
        async with running_timeout(self._left(self.first_token_seconds)) as timeout:
            self._timeout = timeout
            try:
                yield
            finally:
                self._elapsed_before, self._timeout = self._elapsed(), None

    def check(self) -> None:
        """Raises TimeoutError once the time is over: the event loop can't between events parsed without a pause."""
        if self._timeout is not None and self._timeout.is_over():
            raise TimeoutError

    def restart_silence(self) -> None:
        """Notes that some of the reply itself has come."""
        self._heard_any = True
        if self._timeout is not None:
            self._timeout.reschedule(self._left(self.silence_seconds))

    def _left(self, seconds: float) -> float:
        return min(seconds, self._total - self._elapsed())

    def _elapsed(self) -> float:
        return self._elapsed_before + (self._timeout.elapsed() if self._timeout is not None else 0.0)

    def timeout_reason(self) -> str:
        """The time limit that was exceeded."""
        if self._left(math.inf) < 0.001:
            return f"no end after {self._elapsed():,.0f} s"
        if self._heard_any:
            return f"silence for {self.silence_seconds:g} s"
        return f"no word for {self.first_token_seconds:g} s, in which it may still have been reading the prompt"

    @property
    def hint(self) -> str:
        """The hint against a time limit that is too short."""
        return f"Try: `debate resume JOURNAL --retry-for {self._retry_for * 3:.0f}` waits three times as long."
