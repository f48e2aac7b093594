"""Measures a tournament against a server that answers in a fixed time: share of the ceiling, CPU, memory.

Run it with `python tests/benchmarks/tournaments.py 300@10 300@1 1000@10`: so many debates at once, and after how many
seconds models answer. The models are `messages_server`, as a process of its own. The ceiling is the time that
the stages of a debate take one after the other, since all debates run at once; `limited=N` measures instead against a
limit of N requests a minute, which a provider would set. The plain loop sends the requests of one such debate with the
same client, as often, and only adds up the answers.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

import small_tournaments
from overhead import body, client, line, plainly, server, table, timed

from debate_orchestrator.cli import GC_THRESHOLDS
from debate_orchestrator.core.events import BriefSent, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import spec_in
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.storage.journal import read
from debate_orchestrator.tournament.folder import Tournament


def held(folder: str, debates: int, **changes: object) -> Tournament:
    """A tournament of so many debates of one round with one judge, or a few more."""
    judges = {"from": small_tournaments.JUDGES, "panel": 1}
    spec = {"rehearse": False, "format": "adversarial", "judges": judges, **changes}
    return small_tournaments.tournament(folder, topics=-(-debates // 6), **spec)


def stages(tournament: Tournament) -> list[list[dict[str, object]]]:
    """The requests of the first debate, stage by stage."""
    events = read(tournament.journal_path(tournament.schedule[0].id)).events
    answers = {event.turn_id: event for event in events if isinstance(event, Spoke | StructuredReplyGiven)}
    state, found = fold(events[:1]), []
    while state.due:
        found.append([body(brief(state, turn), spec_in(state, turn.seat)) for turn in state.due])
        for turn in state.due:
            state = fold([*events[:1], *list(answers.values())[: list(answers).index(turn.id) + 1]])
    return found


def measure(how: str) -> None:
    """Rows for a tournament and for the plain loop, one after another against the same server."""
    debates, _, seconds = how.partition("@")
    count, whole = int(debates), float(seconds)
    with server(min(0.2, whole), whole), tempfile.TemporaryDirectory() as folder:
        tournament = held(f"{folder}/t", count)
        count = len(tournament.schedule)
        began, busy = time.perf_counter(), time.process_time()
        run = small_tournaments.run_tournament(tournament, concurrency=count)
        ours = Cost(time.perf_counter() - began, time.process_time() - busy, megabytes())
        assert set(small_tournaments.statuses(run)) == {"complete"}, small_tournaments.statuses(run)
        requests = stages(tournament)
        costs = {"tournament": ours, "plain loop": child([sys.executable, __file__, f"plain={count}"], requests)}
    ceiling, calls = len(requests) * whole, count * sum(map(len, requests))
    for who, cost in costs.items():
        cells = [f"{count} at once, {seconds} s", who, f"{cost.took:.1f} s", f"{ceiling / cost.took:.0%}"]
        line(
            *cells,
            f"{costs['plain loop'].took / cost.took:.2f}",
            f"{cost.busy / calls * 1000:.1f} ms",
            f"{cost.mb:.0f}",
        )


class Cost(NamedTuple):
    """Seconds, seconds of CPU, and megabytes that a process had at most."""

    took: float
    busy: float
    mb: float


def megabytes() -> float:
    """The most that this process had. What `getrusage` says of it begins with the parent's."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) / 1000


def child(command: list[str], requests: list[list[dict[str, object]]]) -> Cost:
    """What a process prints that is given the requests of one debate."""
    ran = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return Cost(**json.loads(ran.stdout.splitlines()[-1]))


def plain(debates: str) -> None:
    """Prints what the plain loop takes for so many debates."""
    requests = json.load(sys.stdin)

    async def loop() -> None:
        async with client() as connected:
            await asyncio.gather(*(plainly(requests, connected) for _ in range(int(debates))))

    took, busy = timed(loop)
    print(json.dumps(Cost(took, busy, megabytes())._asdict()))


def limited(per_minute: str) -> None:
    """How much of a provider's limit a tournament uses, and how many of its calls are refused."""
    count = int(per_minute)
    with server(0.2, 1.0), tempfile.TemporaryDirectory() as folder:
        limits = {"anthropic": {"requests": count}}
        tournament = held(f"{folder}/t", 120, limits=limits)
        began = time.perf_counter()
        run = small_tournaments.run_tournament(tournament, concurrency=120)
        took = time.perf_counter() - began
        calls = sum(isinstance(event, BriefSent) for one in tournament.schedule
                    for event in read(tournament.journal_path(one.id)).events)  # fmt: skip
    print(f"{calls} calls at {count} a minute: {calls / took * 60 / count:.1%} of the limit, "
          f"{run.limiters.throttled} refused")  # fmt: skip


def main(*wanted: str) -> None:
    os.environ["ANTHROPIC_API_KEY"] = "sk-of-a-benchmark"
    gc.set_threshold(*GC_THRESHOLDS)  # as `debate` sets it
    if len(wanted) == 1:
        kind, _, how = wanted[0].partition("=")
        {"limited": limited, "plain": plain}.get(kind, measure)(how or kind)
        return
    table("debates", "with", "took", "of the ceiling", "of the plain loop", "CPU a call", "MB")
    for one in wanted or ("300@10", "300@1", "1000@10"):
        subprocess.run([sys.executable, __file__, one], check=True)  # each with a memory of its own


if __name__ == "__main__":
    main(*sys.argv[1:])
