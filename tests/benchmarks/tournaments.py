"""Measures a tournament against a server that answers in a fixed time: share of the ceiling, CPU, memory.

Run it with `python tests/benchmarks/tournaments.py 300@10 300@1 1000@10`: so many debates at once, and after how many
seconds models answer. The models are `messages_server`, as a process of its own. The ceiling is the time that
the stages of a debate take one after the other, since all debates run at once; `limited=N` measures instead against a
limit of N requests a minute, which a provider would set. The plain loop sends the requests of one such debate with the
same client, as often, and only adds up the answers.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import contests
from overhead import body, client, line, plainly, server, table

from debate_orchestrator.core.events import Asked, Spoke, Voted
from debate_orchestrator.core.fold import fold
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers.caching import filler
from debate_orchestrator.storage.journal import read
from debate_orchestrator.tournament.folder import Tournament


def held(folder: str, debates: int, **changes: object) -> Tournament:
    """A tournament of so many debates of one round with one judge, or a few more."""
    judges = {"from": contests.JUDGES, "panel": 1}
    spec = {"rehearse": False, "format": "adversarial", "judges": judges, **changes}
    return contests.tournament(folder, topics=-(-debates // 6), **spec)


def stages(tournament: Tournament) -> list[list[dict[str, object]]]:
    """The requests of the first debate, stage by stage."""
    events = read(tournament.journal(tournament.schedule[0])).events
    answers = {event.turn: event for event in events if isinstance(event, Spoke | Voted)}
    state, found = fold(events[:1]), []
    while state.due:
        found.append([body(brief(state, turn), filler(state, turn.seat)) for turn in state.due])
        for turn in state.due:
            state = fold([*events[:1], *list(answers.values())[: list(answers).index(turn.id) + 1]])
    return found


def measure(how: str) -> None:
    """One row: a tournament, then the plain loop."""
    debates, _, seconds = how.partition("@")
    count, whole = int(debates), float(seconds)
    with server(min(0.2, whole), whole), tempfile.TemporaryDirectory() as folder:
        tournament = held(f"{folder}/t", count)
        began, busy = time.perf_counter(), time.process_time()
        run = contests.ran(tournament, at_once=count)
        took, busy = time.perf_counter() - began, time.process_time() - busy
        assert set(contests.statuses(run)) == {"complete"}, contests.statuses(run)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        sizes = [sum(isinstance(event, Asked) for event in read(tournament.journal(one)).events) for one in
                 tournament.schedule]  # fmt: skip
        calls, requests = sum(sizes), stages(tournament)
        plain = asyncio.run(_plain(requests, len(sizes)))
    ceiling = len(requests) * whole
    cells = [f"{len(sizes)} at once, {seconds} s", f"{took:.1f} s", f"{ceiling / took:.0%}", f"{plain:.1f} s"]
    line(*cells, f"{plain / took:.2f}", f"{busy / calls * 1000:.1f} ms", f"{megabytes:.0f}")


async def _plain(requests: list[list[dict[str, object]]], debates: int) -> float:
    """Seconds that the plain loop takes."""
    began = time.perf_counter()
    async with client() as connected:
        await asyncio.gather(*(plainly(requests, connected) for _ in range(debates)))
    return time.perf_counter() - began


def limited(a_minute: str) -> None:
    """How much of a provider's limit a tournament uses, and how many of its calls are refused."""
    count = int(a_minute)
    with server(0.2, 1.0), tempfile.TemporaryDirectory() as folder:
        limits = {"anthropic": {"requests": count}}
        tournament = held(f"{folder}/t", 120, limits=limits)
        began = time.perf_counter()
        run = contests.ran(tournament, at_once=120)
        took = time.perf_counter() - began
        calls = sum(isinstance(event, Asked) for one in tournament.schedule
                    for event in read(tournament.journal(one)).events)  # fmt: skip
    print(f"{calls} calls at {count} a minute: {calls / took * 60 / count:.1%} of the limit, "
          f"{run.limiters.throttled} refused")  # fmt: skip


def main(*wanted: str) -> None:
    os.environ["ANTHROPIC_API_KEY"] = "sk-of-a-benchmark"
    if len(wanted) == 1:
        kind, _, how = wanted[0].partition("=")
        limited(how) if kind == "limited" else measure(wanted[0])
        return
    table("debates", "took", "of the ceiling", "plain loop", "ratio", "CPU a call", "MB")
    for one in wanted or ("300@10", "300@1", "1000@10"):
        subprocess.run([sys.executable, __file__, one], check=True)  # each with a memory of its own


if __name__ == "__main__":
    main(*sys.argv[1:])
