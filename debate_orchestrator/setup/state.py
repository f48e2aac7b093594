"""The state of a setup conversation: its texts, the answers so far and the progress, and the file that keeps them.

The file is written after every answer, as `debate ask` writes it, so that either continues what the other began.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from debate_orchestrator.core.events import NONCE_PATTERN
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.settings import MAX_TOPIC_LENGTH, AnswerOrigin, line_problems, with_keys_of_today
from debate_orchestrator.core.shape import Shape
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.setup.answers import AUTO, as_word, unknown_keys
from debate_orchestrator.storage.files import redacted_bytes, write_bytes_atomic
from debate_orchestrator.storage.journal import begins_like_one
from debate_orchestrator.util.data import (
    MAX_SIZE,
    mapping_of,
    name_of,
    parse_mapping,
    read_bytes,
    read_mapping,
    read_regular,
    to_yaml,
)
from debate_orchestrator.util.errors import BadFile, DebateError
from debate_orchestrator.util.messages import Notify, command, shell_word

MAX_KEPT = 20
"""Wordings of the topic, and pairs of unwanted positions, that a conversation keeps: the latest ones."""


def read_file(path: str) -> dict[str, Any]:
    """The content of an answers file. Raises BadFile if it can't be read, or is a journal."""
    _must_be_no_journal(path)
    return read_mapping(path)


def _must_be_no_journal(path: str) -> None:
    if begins_like_one(path):
        hint = f"`{command('resume', path)}`, which continues it"
        raise BadFile(f"{name_of(path)} is the journal of a debate.", hint=hint)


def load(path: str) -> SetupState:
    """As `SetupFile.load`, of a file that is only read."""
    return SetupFile(path).load()


def _state_of(path: str, data: dict[str, Any]) -> SetupState:
    """The conversation in the data of a file. Raises BadFile."""
    data = with_keys_of_today(data)
    if problems := unknown_keys(data):
        raise BadFile(f"{name_of(path)}: {problem}" for problem in problems)
    progress, origins = data.pop("setup", None), data.pop("origins", None)
    if problems := [problem for name, text in _stated_texts(data) for problem in line_problems(name, text)]:
        raise BadFile(f"{path}: {problem}" for problem in problems)
    positions = as_word(data.get("positions"), (AUTO,))
    if positions == AUTO:
        del data["positions"]
    try:
        if progress is not None:
            valid = SetupProgress.model_validate(progress)
            if positions == AUTO:
                valid = valid.model_copy(update={"positions": AUTO, "positions_ok": False})
            return SetupState(answers=data, origins=origins or {}, progress=valid)
        topic = data.get("topic")
        topics = (data.pop("topic"),) if isinstance(topic, str) else ()
        kind = "own" if isinstance(positions, dict) else "auto" if positions == AUTO else None
        return SetupState(
            answers=data, origins=dict.fromkeys(data, "file"), progress=SetupProgress(topics=topics, positions=kind)
        )
    except ValidationError:
        problem = f"{name_of(path)} does not hold a setup conversation as `debate ask` keeps it."
        raise BadFile(problem, hint="begin a new file") from None


