"""`debate floor`: puts a question from outside the seats to a debate that waits."""

from __future__ import annotations

import argparse
from typing import Any

from pydantic import ValidationError

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.journals import is_unfinished, journal_named
from debate_orchestrator.cli.output import print_json, say
from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import QUESTION, QuestionAsked
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.next_command import next_command
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.reports import wording
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util.errors import BadSettings, LockedJournal, short_repr

EXAMPLE = 'debate floor debate-report.journal.jsonl "What would it cost?" --to a --to judge'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "journal", metavar="JOURNAL", nargs="?", help="by default the newest of the folder that is not finished"
    )
    parser.add_argument("question", metavar="QUESTION")
    about = "a, b or judge; may be repeated; all with turns left by default"
    parser.add_argument("--to", metavar="SEAT", action="append", help=about)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    arguments.journal = journal_named(arguments.journal, unfinished=is_unfinished)
    with waiting_journal(arguments.journal) as journal:
        current = CurrentState(fold(journal.events))
        # If no seat will hear it, it is put to every seat, so that the error names each of them.
        to = arguments.to or schedule.hearers(current.state) or current.state.askable
        event = _question(arguments.question, tuple(dict.fromkeys(to)))
        record_event(journal, current, event)
        debate = current.state
        journal.sync()
        # A turn whose brief was sent already is not asked again, so it does not hear the question.
        before = [turn.id for turn in debate.due if turn.id in debate.asked and turn.role in event.to]
        if arguments.json:
            print_json({**status(debate, arguments.journal), "to": list(event.to), "briefs_put_before": before})
            return 0
        say(wording.announced(debate, event) or "")
        if before:
            say(f"These turns were briefed before the question and will not see it: {', '.join(before)}.")
        say(f"Go on with `{next_command(debate, arguments.journal)}`.")
    return 0


def waiting_journal(path: str) -> JournalWriter:
    """The journal, to write an event that calls no model. Raises LockedJournal if the debate runs right now."""
    try:
        return JournalWriter(path)
    except LockedJournal:
        raise LockedJournal(
            f"{path}: this debate is running. Press f or e at the terminal where it runs; or end it there, come back, "
            "and continue it afterwards."
        ) from None


def status(debate: DebateState, journal: str) -> dict[str, Any]:
    due = [turn.id for turn in debate.due]
    return {"status": "waiting" if due else "done", "journal": journal, "due": due}


def _question(question: str, to: tuple[str, ...]) -> QuestionAsked:
    try:
        return QuestionAsked(question=question, to=to)
    except ValidationError:
        raise BadSettings(f"{short_repr(question)} is not a question of 1 to {QUESTION:,} characters.") from None
