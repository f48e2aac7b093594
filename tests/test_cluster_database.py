"""Journals and limits in PostgreSQL: who may write and call, and what happens to workers that are not heard of."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import contests
import pytest
from messages_server import Server

from debate_orchestrator.core.events import BriefSent, Event, Opened, Spoke
from debate_orchestrator.providers import pricing
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.storage.journal_lines import parse
from debate_orchestrator.tournament.cluster import database as database_module
from debate_orchestrator.tournament.cluster import folder_sync
from debate_orchestrator.tournament.cluster.database import Database, opened
from debate_orchestrator.tournament.cluster.folder_sync import FolderSync
from debate_orchestrator.tournament.cluster.journals import DatabaseJournals
from debate_orchestrator.tournament.cluster.limits import SharedLimiters
from debate_orchestrator.tournament.cluster.queue import TASK, Passes, enqueue, queue_of
from debate_orchestrator.tournament.cluster.worker import Worker
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.limits import Admission
from debate_orchestrator.tournament.spec import declared_prices
from debate_orchestrator.util.errors import BadFile, BadSettings, DamagedJournal, LockedJournal
from debate_orchestrator.util.redact import add_secret

pytestmark = pytest.mark.slow

CALL = Admission(input_tokens=100, output_tokens=100, price=0.0)


@asynccontextmanager
async def uploaded(
    url: str, held: Tournament, lease: float | None = None
) -> AsyncIterator[tuple[Database, FolderSync]]:
    """A database that knows a tournament."""
    async with opened(url, lambda message: None) as database:
        sync = FolderSync(database, held, lease)
        await sync.upload(contests.runner(held).statuses, retry_failed=False)
        yield database, sync


async def registered(database: Database) -> int:
    """The number of a new worker, which is alive for the time of a lease."""
    return await database.app.job_manager.register_worker()


async def unheard_of(database: Database, worker: int) -> None:
    """A worker has given no sign of life for an hour."""
    old = "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour' WHERE id = %(id)s"
    await database.execute(old, id=worker)


def asked(n: int) -> Event:
    return BriefSent(turn=f"1.opening.{'ab'[n % 2]}", brief_digest=f"{n:064}", by=contests.OPUS, called=True)


def test_a_worker_that_lost_its_lease_writes_nothing(here: Path, url: str) -> None:
    """Only a worker whose holder is dead can take a journal. From then on the earlier holder is refused, what it waits
    to write too, and the journal is that of the later one, whole."""
    held = contests.tournament()
    debate = held.schedule[0]

    async def play() -> tuple[list[Event], list[Event], bytes]:
        async with uploaded(url, held) as (database, sync):
            numbers = [await registered(database) for _ in range(2)]
            early, late = [DatabaseJournals(database, sync.id, number) for number in numbers]
            with pytest.raises(LockedJournal):
                async with early.open(debate.id, lambda: held.make_opened(debate)) as journal:
                    journal.append(asked(0))
                    await journal.handed_over()
                    with pytest.raises(LockedJournal, match="Another worker holds"):
                        await late.open(debate.id, lambda: held.make_opened(debate)).__aenter__()
                    journal.append(asked(1))
                    await unheard_of(database, numbers[0])
                    async with late.open(debate.id, lambda: held.make_opened(debate)) as other:
                        other.append(asked(2))
                        kept = other.events
                        await other.handed_over()
                        with pytest.raises(LockedJournal, match="taken this debate over"):
                            await journal.handed_over()
                    with pytest.raises(LockedJournal):
                        journal.append(asked(3))
                    await journal.synced()
            await sync.fetch(everything=True)
            return kept, read(held.journal(debate)).events, Path(held.journal(debate)).read_bytes()

    kept, fetched, data = asyncio.run(play())

    assert isinstance(fetched[0], Opened) and fetched == kept and fetched[1:] == [asked(0), asked(2)]
    with JournalWriter(held.journal(debate)) as journal:
        journal.append(asked(4))
    assert Path(held.journal(debate)).read_bytes().startswith(data)


def test_a_fetch_that_broke_off_loses_no_journal(here: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fetch that lost the database on its way, the next one returns every journal that has come since, and
    looks as far back."""
    from psycopg import OperationalError

    held, looked = contests.tournament(), list[float | None]()
    standings = contests.ran(held).statuses
    monkeypatch.setattr(folder_sync, "_BATCH_SIZE", 1)

    async def play() -> tuple[list[str], list[str]]:
        async with uploaded(url, held) as (database, sync):
            await sync.upload(standings, retry_failed=False)
            await database.execute("UPDATE journals SET settled = now()")
            elsewhere = FolderSync(database, contests.tournament("elsewhere"))
            rows, asked = database.rows, list[str]()

            async def lost(query: str, **values: Any) -> list[Any]:
                if query == folder_sync._COUNTS:
                    looked.append(values["since"])
                asked.extend(values.get("debates", []))
                if query == folder_sync._LINES and len(asked) == 2:
                    raise OperationalError("gone")
                return await rows(query, **values)

            monkeypatch.setattr(database, "rows", lost)
            with pytest.raises(OperationalError):
                await elsewhere.fetch()
            return await elsewhere.fetch(), await elsewhere.fetch()

    fetched, after = asyncio.run(play())
    assert sorted(fetched) == sorted(debate.id for debate in held.schedule) and after == []
    assert looked[0] == looked[1] == 0 and looked[2] != 0


