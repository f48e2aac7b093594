"""Where the debates of a tournament are written down: files in its folder, or a database that machines share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from debate_orchestrator.core.events import Opened
from debate_orchestrator.storage.journal import Entry, JournalWriter, read
from debate_orchestrator.storage.paths import JOURNAL, DebateFiles
from debate_orchestrator.util.data import error_text, regular_file
from debate_orchestrator.util.errors import BadJournal


class JournalStore(Protocol):
    """The journals of debates, by the debate's id."""

    def open(self, debate: str, opening: Callable[[], Opened]) -> AbstractAsyncContextManager[JournalWriter]:
        """The one writer of a journal, which is begun with `opening` if there is none. LockedJournal if another
        process has it; BadJournal if it can't be read."""
        ...

    def archive(self, debate: str) -> str | None:
        """The folder for pages that a clerk fetches; None if they are not kept."""
        ...


class FileJournals:
    """Journals as files in one folder."""

    def __init__(self, folder: str):
        self._folder = folder

    def _path(self, debate: str) -> str:
        return os.path.join(self._folder, f"{debate}{JOURNAL}")

    @asynccontextmanager
    async def open(self, debate: str, opening: Callable[[], Opened]) -> AsyncIterator[JournalWriter]:
        path = self._path(debate)
        if is_begun(path):
            journal = await asyncio.to_thread(JournalWriter, path)
        else:
            journal = await asyncio.to_thread(JournalWriter.create, path, opening())
        with journal:
            yield journal

    def archive(self, debate: str) -> str | None:
        return DebateFiles.of_journal(self._path(debate)).evidence


def read_begun(path: str) -> list[Entry] | None:
    """The verified entries of a journal; None if there is none yet. BadJournal if it can't be read."""
    return read(path).entries if is_begun(path) else None


def is_begun(path: str) -> bool:
    """Whether a file holds a complete line: a crash may have left less of its first. BadJournal for a link, a pipe and
    what else can't be read."""
    if not os.path.lexists(path):
        return False
    try:
        with open(path, "rb", opener=regular_file) as file:
            return b"\n" in file.readline()
    except OSError as error:
        raise BadJournal(f"Can't read the journal {path} ({error_text(error)}).") from None
