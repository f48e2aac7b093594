"""The setup conversation, pure: settings so far in, next questions out; an answer in, new settings out.

The terminal, the host and the answers file are three ways to answer the same questions. What needs language (restating
the topic, deriving positions, framing an ambiguous one) is a moderator's turn, a `ModeratorTask`. A confirmation
counts only while the question that was put would still be put in the same words, and an empty or automatic answer never
counts. Any earlier answer may be given again: what depended on it is asked again, and everything else stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import JUDGE, RAPPORTEUR
from debate_orchestrator.core.positions import has_placeholders
from debate_orchestrator.core.reply_check import check
from debate_orchestrator.core.settings import (
    MAX_JUDGES,
    SETTINGS,
    AnswerOrigin,
    default_of,
    duplicate_positions,
    line_problems,
    value_problem,
)
from debate_orchestrator.core.shape import ShapeContext, json_schema
from debate_orchestrator.prompting.normalize import SideWords, normalize
from debate_orchestrator.setup import answers, risks
from debate_orchestrator.setup.setting_texts import block_lines
from debate_orchestrator.setup.state import (
    MAX_KEPT,
    ModeratorTask,
    QuestionTexts,
    Ready,
    SetupQuestion,
    SetupState,
    with_answers,
    with_progress,
    with_valid_progress,
    without_answers,
)
from debate_orchestrator.storage.paths import REPORT
from debate_orchestrator.util import resources, sanitize
from debate_orchestrator.util.errors import BadSettings, short_repr, suggest

_YES = ("yes", "y", "true", "correct", "ok", "accurate")
_NO = ("no", "n", "false", "incorrect")
_CHANGED_BY = {"framing": "topic", "topic_ok": "topic", "positions_ok": "position_a", "insist": "rounds"}
"""Each question that confirms a proposal, to the question by which the user changes that proposal. A confirmation is
taken only after its question was asked."""
_ASKED_TOGETHER = ("positions", "position_b", "rounds", "insist", "context", "context_files")
"""Questions that can be asked in the same message as the next one. So can those of plain settings."""
_NOT_PLAIN = ("topic", "positions", "rounds", "insist", "context")
"""Settings that take more than one question, or a list. Any other question with the name of a setting is plain."""
_MAX_TOGETHER = 4
"""Questions that the question tools of hosts take at once."""
_TOPIC, _POSITIONS = "setup.topic", "setup.positions"
"""Steps that are a moderator's work."""
_NO_SHAPE_CONTEXT = ShapeContext(sides=("a", "b"), criteria=(), min=0, max=0, rounds=1, strictness="")
_OPTION_SUFFIX = re.compile(r"\((?:recommended|default)\)$|^default:|(?<=\d)\s+rounds?$", re.IGNORECASE)
"""Additions by question tools and users to an option that they choose: `3 (default)`, `3 rounds`."""


@cache
def question_texts() -> QuestionTexts:
    """The wording in prompts/setup.yaml."""
    return QuestionTexts.model_validate(resources.read_yaml("setup.yaml"))


