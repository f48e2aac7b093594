"""Journals in the database: the same lines as in files.

No lock keeps a journal for one worker. Line n of a debate can be written once, and so a worker whose debate was taken
over finds another line in the place of its own, and writes nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from debate_orchestrator.core.events import Opened
from debate_orchestrator.storage.journal import JournalWriter, WaitingLine, now
from debate_orchestrator.storage.journal_lines import parse
from debate_orchestrator.tournament.cluster.database import AT_THE_END, Database, fetch_rows
from debate_orchestrator.util.errors import BadFile, DamagedJournal, LockedJournal, PermanentFailure

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_BEGIN = "INSERT INTO journals (tournament, debate) VALUES (%(id)s, %(debate)s) ON CONFLICT DO NOTHING"
_READ = "SELECT n, line FROM lines WHERE tournament = %(id)s AND debate = %(debate)s ORDER BY n"
_APPEND = """
INSERT INTO lines (tournament, debate, n, line)
SELECT %(id)s, %(debate)s, n, line FROM unnest(%(numbers)s::int[], %(lines)b::bytea[]) AS given (n, line)
ON CONFLICT DO NOTHING
"""
_DIFFERENT = """
SELECT count(*) FROM unnest(%(numbers)s::int[], %(lines)b::bytea[]) AS given (n, line)
    LEFT JOIN lines ON tournament = %(id)s AND debate = %(debate)s AND lines.n = given.n
WHERE lines.line IS DISTINCT FROM given.line
"""


class DatabaseJournals:
    """The journals of one tournament."""

    def __init__(self, database: Database, tournament: str):
        self._database, self._tournament = database, tournament

    @asynccontextmanager
    async def open(self, debate_id: str, make_opened: Callable[[], Opened]) -> AsyncIterator[JournalWriter]:
        database, names = self._database, {"id": self._tournament, "debate": debate_id}
        await database.retried_until_reached(lambda: database.execute(_BEGIN, **names))
        lines = await database.retried_until_reached(lambda: database.rows(_READ, **names))
        journal = DatabaseJournal(database, self._tournament, debate_id, lines)
        timeout: float | None = None
        try:
            if not journal.entries:
                journal.append(make_opened())
            await journal.wait_until_handed_over()
            yield journal
        except asyncio.CancelledError:
            timeout = AT_THE_END
            raise
        finally:
            try:
                with suppress(TimeoutError, LockedJournal, PermanentFailure):  # told where the answers are named
                    async with asyncio.timeout(timeout):
                        await journal.wait_until_handed_over()
            finally:
                journal.close()

    def pages_folder(self, debate_id: str) -> str | None:
        return None


class DatabaseJournal(JournalWriter):
    """A journal in the database, as one worker reads and writes it."""

    def __init__(self, database: Database, tournament: str, debate_id: str, lines: Sequence[tuple[int, bytes]]):
        """BadJournal if the lines are damaged or one is missing: lines would be appended after a hole."""
        self._set_up(f"{database.where}: {debate_id}", now)
        self._database, self._tournament, self._debate_id = database, tournament, debate_id
        self.entries = parse(self.path, b"".join(bytes(line) for _, line in lines)).entries if lines else []
        if [n for n, _ in lines] != [*range(1, len(self.entries) + 1)]:
            raise DamagedJournal(f"{self.path} lacks lines: the last is {lines[-1][0]:,}, and it has {len(lines):,}.")
        self.stored = len(self.entries)
        """Lines that are in the database."""
        self._writing = asyncio.Lock()
        self._failure: LockedJournal | PermanentFailure | None = None
        """Why nothing more can be written."""

    def _append_line(self, new: WaitingLine) -> None:
        if self._failure is not None:
            self._lose(new)
            raise self._failure
        self._waiting.append(new)

    async def wait_until_handed_over(self) -> None:
        """Returns when all that was appended is in the database. LockedJournal if another worker goes on with the
        debate, PermanentFailure if the database refuses a line."""
        async with self._writing:
            if self._failure is not None:
                raise self._failure
            lines = [waiting.line for waiting in self._waiting]
            if not lines:
                return
            try:
                await self._database.retried_until_reached(lambda: self._append(lines))
            except LockedJournal as error:
                self._failure = error
                raise
            except BadFile as error:
                self._failure = PermanentFailure([f"Lines of a journal were refused. {error.problems[0]}"])
                raise self._failure from None
            del self._waiting[: len(lines)]
            self.stored += len(lines)

    async def _append(self, lines: Sequence[bytes]) -> None:
        async with self._database.transaction() as connection:
            if not await append_lines(connection, self._tournament, self._debate_id, self.stored, lines):
                problem = f"{self.path}: another worker has taken this debate over; "
                raise LockedJournal(f"{problem}its own answers are kept, and no others.")

    async def wait_until_synced(self) -> None:
        await self.wait_until_handed_over()

    def close(self) -> None:
        """Names the answers that are not in the database."""
        for line in self._waiting:
            self._lose(line)
        self._waiting.clear()


async def append_lines(
    connection: AsyncConnection, tournament: str, debate_id: str, before: int, lines: Sequence[bytes]
) -> bool:
    """Writes lines after the first `before` ones. False if others are in their places. Lines that an earlier attempt
    wrote without its answer coming through count as written."""
    numbers = list(range(before + 1, before + len(lines) + 1))
    values = {"id": tournament, "debate": debate_id, "numbers": numbers, "lines": list(lines)}
    await connection.execute(_APPEND.encode(), values)
    return await fetch_rows(connection, _DIFFERENT, **values) == [(0,)]
