"""A debate driven from the command line: who may stop it and let it go on, and the screen where somebody watches."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, TextIO

from debate_orchestrator.cli.interrupts import STOPPING, heeded
from debate_orchestrator.cli.output import remark
from debate_orchestrator.cli.seating import judges_look_on
from debate_orchestrator.core.events import Answer, Asked, EndedEarly, Event, QuestionAsked
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import Budget
from debate_orchestrator.engine.loop import run_loop
from debate_orchestrator.engine.turn import OnBrief, OnEvent, record_event
from debate_orchestrator.providers.registry import Provider
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_retry import UnsavedEvents
from debate_orchestrator.util.errors import DebateError, ExternalError, OutOfTurn

if TYPE_CHECKING:
    from debate_orchestrator.podium.person import Person
    from debate_orchestrator.terminal.keys import Session
    from debate_orchestrator.terminal.live import Live


class Key(NamedTuple):
    """A key that does something while a debate runs."""

    key: str
    does: str
    """As the status tells it."""
    press: Callable[[], None]


class Chair:
    """Who keeps order while a debate is driven. A pause lets the answers under way come in and asks nobody
    meanwhile; the debate can then go on, or be left as it is: everything is on record either way."""

    def __init__(
        self,
        live: Live | None,
        journal: JournalWriter,
        debate: DebateState,
        on_event: OnEvent,
        person: Person | None = None,
        on_brief: OnBrief | None = None,
    ):
        self._on_brief = on_brief
        self._live, self._journal, self._debate, self._person = live, journal, debate, person
        self.on_event = on_event
        self._stop, self._resumed = asyncio.Event(), asyncio.Event()
        self._task = asyncio.current_task()
        self._waits = False
        """Whether nobody is asked, since it is paused."""
        self._closing = False
        """Whether the next key says if the debate is really ended early."""
        self._unsaved = UnsavedEvents(live.message if live else remark)
        self._saving: asyncio.Task[None] | None = None
        """What brings the last word from outside the seats to the disk."""
        self.ended = False
        """Whether somebody has ended it."""
        self.hears = False
        """Whether keys can be pressed."""

    def keys(self) -> list[Key]:
        """The keys that do something now."""
        if self.ended or not self.hears:
            return []
        if self._closing:
            return [Key("y", "end it early", self._close), Key("n", "go on", self._decide)]
        paused = self._stop.is_set()
        keys = [Key("r", "resume", self.resume) if paused else Key("p", "pause", self.pause)]
        keys += [Key("f", "question", self.ask)] if self._hearers() else []
        keys += [Key("e", "end early", self._ask_to_close)] if self._can_close() else []
        return [*keys, Key("q", "quit and save", self.end)]

    def press(self, key: str) -> None:
        """A key was pressed; what none of them is does nothing. A question that is being put gets them all."""
        if self._live is not None and self._live.question is not None and self._live.question.open:
            self._live.question.press(key)
            self.tell()
            return
        for one in self.keys():
            if one.key == key.casefold():
                one.press()
                return
        if self._closing:
            self._decide()  # whatever is not yes goes on

    def ask(self) -> None:
        """Begins a question from the floor."""
        if self._live is None:
            return
        from debate_orchestrator.terminal.keys import QuestionPrompt

        names = {seat: self._debate.format.name_of(seat) for seat in self._hearers()}
        self._live.question = QuestionPrompt(names, self._raise)
        self.tell()

    def _raise(self, question: str, to: tuple[str, ...]) -> None:
        """Puts the question to those who still have a turn; meanwhile somebody's last may have begun."""
        left = tuple(seat for seat in to if seat in self._hearers())
        if left:
            self._record(QuestionAsked(question=question, to=left))
        elif to and self._live is not None:
            self._live.message("Not put: their last turn has begun meanwhile.")

    def _hearers(self) -> list[str]:
        return [seat for seat in self._debate.askable if self._debate.will_hear(seat)]

    def _can_close(self) -> bool:
        if self._debate.closed_after is not None:
            return False
        try:
            return self._debate.admits(EndedEarly())
        except OutOfTurn:
            return False

    def _ask_to_close(self) -> None:
        self._closing = True
        self.tell()

    def _close(self) -> None:
        """Ends the debate early: the phase under way is finished, and then the verdict is asked for."""
        if self._can_close():
            self._record(EndedEarly())
        self._decide()

    def _decide(self) -> None:
        self._closing = False
        self.tell()

    def _record(self, event: Event) -> None:
        """Writes an event down. What keeps it from being written is told; the debate goes on as far as it can."""
        try:
            record_event(self._journal, self._debate, event, self.on_event)
        except DebateError as error:
            (self._live.message if self._live else remark)("Not on record: " + " ".join(error.complaints))
            return
        self._saving = asyncio.create_task(self._journal.synced())

    def pause(self) -> None:
        """Asks nobody any more, until it is resumed."""
        self._stop.set()
        self._resumed.clear()
        self.tell()

    def resume(self) -> None:
        """Goes on."""
        self._stop.clear()
        self._resumed.set()
        self.tell()

    def end(self) -> None:
        """Asks nobody any more, and comes to an end when the answers under way have come."""
        if self.ended:
            return
        self.ended = True
        self._stop.set()
        self._resumed.set()
        if self._person is not None:
            self._person.abandon()
        if not self._waits and not (self._live and self._live.has_status):
            (self._live.message if self._live else remark)(STOPPING)
        self.tell()

    def interrupt(self) -> None:
        """Ctrl-C: ends it, and gives up what waits for room on the disk; the second one leaves what is under way. In a
        person's editor it is the editor's."""
        if self._person is not None and self._person.elsewhere:
            return
        self._unsaved.give_up()
        if self.ended and self._task is not None:
            self._task.cancel()
        self.end()

    def tell(self) -> None:
        """Has the status tell what is going on and what the keys do."""
        if self._live is None:
            return
        paused = self._stop.is_set()
        ending = "stopping when the answers under way are in"
        notes = {ending: self.ended, "end the debate early, and go to the verdict?": self._closing}
        notes |= {"paused": self._waits, "pausing after this turn": paused}
        self._live.note = next((note for note, holds in notes.items() if holds), "")
        keys = [f"{one.key} {one.does}" for one in self.keys()] or ["Ctrl-C quit and save"]
        self._live.keys = ["Ctrl-C leaves them"] if self.ended else keys
        self._live.paint()

    async def drive(self, seats: Mapping[str, Provider]) -> None:
        """Drives until nothing is left, or it was ended."""
        journal, debate = self._journal, self._debate
        on_text = None if self._live is None else self._live.on_text
        budget = Budget(debate)  # of all of it, so that a pause forgets nothing that may have cost something
        while not self.ended and _left(debate, seats):
            await run_loop(
                journal, debate, seats, self._seen, on_text, self._stop, budget, self._unsaved, self._on_brief
            )
            self._waits = self._stop.is_set() and _left(debate, seats) and not self.ended
            if self._waits:
                self.tell()
                await self._resumed.wait()
                self._waits = False
                self.tell()
        if self._saving is not None:
            await self._saving

    def _seen(self, debate: DebateState, event: Event) -> None:
        """An event has happened: it is shown, and keys may do something else now."""
        self.on_event(debate, event)
        if isinstance(event, Asked | Answer):
            self.tell()


