"""The verbs that read a journal: `report`, `check`."""

from __future__ import annotations

import argparse
from typing import Any

from debate_orchestrator import formats
from debate_orchestrator.cli.output import print_json, say
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.errors import DebateError
from debate_orchestrator.journal import read


def report(arguments: argparse.Namespace) -> int:
    """Writes the report of a journal again."""
    from debate_orchestrator.files import Files
    from debate_orchestrator.reports import forms
    from debate_orchestrator.reports.story import closing, story
    from debate_orchestrator.reviewing.keeping import gathered

    entries, files = read(arguments.journal).entries, Files.of_journal(arguments.journal)
    told = story(entries, gathered(files.ballots, entries))
    path = forms.write(told, arguments.to or files.report)
    if arguments.json:
        print_json({"status": told.status, "report": path, "summary": closing(told, path)})
    else:
        say(closing(told, path))
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Says whether a journal is whole, unchanged and complete; exit 3 where work is left, 2 where it is damaged."""
    reading = read(arguments.journal)
    debate = Debate(reading.events)
    due = [turn.id for turn in debate.due()]
    found: dict[str, Any] = {
        "journal": arguments.journal,
        "lines": len(reading.entries),
        "unchanged": True,
        "torn_bytes": reading.torn,
        "complete": not due,
        "due": due,
        "in_flight": [turn for turn in debate.asked if turn not in debate.answers],
        "prompts": "as recorded" if debate.opened.prompts == _digests(debate) else "changed since",
        "head": reading.entries[-1].hash,
    }
    if arguments.json:
        print_json({"status": "complete" if not due else "waiting", **found})
    else:
        lines = f"{found['lines']} line{'s' * (found['lines'] != 1)}"
        say(f"{arguments.journal}: {lines}, every one as it was written (head {found['head'][:16]}).")
        if reading.torn:
            say(f"{reading.torn} bytes of a line that a crash cut short follow; the next writer trims them.")
        if found["prompts"] != "as recorded":
            say("The prompts of this installation are not those it was opened with.")
        say(f"Not complete: {', '.join(due)} due." if due else "Complete.")
    return 3 if due or reading.torn else 0


def _digests(debate: Debate) -> dict[str, str] | None:
    try:
        return formats.digests(debate.format, debate.opened.templates)
    except DebateError:
        return None