def test_the_database_names_no_file(here: Path, url: str) -> None:
    """A journal of the database whose id is not in the schedule, such as one that leads out of the folder, is not
    fetched."""
    held = contests.tournament()
    debate = held.schedule[0]

    async def play() -> list[str]:
        async with uploaded(url, held) as (database, sync):
            store = DatabaseJournals(database, sync.id, await registered(database))
            for id in (debate.id, "../../led-out"):
                async with store.open(id, lambda: held.make_opened(debate)) as journal:
                    await journal.handed_over()
            return await sync.fetch(everything=True)

    assert asyncio.run(play()) == [debate.id]
    assert not list(here.rglob("led-out*")) and Path(held.journal(debate)).exists()


def test_each_tournament_counts_by_its_own_prices(here: Path, url: str, server: Server) -> None:
    """One worker counts the calls of each tournament by the prices that this one gives. Those of a tournament that it
    refuses count nowhere."""

    server.say = contests.replied

    def priced(tag: str, dollars: int) -> Tournament:
        opus = {"name": "opus", "spec": contests.OPUS, "price": {"input": dollars, "output": dollars}}
        return contests.tournament(tag, topics=1, tag=tag, models=[opus, contests.SONNET], rehearse=False)

    every = [priced("plain", 0), priced("dear", 500), priced("refused", 5000)]

    async def play() -> list[tuple[Any, ...]]:
        async with opened(url, lambda message: None) as database:
            for held in every:
                sync = FolderSync(database, held, None)
                await sync.upload(contests.runner(held).statuses, retry_failed=False)
                await enqueue(database, sync.id, [(debate.id, False) for debate in held.schedule])

            def find_problems(tournament: Tournament) -> list[str]:
                return ["No."] if tournament.spec.tag == "refused" else []

            await Worker(database, find_problems, concurrency=2).work(until_done=True)
            return await database.rows(
                "SELECT tag, string_agg(line, ''::bytea ORDER BY n) FROM tournaments"
                " JOIN journals ON tournament = tournaments.id JOIN lines ON journal = journals.id"
                " GROUP BY tag, journals.id"
            )

    found: dict[str, list[Any]] = {}
    for tag, text in asyncio.run(play()):
        found.setdefault(tag, []).extend(
            event.reply for event in parse(tag, bytes(text)).events if isinstance(event, Spoke)
        )

    assert found.keys() == {"plain", "dear"}
    costs = {}
    for held in every[:2]:
        with declared_prices(held.spec):
            replies = found[held.spec.tag]
            assert [reply.cost for reply in replies] == [pricing.cost(reply.by, reply.usage) for reply in replies]
            costs[held.spec.tag] = max(reply.cost for reply in replies)
    assert costs["dear"] > 2 * costs["plain"] > 0
    opus = pricing.known(contests.OPUS)
    assert opus is not None and opus.input < 100


