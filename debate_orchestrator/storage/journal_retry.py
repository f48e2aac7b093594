"""Retries of journal writes that a full disk refuses.

Replies cost money, so none is dropped because of the disk: the event waits in memory until there is room.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from debate_orchestrator.util.errors import DebateError, JournalWriteError
from debate_orchestrator.util.messages import Tell

_LOG = logging.getLogger(__name__)
RETRY_SECONDS = 0.5
"""Seconds between two attempts to write."""


class UnsavedEvents:
    """Events that wait to be written. `tell` is called with a sentence when something begins to wait, is saved, or
    is lost because the user gave up."""

    def __init__(self, tell: Tell = _LOG.warning):
        self._tell_user = tell
        self._given_up = 0

    async def written(self, what: str, write: Callable[[], object]) -> None:
        """Calls `write` until it succeeds; `what` names in messages what is written.

        Raises its JournalWriteError after `give_up`, and CancelledError if the task ends; either way after a last
        attempt.
        """
        try:
            write()
            return
        except JournalWriteError as error:
            why = error.why
        kept = "It is kept in memory and saved as soon as there is room. Ctrl-C discards it."
        self._tell(f"{what} can't be saved: {why}. {kept}")
        before = self._given_up
        try:
            while True:
                await asyncio.sleep(RETRY_SECONDS)
                try:
                    write()
                    break
                except JournalWriteError:
                    if self._given_up > before:
                        raise
        except BaseException as error:
            if not (isinstance(error, asyncio.CancelledError) and _succeeds(write)):
                self._tell(f"Lost: {what}.")
            raise
        self._tell(f"Saved: {what}.")

    def give_up(self) -> None:
        """Ends the wait of everything that waits now."""
        self._given_up += 1

    def _tell(self, message: str) -> None:
        with suppress(OSError):  # stderr may be closed, or go to the same full disk
            self._tell_user(message)


def _succeeds(write: Callable[[], object]) -> bool:
    try:
        write()
    except DebateError:
        return False
    return True
