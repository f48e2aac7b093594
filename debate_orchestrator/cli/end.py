"""`debate end` ends a debate early, after the phase under way."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.floor import record, status
from debate_orchestrator.cli.output import print_outcome
from debate_orchestrator.core import schedule
from debate_orchestrator.reports import wording


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser, "is not finished")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    debate = record(arguments, schedule.early_end)
    due = ", ".join(turn.id for turn in debate.due)
    ended = f"{wording.ended_early(debate)}{f' Due now: {due}.' if due else ''}"
    next_sentence = f"Continue with `{wording.next_command(debate, arguments.journal)}`."
    lines = [ended, *wording.unheard_questions(debate), next_sentence]
    return print_outcome(arguments, status(debate, arguments.journal), *lines)
