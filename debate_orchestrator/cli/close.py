"""`debate close`: ends a debate early, after the phase under way."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.floor import status, waiting_journal
from debate_orchestrator.cli.journals import is_unfinished, journal_named
from debate_orchestrator.cli.output import print_json, say
from debate_orchestrator.core import schedule
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.engine.next_command import next_command
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.reports import wording

EXAMPLE = "debate close debate-report.journal.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "journal", metavar="JOURNAL", nargs="?", help="by default the newest of the folder that is not finished"
    )
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    arguments.journal = journal_named(arguments.journal, unfinished=is_unfinished)
    with waiting_journal(arguments.journal) as journal:
        current = CurrentState(fold(journal.events))
        record_event(journal, current, schedule.early_end(current.state))
        debate = current.state
        journal.sync()
        if arguments.json:
            print_json(status(debate, arguments.journal))
            return 0
        due = ", ".join(turn.id for turn in debate.due)
        say(f"{wording.ended_early(debate)}{f' Due now: {due}.' if due else ''}")
        say(f"Go on with `{next_command(debate, arguments.journal)}`.")
    return 0
