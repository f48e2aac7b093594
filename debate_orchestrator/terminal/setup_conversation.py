"""The setup conversation: the topic, who speaks, the positions, the context; everything else has a default.

`setup.questions` words the questions and decides which answers are valid. Here they are put in the order that suits a
person, and what has a default is asked only when the person wants to change it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from debate_orchestrator.core.positions import has_placeholders, positions_without_model
from debate_orchestrator.core.settings import MODERATOR, Settings, seats_of_cast
from debate_orchestrator.engine import rejudge, start
from debate_orchestrator.setup.answers import (
    cast_of,
    context_paths,
    output_text,
    seats_needed,
    text_as_typed,
    why_no_decision_brief,
)
from debate_orchestrator.setup.risks import Risk, risk_lines
from debate_orchestrator.setup.state import (
    ModeratorTask,
    SetupFile,
    SetupQuestion,
    SetupState,
    from_file,
    new_file,
    newest_unfinished,
    with_answers,
    with_progress,
    without_answers,
)
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.terminal.asking import Question, unknown_choice
from debate_orchestrator.terminal.setup_base import cast_text, paid_calls, stated_cast
from debate_orchestrator.terminal.setup_cast import CastSetup
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.errors import BadSettings, DebateError
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back, Postponed

_BEGIN, _CHANGE, _CAST, _CONTEXT, _FORMAT = "begin", "change", "cast", "context", "format"
_TEXTS = ("topic", "topic_ok", "framing", "position_a", "position_b")
"""Questions whose answer is a sentence."""
_WITH_FREE_ANSWERS = ("topic_ok", "framing")
"""Questions with choices whose answer may be something else."""
_EDIT = "edit"
RequireConsentToAnswers = Callable[[str, Mapping[str, Any], str | None, Sequence[Risk]], None]
"""Gets the name of a file, the answers in it, the format that was typed and calls that the setup would make, before any
is used. Raises BadSettings if the user does not consent to them."""
HasConsented = Callable[[str, Sequence[Risk]], bool]
"""Whether the user has consented to these calls of a file, as they have if they began it."""


class SetupConversation(CastSetup):
    def welcome(
        self,
        path: str | None,
        format_name: str | None,
        moderator: str | None,
        topic: str,
        require_consent: RequireConsentToAnswers,
        has_consented: HasConsented,
    ) -> None:
        """Says what this is, and takes up the conversation of a file, or one that was left here, or a new one."""
        self.asker.show(self.texts.messages["welcome"])
        new_conversation = (new_file(), SetupState())
        setup_file, state = (
            from_file(path) if path else (None if topic else self._find_unfinished(has_consented)) or new_conversation
        )
        if format_name:
            state = with_answers(state, "flag", format=format_name)
        if moderator:
            cast = state.answers.get(_CAST)
            state = with_answers(state, "flag", cast={**(cast if isinstance(cast, dict) else {}), MODERATOR: moderator})
            self.approved_models.add(moderator)
        source = path or setup_file.path
        require_consent(source, self._answers_used(state), format_name, ())
        self.require_consent_to_calls = partial(require_consent, source, {}, None)
        self.continue_from(setup_file, state)
        answers = {key: value for key, value in self.state.answers.items() if key not in ("insist", "output", _FORMAT)}
        if answers:
            lines = (
                f"  {key}: {cast_text(value) if key == _CAST else _summary(value)}" for key, value in answers.items()
            )
            self.asker.show("", self.texts.messages["settled"], *lines)
        if topic:
            self.state = self.setup_questions.answer(self.state, "topic", topic)

    def approved_answers(self) -> dict[str, Any]:
        """The answers that the person typed or consented to, before and after `run`."""
        return self._answers_used(self.state)

    def _answers_used(self, state: SetupState) -> dict[str, Any]:
        """The answers with an effect here: a rehearsal calls nothing that a file names, so needs no consent."""
        return {key: value for key, value in state.answers.items() if not (key == _CAST and self.calls_no_models)}

    def calls(self) -> tuple[Risk, ...]:
        """The paid calls that the person wants, of the models that they named or consented to."""
        return paid_calls(sorted(self.approved_models))

    def _find_unfinished(self, has_consented: HasConsented) -> tuple[SetupFile, SetupState] | None:
        """The unfinished conversation of this folder, if it is to be continued."""
        unfinished = newest_unfinished()
        if unfinished is None:
            return None
        setup_file, state = unfinished
        topic = state.answers.get("topic") or (state.progress.topics[-1] if state.progress.topics else "")
        try:
            # The file may come from someone else: Enter alone continues only the user's own. Which of its models would
            # be called depends on its format, which is not read before the user consents.
            specs = model_spec.specs_of(stated_cast(state.answers))
            default = "yes" if has_consented(setup_file.path, paid_calls(specs)) else "no"
            answer = self.choice("go_on", default, left=f"{one_line(str(topic))} ({setup_file.path})")
        except Back:
            answer = default
        return unfinished if answer == "yes" else None

    def ask_consent(self, name: str, risks: Sequence[Risk]) -> bool:
        """Shows what a file does besides the debate, and asks whether that is wanted. Enter alone means no."""
        question = "call" if all(risk.kind == "calls" for risk in risks) else "trust"
        try:
            return self.choice(question, "no", file=one_line(name), what="\n".join(risk_lines(risks))) == "yes"
        except Back:
            return False

    def run(self) -> Settings:
        """Asks until all is confirmed. Raises Postponed, or Quit if the person quits; what was answered is kept."""
        key_to_change: str | None = None
        key_before: str | None = None
        while True:
            key = key_to_change or key_before or self._next()
            self.save()
            try:
                key_to_change, key_before = self._step(key), None
                if key == _BEGIN and key_to_change is None:
                    return self.settings()
            except Back:
                key_to_change, key_before = None, None if key_to_change else self._question_before(key)
            except DebateError as error:
                self.asker.show(*error.problems)

    def _question_before(self, key: str) -> str:
        """The question before that one; the same where none is before."""
        progress, answers = self.state.progress, self.state.answers
        answered = {
            "topic": bool(progress.topics),
            _CAST: _CAST in answers and not self.calls_no_models,  # a rehearsal asks nothing there
            "positions_ok": progress.positions_ok,
            _CONTEXT: _CONTEXT in answers,
        }
        answered_keys = [name for name, is_answered in answered.items() if is_answered]
        if key == "position_b":
            return "position_a"
        earlier_keys = answered_keys[: answered_keys.index(key)] if key in answered_keys else answered_keys
        if key in ("topic_ok", "framing", "position_a"):
            earlier_keys = [name for name in answered_keys if name in ("topic", _CAST)]
        if not earlier_keys:
            self.asker.show(self.texts.messages["first"])
        return earlier_keys[-1] if earlier_keys else key

    # What is asked next

    def _next(self) -> str:
        if not self.state.progress.topics:
            return "topic"
        needed = {*seats_needed(self.setup_questions.format)}
        if self.state.progress.seats_answered is not None or not needed <= set(self.state.answers.get(_CAST, ())):
            return _CAST
        while isinstance(next_item := self.setup_questions.next(self.state), SetupQuestion | ModeratorTask):
            if isinstance(next_item, ModeratorTask):
                if self.moderator() is not None:
                    return next_item.turn
                self._do_unaided(next_item)
            elif not self._takes_default(next_item):
                return _CONTEXT if next_item.key == "context_files" else next_item.key
        return _BEGIN

    def _takes_default(self, setup_question: SetupQuestion) -> bool:
        """Answers a question that need not be put. Whatever it answers is shown and confirmed before the debate."""
        state, key = self.state, setup_question.key
        if key == "topic_ok" and (state.progress.proposal or {}).get("restated") == one_line(state.progress.topics[-1]):
            self.state = self.setup_questions.answer(self.setup_questions.mark_asked(state, setup_question), key, "yes")
        elif key == "positions":
            own_positions = self.moderator() is None and (
                state.progress.unwanted_positions or not self._plain_positions()
            )
            if own_positions and not state.progress.unwanted_positions:
                self.asker.show("", self.texts.messages["own"])
            self.state = self.setup_questions.answer(state, key, "own" if own_positions else "auto")
        elif key == "rounds" or key in self.setup_questions.plain_settings:
            self.state = with_answers(state, "default", **{key: self.setup_questions.default(key)})
        else:
            return False
        return True

    def _do_unaided(self, work: ModeratorTask) -> None:
        """Does a moderator's work without a model: the topic as it was stated, or positions made from it."""
        if work.name == "topic":
            self.state = self.setup_questions.with_topic_as_stated(self.state)
            return
        if not (positions := self._plain_positions()):
            self.state = self.setup_questions.answer(self.state, "positions", "own")
            return
        self.state = with_answers(self.state, "default", positions=positions)
        message = "placeholders" if has_placeholders(positions) else "plain"
        self.asker.show("", self.texts.messages[message])

    def _plain_positions(self) -> dict[str, str]:
        """The positions on the topic that are made without a model; empty if the person has to word them."""
        topic = str(self.state.answers.get("topic", ""))
        return positions_without_model(topic, self.setup_questions.format.sides, rehearsal=self.is_rehearsal)

    def _step(self, key: str) -> str | None:
        """Takes one step of the conversation; returns the key of an answer that is to be changed next, if one is."""
        if key == _BEGIN:
            return self._confirm()
        if key == _CHANGE:
            return self._ask_what_to_change()
        if key.startswith("setup."):
            self.moderate()
        elif key == _CAST:
            self._choose_cast()
        elif key == _CONTEXT:
            self._ask_context()
        elif key == _FORMAT:
            self._ask_format()
        else:
            self._ask(key)
            if key == "insist" and "rounds" not in self.state.answers:
                return "rounds"  # its default would be taken otherwise
        return None

    def _choose_cast(self) -> None:
        """Asks who fills the seats; a rehearsal takes the models that the debate would have by default."""
        current_cast = self.state.answers.get(_CAST, {})
        if self.calls_no_models:
            best = self.find_models().default_as_if_keyed
            cast = cast_of(self.setup_questions.format, lambda seat: best[seat]) | current_cast
        else:
            cast = self.choose_cast()
            cast |= {MODERATOR: current_cast[MODERATOR]} if MODERATOR in current_cast else {}
        self.state = with_progress(with_answers(self.state, "user", cast=cast), seats_answered=None)
        if not self.is_rehearsal and has_placeholders(self.state.answers.get("positions", {})):
            self.state = with_progress(without_answers(self.state, "positions"), positions=None, positions_ok=False)

    def _ask(self, key: str) -> None:
        setup_question = self.setup_questions.question(self.state, key)
        self.state = self.setup_questions.mark_asked(self.state, setup_question)
        question = self._question(setup_question)
        answer = self.ask_question("position" if key.startswith("position_") else key, question)
        if answer == _EDIT and _EDIT in dict(question.choices):
            self._edit(key)
            return
        if question.choices and key not in _WITH_FREE_ANSWERS and answer not in dict(question.choices):
            raise BadSettings(unknown_choice(question))
        self._take(key, answer)

    def _question(self, setup_question: SetupQuestion, *, edited: bool = False) -> Question:
        """The question as it is put. Enter keeps an existing answer; it is in the line only if it is to be
        `edited`, since what is typed would be added to it."""
        key, current_answer = setup_question.key, self.setup_questions.current_answer(self.state, setup_question.key)
        choices = dict(setup_question.choices) | self.texts.choices.get(key, {})
        help = self.texts.help.get(key, setup_question.help)
        text = setup_question.text
        lines: list[str] = [help]
        if key == "positions_ok":
            sentences = self.setup_questions.position_sentences(self.state)
            text, lines = "\n".join([*sentences, setup_question.text.removeprefix(" ".join(sentences)).strip()]), []
        is_free_text = (key in _TEXTS and not choices) or key == "output"
        return Question(
            text,
            tuple(lines),
            tuple(choices.items()),
            default=current_answer or str(setup_question.default or "") or next(iter(choices), ""),
            initial_text=one_line(current_answer) if edited else "",
            path=key == "output",
            recent=_earlier(current_answer) if is_free_text else (),
        )

    def _take(self, key: str, answer: str) -> None:
        if answer.lower() in self.setup_questions.texts.automatic:
            raise BadSettings(self.texts.messages["needed"])
        setup_question = self.setup_questions.question(self.state, key)
        default = setup_question.default is not None and answer == str(setup_question.default)
        new_state = self.setup_questions.answer(self.state, key, "default" if default else answer)
        if key == "output":
            self._make_folder(str(new_state.answers["output"]))
        self.save(new_state)

    def _make_folder(self, output: str) -> None:
        """Makes the folder of the output. Raises BadFile if nothing can be written there or something is there."""
        folder = os.path.dirname(output) if output.endswith(".md") else output
        is_folder = os.path.isdir(os.path.expanduser(folder or os.curdir))
        DebateFiles.made_for(output).must_be_new()
        if not is_folder:
            self.asker.show(self.texts.messages["made"].format(folder=folder))

    def _edit(self, key: str) -> None:
        try:
            if key == "topic_ok":
                wording = self.texts.questions["reword"]
                restated = (self.state.progress.proposal or {}).get("restated") or self.state.answers["topic"]
                question = Question(wording.text, (wording.help,), initial_text=one_line(str(restated)))
                self.state = self.setup_questions.with_reworded_topic(self.state, self.ask_question("topic", question))
                return
            for side in self.setup_questions.format.sides:
                position = f"position_{side}"
                question = self._question(self.setup_questions.question(self.state, position), edited=True)
                self._take(position, self.ask_question("position", question))
        except Back:
            return

    def _ask_context(self) -> None:
        current_answer = self.setup_questions.current_answer(self.state, _CONTEXT)
        help = self.texts.messages["kept"] if current_answer else self.texts.help[_CONTEXT]
        text = self.setup_questions.question(self.state, _CONTEXT).text
        question = Question(text, (help,), default=current_answer or "none", path=True, recent=_earlier(current_answer))
        answer = self.ask_question(_CONTEXT, question)
        names = context_paths("no" if answer.lower() == "none" else answer)
        paths = [self._page(name) if name.startswith(("http://", "https://")) else name for name in names]
        if problems := start.context_problems(paths):
            raise BadSettings(problems, hint="a path, several with commas, or Enter for none")
        self.state = with_answers(self.state, "user", context=paths)

    def _page(self, address: str) -> str:
        """The file in which the text of a page is kept. Raises BadSettings if the page can't be had."""
        from debate_orchestrator.evidence.check import save_page_text

        path = save_page_text(address)
        self.asker.show(self.texts.messages["page"].format(path=path))
        return path

    def _ask_format(self) -> None:
        """Asks for another format. Answers that it takes stay; others are named, and are asked for or have defaults."""
        names = [name for name in resources.format_names() if name != rejudge.FORMAT]
        choices = tuple((name, self._make_questions(name).format.about) for name in names)
        question = Question(self.texts.questions[_FORMAT].text, (), choices, self.setup_questions.format.name)
        name = self.ask_choice(_FORMAT, question)
        new_questions = self._make_questions(name)
        cast = {
            seat: entry
            for seat, entry in self.state.answers[_CAST].items()
            if seat in seats_of_cast(new_questions.format)
        }
        state, problems = new_questions.with_fitting_answers(self.state, self.setup_questions)
        self.continue_from(self.setup_file, with_answers(state, "user", format=name, cast=cast))
        self.asker.show(*problems)

    # The last confirmation

    def _confirm(self) -> str | None:
        """Shows the answers, and has them confirmed; returns `_CHANGE` if an answer is to be changed first."""
        answers = self.state.answers
        while True:
            files, problems = self._find_problems()
            output = {"output": output_text(files.report, answers["output"])} if files else {}
            block, _, starting_line = self.setup_questions.confirmation_text(answers | output).rpartition("\n\n")
            lines = ["", self.texts.messages["block_heading"], *block.split("\n")[1:]]  # nothing is confirmed yet
            if files and (note := why_no_decision_brief(self.settings(), self.setup_questions.format)):
                lines.append(f"{note} Or choose `more`, `{_CAST}` and `seats`.")
            self.asker.show(*lines, *([""] if problems else []), *problems)
            answer = self._begin(possible=not problems)
            if answer == "later":
                raise Postponed
            if answer == "more":
                return _CHANGE
            if not self._find_problems()[1]:
                self.asker.show("", starting_line)
                return None

    def _begin(self, *, possible: bool) -> str:
        wording = self.texts.questions[_BEGIN]
        choices = tuple((value, about) for value, about in wording.choices.items() if possible or value != "yes")
        lines = (wording.help.format(cast=cast_text(self.state.answers[_CAST])), self.cost_outlook())
        return self.ask_choice(_BEGIN, Question(wording.text, lines, choices, default="yes" if possible else "more"))

    def _find_problems(self) -> tuple[DebateFiles | None, list[str]]:
        """The paths of the debate's files, and the reason that it can't be opened, if it can't."""
        try:
            self.settings()  # a file that was changed by hand may hold an answer that can't be taken
            return self.check(self.state), []
        except DebateError as error:
            return None, error.problems

    def _ask_what_to_change(self) -> str:
        answers = self.state.answers
        values = {
            "topic": _summary(answers["topic"]),
            _CAST: cast_text(answers[_CAST]),
            "positions": _summary(answers["positions"]),
            _CONTEXT: _summary(answers.get(_CONTEXT) or "none"),
            "rounds": _summary(answers.get("rounds", 1)),
            **{
                key: _summary(text_as_typed(answers[key]))
                for key in self.setup_questions.plain_settings
                if key in answers
            },
            _FORMAT: self.setup_questions.format.title,
        }
        choices = tuple((key, value) for key, value in values.items() if value)
        key = self.ask_choice(_CHANGE, Question(self.texts.questions[_CHANGE].text, (), choices, "rounds"))
        return {"positions": "positions_ok"}.get(key, key)


def _earlier(current_answer: str) -> tuple[str, ...]:
    return (one_line(current_answer),) if current_answer else ()


def _summary(value: object) -> str:
    if isinstance(value, dict):
        return " / ".join(one_line(str(part)) for part in value.values())
    if isinstance(value, list):
        return ", ".join(one_line(str(part)) for part in value)
    return one_line(str(value))
