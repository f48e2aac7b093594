"""A form that a person fills in: one question after the other, a way back to each, and a look at it all in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from debate_orchestrator.core import transcript
from debate_orchestrator.core.schema import Shape, ShapeContext
from debate_orchestrator.prompting.fields import Place, Step, completed, label, read, readable, steps, value, written
from debate_orchestrator.terminal.drafts import Keeping
from debate_orchestrator.terminal.prompt import EditorWanted, Leave, Line, Prompter, Question
from debate_orchestrator.util.errors import BadReply, short_repr
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.terminal_text import Back, numbered

TYPING = ("",)
"""Begins the place of what is typed and not entered yet."""


class Form:
    """A form while a person fills it in. `entered` is what was typed so far, and is kept after every answer."""

    def __init__(
        self,
        prompter: Prompter,
        shape: Shape,
        terms: ShapeContext,
        keeping: Keeping[Mapping[Place, str]],
        entered: dict[Place, str],
        question: Callable[[Step], Question],
        *,
        name: Callable[[str], str] = transcript.title,
        short: Callable[[list[Step]], list[Step]] | None = None,
        computed: Callable[[Mapping[Place, str]], Mapping[Place, str]] = lambda entered: {},
        first: str = "This is the first question.",
    ):
        """`question` words a step; `name` gives the name of a side, a criterion or a field; `short` picks the
        questions that are asked unless the person wants more; `computed` gives, by what was entered, answers that need
        not be asked for; `first` is said where there is no way back."""
        self.prompter, self.shape, self.terms, self.entered = prompter, shape, terms, entered
        self.keeping, self._question, self._name, self._short, self._first = keeping, question, name, short, first
        self._computed = computed

    def steps(self) -> list[Step]:
        return self._asked_for(self.entered)

    def _asked_for(self, entered: Mapping[Place, str]) -> list[Step]:
        """The questions that a person answers, as far as they are known from what was entered."""
        computed = self._computed(entered)
        return [step for step in steps(self.shape, self.terms, {**entered, **computed}) if step.place not in computed]

    def asked(self) -> list[Step]:
        """The questions that are asked."""
        answered = [step for step in self.steps() if step.place in self.entered]
        wanted = self._short(self.steps()) if self._short else self.steps()
        return [step for step in self.steps() if step in wanted or step in answered]

    def reply(self) -> dict[str, Any] | None:
        """What was entered, with defaults for what was not asked; None while something is missing."""
        given = {**self.entered, **self._computed(self.entered)}
        full = completed(self.shape, self.terms, given) if self._short else given
        return value(self.shape, self.terms, full)

    async def fill_in(
        self,
        problems: Callable[[], list[str]] | None = None,
        step: Step | None = None,
        remarks: Callable[[], list[str]] = list,
    ) -> None:
        """Asks `step`, if one is given, and then every question that has no answer that will do. With `problems`, what
        was entered is then shown, to be changed or handed in; it returns what is wrong with the whole, and `remarks`
        what may be meant so. Raises Leave."""
        while True:
            step = step or self._missing()
            try:
                if step is not None:
                    await self.ask(step)
                    step = None
                elif problems is None or (step := await self._look(problems, remarks)) is None:
                    return
            except Back:
                step = self._before(step)

    def _missing(self) -> Step | None:
        return next((step for step in self.asked() if not readable(step, self.terms, self.entered)), None)

    def _before(self, step: Step | None) -> Step:
        """The question before that one: the last one before all of them are shown."""
        asked = self.asked()
        places = [other.place for other in asked]
        at = places.index(step.place) if step is not None and step.place in places else len(asked)
        if at == 0:
            self.prompter.tell(self._first)
        return asked[max(0, at - 1)]

    async def ask(self, step: Step) -> None:
        """Asks one question until its answer will do."""
        typing = (*TYPING, *step.place)
        complaints: list[str] = []
        short_list = False
        while True:
            standing = self.entered[step.place] if step.short and readable(step, self.terms, self.entered) else ""
            now = self.entered.get(typing, "" if standing else self.entered.get(step.place, ""))
            worded = self._question(step)
            question = worded._replace(
                lines=(*worded.lines, *complaints),
                now=now,
                default=standing or worded.default,
                back=True,
                own_editor=True,
                changed=lambda typed: self.keeping.soon({**self.entered, typing: typed}),
            )
            try:
                answer = await self.prompter.ask(question) or standing
                value = read(step, self.terms, answer)
                if step.lacking and value in (None, False) and not short_list:
                    short_list = True
                    raise BadReply(f"The list should have {plural(step.lacking, 'more item')}. The same again ends it.")
            except EditorWanted as wanted:
                await self.edit(typing, wanted.text)
            except Leave as leaving:
                if leaving.typed:
                    self.entered[typing] = leaving.typed
                raise
            except BadReply as error:
                complaints = error.complaints if answer or short_list else ["An answer is needed here."]
                self.entered[typing] = "" if step.short else answer
            else:
                self.entered.pop(typing, None)
                self.entered[step.place] = answer
                if question.private:
                    self.prompter.tell(f"{label(step.place, self._name)}: {self.shown(step)}")
                return
            finally:
                self.keeping.now(self.entered)

    async def edit(self, typing: Place, text: str) -> None:
        """Has a text edited that is not entered yet."""
        self.entered[typing] = await self.prompter.edited(text)

    async def _look(self, problems: Callable[[], list[str]], remarks: Callable[[], list[str]]) -> Step | None:
        """Shows all that was entered. Returns the question to be answered anew, or None where it is handed in."""
        every, wrong = self.steps(), problems()
        if self._short:
            every = self._asked_for(completed(self.shape, self.terms, self.entered))
        notes = [] if wrong else remarks()
        shown = [Line(text, True) for text in (*wrong, *notes)]
        self.prompter.tell("", Line("This is your reply:", True), *self.view(every), *shown)
        unasked = [step for step in every if step.place not in self.entered]
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
                self._short = None
                return unasked[0]
            if (n := numbered(answer, len(every))) is not None:
                return every[n - 1]
            self.prompter.tell(f"{short_repr(answer)} is not a number from 1 to {len(every)}.")

    def view(self, every: list[Step] | None = None) -> list[str]:
        """What was entered, under the numbers of its questions; of `every` question also those that were not asked."""
        rows = []
        for n, step in enumerate(self.asked() if every is None else every, 1):
            if step.place in self.entered:
                rows.append(f"{n:3} {label(step.place, self._name)}: {self.shown(step)}")
            elif every is not None:
                rows.append(f"{n:3} {label(step.place, self._name)}: {step.default or 'none'} (not asked)")
        return rows

    def shown(self, step: Step) -> str:
        """An answer as it was understood."""
        try:
            return written(read(step, self.terms, self.entered[step.place])) or "none"
        except BadReply:
            return self.entered[step.place]

    def counted(self, step: Step) -> str:
        """How far the form is filled in."""
        places = [other.place for other in self.asked()]
        at = places.index(step.place) + 1 if step.place in places else len(places)
        return f"Question {at} of {len(places)}"
