"""A question that the audience puts to seats of a debate."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import MAX_QUESTION_LENGTH, QuestionAsked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import BadSettings, short_repr


def audience_question(debate: DebateState, text: str, to: Sequence[str] = ()) -> QuestionAsked:
    """A question to these seats, or to all that have turns left. Raises BadSettings for a text that is none, and if
    a seat waits to hear it already. Whether the seats will hear it is checked when it is recorded."""
    # If no seat will hear it, it is put to every seat, so that the error names each of them.
    seats = tuple(dict.fromkeys(to)) or schedule.hearers(debate) or debate.askable
    try:
        asked = QuestionAsked(question=text, to=seats)
    except ValidationError:
        problem = f"question: {short_repr(text)} is not a question of 1 to {MAX_QUESTION_LENGTH:,} characters."
        raise BadSettings(problem) from None
    if waiting := [debate.format.name_of(seat) for seat in seats if _waits(debate, asked.question, seat)]:
        raise BadSettings(f"question: it was put to {' and '.join(waiting)} before and has not been heard yet.")
    return asked


def _waits(debate: DebateState, question: str, seat: str) -> bool:
    """Whether a question was put to a seat that has begun no turn since."""
    own = (counts for turn, counts in debate.begun.items() if debate.turns_reached[turn].role == seat)
    heard = max((counts.before_this_turn for counts in own), default=0)
    return any(event.question == question and seat in event.to for event in debate.questions[heard:])