@pytest.mark.parametrize("spec", ["{", "[" * 100_000, '{"added": 5}'], ids=["cut off", "deep", "not a spec"])
def test_a_spec_that_cannot_be_read_is_refused(here: Path, url: str, spec: str) -> None:
    """A tournament whose row in the database is damaged is refused with the reason, by a worker and by a run."""
    held = contests.tournament()

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            await enqueue(database, sync.id, [(held.schedule[0].id, False)])
            await database.execute("UPDATE tournaments SET spec = %(spec)s", spec=spec)
            with pytest.raises(BadSettings, match=sync.id):
                await Worker(database, lambda tournament: [], concurrency=1).work(until_done=True)
            with pytest.raises(BadFile, match=sync.id):
                await FolderSync(database, held).upload({}, retry_failed=False)

    asyncio.run(play())


def test_lines_that_are_counted_and_not_there(here: Path, url: str) -> None:
    """A database that has lost lines of a journal is refused with the debate when a run goes on with it."""
    held = contests.tournament()
    standings = contests.ran(held).statuses

    async def play() -> None:
        async with uploaded(url, held) as (database, _):
            await database.execute("DELETE FROM lines")
            with pytest.raises(BadFile, match="counts more lines than it has of the debate"):
                await FolderSync(database, held).upload(standings, retry_failed=False)

    asyncio.run(play())


@pytest.mark.parametrize("lost", ["the last", "all"])
def test_fewer_lines_than_are_counted_are_not_fetched(here: Path, url: str, lost: str) -> None:
    """A journal of which the database has fewer lines than it counts is not fetched, and the reason is told."""
    held = contests.tournament(topics=1)
    standings = contests.ran(held).statuses
    debate = held.schedule[0].id
    count = len(read(held.journal_of(debate)).entries)
    there = count - 1 if lost == "the last" else 0

    async def play() -> None:
        async with uploaded(url, held) as (database, _):
            await FolderSync(database, held).upload(standings, retry_failed=False)
            own = f"journal = (SELECT id FROM journals WHERE debate = '{debate}')"
            await database.execute(f"DELETE FROM lines WHERE {own} AND n > {there}")
            elsewhere = contests.tournament("elsewhere", topics=1)
            sync = FolderSync(database, elsewhere)
            fetched = await sync.fetch(everything=True)
            assert debate not in fetched and len(fetched) == len(held.schedule) - 1
            assert f"has {there} lines, and the database counts {count}" in sync.unusable[debate].why[0]
            assert not Path(elsewhere.journal_of(debate)).exists()

    asyncio.run(play())


@pytest.mark.parametrize("damage", ["DELETE FROM lines WHERE n = 3", "DELETE FROM lines"])
def test_a_journal_whose_last_lines_are_missing_is_not_taken(here: Path, url: str, damage: str) -> None:
    """What is left of a journal is not gone on with: lines after a hole would spoil it."""
    held = contests.tournament()
    debate = held.schedule[0]

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            store = DatabaseJournals(database, sync.id, await registered(database))
            async with store.open(debate.id, lambda: held.make_opened(debate)) as journal:
                for n in range(1, 3):
                    journal.append(asked(n))
                await journal.synced()
            await database.execute(damage)
            before = await database.rows("SELECT n, line FROM lines")
            with pytest.raises(DamagedJournal, match=r"events in \d lines of 3"):
                async with store.open(debate.id, lambda: held.make_opened(debate)):
                    pass
            assert await database.rows("SELECT n, line FROM lines") == before

    asyncio.run(asyncio.wait_for(play(), 15))


@pytest.mark.parametrize("code", ["08006", "25006", "40P01", "53100", "53200", "53300", "57P01", "58030"])
def test_a_server_that_takes_nothing_is_waited_for(code: str) -> None:
    """A lost connection, a full disk and the like are no refusal of one debate's lines."""
    from psycopg.errors import lookup

    assert issubclass(lookup(code), database_module.out_of_reach())
    assert database_module._is_away(lookup(code)("no"))


def test_limits_that_no_run_wrote_are_told(here: Path, url: str) -> None:
    """A run that watches a database with a damaged limit ends with one sentence."""
    held = contests.tournament()
    damage = "INSERT INTO limiters VALUES (%(key)s, '{\"in_flight\": [1]}')"

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            await database.execute(damage, key=held.spec.models[0].model_spec)
            with pytest.raises(BadFile, match="holds values that this program did not write"):
                await Passes(sync, retry_failed=False, on_fetched=lambda debate: None).run()

    asyncio.run(asyncio.wait_for(play(), 10))


