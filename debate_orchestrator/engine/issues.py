"""The rapporteur's list of issues as the user changes it, before the first turn that argues to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from debate_orchestrator.core import rapporteur, schedule
from debate_orchestrator.core.events import IssuesChanged
from debate_orchestrator.core.settings import MAX_ISSUES, line_problems
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import BadSettings, OutOfTurn, short_repr, with_hint
from debate_orchestrator.util.sanitize import one_line

_ID = re.compile(r"I?(\d{1,3})", re.IGNORECASE | re.ASCII)
_MIN_WORDS = 3


def current_issues(debate: DebateState) -> list[str]:
    """The questions of the list, the weightiest first. Raises OutOfTurn where it can't be changed now."""
    listed = rapporteur.issue_list(debate)
    if listed is None or not schedule.can_change_issues(debate):
        raise OutOfTurn(schedule.ISSUES_SETTLED, hint="a list of your own, under `issues`, in another debate")
    return [one_line(question) for question in listed.issues.values()]


def in_new_order(questions: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The list that is meant by ids of issues that stay (`I3`, or several as `I3,I1`) and new questions, in their new
    order. A new question has three words at least, so that nothing mistyped becomes one. Raises BadSettings with
    everything that is wrong."""
    found, problems = list[str](), list[str]()
    for argument in wanted:
        parts = [part for part in re.split(r"[,\s]+", argument.strip()) if part]
        numbers = [_ID.fullmatch(part) for part in parts]
        if parts and all(numbers):
            for part, number in zip(parts, numbers, strict=True):
                if number and 1 <= int(number[1]) <= len(questions):
                    found.append(questions[int(number[1]) - 1])
                else:
                    problems.append(f"issues: there is no {short_repr(part)}; the list has I1 to I{len(questions)}.")
        elif len(parts) < _MIN_WORDS:
            hint = "ids such as I3 of those that stay, and whole questions"
            problems.append(with_hint(f"issues: {short_repr(argument)} is no id and no question.", hint))
        else:
            found.append(rapporteur.without_number(argument).strip())
    problems += [f"issues: {short_repr(text)} appears twice." for text in found if found.count(text) > 1][:1]
    if problems:
        raise BadSettings(problems)
    return found


def changed_issues(questions: Sequence[str]) -> IssuesChanged:
    """The event that puts this list in the place of the rapporteur's. Raises BadSettings with everything that is
    wrong with it."""
    problems = [] if 1 <= len(questions) <= MAX_ISSUES else [f"issues: a list has 1 to {MAX_ISSUES} questions."]
    for number, question in enumerate(questions, start=1):
        problems += line_problems(f"issues: I{number}", question)
    if problems:
        raise BadSettings(problems)
    return IssuesChanged(issues=tuple(questions))
