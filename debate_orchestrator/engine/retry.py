"""Retries: of provider calls, with exponential back-off within a bounded time, and of journal writes on a full disk.

A wait costs nothing and another call may, so waits between calls double. The jitter keeps callers that were throttled
together from coming back together. A wait that the provider asks for is honoured. If it is longer than the time left,
the loop gives up at once instead of sleeping through it. Replies cost money, so none is dropped because of a full disk:
the event waits in memory until there is room.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from debate_orchestrator.util.coroutines import cancel_later
from debate_orchestrator.util.errors import (
    BadJournal,
    DebateError,
    ExternalError,
    JournalWriteError,
    PermanentFailure,
    TransientError,
)
from debate_orchestrator.util.messages import Tell
from debate_orchestrator.util.numbers import plural

INITIAL_WAIT = 1.0
"""Seconds of the first wait, before jitter."""
MAX_WAIT = 60.0
"""Seconds of the longest wait, unless the provider asks for more."""
WRITE_AGAIN = 0.5
"""Seconds between two attempts to write."""
_LOG = logging.getLogger(__name__)

Result = TypeVar("Result")


async def call_with_retry(
    call: Callable[[], Awaitable[Result]],
    retry_for: float,
    *,
    before: Callable[[], Awaitable[bool]] | None = None,
    on_failure: Callable[[ExternalError, float | None], Awaitable[None]] | None = None,
    stop: asyncio.Event | None = None,
) -> Result | None:
    """The result of `call`, which is made again after a TransientError; None if `stop` was set before it succeeded.

    `before` runs ahead of each call; what it raises ends the loop, and so does False. `on_failure` gets each failure of
    the call with the seconds until the next one, or None for the last failure. The last failure is then raised, unless
    `on_failure` raised another error in its place. `retry_for` is in seconds, counted from the first failure.
    """
    stop = stop or asyncio.Event()
    failures, since = 0, 0.0
    while not stop.is_set():
        if before is not None and not await before():
            return None
        try:
            return await call()
        except ExternalError as failure:
            wait = None
            if isinstance(failure, TransientError):
                failures += 1
                since = time.monotonic() if failures == 1 else since
                wait = next_delay(failure, failures, time.monotonic() - since, retry_for)
            if on_failure is not None:
                await on_failure(failure, wait)
            if wait is None:
                raise
        try:
            await asyncio.wait_for(stop.wait(), wait)
        except TimeoutError:
            pass
    return None


def next_delay(
    error: TransientError, failures: int, spent: float, retry_for: float, chance: Callable[[], float] = random.random
) -> float | None:
    """Seconds to wait before the next call; None when it is time to give up, by the debate's limit or the error's own.

    `failures` counts those in a row, `spent` is the seconds since the first of them, `chance` draws from 0 to 1: it
    decides when a call is made again, and never what is heard.
    """
    if error.tries is not None and failures >= error.tries:
        return None
    limit = retry_for if error.retry_for is None else min(retry_for, error.retry_for)
    jitter = chance()
    # The exponent is capped because 2.0**1024 overflows; a debate may be left to retry for days.
    seconds = min(INITIAL_WAIT * 2 ** min(failures - 1, 16), MAX_WAIT) * (0.5 + jitter / 2)
    seconds = min(seconds, limit / 4)  # with little time there is still more than one attempt
    if error.after is not None:
        seconds = max(error.after * (1 + jitter / 10), seconds)
    return seconds if spent + seconds <= limit else None


def lost_sentence(lost: int) -> str:
    """How many replies are lost, each of which was named before; empty if none is."""
    return f"{plural(lost, 'reply', 'replies')} lost, as named above." if lost else ""


def all_saved(lost: int) -> str:
    """Says that every reply is saved but for those that are `lost`."""
    return f"every {'other ' if lost else ''}reply that was accepted is saved."


def lost_and_saved(lost: int, saved: str) -> str:
    """How many replies are lost, and then what is `saved`, which begins with a small letter or a number."""
    return f"{lost_sentence(lost)} {saved[:1].upper()}{saved[1:]}" if lost else saved


class Interrupted(KeyboardInterrupt):
    """An interrupt of a verb. Its text is the last line: how many replies are `lost`, and what is `saved`, by default
    all others."""

    def __init__(self, saved: str = "", lost: int = 0):
        super().__init__(f"interrupted; {lost_and_saved(lost, saved or all_saved(lost))}")
        self.lost = lost


class UnsavedEvents:
    """Events that wait to be written. `tell` is called with a sentence when something begins to wait, is saved, or
    is lost because the user gave up or the journal takes no more."""

    def __init__(self, tell: Tell = _LOG.warning):
        self._tell_user = tell
        self._given_up = 0
        self.lost = 0
        """How many events were lost so far; each was named."""
        self._sentences = dict[object, str]()
        """By an object for each event that waits now or was lost: two events may be called the same."""

    @property
    def sentences(self) -> list[str]:
        """A sentence on each event that waits now or was lost, in the order in which they began to wait."""
        return list(self._sentences.values())

    async def written(self, what: str, write: Callable[[], Result]) -> Result:
        """Calls `write` until it succeeds and returns its result. Messages call the event `what`.

        Raises its JournalWriteError after `give_up`, and CancelledError if the task is cancelled; either way after a
        last attempt. If that succeeds, a cancellation comes at the task's next wait.
        """
        try:
            return write()
        except JournalWriteError as error:
            why = error.why
        except (BadJournal, PermanentFailure):  # which no wait mends
            self.name_lost(what)
            raise
        notice = "It is kept in memory and saved as soon as there is room. Ctrl-C discards it."
        event = object()
        self._say(event, f"{what} can't be saved: {why}. {notice}")
        before = self._given_up
        try:
            while True:
                await asyncio.sleep(WRITE_AGAIN)
                try:
                    result = write()
                    break
                except JournalWriteError:
                    if self._given_up > before:
                        raise
        except asyncio.CancelledError as error:
            try:
                result = write()
            except DebateError:
                self.name_lost(what, event)
                raise error from None
            cancel_later()
        except BaseException:
            self.name_lost(what, event)
            raise
        del self._sentences[event]
        self.tell(f"Saved: {what}.")
        return result

    def give_up(self) -> None:
        """Ends the wait of everything that waits now."""
        self._given_up += 1

    def name_lost(self, what: str, waited: object = None) -> None:
        """Says what is lost, and counts it. `waited` is the object that stands for an event that waited."""
        self.lost += 1
        self._say(waited or object(), f"Lost: {what}.")

    def _say(self, event: object, sentence: str) -> None:
        self._sentences[event] = sentence
        self.tell(sentence)

    def tell(self, message: str) -> None:
        """Tells the user; that it can't be told stops nothing."""
        with suppress(OSError):  # stderr may be closed, or go to the same full disk
            self._tell_user(message)
