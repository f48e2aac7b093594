"""The setup conversation of an agent host, stored in a file: answers in, next questions out.

The file is an answers file from the start; under `setup` it keeps what was said on the way. The moderator's work is
laid out in a folder beside it, as turns are. Once its debate is open, a new topic begins a new conversation.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.phases import RAPPORTEUR
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine.start import context_problems
from debate_orchestrator.host.turns_folder import (
    TurnFiles,
    TurnsFolder,
    awaited_reply_text,
    read_named_reply,
    wait_for_replies,
)
from debate_orchestrator.prompting.briefs import moderator_brief
from debate_orchestrator.prompting.replies import decode, parse_structured
from debate_orchestrator.providers.cast_providers import cast_problems
from debate_orchestrator.setup import risks
from debate_orchestrator.setup.questions import SetupQuestions
from debate_orchestrator.setup.risks import Risk, is_outside_or_hidden, is_read_as_instructions
from debate_orchestrator.setup.state import (
    ModeratorTask,
    Ready,
    SetupFile,
    SetupQuestion,
    SetupState,
    is_generated_name,
    with_progress,
    without_answers,
)
from debate_orchestrator.storage.files import move_aside
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util.data import is_link, name_of
from debate_orchestrator.util.errors import BadFile, BadSettings, DebateError
from debate_orchestrator.util.messages import Notify, command, ignore


class AskResult(FrozenModel):
    """The result of one call: the answers that were taken, and what is asked next."""

    next_item: SetupQuestion | ModeratorTask | Ready
    questions_to_ask: tuple[SetupQuestion, ...]
    """The questions that can be put at once, the next one first."""
    turn_files: TurnFiles | None
    """The path of the moderator's brief, if a moderator is needed now."""
    answers: dict[str, Any]
    origins: dict[str, str]
    problems: tuple[str, ...]
    rejected_keys: frozenset[str]
    """The keys of the answers that were not taken."""
    awaited: tuple[str, ...]
    """A sentence for each reply that was waited for and did not come."""


HasConsented = Callable[[tuple[Risk, ...]], bool]
"""Whether the user has consented to these risks of a file."""


def ask(
    path: str,
    answers: Mapping[str, str | bytes],
    questions: SetupQuestions,
    notify: Notify = ignore,
    wait: float = 0.0,
    *,
    has_consented: HasConsented = lambda risks: not risks,
) -> AskResult:
    """Takes `answers` (key to answer; a moderator's turn to its reply as bytes, or to the reply's file) into the
    answers file at `path`, and says what comes next. A bad answer is a problem; the others are taken. Waits up to that
    many seconds for a moderator's reply that is due. `notify` gets a sentence for each file that was moved aside. By
    default, there is no consent to any risk.

    Raises BadSettings if the file holds an answer that can't be taken, or if its debate is open already and no new
    topic is given."""
    folder, setup_file = TurnsFolder(setup_folder(path), notify), SetupFile(path, notify=notify)
    state = _initial_state(setup_file, has_consented, starts_anew="topic" in answers)
    state, problems = questions.with_checked_answers(state), list[str]()
    state = _with_unused_output(state, has_consented, problems)
    due = questions.next(state)
    rejected_keys = set[str]()
    for key, value in answers.items():
        try:
            state = _take(state, key, value, questions, folder.folder)
        except DebateError as error:
            problems += error.problems
            rejected_keys.add(key)
    setup_file.write(state)  # before the wait too, in which this call may be ended
    if wait and isinstance(due, ModeratorTask) and questions.next(state) == due:
        wait_for_replies([folder.turn_files(due.turn, "json")], wait)
        state = questions.with_checked_answers(setup_file.load())  # someone may have changed it meanwhile
    state, turn_files, awaited = _take_moderator_replies(folder, state, questions, problems, setup_file)
    questions_to_ask = questions.questions_to_ask(state)
    state = questions.mark_asked(state, *questions_to_ask)
    setup_file.write(state)
    return AskResult(
        next_item=questions.next(state),
        questions_to_ask=questions_to_ask,
        turn_files=turn_files,
        answers=state.answers,
        origins=dict(state.origins),
        problems=tuple(problems),
        rejected_keys=frozenset(rejected_keys),
        awaited=awaited,
    )


def setup_folder(path: str) -> str:
    """The folder of the conversation of an answers file. Raises BadSettings for a file that an agent host may not write
    unasked."""
    stem, ending = os.path.splitext(path)
    visible_path = os.path.join(os.path.dirname(path), "setup") if is_generated_name(Path(path)) else path
    if is_link(path) or is_outside_or_hidden(visible_path):
        problem = "is not written, since it is hidden, a link or outside the working folder"
    elif ending not in (".yaml", ".yml", ".json"):
        problem = "is not an answers file: its name must end in .yaml, .yml or .json"
    elif is_read_as_instructions(stem):
        problem = "is not written, since agents may read a file of that name as instructions"
    else:
        return f"{stem}.setup"
    raise BadSettings(f"{name_of(path)} {problem}.", hint="debate.yaml")


