"""The answers of earlier setups, which the arrow keys bring back. They are kept in a file of the user's."""

from __future__ import annotations

import json
from contextlib import suppress

from pydantic import TypeAdapter

from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.errors import DebateError

_MAX_REMEMBERED = 50
"""Answers of one kind that are remembered."""
_RECENT = TypeAdapter(dict[str, list[str]])
"""Kind of question to its answers, oldest first."""


class RecentAnswers:
    """The answers of earlier setups, by kind of question. If the file can't be read or written, nothing is
    remembered."""

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
