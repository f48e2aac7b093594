"""A person takes a turn at the terminal: reads the brief, writes a speech or fills in a form, and hands it in.

While a turn of theirs is due nothing else is shown there: they hear no more than any other speaker would.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from debate_orchestrator.core import speech_rules
from debate_orchestrator.core.events import BriefSent, Event
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.turn import OnEvent
from debate_orchestrator.prompting.brief_pieces import Piece, length_hint, pieces
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.prompting.person_turns import (
    hides_ballots,
    human_seats,
    speech_remarks,
)
from debate_orchestrator.terminal.drafts import Drafts, DraftWriter
from debate_orchestrator.terminal.form import TurnForm
from debate_orchestrator.terminal.person_turn import PersonTurn, readable
from debate_orchestrator.terminal.prompt import TEXT_KEYS, Line, Prompter, Question, Quit
from debate_orchestrator.util.errors import Paused
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.terminal_text import Back

if TYPE_CHECKING:
    from debate_orchestrator.terminal.keys import TerminalControl


class SpeechEditor:
    """The speech of one turn, while it is being written."""

    def __init__(self, person_turn: PersonTurn):
        self._person_turn, self._prompter = person_turn, person_turn.prompter
        self._text = person_turn.drafts.speech(person_turn.brief)
        self._writer = DraftWriter[str](lambda text: person_turn.drafts.keep_speech(person_turn.brief, text))

    async def take(self) -> str:
        """The speech as it is handed in, valid. Raises Quit, with all that was written kept."""
        if self._text.strip():
            words = self._counted(self._text)[0]
            self._prompter.tell(Line(f"What you had written is here again: {words:,} words.", True))
        while True:
            await self._write()
            if await self._hand_in():
                return self._text

    async def _write(self) -> None:
        question = Question(
            now=self._text,
            multiline=True,
            private=True,
            status=self._status,
            changed=self._writer.soon,
            shows={"brief": self._person_turn.whole},
        )
        self._prompter.tell("", f"Write your speech: {TEXT_KEYS}.")
        try:
            self._text = await self._prompter.ask(question)
        finally:
            self._writer.now()

    async def _hand_in(self) -> bool:
        """Whether it is valid, and meant so."""
        if problems := self._person_turn.problems(self._text):
            self._prompter.tell("", *(Line(problem, True) for problem in problems))
            return False
        lines = (*self._remarks(), "Enter hands it in; e and Enter goes on with it.")
        question = Question(lines=lines, back=True, private=True, shows={"brief": self._person_turn.whole})
        while True:
            try:
                answer = (await self._prompter.ask(question)).lower()
            except Back:
                return False
            if answer in ("", "y", "yes"):
                return True
            if answer in ("e", "edit", "n", "no"):
                return False

    def _remarks(self) -> list[str]:
        """Notes to read before the speech is handed in: its length, and the effect of its last line."""
        words, turn = self._counted(self._text)[0], self._person_turn.turn
        length = f"{plural(words, 'word')}. {length_hint(turn).capitalize()}".rstrip()
        return [length, *speech_remarks(self._person_turn.debate, turn, self._text)]

    def _counted(self, text: str) -> tuple[int, int]:
        """How many words there are, and how many of those are over the limit."""
        spoken = speech_rules.visible_as_quoted(self._person_turn.debate, text, self._person_turn.turn.phase)
        return spoken.words + spoken.dropped, spoken.dropped

    def _status(self, text: str) -> str:
        words, dropped = self._counted(text)
        phase = self._person_turn.turn.phase
        asked = f" of about {phase.words:,}" if phase.words else ""
        over = f", {dropped:,} too many" if dropped else f" ({phase.most_words:,} at most)" if phase.most_words else ""
        return " · ".join(filter(None, (f"{words:,} words{asked}{over}", self._writer.problem)))


class TerminalPeople:
    """The people at one terminal, in whichever seats they have."""

    one_at_a_time = True

    def __init__(self, prompter: Prompter, drafts: Drafts):
        self._prompter, self._drafts = prompter, drafts
        self._on_quit: Callable[[], None] = lambda: None
        self.has_quit = False
        """Whether they have quit."""
        self._awaited: set[str] = set()
        """The turns of people that are due in the stage under way."""
        self._seat: str | None = None
        """The seat that had the keyboard last."""
        self._private = False
        """Whether something can be seen that was written in the stage under way."""
        self._read: set[Piece] = set()
        """Documents that they were shown."""

    @property
    def elsewhere(self) -> bool:
        """Whether they are in an editor or a pager, so that an interrupt is not meant for the debate."""
        return self._prompter.busy_elsewhere

    def quit(self) -> None:
        """Quits the debate: ends the question that is being asked."""
        self.has_quit = True
        self._prompter.quit()

    def tidy(self, debate: DebateState) -> None:
        """Removes drafts that are on record."""
        self._drafts.tidy(debate)

    def begin_watching(self, on_quit: Callable[[], None], control: TerminalControl | None, also: OnEvent) -> OnEvent:
        """The person now watches a debate that runs: `on_quit` is called when they want to quit, and `control`
        lends the terminal as long as a turn of theirs is due. Returns what is to be told of its events, and tells
        `also` of them."""
        self._on_quit = on_quit

        def on_event(debate: DebateState, event: Event) -> None:
            if isinstance(event, BriefSent) and not self._awaited:
                self.tidy(debate)
                self._awaited = {turn.id for turn in debate.due if turn.seat in human_seats(debate)}
                if self._awaited and control is not None:
                    control.lend()
            also(debate, event)
            if self._awaited and not (self._awaited - set(debate.replies)):
                self._awaited = set()
                if self._private and hides_ballots(debate) and len(human_seats(debate)) > 1:
                    self._prompter.clear()  # another judge may look on now
                self._private = False
                if control is not None:
                    control.take_back()

        return on_event

    async def reply(self, debate: DebateState, turn: Turn, brief: Brief) -> str:
        """The reply that they hand in for a turn. Raises Paused if they quit before."""
        person_turn = PersonTurn(debate, turn, brief, self._prompter, self._drafts)
        try:
            if self.has_quit:
                raise Quit
            await self._call(person_turn)
            self._show(person_turn)
            self._private = True
            return await (SpeechEditor(person_turn) if debate.shape(turn) is None else TurnForm(person_turn)).take()
        except Quit:
            if not self.has_quit and any(due.seat not in human_seats(debate) for due in debate.due):
                waiting = "Waiting for answers that are already paid for; press Ctrl-C again to drop them."
                self._prompter.tell("", waiting)
            self.has_quit = True
            self._on_quit()
            kept = " What was written is kept, and offered again when the debate is resumed (`debate resume`)."
            written = os.path.exists(self._drafts.path_of(brief))
            raise Paused(f"{turn.id}: left before it was handed in.{kept if written else ''}") from None

    async def _call(self, person_turn: PersonTurn) -> None:
        """Calls the person of a seat to the keyboard, if several share it; nothing that another wrote is seen."""
        seated = human_seats(person_turn.debate)
        if len(seated) > 1 and person_turn.turn.seat != self._seat:
            if self._private:
                self._prompter.clear()
            name = person_turn.debate.format.name_of(person_turn.turn.seat)
            question = Question(f"{name}, take the keyboard.", ("Press Enter when you have it.",), private=True)
            await self._prompter.ask(question)
            self._read = set()
        self._seat = person_turn.turn.seat

    def _show(self, person_turn: PersonTurn) -> None:
        """Shows the brief, with what is new to them in full."""
        self._prompter.tell(Line(""), *readable(person_turn.debate, person_turn.turn, person_turn.brief, self._read))
        self._read |= {piece for piece in pieces(person_turn.brief) if piece.kind}
        for path in self._drafts.others(person_turn.brief):
            self._prompter.tell(f"What was written for this turn before, and is not offered, is in {path}.")