def is_moderator_reply(key: str) -> bool:
    return key.startswith("setup.")


def _initial_state(setup_file: SetupFile, has_consented: HasConsented, *, starts_anew: bool) -> SetupState:
    """The conversation of a file, or a new one. If the debate of the file is open, its answers are moved aside for a
    new conversation if `starts_anew`. Raises BadSettings otherwise."""
    path = setup_file.path
    state = setup_file.load() if os.path.exists(path) else SetupState()
    if journal := _open_debate(state, has_consented):
        if not starts_anew:
            hint = f"continue with `{command('step', journal)}`, or begin another debate with topic=..."
            raise BadSettings(f"{name_of(path)}: the debate of these answers is open.", hint=hint)
        move_aside(path, "opened", first_ending="-1")
        state = SetupState()
    return state if state.progress.nonce else with_progress(state, nonce=secrets.token_hex(8))


def _open_debate(state: SetupState, has_consented: HasConsented) -> str | None:
    """The journal of the debate that was opened with these answers; None if there is none. One elsewhere is not looked
    for without consent to that output: the file may come from someone else."""
    is_confirmed = state.progress.topic_ok and state.progress.positions_ok
    if not (is_confirmed and isinstance(state.answers.get("output"), str) and _may_look(state, has_consented)):
        return None
    try:
        journal = DebateFiles.named_by(state.answers["output"]).journal
        opened = read(journal).events[0] if os.path.isfile(journal) else None
    except DebateError:
        return None
    is_same_debate = isinstance(opened, Opened) and opened.settings.topic == state.answers.get("topic")
    return journal if is_same_debate else None


def _may_look(state: SetupState, has_consented: HasConsented) -> bool:
    """Whether this program may look at the output path that a file names: the file may come from someone else."""
    return has_consented(risks.of_settings({"output": state.answers.get("output")}))


def _with_unused_output(state: SetupState, has_consented: HasConsented, problems: list[str]) -> SetupState:
    """The state. If no debate can be opened at its output any more, the output is removed, and so asked for again."""
    try:
        if "output" in state.answers and _may_look(state, has_consented):
            DebateFiles.named_by(state.answers["output"]).must_be_new()
        return state
    except BadFile as error:
        problems += error.problems
        return without_answers(state, "output")


def _take_moderator_replies(
    folder: TurnsFolder,
    state: SetupState,
    questions: SetupQuestions,
    problems: list[str],
    setup_file: SetupFile,
) -> tuple[SetupState, TurnFiles | None, tuple[str, ...]]:
    """The state with the moderator's replies that are there; the files of the next one, whose brief is written;
    and which replies are awaited. What is wrong with a reply is added to `problems`. A reply was paid for, and is put
    away only when the state with it is saved. Raises BadFile if a file can't be written or moved."""
    while isinstance(next_item := questions.next(state), ModeratorTask):
        turn_files = folder.turn_files(next_item.turn, "json")
        brief = moderator_brief(
            next_item.name,
            turn=next_item.turn,
            nonce=state.progress.nonce,
            schema=next_item.json_schema,
            reply_name=os.path.basename(turn_files.reply),
            **next_item.values,
        )
        asked_before = os.path.exists(turn_files.brief)
        try:
            text = folder.collect(turn_files, brief)
            if text is not None:
                state = questions.with_proposal(state, next_item.name, parse_structured(next_item.turn, text))
        except DebateError as error:
            problems += folder.reject(turn_files, error.problems)
            return state, turn_files, ()
        if text is None:
            problem = folder.write_brief(turn_files, brief)
            problems += [problem] if problem else []
            is_waiting = asked_before and not problem
            return state, turn_files, (awaited_reply_text(turn_files.turn, turn_files.reply),) if is_waiting else ()
        setup_file.write(state)
        folder.move_taken_aside(turn_files)
    return state, None, ()


def _take(state: SetupState, key: str, value: str | bytes, questions: SetupQuestions, folder: str) -> SetupState:
    """The state with one answer, which may be a reply in a file of that `folder`."""
    next_item = questions.next(state)
    if is_moderator_reply(key):
        if not isinstance(next_item, ModeratorTask) or key != next_item.turn:
            raise BadSettings(f"{key}: this moderator's reply is not due.", hint="do what ask prints now")
        text = decode(key, value) if isinstance(value, bytes) else read_named_reply(key, value, folder)
        return questions.with_proposal(state, next_item.name, parse_structured(key, text))
    new_state = questions.answer(state, key, str(value))
    if key == "output" and not risks.of_settings({key: new_state.answers[key]}):  # others are looked at after consent
        DebateFiles.made_for(new_state.answers[key]).must_be_new()
    if key in ("context", "context_files") and (problems := context_problems(new_state.answers.get("context"))):
        raise BadSettings(problems, hint="the path of a text file, several with commas, or no")
    cast = new_state.answers.get("cast", {}) if key == RAPPORTEUR else {}
    if RAPPORTEUR in cast and (problems := cast_problems({RAPPORTEUR: (cast[RAPPORTEUR],)})):
        raise BadSettings(problems)
    return new_state
