"""Measures a public site: time to the first byte and to the beginning of a debate, memory, many debates, many viewers.

Run it with `python tests/benchmarks/web.py`, which takes about 2 minutes. The models are `messages_server`, as a
process of its own that writes about 100 characters a second; the site is another one, and the viewers are in this one.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from overhead import line, table
from overhead import server as models
from public_server import Served, ask, events, served_public, start, watch

_MODEL = "anthropic:claude-haiku-4-5"
_SEATS = dict.fromkeys(("a", "b", "judge"), _MODEL)
SITE: dict[str, Any] = {
    "offers": {"one": {"about": "x", "cast": _SEATS, "max_cost": 5.0, "rounds": 2, "issues": False, "brief": False}},
    "max_cost": 100_000,
    "debates_per_visitor": 1_000,
    "concurrency": 60,
}


@contextmanager
def site(between: float) -> Iterator[Served]:
    """A site whose models write a piece of an answer after so many seconds each."""
    with (
        models(0, 0, 0, 0, between, 10),
        tempfile.TemporaryDirectory() as folder,
        served_public(Path(folder), SITE, ANTHROPIC_API_KEY="sk-of-a-benchmark") as served,
    ):
        yield served


def visitor(number: int) -> str:
    return f"10.{number // 62_500}.{number // 250 % 250}.{number % 250}"


async def first_bytes(server: Served, path: str, times: int) -> float:
    """The median time to the first byte of a page, in milliseconds."""
    answers = [await ask(server.port, path, visitor=visitor(n)) for n in range(times)]
    assert all(answer.status == 200 for answer in answers)
    return 1000 * statistics.median(answer.seconds for answer in answers)


async def beginning(server: Served, number: int) -> float:
    """Seconds from sending the form until a viewer sees that the debate runs."""
    began = time.perf_counter()
    path = await start(server.port, f"Should we measure number {number}?", visitor(number), rounds="1")
    while True:
        async for kind, _ in events(server.port, path, visitor(number)):
            if kind in ("page", "block"):
                return time.perf_counter() - began


async def quiet(server: Served) -> None:
    """Pages and the beginning of a debate where nothing else happens."""
    path = await start(server.port, "Should we measure?", rounds="1")
    await watch(server.port, path)
    for name, page in (("front page", "/"), ("a finished debate", path), ("its report", f"{path}/report")):
        line(f"first byte, {name}", f"{await first_bytes(server, page, 60):.1f} ms")
    seconds = [await beginning(server, number) for number in range(15)]
    line("the debate is seen to run after the form is sent", f"{1000 * statistics.median(seconds):.0f} ms")


async def busy(server: Served) -> None:
    """50 live debates with 4 viewers each: memory, and what a visitor beside them waits for."""
    before = server.megabytes
    paths = [await start(server.port, f"Should we run number {n}?", visitor(n), rounds="2") for n in range(50)]
    watching = [
        asyncio.create_task(watch(server.port, path, visitor(1_000 + 4 * n + k)))
        for n, path in enumerate(paths)
        for k in range(4)
    ]
    await asyncio.sleep(10)
    cpu, began = server.cpu_seconds, time.monotonic()
    page = await first_bytes(server, "/", 40)
    seconds = await beginning(server, 9_999)
    await asyncio.sleep(5)
    share = (server.cpu_seconds - cpu) / (time.monotonic() - began)
    assert not any(task.done() for task in watching)
    line("memory before", f"{before:.0f} MB")
    line("memory, 50 live debates with 4 viewers each", f"{server.megabytes:.0f} MB")
    line("one core's share meanwhile", f"{share:.0%}")
    line("first byte of the front page meanwhile", f"{page:.1f} ms")
    line("a debate is seen to run meanwhile", f"{1000 * seconds:.0f} ms")
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)


async def watched(server: Served, viewers: int) -> tuple[float, float]:
    """Seconds that a debate takes with so many viewers, and the processor's seconds in the site."""
    cpu, began = server.cpu_seconds, time.monotonic()
    path = await start(server.port, f"Should we have {viewers} viewers?", rounds="1")
    await asyncio.gather(*(watch(server.port, path, visitor(n)) for n in range(viewers)))
    return time.monotonic() - began, server.cpu_seconds - cpu


async def crowded(server: Served) -> None:
    """One debate that 200 people watch, beside one with a single viewer."""
    await watched(server, 1)
    alone = [await watched(server, 1) for _ in range(3)]
    many = [await watched(server, 200) for _ in range(3)]
    for name, figures in (("1 viewer", alone), ("200 viewers", many)):
        took, cpu = (statistics.median(column) for column in zip(*figures, strict=True))
        line(f"a debate of one round, {name}", f"{took:.1f} s, of which {cpu:.1f} s are work")
    ratio = statistics.median(took for took, _ in many) / statistics.median(took for took, _ in alone)
    line("200 viewers against 1", f"{ratio:.2f} times as long")


def main() -> None:
    os.environ.pop("DEBATE_COMMAND_ENV", None)
    table("what", "figure")
    for between, measure in ((0.1, quiet), (0.1, busy), (0.02, crowded)):
        with site(between) as server:
            asyncio.run(measure(server))


if __name__ == "__main__":
    main()
