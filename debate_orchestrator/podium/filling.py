"""A form: what a ballot holds, asked for field by field with a way back to each of them, looked at and handed in."""

from __future__ import annotations

import json
import os
from typing import Any

from debate_orchestrator.core import schedule, transcript
from debate_orchestrator.podium import form
from debate_orchestrator.podium.briefing import Line
from debate_orchestrator.podium.form import GATE, Place, Step
from debate_orchestrator.podium.lectern import Below, Blank, Elsewhere, editor
from debate_orchestrator.podium.papers import Entered
from debate_orchestrator.podium.turn import Keeping, Taken
from debate_orchestrator.util.data import LARGEST, read_text
from debate_orchestrator.util.errors import BadFile, BadReply, short_repr
from debate_orchestrator.util.terminal_text import Back, numbered

_TYPING = ("",)
"""Begins the place of what is typed and not entered yet."""


class Filling:
    """The form of one turn, while it is being filled in."""

    def __init__(self, at: Taken):
        self._at = at
        self._shape, self._terms = at.debate.shape(at.turn) or {}, schedule.terms(at.debate, at.turn)
        self._entered: Entered = at.papers.entered(at.brief)
        self._keeping = Keeping[Entered](lambda entered: at.papers.keep_entered(at.brief, entered))
        self._meanings = self._known_meanings()

    async def take(self) -> str:
        """The reply as it is handed in: one that will do. Raises Left, with all that was entered kept."""
        self._at.set_aside()
        if self._entered:
            self._at.tell("What you had entered is here again.", strong=True)
        self._at.tell("", f"Fill in the form: ? explains a question, {', '.join(self._at.lectern.short_keys)}.")
        step: Step | None = None
        while True:
            step = step or self._missing()
            try:
                if step is not None:
                    await self._fill(step)
                    step = None
                elif (step := await self._looked_at()) is None:
                    return self._text()
            except Back:
                step = self._before(step)

    def _steps(self) -> list[Step]:
        return form.steps(self._shape, self._terms, self._entered)

    def _missing(self) -> Step | None:
        """The first question that has no answer that will do."""
        return next((step for step in self._steps() if self._wrong(step)), None)

    def _wrong(self, step: Step) -> bool:
        try:
            form.read(step, self._terms, self._entered.get(step.place, "")) if step.place in self._entered else None
        except BadReply:
            return True
        return step.place not in self._entered

    def _before(self, step: Step | None) -> Step:
        """The question before that one; the last one, before all of them are looked at; the first is before itself."""
        steps = self._steps()
        places = [one.place for one in steps]
        at = places.index(step.place) if step is not None and step.place in places else len(steps)
        return steps[max(0, at - 1)]

    async def _fill(self, step: Step) -> None:
        """Asks one question until its answer will do."""
        complaints: list[str] = []
        typing = (*_TYPING, *step.place)
        while True:
            standing = "" if self._wrong(step) or not step.short else self._entered[step.place]
            now = self._entered.get(typing, "" if standing else self._entered.get(step.place, ""))
            blank = Blank(
                above=(Line(""), *self._question(step, standing), *(Line(one) for one in complaints)),
                now=now,
                below=lambda text: self._below(step, text),
                changed=lambda text: self._keeping.soon({**self._entered, typing: text}),
                words=step.options(self._terms),
                shows={"brief": self._at.whole, "entered": lambda: "\n".join(self._view()) + "\n"},
            )
            try:
                said = await self._at.lectern.ask(blank) or standing
                if said.strip() == "?":
                    self._entered.pop(typing, None)
                    self._explain(step)
                    continue
                form.read(step, self._terms, said)
            except Elsewhere as elsewhere:
                await self._in_editor(typing, elsewhere.text)
            except BadReply as error:
                complaints = error.complaints
                self._entered[typing] = "" if step.short else said
            else:
                self._entered.pop(typing, None)
                self._keep(step.place, said)
                self._at.tell(f"{self._label(step)}: {self._shown(step)}")
                return
            finally:
                self._keeping.now()

    def _explain(self, step: Step) -> None:
        """What a question means and takes, and then what the keys do."""
        about = "; ".join(self._about(step)) or "A part of your ballot"
        self._at.tell("", f"{self._label(step)}: {about}.", f"What it takes: {self._hint(step)}.")
        self._at.tell(f"Keys: Enter sends the answer; {', '.join(self._at.lectern.short_keys)}.")

    def _about(self, step: Step) -> list[str]:
        """What there is to say of a field."""
        criterion = self._at.debate.format.rubric.criteria.get(step.place[-1])
        return [about for about in (step.about, criterion.about if criterion else "", self._in_vain(step)) if about]

    def _in_vain(self, step: Step) -> str:
        """That nobody hears the advice for a next round, where there is none; its place must be filled in all the
        same."""
        debate, turn = self._at.debate, self._at.turn
        if step.place[0] != "feedback" or turn.round is None or turn.round < debate.rounds:
            return ""
        return "no round follows this one, so it goes to nobody and only stands in the report: a word will do"

    async def _in_editor(self, typing: Place, text: str) -> None:
        """Has a text edited that is not entered yet. Whatever was saved is kept at once, however the editor ended."""
        tell, command = self._at.tell, editor()
        self._keep(typing, text)
        if not command:
            tell("No editor was chosen: set VISUAL or EDITOR to one.")
            return
        path = ""
        try:
            path = self._at.papers.leaf(self._at.brief, text)
            if wrong := await self._at.lectern.edit(command, path):
                tell(wrong)
            self._keep(typing, read_text(path, LARGEST).rstrip("\n"))
            if not self._keeping.trouble:
                os.unlink(path)
        except (BadFile, OSError) as error:
            tell(str(error))
            if os.path.exists(path):
                tell(f"What the editor left is kept in {path}.")

    def _keep(self, place: Place, text: str) -> None:
        """Keeps what was entered there, or typed, at once."""
        self._entered[place] = text
        self._keeping.soon(self._entered)
        self._keeping.now()

    async def _looked_at(self) -> Step | None:
        """Shows all that was entered; the question to be answered anew, or None where it is handed in."""
        steps = self._steps()
        wrong = self._at.wrong(self._text())
        self._at.tell("", "This is your reply:", strong=True)
        self._at.tell(*self._view(), *wrong)
        what = "A number and Enter changes that answer" + ("." if wrong else "; Enter alone hands it all in.")
        while True:
            shows = {"brief": self._at.whole}
            try:
                said = (await self._at.lectern.ask(Blank(above=(Line(""), Line(what)), shows=shows))).strip().lower()
            except Elsewhere:
                continue
            if said in ("", "y", "yes") and not wrong:
                return None
            if (n := numbered(said, len(steps))) is not None:
                return steps[n - 1]
            self._at.tell(f"Got {short_repr(said)}; expected a number from 1 to {len(steps)}.")

    def _text(self) -> str:
        """What was entered, as the reply that it is."""
        made = form.value(self._shape, self._terms, self._entered)
        return json.dumps(made, ensure_ascii=False, indent=1)

    # What is seen of it

    def _view(self) -> list[str]:
        """Everything that was entered so far, numbered."""
        numbered = enumerate(self._steps(), 1)
        return [f"{n:3} {self._label(one)}: {self._shown(one)}" for n, one in numbered if one.place in self._entered]

    def _shown(self, step: Step) -> str:
        try:
            made: Any = form.read(step, self._terms, self._entered[step.place])
        except BadReply:
            return self._entered[step.place]
        if isinstance(made, bool):
            return "yes" if made else "no"
        if isinstance(made, list):
            return ", ".join(made) or "none"
        return "none" if made is None else str(made)

    def _label(self, step: Step) -> str:
        ending = ""
        if step.place[-1] == GATE:
            ending = " (one more?)" if step.place[-2].isdigit() else " (anything?)"
        return form.label(step.place, self._name) + ending

    def _name(self, part: str) -> str:
        """What a side, a criterion or a field is called."""
        rules = self._at.debate.format
        if part in self._terms.sides:
            return rules.name_of(part)
        return rules.rubric.criteria[part].title if part in self._terms.criteria else form.titled(part)

    def _question(self, step: Step, standing: str) -> list[Line]:
        """A question with what it means, what may be chosen, and the answer that stands."""
        options = step.options(self._terms)
        shown = [Line(self._label(step), True), *map(Line, self._about(step))]
        if step.field.kind != "flag":
            widest = max(map(len, options), default=0)
            for n, one in enumerate(options, 1):
                shown.append(Line(f"  {n} {one:{widest}}  {self._meanings.get(one, '')}".rstrip()))
        keeps = f"; Enter alone keeps {self._shown(step)}" if standing else ""
        return [*shown, Line(f"({self._hint(step)}{keeps})")]

    def _hint(self, step: Step) -> str:
        """What kind of answer is expected."""
        field = step.field
        match field.kind:
            case "flag":
                said = "yes or no"
            case "number":
                kind = "a whole number" if field.whole else "a number"
                low = f" from {field.least:g}" if field.least is not None else ""
                said = kind + low + (f" to {field.most:g}" if field.most is not None else "")
            case "choice" | "turn":
                said = "one of them, by its number or its name"
            case "choices" | "turns":
                said = "one or more of them, by number or name, with commas between"
            case "url":
                said = "the address of a page"
            case _:
                said = f"a text of at most {field.words} words" if field.words else "a text"
        if step.ends:
            return f"{said}; Enter alone ends the list"
        return f"{said}; Enter alone is for none" if step.may_be_empty else said

    def _known_meanings(self) -> dict[str, str]:
        """What there is to say of something that may be chosen."""
        debate = self._at.debate
        made = {
            one.turn.id: debate.format.heading_of(one.turn) for one in transcript.entries_for(debate, self._at.turn)
        }
        made |= debate.format.rubric.convergence
        return made | {side: debate.format.name_of(side) for side in self._terms.sides}

    def _below(self, step: Step, text: str) -> Below:
        """How far the form is filled in, and how long a text is."""
        steps = self._steps()
        places: list[Place] = [one.place for one in steps]
        at = places.index(step.place) + 1 if step.place in places else len(places)
        words, most = len(text.split()), step.field.words
        over = most is not None and words > most
        counted = "" if step.field.kind != "text" else f", {words} words" + (f" of at most {most}" if most else "")
        notes = (self._keeping.trouble,) if self._keeping.trouble else self._at.lectern.short_keys
        return Below(f"Question {at} of {len(steps)}{counted}", over=over, notes=notes)
