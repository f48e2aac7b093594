"""Journals in the database: the same lines as in files, appended by the one worker that holds the journal.

A worker that takes a journal gets a new token, and every append must bring it. A worker that was frozen and wakes up
brings an old one: its append is refused, and what it had asked for is lost. A journal can be taken when its holder has
closed it, or has not been heard of for the time of a lease.

Lines of all debates of a process that wait to be written are written by one statement, in which each journal's are
written or refused together.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from debate_orchestrator.core.events import CallFailed, Opened, ReplyEvent
from debate_orchestrator.engine.retry import UnsavedEvents
from debate_orchestrator.engine.turn import summary
from debate_orchestrator.storage.journal import JournalWriter, now
from debate_orchestrator.storage.journal_lines import parse
from debate_orchestrator.tournament.cluster.database import (
    AT_THE_END,
    LIVE,
    Database,
    fetched,
    is_blocked,
    may_be_alone,
    out_of_reach,
    refusal,
)
from debate_orchestrator.util.errors import BadFile, DamagedJournal, LockedJournal, PermanentFailure

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_BEGIN = b"""INSERT INTO journals (tournament, debate) SELECT id, %(debate)s FROM tournaments WHERE id = %(id)s
FOR KEY SHARE SKIP LOCKED ON CONFLICT DO NOTHING -- debates that wait for that row would keep all connections"""
_TAKE = f"""
UPDATE journals SET token = token + 1, holder = %(holder)s
WHERE id = (SELECT id FROM journals WHERE tournament = %(id)s AND debate = %(debate)s FOR NO KEY UPDATE SKIP LOCKED)
  AND (holder IS NULL OR holder = %(holder)s OR holder NOT IN ({LIVE}))
