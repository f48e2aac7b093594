"""Measures what crashes cost: `debate run` is killed at moments drawn by chance, and resumed until it is done.

Run it with `python tests/benchmarks/crashes.py [kills] [kills in one debate] [seed]`; it takes some three seconds a
kill. Debates of 3 rounds and 3 judges run through the real command line, two at a time, against `messages_server`.
A process is killed (SIGKILL) between its start and well after its first calls; the last one of each debate is
left alone. Counted for each kill: the requests that the process made and whose answers are not in the journal (they
were paid for and are made again), and the calls that the journal names as asked for and not answered. In the end each
journal is verified and its report compared with that of an undisturbed debate, up to what any two debates
differ in: date, nonce, file names and costs.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from debate_orchestrator.core.fold import fold

sys.path.insert(0, str(Path(__file__).parent.parent))

from messages_server import Server, serving

from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import DebateError

FIRST, WHOLE = 0.1, 0.25
"""Seconds until the server's answers begin and end."""
SETUP = (
    "--topic=T",
    "--position-a=It is so.",
    "--position-b=It is not so.",
    "--no-issues",
    "--no-brief",
    "--rounds=3",
    "--output=r.md",
    "--quiet",
)
SEATS = ("--a=anthropic:m", "--b=anthropic:m", *("--judge=anthropic:m",) * 3)
START = 2.0
"""Seconds before which a process is rarely killed, since it has only begun to load its libraries."""


COSTS_OR_CHECKSUM = re.compile(r"^\|.*\| (unknown|\*{0,2}\$[\d.]+\*{0,2}) \|$|^\*(Prices are|Made by) ")
"""Rows of a report that differ where calls were repeated."""


class Kill(NamedTuple):
    """What one kill left."""

    lost: int
    """Requests made by the process whose answers are not in the journal."""
    named: int
    """Calls of the process that the journal names as asked and not answered."""
    torn: int
    """Bytes of a line that was being written."""


class Played(NamedTuple):
    """One debate that was killed now and then."""

    kills: list[Kill]
    requests: int
    turns: int
    whole: bool
    """Whether the journal verifies, is complete, and tells what the undisturbed one told."""


class Record(NamedTuple):
    """What a journal says."""

    answers: int
    asked: int
    """Each `BriefSent`, of all processes so far."""
    torn: int
    complete: bool


def record(journal: Path) -> Record:
    """The record so far; DebateError where the journal does not verify."""
    if not begun(journal):
        return Record(0, 0, 0, complete=False)
    reading = read(journal)
    debate = fold(reading.events)
    return Record(len(debate.replies), sum(map(len, debate.briefs_sent.values())), reading.torn, debate.complete)


def begun(journal: Path) -> bool:
    """Whether a journal has a whole line."""
    return journal.exists() and b"\n" in journal.read_bytes()


def play(folder: Path, kills: int, chance: random.Random) -> Played:
    """One debate, killed so many times or until it is done before."""
    done: list[Kill] = []
    journal = folder / "r.journal.jsonl"
    with serving(Server(FIRST, WHOLE)) as server:
        environment = {**os.environ, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-of-a-benchmark"}
        while True:
            before, requests = record(journal), len(server.requests)
            verb = ["resume", journal.name, "--quiet"] if begun(journal) else ["run", *SETUP, *SEATS]
            process = subprocess.Popen(
                [sys.executable, "-m", "debate_orchestrator", *verb],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            if len(done) < kills and killed(process, server, chance):
                time.sleep(0.05)  # what was on its way to the server arrives
                now = record(journal)
                gained = now.answers - before.answers
                lost = len(server.requests) - requests - gained
                done.append(Kill(lost, now.asked - before.asked - gained, now.torn))
            elif process.wait() == 0:
                now = record(journal)
                return Played(done, len(server.requests), now.answers, now.complete)


def killed(process: subprocess.Popen[bytes], server: Server, chance: random.Random) -> bool:
    """Kills a process: every fifth time while it starts, else a while after its first request. False where it
    was done before that."""
    before = len(server.requests)
    if chance.random() < 0.2:
        time.sleep(chance.uniform(0, START))
    else:
        while process.poll() is None and len(server.requests) == before:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 5 * WHOLE))
    process.kill()
    return process.wait() != 0


def told(folder: Path) -> str:
    """The report, without what differs between any two debates."""
    text = (folder / "r.md").read_text(encoding="utf-8")
    nonce = fold(read(folder / "r.journal.jsonl").events).opened.nonce
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]?[\d:.]*Z?( UTC)?", "DATE", text.replace(nonce, "NONCE"))
    return "\n".join(row for row in text.split("\n") if not COSTS_OR_CHECKSUM.search(row))


def one(n: int, kills: int, seed: int, root: Path) -> Played:
    """The n-th debate; the report of the first, which is not killed, is what the others are compared with."""
    folder = root / str(n)
    folder.mkdir()
    played = play(folder, kills, random.Random(f"{seed} {n}"))
    try:
        same = n == 0 or told(folder) == told(root / "0")
    except DebateError:
        same = False
    return played._replace(whole=played.whole and same)


def main(kills: str = "200", each: str = "10", seed: str = "1") -> None:
    with tempfile.TemporaryDirectory() as name:
        root, begun = Path(name), time.monotonic()
        undisturbed = one(0, 0, 0, root)
        assert undisturbed.requests == undisturbed.turns, "an undisturbed debate asks for nothing twice"
        with ThreadPoolExecutor(2) as pool:
            jobs, left, n = [], int(kills), 0
            while left > 0:
                n += 1
                jobs.append(pool.submit(one, n, min(left, int(each)), int(seed), root))
                left -= int(each)
            played = [job.result() for job in jobs]
    tell(played, time.monotonic() - begun)


def tell(played: list[Played], seconds: float) -> None:
    """The figures."""
    kills = [kill for debate in played for kill in debate.kills]
    needed, made = sum(debate.turns for debate in played), sum(debate.requests for debate in played)
    lost = [kill.lost for kill in kills]
    named = [kill.named for kill in kills]
    rows = {
        "kills, in so many debates, in so many seconds": f"{len(kills)}, {len(played)}, {seconds:.0f}",
        "debates complete, verified, and with the report of an undisturbed one": f"{sum(one.whole for one in played)}",
        "calls needed, calls made": f"{needed}, {made}",
        "calls repeated for each kill: mean, most": f"{statistics.mean(lost):.2f}, {max(lost)}",
        "calls that the journal names as in flight: mean, most": f"{statistics.mean(named):.2f}, {max(named)}",
        "kills after which more was repeated than was named": f"{sum(one.lost > one.named for one in kills)}",
        "kills that hit a line being written": f"{sum(one.torn > 0 for one in kills)}",
        "kills with nothing in flight": f"{named.count(0)}",
    }
    print("| what | figure |\n| --- | --- |")
    for what, figure in rows.items():
        print(f"| {what} | {figure} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
