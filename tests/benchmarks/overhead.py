"""Measures what the engine adds to models that answer in a fixed time: wall clock, work, memory, rate, and faults.

Run it with `python tests/benchmarks/overhead.py clock work many=300@1 many=300@10 faults=100`, or with some of these:
so many debates at once, and after how many seconds models answer. The models are `messages_server`, as a process
of its own. Debates go through the vendor's SDK, each with a journal of its own in a temporary folder. Read the
ratios: to the critical path (the stages one after the other), to the strict order (the calls one after the other),
and to a plain loop that sends the same requests with the same client and only adds up the answers. For `faults`,
debates are driven while a share of the requests fails in every way the server knows.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

import anthropic
from caching import CASTS, opened
from messages_server import answer
from reply_codes import coded
from speakers import take_turns

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import CallFailed, Opened, Spoke, StructuredReplyGiven
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.prompting import reply_code
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.prompting.reply_code import code_for
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.providers.anthropic import options_of, request
from debate_orchestrator.providers.options import UnsupportedOptions
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.errors import ExternalError

SERVER = str(Path(__file__).parent.parent / "messages_server.py")
CAST = CASTS["two models"]
Request = dict[str, Any]


class Counts(NamedTuple):
    """What the server counted, once it has ended."""

    requests: int
    answered: int


@contextmanager
def server(*arguments: float) -> Iterator[list[Counts]]:
    """A server as a process of its own, in the vendor's place; once it has ended, the list has its counts."""
    counts: list[Counts] = []
    command = [sys.executable, SERVER, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        os.environ["ANTHROPIC_BASE_URL"] = process.stdout.readline().strip()
        try:
            yield counts
        finally:
            process.stdin.close()
            counts.append(Counts(**json.loads(process.stdout.readline())))


def first(rounds: int, panel: int, *, leader_first: bool = False) -> Opened:
    return opened(CAST, rounds, panel, leader_first=leader_first)


async def debated(path: str, begun: Opened) -> DebateState:
    """One debate, driven to its end, or as far as it goes."""
    with await asyncio.to_thread(JournalWriter.create, path, begun) as journal:
        return await _driven(journal, fold([begun]))


async def _driven(journal: JournalWriter, debate: DebateState) -> DebateState:
    current = CurrentState(debate)
    try:
        await take_turns(journal, current, cast_providers.make_providers(current))
    except ExternalError:
        pass
    return current.state


def timed(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Seconds that work took, and seconds of this process's own time."""

    async def run() -> tuple[float, float]:
        begun, busy = time.perf_counter(), time.process_time()
        await work()
        return time.perf_counter() - begun, time.process_time() - busy

    return asyncio.run(run())


def stages_of(begun: Opened, folder: str) -> list[list[Request]]:
    """The requests of a debate, stage by stage, from the journal of one that was driven."""
    path = Path(folder) / "model"
    asyncio.run(debated(str(path), begun))
    events = read(path).events
    path.unlink()
    answers = {event.turn_id: event for event in events if isinstance(event, Spoke | StructuredReplyGiven)}
    debate, stages = fold([begun]), []
    while due := debate.due:
        stages.append([body(brief(debate, turn), spec_in(debate, turn.seat)) for turn in due])
        for turn in due:
            debate = apply(debate, answers[turn.id])
    return stages


async def plainly(stages: list[list[Request]], client: anthropic.AsyncAnthropic) -> None:
    """The plain loop: the same requests, with nothing kept but the text."""

    async def ask(asked: Request) -> str:
        text = []
        async for event in await client.messages.create(**asked, stream=True):
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                text.append(event.delta.text)
        return "".join(text)

    for stage in stages:
        await asyncio.gather(*map(ask, stage))


def client() -> anthropic.AsyncAnthropic:
    limit = anthropic.Timeout(None, connect=15.0)
    http = anthropic.DefaultAioHttpClient(timeout=limit)
    return anthropic.AsyncAnthropic(max_retries=0, timeout=limit, http_client=http)


def clock(_: str = "") -> None:
    """The wall clock of debates of 3 rounds, beside the critical path and the strict order of the calls."""
    begins, whole = 0.2, 1.0
    table("3 rounds, answers after 1 s", "seconds", "by the critical path", "by the strict order")
    with server(begins, whole), tempfile.TemporaryDirectory() as folder:
        for panel in (1, 3):
            for leader in (False, True):
                begun = first(3, panel, leader_first=leader)
                stages = stages_of(begun, folder)
                took, _busy = timed(partial(debated, f"{folder}/{panel}{leader}", begun))
                path = len(stages) * whole + leader * begins * sum(len(stage) > 1 for stage in stages)
                calls = sum(map(len, stages))
                name = f"judges: {panel}{', leader_first' * leader}; calls: {calls}, stages: {len(stages)}"
                line(name, f"{took:.2f}", f"{took / path:.4f}", f"{took / (calls * whole):.3f}")


def work(_: str = "") -> None:
    """What a call takes where models answer at once: in the plain loop, and in a debate."""
    with server(0, 0), tempfile.TemporaryDirectory() as folder:
        begun = first(3, 1)
        stages = stages_of(begun, folder)
        calls, runs = sum(map(len, stages)), 9

        async def plain() -> None:
            async with client() as connected:
                await plainly(stages, connected)

        ran = {"plain loop": [timed(plain) for _ in range(runs)]}
        ran["debate"] = [timed(partial(debated, f"{folder}/{n}", begun)) for n in range(runs)]
    table(f"3 rounds, 1 judge, {calls} calls, answers at once", "ms a call", "of it this process's own")
    median: dict[str, list[float]] = {}
    for who, times in ran.items():
        median[who] = [statistics.median(column) / calls * 1000 for column in zip(*times, strict=True)]
        line(who, *(f"{milliseconds:.1f}" for milliseconds in median[who]))
    line("the engine's part", *(f"{ours - plain:.1f}" for plain, ours in zip(*median.values(), strict=True)))


def many(how: str) -> None:
    """So many debates of one round at once, beside the same calls in the plain loop, in turns: rate and memory."""
    debates, _, whole = how.partition("@")
    table(f"{debates} debates at once, 1 round, answers after {whole} s", "calls a second", "MB", "ms of CPU a call")
    rates: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(3):
        for who, rate in rates.items():
            found = json.loads(subprocess.check_output([sys.executable, __file__, f"_{who}={how}"], text=True))
            rate.append(found["rate"])
            line(who, f"{found['rate']:.1f}", f"{found['mb']:.0f}", f"{found['busy']:.1f}")
    ratio = statistics.median(rates["ours"]) / statistics.median(rates["plain"])
    line("ratio of the median rates", f"{ratio:.3f}", "", "")


def _crowd(how: str, *, ours: bool) -> None:
    """One measurement of `many`, as JSON."""
    debates, _, whole = how.partition("@")
    with server(0.2, float(whole)), tempfile.TemporaryDirectory() as folder:
        begun = first(1, 1)
        stages = stages_of(begun, folder)

        async def crowd() -> None:
            if ours:
                done = await asyncio.gather(*(debated(f"{folder}/{n}", begun) for n in range(int(debates))))
                assert all(debate.complete for debate in done)
            else:
                async with client() as connected:
                    await asyncio.gather(*(plainly(stages, connected) for _ in range(int(debates))))

        took, busy = timed(crowd)
    mb, calls = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, int(debates) * sum(map(len, stages))
    print(json.dumps({"rate": calls / took, "mb": mb, "busy": busy / calls * 1000}))


def faults(how: str) -> None:
    """Debates under injected faults: how many finish without a resume, at what cost, and how many results are wrong."""
    number, _, only = how.partition("@")
    debates = int(number)
    asked = "requests by those needed"
    table(
        f"{debates} debates of 2 rounds, faults in",
        "without a resume",
        "completed",
        asked,
        "silent wrong results",
        "broken",
    )
    for share in (float(only),) if only else (0.01, 0.05, 0.2):
        with tempfile.TemporaryDirectory() as folder:
            with server(0, 0.05, share, 7) as counts:
                begun = first(2, 1)
                unaided, needed, left, resumes = asyncio.run(_through(begun, debates, folder))
            journals = [read(f"{folder}/{n}").events for n in range(debates)]
        wrong = sum(_wrong(begun, events) for events in journals)
        broken = sum(isinstance(event, CallFailed) for events in journals for event in events)
        row = [f"{share:.0%} of requests", f"{unaided / debates:.1%}", f"{1 - left / debates:.1%} ({resumes} resumes)"]
        line(*row, f"{counts[0].requests / needed:.3f}", str(wrong), str(broken))


async def _through(begun: Opened, debates: int, folder: str) -> tuple[int, int, int, int]:
    """Debates driven until they are complete, resumed where they stop: how many were so at once, the calls that
    they need, how many never were, and the resumes."""
    done = await asyncio.gather(*(debated(f"{folder}/{n}", begun) for n in range(debates)))
    unaided, resumes = sum(debate.complete for debate in done), 0
    while resumes < 5 * debates and (stopped := [n for n, debate in enumerate(done) if not debate.complete]):
        resumes += len(stopped)
        for n in stopped:
            with JournalWriter(f"{folder}/{n}") as journal:
                done[n] = await _driven(journal, fold(journal.events))
    needed = max(len(schedule.turns_taken(debate)) for debate in done)
    return unaided, needed * debates, sum(not debate.complete for debate in done), resumes


def _wrong(begun: Opened, events: list[Any]) -> int:
    """Answers that count and are not what the server says when nothing is wrong."""
    debate, wrong = fold([begun]), 0
    for event in events[1:]:
        if isinstance(event, Spoke | StructuredReplyGiven):
            turn = schedule.turn(debate, event.turn_id)
            spec = spec_in(debate, turn.seat)
            asked = brief(debate, turn, code=code_for(debate, turn, spec, reply_code.secret))
            meant = coded(asked.messages[-1].parts[-1], answer(body(asked, spec)))
            wrong += event.reply.text != meant and event.reply.ended == "whole"
        debate = apply(debate, event)
    return wrong


def body(brief: Brief, spec: str) -> Request:
    """The request for a brief to a server that has refused nothing."""
    return UnsupportedOptions().request(request(brief, spec), options_of(brief, spec))


def table(*cells: str) -> None:
    line(*cells)
    line(*["---"] * len(cells))


def line(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


KINDS: dict[str, Callable[[str], None]] = {"clock": clock, "work": work, "many": many, "faults": faults}
KINDS |= {"_ours": lambda how: _crowd(how, ours=True), "_plain": lambda how: _crowd(how, ours=False)}


def main(*wanted: str) -> None:
    os.environ["ANTHROPIC_API_KEY"] = "sk-of-a-benchmark"
    for measurement in wanted or ("clock", "work", "many=300@1", "many=300@10", "faults=100"):
        kind, _, how = measurement.partition("=")
        KINDS[kind](how)


if __name__ == "__main__":
    main(*sys.argv[1:])
