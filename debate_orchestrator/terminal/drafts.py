"""Keeps what a person has written and not handed in yet on the disk, so that a crash loses nothing.

A draft is named after its turn and the brief that it answers, so that it is never offered for another. A draft that
can't be read is never overwritten: it is moved aside and stays there.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.storage.files import make_folder, move_aside, write_atomic
from debate_orchestrator.util.data import MAX_SIZE, error_text, is_link, read_text, strict_json
from debate_orchestrator.util.errors import BadFile

Entered = dict[tuple[str, ...], str]
"""The place of a field in a form to what was typed there."""
SOON = 0.4
"""Seconds after which what is typed is on the disk."""
_DIGITS = 8
"""Of a brief's digest, in a draft's name."""
_SUFFIXES = {"text": "md", "json": "json"}
_NAME = re.compile(rf"\.?(.+)\.([0-9a-f]{{{_DIGITS}}})\.(.+)", re.DOTALL)
"""A draft's turn, the beginning of its brief's digest, and its suffix; a dot before it all where a crash left it half
written."""


class Drafts:
    """The drafts of one debate, in a folder that is there only while one is in it."""

    def __init__(self, folder: str):
        self.folder = folder

    def path_of(self, brief: Brief) -> str:
        """Where the draft for this brief lies."""
        return os.path.join(self.folder, f"{brief.turn}.{brief.digest[:_DIGITS]}.{_SUFFIXES[brief.wants]}")

    def speech(self, brief: Brief) -> str:
        """The speech that was begun in answer to exactly this brief; empty where none was, or none that can be
        read."""
        try:
            return self._read(brief)
        except BadFile:
            return ""

    def _read(self, brief: Brief) -> str:
        """The draft for this brief; BadFile where it is no text, or a link."""
        if is_link(self.folder):
            raise BadFile(f"{self.folder}: the folder of the drafts can't be a symbolic link.")
        return read_text(self.path_of(brief), MAX_SIZE, follow=False)

    def set_aside(self, brief: Brief) -> str:
        """Moves the draft for this brief to a free name if it can't be read, as a text in another encoding. Returns
        that name; empty if nothing was moved."""
        path = self.path_of(brief)
        if not os.path.lexists(path) or self._can_be_read(brief):
            return ""
        try:
            return move_aside(path, "aside", first="-1")
        except OSError:
            return ""

    def _can_be_read(self, brief: Brief) -> bool:
        try:
            text = self._read(brief)
            if brief.wants == "json" and text.strip():
                _form(text)
        except (BadFile, ValueError, TypeError):
            return False
        return True

    def new_part(self, brief: Brief, text: str) -> str:
        """A new file that holds this text, a part of the draft for this brief, to be written on elsewhere; its path.
        The caller takes it away. BadFile where it can't be written."""
        try:
            make_folder(self.folder)
            begins = f"{brief.turn}.{brief.digest[:_DIGITS]}.part-"
            handle, path = tempfile.mkstemp(suffix=".md", prefix=begins, dir=self.folder)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError as error:
            raise BadFile(f"Can't write to {self.folder} ({error_text(error)}). Nothing was lost.") from None
        return path

    def keep_speech(self, brief: Brief, text: str) -> None:
        """Keeps a speech; one without a word is not kept."""
        self._keep(brief, text if text.strip() else "")

    def entered(self, brief: Brief) -> Entered:
        """What was entered in answer to exactly this brief. A draft that is no such form counts as none."""
        try:
            return _form(self.speech(brief) or "[]")
        except (ValueError, TypeError):
            return {}

    def keep_entered(self, brief: Brief, entered: Mapping[tuple[str, ...], str]) -> None:
        """Keeps what was entered."""
        lines = ",\n".join(json.dumps([list(place), text], ensure_ascii=False) for place, text in entered.items())
        self._keep(brief, f"[\n{lines}\n]\n" if lines else "")

    def _keep(self, brief: Brief, text: str) -> None:
        if text:
            make_folder(self.folder)
            write_atomic(self.path_of(brief), text)
            return
        if is_link(self.folder):
            return
        with suppress(OSError):
            os.unlink(self.path_of(brief))

    def others(self, brief: Brief) -> list[str]:
        """What else was written for that turn: in answer to another brief of it, or what was set aside. It is not
        offered; what answers another brief lies there until the debate is complete, the rest for good."""
        mine = self.path_of(brief)
        return [path for path in self._all() if path != mine and _named(path).turn == brief.turn and not _half(path)]

    def tidy(self, debate: DebateState) -> None:
        """Puts away the drafts that are on record as replies, and in the end all that answer another brief; and the
        folder with the last of them."""
        for path in self._all():
            draft = _named(path)
            reply_event = debate.replies.get(draft.turn)
            if reply_event is None or not (_half(path) or draft.suffix in _SUFFIXES.values()):
                continue
            if debate.complete or _half(path) or reply_event.reply.brief_digest.startswith(draft.brief):
                with suppress(OSError):
                    os.unlink(path)
        with suppress(OSError):
            os.rmdir(self.folder)

    def _all(self) -> list[str]:
        if is_link(self.folder):
            return []
        try:
            return sorted(str(path) for path in Path(self.folder).iterdir())
        except OSError:
            return []


class _Named(NamedTuple):
    """What the name of a draft says."""

    turn: str
    brief: str
    suffix: str


def _named(path: str) -> _Named:
    """What a name says; nothing where it is no draft's."""
    match = _NAME.fullmatch(os.path.basename(path))
    return _Named(*match.groups()) if match else _Named("", "", "")


def _half(path: str) -> bool:
    """Whether it is what a crash left of a draft that was being written."""
    return os.path.basename(path).startswith(".")


def _form(text: str) -> Entered:
    """What was entered, by the text of a draft. ValueError or TypeError where it is no such form."""
    return {tuple(map(str, place)): str(said) for place, said in strict_json(text)}


T = TypeVar("T")


class DraftWriter(Generic[T]):
    """Writes down what is being typed, a moment after it has changed."""

    def __init__(self, write: Callable[[T], None]):
        self._write = write
        self._latest: list[T] = []
        self._timer: asyncio.TimerHandle | None = None
        self.problem = ""
        """Why nothing can be written; empty where it can."""

    def soon(self, value: T) -> None:
        """Writes the value within `SOON` seconds, unless a newer one comes before."""
        self._latest = [value]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SOON, self.now)

    def now(self, value: T | None = None) -> None:
        """Writes the value, or the latest given to `soon`, at once."""
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
