"""Measures what a killed process costs a tournament: on one machine, and with three workers and PostgreSQL.

Run it with `python tests/benchmarks/kills.py machine=12 workers=12`: so many processes are killed (SIGKILL) in one
tournament, a while after they make calls, each followed by another one. Models are `messages_server`, whose answers
take a second. Counted for each kill: the calls that the journals of the killed process named as asked and not answered
then, and those of them that were made again. In the end every debate must be complete, its journal verified.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import contests
from messages_server import Server, serving
from postgres import Postgres, binaries, running

from debate_orchestrator.core.events import BriefSent, CallFailed, Event, Rejected, Spoke, StructuredReplyGiven
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import parse
from debate_orchestrator.util.data import to_yaml

TOPICS, FIRST, WHOLE = 20, 0.3, 1.0
"""Topics of six debates each; seconds until the server's answers begin and end."""
AT_ONCE, WORKERS = 24, 3
Calls = set[tuple[str, int]]
"""Calls by their debate and the number of their `BriefSent` in its journal."""


def unanswered(events: list[Event], debate: str) -> Calls:
    """The calls of a debate whose `BriefSent` is followed by no result."""
    open_calls: dict[str, list[int]] = {}
    for n, event in enumerate(events):
        if isinstance(event, BriefSent):
            open_calls.setdefault(event.turn, []).append(n)
        elif isinstance(event, Spoke | StructuredReplyGiven | Rejected | CallFailed):
            open_calls[event.turn].pop()
    return {(debate, n) for numbers in open_calls.values() for n in numbers}


def of_all(journals: Mapping[str, list[Event]]) -> Calls:
    return {call for debate, events in journals.items() for call in unanswered(events, debate)}


def in_folder() -> dict[str, list[Event]]:
    """The journals of the tournament's folder, verified."""
    found = Path("out", "debates").glob("*.journal.jsonl")
    suffix = ".journal.jsonl"
    return {path.name.removesuffix(suffix): read(path).events for path in found if b"\n" in path.read_bytes()}


def start(*words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "debate_orchestrator", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait(until: Callable[[], bool]) -> None:
    while not until():
        time.sleep(0.02)


@contextmanager
def tournament() -> Iterator[Server]:
    """A server for models, and the spec of a tournament in an empty working directory."""
    with serving(Server(FIRST, WHOLE)) as server, tempfile.TemporaryDirectory() as folder:
        server.say = contests.replied
        os.environ |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-of-a-benchmark"}
        os.chdir(folder)
        Path("spec.yaml").write_text(to_yaml(contests.given(TOPICS)), encoding="utf-8")
        yield server
        os.chdir("/")


def _asked_or_ended(run: subprocess.Popen[bytes], server: Server, requests: int) -> bool:
    return len(server.requests) > requests or run.poll() is not None


def machine(count: int, chance: random.Random) -> None:
    """Kills a run on one machine so many times; each is resumed."""
    with tournament() as server:
        kills: list[Calls] = []
        flags = ("--no-reports", "--quiet", "--at-once", str(AT_ONCE))
        for n in range(count):
            enough = len(server.requests) + AT_ONCE // 2
            words = ("resume", "out") if n else ("run", "spec.yaml", "--to", "out")
            run = start("tournament", *words, *flags)
            wait(partial(_asked_or_ended, run, server, enough))
            time.sleep(chance.uniform(0.5, 2.5))
            assert run.poll() is None, "the tournament has ended before so many kills"
            run.kill()
            run.wait()
            kills.append(of_all(in_folder()).difference(*kills))
        assert start("tournament", "resume", "out", *flags).wait() == 0
        tell("one machine", kills, server)


def workers(count: int, chance: random.Random) -> None:
    """Kills one of three workers so many times; another takes its place."""
    programs = binaries()
    assert programs is not None, "PostgreSQL is not installed"
    with running(programs) as postgres, tournament() as server:
        name = postgres.database()
        url = postgres.url(name)
        flags = ("--no-reports", "--quiet", "--lease", "5")
        run = start("tournament", "run", "spec.yaml", "--to", "out", "--cluster", url, *flags)
        wait(lambda: queued(postgres, name))
        alive = [worker(postgres, name, url) for _ in range(WORKERS)]
        kills: list[Calls] = []
        for _ in range(count):
            time.sleep(chance.uniform(0.5, 2.5))
            id, process = alive.pop(chance.randrange(WORKERS))
            process.kill()
            process.wait()
            kills.append(in_database(postgres, name, id).difference(*kills))
            alive.append(worker(postgres, name, url))
        assert run.wait() == 0
        for _, process in alive:
            process.kill()
            process.wait()
        tell("three workers", kills, server)


def queued(postgres: Postgres, name: str) -> bool:
    found = postgres.query(name, "SELECT to_regclass('procrastinate_jobs')")
    return found != [(None,)] and bool(postgres.query(name, "SELECT id FROM procrastinate_jobs LIMIT 1"))


def worker(postgres: Postgres, name: str, url: str) -> tuple[int, subprocess.Popen[bytes]]:
    """A worker that makes calls, and its number in the database."""
    query = "SELECT holder FROM journals WHERE holder IS NOT NULL"
    before = set(postgres.query(name, query))
    process = start("worker", url, "--quiet", "--at-once", str(AT_ONCE // WORKERS))
    wait(lambda: bool(set(postgres.query(name, query)) - before))
    (((number,)), *_) = sorted(set(postgres.query(name, query)) - before, reverse=True)
    return number, process


def in_database(postgres: Postgres, name: str, worker: int) -> Calls:
    """The calls that are not answered in the journals of a worker, which are verified."""
    query = f"""SELECT debate, string_agg(line, '' ORDER BY n) FROM journals JOIN lines
        ON lines.journal = journals.id WHERE holder = {worker} GROUP BY debate"""
    rows = postgres.query(name, query)
    return of_all({debate: parse(debate, bytes(data)).events for debate, data in rows})


def tell(where: str, kills: list[Calls], server: Server) -> None:
    """The figures; `kills` are the calls that were under way in each process that was killed."""
    journals = in_folder()
    lost = of_all(journals)
    repeated = [len(calls & lost) for calls in kills]
    answered = sum(isinstance(event, Spoke | StructuredReplyGiven) for events in journals.values() for event in events)
    asked = sum(isinstance(event, BriefSent) for events in journals.values() for event in events)
    flying = [len(calls) for calls in kills]
    assert len(journals) == TOPICS * 6 and answered == TOPICS * 6 * 8, "not every debate is complete"
    print(
        f"{where}: {len(kills)} kills; {answered:,} answers, {asked:,} calls asked, {len(server.requests):,} requests"
    )
    print(f"  in flight for each kill: mean {statistics.mean(flying):.1f}, most {max(flying)}")
    print(f"  repeated for each kill: mean {statistics.mean(repeated):.1f}, most {max(repeated)}")
    print(f"  repeated without having been in flight at a kill: {len(lost.difference(*kills))}")


KINDS = {"machine": machine, "workers": workers}


def main(*wanted: str) -> None:
    for word in wanted or ("machine=12", "workers=12"):
        kind, _, count = word.partition("=")
        KINDS[kind](int(count), random.Random(1))


if __name__ == "__main__":
    main(*sys.argv[1:])
