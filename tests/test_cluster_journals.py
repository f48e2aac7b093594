"""The lines of many journals that one worker writes to a database, where some of them wait for a lock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import contests
import pytest
from test_cluster_database import asked

from debate_orchestrator.tournament.cluster import journals as journals_module
from debate_orchestrator.tournament.cluster.journals import DatabaseJournal, DatabaseJournals, Line


class LockTimeout(Exception):
    """A statement that has waited too long for a lock."""

    sqlstate = "55P03"


class Journals(DatabaseJournals):
    """Journals in a database in which some are locked; `tries` holds the journals of each statement, in its order."""

    def __init__(self, locked: set[int]):
        async def persistent(work: Callable[[], Awaitable[Any]]) -> Any:
            return await work()

        super().__init__(SimpleNamespace(persistent=persistent, where="a database"), "t", 1)  # type: ignore[arg-type]
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
