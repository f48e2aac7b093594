"""The states that a quote can be found in, and the ways in which a page is not had."""

from __future__ import annotations

from typing import ClassVar, Literal

State = Literal["verified", "near match", "not found", "unreachable", "blocked", "not checked"]


EXTRA = 'pip install "debate-orchestrator[evidence]"'


class NotFetched(Exception):
    """A page that is not had, with why as one sentence for a reader and the address where it ended."""

    state: ClassVar[State]

    def __init__(self, why: str, at: str = ""):
        super().__init__(why)
        self.why = why
        self.at = at


class Blocked(NotFetched):
    """It is refused here, or by the host's robots.txt: nothing was asked of the page itself."""

    state = "blocked"


class Unreachable(NotFetched):
    """It was asked for, and no readable text came."""

    state = "unreachable"


class Unreadable(NotFetched):
    """It came, and could not be read here."""

    state = "not checked"
