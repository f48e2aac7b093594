"""A setup conversation under way: the answers so far, the file that keeps them, one question put to the person, and
the moderator's calls."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.phases import DECISION_BRIEF, ISSUES, JUDGE, RAPPORTEUR
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.settings import MODERATOR, Settings
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine import moderator, start
from debate_orchestrator.engine.budget import estimate_debate
from debate_orchestrator.providers import cast_providers, pricing
from debate_orchestrator.providers.discovery import FoundModels
from debate_orchestrator.providers.provider import Provider
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.answers import format_of, make_settings
from debate_orchestrator.setup.questions import SetupQuestions
from debate_orchestrator.setup.risks import Risk
from debate_orchestrator.setup.state import QuestionText, SetupFile, SetupState, with_progress
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import REPORT, DebateFiles, state_folder
from debate_orchestrator.terminal.asking import Asker, Question, Quit, unknown_choice
from debate_orchestrator.util import coroutines, model_spec, resources
from debate_orchestrator.util.errors import BadSettings, DebateError
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.sanitize import one_line

_MAX_REMEMBERED = 50
"""Answers of one kind that are remembered."""
_RECENT = TypeAdapter(dict[str, list[str]])
"""Kind of question to its answers, oldest first."""


class RecentAnswers:
    """The answers of earlier setups, by kind of question; without a file that can be used, none."""

    def __init__(self) -> None:
        folder = state_folder()
        self._path = folder / "answered-lately.json" if folder else None
        self._answers: dict[str, list[str]] = {}
        if self._path is not None:
            with suppress(OSError, ValueError):
                self._answers = _RECENT.validate_json(self._path.read_bytes())

    def answers_of(self, kind: str) -> tuple[str, ...]:
        return tuple(self._answers.get(kind, ()))

    def add(self, kind: str, answer: str) -> None:
        if not answer.strip() or self._path is None:
            return
        others = [earlier for earlier in self.answers_of(kind) if earlier != answer]
        self._answers[kind] = [*others, answer][-_MAX_REMEMBERED:]
        with suppress(DebateError, OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(self._path, json.dumps(self._answers, indent=1))


_NOTICE_DELAY = 0.5
"""Seconds after which the person is told what is waited for."""
_RETRY_SECONDS = 60.0
"""Seconds that a call may be silent or retried while a person waits for it."""
_CAST = "cast"
RequireConsentToCalls = Callable[[Sequence[Risk]], None]
"""Returns if the person consents to these risks of a file; raises BadSettings otherwise."""
Check = Callable[[SetupState], DebateFiles]
"""Returns the paths of a debate's files. Raises DebateError, with every problem, if it could not be opened."""


Cast = dict[str, Any]
"""Seat to who fills it, or to a list of judges, as an answers file has it."""
AskedSeat = tuple[str, int]
"""A seat, and the number of those that were asked for in it before: of judges there may be several."""


def calls_nothing(cast: Mapping[str, Any]) -> bool:
    """Whether no model and no program is called."""
    return not any(map(model_spec.makes_calls, model_spec.specs_of(cast)))


def paid_calls(specs: Iterable[str]) -> tuple[Risk, ...]:
    """The risks of calls that may cost money. A program is a risk of its own kind."""
    paid_specs = (spec for spec in specs if model_spec.kind(spec) != model_spec.COMMAND and not pricing.is_free(spec))
    return tuple(Risk(kind="calls", where="cast", what=spec) for spec in dict.fromkeys(paid_specs))


def _refuse_calls(unapproved_risks: Sequence[Risk]) -> None:
    raise BadSettings("Nothing was agreed to.")


def cast_text(cast: Mapping[str, Any]) -> str:
    """The occupants of the seats, in a line: `a and b anthropic:x, judge anthropic:y`."""
    seats_of: dict[str, list[str]] = {}
    for seat, entry in cast.items():
        if seat != MODERATOR:
            names = " and ".join(map(display_name, model_spec.specs_of({seat: entry})))
            seats_of.setdefault(names, []).append(seat)
    return ", ".join(f"{' and '.join(seats)} {names}" for names, seats in seats_of.items())


def display_name(spec: str) -> str:
    return one_line(model_spec.described(spec))


class SetupTexts(FrozenModel):
    """Everything in prompts/setup_terminal.yaml."""

    messages: dict[str, str]
    meaning: dict[str, str]
    """The meaning of a question, for a user who answers it with a question mark."""
    choices: dict[str, dict[str, str]]
    help: dict[str, str]
    questions: dict[str, QuestionText]


