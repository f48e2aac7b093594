"""A setup conversation under way: the answers so far, the file that keeps them, what can be asked here, and one
question put to the person.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from functools import cache
from typing import Any

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import BRIEF, ISSUES, JUDGE, RAPPORTEUR
from debate_orchestrator.core.settings import MODERATOR, Settings
from debate_orchestrator.core.values import Value
from debate_orchestrator.engine import moderator, start
from debate_orchestrator.providers import registry
from debate_orchestrator.setup.answers import format_of, settings_from
from debate_orchestrator.setup.kept_answers import KeptAnswers, RecentAnswers
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import QuestionText, SetupState, with_progress, without_answers
from debate_orchestrator.storage.paths import REPORT, DebateFiles
from debate_orchestrator.terminal.casting import Estimates, Found, cost_line, is_free, seats
from debate_orchestrator.terminal.prompt import Leave, Prompter, Question, Status, unknown_choice
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.errors import DebateError

_SHOWN_LATE = 0.5
"""Seconds after which the person is told what is waited for."""
_PATIENCE = 60.0
"""Seconds that a call may be in trouble while a person waits for it."""
_CAST = "cast"
Changes = Callable[[str], dict[str, Any]]
"""What is typed, to the answers that it would give; empty where it would not do."""
Check = Callable[[SetupState], DebateFiles]
"""Tells where a debate's files will lie. Raises DebateError, with everything, where it could not be opened."""


class WizardTexts(Value):
    """Everything in prompts/wizard.yaml."""

    said: dict[str, str]
    meaning: dict[str, str]
    """What a question means, for a user who answers it with a question mark."""
    choices: dict[str, dict[str, str]]
    help: dict[str, str]
    questions: dict[str, QuestionText]


@cache
def _texts() -> WizardTexts:
    return WizardTexts.model_validate(resources.read_yaml("wizard.yaml"))


