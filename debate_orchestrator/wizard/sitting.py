"""A conversation under way: who is asked, what was answered, where it is kept; and one question put in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from functools import cache
from typing import Any

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.values import Value
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import QuestionText, SetupState, without_answers
from debate_orchestrator.setup.settings import MODERATOR, format_of
from debate_orchestrator.util import resources
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import BACK, Back
from debate_orchestrator.wizard import moderating
from debate_orchestrator.wizard.asking import Asker, Question, meant
from debate_orchestrator.wizard.hall import Hall, seats
from debate_orchestrator.wizard.outlook import Outlook, rehearsed, told
from debate_orchestrator.wizard.saving import Kept, Lately

Leads = Callable[[str], dict[str, Any]]
"""What is typed, to the answers that it would give; empty where it would not do."""
_SOON = 0.5
"""Seconds that are waited without a word."""


class Words(Value):
    """Everything in prompts/wizard.yaml."""

    said: dict[str, str]
    meaning: dict[str, str]
    """What a question means, by what its answers are remembered under, for whoever asks with a question mark."""
    plain: dict[str, str]
    stated: dict[str, str]
    """Positions on a question that asks whether somebody should do something."""
    choices: dict[str, dict[str, str]]
    help: dict[str, str]
    unaided: dict[str, str]
    questions: dict[str, QuestionText]


def _cast_by_seat(draft: SetupState, rules: Format) -> SetupState:
    """The draft with its cast seat by seat, where a hand has written one name for all; without seats that the format
    does not have, and without a cast that is none."""
    cast = draft.given.get("cast")
    if isinstance(cast, str):
        cast = dict.fromkeys(seats(rules), cast)
    if not isinstance(cast, dict):
        return without_answers(draft, "cast")
    known = {seat: who for seat, who in cast.items() if seat in (*rules.seated, MODERATOR)}
    return draft.model_copy(update={"given": draft.given | {"cast": known}})


@cache
def _words() -> Words:
    return Words.model_validate(resources.read_yaml("wizard.yaml"))


class Sitting:
    """Where a conversation stands."""

    def __init__(
        self, asker: Asker, interview_of: Callable[..., Questionnaire], hall: Future[Hall], *, moderates: bool = True
    ):
        """`interview_of` makes the interview of the format that it is given, or of the usual one."""
        self.words = _words()
        self.asker, self.coming = asker, hall
        self.moderates = moderates
        """Whether a model may be asked to restate topics and derive positions."""
        self.lately = Lately()
        self.interview_of = interview_of
        self._outlook = Outlook(lambda seat: hall.result().best[seat])
        self._line = ""
        self.take_up(Kept("", own=True), SetupState())

    def take_up(self, kept: Kept, draft: SetupState) -> list[str]:
        """Goes on with that draft; what was wrong in it."""
        self.kept = kept
        named = format_of(draft.given, "")
        self.interview = self.interview_of(named) if named else self.interview_of()
        self.draft, wrong = self.interview.checked(_cast_by_seat(draft, self.interview.rules))
        kept.whole = draft.given.keys() <= self.draft.given.keys()
        return wrong

    def keep(self, draft: SetupState | None = None) -> None:
        """Keeps the answers so far, which are those of `draft` where one is given; says so, once, where that can't
        be."""
        self.draft = draft or self.draft
        if not (self.draft.talk.heard or self.draft.given or self.kept.saved):
            return
        before = self.kept.lost
        self.kept.keep(self.draft)
        if self.kept.lost and not before:
            self.asker.tell(self.words.said["unsaved"].format(why=self.kept.lost))

    def hall(self) -> Hall:
        """Who can be asked from here."""
        try:
            return self.coming.result(_SOON)
        except Late:
            self.asker.tell(self.words.said["looking"])
            return self.coming.result()

    def moderator(self) -> str | None:
        """The model that restates and derives; None where none is asked."""
        if not self.moderates or rehearsed(self.draft.given.get("cast", {})):
            return None
        return moderating.named(self.draft.given) or self.hall().moderator

    def ask(self, kind: str, question: Question, leads: Leads = lambda text: {}) -> str:
        """What is answered: a choice's value, or what was typed. Raises Back where the question before is wanted.
        `kind` is under which such answers are remembered."""
        question = question._replace(recent=question.recent or self.lately.of(kind))

        def live(text: str, columns: int, wait: bool) -> str:
            return self._live(self.draft.given | leads(meant(question, text)), columns, wait)

        while True:
            try:
                said = self.asker.ask(question, live).strip()
            except (KeyboardInterrupt, EOFError):
                if question.long or question.path:
                    self.lately.add(kind, self.asker.abandoned)
                raise
            if said.lower() in BACK:
                raise Back
            if _ends_with_back(said, question.now):
                self.asker.tell(self.words.said["really_back"])
                question = question._replace(now=said)
            elif said == "?":
                self._explain(kind, question)
            else:
                return meant(question, said)

    def _explain(self, kind: str, question: Question) -> None:
        """What a question means, and then what the keys do."""
        said = [self.words.meaning.get(kind, ""), self.words.said["keys"]]
        said += [self.words.said["long"]] if question.long else []
        for one in filter(None, said):
            self.asker.tell(one)

    def choice(self, name: str, default: str = "", **values: str) -> str:
        """Which of its choices answers a question of wizard.yaml."""
        wording = self.words.questions[name]
        help = wording.help.format(**values)
        question = Question(wording.text.format(**values), help, tuple(wording.choices.items()), default)
        return self.one_of(name, question)

    def one_of(self, name: str, question: Question) -> str:
        """One of the choices of a question, which is put until one is made."""
        while True:
            said = self.ask(name, question) or question.default
            try:
                self.must_be_a_choice(question, said)
                return said
            except BadSettings as error:
                self.complain(error.complaints)

    def must_be_a_choice(self, question: Question, said: str) -> None:
        """BadAnswers where it is none."""
        if said not in (value for value, _ in question.choices):
            listed = ", ".join(f"{n} {value}" for n, (value, _) in enumerate(question.choices, 1))
            raise BadSettings(self.words.said["choose"].format(choices=listed))

    def complain(self, complaints: list[str]) -> None:
        """Tells what is wrong."""
        for one in complaints:
            self.asker.tell(one)

    def _live(self, given: Mapping[str, Any], columns: int, wait: bool) -> str:
        """What the debate would take with these answers; what it would before, until that is known."""
        coming = self._outlook.of(given, self.interview.rules, self.asker.refresh)
        if wait or coming.done():
            self._line = told(coming.result(), given.get("cast"), columns) or self._line
        return self._line[: max(0, columns - 1)]

    def outlook(self) -> str:
        """What the debate is expected to take, in a line; empty where nobody knows."""
        found = self._outlook.of(self.draft.given, self.interview.rules, self.asker.refresh).result()
        if found is None:
            return ""
        key = "costs_nothing" if rehearsed(self.draft.given.get("cast", {})) else "takes"
        return self.words.said[key].format(estimate=found.said())


def _ends_with_back(said: str, standing: str) -> bool:
    """Whether `back` was typed at the end of a line that stood there already: it may have been meant as the order."""
    standing = one_line(standing).strip()
    return bool(standing) and said.startswith(standing) and said[len(standing) :].strip().lower() == "back"
