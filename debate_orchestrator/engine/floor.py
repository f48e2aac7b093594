"""A question that the audience puts to seats of a debate."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import MAX_QUESTION_LENGTH, QuestionAsked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import BadSettings, short_repr


def audience_question(debate: DebateState, text: str, to: Sequence[str] = ()) -> QuestionAsked:
    """A question to these seats, or to all that have turns left. Raises BadSettings for a text that is none. Whether
    the seats will hear it is checked when it is recorded."""
    # If no seat will hear it, it is put to every seat, so that the error names each of them.
    seats = tuple(dict.fromkeys(to)) or schedule.hearers(debate) or debate.askable
    try:
        return QuestionAsked(question=text, to=seats)
    except ValidationError:
        problem = f"question: {short_repr(text)} is not a question of 1 to {MAX_QUESTION_LENGTH:,} characters."
        raise BadSettings(problem) from None
