"""Journals in the database: the same lines as in files, appended by the one worker that holds the journal.

A worker that takes a journal gets a new token, and every append must bring it. A worker that was frozen and wakes up
brings an old one: its append is refused, and what it had asked for is lost. A journal can be taken when its holder has
closed it, or has not been heard of for the time of a lease.

Lines of all debates of a process that wait to be written are written by one statement, in which each journal's are
written or refused together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from debate_orchestrator.core.events import Opened
from debate_orchestrator.storage.journal import JournalWriter, now, parse
from debate_orchestrator.tournament.cluster.database import LIVE, Database, fetched
from debate_orchestrator.util.errors import LockedJournal

_AT_THE_END = 5.0
"""Seconds for what waits to be written when a debate is given up."""

_BEGIN = b"INSERT INTO journals (tournament, debate) VALUES (%(id)s, %(debate)s) ON CONFLICT DO NOTHING"
_TAKE = f"""
UPDATE journals SET token = token + 1, holder = %(holder)s
WHERE tournament = %(id)s AND debate = %(debate)s
  AND (holder IS NULL OR holder = %(holder)s OR holder NOT IN ({LIVE}))
RETURNING id, token
"""
_APPEND = """
WITH given AS (
    SELECT * FROM unnest(%(journals)s::bigint[], %(tokens)s::bigint[], %(numbers)s::int[], %(lines)b::bytea[])
        AS given (journal, token, n, line)
), spans AS (
    SELECT journal, token, min(n) AS first, max(n) AS last FROM given GROUP BY journal, token
), held AS (
    UPDATE journals SET lines = spans.last FROM spans
    WHERE journals.id = spans.journal AND journals.token = spans.token AND journals.lines = spans.first - 1
    RETURNING journals.id, journals.token
)
INSERT INTO lines (journal, n, line)
SELECT given.journal, given.n, given.line FROM given JOIN held ON held.id = given.journal AND held.token = given.token
"""
_STORED = """
SELECT id, token, lines FROM journals WHERE id = ANY(%(journals)s::bigint[])
"""


class Line(NamedTuple):
    """A line that waits to be written."""

    journal: DatabaseJournal
    n: int
    data: bytes


class DatabaseJournals:
    """The journals of one tournament, for one worker."""

    def __init__(self, database: Database, tournament: str, holder: int):
        self._database, self._tournament, self._holder = database, tournament, holder
        self._waiting: list[Line] = []
        self._writing = asyncio.Lock()

    @asynccontextmanager
    async def open(self, debate: str, opening: Callable[[], Opened]) -> AsyncIterator[JournalWriter]:
        number, token = await self._database.persistent(lambda: self.take(debate))
        data = b"".join(await self._database.persistent(lambda: self._lines(number)))
        journal = DatabaseJournal(self, f"{self._database.where}: {debate}", number, token, data)
        patience: float | None = None
        try:
            if not journal.entries:
                journal.append(opening())
                await journal.handed_over()
            yield journal
            await journal.handed_over()
        except asyncio.CancelledError:
            patience = _AT_THE_END
            raise
        finally:
            with suppress(TimeoutError, LockedJournal):
                await asyncio.wait_for(self._close(journal), patience)

    def archive(self, debate: str) -> str | None:
        return None

    async def _lines(self, journal: int) -> list[bytes]:
        query = "SELECT line FROM lines WHERE journal = %(journal)s ORDER BY n"
        return [bytes(line) for (line,) in await self._database.rows(query, journal=journal)]

    async def take(self, debate: str) -> tuple[int, int]:
        """Takes a journal: its number, and the token of its holder. LockedJournal if another worker has it. This worker
        may take it again, with another token: the answer to an earlier attempt may not have come through."""
        names = {"id": self._tournament, "debate": debate}
        async with self._database.transaction() as connection:
            await connection.execute(_BEGIN, names)
            taken = await fetched(connection, _TAKE, **names, holder=self._holder)
        if not taken:
            raise LockedJournal(f"Another worker holds the debate {debate}; nothing was changed.")
        return int(taken[0][0]), int(taken[0][1])

    async def _close(self, journal: DatabaseJournal) -> None:
        """Writes what is left, and lets others take the journal."""
        if not journal.lost:
            await journal.handed_over()
        release = "UPDATE journals SET holder = NULL WHERE id = %(id)s AND token = %(token)s"
        await self._database.persistent(lambda: self._database.execute(release, id=journal.id, token=journal.token))

    def wait_for_writing(self, line: Line) -> None:
        """Takes a line that the next writing has to write."""
        self._waiting.append(line)

    async def write(self, journal: DatabaseJournal, upto: int) -> None:
        """Returns when the first `upto` lines of a journal are in the database, or are refused. All lines that wait are
        written with them, so that debates share a writing."""
        await self._database.persistent(lambda: self._write_once(journal, upto))

    async def _write_once(self, journal: DatabaseJournal, upto: int) -> None:
        async with self._writing:
            if journal.stored >= upto or journal.lost:
                return  # another task has written them
            lines, self._waiting = self._waiting, []
            try:
                stored = await self._append(lines)
            except BaseException:
                self._waiting = lines + self._waiting
                raise
            for line in lines:
                if stored.get((line.journal.id, line.journal.token), 0) >= line.n:
                    line.journal.stored = line.n
                else:
                    line.journal.lost = True

    async def _append(self, lines: list[Line]) -> dict[tuple[int, int], int]:
        """Appends lines; how many lines each journal has, under its number and the token of its holder. Lines that an
        earlier attempt wrote without its answer coming through count as written."""
        journals = [line.journal.id for line in lines]
        async with self._database.transaction() as connection:
            values = {
                "journals": journals,
                "tokens": [line.journal.token for line in lines],
                "numbers": [line.n for line in lines],
                "lines": [line.data for line in lines],
            }
            await connection.execute(_APPEND, values)
            rows = await fetched(connection, _STORED, journals=journals)
        return {(journal, token): count for journal, token, count in rows}


class DatabaseJournal(JournalWriter):
    """The one writer of a journal in the database."""

    def __init__(self, store: DatabaseJournals, path: str, journal: int, token: int, data: bytes):
        self.path, self._clock = path, now
        self.id, self.token = journal, token
        self.lost = False
        """Whether another worker has taken the journal meanwhile."""
        self.entries = parse(path, data).entries if data else []
        self.stored = len(self.entries)
        """Lines that are in the database."""
        self._store = store

    def _write(self, line: bytes) -> None:
        self._must_be_held()
        self._store.wait_for_writing(Line(self, len(self.entries) + 1, line))

    def _must_be_held(self) -> None:
        if self.lost:
            problem = (
                f"{self.path}: another worker has taken this debate over; its own answers are kept, and no others."
            )
            raise LockedJournal(problem)

    async def handed_over(self) -> None:
        """Returns when all that was appended is in the database. LockedJournal if another worker has the journal."""
        upto = len(self.entries)
        await self._store.write(self, upto)
        self._must_be_held()

    async def synced(self) -> None:
        await self.handed_over()

    def close(self) -> None:
        """Does nothing: `DatabaseJournals.open` closes."""
