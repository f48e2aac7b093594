"""The lines of many journals that one worker writes to a database, where some of them wait for a lock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import contests
import pytest
from journals import sealed
from postgres import Postgres
from test_cluster_database import asked

from debate_orchestrator.core.events import Opened
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.tournament.cluster import journals as journals_module
from debate_orchestrator.tournament.cluster.database import opened
from debate_orchestrator.tournament.cluster.folder_sync import FolderSync
from debate_orchestrator.tournament.cluster.journals import DatabaseJournal, DatabaseJournals, Line
from debate_orchestrator.tournament.cluster.queue import enqueue
from debate_orchestrator.tournament.cluster.worker import Worker
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.run import DebateStatus
from debate_orchestrator.util.errors import DamagedJournal


class LockTimeout(Exception):
    """A statement that has waited too long for a lock."""

    sqlstate = "55P03"


class Journals(DatabaseJournals):
    """Journals in a database in which some are locked; `tries` holds the journals of each statement, in its order."""

    def __init__(self, locked: set[int]):
        async def retried_until_reached(work: Callable[[], Awaitable[Any]]) -> Any:
            return await work()

        super().__init__(SimpleNamespace(retried_until_reached=retried_until_reached, where="a database"), "t", 1)  # type: ignore[arg-type]
        self.locked, self.tries, self.counts = locked, list[list[int]](), dict[tuple[int, int], int]()
        self.retried, self.unlocked = asyncio.Event(), asyncio.Event()

    def journal(self, number: int) -> DatabaseJournal:
        """An open journal with its first line waiting."""
        journal = DatabaseJournal(self, f"debate {number}", number, 1)
        journal.append(contests.tournament().make_opened(contests.tournament().schedule[0]))
        return journal

    async def _append(self, lines: list[Line]) -> dict[tuple[int, int], int]:
        numbers = [line.journal.id for line in lines]
        self.tries.append(numbers)
        if self.locked & set(numbers):
            if sum(numbers == tried for tried in self.tries) > 1:
                self.retried.set()
                await self.unlocked.wait()
            raise LockTimeout
        for line in lines:
            assert line.n == self.counts.get((line.journal.id, 1), 0) + 1, "lines are written in their order"
            self.counts[line.journal.id, 1] = line.n
        return self.counts

    async def _takes_lines(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def soon(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that waited too long are tried again at once."""
    monkeypatch.setattr(journals_module, "_BLOCKED_WAITS", (0.0,) * 4)


def test_a_lock_holds_up_no_other_journal() -> None:
    """While a journal that is locked is tried again, the lines of others are written, and its own come in their order
    once it is free."""

    async def run() -> Journals:
        store = Journals({2})
        journals = [store.journal(number) for number in (1, 2, 3)]
        waiting = [asyncio.ensure_future(journal.handed_over()) for journal in journals]
        await store.retried.wait()
        for journal in journals:
            journal.append(asked(1))
        later = asyncio.ensure_future(journals[1].handed_over())
        for journal in (journals[0], journals[2]):
            await asyncio.wait_for(journal.handed_over(), 30)
        assert not waiting[1].done() and not later.done()
        store.locked.clear()
        store.unlocked.set()
        await asyncio.gather(*waiting, later)
        return store

    store = asyncio.run(run())
    assert store.counts == {(1, 1): 2, (2, 1): 2, (3, 1): 2}


class HeldJournals(Journals):
    """Journals of which the third, written alone, takes until `go_on` is set."""

    def __init__(self, locked: set[int]):
        super().__init__(locked)
        self.under_way, self.go_on = asyncio.Event(), asyncio.Event()

    async def _append(self, lines: list[Line]) -> dict[tuple[int, int], int]:
        if [line.journal.id for line in lines] == [3]:
            self.under_way.set()
            await self.go_on.wait()
        return await super()._append(lines)


def test_a_line_added_while_others_are_still_tried_comes_after_the_locked_one() -> None:
    """A journal's first line has failed, and waits again only when the lines tried beside it are through. A second line
    that comes meanwhile must not pass it."""

    async def run() -> Journals:
        store = HeldJournals({2})
        journals = [store.journal(number) for number in (1, 2, 3)]
        waiting = [asyncio.ensure_future(journals[0].handed_over())]  # writes the lines of all three
        await store.under_way.wait()
        assert [2] in store.tries
        store.locked.clear()
        journals[1].append(asked(1))
        waiting.append(asyncio.ensure_future(journals[1].handed_over()))
        for _ in range(20):
            await asyncio.sleep(0)
        store.go_on.set()
        await asyncio.gather(*waiting, journals[2].handed_over())
        return store

    assert asyncio.run(run()).counts == {(1, 1): 1, (2, 1): 2, (3, 1): 1}


def test_every_locked_journal_is_tried_alone_a_few_times() -> None:
    """Statements grow with the number of journals that are locked, and not with its square."""

    async def run() -> Journals:
        store = Journals(set(range(20)))
        store.unlocked.set()
        journals = [store.journal(number) for number in range(40)]
        await asyncio.gather(*(journal.handed_over() for journal in journals), return_exceptions=True)
        return store

    store = asyncio.run(run())
    assert set(store.counts) == {(number, 1) for number in range(20, 40)}
    assert len(store.tries) < 20 * 6 + 40