class SetupSession:
    """Where a conversation stands. `draft` has the answers so far; `kept` is the file that holds them."""

    def __init__(
        self,
        prompter: Prompter,
        questionnaire: Callable[..., Questionnaire],
        found: Future[Found],
        check: Check,
        *,
        rehearse: bool = False,
    ):
        """`questionnaire` makes that of a named format, or of the default one; `found` is what can be asked here;
        `rehearse` calls no model, not even in the setup."""
        self.words, self.prompter, self.recent = _texts(), prompter, RecentAnswers()
        self._questionnaire, self._coming, self.check = questionnaire, found, check
        self.rehearse, self._moderates = rehearse, not rehearse
        self._estimates, self._cost = Estimates(), ""
        self.take_up(KeptAnswers("", own=True), SetupState())

    def take_up(self, kept: KeptAnswers, draft: SetupState) -> list[str]:
        """Continues with a draft. Returns what was wrong in it."""
        self.kept = kept
        named = format_of(draft.given, "")
        self.interview = self._questionnaire(named) if named else self._questionnaire()
        self.draft, wrong = self.interview.checked(_cast_by_seat(draft, self.interview.format))
        kept.whole = draft.given.keys() <= self.draft.given.keys()
        return wrong

    def settings(self) -> Settings:
        """The answers as a debate uses them."""
        given = {**self.draft.given, "sources": dict(self.draft.sources)}
        return settings_from(given, self.interview.format, self.interview.default_output)

    def keep(self, draft: SetupState | None = None) -> None:
        """Keeps the answers so far; says so, once, where that can't be."""
        self.draft = draft or self.draft
        if not (self.draft.progress.topics or self.draft.given or self.kept.saved):
            return
        before = self.kept.lost
        self.kept.keep(self.draft)
        if self.kept.lost and not before:
            self.prompter.tell(self.words.said["unsaved"].format(why=self.kept.lost))

    def reports(self) -> bool:
        """Whether the debate has a rapporteur, who draws up the list of issues or writes the decision brief."""
        format = self.interview.format
        wanted = [name for name in (ISSUES, BRIEF) if self.draft.given.get(name, self.interview.default(name)) is True]
        return RAPPORTEUR in format.seats_taken(wanted)

    # Putting one question

    def put(self, kind: str, question: Question, changes: Changes = lambda typed: {}) -> str:
        """The answer to a question. `kind` is what such answers are remembered under. Raises Back or Leave."""
        meaning = (self.words.meaning.get(kind, ""), self.words.said["keys"])
        question = question._replace(
            recent=question.recent or self.recent.of(kind),
            explanation=tuple(filter(None, meaning)),
            back=True,
            status=lambda typed: Status(self._cost_of(self.draft.given | changes(typed))),
        )
        try:
            return self.prompter.ask_now(question)
        except Leave as leaving:
            if not question.choices:
                self.recent.add(kind, leaving.typed)
            raise

    def choice(self, name: str, default: str, **values: str) -> str:
        """Which of its choices answers a question of wizard.yaml."""
        wording = self.words.questions[name]
        help = wording.help.format(**values).split("\n")
        return self.one_of(
            name, Question(wording.text.format(**values), tuple(help), tuple(wording.choices.items()), default)
        )

    def one_of(self, name: str, question: Question) -> str:
        """One of the choices of a question, which is put until one is made."""
        while (answer := self.put(name, question)) not in dict(question.choices):
            self.prompter.tell(unknown_choice(question))
        return answer

    # Models and costs

    def found(self) -> Found:
        """What can be asked from here."""
        try:
            return self._coming.result(_SHOWN_LATE)
        except Late:
            self.prompter.tell(self.words.said["looking"])
            return self._coming.result()

    def moderator(self) -> str | None:
        """The model that restates and derives; None where none is asked."""
        cast = self.draft.given.get(_CAST, {})
        if not self._moderates or (is_free(cast) and MODERATOR not in cast):
            return None
        return moderating_model(self.draft.given)

    def moderate(self, turn: str) -> None:
        spec = self.moderator()
        while spec is not None:
            if self._moderated(spec):
                return
            self._moderates = self.choice("again", "yes") == "yes"
            spec = self.moderator()

    def _moderated(self, spec: str) -> bool:
        """Has a model do the work that comes next; whether any came of it. What was paid is kept in any case."""
        cap = self.draft.given.get("max_cost")
        most = float(cap) if isinstance(cap, int | float) and not isinstance(cap, bool) else None
        limits = moderator.ModeratorLimits(_PATIENCE, most, self.prompter.tell, "", "")
        draft = self.draft if self.draft.progress.nonce else with_progress(self.draft, nonce=secrets.token_hex(8))
        after, paid = draft, list[Reply]()
        try:
            provider = self._provider(spec)
            after = moderator.run_moderator(draft, provider, self.interview, limits, paid)
            return True
        except DebateError as error:
            self.prompter.tell(*error.complaints)
            return False
        finally:
            self.keep(with_progress(after, paid=(*draft.progress.paid, *paid)))

    def _provider(self, spec: str) -> registry.Provider:
        """The model, for a debate of which nothing is settled yet."""
        format = self.interview.format
        positions = {side: f"{side}, to be settled" for side in format.sides}
        given = {"topic": "to be settled", "positions": positions, "cast": spec}
        debate = fold([start.make_opening(settings_from(given, format, REPORT))])
        return registry.make_provider(spec, CurrentState(debate), self.found().permissions)

    def spent(self) -> str:
        """What the moderator's calls have cost, in a line; empty where there were none."""
        calls = [reply for reply in self.draft.progress.paid if reply.called]
        if not calls:
            return ""
        unknown = sum(reply.cost is None for reply in calls)
        cost = sum(reply.cost or 0.0 for reply in calls)
        line = f"The setup took {len(calls)} call{'s' * (len(calls) != 1)} of the moderator: ${cost:.4f}"
        return f"{line}{f', and {unknown} of unknown price' if unknown else ''}. The report does not count them."

    def _cost_of(self, given: Mapping[str, Any]) -> str:
        """The status line: what the debate would take; the last known until that is worked out."""
        cast = given.get(_CAST)
        if not isinstance(cast, dict) or not {*seats(self.interview.format)} <= set(cast):
            return ""
        coming = self._estimates.of(given, self.interview.format, self.prompter.refresh)
        if coming.done() or not self.prompter.moves:
            self._cost = cost_line(coming.result(), cast) or self._cost
        return self._cost

    def outlook(self) -> str:
        """What the debate is expected to take, in a sentence; empty where that is not known."""
        cast = self.draft.given[_CAST]
        if is_free(cast) and not model_spec.is_rehearsal(cast):
            return self.words.said["free"]
        found = self._estimates.of(self.draft.given, self.interview.format, self.prompter.refresh).result()
        key = "rehearses" if model_spec.is_rehearsal(cast) else "takes"
        return self.words.said[key].format(estimate=found.sentence()) if found else ""


def moderating_model(given: Mapping[str, Any]) -> str | None:
    """Who moderates by these answers: the cast's moderator, else the first of its seats that can be called."""
    cast = given.get(_CAST)
    cast = cast if isinstance(cast, dict) else {}
    order = (MODERATOR, JUDGE, *cast)
    named = [spec for seat in order if seat in cast for spec in model_spec.specs_of({seat: cast[seat]})]
    callable_ = (
        spec for spec in named if model_spec.is_called(spec) and not registry.cast_problems({MODERATOR: (spec,)})
    )
    return next(callable_, None)


def _cast_by_seat(draft: SetupState, format: Format) -> SetupState:
    """The draft with its cast seat by seat, without seats that the format does not have."""
    cast = draft.given.get(_CAST)
    if isinstance(cast, str):
        cast = dict.fromkeys(seats(format), cast)
    if not isinstance(cast, dict):
        return without_answers(draft, _CAST)
    known = {seat: who for seat, who in cast.items() if seat in (*format.seats_taken(format.options), MODERATOR)}
    return draft.model_copy(update={"given": draft.given | {_CAST: known}})
