"""The verbs that step into a debate from outside its seats, while nobody drives it: `floor`, `close`."""

from __future__ import annotations

import argparse
from typing import Any

from pydantic import ValidationError

from debate_orchestrator.cli.output import print_json, say
from debate_orchestrator.core.events import QUESTION, EndedEarly, QuestionAsked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.reports import wording
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, LockedJournal, complaint, short_repr


def floor(arguments: argparse.Namespace) -> int:
    """Puts a question to seats, or to everybody who has a turn left."""
    with _undriven(arguments.journal) as journal:
        debate = DebateState(journal.events)
        event = _raised(arguments.question, tuple(dict.fromkeys(arguments.to or _everybody(debate))))
        record_event(journal, debate, event)
        journal.sync()
        before = [turn.id for turn in debate.due() if turn.id in debate.asked and turn.role in event.to]
        if arguments.json:
            print_json({**_status(debate, arguments.journal), "to": list(event.to), "briefs_put_before": before})
            return 0
        say(wording.announced(debate, event) or "")
        if before:
            say(f"Put before it, and heard without it: {', '.join(before)}. It is heard from the turn after on.")
        say(_way_on(debate, arguments.journal))
    return 0


def close(arguments: argparse.Namespace) -> int:
    """Ends a debate early: after the phase under way only what follows the last round is left."""
    with _undriven(arguments.journal) as journal:
        debate = DebateState(journal.events)
        record_event(journal, debate, EndedEarly())
        journal.sync()
        if arguments.json:
            print_json(_status(debate, arguments.journal))
            return 0
        due = ", ".join(turn.id for turn in debate.due())
        say(f"{wording.ended_early(debate)}{f' Due now: {due}.' if due else ''}")
        say(_way_on(debate, arguments.journal))
    return 0


def _undriven(path: str) -> JournalWriter:
    """The journal, to be written. Locked where somebody drives the debate, with what to do there."""
    try:
        return JournalWriter(path)
    except LockedJournal:
        hint = "Press f or e at the terminal where it runs; or end it there, come back, and go on with it afterwards."
        raise LockedJournal(complaint(path, "a debate that is being driven", "one that waits", hint)) from None


def _raised(question: str, to: tuple[str, ...]) -> QuestionAsked:
    try:
        return QuestionAsked(question=question, to=to)
    except ValidationError:
        wanted = f"a question of 1 to {QUESTION:,} characters"
        raise BadSettings(complaint("the question", short_repr(question), wanted)) from None


def _everybody(debate: DebateState) -> tuple[str, ...]:
    """The seats that will hear a question; all there are where none will, so that each is told of."""
    return tuple(seat for seat in debate.askable if debate.will_hear(seat)) or debate.askable


def _status(debate: DebateState, journal: str) -> dict[str, Any]:
    due = [turn.id for turn in debate.due()]
    return {"status": "waiting" if due else "done", "journal": journal, "due": due}


def _way_on(debate: DebateState, journal: str) -> str:
    """The command that goes on with it."""
    hosted = any(model_spec.HOST in debate.cast.get(turn.role, ()) for turn in debate.due())
    return f"Go on with `debate {'step' if hosted else 'resume'} {journal}`."