def test_an_error_of_the_databases_own_is_told_in_a_sentence(here: Path, url: str) -> None:
    """What a trigger raises is neither a traceback nor shown raw, and no part of the password is in it."""
    secret = "Zx9Qw7Er5Ty3Ui1Op0"
    raises = f"raise exception E'\\x1b[31mlogin {secret[:9]}, rest {secret[9:]}'"

    async def play() -> None:
        add_secret(secret)
        async with opened(url, print) as database:
            with pytest.raises(BadFile, match="holds values that this program did not write") as refused:
                await database.execute(f"DO $$ BEGIN {raises}; END $$")
            assert secret[:9] not in str(refused.value) and "\x1b" not in str(refused.value)

    asyncio.run(asyncio.wait_for(play(), 10))


def test_a_database_that_is_read_only_is_waited_for(here: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be written while a server takes over for another is written afterwards."""
    monkeypatch.setattr(database_module, "RETRY", 0.05)
    tries = []

    async def play() -> None:
        async with opened(url, print) as database:

            async def write() -> None:
                tries.append(1)
                mode = "SET TRANSACTION READ ONLY; " if len(tries) < 3 else ""
                async with database.transaction() as connection:
                    await connection.execute(f"{mode}CREATE TABLE written (n int)".encode())

            await database.retried_until_reached(write)
            assert await database.rows("SELECT count(*) FROM written") == [(0,)]

    asyncio.run(asyncio.wait_for(play(), 10))
    assert len(tries) == 3


@pytest.mark.parametrize("lease", ["NaN", "Infinity", "-Infinity", "0", "1e300"])
def test_a_lease_that_no_run_wrote_is_refused(here: Path, url: str, lease: str) -> None:
    """A worker takes no debate of a tournament with such a lease; other workers are alive by a usual one."""
    held = contests.tournament()

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            await enqueue(database, sync.id, [(held.schedule[0].id, False)])
            await database.execute(f"UPDATE tournaments SET lease = '{lease}'")
            await DatabaseJournals(database, sync.id, await registered(database)).take("debate")
            with pytest.raises(BadSettings, match=r"has a lease of .* seconds, and one of 1 to 3,600 is allowed"):
                await Worker(database, lambda tournament: [], concurrency=1).work(until_done=True)

    asyncio.run(asyncio.wait_for(play(), 20))


@pytest.mark.parametrize(
    "state",
    [
        "5",
        '{"in_flight": [1]}',
        '{"in_flight": {"1": "many"}}',
        '{"limiter": [1]}',
        '{"limiter": {"allowed": "x"}}',
        '{"limiter": {"allowed": 1, "grown_at": 1, "careful": false, "paused_until": 1, "throttled_in_a_row": 1, '
        '"throttled": 1, "buckets": {"requests": [0, 0, 0]}}}',
        '{"limiter": {"allowed": 1e999, "grown_at": 1, "careful": false, "paused_until": 1, "throttled_in_a_row": 1, '
        '"throttled": 1, "buckets": {}}}',
    ],
)
def test_a_limiter_that_no_worker_wrote_is_told(here: Path, url: str, state: str) -> None:
    """No call is admitted by a damaged row of limits, and one sentence says which it is."""
    held, unhandled = contests.tournament(rehearse=False), list[dict[str, Any]]()

    async def play() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: unhandled.append(context))
        async with uploaded(url, held) as (database, sync):
            await database.execute("INSERT INTO limiters VALUES (%(key)s, %(state)s)", key=contests.OPUS, state=state)
            limiters = SharedLimiters(held.spec, database, sync.id, await registered(database), Counter())
            with pytest.raises(BadFile, match=f"holds limits of {contests.OPUS} that this program did not write"):
                await limiters.gate(contests.OPUS).acquire(CALL, "1", asyncio.Event())
            gate = limiters.gate(contests.OPUS)
            gate.on_response(200, {})
            with pytest.raises(BadFile):
                await gate.reported()
            gate.on_response(200, {})
            assert gate._reporting is not None
            await asyncio.wait([gate._reporting])

    asyncio.run(asyncio.wait_for(play(), 20))
    gc.collect()
    assert unhandled == []


def test_a_job_for_a_debate_that_is_not_scheduled(here: Path, url: str) -> None:
    """A worker passes over a job whose debate the tournament does not have, and says so."""
    held, sentences = contests.tournament(), list[str]()

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            await enqueue(database, sync.id, [("no-such-debate", False)])
            await Worker(database, lambda tournament: [], concurrency=1, tell=sentences.append).work(until_done=True)

    asyncio.run(play())
    assert any("'no-such-debate'" in sentence for sentence in sentences)


@pytest.mark.parametrize("args", ["[]", '"x"', "null", "{}", '{"tournament": 1, "debate": "x"}'])
def test_a_job_that_names_no_debate_is_given_up(
    here: Path, url: str, caplog: pytest.LogCaptureFixture, args: str
) -> None:
    """A job with other arguments than this program's is not waited for, and is told in a sentence."""
    held, sentences = contests.tournament(), list[str]()

    async def play() -> None:
        async with uploaded(url, held) as (database, sync):
            insert = (
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES (%(queue)s, %(task)s, %(args)s)"
            )
            await database.execute(insert, queue=queue_of(sync.id), task=TASK, args=args)
            await asyncio.wait_for(
                Worker(database, lambda tournament: [], concurrency=1, tell=sentences.append).work(until_done=True), 20
            )
            assert await database.rows("SELECT status FROM procrastinate_jobs") == [("failed",)]

    asyncio.run(play())
    assert any("1 job" in sentence and "names no debate" in sentence for sentence in sentences), sentences
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_frozen_transaction_does_not_block_for_long(here: Path, url: str) -> None:
    """A worker that is frozen while it holds a limit's row is cut off by the database, and the others go on."""
    held = contests.tournament(rehearse=False)

    async def play() -> bool:
        async with uploaded(url, held) as (database, sync), opened(url, lambda message: None) as frozen:
            limiters = [
                SharedLimiters(held.spec, one, sync.id, await registered(one), Counter()) for one in (database, frozen)
            ]
            assert await limiters[1].gate(contests.OPUS).acquire(CALL, "t", asyncio.Event())
            connection = await frozen.app.connector.pool.getconn()  # type: ignore[attr-defined]
            await connection.execute("SELECT key FROM limiters FOR UPDATE")
            waiting = limiters[0].gate(contests.OPUS).acquire(CALL, "t", asyncio.Event())
            return await asyncio.wait_for(waiting, 20)

    assert asyncio.run(play())


def test_calls_of_dead_workers_leave_their_room(here: Path, url: str) -> None:
    """What is allowed at once counts over all workers, and calls of a worker that is not heard of any more count no
    longer."""
    held = contests.tournament(rehearse=False, limits={contests.OPUS: {"at_once": 2}})

    async def play() -> tuple[bool, bool, bool]:
        async with uploaded(url, held) as (database, sync):
            numbers = [await registered(database) for _ in range(2)]
            dead, alive = [SharedLimiters(held.spec, database, sync.id, n, Counter()) for n in numbers]
            stop = asyncio.Event()
            taken = [await dead.gate(contests.OPUS).acquire(CALL, f"{n}", stop) for n in range(2)]
            waiting = asyncio.ensure_future(alive.gate(contests.OPUS).acquire(CALL, "2", stop))
            await asyncio.sleep(0.5)
            early = waiting.done()
            await unheard_of(database, numbers[0])
            return all(taken), early, await asyncio.wait_for(waiting, 5)

    assert asyncio.run(play()) == (True, False, True)


def test_a_tournament_keeps_its_lease(here: Path, url: str) -> None:
    """A lease is the tournament's until a run gives it another. By it, and by no other tournament's, a worker is dead
    whose journals can be taken."""
    held, other = contests.tournament("held"), contests.tournament("other", seed=2)

    async def taken(tournament: Tournament, lease: float | None) -> bool:
        """Whether a journal can be taken whose worker has given no heartbeat for a minute."""
        async with uploaded(url, tournament, lease) as (database, sync):
            early, late = [await registered(database) for _ in range(2)]
            await DatabaseJournals(database, sync.id, early).take("debate")
            old = "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 minute' WHERE id = %(id)s"
            await database.execute(old, id=early)
            try:
                await DatabaseJournals(database, sync.id, late).take("debate")
            except LockedJournal:
                await database.execute("UPDATE journals SET holder = NULL")
                return False
            await database.execute("UPDATE journals SET holder = NULL")
            return True

    async def play() -> list[bool]:
        runs = ((held, None), (held, 90.0), (held, None), (other, None), (held, 5.0))
        return [await taken(tournament, lease) for tournament, lease in runs]

    assert asyncio.run(play()) == [True, False, False, True, True]
