"""The questions of a setup conversation on who fills the seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
_CAST, _SEATS = "cast", "seats"


class CastSetup(SetupBase):
    """The part of a setup conversation that asks who fills the seats."""

    def choose_cast(self) -> Cast:
        """The chosen cast; a named rapporteur stays, but in a rehearsal or if all seats are asked for. If the person
        left at a seat, that seat is next. Raises Back."""
        models, before = self.find_models(), self.state
        goes_on = before.progress.seats_answered is not None
        current_cast: Cast = before.answers.get(_CAST, {})
        if not models.has_any() and not current_cast:
            self.asker.show("", self.texts.messages["no_model"].format(**EXAMPLES))
        cast_choices = self._cast_choices(models, current_cast)
        wording = self.texts.questions[_CAST]
        choices = [(name, wording.choices.get(name, "{cast}").format(cast=about)) for name, about, _ in cast_choices]
        help, default = wording.help.format(**EXAMPLES), _SEATS if goes_on else choices[0][0]
        question = Question(wording.text, (help,), tuple(choices), default, words=self._model_names(models))
        casts = {name: cast for name, _, cast in cast_choices if cast}
        while True:
            try:
                answer = _SEATS if goes_on else self.ask_question("seat", question)
            except Back:
                if "keep" in casts:
                    self.save(before)
                raise
            try:
                if answer == _SEATS:
                    return self._ask_each_seat(models, self._answered_seats() if goes_on else [])
                cast = casts.get(answer) or self._same_in_all_seats(self._check_spec(_CAST, answer))
                if answer != "keep":  # that may be a file's
                    self.approved_models.update(model_spec.specs_of(cast))
                keeps_rapporteur = RAPPORTEUR in current_cast and answer != model_spec.REHEARSE
                return ({RAPPORTEUR: current_cast[RAPPORTEUR]} if keeps_rapporteur else {}) | cast
            except BadSettings as error:
                self.asker.show(*error.problems)
            except Back:
                goes_on = False

    def _same_in_all_seats(self, spec: str) -> Cast:
        return cast_of(self.setup_questions.format, lambda seat: spec)

    def _cast_choices(self, models: FoundModels, current_cast: Cast) -> list[tuple[str, str, Cast | None]]:
        """Name, meaning and cast of every choice for all seats at once, the models that can be called first."""
        format = self.setup_questions.format
        choices: list[tuple[str, str, Cast | None]] = []
        if current_cast and {*seats_needed(format)} <= set(current_cast):
            choices.append(("keep", cast_text(current_cast), current_cast))
        if models.default:
            default_cast = cast_of(format, lambda seat: models.default[seat])
            choices.append(("usual", cast_text(default_cast), default_cast))
        choices += [(spec, about, self._same_in_all_seats(spec)) for spec, about in models.needing_no_key()]
        rehearsal = cast_of(format, lambda seat: model_spec.stand_in(models.default_as_if_keyed[seat]))
        return [*choices, (model_spec.REHEARSE, "", rehearsal), (_SEATS, "", None)]

    def _check_spec(self, seat: str, text: str) -> str:
        """The name that was typed. Raises BadSettings if it is unknown or can't be asked as it is."""
        if not text:
            raise BadSettings(self.texts.messages["needed"])
        if problem := cast_providers.spec_problem(text, seat):
            raise BadSettings(problem)
        models = self.find_models()
        if problems := cast_providers.key_problems({seat: (text,)}, models.permissions, may_sign_in=True):
            raise BadSettings(problems)
        kind = model_spec.kind(text)
        sources = [source for source in models.sources if model_spec.kind(source.spec) == kind]
        if "@" not in text and sources and not any(source.ready for source in sources):
            self.asker.show(f"{display_name(text)}: {sources[0].about}.")
        self.recent.add("model", text)
        return text

    def _ask_each_seat(self, models: FoundModels, answers: list[str]) -> Cast:
        """Asks for one seat after the other, and for judges until no more are wanted, from where the `answers` end that
        were given before. The key Back returns to the seat before; what was answered for any seat is then its default.
        Each answer is saved."""
        while True:
            asked_seats, chosen = self._asked_seats(answers), dict[str, list[str]]()
            for (seat, _), spec in zip(asked_seats, answers, strict=False):
                chosen.setdefault(seat, []).extend(filter(None, [spec]))
            cast = {seat: entry if len(entry) > 1 else entry[0] for seat, entry in chosen.items() if entry}
            if len(asked_seats) <= len(answers):  # a file may have too many
                return cast
            state = with_progress(self.state, seats_answered=len(answers))
            cast_so_far = {**stated_cast(state.answers), **cast}
            self.save(with_answers(state, "user", cast=cast_so_far) if cast_so_far else state)
            try:
                answers.append(self._ask_seat(asked_seats[-1], models, chosen))
            except Back:
                if not answers:
                    raise
                answers.pop()

    def _asked_seats(self, answers: Sequence[str]) -> list[AskedSeat]:
        """The seats that these answers are for, and the next one if there is any. Another judge is asked for after each
        but the last that there may be, until an answer is empty."""
        asked_seats: list[AskedSeat] = []
        for seat in (*seats_needed(self.setup_questions.format), *([RAPPORTEUR] if self.has_rapporteur() else [])):
            for judge_index in range(MAX_JUDGES if seat == JUDGE else 1):
                asked_seats.append((seat, judge_index))
                if len(asked_seats) > len(answers):
                    return asked_seats
                if not answers[len(asked_seats) - 1]:
                    break
        return asked_seats

    def _answered_seats(self) -> list[str]:
        """The answers to the questions on seats before the one at which the person left; empty for no further judge."""
        answers, cast = list[str](), stated_cast(self.state.answers)
        for seat in seats_needed(self.setup_questions.format):
            if seat not in cast:
                break
            answers += [*model_spec.specs_of({seat: cast[seat]}), *([""] if seat == JUDGE else [])]
        return answers[: self.state.progress.seats_answered]

    def _ask_seat(self, asked_seat: AskedSeat, models: FoundModels, chosen_before: Mapping[str, list[str]]) -> str:
        """Who fills one seat, beside the models `chosen_before`; empty for a question's first choice, if any."""
        seat, judge_index = asked_seat
        name = {JUDGE: "panel" if judge_index else "judge", RAPPORTEUR: RAPPORTEUR}.get(seat, "seat")
        values = {"who": self.setup_questions.format.full_name_of(seat), **EXAMPLES} if name == "seat" else {}
        values |= {"judges": ", ".join(map(display_name, chosen_before[JUDGE]))} if name == "panel" else {}
        wording = self.texts.questions[name]
        choices = dict(wording.choices)
        none_wanted = next(iter(choices), None)
        choices |= {models.default[seat]: "as usual"} if seat in models.default else {}
        choices |= dict(models.needing_no_key()) | {model_spec.REHEARSE: "a stand-in, at no cost"}
        choices |= {model_spec.HUMAN: "you, or a person beside you, at this terminal"}
        current_answer = self.seat_answers.get(asked_seat, next(iter(choices)))
        if current_answer not in choices:
            choices[current_answer] = "as you answered before"
        text, help = wording.text.format(**values), wording.help.format(**values)
        question = Question(text, (help,), tuple(choices.items()), current_answer, words=self._model_names(models))
        while True:
            answer = self.ask_question("rapporteur" if seat == RAPPORTEUR else "seat", question)
            try:
                spec = "" if answer == none_wanted else self._spec(seat, answer, models, chosen_before)
                self.seat_answers[asked_seat] = answer
                return spec
            except BadSettings as error:
                self.asker.show(*error.problems)

    def _spec(self, seat: str, answer: str, models: FoundModels, chosen_before: Mapping[str, list[str]]) -> str:
        """The model that an answer names for a seat. Raises BadSettings if it can't fill it beside those
        `chosen_before`."""
        best = models.default_as_if_keyed[JUDGE if seat == RAPPORTEUR else seat]
        spec = model_spec.stand_in(best) if answer == model_spec.REHEARSE else self._check_spec(seat, answer)
        if problem := host_problem({**chosen_before, seat: [*chosen_before.get(seat, ()), spec]}):
            raise BadSettings(problem)
        self.approved_models.add(spec)
        return spec

    def _model_names(self, models: FoundModels) -> tuple[str, ...]:
        """The models that Tab completes: those that were found, and those that were named in earlier setups."""
        return tuple(dict.fromkeys((*models.names(), *self.recent.answers_of("model"))))