RETURNING id, token, lines
"""
_APPEND = """
WITH given AS (
    SELECT given.* FROM unnest(%(journals)s::bigint[], %(tokens)s::bigint[], %(numbers)s::int[], %(lines)b::bytea[])
        AS given (journal, token, n, line)
    JOIN journals ON journals.id = given.journal AND journals.lines < given.n -- what an earlier attempt has not written
    FOR NO KEY UPDATE OF journals SKIP LOCKED -- one that another session has locked must not hold up the others
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
_RELEASE = """
UPDATE journals SET holder = NULL
WHERE id = (
    SELECT id FROM journals WHERE id = %(id)s AND token = %(token)s AND holder = %(holder)s FOR NO KEY UPDATE NOWAIT
)
"""
_TRY = """
INSERT INTO lines (journal, n, line) SELECT id, 0, '' FROM journals WHERE tournament = %(id)s LIMIT 1
FOR KEY SHARE SKIP LOCKED
"""
_STORED = """
SELECT journals.id, journals.token, journals.lines, journals.token = given.token AND journals.lines >= given.n
    AND sha256(lines.line) IS DISTINCT FROM given.hash
FROM unnest(%(journals)s::bigint[], %(tokens)s::bigint[], %(numbers)s::int[], %(hashes)b::bytea[])
        AS given (journal, token, n, hash)
    JOIN journals ON journals.id = given.journal LEFT JOIN lines ON lines.journal = given.journal AND lines.n = given.n
"""
"""How many lines each journal counts, and whether one that it counts of these is not there as it was given: a trigger
may drop or alter a row with no error, and a database that was put back to an earlier state gives tokens again, so that
the line may be another writer's."""
_BLOCKED_WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds after which lines are tried again whose journal was locked, or whose statement took too long."""


class Line(NamedTuple):
    """A line that waits to be written."""

    journal: DatabaseJournal
    n: int
    data: bytes


class DatabaseJournals:
    """The journals of one tournament, for one worker."""

    def __init__(
        self,
        database: Database,
        tournament: str,
        holder: int,
        unsaved: UnsavedEvents | None = None,
        on_refusal: Callable[[str, str], None] = lambda journal, why: None,
    ):
        """`unsaved` names the answers that are lost. `on_refusal` gets the path of each journal of which
        the database refuses lines, and why."""
        self._database, self._tournament, self._holder = database, tournament, holder
        self._unsaved, self._on_refusal = unsaved or UnsavedEvents(), on_refusal
        self._waiting: list[Line] = []
        self._writing = asyncio.Lock()

    @asynccontextmanager
    async def open(self, debate_id: str, make_opened: Callable[[], Opened]) -> AsyncIterator[JournalWriter]:
        number, token, count, lines = await self._database.retried_until_reached(lambda: self.take(debate_id))
        journal = DatabaseJournal(self, f"{self._database.where}: {debate_id}", number, token)
        timeout: float | None = None
        try:
            journal.load(lines, count)
            if not journal.entries:
                journal.append(make_opened())
                await journal.handed_over()
            yield journal
            await journal.handed_over()
        except asyncio.CancelledError:
            timeout = AT_THE_END
            raise
        finally:
            await self._close(journal, timeout)

    def pages_folder(self, debate_id: str) -> str | None:
        return None

    async def take(self, debate_id: str) -> tuple[int, int, int, list[bytes]]:
        """Takes a journal: its number, the token of its holder, how many lines are counted, and those that are there.
        LockedJournal if another worker has it, or its row is locked. This worker, which runs a debate once at a time,
        may take it again, with another token: the answer to an earlier attempt may not have come through."""
        query = "SELECT line FROM lines WHERE journal = %(journal)s ORDER BY n"
        names = {"id": self._tournament, "debate": debate_id}
        async with self._database.transaction() as connection:
            await connection.execute(_BEGIN, names)
            taken = await fetched(connection, _TAKE, **names, holder=self._holder)
            if not taken:
                raise LockedJournal(
                    f"Another worker holds the debate {debate_id}, or it is locked; nothing was changed."
                )
            number, token, count = taken[0]
            lines = await fetched(connection, query, journal=number)
        return number, token, count, [bytes(line) for (line,) in lines]

    async def _close(self, journal: DatabaseJournal, timeout: float | None) -> None:
        """Lets go of a journal, and names the answers in it that are lost."""
        try:
            await self._let_go(journal, timeout)
        except asyncio.CancelledError:
            await self._let_go(journal, AT_THE_END)
            raise
        finally:
            self._waiting = [line for line in self._waiting if line.journal is not journal]
            for event in journal.events[journal.stored :]:
                if isinstance(event, ReplyEvent | CallFailed) and event.reply is not None:
                    self._unsaved.name_lost(f"{summary(event)} for {journal.path}")
            # Another debate may be writing lines of this one just now: those that fail must not wait again.
            journal.failure = journal.failure or PermanentFailure(f"{journal.path} is closed.")

    async def _let_go(self, journal: DatabaseJournal, timeout: float | None) -> None:
        """Writes what is left, and lets others take the journal, as far as that can be done in so many seconds."""
        names = {"id": journal.id, "token": journal.token, "holder": self._holder}
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                with suppress(LockedJournal, PermanentFailure):  # raised before, and told when they are named
                    await journal.handed_over()
                await self._database.retried_until_reached(partial(self._database.execute, _RELEASE, **names))

    def wait_for_writing(self, line: Line) -> None:
        """Takes a line that the next writing has to write."""
        self._waiting.append(line)

    async def write(self, journal: DatabaseJournal, upto: int) -> None:
        """Returns when the first `upto` lines of a journal are in the database, or are refused. All lines that wait are
        written with them, so that debates share a writing."""
        for wait in (*_BLOCKED_WAITS, None):
            await self._database.retried_until_reached(lambda: self._write_once(journal, upto))
            if journal.stored >= upto or journal.failure is not None or journal.blocked is None:
                return
            if wait is None:
                self._refuse(journal, journal.blocked)
            else:
                await asyncio.sleep(wait)

    async def _write_once(self, journal: DatabaseJournal, upto: int) -> None:
        async with journal.writing:
            # A journal that is blocked is tried again beside the others, whose lines must not wait for it.
            alone = journal.blocked is not None
            async with nullcontext() if alone else self._writing:
                written = journal.stored >= upto or journal.failure is not None  # by another task
                if not written and alone == (journal.blocked is not None):
                    await self._write_waiting(lambda other: other is journal or not (alone or other.blocked))

    async def _write_waiting(self, chosen: Callable[[DatabaseJournal], bool]) -> None:
        """Writes the lines that wait of the journals that are chosen."""
        lines, others = list[Line](), list[Line]()
        for line in self._waiting:
            (lines if chosen(line.journal) else others).append(line)
        self._waiting, blocked = others, dict[DatabaseJournal, BadFile]()
        try:
            await self._write_lines(lines, blocked)
        finally:
            unwritten = [line for line in lines if line.n > line.journal.stored and line.journal.failure is None]
            self._waiting = unwritten + self._waiting
            for journal, why in blocked.items():  # only now that its lines wait again: no other task may pass them
                journal.blocked = why

    async def _write_lines(self, lines: list[Line], blocked: dict[DatabaseJournal, BadFile]) -> None:
        """Writes lines; where the database does not take them together, those of each journal beside the others'.
        `blocked` gets each journal whose lines waited too long, with the reason."""
        journals = list(dict.fromkeys(line.journal for line in lines))
        try:
            stored = await self._append(lines)
        except Exception as error:
            alone = (may_be_alone(error) or is_blocked(error)) and await self._takes_lines()
            if not (alone or isinstance(error, BadFile)):
                raise
            if len(journals) > 1:
                each = ([line for line in lines if line.journal is journal] for journal in journals)
                tries = (self._write_lines(own, blocked) for own in each)
                for failed in await asyncio.gather(*tries, return_exceptions=True):
                    if failed is not None:
                        raise failed from None
            elif isinstance(error, BadFile):
                self._refuse(journals[0], error)
            else:
                blocked[journals[0]] = refusal(error, self._database.where)
            return
        for line in lines:
            journal = line.journal
            if (count := stored.get((journal.id, journal.token))) is None:
                problem = f"{journal.path}: another worker has taken this debate over; "
                journal.failure = LockedJournal(f"{problem}its own answers are kept, and no others.")
            elif count < line.n:
                blocked[journal] = BadFile(f"{journal.path} is locked by another session.")
            else:
                journal.stored, journal.blocked = line.n, None

    async def _takes_lines(self) -> bool:
        """Whether the database takes a line at all just now, which is taken back at once."""
        with suppress(BadFile, *out_of_reach()):
            async with self._database.transaction() as connection, connection.transaction(force_rollback=True):
                await connection.execute(_TRY, {"id": self._tournament})
            return True
        return False

    def _refuse(self, journal: DatabaseJournal, error: BadFile) -> None:
        """Lets a journal take no more lines."""
        journal.failure = PermanentFailure([f"Lines of a journal were refused. {error.problems[0]}"])
        self._on_refusal(journal.path, error.problems[0])

    async def _append(self, lines: list[Line]) -> dict[tuple[int, int], int]:
        """Appends lines in a transaction of their own, as `append_lines` does."""
        given = [(line.journal.id, line.journal.token, line.n, line.data) for line in lines]
        async with self._database.transaction() as connection:
            return await append_lines(connection, self._database.where, given)


async def append_lines(
    connection: AsyncConnection, where: str, given: Sequence[tuple[int, int, int, bytes]]
) -> dict[tuple[int, int], int]:
    """Appends lines, of which each has the number of its journal, the token of its holder, its own number and its text;
    how many lines each journal has, under its number and that token. Lines that an earlier attempt wrote without its
    answer coming through count as written. BadFile if they are refused, or are not there as they were given."""
    columns = ("journals", "tokens", "numbers", "lines")
    values: dict[str, Any] = {name: [line[n] for line in given] for n, name in enumerate(columns)}
    values["hashes"] = [hashlib.sha256(line).digest() for line in values["lines"]]
    await connection.execute(_APPEND, values)
    rows = await fetched(connection, _STORED, **values)
    if any(lacking for *_, lacking in rows):
        raise left_out(where)  # nothing of the statement is kept, the count neither
    return {(journal, token): count for journal, token, count, _ in rows}


def left_out(where: str) -> BadFile:
    """The error where the database does not have lines as it was given them, and reported none."""
    problem = f"{where} reported no error, and does not have lines that it was given."
    return BadFile(problem, hint="look for a trigger or a rule on its table `lines`, or another program that writes it")


class DatabaseJournal(JournalWriter):
    """The one writer of a journal in the database."""

    def __init__(self, store: DatabaseJournals, path: str, journal: int, token: int):
        self.path, self._clock = path, now
        self.id, self.token = journal, token
        self.failure: LockedJournal | PermanentFailure | None = None
        """Why nothing more can be written: another worker has taken the journal meanwhile, or a line was refused."""
        self.blocked: BadFile | None = None
        """Why lines of this journal were not taken for now, while they are tried again."""
        self.writing = asyncio.Lock()
        """Held by the task that writes lines of this journal, which are written in their order."""
        self.entries = []
        self.stored = 0
        """Lines that are in the database."""
        self._store = store

    def load(self, lines: list[bytes], count: int) -> None:
        """Takes in the lines that the database has. BadJournal if they are damaged, or are not as many as it counts:
        lines would be appended after a hole."""
        self.entries = parse(self.path, b"".join(lines)).entries if lines else []
        if not len(self.entries) == len(lines) == count:
            raise DamagedJournal(f"{self.path} has {len(self.entries):,} events in {len(lines):,} lines of {count:,}.")
        self.stored = count

    def _write(self, line: bytes) -> None:
        self._must_take_lines()
        self._store.wait_for_writing(Line(self, len(self.entries) + 1, line))

    def _must_take_lines(self) -> None:
        if self.failure is not None:
            raise type(self.failure)(self.failure.problems)

    async def handed_over(self) -> None:
        """Returns when all that was appended is in the database. LockedJournal if another worker has the journal,
        PermanentFailure if the database has refused a line."""
        upto = len(self.entries)
        await self._store.write(self, upto)
        self._must_take_lines()

    async def synced(self) -> None:
        await self.handed_over()

    def close(self) -> None:
        """Does nothing: `DatabaseJournals.open` closes."""
