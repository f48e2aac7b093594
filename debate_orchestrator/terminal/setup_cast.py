"""The questions of a setup conversation on who fills the seats."""

from __future__ import annotations

from collections.abc import Mapping

from debate_orchestrator.core.phases import JUDGE, RAPPORTEUR
from debate_orchestrator.core.settings import MAX_JUDGES
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.providers.discovery import FoundModels
from debate_orchestrator.setup.answers import cast_of, host_problem, seats_needed
from debate_orchestrator.setup.state import with_answers, with_progress
from debate_orchestrator.terminal.asking import Question
from debate_orchestrator.terminal.setup_base import AskedSeat, Cast, SetupBase, cast_text, display_name, stated_cast
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.terminal_text import Back

EXAMPLES = {"vendor": "anthropic:MODEL", "local": "ollama:MODEL", "key": "ANTHROPIC_API_KEY", "program": "claude"}


class CastQuestions:
    """Asks who fills the seats."""

    def __init__(self, conversation: SetupBase):
        self._conversation = conversation
        self._words = conversation.texts

    def choose(self) -> Cast:
        """The chosen cast; a named rapporteur stays, but in a rehearsal or if all seats are asked for. If the person
        left at a seat, that seat is next. Raises Back."""
        conversation, models = self._conversation, self._conversation.find_models()
        before, goes_on = conversation.state, conversation.state.progress.seats_answered is not None
        current_cast = before.answers.get("cast")
        if not models.has_any() and not current_cast:
            conversation.asker.show("", self._words.messages["no_model"].format(**EXAMPLES))
        cast_choices = self._choices(models, current_cast if isinstance(current_cast, dict) else None)
        wording = self._words.questions["cast"]
        choices = [(name, wording.choices.get(name, "{cast}").format(cast=about)) for name, about, _ in cast_choices]
        question = Question(
            wording.text,
            (wording.help.format(**EXAMPLES),),
            tuple(choices),
            "seats" if goes_on else choices[0][0],
            words=self._model_names(models),
        )
        casts = {name: cast for name, _, cast in cast_choices if cast}
        while True:
            try:
                answer = "seats" if goes_on else conversation.ask_question("seat", question)
            except Back:
                if "keep" in casts:
                    conversation.save(before)
                raise
            try:
                if answer != "seats":
                    keeps_rapporteur = (
                        isinstance(current_cast, dict) and RAPPORTEUR in current_cast and answer != model_spec.REHEARSE
                    )
                    rapporteur_cast = (
                        {RAPPORTEUR: current_cast[RAPPORTEUR]} if current_cast and keeps_rapporteur else {}
                    )
                    cast = casts.get(answer) or self._cast_of_one(answer)
                    if answer != "keep":  # that may be a file's
                        conversation.approved_models.update(model_spec.specs_of(cast))
                    return {**rapporteur_cast, **cast}
                return self._ask_each_seat(models, self._answered_seats() if goes_on else [])
            except BadSettings as error:
                conversation.asker.show(*error.problems)
            except Back:
                goes_on = False

    def _answered_seats(self) -> list[str]:
        """The answers to the questions on seats before the one at which the person left; empty for no further judge."""
        conversation, specs = self._conversation, list[str]()
        cast = stated_cast(conversation.state.answers)
        for seat in seats_needed(conversation.setup_questions.format):
            if seat not in cast:
                break
            specs += [*model_spec.specs_of({seat: cast[seat]}), *([""] if seat == JUDGE else [])]
        return specs[: conversation.state.progress.seats_answered]

    def _choices(self, models: FoundModels, current_cast: Cast | None) -> list[tuple[str, str, Cast | None]]:
        """Name, meaning and cast of every choice for all seats at once, the models that can be called first."""
        format = self._conversation.setup_questions.format
        choices: list[tuple[str, str, Cast | None]] = []
        if current_cast and {*seats_needed(format)} <= set(current_cast):
            choices.append(("keep", cast_text(current_cast), current_cast))
        if models.default:
            default_cast = cast_of(format, lambda seat: models.default[seat])
            choices.append(("usual", cast_text(default_cast), default_cast))
        choices += [(spec, about, cast_of(format, lambda seat, spec=spec: spec)) for spec, about in models.ready()]  # type: ignore[misc]
        rehearsal = cast_of(format, lambda seat: model_spec.stand_in(models.default_if_keyed[seat]))
        return [*choices, (model_spec.REHEARSE, "", rehearsal), ("seats", "", None)]

    def _cast_of_one(self, text: str) -> Cast:
        spec = self._check_spec("cast", text)
        return cast_of(self._conversation.setup_questions.format, lambda seat: spec)

    def _check_spec(self, seat: str, text: str) -> str:
        """The name that was typed. Raises BadSettings if it is unknown or can't be asked as it is."""
        if not text:
            raise BadSettings(self._words.messages["needed"])
        if problem := cast_providers.spec_problem(text, seat):
            raise BadSettings(problem)
        permissions = self._conversation.find_models().permissions
        if problems := cast_providers.key_problems({seat: (text,)}, permissions, may_sign_in=True):
            raise BadSettings(problems)
        kind = model_spec.kind(text)
        sources = [
            source for source in self._conversation.find_models().sources if model_spec.kind(source.spec) == kind
        ]
        if "@" not in text and sources and not any(source.ready for source in sources):
            self._conversation.asker.show(f"{display_name(text)}: {sources[0].about}.")
        self._conversation.recent.add("model", text)
        return text

    def _ask_each_seat(self, models: FoundModels, answered: list[str]) -> Cast:
        """Asks for one seat after the other, and for judges until no more are wanted. The key Back returns to the seat
        before; what was answered for any seat is then its default. What was `answered` earlier is not asked again, and
        each answer is saved."""
        conversation, answered = self._conversation, [*answered]
        seats = [*seats_needed(conversation.setup_questions.format)]
        seats += [RAPPORTEUR] if conversation.has_rapporteur() else []
        asked: list[AskedSeat] = [(seats[0], 0)]
        specs: list[str] = []
        """The spec of each but the last; empty for none."""
        while True:
            chosen: dict[str, list[str]] = {}
            for (seat, _), spec in zip(asked, specs, strict=False):
                chosen.setdefault(seat, []).extend(filter(None, [spec]))
            cast = {seat: entry if len(entry) > 1 else entry[0] for seat, entry in chosen.items() if entry}
            if len(specs) == len(asked):
                return cast
            if not answered:
                state = with_progress(conversation.state, seats_answered=len(specs))
                cast_so_far = {**stated_cast(state.answers), **cast}
                conversation.save(with_answers(state, "user", cast=cast_so_far) if cast_so_far else state)
            try:
                specs.append(answered.pop(0) if answered else self._ask_seat(asked[-1], models, chosen))
            except Back:
                asked.pop()
                if not asked:
                    raise
                specs.pop()
                continue
            (seat, judge_index), following = asked[-1], seats[seats.index(asked[-1][0]) + 1 :]
            if seat == JUDGE and specs[-1] and judge_index + 1 < MAX_JUDGES:
                asked.append((JUDGE, judge_index + 1))
            elif following:
                asked.append((following[0], 0))

    def _ask_seat(self, asked_seat: AskedSeat, models: FoundModels, chosen_before: Mapping[str, list[str]]) -> str:
        """Who fills one seat, beside the models `chosen_before`; empty for a question's first choice, if any."""
        conversation, (seat, judge_index) = self._conversation, asked_seat
        name = {JUDGE: "panel" if judge_index else "judge", RAPPORTEUR: RAPPORTEUR}.get(seat, "seat")
        values = {"who": conversation.setup_questions.format.full_name_of(seat), **EXAMPLES} if name == "seat" else {}
        values |= {"judges": ", ".join(map(display_name, chosen_before[JUDGE]))} if name == "panel" else {}
        wording = self._words.questions[name]
        choices = dict(wording.choices)
        none_wanted = next(iter(choices), None)
        choices |= {models.default[seat]: "as usual"} if seat in models.default else {}
        choices |= dict(models.ready()) | {model_spec.REHEARSE: "a stand-in, at no cost"}
        choices |= {model_spec.HUMAN: "you, or a person beside you, at this terminal"}
        current_answer = conversation.seat_answers.get(asked_seat, next(iter(choices)))
        if current_answer not in choices:
            choices[current_answer] = "as you answered before"
        text, help = wording.text.format(**values), wording.help.format(**values)
        question = Question(text, (help,), tuple(choices.items()), current_answer, words=self._model_names(models))
        while True:
            answer = conversation.ask_question("rapporteur" if seat == RAPPORTEUR else "seat", question)
            try:
                spec = "" if answer == none_wanted else self._spec(seat, answer, models, chosen_before)
                conversation.seat_answers[asked_seat] = answer
                return spec
            except BadSettings as error:
                conversation.asker.show(*error.problems)

    def _spec(self, seat: str, answer: str, models: FoundModels, chosen_before: Mapping[str, list[str]]) -> str:
        """The model that an answer names for a seat. Raises BadSettings if it can't fill it beside those
        `chosen_before`."""
        best = models.default_if_keyed[JUDGE if seat == RAPPORTEUR else seat]
        spec = model_spec.stand_in(best) if answer == model_spec.REHEARSE else self._check_spec(seat, answer)
        if problem := host_problem({**chosen_before, seat: [*chosen_before.get(seat, ()), spec]}):
            raise BadSettings(problem)
        self._conversation.approved_models.add(spec)
        return spec

    def _model_names(self, models: FoundModels) -> tuple[str, ...]:
        """The models that Tab completes: those that were found, and those that were named in earlier setups."""
        return tuple(dict.fromkeys((*models.names(), *self._conversation.recent.answers_of("model"))))
