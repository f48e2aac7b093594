"""Measures what one PostgreSQL carries: appends to journals, calls admitted, and whole debates, by several workers.

Run it with `python tests/benchmarks/cluster.py appends=4x100 calls=4x50 debates=4x300`: so many processes, and so many
debates at the same time in each (for `debates`, so many debates in all, 50 at the same time in each process). The
database is one of its own in a temporary folder, and waits for its disk. Each append is one answer of 4,000 characters
and returns when it is committed; `lines=4x100` leaves out the worker's own work on them. `calls` are admitted under one
limit, and end at once. Debates are of one round with
one judge, and the models are `messages_server`, which answers at once.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import contests
from overhead import line, server, table
from postgres import Postgres, binaries, running

from debate_orchestrator.core.events import CallFailed
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.tournament.cluster.database import opened
from debate_orchestrator.tournament.cluster.folder_sync import FolderSync
from debate_orchestrator.tournament.cluster.journals import DatabaseJournal, DatabaseJournals, Line
from debate_orchestrator.tournament.cluster.limits import SharedLimiters
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.limits import Admission

SECONDS = 10.0
"""How long appends and calls are counted."""


async def appends(url: str, tournament: Tournament, debates: list[str]) -> int:
    """How many answers one process writes to its debates at the same time."""
    async with opened(url, print) as database:
        sync = FolderSync(database, tournament)
        store = DatabaseJournals(database, sync.id, await database.app.job_manager.register_worker())
        by_id = {debate.id: debate for debate in tournament.schedule}
        reply = Reply(text="word " * 800, brief_digest="0" * 64, by=contests.OPUS, called=True)
        event = CallFailed(turn="1.opening.a", by=contests.OPUS, problem="none", reply=reply)
        begun = asyncio.Barrier(len(debates))

        async def one(debate: str) -> int:
            count = 0
            async with store.open(debate, lambda: tournament.make_opened(by_id[debate])) as journal:
                await begun.wait()
                end = time.monotonic() + SECONDS
                while time.monotonic() < end:
                    journal.append(event)
                    await journal.synced()
                    count += 1
            return count

        return sum(await asyncio.gather(*map(one, debates)))


async def lines(url: str, tournament: Tournament, debates: list[str]) -> int:
    """How many lines one process writes at the same time that are ready to be written: what the database adds."""
    async with opened(url, print) as database:
        sync = FolderSync(database, tournament)
        store = DatabaseJournals(database, sync.id, await database.app.job_manager.register_worker())
        journals = [DatabaseJournal(store, debate, *(await store.take(debate))[:2]) for debate in debates]
        text, end = b"x" * 4_500 + b"\n", time.monotonic() + SECONDS

        async def one(journal: DatabaseJournal) -> int:
            n = 0
            while time.monotonic() < end:
                n += 1
                store.wait_for_writing(Line(journal, n, text))
                await store.write(journal, n)
            return n

        return sum(await asyncio.gather(*map(one, journals)))


async def calls(url: str, tournament: Tournament, debates: list[str]) -> int:
    """How many calls of one model are admitted in one process, with so many debates that wait."""
    async with opened(url, print) as database:
        sync = FolderSync(database, tournament)
        worker = await database.app.job_manager.register_worker()
        limiters = SharedLimiters(tournament.spec, database, sync.id, worker, Counter())
        gate, stop, end = limiters.gate(contests.OPUS), asyncio.Event(), time.monotonic() + SECONDS

        async def one(debate: str) -> int:
            count, call = 0, Admission(1_000, 500, 0.01)
            while time.monotonic() < end:
                await gate.acquire(call, debate, stop)
                await asyncio.sleep(0)
                gate.ended(call, None, 0.005, failed=False)
                count += 1
            return count

        done = sum(await asyncio.gather(*map(one, debates)))
        await limiters.close()
        return done


def _in_process(what: str, url: str, tournament: Tournament, debates: list[str]) -> int:
    return asyncio.run({"appends": appends, "lines": lines, "calls": calls}[what](url, tournament, debates))


def rate(what: str, postgres: Postgres, processes: int, each: int) -> None:
    """One row: so many a second."""
    with tempfile.TemporaryDirectory() as folder:
        tournament = contests.tournament(f"{folder}/t", topics=-(-processes * each // 6), rehearse=False)
        url = postgres.url(postgres.database())
        asyncio.run(_brought(url, tournament))
        names = [debate.id for debate in tournament.schedule]
        shares = [(what, url, tournament, names[n * each : (n + 1) * each]) for n in range(processes)]
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            done = sum(pool.starmap(_in_process, shares))
    line(f"{what}, {processes} processes x {each} debates", f"{done / SECONDS:,.0f} a second")


async def _brought(url: str, tournament: Tournament) -> None:
    async with opened(url, print) as database:
        await FolderSync(database, tournament).upload(contests.runner(tournament).statuses, retry_failed=False)


def debates(postgres: Postgres, processes: int, count: int) -> None:
    """One row: debates a minute, from the first that is taken to the last that is complete."""
    url = postgres.url(postgres.database())
    command = [sys.executable, "-m", "debate_orchestrator"]
    with server(0, 0), tempfile.TemporaryDirectory() as folder:
        judges = {"from": contests.JUDGES, "panel": 1}
        changes = {"rehearse": False, "format": "adversarial", "judges": judges}
        tournament = contests.tournament(f"{folder}/t", topics=-(-count // 6), **changes)
        workers = [subprocess.Popen([*command, "worker", url, "--quiet"], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for _ in range(processes)]  # fmt: skip
        time.sleep(5)
        began = time.perf_counter()
        run = [*command, "tournament", "resume", tournament.folder, "--cluster", url, "--no-reports", "--quiet"]
        subprocess.run(run, check=True)
        took = time.perf_counter() - began
        for worker in workers:
            worker.terminate()
            worker.wait()
    total = len(tournament.schedule)
    line(f"debates, {processes} workers, {total} debates", f"{total / took * 60:,.0f} a minute")


def main(*wanted: str) -> None:
    os.environ["ANTHROPIC_API_KEY"] = "sk-of-a-benchmark"
    programs = binaries()
    assert programs is not None, "PostgreSQL (initdb, pg_ctl) is not installed"
    table("what", "rate")
    with running(programs, durable=True) as postgres:
        for one in wanted or (
            "appends=1x100",
            "appends=4x100",
            "calls=1x50",
            "calls=4x50",
            "debates=1x120",
            "debates=2x120",
        ):
            what, _, how = one.partition("=")
            processes, _, each = how.partition("x")
            if what == "debates":
                debates(postgres, int(processes), int(each))
            else:
                rate(what, postgres, int(processes), int(each))


if __name__ == "__main__":
    main(*sys.argv[1:])
