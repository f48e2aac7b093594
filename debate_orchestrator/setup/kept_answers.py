"""Where the answers of a setup conversation are kept: in a file after every answer, and in the end beside the report.

The file is the one that `debate ask` keeps, so that either continues what the other began. `RecentAnswers` are those
of earlier setups, for the arrow keys."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter

from debate_orchestrator.setup.state import SetupState, load, save
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.data import read_mapping
from debate_orchestrator.util.errors import DebateError
from debate_orchestrator.util.redact import redact_values

_STEM, _SUFFIX = ".debate-setup", ".yaml"
ANSWERS = ".answers.yaml"
_MAX_REMEMBERED = 50
"""Answers of one kind that are remembered."""


class KeptAnswers:
    """The file that a conversation is kept in."""

    def __init__(self, path: str, *, is_ours: bool):
        self.path = path
        self.is_ours = is_ours
        """Whether the conversation chose the file itself because no name was given."""
        self.lost = ""
        """Why it could not be kept; empty if it could."""
        self.saved = False
        self.may_replace = True
        """Whether everything in the file was taken; if not, the file is moved aside before it is written again."""
        self.asides: list[str] = []
        """A sentence for each file that was moved aside."""

    def keep(self, state: SetupState) -> None:
        """Writes the answers so far; if that fails, `lost` says why, and the conversation continues."""
        try:
            save(self.path, state, self.asides.append, may_replace=self.may_replace)
            self.saved, self.may_replace, self.lost = True, True, ""
        except DebateError as error:
            self.lost = " ".join(error.problems)

    def leaving(self) -> str:
        """The message on leaving: where the answers are, and the command that continues."""
        if self.lost:
            return f"You left the setup. Your answers could not be saved: {self.lost}"
        if not self.saved:
            earlier = newest_unfinished()
            before = f" The setup that you left here before is still in {earlier[0].path}." if earlier else ""
            return f"You left the setup without answering anything.{before}"
        sentence = f"You left the setup. Your answers are in {self.path}. Continue with `debate --answers {self.path}`."
        return " ".join([sentence, *self.asides])

    def move_to_report(self, state: SetupState, report: str) -> str:
        """Keeps the answers beside the report instead, in a file of their own; returns its path."""
        stem = report.removesuffix(".md")
        own_path = os.path.abspath(self.path)
        names = _numbered_paths(stem, ANSWERS)
        path = next(name for name in names if not os.path.lexists(name) or os.path.abspath(name) == own_path)
        save(path, state, self.asides.append)
        if self.is_ours and self.saved and os.path.abspath(path) != os.path.abspath(self.path):
            Path(self.path).unlink(missing_ok=True)
        self.path, self.is_ours, self.saved = path, False, True
        return path


def new_file() -> KeptAnswers:
    """A file of its own in the working directory, for a conversation without a named file."""
    return KeptAnswers(
        next(name for name in _numbered_paths(_STEM, _SUFFIX) if not os.path.lexists(name)), is_ours=True
    )


def _numbered_paths(stem: str, suffix: str) -> Iterator[str]:
    """`a.yaml`, `a-2.yaml`, `a-3.yaml` ..."""
    return (f"{stem}{'' if n == 1 else f'-{n}'}{suffix}" for n in itertools.count(1))


def newest_unfinished() -> tuple[KeptAnswers, SetupState] | None:
    """The newest unfinished conversation in this working directory; None if none can be continued."""
    paths = sorted(filter(_is_own, Path(os.curdir).iterdir()), key=_age)
    for path in paths:
        try:
            if _holds_setup(str(path)):
                kept_answers = KeptAnswers(str(path), is_ours=True)
                kept_answers.saved = True
                return kept_answers, load(str(path))
        except DebateError:
            continue
    return None


def from_file(path: str) -> tuple[KeptAnswers, SetupState]:
    """The conversation of a file that was named; a new one where there is none. A file that a person wrote is read
    and left as it is, and the answers are kept in another."""
    if not os.path.exists(path):
        return KeptAnswers(path, is_ours=False), SetupState()
    state = load(path)
    if not _holds_setup(path):
        return new_file(), state
    kept_answers = KeptAnswers(path, is_ours=_is_own(Path(path)))  # ours, even if the user names it
    kept_answers.saved = True
    return kept_answers, state


def _is_own(path: Path) -> bool:
    """Whether a file has a name that `new_file` gives."""
    return re.fullmatch(rf"{re.escape(_STEM)}(-\d+)?{re.escape(_SUFFIX)}", path.name) is not None


def _holds_setup(path: str) -> bool:
    try:
        return "setup" in read_mapping(path)
    except DebateError:
        return False


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0


_RECENT = TypeAdapter(dict[str, list[str]])
"""Kind of question to its answers, oldest first."""


class RecentAnswers:
    """What was answered in earlier setups, by kind of question. Where the file can't be read or written, nothing is
    remembered."""

    def __init__(self) -> None:
        folder = state_folder()
        self._path = folder / "answered-lately.json" if folder else None
        self._answers: dict[str, list[str]] = {}
        if self._path is not None:
            with suppress(OSError, ValueError):
                self._answers = _RECENT.validate_json(self._path.read_bytes())

    def answers_of(self, kind: str) -> tuple[str, ...]:
        """Answers of that kind, oldest first."""
        return tuple(self._answers.get(kind, ()))

    def add(self, kind: str, answer: str) -> None:
        """Remembers an answer as the latest of its kind."""
        if not answer.strip() or self._path is None:
            return
        others = [earlier for earlier in self.answers_of(kind) if earlier != answer]
        self._answers[kind] = [*others, answer][-_MAX_REMEMBERED:]
        with suppress(DebateError, OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(self._path, json.dumps(redact_values(self._answers), indent=1))
