"""The verbs that step into a debate from outside its seats, while nobody drives it: `floor`, `close`."""

from __future__ import annotations

import argparse
from typing import Any

from pydantic import ValidationError

from debate_orchestrator import casts
from debate_orchestrator.calls import record
from debate_orchestrator.cli.output import print_json, say
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import QUESTION, Closed, Raised
from debate_orchestrator.errors import BadAnswers, Locked, complaint, shown
from debate_orchestrator.journal import Writer
from debate_orchestrator.reports import floor as telling


def floor(arguments: argparse.Namespace) -> int:
    """Puts a question to seats, or to everybody who has a turn left."""
    with _undriven(arguments.journal) as journal:
        debate = Debate(journal.events)
        event = _raised(arguments.question, tuple(dict.fromkeys(arguments.to or _everybody(debate))))
        record(journal, debate, event)
        journal.sync()
        before = [turn.id for turn in debate.due() if turn.id in debate.asked and turn.role in event.to]
        if arguments.json:
            print_json({**_status(debate, arguments.journal), "to": list(event.to), "briefs_put_before": before})
            return 0
        say(telling.announced(debate, event) or "")
        if before:
            say(f"Put before it, and heard without it: {', '.join(before)}. It is heard from the turn after on.")
        say(_way_on(debate, arguments.journal))
    return 0


def close(arguments: argparse.Namespace) -> int:
    """Ends a debate early: after the phase under way only what follows the last round is left."""
    with _undriven(arguments.journal) as journal:
        debate = Debate(journal.events)
        record(journal, debate, Closed())
        journal.sync()
        if arguments.json:
            print_json(_status(debate, arguments.journal))
            return 0
        due = ", ".join(turn.id for turn in debate.due())
        say(f"{telling.ended_early(debate)}{f' Due now: {due}.' if due else ''}")
        say(_way_on(debate, arguments.journal))
    return 0


def _undriven(path: str) -> Writer:
    """The journal, to be written. Locked where somebody drives the debate, with what to do there."""
    try:
        return Writer(path)
    except Locked:
        hint = "Press f or e at the terminal where it runs; or end it there, come back, and go on with it afterwards."
        raise Locked(complaint(path, "a debate that is being driven", "one that waits", hint)) from None


def _raised(question: str, to: tuple[str, ...]) -> Raised:
    try:
        return Raised(question=question, to=to)
    except ValidationError:
        wanted = f"a question of 1 to {QUESTION:,} characters"
        raise BadAnswers(complaint("the question", shown(question), wanted)) from None


def _everybody(debate: Debate) -> tuple[str, ...]:
    """The seats that will hear a question; all there are where none will, so that each is told of."""
    return tuple(seat for seat in debate.askable if debate.will_hear(seat)) or debate.askable


def _status(debate: Debate, journal: str) -> dict[str, Any]:
    due = [turn.id for turn in debate.due()]
    return {"status": "waiting" if due else "done", "journal": journal, "due": due}


def _way_on(debate: Debate, journal: str) -> str:
    """The command that goes on with it."""
    hosted = any(casts.HOST in debate.cast.get(turn.role, ()) for turn in debate.due())
    return f"Go on with `debate {'step' if hosted else 'resume'} {journal}`."
