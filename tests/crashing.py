"""Debates run by the real command line and killed at moments drawn by chance, until they are done."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import NamedTuple

from conftest import STATED
from started import started

from debate_orchestrator.core.events import Answer, Asked, CallFailed
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import DebateError

BEGIN = (
    "run",
    "--output=r.md",
    *STATED,
    "--rounds=2",
    "--judge=anthropic:m",
    "--judge=anthropic:n",
    "--a=anthropic:m",
    "--b=anthropic:m",
)
J = "r.journal.jsonl"


class Crashed(NamedTuple):
    """What one debate went through."""

    kills: int
    in_flight: int
    """Calls that were under way at its crashes, summed."""
    again: int
    """Turns that were asked for more often than once."""
    code: int


def run(folder: Path, *arguments: str, seconds: float | None = None) -> int | None:
    """Runs a command; kills it after so many seconds. Its exit code, or None if killed."""
    with started(*arguments, "--quiet", folder=folder) as process:
        if seconds is None:
            return process.end().code
        time.sleep(seconds)
        process.kill()
        code = process.end().code
        return None if code == -signal.SIGKILL else code


def flying(journal: Path) -> int:
    """How many calls a journal leaves under way: intents with no answer and no end after them."""
    waiting: set[str] = set()
    try:
        events = read(journal).events
    except DebateError:
        return 0
    for event in events:
        if isinstance(event, Asked):
            waiting.add(event.turn)
        elif isinstance(event, Answer | CallFailed):
            waiting.discard(event.turn)
    return len(waiting)


def crashed(folder: Path, chance: random.Random, longest: float) -> Crashed:
    """One debate, killed again and again until it is done."""
    folder.mkdir()
    kills = in_flight = 0
    while True:
        begun = (folder / J).exists() and b"\n" in (folder / J).read_bytes()
        seconds = None if kills >= 8 else chance.uniform(0.005, longest)
        code = run(folder, *(("resume", J) if begun else BEGIN), seconds=seconds)
        if code is not None:
            break
        kills += 1
        in_flight += flying(folder / J)
    asked = [event.turn for event in read(folder / J).events if isinstance(event, Asked)]
    return Crashed(kills, in_flight, len(asked) - len(set(asked)), code)


def crash(root: Path, debates: int, seed: int) -> list[Crashed]:
    """So many debates, in folders by their number; the first one, in `whole`, is left alone, to compare with."""
    chance = random.Random(seed)
    (root / "whole").mkdir()
    with started(*BEGIN, "--quiet", folder=root / "whole") as process:
        begun = time.monotonic()
        assert process.end().code == 0
    longest = 0.4 * (time.monotonic() - begun)
    return [crashed(root / str(n), chance, longest) for n in range(debates)]