class SetupQuestions:
    """The questions in the words and the limits of a format."""

    def __init__(self, format: Format, default_output: str = REPORT):
        self.texts, self.format, self.default_output = question_texts(), format, default_output
        self.plain_settings = tuple(key for key in self.texts.questions if key in SETTINGS and key not in _NOT_PLAIN)
        """Settings that a question of the same name asks for, in its order, and that depend on no other answer."""

    # What comes next

    def next(self, state: SetupState) -> SetupQuestion | ModeratorTask | Ready:
        """The next step of the conversation."""
        step = next((key for key, is_done in self._steps(state) if not is_done), None)
        if step is None:
            return Ready(show=self.confirmation_text(state.answers))
        if step == _TOPIC:
            values: dict[str, Any] = {"wordings": state.progress.topics}
            return ModeratorTask(name="topic", values=values, json_schema=self._schema("topic"))
        if step == _POSITIONS:
            values = {"topic": state.answers["topic"], "unwanted_positions": state.progress.unwanted_positions}
            return ModeratorTask(name="positions", values=values, json_schema=self._schema("positions"))
        return self.question(state, step)

    def questions_to_ask(self, state: SetupState) -> tuple[SetupQuestion, ...]:
        """The question that comes next, and those that can be put at the same time; none if none comes next."""
        next_item = self.next(state)
        if not isinstance(next_item, SetupQuestion):
            return ()
        keys_to_ask = () if next_item.key == "topic" else (*_ASKED_TOGETHER, *self.plain_settings)
        keys_left = [key for key, is_done in self._steps(state) if not is_done and key in keys_to_ask]
        keys = dict.fromkeys((next_item.key, *keys_left))
        return tuple(self.question(state, key) for key in [*keys][:_MAX_TOGETHER])

    def _steps(self, state: SetupState) -> Iterator[tuple[str, bool]]:
        """Every question in its order, and the moderator's work where some is needed; and whether it is done."""
        progress, answered = state.progress, state.answers
        yield "topic", bool(progress.topics)
        if progress.proposal is None and not progress.topic_ok:
            yield _TOPIC, False
        yield "framing" if (progress.proposal or {}).get("ambiguous") else "topic_ok", progress.topic_ok
        yield "positions", progress.positions is not None
        positions = answered.get("positions", {})
        if progress.positions == "auto" and not positions:
            yield _POSITIONS, False
        if progress.positions == "own":
            yield from ((f"position_{side}", side in positions) for side in self.format.sides)
        yield "positions_ok", progress.positions_ok
        limits = self.format.round_limits
        if limits.max_if_insisted > 1:
            yield "rounds", "rounds" in answered
        number = answered.get("rounds", 1)
        if number != answers.AUTO and number > limits.max:
            yield "insist", bool(answered.get("insist"))
        yield "context_files" if progress.has_context else "context", "context" in answered
        yield from ((key, key in answered) for key in self.plain_settings if len(self._choices(key)) != 1)

    def question(self, state: SetupState, key: str) -> SetupQuestion:
        """A question as it is put, also once more: one that comes next, or one that was answered."""
        wording = self.texts.questions[key]
        values = self._values(state, key)
        texts = {name: sanitize.one_line(str(value)).rstrip(".") for name, value in values.items()}
        texts |= {name: values[name] for name in ("argued", "keys") if name in values}
        choices = {value: about.format(**texts) for value, about in self._choices(key).items()}
        options = {label.format(**texts): about.format(**texts) for label, about in wording.suggestions.items()}
        if key == "rounds" and not self.format.can_say_no_new_ground:
            options.pop(answers.AUTO, None)
        return SetupQuestion(
            key=key,
            header=wording.header,
            text=wording.text.format(**texts),
            choices=tuple(choices.items()),
            options=tuple((choices or options).items()),
            default=values.get("default") if wording.default else None,
            help=wording.help.format(**texts),
        )

    def _choices(self, key: str) -> dict[str, str]:
        """The only answers that a question takes, and what they mean; empty if others are taken."""
        if key == "strictness":
            return {name: mode.about for name, mode in self.format.rubric.strictness.items()}
        return self.texts.questions[key].choices

    def default(self, key: str) -> Any:
        return self.default_output if key == "output" else default_of(key, self.format)

    def _values(self, state: SetupState, key: str) -> dict[str, Any]:
        proposal, limits = state.progress.proposal or {}, self.format.round_limits
        match key:
            case "framing":
                return {name: proposal.get(name) or "" for name in ("recommended", "alternative")}
            case "topic_ok":
                return {"restated": proposal.get("restated") or state.answers.get("topic", "")}
            case "position_a" | "position_b":
                return {"who": self.format.full_name_of(key.removeprefix("position_"))}
            case "positions_ok":
                keys = " or ".join(f"position_{side}=..." for side in self.format.sides)
                return {"argued": " ".join(self.position_sentences(state)), "keys": keys}
            case "rounds":
                auto = f", or {answers.AUTO}" if self.format.can_say_no_new_ground else ""
                return {"default": limits.default, "most": limits.max, "auto": auto, "about": self._about_rounds()}
            case "insist":
                advised = "4 or 5" if limits.max > 4 else limits.max
                return {"rounds": state.answers.get("rounds", ""), "advised_rounds": advised}
        return {"default": answers.text_as_typed(self.default(key))} if key in self.plain_settings else {}

    def current_answer(self, state: SetupState, key: str) -> str:
        """The answer to a question so far, or one that was put aside when others were wanted; empty for none."""
        progress, answered = state.progress, state.answers
        match key:
            case "topic":
                return str(answered.get("topic") or (progress.topics[0] if progress.topics else ""))
            case "framing":
                proposal = progress.proposal or {}
                return next((name for name in proposal if answered.get("topic") == proposal[name]), "")
            case "topic_ok" | "positions_ok" | "insist":
                return "yes" if answered.get(key) or getattr(progress, key, False) else ""
            case "positions":
                return progress.positions or ""
            case "position_a" | "position_b":
                side = key.removeprefix("position_")
                position = str(answered.get("positions", {}).get(side) or progress.set_aside_positions.get(side, ""))
                return "" if has_placeholders({side: position}) else position
        return answers.text_as_typed(answered.get(key))

    def confirmation_text(self, answered: dict[str, Any]) -> str:
        """The block that shows the answers, for the user to confirm."""
        format, lines = self.format, []
        for side in format.sides:
            position = sanitize.one_line(answered["positions"][side])
            lines.append(self.texts.side.format(who=format.full_name_of(side), position=position))
        shown_values = {
            "topic": answered["topic"],
            "rounds": answered.get("rounds", format.round_limits.default),
            "strictness": answered.get("strictness", tuple(format.rubric.strictness)[-1]),
            "output": answered["output"],
        }
        if shown_values["rounds"] == answers.AUTO:
            shown_values["rounds"] = f"{answers.AUTO}, at most {format.round_limits.max}"
        one_line_texts = {key: sanitize.one_line(str(value)) for key, value in shown_values.items()}
        more_lines = "".join(f"\n{line}" for line in (*block_lines(answered, format), *self.risk_lines(answered)))
        return self.texts.setup_block.format(positions="\n".join(lines), more=more_lines, **one_line_texts)

    def risk_lines(self, answered: dict[str, Any]) -> list[str]:
        return [self.texts.risk.format(what=risk.text) for risk in risks.of_settings(answered)]

    def position_sentences(self, state: SetupState) -> list[str]:
        positions = state.answers.get("positions", {})
        texts = {side: sanitize.one_line(positions.get(side, "")).rstrip(".") for side in self.format.sides}
        name_of, argues = self.format.name_of, self.texts.argues
        sentences = [argues.format(name=name_of(side), position=text) for side, text in texts.items()]
        return [sentence[:-1] if sentence.endswith(("?.", "!.")) else sentence for sentence in sentences]

    def _about_rounds(self) -> str:
        phases = self.format.round
        if {"challenge", "rebuttal"} <= {phase.name for phase in phases}:
            return self.texts.rounds_with_rebuttals
        titles = dict.fromkeys(phase.title for phase in phases if phase.triggered_by is None)
        return self.texts.rounds_of_phases.format(phases=", ".join(titles))

    def _schema(self, name: str) -> dict[str, Any]:
        return json_schema(self.texts.shapes[name], _NO_SHAPE_CONTEXT)

    def with_checked_answers(self, state: SetupState) -> SetupState:
        """A file's state, its values as a conversation keeps them. Raises BadSettings with every problem."""
        keys = ("topic", "positions", "rounds", "context", *self.plain_settings)
        answered = {
            key: value for key, value in state.answers.items() if value is not None or key not in (*keys, "cast")
        }
        if answered.get("topic") == "":
            del answered["topic"]
        to_check = {"insist": True, **answered}  # what is missing is still to be asked for
        positions, sides = answered.get("positions"), self.format.sides
        if isinstance(positions, dict) and positions.keys() <= {*sides} and {*map(type, positions.values())} <= {str}:
            if duplicate_positions(positions):  # they are refused when they are confirmed, and can be changed till then
                positions = dict([*positions.items()][:1])
            to_check["positions"] = {side: f"({side})" for side in sides} | positions
        answers.judging_settings(to_check, self.format, MAX_JUDGES)
        if isinstance(answered.get("context"), str):
            answered["context"] = [answered["context"]]
        if "cast" in answered:
            answered["cast"] = answers.cast_by_seat(answered["cast"], self.format)
        state = with_valid_progress(state.model_copy(update={"answers": answered}), self.format.sides)
        if state.progress.proposal and check(self.texts.shapes["topic"], state.progress.proposal, _NO_SHAPE_CONTEXT):
            state = with_progress(state, proposal=None)
        for key in ("rounds", *self.plain_settings):
            if key in answered:
                state = self._take(state, key, answers.text_as_typed(answered[key]), state.origins.get(key, "file"))
        return state

    def with_fitting_answers(self, state: SetupState, before: SetupQuestions) -> tuple[SetupState, list[str]]:
        """The state after a change from the format of `before` to this one, without answers that this format does not
        take and without the earlier format's defaults; and the problems of the answers that it does not take."""
        problems: list[str] = []
        for keys in (("positions",), ("rounds", "insist"), *((key,) for key in before.plain_settings)):
            answered = {key: state.answers[key] for key in keys if key in state.answers}
            fits = keys == ("positions",) or any(state.origins.get(key) != "default" for key in answered)
            try:
                self.with_checked_answers(SetupState(answers=answered))
            except BadSettings as error:
                fits = False
                problems += error.problems
            if not fits:
                state = without_answers(state, *answered)
        return state, problems

    # Taking answers

    def mark_asked(self, state: SetupState, *questions: SetupQuestion) -> SetupState:
        return with_progress(state, asked={question.key: question.text for question in questions})

    def answer(self, state: SetupState, key: str, value: str) -> SetupState:
        """The state with one more answer. An earlier answer may be given again: what depended on it is asked again,
        and if it is the same, nothing is. Raises BadSettings if the answer can't be taken."""
        text = value.strip()
        if text.lower() in self.texts.automatic:
            problem = f"{key}: {short_repr(value)} is not an answer that a person gave."
            raise BadSettings(problem, hint="ask the user, and pass on what they say")
        if key not in self.texts.questions:
            sentence = suggest(key, self.texts.questions) or f"The questions are {', '.join(self.texts.questions)}."
            raise BadSettings(f"{short_repr(key)} is not a question of the setup. {sentence}")
        if key in _CHANGED_BY and state.progress.asked.get(key) != self.question(state, key).text:
            if not self._is_confirmed(state, key):
                problem = f"{key}: this was answered before it was asked."
                raise BadSettings(problem, hint="run ask without it, put the question that it prints, then answer")
            if text.lower() in _YES or (key == "framing" and self._framing(state, text) == state.answers["topic"]):
                return state
            raise BadSettings(f"{key}: its question was answered.", hint=f"a new answer to {_CHANGED_BY[key]}")
        wording = self.texts.questions[key]
        origin: AnswerOrigin = "user"
        if self._choices(key) or wording.default:
            text = _OPTION_SUFFIX.sub("", text).strip()
        if text.lower() == "default" and wording.default:
            text, origin = answers.text_as_typed(self.default(key)), "default"
        new_state = self._take(state, key, text, origin)
        return with_progress(
            new_state,
            asked={asked_key: text for asked_key, text in new_state.progress.asked.items() if asked_key != key},
        )

    def _take(self, state: SetupState, key: str, text: str, origin: AnswerOrigin) -> SetupState:
        if key.startswith("position_"):
            return self._take_position(state, text, origin, key.removeprefix("position_"))
        if key in self.plain_settings:
            word = answers.as_word(text, self._choices(key))
            return with_answers(state, origin, **{key: answers.setting_of(key, word, self.format)})
        match key:
            case "topic":
                return self._take_topic(state, text)
            case "framing":
                return self._take_framing(state, text)
            case "topic_ok":
                return self._take_topic_ok(state, text, origin)
            case "positions":
                return self._take_positions(state, text)
            case "positions_ok":
                return self._take_positions_ok(state, text)
            case "rounds":
                return self._take_rounds(state, text, origin)
            case "insist":
                return self._take_more_rounds(state, text, origin)
            case "context" if text.lower() in _YES:
                return with_progress(without_answers(state, "context"), has_context=True)
            case "context" | "context_files":
                return with_answers(state, origin, context=answers.context_paths(text))
            case "rapporteur":
                return self._take_rapporteur(state, text, origin)
        raise AssertionError(f"a question without an answer: {key}")

    def with_proposal(self, state: SetupState, name: str, value: Any) -> SetupState:
        """The state with the moderator's work. Raises BadSettings if it is not in the shape asked for."""
        shape = self.texts.shapes[name]
        value = normalize(shape, value, _NO_SHAPE_CONTEXT, SideWords()).value
        if isinstance(value, dict):
            value = {field: value.get(field) for field in shape}
        if problems := check(shape, value, _NO_SHAPE_CONTEXT):
            raise BadSettings([f"setup.{name}.moderator: {error}" for error in problems])
        if name == "topic":
            texts = {field: text for field, text in value.items() if isinstance(text, str)}
            if problems := [problem for field, text in texts.items() for problem in line_problems(field, text)]:
                raise BadSettings(problems)
            return with_progress(state, proposal=value)
        positions = {side: sanitize.one_line(value[side]) for side in self.format.sides}
        problems = [problem for side, text in positions.items() for problem in line_problems(f"position_{side}", text)]
        if problems := problems or duplicate_positions(positions):
            raise BadSettings(problems)
        return with_answers(state, "derived", positions=positions)

    def with_topic_as_stated(self, state: SetupState) -> SetupState:
        """The state with the topic as it was stated last, where no moderator restates it; still to be confirmed."""
        stated = {"ambiguous": False, "restated": sanitize.one_line(state.progress.topics[-1])}
        return with_progress(state, proposal={**stated, "recommended": None, "alternative": None})

    def with_reworded_topic(self, state: SetupState, text: str) -> SetupState:
        """The state with the topic in exactly these words of the user's, still to be confirmed."""
        is_unchanged = text.strip() == (state.progress.proposal or {}).get("restated")
        return state if is_unchanged else self.with_topic_as_stated(self._correct(state, text.strip()))

    def _take_topic(self, state: SetupState, text: str) -> SetupState:
        line = answers.checked_sentence("topic", text)
        if state.progress.topics and line in (self.current_answer(state, "topic"), state.progress.topics[-1]):
            return state
        return with_progress(self._without_topic(state), topics=(line,))

    def _take_framing(self, state: SetupState, text: str) -> SetupState:
        framing = self._framing(state, text)
        return self._correct(state, text) if framing is None else self._with_confirmed_topic(state, framing, "derived")

    def _framing(self, state: SetupState, text: str) -> str | None:
        """The framing of those proposed that an answer chooses; None if it chooses none."""
        proposal = state.progress.proposal or {}
        names = {"recommended": "recommended", "1": "recommended", "alternative": "alternative", "2": "alternative"}
        framing = proposal.get(names.get(text.lower(), "")) or (text if text in proposal.values() else None)
        return None if framing is None else sanitize.one_line(str(framing))

    def _is_confirmed(self, state: SetupState, key: str) -> bool:
        """Whether a confirmation was given, and what it confirms has not changed since."""
        if key == "insist":
            return bool(state.answers.get("insist"))
        return state.progress.positions_ok if key == "positions_ok" else state.progress.topic_ok

    def _take_topic_ok(self, state: SetupState, text: str, origin: AnswerOrigin) -> SetupState:
        if text.lower() in _YES:
            restated = sanitize.one_line(str((state.progress.proposal or {}).get("restated") or state.answers["topic"]))
            unchanged = bool(state.progress.topics) and restated == sanitize.one_line(state.progress.topics[-1])
            return self._with_confirmed_topic(state, restated, origin if unchanged else "derived")
        if text.lower() in _NO:
            return with_progress(self._without_topic(state), topics=())
        if suggestion := suggest(text.lower(), (_YES[0], _NO[0])):
            raise BadSettings(f"topic_ok: {short_repr(text)} is not yes, no, or the topic in other words. {suggestion}")
        return self._correct(state, text)

    def _with_confirmed_topic(self, state: SetupState, topic: str, origin: AnswerOrigin) -> SetupState:
        if state.answers.get("topic") != topic:
            state = with_answers(self._without_topic(state, state.progress.proposal), origin, topic=topic)
        return with_progress(state, topic_ok=True)

    def _without_topic(self, state: SetupState, proposal: dict[str, Any] | None = None) -> SetupState:
        """The state without its topic, and without positions that were derived from it."""
        derived = state.progress.positions == "auto"
        state = without_answers(state, "topic", *(["positions"] if derived else []))
        return with_progress(state, proposal=proposal, topic_ok=False, positions_ok=False, unwanted_positions=())

    def _correct(self, state: SetupState, text: str) -> SetupState:
        topics = (*state.progress.topics, answers.checked_sentence("topic", text))
        return with_progress(self._without_topic(state), topics=topics[-MAX_KEPT:])

    def _take_positions(self, state: SetupState, text: str) -> SetupState:
        choice = text.lower()
        if choice not in ("auto", "own"):
            hint = "give positions of the user's own as position_a=... and position_b=..."
            raise BadSettings(f"positions: {short_repr(text)} is neither auto nor own.", hint=hint)
        if choice == state.progress.positions:
            return state
        # Positions of the user's own are kept, to be offered again.
        current, progress = state.answers.get("positions", {}), state.progress
        set_aside = progress.set_aside_positions
        set_aside = {**set_aside, **current} if progress.positions == "own" else set_aside or current
        new_state = without_answers(state, "positions")
        return with_progress(new_state, set_aside_positions=set_aside, positions_ok=False, positions=choice)

    def _take_position(self, state: SetupState, text: str, origin: AnswerOrigin, side: str) -> SetupState:
        before = state.answers.get("positions", {})
        if before.get(side) == (line := answers.checked_sentence(f"position_{side}", text)):
            return state
        new_state = with_answers(state, origin, positions={**before, side: line})
        return with_progress(new_state, positions="own", positions_ok=False)

    def _take_positions_ok(self, state: SetupState, text: str) -> SetupState:
        if _yes("positions_ok", text, "change one with position_a=... or position_b=..."):
            if problems := duplicate_positions(state.answers["positions"]):
                raise BadSettings(problems)
            return with_progress(state, positions_ok=True)
        unwanted = (*state.progress.unwanted_positions, state.answers["positions"])
        new_state = without_answers(state, "positions")
        return with_progress(
            new_state,
            positions=None,
            set_aside_positions={},
            positions_ok=False,
            unwanted_positions=unwanted[-MAX_KEPT:],
        )

    def _take_rounds(self, state: SetupState, text: str, origin: AnswerOrigin) -> SetupState:
        if text.lower() == answers.AUTO and self.format.can_say_no_new_ground:
            return with_answers(without_answers(state, "insist"), origin, rounds=answers.AUTO)
        number = answers.parse_rounds(text, self.format.round_limits.max_if_insisted)
        if number is None:
            raise BadSettings(value_problem("rounds", text, self.format, in_setup=True))
        is_unchanged = state.answers.get("rounds") == number
        return with_answers(state if is_unchanged else without_answers(state, "insist"), origin, rounds=number)

    def _take_rapporteur(self, state: SetupState, text: str, origin: AnswerOrigin) -> SetupState:
        if RAPPORTEUR not in self.format.active_seats(self.format.optional_phases):
            raise BadSettings(f"{RAPPORTEUR}: the format {self.format.name} has no such seat.")
        cast = dict(state.answers.get("cast") or {})
        cast.pop(RAPPORTEUR, None)
        return with_answers(state, origin, cast=cast if text.lower() == JUDGE else {**cast, RAPPORTEUR: text})

    def _take_more_rounds(self, state: SetupState, text: str, origin: AnswerOrigin) -> SetupState:
        insists = _yes("insist", text)
        return with_answers(state, origin, insist=True) if insists else without_answers(state, "rounds", "insist")


def _yes(key: str, text: str, hint: str = "") -> bool:
    """Whether the answer to a confirmation is yes. Raises BadSettings if it is neither yes nor no."""
    if text.lower() not in (*_YES, *_NO):
        raise BadSettings(f"{key}: {short_repr(text)} is neither yes nor no.", hint=hint)
    return text.lower() in _YES
