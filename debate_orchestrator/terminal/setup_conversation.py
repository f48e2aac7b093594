"""The setup conversation: the topic, who speaks, the positions, the context; everything else has a default.

`setup.questions` words the questions and decides which answers are valid. Here they are put in the order that suits a
person, and what has a default is asked only when the person wants to change it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from debate_orchestrator.core.positions import positions_without_model
from debate_orchestrator.core.settings import MODERATOR, Settings, seats_of_cast
from debate_orchestrator.engine import rejudge
from debate_orchestrator.setup.answers import as_typed, cast_of, rapporteur_note, seats_needed
from debate_orchestrator.setup.risks import Risk, risk_lines
from debate_orchestrator.setup.state import (
    KeptAnswers,
    ModeratorTask,
    SetupQuestion,
    SetupState,
    from_file,
    new_file,
    newest_unfinished,
    with_answers,
)
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.terminal.prompt import Question, unknown_choice
from debate_orchestrator.terminal.setup_base import (
    SetupBase,
    in_words,
    paid_calls,
    stated_cast,
)
from debate_orchestrator.terminal.setup_cast import CastQuestions
from debate_orchestrator.util import model_spec, resources
from debate_orchestrator.util.errors import BadSettings, DebateError
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.terminal_text import Back, Postponed

_BEGIN, _CHANGE, _CAST, _CONTEXT, _FORMAT = "begin", "change", "cast", "context", "format"
_TEXTS = ("topic", "topic_ok", "framing", "position_a", "position_b")
"""Questions whose answer is a sentence."""
_FREE = ("topic_ok", "framing")
"""Questions with choices whose answer may be something else."""
_EDIT = "edit"
ConsentToAnswers = Callable[[str, Mapping[str, Any], str | None, Sequence[Risk]], None]
"""Gets the name of a file, the answers in it, the format that was typed and calls that the setup would make, before any
is used. Raises BadSettings if the user does not agree to them."""
Agreed = Callable[[str, Sequence[Risk]], bool]
"""Whether the user has agreed to these calls of a file, as they have if they began it."""


class _Change(Exception):
    """An answer is to be changed before the debate begins, or the one to change is to be chosen."""

    def __init__(self, key: str):
        super().__init__(key)
        self.key = key


class SetupConversation(SetupBase):
    """One setup conversation."""

    def welcome(
        self,
        path: str | None,
        format_name: str | None,
        moderator: str | None,
        topic: str,
        agree: ConsentToAnswers,
        agreed_before: Agreed,
    ) -> None:
        """Says what this is, and takes up the conversation of a file, or one that was left here, or a new one."""
        self.prompter.tell(self.words.said["welcome"])
        fresh = (new_file(), SetupState())
        kept_answers, state = (
            from_file(path) if path else (None if topic else self._find_unfinished(agreed_before)) or fresh
        )
        if format_name:
            state = with_answers(state, "flag", format=format_name)
        if moderator:
            cast = state.given.get(_CAST)
            state = with_answers(state, "flag", cast={**(cast if isinstance(cast, dict) else {}), MODERATOR: moderator})
            self.wanted.add(moderator)
        source = path or kept_answers.path
        # No model of the file is called in a rehearsal.
        used = {key: value for key, value in state.given.items() if not (key == _CAST and self.rehearse)}
        agree(source, used, format_name, ())
        self.agree_to_calls = partial(agree, source, {}, None)
        self.take_up(kept_answers, state)
        answers = {key: value for key, value in self.state.given.items() if key not in ("insist", "output", _FORMAT)}
        if answers:
            lines = (
                f"  {key}: {in_words(value) if key == _CAST else _summary(value)}" for key, value in answers.items()
            )
            self.prompter.tell("", self.words.said["settled"], *lines)
        if topic:
            self.state = self.setup_questions.answer(self.state, "topic", topic)

    def calls(self) -> tuple[Risk, ...]:
        """The paid calls that the person wants, of the models that they named or agreed to."""
        return paid_calls(sorted(self.wanted))

    def _find_unfinished(self, agreed_before: Agreed) -> tuple[KeptAnswers, SetupState] | None:
        """The unfinished conversation of this folder, if it is to be continued."""
        unfinished = newest_unfinished()
        if unfinished is None:
            return None
        kept_answers, state = unfinished
        topic = state.given.get("topic") or (state.progress.topics[-1] if state.progress.topics else "")
        try:
            # Another's file may lie in this folder: Enter alone takes up one's own only. Which of its models would be
            # called depends on its format, which is not read before it is agreed to.
            specs = model_spec.specs_of(stated_cast(state.given))
            usual = "yes" if agreed_before(kept_answers.path, paid_calls(specs)) else "no"
            answer = self.choice("go_on", usual, left=f"{one_line(str(topic))} ({kept_answers.path})")
        except Back:
            answer = usual
        return unfinished if answer == "yes" else None

    def agrees(self, name: str, risks: Sequence[Risk]) -> bool:
        """Shows what a file does besides the debate, and asks whether that is wanted. Enter alone means no."""
        question = "call" if all(risk.kind == "calls" for risk in risks) else "trust"
        try:
            return self.choice(question, "no", file=one_line(name), what="\n".join(risk_lines(risks))) == "yes"
        except Back:
            return False

    def run(self) -> Settings:
        """Asks until all is confirmed. Raises Postponed, or Quit if the person quits before; what was answered is
        kept."""
        again: str | None = None
        changing = False
        while True:
            key = again or self._next()
            self.keep()
            try:
                if key == _BEGIN:
                    self._confirm()
                    return self.settings()
                self._step(key)
                again, changing = None, False
            except Back:
                again = None if changing else self._before(key)
                changing = False
            except _Change as change:
                again, changing = change.key, True
            except DebateError as error:
                self.prompter.tell(*error.problems)

    def _before(self, key: str) -> str:
        """The question before that one; the same where none is before."""
        progress, answers = self.state.progress, self.state.given
        answered = {
            "topic": bool(progress.topics),
            _CAST: _CAST in answers and not self.rehearse,  # a rehearsal asks nothing there
            "positions_ok": progress.positions_ok,
            _CONTEXT: _CONTEXT in answers,
        }
        trail = [name for name, is_answered in answered.items() if is_answered]
        if key == "position_b":
            return "position_a"
        earlier = trail[: trail.index(key)] if key in trail else trail
        if key in ("topic_ok", "framing", "position_a"):
            earlier = [name for name in trail if name in ("topic", _CAST)]
        if not earlier:
            self.prompter.tell(self.words.said["first"])
        return earlier[-1] if earlier else key

    # What is asked next

    def _next(self) -> str:
        """The next question that is not answered and has no default."""
        if not self.state.progress.topics:
            return "topic"
        if not {*seats_needed(self.setup_questions.format)} <= set(self.state.given.get(_CAST, ())):
            return _CAST
        while isinstance(now := self.setup_questions.next(self.state), SetupQuestion | ModeratorTask):
            if isinstance(now, ModeratorTask):
                if self.moderator() is not None:
                    return now.turn
                self._do_unaided(now)
            elif not self._takes_default(now):
                return now.key
        return _BEGIN if _CONTEXT in self.state.given else _CONTEXT

    def _takes_default(self, ask: SetupQuestion) -> bool:
        """Answers a question that need not be put. Whatever it answers is shown and confirmed before the debate."""
        state, key = self.state, ask.key
        if key == "topic_ok" and (state.progress.proposal or {}).get("restated") == one_line(state.progress.topics[-1]):
            self.state = self.setup_questions.answer(self.setup_questions.mark_asked(state, ask), key, "yes")
        elif key == "positions":
            own_positions = self.moderator() is None and (state.progress.rejected or not self._plain_positions())
            if own_positions and not state.progress.rejected:
                self.prompter.tell("", self.words.said["own"])
            self.state = self.setup_questions.answer(state, key, "own" if own_positions else "auto")
        elif key == "rounds" or key in self.setup_questions.plain_settings:
            self.state = with_answers(state, "default", **{key: self.setup_questions.default(key)})
        else:
            return False
        return True

    def _do_unaided(self, work: ModeratorTask) -> None:
        """Does a moderator's work without a model: the topic as it was stated, or positions made from it."""
        if work.name == "topic":
            self.state = self.setup_questions.as_stated(self.state)
            return
        if not (positions := self._plain_positions()):
            self.state = self.setup_questions.answer(self.state, "positions", "own")
            return
        self.state = with_answers(self.state, "default", positions=positions)
        self.prompter.tell("", self.words.said["plain"])

    def _plain_positions(self) -> dict[str, str]:
        """The positions on the topic that are made without a model; empty where the person has to word them."""
        topic = str(self.state.given.get("topic", ""))
        return positions_without_model(topic, self.setup_questions.format.sides, rehearsal=self.rehearses)

    def _step(self, key: str) -> None:
        """Puts a question, or has a moderator's work done."""
        if key.startswith("setup."):
            self.moderate()
        elif key == _CAST:
            self._choose_cast()
        elif key == _CHANGE:
            raise _Change(self._which())
        elif key == _CONTEXT:
            self._ask_context()
        elif key == _FORMAT:
            self._reformat()
        else:
            self._ask(key)

    def _choose_cast(self) -> None:
        """Asks who fills the seats; a rehearsal takes the models that the debate would have by default."""
        standing = self.state.given.get(_CAST, {})
        if self.rehearse:
            best = self.find_models().default_if_keyed
            cast = cast_of(self.setup_questions.format, lambda seat: best[seat]) | standing
        else:
            cast = CastQuestions(self).choose()
            cast |= {MODERATOR: standing[MODERATOR]} if MODERATOR in standing else {}
        self.state = with_answers(self.state, "user", cast=cast)

    def _ask(self, key: str) -> None:
        """Puts a question of the setup and takes its answer. Raises BadSettings or BadFile."""
        ask = self.setup_questions.question(self.state, key)
        self.state = self.setup_questions.mark_asked(self.state, ask)
        question = self._question(ask)
        answer = self.put(_kind(key), question)
        if answer == _EDIT and _EDIT in dict(question.choices):
            self._edit(key)
            return
        if question.choices and key not in _FREE and answer not in dict(question.choices):
            raise BadSettings(unknown_choice(question))
        self._take(key, answer)

    def _question(self, ask: SetupQuestion, *, edited: bool = False) -> Question:
        """The question as it is put. Enter keeps an answer that stands; it lies in the line only where it is to be
        `edited`, since what is typed would be added to it."""
        key, standing = ask.key, self.setup_questions.current_answer(self.state, ask.key)
        choices = dict(ask.choices) | self.words.choices.get(key, {})
        help = self.words.help.get(key, ask.help)
        text = ask.text
        lines: list[str] = [help]
        if key == "positions_ok":
            argued = self.setup_questions.argued(self.state)
            text, lines = "\n".join([*argued, ask.text.removeprefix(" ".join(argued)).strip()]), []
        free = (key in _TEXTS and not choices) or key == "output"
        return Question(
            text,
            tuple(lines),
            tuple(choices.items()),
            default=standing or str(ask.default or "") or next(iter(choices), ""),
            now=one_line(standing) if edited else "",
            path=key == "output",
            recent=_earlier(standing) if free else (),
        )

    def _take(self, key: str, answer: str) -> None:
        """Takes an answer as it was typed."""
        if answer.lower() in self.setup_questions.words.automatic:
            raise BadSettings(self.words.said["needed"])
        ask = self.setup_questions.question(self.state, key)
        default = ask.default is not None and answer == str(ask.default)
        after = self.setup_questions.answer(self.state, key, "default" if default else answer)
        if key == "output":
            self._make_folder(str(after.given["output"]))
        self.state = after
        if key == "insist" and "rounds" not in after.given:
            raise _Change("rounds")  # its default would be taken otherwise

    def _make_folder(self, output: str) -> None:
        """Makes the folder of the output. Raises BadFile if nothing can be written there or something is there."""
        folder = os.path.dirname(output) if output.endswith(".md") else output
        there = os.path.isdir(os.path.expanduser(folder or os.curdir))
        DebateFiles.of_output(output).must_be_new()
        if not there:
            self.prompter.tell(self.words.said["made"].format(folder=folder))

    def _edit(self, key: str) -> None:
        """Edits what is to be confirmed; it is then put to be confirmed again."""
        try:
            if key == "topic_ok":
                wording = self.words.questions["reword"]
                restated = (self.state.progress.proposal or {}).get("restated") or self.state.given["topic"]
                question = Question(wording.text, (wording.help,), now=one_line(str(restated)))
                self.state = self.setup_questions.reworded(self.state, self.put("topic", question))
                return
            for side in self.setup_questions.format.sides:
                position = f"position_{side}"
                question = self._question(self.setup_questions.question(self.state, position), edited=True)
                self._take(position, self.put("position", question))
        except Back:
            return

    def _ask_context(self) -> None:
        """Asks for files or addresses both sides may draw on."""
        wording = self.words.questions[_CONTEXT]
        standing = ", ".join(self.state.given.get(_CONTEXT) or [])
        help = self.words.said["kept"] if standing else wording.help
        question = Question(wording.text, (help,), default=standing or "none", path=True, recent=_earlier(standing))
        answer = self.put(_CONTEXT, question)
        path_list = [part.strip() for part in answer.split(",") if part.strip()] if answer.lower() != "none" else []
        paths = [self._page(name) if name.startswith(("http://", "https://")) else name for name in path_list]
        if missing := [path for path in paths if not os.path.isfile(os.path.expanduser(path))]:
            raise BadSettings(
                f"context: there is no file {one_line(missing[0])}.",
                hint="a path, several with commas, or Enter for none",
            )
        self.state = with_answers(self.state, "user", context=[os.path.expanduser(path) for path in paths])

    def _page(self, address: str) -> str:
        """The file in which the text of a page is kept. Raises BadSettings if the page can't be had."""
        from debate_orchestrator.evidence.check import save_page_text

        path = save_page_text(address)
        self.prompter.tell(self.words.said["page"].format(path=path))
        return path

    def _reformat(self) -> None:
        """Asks for another format. Answers that it takes stay; others are told, and are asked for or have its
        defaults."""
        names = [name for name in resources.format_names() if name != rejudge.FORMAT]
        choices = tuple((name, self._make_questions(name).format.about) for name in names)
        question = Question(self.words.questions[_FORMAT].text, (), choices, self.setup_questions.format.name)
        name = self.one_of(_FORMAT, question)
        after = self._make_questions(name)
        cast = {seat: entry for seat, entry in self.state.given[_CAST].items() if seat in seats_of_cast(after.format)}
        state, problems = after.with_fitting_answers(self.state, self.setup_questions)
        self.take_up(self.kept, with_answers(state, "user", format=name, cast=cast))
        self.prompter.tell(*problems)

    # The last confirmation

    def _confirm(self) -> None:
        """Shows the answers, and has them confirmed. Raises _Change where an answer is to be changed first."""
        answers = self.state.given
        while True:
            files, problems = self._find_problems()
            output = {"output": files.report} if files else {}
            block, _, countdown = self.setup_questions.confirmed(answers | output).rpartition("\n\n")
            lines = ["", self.words.said["confirm"], *block.split("\n")[1:]]  # nothing is confirmed yet
            lines += [f"Context: {', '.join(answers[_CONTEXT])}"] if answers.get(_CONTEXT) else []
            if files and (note := rapporteur_note(self.settings(), self.setup_questions.format)):
                lines.append(f"{note} Or choose `more`, `{_CAST}` and `seats`.")
            self.prompter.tell(*lines, *([""] if problems else []), *problems)
            answer = self._begin(possible=not problems)
            if answer == "later":
                raise Postponed
            if answer == "more":
                raise _Change(_CHANGE)
            if not self._find_problems()[1]:
                self.prompter.tell("", countdown)
                return

    def _begin(self, *, possible: bool) -> str:
        wording = self.words.questions[_BEGIN]
        choices = tuple((value, about) for value, about in wording.choices.items() if possible or value != "yes")
        lines = (wording.help.format(cast=in_words(self.state.given[_CAST])), self.outlook())
        return self.one_of(_BEGIN, Question(wording.text, lines, choices, default="yes" if possible else "more"))

    def _find_problems(self) -> tuple[DebateFiles | None, list[str]]:
        """Where the debate's files will lie, and why it can't be opened, if it can't."""
        try:
            self.settings()  # a file that was changed by hand may hold an answer that can't be taken
            return self.check(self.state), []
        except DebateError as error:
            return None, error.problems

    def _which(self) -> str:
        """The question whose answer is to be changed."""
        answers = self.state.given
        values = {
            "topic": _summary(answers["topic"]),
            _CAST: in_words(answers[_CAST]),
            "positions": _summary(answers["positions"]),
            _CONTEXT: _summary(answers.get(_CONTEXT) or "none"),
            "rounds": _summary(answers.get("rounds", 1)),
            **{key: _summary(as_typed(answers[key])) for key in self.setup_questions.plain_settings if key in answers},
            _FORMAT: self.setup_questions.format.title,
        }
        choices = tuple((key, value) for key, value in values.items() if value)
        key = self.one_of(_CHANGE, Question(self.words.questions[_CHANGE].text, (), choices, "rounds"))
        return {"positions": "positions_ok"}.get(key, key)


def _earlier(standing: str) -> tuple[str, ...]:
    """The answer that stands, for the arrow keys."""
    return (one_line(standing),) if standing else ()


def _kind(key: str) -> str:
    """The name under which a question is explained, and its answers remembered."""
    return "position" if key.startswith("position_") else key


def _summary(value: object) -> str:
    """An answer in a line."""
    if isinstance(value, dict):
        return " / ".join(one_line(str(part)) for part in value.values())
    if isinstance(value, list):
        return ", ".join(one_line(str(part)) for part in value)
    return one_line(str(value))
