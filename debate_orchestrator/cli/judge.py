"""`debate judge` has other judges judge a finished debate again, or one written down elsewhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from debate_orchestrator.cli import consent, flags
from debate_orchestrator.cli.driving import drive_to_report, events_problems, prints_progress
from debate_orchestrator.cli.journals import find_journal
from debate_orchestrator.cli.output import at_terminal, print_status
from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.phases import JUDGE
from debate_orchestrator.core.settings import CALL_SETTINGS, VOTE_SETTINGS
from debate_orchestrator.engine import rejudge, start
from debate_orchestrator.providers import discovery
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.util.errors import BadSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="JOURNAL|TRANSCRIPT.md", nargs="?", help="the newest debate of the folder by default"
    )
    parser.add_argument("--judge", metavar="MODEL", action="append", help="the judge; repeat for a panel")
    parser.add_argument("--output", metavar="PATH", help="a .md file, or a folder; by default beside the source")
    parser.add_argument(
        "--strictness", metavar="STRICTNESS", help="how much evidence: lenient or strict; by default as it was debated"
    )
    flags.add_settings(parser, *VOTE_SETTINGS, *CALL_SETTINGS)
    parser.add_argument("--topic", metavar="TEXT", help="what a transcript debates, if it does not say")
    parser.add_argument("--position-a", metavar="TEXT", help="what the side for it argues")
    parser.add_argument("--position-b", metavar="TEXT", help="what the side against it argues")
    flags.add_permissions(parser)
    flags.add_trust(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    path = arguments.source = find_journal(arguments.source, transcripts=True)
    judges = tuple(arguments.judge or [discovery.default(JUDGE, "cast.judge")])
    cast, permissions = {JUDGE: judges}, flags.permissions_of(arguments)
    problems = start.call_problems(cast, people=at_terminal(sys.stderr), permissions=permissions)
    if problems := [*problems, *events_problems(cast, arguments)]:
        raise BadSettings(problems)
    sides = {"a": arguments.position_a, "b": arguments.position_b}
    positions = {side: text for side, text in sides.items() if text is not None}
    vote_settings = flags.settings_from_flags(arguments, *VOTE_SETTINGS)
    rejudging = rejudge.rejudging_from_file(
        path, judges, arguments.strictness, arguments.topic, positions, vote_settings
    )
    if prints_progress(arguments):
        for note in rejudging.notes:
            print_status(note)
    call_settings = flags.checked_settings(arguments, rejudging.opened.format, *CALL_SETTINGS)
    entries = rejudging.entries
    source = consent.source_of_journal(path, entries) if entries else consent.source_of_file(path)

    def require_consent(risks_found: Sequence[Risk]) -> None:
        consent.require_consent(source, risks_found, trusted=arguments.trust)

    rejudging, files = rejudge.checked_for_start(
        rejudging, arguments.output, require_consent, permissions, **call_settings
    )

    async def opened(*_: object) -> Opened:
        return rejudging.opened

    with consent.new_debate(opened, files, lambda opened: rejudging.speeches) as session:
        return drive_to_report(session, arguments)
