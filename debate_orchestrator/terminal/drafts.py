"""Saves what a person has written and not handed in yet on the disk, so that a crash loses nothing.

A draft is named after its turn and the brief that it answers, so that it is never offered for another.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from debate_orchestrator.core.phases import id_hiding_mirrored
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.storage.files import make_folder, write_atomic
from debate_orchestrator.util.data import MAX_SIZE, is_link, read_text, strict_json
from debate_orchestrator.util.errors import BadFile

TypedAnswers = dict[tuple[str, ...], str]
"""The path of a field in a form to what was typed there."""
SAVE_DELAY = 0.4
"""Seconds after which what is typed is on the disk."""
_DIGEST_DIGITS = 8
"""The number of digits of a brief's digest in a draft's name."""
_SUFFIXES = {"text": "md", "json": "json"}
_NAME = re.compile(rf"(?P<turn>.+)\.(?P<brief>[0-9a-f]{{{_DIGEST_DIGITS}}})\.(?:md|json)")


class Drafts:
    """The drafts of one debate, in a folder that is there only while one is in it."""

    def __init__(self, folder: str):
        self.folder = folder

    def path_of(self, brief: Brief) -> str:
        return os.path.join(
            self.folder, f"{id_hiding_mirrored(brief.turn_id)}.{brief.digest[:_DIGEST_DIGITS]}.{_SUFFIXES[brief.wants]}"
        )

    def read_speech(self, brief: Brief) -> str:
        """The speech begun in answer to exactly this brief, or empty. Raises BadFile for one that is not text: it
        stays."""
        path = self.path_of(brief)
        return read_text(path, MAX_SIZE, follow_symlinks=False) if os.path.lexists(path) else ""

    def save_speech(self, brief: Brief, text: str) -> None:
        """Saves a speech; one without a word is not saved."""
        if text.strip():
            make_folder(self.folder)
            write_atomic(self.path_of(brief), text)
        elif not is_link(self.folder):
            Path(self.path_of(brief)).unlink(missing_ok=True)

    def read_form(self, brief: Brief) -> TypedAnswers:
        """The answers typed into the form for exactly this brief. Raises BadFile for a draft that is not a form."""
        try:
            form = strict_json(self.read_speech(brief) or "[]")
            return {tuple(map(str, field_path)): str(text) for field_path, text in form}
        except (ValueError, TypeError):
            hint = "move it away to begin again"
            raise BadFile(f"{self.path_of(brief)}: this draft can't be read as a form.", hint=hint) from None

    def save_form(self, brief: Brief, answers: Mapping[tuple[str, ...], str]) -> None:
        """Saves what was typed into a form."""
        lines = ",\n".join(
            json.dumps([list(field_path), text], ensure_ascii=False) for field_path, text in answers.items()
        )
        self.save_speech(brief, f"[\n{lines}\n]\n" if lines else "")

    def earlier_drafts(self, brief: Brief) -> list[str]:
        """The drafts of that turn for an earlier brief. They are not offered, and stay until the debate is complete."""
        own_path = self.path_of(brief)
        return [path for path, turn, _ in self._all() if turn == id_hiding_mirrored(brief.turn_id) and path != own_path]

    def remove_drafts(self, debate: DebateState) -> None:
        """Removes the drafts that are on record as replies, in the end all of them, and the folder with the last."""
        replies = {id_hiding_mirrored(turn_id): event for turn_id, event in debate.replies.items()}
        for path, turn, brief in self._all():
            event = replies.get(turn)
            if event is not None and (debate.complete or event.reply.brief_digest.startswith(brief)):
                with suppress(OSError):
                    os.unlink(path)
        with suppress(OSError):
            os.rmdir(self.folder)

    def _all(self) -> list[tuple[str, str, str]]:
        """Path, turn id as its seat reads it (`id_hiding_mirrored`) and brief of every draft."""
        if is_link(self.folder) or not os.path.isdir(self.folder):
            return []
        matches = ((name, _NAME.fullmatch(name)) for name in sorted(os.listdir(self.folder)))
        return [
            (os.path.join(self.folder, name), id_hiding_mirrored(match["turn"]), match["brief"])
            for name, match in matches
            if match
        ]


T = TypeVar("T")


class DraftWriter(Generic[T]):
    """Saves a draft a moment after each change."""

    def __init__(self, write: Callable[[T], None]):
        self._write = write
        self._latest: list[T] = []
        self._timer: asyncio.TimerHandle | None = None
        self.problem = ""
        """The reason that nothing can be written; empty if it can."""

    def write_soon(self, value: T) -> None:
        """Writes the value within `SAVE_DELAY` seconds, unless a newer one comes before."""
        self._latest = [value]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SAVE_DELAY, self.write_now)

    def write_now(self, value: T | None = None) -> None:
        """Writes the value, or the latest given to `write_soon`, at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        latest, self._latest = self._latest if value is None else [value], []
        for item in latest:
            try:
                self._write(item)
                self.problem = ""
            except BadFile as error:
                self.problem = f"can't be kept: {error}"
