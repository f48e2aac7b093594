"""A reviewer's ballot, cast at a terminal: a vote before, the debate as its sides spoke it, the judges' questions round
by round, a vote after and a reason. Whatever is answered is kept at once; nobody's votes are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from debate_orchestrator.core import schema
from debate_orchestrator.core.schema import Field, Shape
from debate_orchestrator.reports.reviews import FINAL, UNDECIDED, WORDS, ReviewForm, ReviewTexts, scale
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import BACK, Back, Later
from debate_orchestrator.wizard.asking import Asker, Question, meant

_SEEN, _BEFORE, _READ, _AFTER, _WHY = "seen", "before", "read", "after", "why"
_ORDER = (_SEEN, _BEFORE, "rounds", "final", _WHY, _AFTER)
_HEAD = ("ballot", "journal", "reviewer", "date")
Keep = Callable[[dict[str, Any]], None]


class Step(NamedTuple):
    """One question: about a round (FINAL for the whole debate), or about none; for the scores, of one side."""

    name: str
    round: int | None = None
    side: str = ""


class Review:
    """One ballot under way. `given` is the ballot so far, in the form that is filed."""

    def __init__(
        self,
        asker: Asker,
        words: ReviewTexts,
        paper: ReviewForm,
        given: dict[str, Any],
        read: Callable[[], None],
        keep: Keep,
    ):
        """`read` shows the debate; `keep` keeps a draft after every answer."""
        self.asker, self.words, self.paper, self.given = asker, words, paper, given
        self._read, self._keep = read, keep
        self.steps = self._steps()
        self._was_read = given.pop(_READ, None) is True
        """Whether the debate has been shown: from then on the vote before it stands."""

    def _steps(self) -> list[Step]:
        steps = [Step(_SEEN), Step(_BEFORE), Step(_READ)]
        for n, shape in {**self.paper.rounds, FINAL: self.paper.final}.items():
            for name in shape:
                sides = self.paper.sides if name == "scores" else ("",)
                steps += [Step(name, n, side) for side in sides]
        return [*steps, Step(_AFTER), Step(_WHY)]

    def hold(self) -> dict[str, Any]:
        """The ballot, complete and confirmed. Raises Later, KeyboardInterrupt or EOFError where the person leaves
        before; what was answered is kept."""
        self.asker.tell(self.words.said["again" if _SEEN in self.given else "welcome"])
        at = self._first()
        while True:
            try:
                if at == len(self.steps):
                    if self._handed_in():
                        return self.whole()
                    at = self.steps.index(Step(_READ)) + 1
                    continue
                self._put(self.steps[at])
                at += 1
                while at < len(self.steps) and not self._applies(self.steps[at]):
                    self._set(self.steps[at], None)
                    at += 1
            except Back:
                at = self._back(at)
            self._keep(self.whole() | ({_READ: True} if self._was_read else {}))

    def whole(self) -> dict[str, Any]:
        """The ballot so far, its parts in the order of a form."""
        names = (*_HEAD, *_ORDER)
        return {name: self.given[name] for name in names if name in self.given}

    def _first(self) -> int:
        """Where a ballot is gone on with: at the debate, once the vote before it is cast."""
        begun = (_SEEN, _BEFORE)
        return next((n for n, name in enumerate(begun) if name not in self.given), len(begun))

    def _back(self, at: int) -> int:
        """The question before; never back over the debate to the vote that was cast before it."""
        read = self.steps.index(Step(_READ))
        if at == 0 or (self._was_read and at in (read, read + 1)):
            self.asker.tell(self.words.said["first" if at == 0 else "stands"])
            return at
        at -= 1
        while not self._applies(self.steps[at]):
            at -= 1
        return at

    # What was answered

    def _part(self, step: Step) -> dict[str, Any]:
        """The record of the ballot in which a step's answer stands."""
        if step.round is None:
            return self.given
        if step.round == FINAL:
            return _record(self.given, "final")
        rounds = _record(self.given, "rounds")
        key = next((one for one in rounds if str(one) == str(step.round)), step.round)
        return _record(rounds, key)

    def _set(self, step: Step, value: Any) -> None:
        part = self._part(step)
        if step.name == "scores":
            _record(part, "scores")[step.side] = value
        else:
            part[step.name] = value

    def _standing(self, step: Step) -> Any:
        """What was answered; None where nothing was, or nothing that will do."""
        part = self._part(step)
        said = _record(part, "scores").get(step.side) if step.name == "scores" else part.get(step.name)
        return None if said is None or self._wrong(step, said) else said

    def _shape(self, step: Step) -> Shape:
        return self.paper.final if step.round == FINAL else self.paper.rounds[step.round or 0]

    def _applies(self, step: Step) -> bool:
        """Whether a step is to be answered, by what was answered beside it."""
        return step.round is None or schema.applies(self._shape(step)[step.name], self._part(step))

    def _wrong(self, step: Step, value: Any) -> list[str]:
        """Every complaint about an answer."""
        if step.name == "scores":
            whole = {"scores": dict.fromkeys(self.paper.sides, value)}
            said = schema.check({"scores": Field(kind="scores")}, whole, self.paper.terms)
            side = f"scores.{self.paper.sides[0]}"
            return [one.removeprefix(f"{side}.") for one in said if one.startswith(side)]
        field = self._shape(step)[step.name] if step.round is not None else self.paper.shape[step.name]
        field = field.model_copy(update={"only_if": {}, "unless": {}})
        return schema.check({step.name: field}, {step.name: value}, self.paper.terms)

    # The questions

    def _put(self, step: Step) -> None:
        """Puts a question until the answer will do."""
        if step.name == _READ:
            said = self._choice(step, self._question(step))
            self._was_read = True
            if said == "here":
                self._read()
            if any("scores" in shape for shape in (*self.paper.rounds.values(), self.paper.final)):
                self._tell_criteria()
            return
        question = self._question(step)
        while True:
            value = self._value(step, question, self._ask(step, question))
            if not (wrong := self._wrong(step, value)):
                break
            self._complain(step, question, value, wrong)
        self._set(step, value)
        if step.name == _SEEN and value:
            self.asker.tell(self.words.said["seen"])

    def _tell_criteria(self) -> None:
        criteria = self.paper.debate.format.rubric.criteria
        self.asker.tell(f"\n{self.words.said['scored']}")
        for name in self.paper.terms.criteria:
            about = one_line(criteria[name].about)
            self.asker.tell(f"  {criteria[name].title} ({scale(self.paper, name)}): {about}")

    def _question(self, step: Step) -> Question:
        words, paper = self.words, self.paper
        setup, rules = paper.debate.opened.setup, paper.debate.format
        names = [rules.rubric.criteria[name].title for name in paper.terms.criteria]
        scales = {scale(paper, name) for name in paper.terms.criteria}
        field = self._shape(step)[step.name] if step.round is not None else Field(kind="text")
        said = {
            "topic": one_line(setup.topic),
            "words": WORDS,
            "round": step.round,
            "side": rules.name_of(step.side) if step.side else "",
            "criteria": ", ".join(names),
            "n": len(names),
            "scale": " and ".join(sorted(scales)),
            "sample": " ".join(f"{sum(paper.terms.scale(one)) // 2:g}" for one in paper.terms.criteria),
            "about": _first_up(one_line(field.about)) or step.name.capitalize(),
        }
        wording = words.questions[f"{step.name}_final" if step.round == FINAL else step.name]
        help = wording.help.format(**said)
        if step.round is not None and field.kind == "number" and field.least is not None and field.most is not None:
            help = f"{field.least:g} to {field.most:g}"
        standing = None if step.name == _READ else self._standing(step)
        choices = self._choices(step, field, wording.choices)
        now = _written(standing)
        long = step.name == _WHY
        default = "here" if step.name == _READ else "" if long else now
        return Question(
            wording.text.format(**said),
            help,
            choices,
            default=default,
            now=now if long else "",
            recent=(now,) * bool(now),
        )

    def _choices(self, step: Step, field: Field, worded: dict[str, str]) -> tuple[tuple[str, str], ...]:
        """Value and what it means."""
        positions, rules = self.paper.debate.opened.setup.positions, self.paper.debate.format
        if step.name in (_BEFORE, _AFTER):
            values: tuple[str, ...] = (*self.paper.sides, UNDECIDED)
        elif field.kind == "choice":
            values = field.of or self.paper.sides
        else:
            return tuple(worded.items())
        meant_by = {side: f"{rules.name_of(side)}: {one_line(positions[side])}" for side in self.paper.sides}
        return tuple((value, meant_by.get(value, self.words.words.get(value, ""))) for value in values)

    def _value(self, step: Step, question: Question, said: str) -> Any:
        """What an answer means, as it stands in a ballot."""
        if step.name == _SEEN:
            return {"yes": True, "no": False}.get(said, said)
        if step.name == "scores":
            numbers = [_number(one) for one in re.split(r"[\s,;/]+", said.strip()) if one]
            names = self.paper.terms.criteria
            return dict(zip(names, numbers, strict=True)) if len(numbers) == len(names) else said
        if step.name in ("score", "probability"):
            return _number(said)
        return one_line(said) if step.name == _WHY else said

    def _complain(self, step: Step, question: Question, value: Any, wrong: list[str]) -> None:
        said, names = self.words.said, self.paper.terms.criteria
        if value in ("", None):
            self.asker.tell(said["needed"])
        elif step.name == "scores" and not isinstance(value, dict):
            self.asker.tell(said["count"].format(n=len(names), criteria=", ".join(names)))
        elif question.choices:
            self._unchosen(question)
        else:
            for one in wrong:
                self.asker.tell(one)

    def _unchosen(self, question: Question) -> None:
        listed = ", ".join(f"{n} {value}" for n, (value, _) in enumerate(question.choices, 1))
        self.asker.tell(self.words.said["choose"].format(choices=listed))

    def _ask(self, step: Step | None, question: Question) -> str:
        """What is answered: a choice's value, or what was typed. Raises Back."""
        where = f"{self.steps.index(step) + 1} of {len(self.steps)}" if step else ""

        def live(text: str, columns: int, wait: bool) -> str:
            return where[: max(0, columns - 1)]

        while True:
            said = self.asker.ask(question, live).strip()
            if said.lower() in BACK:
                raise Back
            if said != "?":
                return meant(question, said) or question.default
            self.asker.tell(self.words.said["keys"])

    def _choice(self, step: Step | None, question: Question) -> str:
        """Which of its choices answers a question."""
        while (said := self._ask(step, question)) not in dict(question.choices):
            self._unchosen(question)
        return said

    def _handed_in(self) -> bool:
        """Shows the ballot and asks whether it is handed in; False to go through it again. Raises Later."""
        from debate_orchestrator.util.data import to_yaml

        wording = self.words.questions["file"]
        self.asker.tell(f"\n{self.words.said['check']}\n")
        self.asker.tell(to_yaml(self.whole()))
        said = self._choice(None, Question(wording.text, wording.help, tuple(wording.choices.items())))
        if said == "later":
            raise Later
        return said == "yes"


def named(asker: Asker, words: ReviewTexts) -> str:
    """The name that a reviewer signs with."""
    question = Question(words.questions["name"].text)
    while not (said := asker.ask(question, lambda text, columns, wait: "").strip()):
        asker.tell(words.said["needed"])
    return said


def _record(inside: dict[Any, Any], key: Any) -> dict[Any, Any]:
    """The record that stands there; a new one where there is none."""
    if not isinstance(inside.get(key), dict):
        inside[key] = {}
    made: dict[Any, Any] = inside[key]
    return made


def _number(said: str) -> Any:
    """The number that was typed; what was typed where it is none."""
    try:
        if re.fullmatch(r"[0-9]{1,6}", said):
            return int(said)
        return float(said) if re.fullmatch(r"[0-9]{1,6}\.[0-9]{1,6}", said) else said
    except ValueError:
        return said


def _written(value: Any) -> str:
    """An answer as it would be typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return " ".join(f"{one:g}" for one in value.values())
    return "" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]
