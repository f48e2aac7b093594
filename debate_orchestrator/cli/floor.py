"""`debate floor` puts a question from outside the seats to a debate that waits."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.journals import find_journal, is_unfinished
from debate_orchestrator.cli.output import print_json, print_quoted, print_result
from debate_orchestrator.core.events import Event
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.debate import floor_question, record_between_runs
from debate_orchestrator.reports import wording
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadSettings, LockedJournal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser, "is not finished")
    parser.add_argument("question", metavar="QUESTION")
    about = "a, b or judge; may be repeated; all with turns left by default"
    parser.add_argument("--to", metavar="SEAT", action="append", help=about)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.journal is None and arguments.question.endswith(JOURNAL):
        raise BadSettings(
            f"{name_of(arguments.question)} is a journal, and the question is missing.",
            hint='`debate floor JOURNAL "QUESTION"`',
        )
    debate = record(arguments, lambda debate: floor_question(debate, arguments.question, arguments.to or ()))
    question_event = debate.floor_questions[-1]
    # A turn whose brief was sent already is not asked again, so it does not hear the question.
    briefed_turns = [turn.id for turn in debate.due if debate.briefs_sent(turn.id) and turn.role in question_event.to]
    if arguments.json:
        print_json({**status(debate, arguments.journal), "to": list(question_event.to), "will_not_hear": briefed_turns})
        return 0
    print_quoted(wording.user_event_text(debate, question_event) or "")
    if briefed_turns:
        print_result(f"These turns were briefed before the question and will not see it: {', '.join(briefed_turns)}.")
    print_result(f"Continue with `{wording.next_command(debate, arguments.journal)}`.")
    return 0


def record(arguments: argparse.Namespace, make: Callable[[DebateState], Event]) -> DebateState:
    """Writes an event to the named, or the newest unfinished, journal; the state after it. Raises LockedJournal."""
    path = arguments.journal = find_journal(arguments.journal, can_continue=is_unfinished)
    try:
        return record_between_runs(path, make)
    except LockedJournal:
        raise LockedJournal(
            f"{name_of(path)}: this debate is running. Press f or e at the terminal where it runs; or stop it there, "
            "run this command again, and resume the debate."
        ) from None


def status(debate: DebateState, journal: str) -> dict[str, Any]:
    due = [turn.id for turn in debate.due]
    return {"status": "waiting" if due else "done", "journal": journal, "due": due}
