"""A reviewer's ballot at the terminal: a vote before, the debate as its sides spoke it, the judges' questions, a vote
after and a reason. Every answer is kept at once; no one else's votes are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from debate_orchestrator.core.shape import Shape
from debate_orchestrator.prompting.fields import (
    FieldPath,
    FormQuestion,
    form_questions,
    hint,
    read,
    readable,
    written,
)
from debate_orchestrator.reports.reviews import READ, ReviewForm, ReviewTexts, in_order, worded
from debate_orchestrator.terminal.drafts import DraftWriter
from debate_orchestrator.terminal.form import Form
from debate_orchestrator.terminal.prompt import Prompter, Question, unknown_choice
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back

_FIRST, _SECOND = ("seen", "before"), ("rounds", "final", "after", "why")
_HEAD = ("ballot", "journal", "reviewer", "date")
Keep = Callable[[dict[str, Any]], None]


class ReviewBallotForm(Form):
    """One ballot under way: its first part, then the debate, then the second. `given` is the ballot so far, in the form
    that is filed."""

    def __init__(
        self,
        prompter: Prompter,
        texts: ReviewTexts,
        form: ReviewForm,
        given: dict[str, Any],
        show: Callable[[], None],
        keep: Keep,
    ):
        """`show` shows the debate; `keep` keeps a draft after every answer."""
        self.texts, self.form = texts, form
        self._show, self._head = show, {name: given[name] for name in _HEAD if name in given}
        self._was_read = given.get(READ) is True
        self._whole = form.asked(*_FIRST, *_SECOND)
        writer = DraftWriter[Mapping[FieldPath, str]](
            lambda entered: keep(self.ballot() | ({READ: True} if self._was_read else {}))
        )
        super().__init__(prompter, form.asked(*_FIRST), form.shape_context, writer, _entered(self._whole, form, given))

    async def take(self) -> dict[str, Any]:
        """The ballot, complete and confirmed. Raises Quit with what was answered kept."""
        self.prompter.tell(self.texts.said["again" if self.entered else "welcome"])
        seen, *_, before = self.questions()
        if not self._was_read:
            await self.fill_in()
        while not await self._read_debate():
            if self._was_read:
                self.prompter.tell(self.texts.said["stands"])
            else:
                await self.fill_in(question=before)
        if read(seen, self.shape_context, self.entered[seen.field_path]):
            self.prompter.tell(self.texts.said["seen"])
        self.shape, self.first = self.form.asked(*_SECOND), self.texts.said["stands"]
        await self.fill_in(lambda: [])
        return self.ballot()

    async def _read_debate(self) -> bool:
        """Shows the debate; the vote before stands from then on. False where the question before is wanted."""
        wording = self.texts.questions[READ]
        question = Question(
            wording.text, (wording.help,), tuple(wording.choices.items()), next(iter(wording.choices)), back=True
        )
        try:
            while (answer := await self.prompter.ask(question)) not in wording.choices:
                self.prompter.tell(unknown_choice(question))
        except Back:
            return False
        self._was_read = True
        self.writer.now(self.entered)
        if answer == "here":
            self._show()
        if rated := self.form.rated:
            rows = (f"  {title} ({scale}): {about}" for title, scale, about in rated)
            self.prompter.tell("", self.texts.said["scored"], *rows)
        return True

    def ballot(self) -> dict[str, Any]:
        """The ballot so far, its parts in the order of a filed one."""
        ballot: dict[str, Any] = dict(self._head)
        for question in form_questions(self._whole, self.shape_context, self.entered):
            if not readable(question, self.shape_context, self.entered):
                continue
            *path, last = (int(part) if part.isdigit() else part for part in question.field_path)
            part: dict[Any, Any] = ballot
            for key in path:
                part = part.setdefault(key, {})
            answer = read(question, self.shape_context, self.entered[question.field_path])
            part[last] = one_line(answer) if last == "why" else answer
        return in_order(self.form, ballot)

    # What is asked, in the words of prompts/reviewing.yaml

    def prompt_for(self, question: FormQuestion) -> Question:
        wording = worded(self.form, question.field_path, question.about)
        expected = hint(question, self.shape_context) if question.field.kind in ("scores", "number") else ""
        return Question(
            wording.text,
            (wording.help, expected),
            self._choices(question, wording.choices),
            explanation=(self.texts.said["keys"],),
            status=lambda typed: self._status(question),
        )

    def _choices(self, question: FormQuestion, worded: dict[str, str]) -> tuple[tuple[str, str], ...]:
        if worded:
            return tuple(worded.items())
        positions, format = self.form.debate.opened.settings.positions, self.form.debate.format
        meanings = {side: f"{format.name_of(side)}: {one_line(positions[side])}" for side in self.form.sides}
        meanings = self.texts.words | meanings
        return tuple((option, meanings.get(option, "")) for option in question.options(self.shape_context))

    def _status(self, question: FormQuestion) -> str:
        every = form_questions(self._whole, self.shape_context, self.entered)
        at = next((n for n, other in enumerate(every, 1) if other.field_path == question.field_path), 0)
        return f"{at} of {len(every)}" if at else ""

    def name(self, part: str) -> str:
        return self.form.debate.format.name_of(part) if part in self.form.sides else ""


async def ask_name(prompter: Prompter, texts: ReviewTexts) -> str:
    """The name that a reviewer signs with."""
    question = Question(texts.questions["name"].text)
    while not (name := await prompter.ask(question)):
        prompter.tell(texts.said["needed"])
    return name


def _entered(shape: Shape, form: ReviewForm, given: dict[str, Any]) -> dict[FieldPath, str]:
    """The earlier answers, as they would be typed. Invalid ones are left out, and so asked again."""
    entered: dict[FieldPath, str] = {}
    while True:
        found: dict[FieldPath, str] = {}
        for question in form_questions(shape, form.shape_context, entered):
            answer: Any = given
            for key in question.field_path:
                parts = answer if isinstance(answer, dict) else {}
                answer = next((part for name, part in parts.items() if str(name) == key), None)
            here = {question.field_path: written(answer)}
            if (
                answer is not None
                and question.field_path not in entered
                and readable(question, form.shape_context, here)
            ):
                found |= here
        if not found:
            return entered
        entered |= found