def _left(debate: DebateState, seats: Mapping[str, Provider]) -> bool:
    """Whether somebody is due whom we can ask."""
    return any(turn.seat in seats for turn in debate.due())


class Shown(NamedTuple):
    """Where a debate is watched."""

    live: Live
    session: Callable[[Callable[[str], None]], Session]
    """What holds the terminal while it is, given who is told of keys."""


def watched(debate: DebateState, stream: TextIO, *, money: bool = True) -> Shown | None:
    """A live screen for a debate on that stream; None where nobody watches: it is no terminal, or another job is
    in front of it."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return None
    if not stream.isatty():
        return None
    from debate_orchestrator.terminal.display import Display
    from debate_orchestrator.terminal.keys import Session, in_foreground, keyboard
    from debate_orchestrator.terminal.live import Live

    if not in_foreground(descriptor):
        return None
    display = Display(stream, os.environ)
    live = Live(debate, display, money=money, sealed=judges_look_on(debate))
    return Shown(live, lambda press: Session(live, display, press, keyboard()))


async def driven(
    journal: JournalWriter,
    debate: DebateState,
    seats: Mapping[str, Provider],
    on_event: OnEvent,
    shown: Shown | None = None,
    person: Person | None = None,
    on_brief: OnBrief | None = None,
) -> None:
    """Drives until nothing is left. An interrupt stops the asking and awaits the answers under way, since they
    are paid for; a second one leaves them. KeyboardInterrupt, with what to do, where work is left then."""
    chair = Chair(None if shown is None else shown.live, journal, debate, on_event, person, on_brief)
    held: AbstractAsyncContextManager[Session | None] = nullcontext() if shown is None else shown.session(chair.press)
    try:
        with heeded(chair.interrupt):
            async with held as session:
                chair.hears = session is not None and session.reads_keys
                chair.tell()
                if person is not None:
                    chair.on_event = person.attends(chair.end, session, on_event)
                await chair.drive(seats)
    except asyncio.CancelledError:
        pass
    except ExternalError as error:
        if not chair.ended:
            raise
        for said in error.complaints:
            remark(said)
    if chair.ended and not debate.complete:
        turns = f"{len(debate.answers)} turn{'s are' if len(debate.answers) != 1 else ' is'} saved"
        raise KeyboardInterrupt(f"interrupted; {turns}. Go on with `debate resume {journal.path}`.")
