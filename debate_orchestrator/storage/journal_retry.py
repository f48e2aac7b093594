"""What the journal can't take for now, on a full disk above all: it waits in memory, and is written once there is room.

Answers cost money, so none is dropped because of the disk. Those who run the debate are told what waits and what to do;
when they end it instead, they are told what is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from debate_orchestrator.util.errors import DebateError, JournalWriteError

_LOG = logging.getLogger(__name__)
AGAIN = 0.5
"""Seconds between two attempts to write."""


class UnsavedEvents:
    """What waits to be written. `tell` is told a sentence when something begins to wait, is saved, or is lost."""

    def __init__(self, tell: Callable[[str], None] = _LOG.warning):
        self._tell_anyone = tell
        self._given_up = 0

    async def written(self, what: str, write: Callable[[], object]) -> None:
        """Calls `write` until it succeeds. Raises its Unwritten once it was given up, and what ends the task; either
        way after a last attempt."""
        try:
            write()
            return
        except JournalWriteError as error:
            why = error.why
        self._tell(f"{what} can't be saved: {why}. It waits in memory: make room, and it is saved. Ctrl-C gives it up.")
        before = self._given_up
        try:
            while True:
                await asyncio.sleep(AGAIN)
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
        """Ends the wait of all that waits now."""
        self._given_up += 1

    def _tell(self, said: str) -> None:
        with suppress(OSError):  # nobody listens any more, or what is told would be written to the same disk
            self._tell_anyone(said)


def _succeeds(write: Callable[[], object]) -> bool:
    try:
        write()
    except DebateError:
        return False
    return True
