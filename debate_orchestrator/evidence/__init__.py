"""Checks quotes: does the page at an address hold the words that a speaker quotes from it?

A speaker names the address, so neither the address nor the page can be trusted. Start at `check.check`; its module has
the table of states. Here are their names, and the exceptions for a page that could not be fetched or read.
"""

from __future__ import annotations

from typing import ClassVar, Literal

QuoteState = Literal["verified", "near match", "not found", "unreachable", "blocked", "not checked"]

EXTRA = 'pip install "debate-orchestrator[evidence]"'


class NotFetched(Exception):
    """A page could not be fetched or read. `why` is one sentence for a reader."""

    state: ClassVar[QuoteState]

    def __init__(self, why: str):
        super().__init__(why)
        self.why = why


class Blocked(NotFetched):
    """The address is refused here or by the host's robots.txt; the page was not asked for."""

    state = "blocked"


class Unreachable(NotFetched):
    """The page was asked for, and no readable text came."""

    state = "unreachable"


class NoAnswer(Unreachable):
    """No server of the host gave an answer."""


class Unreadable(NotFetched):
    """The page came, but could not be read here."""

    state = "not checked"
