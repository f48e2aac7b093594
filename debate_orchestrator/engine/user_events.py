"""Events that a user adds to a running debate: a question to seats, and another list of issues."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import ValidationError

from debate_orchestrator.core import rapporteur, schedule
from debate_orchestrator.core.events import MAX_QUESTION_LENGTH, IssuesChanged, QuestionAsked
from debate_orchestrator.core.settings import MAX_ISSUES, line_problems
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import BadSettings, OutOfTurn, short_repr, with_hint
from debate_orchestrator.util.sanitize import one_line

_ID = re.compile(r"I?(\d{1,3})", re.IGNORECASE | re.ASCII)
_MIN_WORDS = 3
"""Words of a new issue, at least."""


def audience_question(debate: DebateState, text: str, to: Sequence[str] = ()) -> QuestionAsked:
    """A question to these seats, or to all that have turns left. Raises BadSettings for a text that is none, for a side
    whose speeches are on record, and if a seat waits to hear it already. Whether the seats will hear it is checked when
    it is recorded."""
    # If no seat will hear it, it is put to every seat, so that the error names each of them.
    seats = tuple(dict.fromkeys(to)) or schedule.seats_open_to_questions(debate) or debate.question_seats
    try:
        event = QuestionAsked(question=text, to=seats)
    except ValidationError:
        problem = f"question: {short_repr(text)} is not a question of 1 to {MAX_QUESTION_LENGTH:,} characters."
        raise BadSettings(problem) from None
    if debate.opened.earlier_debate is not None and {*to} & {*debate.format.sides}:
        problem = "question: the speeches are on record, so no side can answer it."
        raise BadSettings(problem, hint="put it to the judge")
    if waiting := [debate.format.name_of(seat) for seat in seats if _waits(debate, event.question, seat)]:
        raise BadSettings(f"question: it was put to {' and '.join(waiting)} before and has not been heard yet.")
    return event


def _waits(debate: DebateState, question: str, seat: str) -> bool:
    """Whether a question was put to a seat that has begun no turn since."""
    counts = (count for turn, count in debate.question_counts.items() if debate.turns_reached[turn].role == seat)
    answered_count = max(counts, default=0)
    return any(event.question == question and seat in event.to for event in debate.questions[answered_count:])


def current_issues(debate: DebateState) -> list[str]:
    """The questions of the list, the weightiest first. Raises OutOfTurn if it can't be changed now."""
    issue_list = rapporteur.issue_list(debate)
    if issue_list is None or not schedule.can_change_issues(debate):
        raise OutOfTurn(schedule.TOO_LATE_FOR_ISSUES, hint="a list of your own, under `issues`, in another debate")
    return [one_line(question) for question in issue_list.issues.values()]


def in_new_order(questions: Sequence[str], words: Sequence[str]) -> list[str]:
    """The list meant by ids of issues that stay (`I3`, or `I3,I1`) and new questions, in order. A new question has
    three words at least, so that nothing mistyped becomes one. Raises BadSettings with everything that is wrong."""
    order, problems = list[str](), list[str]()
    for argument in words:
        parts = [part for part in re.split(r"[,\s]+", argument.strip()) if part]
        numbers = [_ID.fullmatch(part) for part in parts]
        if parts and all(numbers):
            for part, number in zip(parts, numbers, strict=True):
                if number and 1 <= int(number[1]) <= len(questions):
                    order.append(questions[int(number[1]) - 1])
                else:
                    problems.append(f"issues: there is no {short_repr(part)}; the list has I1 to I{len(questions)}.")
        elif len(parts) < _MIN_WORDS:
            hint = "ids such as I3 of those that stay, and whole questions"
            problems.append(with_hint(f"issues: {short_repr(argument)} is neither an id nor a question.", hint))
        else:
            order.append(rapporteur.without_number(argument).strip())
    problems += [f"issues: {short_repr(text)} appears twice." for text in order if order.count(text) > 1][:1]
    if problems:
        raise BadSettings(problems)
    return order


def changed_issues(questions: Sequence[str]) -> IssuesChanged:
    """The event that replaces the rapporteur's list. Raises BadSettings with everything that is wrong with it."""
    problems = [] if 1 <= len(questions) <= MAX_ISSUES else [f"issues: a list has 1 to {MAX_ISSUES} questions."]
    for number, question in enumerate(questions, start=1):
        problems += line_problems(f"issues: I{number}", question)
    if problems:
        raise BadSettings(problems)
    return IssuesChanged(issues=tuple(questions))
