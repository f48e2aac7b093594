"""What a person has written and not handed in yet, on the disk: a crash at any moment leaves the last of it there.

A paper is named after its turn and the brief that it answers, so that it is never offered for another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from debate_orchestrator.briefs import Brief
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.datafiles import LARGEST, read_text, strict_json, write_whole
from debate_orchestrator.errors import BadFile

Entered = dict[tuple[str, ...], str]
"""The place of a field in a form to what was typed there."""
_DIGITS = 8
"""Of a brief's digest, in a paper's name."""
_ENDINGS = {"text": "md", "json": "json"}


class Papers:
    """The papers of one debate, in a folder that is there only while one is in it."""

    def __init__(self, folder: str):
        self.folder = folder

    def place(self, brief: Brief) -> str:
        """Where the paper for this brief lies."""
        return os.path.join(self.folder, f"{brief.turn}.{brief.digest[:_DIGITS]}.{_ENDINGS[brief.wants]}")

    def speech(self, brief: Brief) -> str:
        """The speech that was begun in answer to exactly this brief; empty where none was."""
        try:
            return read_text(self.place(brief), LARGEST)
        except BadFile:
            return ""

    def keep_speech(self, brief: Brief, text: str) -> None:
        """Keeps a speech; one without a word is not kept."""
        self._keep(brief, text if text.strip() else "")

    def entered(self, brief: Brief) -> Entered:
        """What was entered in answer to exactly this brief. A paper that is no such form counts as none."""
        try:
            kept = strict_json(self.speech(brief) or "[]")
            return {tuple(map(str, place)): str(text) for place, text in kept}
        except (ValueError, TypeError):
            return {}

    def keep_entered(self, brief: Brief, entered: Mapping[tuple[str, ...], str]) -> None:
        """Keeps what was entered."""
        lines = ",\n".join(json.dumps([list(place), text], ensure_ascii=False) for place, text in entered.items())
        self._keep(brief, f"[\n{lines}\n]\n" if lines else "")

    def _keep(self, brief: Brief, text: str) -> None:
        if text:
            write_whole(self.place(brief), text)
            return
        with suppress(OSError):
            os.unlink(self.place(brief))

    def others(self, brief: Brief) -> list[str]:
        """Papers for that turn which answer another brief of it: nobody is offered them, and they are not lost."""
        mine = self.place(brief)
        written = [path for path in self._all() if path.endswith((".md", ".json"))]
        return [path for path in written if _turn(path) == brief.turn and path != mine]

    def tidy(self, debate: Debate) -> None:
        """Puts away the papers of turns that are on record, and the folder with the last of them."""
        for path in self._all():
            if _turn(path) in debate.answers:
                with suppress(OSError):
                    os.unlink(path)
        with suppress(OSError):
            os.rmdir(self.folder)

    def _all(self) -> list[str]:
        try:
            return sorted(str(path) for path in Path(self.folder).iterdir())
        except OSError:
            return []


def _turn(path: str) -> str:
    """The turn that a paper, or what a crash left of one being written, is for."""
    name = os.path.basename(path)
    return (name[1:].rsplit(".", 3) if name.startswith(".") else name.rsplit(".", 2))[0]