@cache
def _texts() -> SetupTexts:
    return SetupTexts.model_validate(resources.read_yaml("setup_terminal.yaml"))


class SetupBase:
    """A setup conversation. `state` has the answers so far; `setup_file` is the file that holds them."""

    def __init__(
        self,
        asker: Asker,
        setup_questions: Callable[..., SetupQuestions],
        models_future: Future[FoundModels],
        check: Check,
        *,
        rehearse: bool = False,
    ):
        """`setup_questions` makes the questions of a named format, or of the default one. `models_future` gives the
        models that can be called from here. With `rehearse` no model is called, not even in the setup."""
        self.texts, self.asker, self.recent = _texts(), asker, RecentAnswers()
        self._make_questions, self._models_future, self.check = setup_questions, models_future, check
        self.calls_no_models, self._moderates = rehearse, not rehearse
        self.seat_answers: dict[AskedSeat, str] = {}
        self.approved_models: set[str] = set()
        """The models that the person named here or consented to."""
        self.require_consent_to_calls: RequireConsentToCalls = _refuse_calls
        self.continue_from(SetupFile(""), SetupState())

    @property
    def is_rehearsal(self) -> bool:
        """Whether stand-ins take the seats of models."""
        return self.calls_no_models or model_spec.is_rehearsal(self.state.answers.get(_CAST, {}))

    def continue_from(self, setup_file: SetupFile, state: SetupState) -> None:
        """Continues from a state. Raises BadSettings, with every problem, if an answer in it can't be taken."""
        format_name = format_of(state.answers, "")
        setup_questions = self._make_questions(format_name) if format_name else self._make_questions()
        self.state = setup_questions.with_checked_answers(state)
        self.setup_file, self.setup_questions = setup_file, setup_questions

    def settings(self) -> Settings:
        """The answers as a debate uses them."""
        answers = {**self.state.answers, "origins": dict(self.state.origins)}
        return make_settings(answers, self.setup_questions.format, self.setup_questions.default_output)

    def save(self, state: SetupState | None = None) -> None:
        """Keeps the answers so far; says so, once, where that can't be, and where the file was changed meanwhile."""
        self.state = state or self.state
        if not (self.state.progress.topics or self.state.answers or self.setup_file.holds_setup):
            return
        had_problem, moved_count = self.setup_file.save_problem, len(self.setup_file.moved_files)
        self.setup_file.save(self.state)
        if moved := self.setup_file.moved_files[moved_count:]:
            self.asker.show(*moved)
        if self.setup_file.save_problem and not had_problem:
            self.asker.show(self.texts.messages["unsaved"].format(why=self.setup_file.save_problem))

    def has_rapporteur(self) -> bool:
        """Whether the debate has a rapporteur, who draws up the list of issues or writes the decision brief."""
        answers, questions = self.state.answers, self.setup_questions
        names = [name for name in (ISSUES, DECISION_BRIEF) if answers.get(name, questions.default(name)) is True]
        return RAPPORTEUR in questions.format.active_seats(names)

    # Putting one question

    def ask_question(self, kind: str, question: Question) -> str:
        """The answer to a question; `kind` is for `?`, and for what is remembered. Raises Back or Quit."""
        meaning = tuple(filter(None, (self.texts.meaning.get(kind, ""), self.texts.messages["keys"])))
        if question.choices:
            return self.asker.ask_now(question._replace(explanation=meaning, can_go_back=True))
        recent = (*self.recent.answers_of(kind), *question.recent)
        try:
            answer = self.asker.ask_now(question._replace(explanation=meaning, can_go_back=True, recent=recent))
        except Quit as quitting:
            self.recent.add(kind, quitting.typed)
            raise
        self.recent.add(kind, answer)
        return answer

    def choice(self, name: str, default: str, **values: str) -> str:
        """Asks a question of setup_terminal.yaml and returns the choice."""
        wording = self.texts.questions[name]
        help = wording.help.format(**values).split("\n")
        return self.ask_choice(
            name, Question(wording.text.format(**values), tuple(help), tuple(wording.choices.items()), default)
        )

    def ask_choice(self, name: str, question: Question) -> str:
        """One of the choices of a question, which is put until one is made."""
        while (answer := self.ask_question(name, question)) not in dict(question.choices):
            self.asker.show(unknown_choice(question))
        return answer

    # Models and costs

    def find_models(self) -> FoundModels:
        try:
            return self._models_future.result(_NOTICE_DELAY)
        except TimeoutError:
            self.asker.show(self.texts.messages["looking"])
            return self._models_future.result()

    def moderator(self) -> str | None:
        """The model that restates the topic and derives positions; None if none is asked."""
        cast = self.state.answers.get(_CAST, {})
        if not self._moderates or (calls_nothing(cast) and MODERATOR not in cast):
            return None
        return moderating_model(self.state.answers)

    def moderate(self) -> None:
        """Lets a model do the work that comes next, as long as the person wants to try."""
        while (spec := self.moderator()) is not None:
            if self._moderate(spec):
                return
            self._moderates = self._moderates and self.choice("again", "yes") == "yes"

    def _may_call(self, spec: str) -> bool:
        """Whether a model may be called before the price is shown: it is free, was named here, or is agreed to now."""
        if spec not in self.approved_models and not pricing.is_free(spec):
            try:
                self.require_consent_to_calls((*risks.of_settings({_CAST: {MODERATOR: spec}}), *paid_calls([spec])))
            except BadSettings:
                return False
            self.approved_models.add(spec)
        return True

    def _moderate(self, spec: str) -> bool:
        """Lets a model do the work that comes next, if it may be called; whether it succeeded. What was paid is kept
        in any case; the first Ctrl-C waits for the reply."""
        if not self._may_call(spec):
            self._moderates = False
            return False
        max_cost, stop = self.state.answers.get("max_cost"), asyncio.Event()
        limits = moderator.ModeratorLimits(_RETRY_SECONDS, max_cost, self.asker.show, stop)
        state = self.state if self.state.progress.nonce else with_progress(self.state, nonce=secrets.token_hex(8))
        new_state, paid_replies = state, list[Reply]()

        async def propose(provider: Provider) -> None:
            nonlocal new_state
            new_state = await moderator.propose(state, provider, self.setup_questions, limits, paid_replies)

        try:
            coroutines.run(propose(self._provider(spec)), stop, self.asker.show)
            return True
        except DebateError as error:
            self.asker.show(*error.problems)
            return False
        finally:
            self.save(with_progress(new_state, paid=(*state.progress.paid, *paid_replies)))

    def _provider(self, spec: str) -> Provider:
        """The provider of a model, for a debate of which nothing is decided yet."""
        format = self.setup_questions.format
        positions = {side: f"{side}, to be settled" for side in format.sides}
        answers = {"topic": "to be settled", "positions": positions, "cast": spec}
        debate = fold([start.make_opened(make_settings(answers, format, REPORT))])
        return cast_providers.make_provider(spec, CurrentState(debate), self.find_models().permissions)

    def cost_line(self) -> str:
        calls = [reply for reply in self.state.progress.paid if reply.by_call]
        if not calls:
            return ""
        unknown = sum(reply.cost is None for reply in calls)
        cost = sum(reply.cost or 0.0 for reply in calls)
        line = f"The setup took {plural(len(calls), 'call')} of the moderator: ${cost:.4f}"
        return f"{line}{f', and {unknown} of unknown price' if unknown else ''}. The report does not count them."

    def cost_outlook(self) -> str:
        """The expected cost and time of the debate, in a sentence; empty if they are unknown."""
        cast = self.state.answers[_CAST]
        if calls_nothing(cast) and not self.is_rehearsal:
            return self.texts.messages["free"]
        key = "rehearses" if self.is_rehearsal else "takes"
        try:
            return self.texts.messages[key].format(
                estimate=estimate_debate(start.make_opened(self.settings())).sentence()
            )
        except DebateError:  # these answers can't be used; `check` says why
            return ""


def stated_cast(answers: Mapping[str, Any]) -> Cast:
    """The cast in unchecked answers, by seat; a cast that names one model is taken as the judge's."""
    cast = answers.get(_CAST)
    return cast if isinstance(cast, dict) else {JUDGE: cast} if isinstance(cast, str) else {}


def moderating_model(answers: Mapping[str, Any]) -> str | None:
    """The moderator by these answers: the cast's moderator, else the first of its seats that can be called."""
    cast = stated_cast(answers)
    order = (MODERATOR, JUDGE, *cast)
    specs = [spec for seat in order if seat in cast for spec in model_spec.specs_of({seat: cast[seat]})]
    callable_ = (
        spec
        for spec in specs
        if model_spec.makes_calls(spec) and not cast_providers.cast_problems({MODERATOR: (spec,)})
    )
    return next(callable_, None)
