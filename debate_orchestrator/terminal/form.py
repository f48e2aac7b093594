"""The form of a structured turn, which a person fills in: one question after the other, a way back to each, and a look
at it all in the end. A changed list of issues is edited as a text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from debate_orchestrator.core import rapporteur, schedule, transcript_entries
from debate_orchestrator.core.events import IssuesChanged
from debate_orchestrator.engine.user_events import changed_issues
from debate_orchestrator.prompting.fields import (
    FieldPath,
    FormQuestion,
    completed,
    form_questions,
    hint,
    label,
    read,
    readable,
    value,
    written,
)
from debate_orchestrator.prompting.person_turns import (
    computed,
    form_remarks,
    part_name,
    question_label,
    short_form,
)
from debate_orchestrator.terminal.drafts import DraftWriter
from debate_orchestrator.terminal.person_turn import PersonTurn
from debate_orchestrator.terminal.prompt import LINE_KEYS, Line, Prompter, Question, Quit
from debate_orchestrator.util.errors import BadReply, BadSettings, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import count_words, one_line
from debate_orchestrator.util.terminal_text import Back, numbered

TYPING = ("",)
"""Begins the place of what is typed and not entered yet."""


class TurnForm:
    """The form of one turn, while a person fills it in. `entered` is what was typed so far, and is kept after every
    answer. A judge is asked six questions at most, unless they want more."""

    def __init__(self, person_turn: PersonTurn):
        debate, turn, brief = person_turn.debate, person_turn.turn, person_turn.brief
        self._person_turn, self._prompter = person_turn, person_turn.prompter
        self._shape, self._shape_context = debate.shape(turn) or {}, schedule.shape_context(debate, turn)
        self._short = short_form(debate, turn)
        """Picks the questions that are asked unless the person wants more; None where all are asked."""
        self.entered = person_turn.drafts.entered(brief)
        self._writer = DraftWriter[Mapping[FieldPath, str]](
            lambda values: person_turn.drafts.keep_entered(brief, values)
        )
        entries = transcript_entries.entries_for(debate, turn)
        meanings = {entry.turn.id: debate.format.heading_of(entry.turn) for entry in entries}
        meanings |= debate.format.rubric.convergence
        self._meanings = meanings | {side: debate.format.name_of(side) for side in self._shape_context.sides}

    async def take(self) -> str:
        """The reply as it is handed in, valid. Raises Quit, with all that was entered kept."""
        if self.entered:
            self._prompter.tell(Line("What you had entered is here again.", True))
        self._prompter.tell("", f"Fill in the form: ? explains a question, {LINE_KEYS}.")
        question: FormQuestion | None = None
        while True:
            question = question or self._missing()
            try:
                if question is not None:
                    await self._ask(question)
                    question = None
                elif (question := await self._look()) is None:
                    return self._text()
            except Back:
                question = self._before(question)

    def _questions(self, entered: Mapping[FieldPath, str]) -> list[FormQuestion]:
        """The questions that a person answers, as far as they are known from what was entered."""
        computed = self._computed(entered)
        return [
            question
            for question in form_questions(self._shape, self._shape_context, {**entered, **computed})
            if question.field_path not in computed
        ]

    def _computed(self, entered: Mapping[FieldPath, str]) -> Mapping[FieldPath, str]:
        """Answers that need not be asked for, by what was entered."""
        return computed(self._person_turn.debate, self._person_turn.turn, entered)

    def _asked(self) -> list[FormQuestion]:
        """The questions that are asked."""
        every = self._questions(self.entered)
        wanted = self._short(every) if self._short else every
        return [question for question in every if question in wanted or question.field_path in self.entered]

    def _text(self) -> str:
        """What was entered as a reply, with defaults for what was not asked; `null` while something is missing."""
        answers = {**self.entered, **self._computed(self.entered)}
        full = completed(self._shape, self._shape_context, answers) if self._short else answers
        return json.dumps(value(self._shape, self._shape_context, full), ensure_ascii=False, indent=1)

    def _missing(self) -> FormQuestion | None:
        unread = (asked for asked in self._asked() if not readable(asked, self._shape_context, self.entered))
        return next(unread, None)

    def _before(self, question: FormQuestion | None) -> FormQuestion:
        """The question before that one: the last one before all of them are shown."""
        asked = self._asked()
        field_paths = [other.field_path for other in asked]
        at = len(asked)
        if question is not None and question.field_path in field_paths:
            at = field_paths.index(question.field_path)
        if at == 0:
            self._prompter.tell("This is the first question.")
        return asked[max(0, at - 1)]

    async def _ask(self, question: FormQuestion) -> None:
        """Asks one question until its answer is valid."""
        typing = (*TYPING, *question.field_path)
        problems: list[str] = []
        short_list = False
        while True:
            stands = question.short and readable(question, self._shape_context, self.entered)
            standing = self.entered[question.field_path] if stands else ""
            now = self.entered.get(typing, "" if standing else self.entered.get(question.field_path, ""))
            prompt = self._prompt_for(question)
            prompt = prompt._replace(
                lines=(*prompt.lines, *problems),
                now=now,
                default=standing or prompt.default,
                back=True,
                changed=lambda typed: self._writer.soon({**self.entered, typing: typed}),
            )
            try:
                answer = await self._prompter.ask(prompt) or standing
                value = read(question, self._shape_context, answer)
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
                    self._prompter.tell(f"{label(question, self._name)}: {self._answer(question)}")
                return
            finally:
                self._writer.now(self.entered)

    async def _look(self) -> FormQuestion | None:
        """Shows all that was entered. Returns the question to be answered anew, or None where it is handed in."""
        person_turn = self._person_turn
        every, wrong = self._questions(self.entered), person_turn.problems(self._text())
        if self._short:
            every = self._questions(completed(self._shape, self._shape_context, self.entered))
        notes = [] if wrong else form_remarks(person_turn.debate, person_turn.turn, self._text())
        notices = [Line(text, True) for text in (*wrong, *notes)]
        self._prompter.tell("", Line("This is your reply:", True), *self._view(every), *notices)
        unasked = [question for question in every if question.field_path not in self.entered]
        keys = [
            "" if wrong else "Enter keeps that and hands it in" if notes else "Enter hands it in",
            "a number changes that answer",
        ]
        keys += ["more asks what was not asked"] if unasked else []
        question = Question(f"{', '.join(key for key in keys if key)}.", back=True, private=True)
        while True:
            answer = (await self._prompter.ask(question)).lower()
            if answer in ("", "y", "yes") and not wrong:
                return None
            if unasked and answer in ("m", "more"):
                self._short = None
                return unasked[0]
            if (n := numbered(answer, len(every))) is not None:
                return every[n - 1]
            self._prompter.tell(f"{short_repr(answer)} is not a number from 1 to {len(every)}.")

    def _view(self, every: list[FormQuestion] | None = None) -> list[str]:
        """What was entered, under the numbers of its questions; of `every` question also those that were not asked."""
        rows = []
        for n, question in enumerate(self._asked() if every is None else every, 1):
            if question.field_path in self.entered:
                rows.append(f"{n:3} {label(question, self._name)}: {self._answer(question)}")
            elif every is not None:
                rows.append(f"{n:3} {label(question, self._name)}: {question.default or 'none'} (not asked)")
        return rows

    def _answer(self, question: FormQuestion) -> str:
        """An answer as it was understood."""
        try:
            return written(read(question, self._shape_context, self.entered[question.field_path])) or "none"
        except BadReply:
            return self.entered[question.field_path]

    def _prompt_for(self, question: FormQuestion) -> Question:
        """A question with what it means and what may be chosen."""
        options, expected = question.options(self._shape_context), hint(question, self._shape_context)
        unheard = (
            question.field_path[0] == "feedback" and self._person_turn.turn.round == self._person_turn.debate.rounds
        )
        note = "no round follows this one, so it only stands in the report" if unheard else ""
        about = "; ".join(filter(None, (question.about, note)))
        named = question_label(question, self._shape_context, self._person_turn.debate.format)
        several = question.field.kind in ("choices", "turns")
        rows = [f"  {n} {option}  {self._meanings.get(option, '')}".rstrip() for n, option in enumerate(options, 1)]
        rows = self._issues() if question.field.per_issue else rows
        listed = tuple((option, self._meanings.get(option, "")) for option in options)
        keys = f"Keys: Enter sends the answer; {LINE_KEYS}."
        return Question(
            named,
            lines=(about, *(rows if several or question.field.per_issue else ()), f"({expected})"),
            choices=() if several or question.may_be_empty else listed,
            words=options,
            explanation=("", f"{named}: {about or 'A part of your ballot'}.", f"What it takes: {expected}.", keys),
            private=True,
            status=lambda typed: self._status(question, typed),
            shows={"brief": self._person_turn.whole, "entered": lambda: "\n".join(self._view()) + "\n"},
        )

    def _issues(self) -> list[str]:
        """The list of issues in words, as the brief of this turn has them."""
        debate, listed = self._person_turn.debate, rapporteur.issue_list(self._person_turn.debate)
        renamed: Callable[[str], str] = debate.mirror.text if self._person_turn.turn.mirrored else str
        return [f"  {name}. {one_line(renamed(text))}" for name, text in listed.issues.items()] if listed else []

    def _status(self, question: FormQuestion, typed: str) -> str:
        words, most = count_words(typed), question.field.words
        length = f"{words} words" + (f" of at most {most}" if most else "") if question.field.kind == "text" else ""
        return " · ".join(filter(None, (self._progress(question), length, self._writer.problem)))

    def _progress(self, question: FormQuestion) -> str:
        """How far the form is filled in."""
        field_paths = [other.field_path for other in self._asked()]
        at = field_paths.index(question.field_path) + 1 if question.field_path in field_paths else len(field_paths)
        return f"Question {at} of {len(field_paths)}"

    def _name(self, part: str) -> str:
        """The name of a side or a criterion; empty for anything else."""
        return part_name(part, self._shape_context, self._person_turn.debate.format)


async def change_issues(prompter: Prompter, questions: Sequence[str]) -> IssuesChanged:
    """The list as the person wants it, one question a line. Raises Quit."""
    listed = "\n".join(map(one_line, questions))
    prompter.tell("", Line("The list of issues, the weightiest first, a line each. Strike, move or add lines.", True))
    prompter.tell("Alt-Enter, Esc Enter or Ctrl-D takes it; Ctrl-C leaves it as it was.")
    while True:
        listed = await prompter.ask(Question(multiline=True, now=listed, private=True))
        try:
            return changed_issues([line.strip() for line in listed.split("\n") if line.strip()])
        except BadSettings as error:
            prompter.tell(*error.problems)
