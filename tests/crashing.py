"""A program that runs debates by the real command line and kills them at moments drawn by chance, until they are done.

Everything heavy is imported once, here; each run is a process forked from it, so that hundreds of kills take
seconds. It prints, as one JSON object, what happened.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import anthropic

from debate_orchestrator.cli import main
from debate_orchestrator.core.events import Answer, Asked, Unanswered
from debate_orchestrator.errors import DebateError
from debate_orchestrator.journal import read
from debate_orchestrator.providers import anthropic as provider

_LOADED = (aiohttp, anthropic, provider)
SETUP = (
    "--topic=T",
    "--position-a=It is so.",
    "--position-b=It is not so.",
    "--rounds=2",
    "--judge=anthropic:m",
    "--judge=anthropic:n",
)
SEATS = ("--a=anthropic:m", "--b=anthropic:m")
J = "r.journal.jsonl"


class Crashed(NamedTuple):
    """What one debate went through."""

    kills: int
    in_flight: int
    """Calls that were under way at its crashes, summed."""
    again: int
    """Turns that were asked for more often than once."""
    code: int


def forked(folder: Path, *arguments: str, seconds: float | None = None) -> int | None:
    """Runs a command in a process of its own; kills it after so many seconds. Its exit code, or None if killed."""
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        silent = os.open("err.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            main([*arguments])
        except SystemExit as ended:
            os._exit(int(ended.code or 0))
        os._exit(99)
    if seconds is not None:
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


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
        elif isinstance(event, Answer | Unanswered):
            waiting.discard(event.turn)
    return len(waiting)


def crashed(folder: Path, chance: random.Random, longest: float) -> Crashed:
    """One debate, killed again and again until it is done."""
    folder.mkdir()
    kills = in_flight = 0
    while True:
        begun = (folder / J).exists() and b"\n" in (folder / J).read_bytes()
        arguments = ("resume", J) if begun else ("run", "--output=r.md", *SETUP, *SEATS)
        last = kills >= 12
        code = forked(folder, *arguments, "--quiet", seconds=None if last else chance.uniform(0.005, longest))
        if code is not None:
            break
        kills += 1
        in_flight += flying(folder / J)
    asked = [event.turn for event in read(folder / J).events if isinstance(event, Asked)]
    return Crashed(kills, in_flight, len(asked) - len(set(asked)), code)


def crash(folder: str, debates: str, seed: str) -> dict[str, Any]:
    """So many debates; the first one is left alone, to compare with."""
    root, chance = Path(folder), random.Random(seed)
    with suppress(SystemExit):  # whatever a debate needs is loaded once, here
        main(["run", f"--output={root / 'warm.md'}", *SETUP, "--a=rehearse", "--b=rehearse", "--rehearse", "--quiet"])
    (root / "whole").mkdir()
    begun = time.monotonic()
    code = forked(root / "whole", "run", "--output=r.md", *SETUP, *SEATS, "--quiet")
    longest = 0.4 * (time.monotonic() - begun)
    made = [crashed(root / str(n), chance, longest) for n in range(int(debates))]
    return {"whole": code, "seconds": longest, "debates": [one._asdict() for one in made]}


if __name__ == "__main__":
    found = crash(*sys.argv[1:])
    print(f"\n{json.dumps(found)}")
