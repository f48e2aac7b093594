"""Forms that a person fills in: one question after the other, a way back to each, and a look at it all in the end. A
reviewer's ballot and a changed list of issues are forms too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from debate_orchestrator.core.events import IssuesChanged
from debate_orchestrator.core.shape import Shape, ShapeContext
from debate_orchestrator.engine.debate import changed_issues
from debate_orchestrator.prompting.forms import (
    FieldPath,
    FormQuestion,
    answer_text,
    form_questions,
    form_value,
    has_valid_answer,
    hint,
    parse_answer,
    question_title,
    with_defaults,
)
from debate_orchestrator.prompting.person_turns import ballot_remarks
from debate_orchestrator.reports.ballot_filing import WAS_READ_KEY
from debate_orchestrator.reports.reviewer_ballots import (
    ReviewerBallot,
    ReviewForm,
    ReviewTexts,
    in_order,
    question_text,
)
from debate_orchestrator.terminal.asking import Asker, Line, Question, Quit, unknown_choice
from debate_orchestrator.terminal.drafts import DraftWriter
from debate_orchestrator.util.errors import BadReply, BadSettings, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back, option_number

DRAFT_PREFIX = ("",)
"""The first part of the path in a draft under which text is kept that was typed but not yet entered."""


class Form(ABC):
    """A form while a person fills it in. `answers` has what was typed so far, and is saved after each
    answer."""

    at_first_message = "This is the first question."
    """The message if there is no way back."""
    choose_short_form: Callable[[list[FormQuestion]], list[FormQuestion]] | None = None
    """Chooses the questions of the short form, which are asked unless the person wants more; None if all are asked."""

    def __init__(
        self,
        asker: Asker,
        shape: Shape,
        shape_context: ShapeContext,
        writer: DraftWriter[Mapping[FieldPath, str]],
        answers: dict[FieldPath, str],
    ):
        self.asker, self.shape, self.shape_context = asker, shape, shape_context
        self.writer, self.answers = writer, answers

    @abstractmethod
    def prompt_for(self, question: FormQuestion) -> Question:
        """A question of the form as it is asked at the terminal."""

    @abstractmethod
    def name(self, part: str) -> str:
        """The name of a side or a criterion; empty for anything else."""

    def computed(self, answers: Mapping[FieldPath, str]) -> Mapping[FieldPath, str]:
        """Answers that need not be asked for, by what was entered."""
        return {}

    def questions(self, answers: Mapping[FieldPath, str] | None = None) -> list[FormQuestion]:
        """The questions that a person answers, as far as they are known from these answers, or what was entered."""
        answers = self.answers if answers is None else answers
        computed = self.computed(answers)
        return [
            question
            for question in form_questions(self.shape, self.shape_context, {**answers, **computed})
            if question.field_path not in computed
        ]

    def asked_questions(self) -> list[FormQuestion]:
        all_questions = self.questions()
        first = self.choose_short_form(all_questions) if self.choose_short_form else all_questions
        return [question for question in all_questions if question in first or question.field_path in self.answers]

    def reply(self) -> dict[str, Any] | None:
        """The entries, with defaults for unasked questions; None while something is missing."""
        answers = {**self.answers, **self.computed(self.answers)}
        full = with_defaults(self.shape, self.shape_context, answers) if self.choose_short_form else answers
        return form_value(self.shape, self.shape_context, full)

    async def fill_in(
        self,
        problems: Callable[[], list[str]] | None = None,
        question: FormQuestion | None = None,
        remarks: Callable[[], list[str]] = list,
    ) -> None:
        """Asks `question`, if there is one, and then every question without a valid answer. With `problems`, all
        answers are then shown, and the person changes or submits them. `problems` returns what is wrong with them as a
        whole, `remarks` what may be intended but looks odd. Raises Quit."""
        while True:
            question = question or self._missing()
            try:
                if question is not None:
                    await self.ask(question)
                    question = None
                elif problems is None or (question := await self._review(problems, remarks)) is None:
                    return
            except Back:
                question = self._question_before(question)

    def _missing(self) -> FormQuestion | None:
        unanswered = (
            question
            for question in self.asked_questions()
            if not has_valid_answer(question, self.shape_context, self.answers)
        )
        return next(unanswered, None)

    def _question_before(self, question: FormQuestion | None) -> FormQuestion:
        questions = self.asked_questions()
        field_paths = [asked_question.field_path for asked_question in questions]
        index = len(questions)
        if question is not None and question.field_path in field_paths:
            index = field_paths.index(question.field_path)
        if index == 0:
            self.asker.show(self.at_first_message)
        return questions[max(0, index - 1)]

    async def ask(self, question: FormQuestion) -> None:
        """Asks one question until its answer is valid."""
        draft_key = (*DRAFT_PREFIX, *question.field_path)
        problems: list[str] = []
        short_list = False
        while True:
            has_answer = question.has_one_word_answer and has_valid_answer(question, self.shape_context, self.answers)
            current_answer = self.answers[question.field_path] if has_answer else ""
            initial_text = self.answers.get(
                draft_key, "" if current_answer else self.answers.get(question.field_path, "")
            )
            prompt = self.prompt_for(question)
            prompt = prompt._replace(
                lines=(*prompt.lines, *problems),
                initial_text=initial_text,
                default=current_answer or prompt.default,
                can_go_back=True,
                on_change=lambda typed: self.writer.write_soon({**self.answers, draft_key: typed}),
            )
            try:
                answer = self._option_named(question, await self.asker.ask(prompt)) or current_answer
                value = parse_answer(question, self.shape_context, answer)
                if question.lacking and value in (None, False) and not short_list:
                    short_list = True
                    missing_text = f"The list should have {plural(question.lacking, 'more item')}."
                    raise BadReply(f"{missing_text} Enter one, or give the same answer again to end the list as it is.")
            except Quit as quitting:
                if quitting.typed:
                    self.answers[draft_key] = quitting.typed
                raise
            except BadReply as error:
                problems = error.problems if answer or short_list else ["An answer is needed here."]
                self.answers[draft_key] = "" if question.has_one_word_answer else answer
            else:
                self.answers.pop(draft_key, None)
                self.answers[question.field_path] = answer
                if prompt.private:
                    self.asker.show(f"{question_title(question, self.name)}: {self.answer_text(question)}")
                return
            finally:
                self.writer.write_now(self.answers)

    def _option_named(self, question: FormQuestion, answer: str) -> str:
        """The option whose name was typed, as `a` for `Researcher A`; otherwise what was typed."""
        options = question.options(self.shape_context) if question.field.kind == "choice" else ()
        names = {self.name(option).casefold(): option for option in options if self.name(option)}
        return names.get(answer.strip().casefold(), answer)

    async def _review(self, problems: Callable[[], list[str]], remarks: Callable[[], list[str]]) -> FormQuestion | None:
        """Shows all that was entered. Returns the question to be answered again, or None if it is handed in."""
        all_questions, problem_texts = self.questions(), problems()
        if self.choose_short_form:
            all_questions = self.questions(with_defaults(self.shape, self.shape_context, self.answers))
        notes = [] if problem_texts else remarks()
        lines = [Line(text, True) for text in (*problem_texts, *notes)]
        self.asker.show("", Line("This is your reply:", True), *self.view(all_questions), *lines)
        unasked = [question for question in all_questions if question.field_path not in self.answers]
        keys = [
            "" if problem_texts else "Enter keeps that and hands it in" if notes else "Enter hands it in",
            "a number changes that answer",
        ]
        keys += ["more asks what was not asked"] if unasked else []
        question = Question(f"{', '.join(key for key in keys if key)}.", can_go_back=True, private=True)
        while True:
            answer = (await self.asker.ask(question)).lower()
            if answer in ("", "y", "yes") and not problem_texts:
                return None
            if unasked and answer in ("m", "more"):
                self.choose_short_form = None
                return unasked[0]
            if (n := option_number(answer, len(all_questions))) is not None:
                return all_questions[n - 1]
            self.asker.show(f"{short_repr(answer)} is not a number from 1 to {len(all_questions)}.")

    def view(self, all_questions: list[FormQuestion] | None = None) -> list[str]:
        """The entries under the numbers of their questions; of `all_questions` also those that were not asked."""
        rows = []
        for n, question in enumerate(self.asked_questions() if all_questions is None else all_questions, 1):
            if question.field_path in self.answers:
                rows.append(f"{n:3} {question_title(question, self.name)}: {self.answer_text(question)}")
            elif all_questions is not None:
                rows.append(f"{n:3} {question_title(question, self.name)}: {question.default or 'none'} (not asked)")
        return rows

    def answer_text(self, question: FormQuestion) -> str:
        try:
            return answer_text(parse_answer(question, self.shape_context, self.answers[question.field_path])) or "none"
        except BadReply:
            return self.answers[question.field_path]

    def numbered_questions(self) -> list[FormQuestion]:
        """The questions that are numbered in the status."""
        return self.asked_questions()

    def progress_text(self, question: FormQuestion) -> str:
        field_paths = [question.field_path for question in self.numbered_questions()]
        index = field_paths.index(question.field_path) + 1 if question.field_path in field_paths else len(field_paths)
        return f"Question {index} of {len(field_paths)}"


async def change_issues(asker: Asker, questions: Sequence[str]) -> IssuesChanged:
    """The list as the person wants it, one question a line. Raises Quit."""
    text = "\n".join(map(one_line, questions))
    asker.show("", Line("The list of issues, the weightiest first, a line each. Strike, move or add lines.", True))
    asker.show("Alt-Enter, Esc Enter or Ctrl-D takes it; Ctrl-C leaves it as it was.")
    while True:
        text = await asker.ask(Question(multiline=True, initial_text=text, private=True))
        try:
            return changed_issues([line.strip() for line in text.split("\n") if line.strip()])
        except BadSettings as error:
            asker.show(*error.problems)


_FIRST_PART, _SECOND_PART = ("seen", "before"), ("rounds", "final", "after", "why")
_HEAD_FIELDS = ("ballot", "journal", "reviewer", "date")
SaveDraft = Callable[[dict[str, Any]], None]


class ReviewBallotForm(Form):
    """One ballot under way: its first part, the debate, the second part. `ballot` is it so far, as it is filed."""

    def __init__(
        self,
        asker: Asker,
        texts: ReviewTexts,
        form: ReviewForm,
        ballot: dict[str, Any],
        show: Callable[[], None],
        save: SaveDraft,
    ):
        """`show` shows the debate; `save` saves a draft after every answer."""
        self.texts, self.form = texts, form
        self._show, self._head = show, {name: ballot[name] for name in _HEAD_FIELDS if name in ballot}
        self._was_read = ballot.get(WAS_READ_KEY) is True
        self._full_shape = form.parts(*_FIRST_PART, *_SECOND_PART)
        writer = DraftWriter[Mapping[FieldPath, str]](
            lambda answers: save(self.ballot() | ({WAS_READ_KEY: True} if self._was_read else {}))
        )
        super().__init__(
            asker,
            form.parts(*_FIRST_PART),
            form.shape_context,
            writer,
            _typed_answers(self._full_shape, form, ballot),
        )

    async def run(self) -> dict[str, Any]:
        """The ballot, complete and confirmed. Raises Quit with what was answered kept."""
        self.asker.show(self.texts.messages["again" if self.answers else "welcome"])
        was_seen, *_, before = self.questions()
        if not self._was_read:
            await self.fill_in()
        while not await self._read_debate():
            if self._was_read:
                self.asker.show(self.texts.messages["stands"])
            else:
                await self.fill_in(question=before)
        if parse_answer(was_seen, self.shape_context, self.answers[was_seen.field_path]):
            self.asker.show(self.texts.messages["seen"])
        self.shape, self.at_first_message = self.form.parts(*_SECOND_PART), self.texts.messages["stands"]
        await self.fill_in(lambda: [], remarks=lambda: reviewer_remarks(self.form, self.form.ballot(self.ballot())))
        return self.ballot()

    async def _read_debate(self) -> bool:
        """Shows the debate; the vote before is final from then on. Returns False if the question before is wanted."""
        wording = self.texts.questions[WAS_READ_KEY]
        question = Question(
            wording.text, (wording.help,), tuple(wording.choices.items()), next(iter(wording.choices)), can_go_back=True
        )
        try:
            while (answer := await self.asker.ask(question)) not in wording.choices:
                self.asker.show(unknown_choice(question))
        except Back:
            return False
        self._was_read = True
        self.writer.write_now(self.answers)
        if answer == "here":
            self._show()
        if rated := self.form.criteria_shown:
            rows = (f"  {title} ({scale}): {about}" for title, scale, about in rated)
            self.asker.show("", self.texts.messages["scored"], *rows)
        return True

    def ballot(self) -> dict[str, Any]:
        """The ballot so far, its parts in the order of a filed one."""
        ballot: dict[str, Any] = dict(self._head)
        for question in self.numbered_questions():
            if not has_valid_answer(question, self.shape_context, self.answers):
                continue
            *path, last = (int(part) if part.isdigit() else part for part in question.field_path)
            part: dict[Any, Any] = ballot
            for key in path:
                part = part.setdefault(key, {})
            answer = parse_answer(question, self.shape_context, self.answers[question.field_path])
            part[last] = one_line(answer) if last == "why" else answer
        return in_order(self.form, ballot)

    def numbered_questions(self) -> list[FormQuestion]:
        """The questions of both parts."""
        return form_questions(self._full_shape, self.shape_context, self.answers)

    # What is asked, in the words of prompts/reviewing.yaml

    def prompt_for(self, question: FormQuestion) -> Question:
        wording = question_text(self.form, question.field_path, question.about)
        expected = hint(question, self.shape_context) if question.field.kind in ("scores", "number") else ""
        return Question(
            wording.text,
            (wording.help, expected),
            self._choices(question, wording.choices),
            explanation=(self.texts.messages["keys"],),
            status=lambda typed: self.progress_text(question),
        )

    def _choices(self, question: FormQuestion, worded: dict[str, str]) -> tuple[tuple[str, str], ...]:
        if worded:
            return tuple(worded.items())
        positions, format = self.form.debate.opened.settings.positions, self.form.debate.format
        meanings = {side: f"{format.name_of(side)}: {one_line(positions[side])}" for side in self.form.sides}
        meanings = self.texts.words | meanings
        return tuple((option, meanings.get(option, "")) for option in question.options(self.shape_context))

    def name(self, part: str) -> str:
        return self.form.debate.format.name_of(part) if part in self.form.sides else ""


def reviewer_remarks(form: ReviewForm, reviewer_ballot: ReviewerBallot) -> list[str]:
    ballots = {**{f"Round {n}: ": ballot for n, ballot in reviewer_ballot.rounds.items()}, "": reviewer_ballot.final}
    return [
        f"{where}{remark}" for where, ballot in ballots.items() for remark in ballot_remarks(form.debate.format, ballot)
    ]


async def ask_name(asker: Asker, texts: ReviewTexts) -> str:
    question = Question(texts.questions["name"].text)
    while not (name := await asker.ask(question)):
        asker.show(texts.messages["needed"])
    return name


def _typed_answers(shape: Shape, form: ReviewForm, values: dict[str, Any]) -> dict[FieldPath, str]:
    """The earlier answers, as they would be typed. Invalid ones are left out, and so asked again."""
    answers: dict[FieldPath, str] = {}
    while True:
        new_answers: dict[FieldPath, str] = {}
        for question in form_questions(shape, form.shape_context, answers):
            answer: Any = values
            for key in question.field_path:
                parts = answer if isinstance(answer, dict) else {}
                answer = next((part for name, part in parts.items() if str(name) == key), None)
            typed = {question.field_path: answer_text(answer)}
            if (
                answer is not None
                and question.field_path not in answers
                and has_valid_answer(question, form.shape_context, typed)
            ):
                new_answers |= typed
        if not new_answers:
            return answers
        answers |= new_answers
