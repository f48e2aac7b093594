"""A form that a person fills in: one question after the other, a way back to each, and a look at it all in the end. The
form of a changed list of issues is here too."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from debate_orchestrator.core.events import IssuesChanged
from debate_orchestrator.core.shape import Shape, ShapeContext
from debate_orchestrator.engine.user_events import changed_issues
from debate_orchestrator.prompting.fields import (
    FieldPath,
    FormQuestion,
    completed,
    form_questions,
    label,
    read,
    readable,
    value,
    written,
)
from debate_orchestrator.terminal.drafts import DraftWriter
from debate_orchestrator.terminal.prompt import Line, Prompter, Question, Quit
from debate_orchestrator.util.errors import BadReply, BadSettings, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.terminal_text import Back, numbered

TYPING = ("",)
"""Begins the place of what is typed and not entered yet."""


class Form(ABC):
    """A form while a person fills it in. `entered` is what was typed so far, and is kept after every answer."""

    first = "This is the first question."
    """What is said where there is no way back."""
    short: Callable[[list[FormQuestion]], list[FormQuestion]] | None = None
    """Picks the questions that are asked unless the person wants more; None where all are asked."""

    def __init__(
        self,
        prompter: Prompter,
        shape: Shape,
        shape_context: ShapeContext,
        writer: DraftWriter[Mapping[FieldPath, str]],
        entered: dict[FieldPath, str],
    ):
        self.prompter, self.shape, self.shape_context = prompter, shape, shape_context
        self.writer, self.entered = writer, entered

    @abstractmethod
    def prompt_for(self, question: FormQuestion) -> Question:
        """A question of the form as it is asked at the terminal."""

    @abstractmethod
    def name(self, part: str) -> str:
        """The name of a side or a criterion; empty for anything else."""

    def computed(self, entered: Mapping[FieldPath, str]) -> Mapping[FieldPath, str]:
        """Answers that need not be asked for, by what was entered."""
        return {}

    def questions(self) -> list[FormQuestion]:
        return self._asked_for(self.entered)

    def _asked_for(self, entered: Mapping[FieldPath, str]) -> list[FormQuestion]:
        """The questions that a person answers, as far as they are known from what was entered."""
        computed = self.computed(entered)
        return [
            question
            for question in form_questions(self.shape, self.shape_context, {**entered, **computed})
            if question.field_path not in computed
        ]

    def asked(self) -> list[FormQuestion]:
        """The questions that are asked."""
        every = self.questions()
        wanted = self.short(every) if self.short else every
        return [question for question in every if question in wanted or question.field_path in self.entered]

    def reply(self) -> dict[str, Any] | None:
        """What was entered, with defaults for what was not asked; None while something is missing."""
        given = {**self.entered, **self.computed(self.entered)}
        full = completed(self.shape, self.shape_context, given) if self.short else given
        return value(self.shape, self.shape_context, full)

    async def fill_in(
        self,
        problems: Callable[[], list[str]] | None = None,
        question: FormQuestion | None = None,
        remarks: Callable[[], list[str]] = list,
    ) -> None:
        """Asks `question`, if one is given, and then every question without a valid answer. With `problems`, what
        was entered is then shown, to be changed or handed in; it returns what is wrong with the whole, and `remarks`
        what may be meant so. Raises Quit."""
        while True:
            question = question or self._missing()
            try:
                if question is not None:
                    await self.ask(question)
                    question = None
                elif problems is None or (question := await self._look(problems, remarks)) is None:
                    return
            except Back:
                question = self._before(question)

    def _missing(self) -> FormQuestion | None:
        unread = (asked for asked in self.asked() if not readable(asked, self.shape_context, self.entered))
        return next(unread, None)

    def _before(self, question: FormQuestion | None) -> FormQuestion:
        """The question before that one: the last one before all of them are shown."""
        asked = self.asked()
        field_paths = [other.field_path for other in asked]
        at = len(asked)
        if question is not None and question.field_path in field_paths:
            at = field_paths.index(question.field_path)
        if at == 0:
            self.prompter.tell(self.first)
        return asked[max(0, at - 1)]

    async def ask(self, question: FormQuestion) -> None:
        """Asks one question until its answer is valid."""
        typing = (*TYPING, *question.field_path)
        problems: list[str] = []
        short_list = False
        while True:
            stands = question.short and readable(question, self.shape_context, self.entered)
            standing = self.entered[question.field_path] if stands else ""
            now = self.entered.get(typing, "" if standing else self.entered.get(question.field_path, ""))
            prompt = self.prompt_for(question)
            prompt = prompt._replace(
                lines=(*prompt.lines, *problems),
                now=now,
                default=standing or prompt.default,
                back=True,
                changed=lambda typed: self.writer.soon({**self.entered, typing: typed}),
            )
            try:
                answer = await self.prompter.ask(prompt) or standing
                value = read(question, self.shape_context, answer)
                if question.lacking and value in (None, False) and not short_list:
                    short_list = True
                    lacking = plural(question.lacking, "more item")
                    raise BadReply(f"The list should have {lacking}. The same again ends it.")
            except Quit as quitting:
                if quitting.typed:
                    self.entered[typing] = quitting.typed
                raise
            except BadReply as error:
                problems = error.problems if answer or short_list else ["An answer is needed here."]
                self.entered[typing] = "" if question.short else answer
            else:
                self.entered.pop(typing, None)
                self.entered[question.field_path] = answer
                if prompt.private:
                    self.prompter.tell(f"{label(question, self.name)}: {self.shown(question)}")
                return
            finally:
                self.writer.now(self.entered)

    async def _look(self, problems: Callable[[], list[str]], remarks: Callable[[], list[str]]) -> FormQuestion | None:
        """Shows all that was entered. Returns the question to be answered anew, or None where it is handed in."""
        every, wrong = self.questions(), problems()
        if self.short:
            every = self._asked_for(completed(self.shape, self.shape_context, self.entered))
        notes = [] if wrong else remarks()
        shown = [Line(text, True) for text in (*wrong, *notes)]
        self.prompter.tell("", Line("This is your reply:", True), *self.view(every), *shown)
        unasked = [question for question in every if question.field_path not in self.entered]
        keys = [
            "" if wrong else "Enter keeps that and hands it in" if notes else "Enter hands it in",
            "a number changes that answer",
        ]
        keys += ["more asks what was not asked"] if unasked else []
        question = Question(f"{', '.join(key for key in keys if key)}.", back=True, private=True)
        while True:
            answer = (await self.prompter.ask(question)).lower()
            if answer in ("", "y", "yes") and not wrong:
                return None
            if unasked and answer in ("m", "more"):
                self.short = None
                return unasked[0]
            if (n := numbered(answer, len(every))) is not None:
                return every[n - 1]
            self.prompter.tell(f"{short_repr(answer)} is not a number from 1 to {len(every)}.")

    def view(self, every: list[FormQuestion] | None = None) -> list[str]:
        """What was entered, under the numbers of its questions; of `every` question also those that were not asked."""
        rows = []
        for n, question in enumerate(self.asked() if every is None else every, 1):
            if question.field_path in self.entered:
                rows.append(f"{n:3} {label(question, self.name)}: {self.shown(question)}")
            elif every is not None:
                rows.append(f"{n:3} {label(question, self.name)}: {question.default or 'none'} (not asked)")
        return rows

    def shown(self, question: FormQuestion) -> str:
        """An answer as it was understood."""
        try:
            return written(read(question, self.shape_context, self.entered[question.field_path])) or "none"
        except BadReply:
            return self.entered[question.field_path]

    def progress_text(self, question: FormQuestion) -> str:
        """How far the form is filled in."""
        field_paths = [other.field_path for other in self.asked()]
        at = field_paths.index(question.field_path) + 1 if question.field_path in field_paths else len(field_paths)
        return f"Question {at} of {len(field_paths)}"


_CHANGES = "-4 strikes I4, 7>1 moves I7 to the first place, + and a question adds it. Enter goes on."


async def change_issues(prompter: Prompter, questions: Sequence[str]) -> IssuesChanged:
    """The list as the person wants it. Raises Quit."""
    listed = list(questions)
    while True:
        shown = (f"  I{number}. {question}" for number, question in enumerate(listed, start=1))
        prompter.tell("", Line("The list of issues, the weightiest first:", True), *shown)
        answer = await prompter.ask(Question("Change it?", (_CHANGES,)))
        try:
            if not answer:
                return changed_issues(listed)
            listed = changed(listed, answer)
        except BadSettings as error:
            prompter.tell(*error.problems)


def changed(questions: Sequence[str], change: str) -> list[str]:
    """The list after one change as it is typed: `-4`, `7>1`, `+ question`. Raises BadSettings."""
    listed = list(questions)
    if change.startswith("+") and (added := change[1:].strip()):
        return [*listed, added]
    numbers = [int(number) for number in re.findall(r"\d{1,3}", change)]
    if not numbers or not all(1 <= number <= len(listed) for number in numbers):
        raise BadSettings(f"{short_repr(change)} names no issue from I1 to I{len(listed)}.", hint=_CHANGES)
    if re.fullmatch(r"(-\s*I?\d{1,3}[\s,]*)+", change, re.IGNORECASE):
        return [question for number, question in enumerate(listed, start=1) if number not in numbers]
    if re.fullmatch(r"I?\d{1,3}\s*>\s*I?\d{1,3}", change, re.IGNORECASE):
        listed.insert(numbers[1] - 1, listed.pop(numbers[0] - 1))
        return listed
    raise BadSettings(f"{short_repr(change)} is no change of the list.", hint=_CHANGES)