def spoilt(held: Tournament) -> None:
    """Leaves the first journal of a tournament alone, with a whole chain and its last event in the second place."""
    paths = [Path(held.journal(debate)) for debate in held.schedule]
    first, *others, last = read(str(paths[0])).events
    assert isinstance(first, Opened)
    for path in paths:
        path.unlink()
    with JournalWriter.create(str(paths[0]), first) as journal:
        for event in (last, *others, last):
            journal.append(event)


@pytest.mark.slow
def test_events_that_do_not_follow_stop_their_own_debate(postgres_server: Postgres) -> None:
    """A journal of a database whose events do not follow from one another is noted as one that can't be used, with the
    reason, and not as one that the database refuses; the worker goes on with the others."""
    held, sentences = contests.tournament(topics=1), list[str]()
    contests.ran(held)
    spoilt(held)
    begun = {debate.id: number == 0 for number, debate in enumerate(held.schedule)}
    standings = {debate: DebateStatus("stopped" if own else "waiting") for debate, own in begun.items()}

    async def play() -> tuple[dict[str, tuple[str, list[str]]], Worker]:
        async with opened(postgres_server.url(postgres_server.database()), sentences.append) as database:
            sync = FolderSync(database, held)
            await sync.upload(standings, retry_failed=False)
            await enqueue(database, sync.id, list(begun.items()))
            worker = Worker(database, lambda tournament: [], concurrency=2, tell=sentences.append)
            await asyncio.wait_for(worker.work(until_done=True), 60)
            found = await database.rows("SELECT debate, status, why FROM journals")
            return {debate: (status, why) for debate, status, why in found}, worker

    found, worker = asyncio.run(play())
    status, why = found.pop(held.schedule[0].id)
    assert status == "unusable" and "not due" in why[0]
    assert {status for status, _ in found.values()} == {"complete"} and len(found) == len(held.schedule) - 1
    assert not worker.refused and not any("refuses" in sentence for sentence in sentences), sentences


class Fetched:
    """A database that has the journals of a tournament, as far as `FolderSync.fetch` asks for them."""

    where = "a database"

    def __init__(self, held: Tournament):
        self.data = {debate.id: Path(held.journal(debate)).read_bytes() for debate in held.schedule}

    async def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        if "now()" in query and "journals" not in query:
            return [(0.0,)]
        if "string_agg" in query:
            return [(debate, self.data[debate]) for debate in values["debates"]]
        return [(debate, data.count(b"\n")) for debate, data in self.data.items()]


@pytest.mark.parametrize("fault", ["locked", "a link", "newer"])
def test_a_journal_that_cannot_be_fetched_keeps_back_no_other(here: Path, fault: str) -> None:
    """A journal that another process writes, that is a link in the folder, or of a newer version, is told with its
    reason, and all others are fetched."""
    held = contests.tournament(topics=1)
    contests.ran(held)
    database, elsewhere = Fetched(held), contests.tournament("elsewhere", topics=1)
    debate = held.schedule[0].id
    data, path = database.data[debate], Path(elsewhere.journal_of(debate))
    sync = FolderSync(database, elsewhere)  # type: ignore[arg-type]
    if fault == "newer":
        lines = data.splitlines(keepends=True)
        body = {**json.loads(lines[-1]), "event": {"kind": "later"}}
        del body["hash"]
        database.data[debate] = b"".join([*lines[:-1], sealed(json.dumps(body, separators=(",", ":")).encode())])
    else:
        path.write_bytes(b"".join(data.splitlines(keepends=True)[:5]))
    if fault == "a link":
        path.rename("moved")
        path.symlink_to(here / "moved")
    with JournalWriter(str(path)) if fault == "locked" else nullcontext():
        fetched = asyncio.run(sync.fetch(everything=True))

    assert fetched == [other.id for other in held.schedule[1:]]
    assert list(sync.unusable) == [debate]
    assert all(Path(elsewhere.journal_of(other)).read_bytes() == database.data[other] for other in fetched)


def test_lines_of_a_journal_are_told_apart_as_when_it_is_read(here: Path) -> None:
    """A carriage return in the white space of an event's JSON ends no line: lines of debates are known by number."""
    held = contests.tournament(topics=1)
    contests.ran(held)
    debate = held.schedule[0].id
    path = Path(held.journal_of(debate))
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first.replace(b":", b":\r", 20), *rest]))

    lines = FolderSync(Fetched(held), held)._lines(debate)  # type: ignore[arg-type]
    assert len(lines) == 1 + len(rest) and b"".join(lines) == path.read_bytes()


def test_a_journal_with_other_lines_than_events_is_damaged(here: Path) -> None:
    """What would be appended would take the numbers of lines that are there."""
    journal = Journals(set()).journal(1)
    line = Path("j")
    with JournalWriter.create(str(line), contests.tournament().make_opened(contests.tournament().schedule[0])):
        begin, end = line.read_bytes()[:1], line.read_bytes()[1:]
    with pytest.raises(DamagedJournal, match="1 events in 2 lines"):
        journal.load([begin, end], 2)
