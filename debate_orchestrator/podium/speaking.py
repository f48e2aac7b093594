"""A speech: written at the terminal with its words counted as they come, or in an editor, looked at and handed in."""

from __future__ import annotations

import os
import shutil

from debate_orchestrator.core import hearing
from debate_orchestrator.core.events import Reply
from debate_orchestrator.podium import briefing
from debate_orchestrator.podium.briefing import Line
from debate_orchestrator.podium.lectern import Below, Blank, Elsewhere, editor
from debate_orchestrator.podium.turn import Keeping, Taken
from debate_orchestrator.storage.files import make_folder
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.data import LARGEST, read_text
from debate_orchestrator.util.errors import BadFile
from debate_orchestrator.util.terminal_text import Back

_EDITORS = ("nano", "vi")
"""Editors for those who have chosen none and ask for one."""


class Speech:
    """The speech of one turn, while it is being written."""

    def __init__(self, at: Taken):
        self._at = at
        self._text = at.papers.speech(at.brief)
        self._keeping = Keeping[str](lambda text: at.papers.keep_speech(at.brief, text))
        self._in_editor = False

    async def take(self) -> str:
        """The speech as it is handed in: one that will do. Raises Left, with all that was written kept."""
        self._at.set_aside()
        if self._text.strip():
            self._at.tell(f"What you had written is here again: {self._counted(self._text)[0]:,} words.", strong=True)
        if editor():
            self._in_editor = await self._prefers_editor()
        while True:
            if await (self._edit() if self._in_editor else self._write()) and await self._hand_in():
                return self._text

    async def _write(self) -> bool:
        """Has it written here; whether it was handed in, and not taken to an editor."""
        blank = Blank(
            now=self._text, long=True, below=self._below, changed=self._keeping.soon, shows={"brief": self._at.whole}
        )
        self._at.tell("", f"Write your speech: {', '.join(self._at.lectern.long_keys)}.")
        try:
            self._text = await self._at.lectern.ask(blank)
        except Elsewhere as elsewhere:
            self._text, self._in_editor = elsewhere.text, True
            return False
        finally:
            self._keeping.now()
        return True

    async def _edit(self) -> bool:
        """Has it written in the person's editor, on the very file in which it is kept."""
        at, command = self._at, editor() or next(filter(shutil.which, _EDITORS), "")
        if not command:
            at.tell("No editor was found: set VISUAL or EDITOR to one.")
            self._in_editor = False
            return False
        path = at.papers.place(at.brief)
        try:
            at.papers.keep_speech(at.brief, self._text)
            make_folder(at.papers.folder)
            wrong = await at.lectern.edit(command, path)
            self._text = read_text(path, LARGEST) if os.path.exists(path) else ""
        except (BadFile, OSError) as error:
            wrong = str(error)
            at.set_aside()
            self._keeping.soon(self._text)
            self._keeping.now()
        if wrong:
            at.tell(wrong)
            self._in_editor = False
        return wrong is None

    async def _prefers_editor(self) -> bool:
        """Whether it is to be written in the editor that the person has chosen."""
        shows = {"brief": self._at.whole}
        above = Line(f"Enter opens your editor ({editor()}); w and Enter is for writing here.")
        try:
            said = await self._at.lectern.ask(Blank(above=(Line(""), above), shows=shows))
        except (Back, Elsewhere):
            return True
        return said.strip().lower() != "w"

    async def _hand_in(self) -> bool:
        """Whether it will do, and is meant so."""
        if wrong := self._at.wrong(self._text):
            self._at.tell("", *wrong, strong=True)
            self._in_editor = self._in_editor and await self._prefers_editor()
            return False
        above = (Line(""), *map(Line, self._told()), Line("Enter hands it in; e and Enter goes on with it."))
        while True:
            try:
                said = await self._at.lectern.ask(Blank(above=above, shows={"brief": self._at.whole}))
            except (Back, Elsewhere):
                return False
            if said.strip().lower() in ("", "y", "yes"):
                return True
            if said.strip().lower() in ("e", "edit", "n", "no"):
                return False

    def _told(self) -> list[str]:
        """What there is to say of it before it is handed in."""
        debate, turn = self._at.debate, self._at.turn
        words, dropped = self._counted(self._text)
        said = [f"{words:,} word{'s' * (words != 1)}. {briefing.limits(turn).capitalize()}".rstrip()]
        if dropped:
            said.append(f"The last {dropped:,} words are over the limit: they are on record, and nobody hears them.")
        lines, reply = debate.format.lines, Reply(text=self._text, brief="", by=model_spec.HUMAN)
        if turn.speaking and hearing.says(debate, lines.decline, turn, reply):
            said.append("It declines to argue this position, and is on record as a refusal.")
        elif turn.speaking and hearing.says(debate, lines.concede, turn, reply):
            said.append("It concedes the whole debate, which ends the debate.")
        elif ignored := hearing.ignored_line(debate, turn, reply):
            said.append(lines.remark(ignored))
        return said

    def _counted(self, text: str) -> tuple[int, int]:
        """How many words there are for others to hear, and how many of those are too many."""
        said = hearing.as_spoken(self._at.debate, text, self._at.turn.phase)
        return said.words + said.dropped, said.dropped

    def _below(self, text: str) -> Below:
        words, dropped = self._counted(text)
        phase = self._at.turn.phase
        asked = f" of about {phase.words:,}" if phase.words else ""
        over = f", {dropped:,} too many" if dropped else f" ({phase.most_words:,} at most)" if phase.most_words else ""
        notes = (self._keeping.trouble,) if self._keeping.trouble else self._at.lectern.long_keys
        return Below(f"{words:,} words{asked}{over}", over=bool(dropped), notes=notes)
