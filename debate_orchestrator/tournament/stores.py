"""Where the journals of a tournament are kept: files in its folder, or a database that several machines share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Protocol

from debate_orchestrator.core.events import Opened
from debate_orchestrator.storage.journal import Entry, JournalWriter, read
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.errors import BadJournal


class JournalStore(Protocol):
    """The journals of debates, by the debate's id."""

    def read(self, debate: str) -> list[Entry] | None:
        """The verified entries of a journal; None if there is none yet. BadJournal if it can't be read."""
        ...

    async def open(self, debate: str, opening: Callable[[], Opened]) -> JournalWriter:
        """The one writer of a journal, which is begun with `opening` if there is none. LockedJournal if another
        process has it; BadJournal if it can't be read."""
        ...


class FileJournals:
    """Journals as files in one folder."""

    def __init__(self, folder: str):
        self._folder = folder

    def _path(self, debate: str) -> str:
        return os.path.join(self._folder, f"{debate}{JOURNAL}")

    def read(self, debate: str) -> list[Entry] | None:
        path = self._path(debate)
        if not os.path.lexists(path) or (os.path.isfile(path) and not _has_a_line(path)):
            return None
        return read(path).entries

    async def open(self, debate: str, opening: Callable[[], Opened]) -> JournalWriter:
        path = self._path(debate)
        if os.path.lexists(path) and _has_a_line(path):
            return await asyncio.to_thread(JournalWriter, path)
        return await asyncio.to_thread(JournalWriter.create, path, opening())


def _has_a_line(path: str) -> bool:
    """Whether a file holds a complete line: a crash may have left less of its first."""
    try:
        with open(path, "rb") as file:
            return b"\n" in file.readline()
    except OSError as error:
        raise BadJournal(f"Can't read the journal {path} ({error.strerror}).") from None