def _stated_texts(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The topic and the positions in a file, with their names. Those of another type are asked for again."""
    positions = data.get("positions")
    texts = [("topic", data.get("topic"))]
    texts += [(f"positions.{side}", text) for side, text in positions.items()] if isinstance(positions, dict) else []
    return [(name, text) for name, text in texts if isinstance(text, str)]


def _text(path: str, data: Mapping[str, Any]) -> str:
    """The data in the format that the name of the file says, as `read_mapping` reads it."""
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n" if path.endswith(".json") else to_yaml(data)


def _is_conversation(path: str, content: bytes) -> bool:
    """Whether a file is a conversation as `SetupFile` writes it, with nothing more, such as comments."""
    try:
        data = parse_mapping(content.decode(), "")
        return "setup" in data and _text(path, data).encode() == content
    except (BadFile, ValueError):
        return False


class QuestionText(FrozenModel):
    """One question as prompts/ words it."""

    text: str
    header: str = ""
    """Its name in a few letters, for a host's question tool."""
    help: str = ""
    choices: dict[str, str] = {}
    """The valid answers and their meanings; empty if others are valid."""
    suggestions: dict[str, str] = {}
    """Some answers to offer where others are valid too, and their meanings."""
    default: bool = False


class QuestionTexts(FrozenModel):
    """Everything in prompts/setup.yaml."""

    questions: dict[str, QuestionText]
    rounds_with_rebuttals: str
    """The description of a single round, if a format's further rounds have challenges and rebuttals."""
    rounds_of_phases: str
    """The description of a round in other formats."""
    argues: str
    """A side and its position, in a sentence."""
    automatic: tuple[str, ...]
    """Answers that no person gave, in lower case, such as what a host's question tool returns for a skipped question:
    none is taken."""
    setup_block: str
    """The setup as it is shown to the user, who then confirms it."""
    risk: str
    """A risk's line of the setup block."""
    side: str
    """A side's line of the setup block."""
    shapes: dict[str, Shape]


Line = Annotated[str, Field(max_length=MAX_TOPIC_LENGTH)]
"""A topic or a position. All that a conversation keeps may be repeated in a moderator's brief, so it is limited."""
Positions = Annotated[dict[Line, Line], Field(max_length=MAX_KEPT)]


class SetupProgress(FrozenModel):
    """The progress of the conversation, so that it can continue in another process."""

    topics: Annotated[tuple[Line, ...], Field(max_length=MAX_KEPT)] = ()
    """The user's wordings of the topic, corrections last."""
    proposal: dict[str, Line | bool | None] | None = None
    """The moderator's restatement or framings of the topic."""
    topic_ok: bool = False
    positions: Literal["auto", "own"] | None = None
    set_aside_positions: Positions = Field(default={}, alias="own")
    """Positions that were put aside when others were wanted, to be offered again for editing."""
    unwanted_positions: tuple[Positions, ...] = Field(default=(), max_length=MAX_KEPT, alias="rejected")
    """The pairs of positions that the user turned down, the latest last."""
    positions_ok: bool = False
    has_context: bool = False
    """Whether there are context files whose paths are still to be asked for."""
    seats_answered: int | None = Field(default=None, ge=0)
    """Questions on seats that were answered at the terminal while others are left; None if none is left."""
    asked: dict[str, str] = {}
    """The questions that were put last, key to text, but for those answered since."""
    nonce: str = Field(default="", pattern=rf"{NONCE_PATTERN}|^$")
    """The nonce of the markers in the moderator's briefs, drawn by the caller that runs the conversation."""
    paid: tuple[Reply, ...] = ()
    """The replies of a moderator that was called: each may have cost money."""


class SetupState(FrozenModel):
    """The answers so far."""

    answers: dict[str, Any] = {}
    """Settled answers, by their key in an answers file."""
    origins: dict[str, AnswerOrigin] = {}
    progress: SetupProgress = SetupProgress()


class SetupQuestion(FrozenModel):
    key: str
    header: str
    text: str
    choices: tuple[tuple[str, str], ...]
    """Value and what it means; empty for a free answer."""
    options: tuple[tuple[str, str], ...]
    """The choices, or some answers to offer; empty if only free text is valid."""
    default: str | int | None
    help: str


class ModeratorTask(FrozenModel):
    """Work for the moderator: `topic` or `positions`."""

    name: Literal["topic", "positions"]
    values: dict[str, Any]
    json_schema: dict[str, Any]

    @property
    def turn(self) -> str:
        return f"setup.{self.name}.moderator"


class Ready(FrozenModel):
    """Nothing is left to ask."""

    show: str
    """The setup block, for the user to read word for word and confirm."""


def with_progress(state: SetupState, **changes: Any) -> SetupState:
    """The state with changes of how far the conversation has come."""
    return state.model_copy(update={"progress": state.progress.model_copy(update=changes)})


def with_answers(state: SetupState, origin: AnswerOrigin, **values: Any) -> SetupState:
    origins = state.origins | dict.fromkeys(values, origin)
    return state.model_copy(update={"answers": state.answers | values, "origins": origins})


def without_answers(state: SetupState, *keys: str) -> SetupState:
    return state.model_copy(update={"answers": {key: value for key, value in state.answers.items() if key not in keys}})


def with_valid_progress(state: SetupState, sides: tuple[str, ...]) -> SetupState:
    """The state without confirmations of answers that it does not have: a user may have removed them from the file."""
    if state.progress.topic_ok and "topic" not in state.answers:
        state = with_progress(state, topic_ok=False)
    positions = state.answers.get("positions")
    if state.progress.positions_ok and not (isinstance(positions, Mapping) and {*positions} == {*sides}):
        state = with_progress(state, positions_ok=False)
    return state


_STEM, _SUFFIX = ".debate-setup", ".yaml"
ANSWERS = ".answers.yaml"


class SetupFile:
    """The answers file of a conversation. It alone knows what the file held when it was last read or written."""

    def __init__(self, path: str, *, has_generated_name: bool = False, notify: Notify | None = None):
        """`notify` gets a sentence for each file that is moved aside; without it they are in `moved_files`."""
        self.path, self._known = path, b""
        self.has_generated_name = has_generated_name
        """Whether it has a name that `new_file` makes up, and is not the answers file that is kept beside a report."""
        self.save_problem = ""
        """The reason that it could not be saved; empty if it could."""
        self.holds_setup = False
        """Whether the file holds a setup under way, and not only answers that a person wrote."""
        self.moved_files: list[str] = []
        self._notify = notify or self.moved_files.append

    def load(self) -> SetupState:
        """The conversation in the file; one that a person wrote counts as stated, not as confirmed. Raises BadFile,
        also for more text than a moderator's brief may repeat."""
        _must_be_no_journal(self.path)
        content = read_bytes(self.path, MAX_SIZE)
        data = mapping_of(content, self.path)
        self._known, self.holds_setup = content, "setup" in data
        return _state_of(self.path, data)

    def write(self, state: SetupState) -> None:
        """Writes the answers so far. A file that someone else has changed since it was read or written, or that holds
        more than a conversation, is moved aside. Raises BadFile."""
        data = {
            **state.answers,
            "origins": dict(state.origins),
            "setup": state.progress.model_dump(mode="json", by_alias=True),
        }
        content = redacted_bytes(self.path, _text(self.path, data))
        aside = write_bytes_atomic(
            self.path, content, is_ours=lambda old: old == self._known and _is_conversation(self.path, old)
        )
        self._known, self.holds_setup = content, True
        if aside:
            what = f"{name_of(self.path)} was changed by hand or by another program"
            self._notify(f"{what}: kept as {name_of(aside)}.")

    def save(self, state: SetupState) -> None:
        """As `write`; if that fails, `save_problem` says why, and the conversation continues."""
        try:
            self.write(state)
            self.save_problem = ""
        except DebateError as error:
            self.save_problem = " ".join(error.problems)

    def leaving_message(self) -> str:
        """The message on leaving: where the answers are, and the command that continues."""
        if self.save_problem:
            return f"You left the setup. Your answers could not be saved: {self.save_problem}"
        if not self.holds_setup:
            earlier = newest_unfinished()
            hint = f" The setup that you left here before is still in {name_of(earlier[0].path)}." if earlier else ""
            return f"You left the setup without answering anything.{hint}"
        sentence = f"You left the setup. Your answers are in {name_of(self.path)}."
        return " ".join([sentence, f"Continue with `debate --answers {shell_word(self.path)}`.", *self.moved_files])

    def move_to_report(self, state: SetupState, report: str) -> str:
        """Saves the answers beside the report instead, in a file of their own; returns its path."""
        stem = report.removesuffix(".md")
        own_path = os.path.abspath(self.path)
        names = _numbered_paths(stem, ANSWERS)
        path = next(name for name in names if not os.path.lexists(name) or os.path.abspath(name) == own_path)
        earlier_path = self.path if self.has_generated_name and self._is_unchanged() else ""
        if os.path.abspath(path) != own_path:
            self.path, self._known = path, b""
        self.write(state)
        if earlier_path and os.path.abspath(earlier_path) != os.path.abspath(path):
            Path(earlier_path).unlink(missing_ok=True)
        self.has_generated_name = False
        return path

    def _is_unchanged(self) -> bool:
        """Whether the file holds what this conversation wrote there."""
        try:
            return self.holds_setup and read_regular(self.path) == self._known
        except OSError:
            return False


def new_file() -> SetupFile:
    """A file of its own in the working directory, for a conversation without a named file."""
    return SetupFile(
        next(name for name in _numbered_paths(_STEM, _SUFFIX) if not os.path.lexists(name)), has_generated_name=True
    )


def _numbered_paths(stem: str, suffix: str) -> Iterator[str]:
    """`a.yaml`, `a-2.yaml`, `a-3.yaml` ..."""
    return (f"{stem}{'' if n == 1 else f'-{n}'}{suffix}" for n in itertools.count(1))


def newest_unfinished() -> tuple[SetupFile, SetupState] | None:
    """The newest unfinished conversation in this working directory; None if none can be continued."""
    paths = sorted(filter(is_generated_name, Path(os.curdir).iterdir()), key=_age)
    for path in paths:
        setup_file = SetupFile(str(path), has_generated_name=True)
        with suppress(DebateError):
            state = setup_file.load()
            if setup_file.holds_setup:
                return setup_file, state
    return None


def from_file(path: str) -> tuple[SetupFile, SetupState]:
    """The conversation of a file that was named; a new one if there is none. A file that a person wrote is read
    and left as it is, and the answers are saved in another."""
    if not os.path.exists(path):
        return SetupFile(path), SetupState()
    setup_file = SetupFile(path, has_generated_name=is_generated_name(Path(path)))  # even if the user names it
    state = setup_file.load()
    return setup_file if setup_file.holds_setup else new_file(), state


def is_generated_name(path: Path) -> bool:
    """Whether a file has a name that `new_file` makes up."""
    return re.fullmatch(rf"{re.escape(_STEM)}(-\d+)?{re.escape(_SUFFIX)}", path.name) is not None


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0
