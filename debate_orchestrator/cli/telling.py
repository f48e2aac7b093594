"""The verbs that read a journal: `report`, `check`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from debate_orchestrator.cli.output import complain, print_json, remark, say
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadFile, DamagedJournal, DebateError, complaint

if TYPE_CHECKING:
    from debate_orchestrator.reports.verify import Verification


def report(arguments: argparse.Namespace) -> int:
    """Writes the report of a journal again, and its page beside it; with a place of its own, that form alone. With
    --schema, prints the schema of the JSON form."""
    if arguments.schema:
        return _schema(arguments)
    if arguments.journal is None:
        raise BadFile(complaint("journal", "none", "the journal to tell", "--schema alone needs none."))
    from debate_orchestrator.reports import forms
    from debate_orchestrator.reports.model import build_report, closing_line
    from debate_orchestrator.reports.review_files import gather_reviews
    from debate_orchestrator.storage.paths import DebateFiles

    entries, files, wrong = read(arguments.journal).entries, DebateFiles.of_journal(arguments.journal), list[str]()
    told = build_report(entries, gather_reviews(files.ballots, entries))
    if arguments.to:
        path, page = forms.write(told, arguments.to, remark), None
    else:
        path, page = files.report, files.page
        wrong = forms.write_both(told, path, page, remark)
    if arguments.json:
        made = {"report": path, "page": None if wrong else page}
        print_json({"status": told.status, **made, "summary": closing_line(told, path)})
    else:
        say(closing_line(told, path))
        if page and not wrong:
            remark(f"The same as a page: {page}")
    complain(wrong)
    return 2 if wrong else 0


def _schema(arguments: argparse.Namespace) -> int:
    """Prints the JSON Schema of reports in JSON. BadFile where a report is asked for too."""
    import json

    from debate_orchestrator.reports import json as json_report

    if given := arguments.journal or arguments.to:
        raise BadFile(complaint("--schema", name_of(given), "it alone", "Leave --schema out to write a report."))
    print(json.dumps(json_report.schema(), indent=2))
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Says whether a journal is whole, unchanged and complete, and whether reports belong to it and say what it says;
    exit 2 where something is damaged, changed or does not belong, 3 where work is left, or a report is to be made anew
    with the ballots that reviewers have left."""
    from debate_orchestrator.reports import verify
    from debate_orchestrator.storage.paths import DebateFiles

    beside = DebateFiles.of_journal(arguments.journal)
    paths = arguments.given or verify.beside(beside.report)
    files = verify.given(paths)
    try:
        reading = read(arguments.journal)
    except DamagedJournal as error:
        told = (f"{name_of(path)}: {verify.integrity(path, data)}" for path, data in files)
        raise DamagedJournal([*error.complaints, *told]) from None
    reports = [verify.verify(path, data, reading.entries, beside.ballots) for path, data in files]
    debate = DebateState(reading.events)
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
        "reports": [one.data for one in reports],
    }
    if arguments.json:
        print_json({"status": "complete" if not due else "waiting", **found})
    else:
        _said(found, reports)
    if not all(one.well or one.state == "reviewed" for one in reports):
        return 2
    return 3 if due or reading.torn or not all(one.well for one in reports) else 0


def _said(found: dict[str, Any], reports: list[Verification]) -> None:
    """What a check found, for people."""
    lines = f"{found['lines']} line{'s' * (found['lines'] != 1)}"
    say(f"{found['journal']}: {lines}, every one as it was written (head {found['head'][:16]}).")
    if found["torn_bytes"]:
        say(f"{found['torn_bytes']} bytes of a line that a crash cut short follow; the next writer trims them.")
    if found["prompts"] != "as recorded":
        say("It was opened with other prompts than are installed here; nothing on record depends on these.")
    say(f"Not complete: {', '.join(found['due'])} due." if found["due"] else "Complete.")
    for one in reports:
        say(f"{name_of(one.path)}: {one.text}")


def _digests(debate: DebateState) -> dict[str, str] | None:
    try:
        return loader.digests(debate.format, debate.opened.templates)
    except DebateError:
        return None
