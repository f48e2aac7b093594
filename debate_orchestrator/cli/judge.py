"""`debate judge`: judges a recorded debate or a transcript, without debating again."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.debates import new_judging, people_errors
from debate_orchestrator.cli.driving import drive_to_report, is_quiet
from debate_orchestrator.cli.journals import journal_named
from debate_orchestrator.cli.output import remark
from debate_orchestrator.cli.settings import cap
from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import CALLING, VOTING
from debate_orchestrator.engine import budget, rejudge, transcript_file
from debate_orchestrator.providers import discovery, registry
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.settings import judging_settings
from debate_orchestrator.storage.journal import Entry, read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import read_regular
from debate_orchestrator.util.errors import BadSettings

EXAMPLE = "debate judge debate-report.journal.jsonl --judge anthropic:claude-opus-5-5"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="JOURNAL|TRANSCRIPT.md", nargs="?", help="the newest debate of the folder by default"
    )
    parser.add_argument("--judge", metavar="MODEL", action="append", help="the judge; repeat for a panel")
    parser.add_argument("--output", metavar="PATH", help="a .md file, or a folder; by default beside the source")
    parser.add_argument("--strictness", metavar="MODE", help="lenient or strict; by default as it was debated")
    flags.add_settings(parser, *VOTING, *CALLING)
    parser.add_argument("--topic", metavar="TEXT", help="what a transcript debates, if it does not say")
    parser.add_argument("--position-a", metavar="TEXT", help="what the side for it argues")
    parser.add_argument("--position-b", metavar="TEXT", help="what the side against it argues")
    flags.add_permissions(parser)
    flags.add_trust(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    path = arguments.source = journal_named(arguments.source, transcripts=True)
    judges = tuple(arguments.judge or [discovery.judge()])
    cast, permissions = {JUDGE: judges}, flags.permitted(arguments)
    if errors := [
        *registry.cast_problems(cast),
        *registry.missing(cast, permissions),
        *people_errors(cast, events=arguments.events),
    ]:
        raise BadSettings(errors)
    if _is_journal(path):
        entries = read(path).entries
        origin, source_risks = consent.of_entries(path, entries), risks.of_judging([entry.event for entry in entries])
        opening, speeches = _of_journal(arguments, entries, judges)
    else:
        origin, source_risks = consent.of_file(path), ()
        opening, speeches = _of_transcript(arguments, judges)
    changes = _call_settings(arguments, opening)
    files = DebateFiles.of_output(arguments.output or rejudge.output_path(path))
    opening = opening.with_settings(output=os.path.basename(files.report), **changes)
    files.must_be_new()
    with new_judging(
        opening, speeches, files, origin, source_risks, trusted=arguments.trust, permissions=permissions
    ) as debate:
        return drive_to_report(debate, arguments)


def _is_journal(path: str) -> bool:
    """Whether a file is a journal: by its ending, otherwise by how it begins."""
    if path.endswith((".md", ".markdown", ".txt", ".json")):
        return False
    if path.endswith(".jsonl"):
        return True
    try:
        return read_regular(path, follow=True).startswith(b"{")
    except (OSError, ValueError):
        return True


def _of_journal(arguments: argparse.Namespace, entries: list[Entry], judges: Sequence[str]) -> rejudge.Opening:
    """The judging of a recorded debate."""
    given = {
        "--topic": arguments.topic,
        "--position-a": arguments.position_a,
        "--position-b": arguments.position_b,
    }
    if named := ", ".join(flag for flag, text in given.items() if text):
        raise BadSettings(f"{arguments.source} says what was debated, so leave out {named}: they are for a transcript.")
    panel = flags.given_settings(arguments, *VOTING)
    return rejudge.of_journal(entries, arguments.source, judges, arguments.strictness, panel)


def _of_transcript(arguments: argparse.Namespace, judges: Sequence[str]) -> rejudge.Opening:
    """The judging of a debate that was written down elsewhere."""
    path = arguments.source
    transcript, digest = transcript_file.read(path)
    sides = {"a": arguments.position_a, "b": arguments.position_b}
    positions = {side: text for side, text in sides.items() if text is not None}
    strictness, topic, panel = arguments.strictness, arguments.topic, flags.given_settings(arguments, *VOTING)
    opening = rejudge.of_transcript(transcript, path, digest, judges, strictness, topic, positions, panel=panel)
    if not is_quiet(arguments):
        for note in transcript.notes:
            remark(note)
    return opening


def _call_settings(arguments: argparse.Namespace, opening: Opened) -> dict[str, Any]:
    """How the judges are called, as far as flags say. Raises BadSettings with every error."""
    given = flags.given_settings(arguments, *CALLING)
    errors: list[str] = []
    if arguments.max_cost is not None:
        given["max_cost"] = cap(arguments.max_cost)
        errors += budget.unpriced_seats(opening.cast) if given["max_cost"] is not None else []
    try:
        settled = judging_settings(given, opening.format, 1)
    except BadSettings as error:
        raise BadSettings(errors + error.complaints) from None
    if errors:
        raise BadSettings(errors)
    return {name: getattr(settled, name) for name in given}
