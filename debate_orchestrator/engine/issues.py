"""The rapporteur's list of issues as the user changes it, before the first turn that argues to it."""

from __future__ import annotations

from collections.abc import Sequence

from debate_orchestrator.core import decision, schedule
from debate_orchestrator.core.events import IssuesChanged
from debate_orchestrator.core.settings import MOST_ISSUES, line_problems
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.util.errors import BadSettings, OutOfTurn, short_repr
from debate_orchestrator.util.sanitize import one_line


def current_issues(debate: DebateState) -> list[str]:
    """The questions of the list, the weightiest first. Raises OutOfTurn where it can't be changed now."""
    listed = decision.issue_list(debate)
    if listed is None or not schedule.can_change_issues(debate):
        raise OutOfTurn(schedule.ISSUES_SETTLED, hint="a list of your own, under `issues`, in another debate")
    return [one_line(question) for question in listed.issues.values()]


def in_new_order(questions: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The list that is meant by ids of issues that stay (`I3`) and new questions, in their new order. Raises
    BadSettings with everything that is wrong."""
    found, errors = list[str](), list[str]()
    for word in wanted:
        number = word.strip().upper().removeprefix("I")
        if not number.isdigit():
            found.append(decision.without_number(word).strip())
        elif len(number) < 4 and 1 <= int(number) <= len(questions):
            found.append(questions[int(number) - 1])
        else:
            errors.append(f"issues: there is no {short_repr(word)}; the list has I1 to I{len(questions)}.")
    errors += [f"issues: {short_repr(text)} stands there twice." for text in found if found.count(text) > 1][:1]
    if errors:
        raise BadSettings(errors)
    return found


def changed_issues(questions: Sequence[str]) -> IssuesChanged:
    """The event that puts this list in the place of the rapporteur's. Raises BadSettings with everything that is
    wrong with it."""
    errors = [] if 1 <= len(questions) <= MOST_ISSUES else [f"issues: a list has 1 to {MOST_ISSUES} questions."]
    for number, question in enumerate(questions, start=1):
        errors += line_problems(f"issues: I{number}", question)
    if errors:
        raise BadSettings(errors)
    return IssuesChanged(issues=tuple(questions))
