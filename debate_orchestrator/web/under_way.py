"""The debates of a folder that its server was running when it ended, so that the next one goes on with them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from debate_orchestrator.engine.api import find_risks
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import JOURNAL, state_folder
from debate_orchestrator.util.errors import BadFile, DebateError
from debate_orchestrator.web import folder


def remember(journals: Iterable[str]) -> None:
    """Notes the journals of the debates that run now. Where that can't be written, the user goes on with each."""
    if (record := _record()) is None:
        return
    with suppress(OSError, BadFile):
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(record, json.dumps(sorted(journals)))


def remembered() -> list[str]:
    """The journals that were noted, as far as they are debates of this folder that can go on without consent."""
    record = _record()
    try:
        noted = json.loads(record.read_text(encoding="utf-8")) if record else []
    except (OSError, ValueError):
        return []
    there = {f"{name}{JOURNAL}" for name in folder.names()}
    return [path for path in noted if path in there and _without_risks(path)] if isinstance(noted, list) else []


def _without_risks(path: str) -> bool:
    try:
        return not folder.load(path)[1].complete and not find_risks(path)
    except (DebateError, OSError):
        return False


def _record() -> Path | None:
    kept = state_folder()
    named = hashlib.sha256(os.fsencode(os.path.realpath(os.curdir))).hexdigest()[:32]
    return kept / "serve" / f"{named}.json" if kept else None
