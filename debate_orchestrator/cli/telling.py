"""The verbs that read a journal: `report`, `check`."""

from __future__ import annotations

import argparse
from typing import Any

from debate_orchestrator import formats
from debate_orchestrator.cli.output import complain, print_json, remark, say
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.errors import DebateError
from debate_orchestrator.journal import read


def report(arguments: argparse.Namespace) -> int:
    """Writes the report of a journal again, and its page beside it; with a place of its own, that form alone."""
    from debate_orchestrator.files import Files
    from debate_orchestrator.reports import forms
    from debate_orchestrator.reports.story import closing, story

    told = story(read(arguments.journal).entries)
    files, wrong = Files.of_journal(arguments.journal), list[str]()
    if arguments.to:
        path, page = forms.write(told, arguments.to), None
    else:
        path, page = files.report, files.page
        wrong = forms.write_both(told, path, page)
    if arguments.json:
        made = {"report": path, "page": None if wrong else page}
        print_json({"status": told.status, **made, "summary": closing(told, path)})
    else:
        say(closing(told, path))
        if page and not wrong:
            remark(f"The same as a page: {page}")
    complain(wrong)
    return 2 if wrong else 0


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
