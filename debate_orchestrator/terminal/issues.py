"""A person at a terminal strikes, adds and moves issues of the list that the rapporteur drew up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from debate_orchestrator.core.events import IssuesChanged
from debate_orchestrator.engine.issues import changed_issues
from debate_orchestrator.terminal.prompt import Line, Prompter, Question
from debate_orchestrator.util.errors import BadSettings, short_repr

_HELP = "-4 strikes I4, 7>1 moves I7 to the first place, + and a question adds it. Enter goes on."


async def change_issues(prompter: Prompter, questions: Sequence[str]) -> IssuesChanged:
    """The list as the person wants it. Raises Leave."""
    listed = list(questions)
    while True:
        shown = (f"  I{number}. {question}" for number, question in enumerate(listed, start=1))
        prompter.tell("", Line("The list of issues, the weightiest first:", True), *shown)
        answer = await prompter.ask(Question("Change it?", (_HELP,)))
        try:
            if not answer:
                return changed_issues(listed)
            listed = changed(listed, answer)
        except BadSettings as error:
            prompter.tell(*error.complaints)


def changed(questions: Sequence[str], change: str) -> list[str]:
    """The list after one change as it is typed: `-4`, `7>1`, `+ question`. Raises BadSettings."""
    listed = list(questions)
    if change.startswith("+") and (added := change[1:].strip()):
        return [*listed, added]
    numbers = [int(number) for number in re.findall(r"\d{1,3}", change)]
    if not numbers or not all(1 <= number <= len(listed) for number in numbers):
        raise BadSettings(f"{short_repr(change)} names no issue from I1 to I{len(listed)}.", hint=_HELP)
    if re.fullmatch(r"(-\s*I?\d{1,3}[\s,]*)+", change, re.IGNORECASE):
        return [question for number, question in enumerate(listed, start=1) if number not in numbers]
    if re.fullmatch(r"I?\d{1,3}\s*>\s*I?\d{1,3}", change, re.IGNORECASE):
        listed.insert(numbers[1] - 1, listed.pop(numbers[0] - 1))
        return listed
    raise BadSettings(f"{short_repr(change)} is no change of the list.", hint=_HELP)
