"""Which debates run, noted in the user's state folder, so that the next server of the folder goes on with them.

Each debate has a file of its own: several servers may run debates of one folder."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from debate_orchestrator.setup.risks import of_debate
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import JOURNAL, state_folder
from debate_orchestrator.util.errors import BadFile, DebateError
from debate_orchestrator.web import folder


def note(path: str, first_hash: str | None) -> None:
    """Notes that the debate of a journal runs, with the hash of its first line. Where that can't be written, the user
    goes on with it."""
    if (record := _record(path)) is not None:
        with suppress(OSError, BadFile):
            record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(record, json.dumps([path, first_hash]))


def forget(path: str) -> None:
    """Notes that the debate of a journal no longer runs."""
    if (record := _record(path)) is not None:
        with suppress(OSError):
            record.unlink()


def noted() -> list[tuple[str, str]]:
    """The journals that were noted, in the order of their names, each with the hash of its first line."""
    found = []
    records = _records()
    for record in records.glob("*.json") if records else ():
        with suppress(OSError, ValueError, TypeError):
            path, first_hash = json.loads(record.read_text(encoding="utf-8"))
            if _record(path) == record:
                found.append((path, first_hash))
    return sorted(found)


def goes_on(path: str, first_hash: str) -> bool:
    """Whether a journal that was noted is that of the same debate, and can go on without consent."""
    try:
        if folder.journal_of(path.removesuffix(JOURNAL)) != path:
            return False
        contents, debate = folder.load(path)
        return contents.entries[0].hash == first_hash and not (debate.complete or of_debate(debate.opened, debate.cast))
    except (DebateError, OSError):
        return False


def _records() -> Path | None:
    parent = state_folder()
    here = os.fsencode(os.path.realpath(os.curdir))
    return parent / "serve" / hashlib.sha256(here).hexdigest()[:32] if parent else None


def _record(path: str) -> Path | None:
    records = _records()
    return records / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json" if records else None
