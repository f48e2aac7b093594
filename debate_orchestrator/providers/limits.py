"""How much a server or a program may send, and how long it may take: the same for all providers."""

from __future__ import annotations

from typing import NamedTuple

from debate_orchestrator.prompting import replies


class ProviderLimits(NamedTuple):
    """Each limit is far above what a working server needs, and low enough to hold in memory."""

    answer: int = replies.LARGEST
    """Characters of text that a server, and bytes that a program, may answer with: no longer reply can be taken."""
    kept: int = 8_000_000
    """Characters of everything in an answer, with thinking and the results of searches: a million tokens' thinking
    takes about half of it."""
    stream: int = 128 * 1024 * 1024
    """Bytes of a response, packed and unpacked: the longest answer in pieces of a character each, with 500 bytes around
    each piece."""
    events: int = 500_000
    """Events of a response, with those that add nothing: a million characters of text and thinking in the usual
    pieces of two or more."""
    event: int = 4 * 1024 * 1024
    """Bytes of one event: the largest hold a page that a search found, about 100 kB."""
    event_lines: int = 1_000
    """Lines of one event: one or two are usual, and one of JSON with line breaks has about 50."""
    event_values: int = 5_000
    """Values in the JSON of one event, as far as commas and opening brackets tell: the results of a search have about
    100, and the libraries need up to 0.1 ms and 2 kB for each."""
    nesting: int = 32
    """How deep the JSON of one event may be nested: events of either API need about 10, as `util/data.py` allows."""
    error: int = 64 * 1024
    """Bytes that are read of the body of an error: the reason stands at its beginning, and about 300 are shown."""
    reason: float = 5.0
    """Seconds for which the body of an error is read: it is a few hundred bytes, and the status decides."""
    retry_for: float = 600.0
    """The usual seconds for retries, with which the next three times hold; another number scales them."""
    first: float = 900.0
    """Seconds until the first word: a laptop takes minutes to read a long brief."""
    silence: float = 300.0
    """Seconds between one word and the next: only a search, or a server that is gone, is silent for long."""
    total: float = 1_800.0
    """Seconds of a whole answer: 32,000 tokens from a slow server."""
    program: float = 600.0
    """Seconds of a program's turn, with the usual time for retries: most print nothing until they are done, so silence
    tells nothing of them."""
    lookup: float = 4.0
    """Seconds of a look-up of a server's models, from the first byte to the last: `debate models` waits for it."""
    listing: int = 4_000_000
    """Bytes of a server's list of models: the longest, of hundreds of models with descriptions, are about 1 MB."""


LIMITS = ProviderLimits()


class OverLimit(Exception):
    """A server has sent too much; the message says of what."""
