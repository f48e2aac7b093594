"""Debates in a process whose disk is full at a moment of one's choice: `full_disk.py limit|mount|nine FOLDER`."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from speakers import Speaker, begun, take_turns

from debate_orchestrator.core.events import BriefSent
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.errors import PermanentFailure

CUTS = 12


def held(journal: JournalWriter, make_room: Callable[[], None]) -> dict[str, Any]:
    """A debate driven to its end, with room made once everything that is under way waits for it."""
    speaker, waited, most = Speaker(rounds=1), list[str](), 0
    current = CurrentState(fold(journal.events))

    journal.notify = waited.append

    async def run() -> None:
        driving = asyncio.create_task(take_turns(journal, current, seats))
        while not driving.done():
            before = len(waited)
            await asyncio.sleep(0.3)
            if waited and len(waited) == before and not speaker.speaking:
                nonlocal most
                most = max(most, sum("kept in memory" in one for one in waited))
                make_room()
        await driving

    seats = dict.fromkeys(("a", "b", *current.state.judges), speaker)
    try:
        asyncio.run(run())
    except PermanentFailure:  # before a call: it is continued when there is room
        make_room()
        asyncio.run(run())
    reading = read(journal.path)
    asked = [event.turn_id for event in reading.events if isinstance(event, BriefSent)]
    briefs = [brief.turn_id for brief in speaker.briefs]
    return {
        "complete": fold(reading.events).complete,
        "once": len(briefs) == len(set(briefs)) and set(briefs) == set(asked),
        "torn": reading.torn_bytes,
        "waited": most,
        "never_asked": [one for one in waited if "a failed call" in one],
    }


def limited(path: Path, most: int, judges: int) -> dict[str, Any]:
    """A debate whose journal can't be larger than its opening and so many bytes, until everything waits."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with begun(path, judges=judges, rounds=1) as journal:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + most, before[1]))
        return held(journal, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before))


def mounted(folder: Path, room: int, judges: int) -> dict[str, Any]:
    """The same on a file system with so many bytes left, until everything waits."""
    ballast, path = folder / "ballast", folder / "j.jsonl"
    path.unlink(missing_ok=True)
    with begun(path, judges=judges, rounds=1) as journal:
        with ballast.open("wb", buffering=0) as file:
            while True:
                try:
                    file.write(b"x" * 4096)
                except OSError:
                    break
        with ballast.open("r+b") as file:
            file.truncate(max(0, ballast.stat().st_size - room))
        return held(journal, lambda: ballast.unlink(missing_ok=True))


def main(how: str, folder: str) -> None:
    """Prints what became of each debate."""
    logging.disable()
    path = Path(folder)
    with begun(path / "whole.jsonl", judges=3, rounds=1) as journal:
        start = Path(journal.path).stat().st_size
        held(journal, lambda: None)
    size = (path / "whole.jsonl").stat().st_size
    (path / "whole.jsonl").unlink()
    cuts = [(size - start) * n // CUTS for n in range(CUTS)]
    if how == "nine":
        outcomes: Any = limited(path / "nine.jsonl", 9_000, 9)
    elif how == "limit":
        outcomes = [limited(path / f"{cut}.jsonl", cut, 3) for cut in cuts]
    else:
        outcomes = [mounted(path, cut, 3) for cut in cuts]
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
