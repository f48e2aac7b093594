"""The keys and interrupts that pause, continue and end a debate, and its live view at a terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TextIO

from debate_orchestrator.cli.output import print_status
from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import BriefSent, Event, ReplyEvent
from debate_orchestrator.core.fold import can_end_early
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.debate import DebateSession, current_issues, floor_question
from debate_orchestrator.engine.turn import OnEvent
from debate_orchestrator.prompting.person_turns import hides_ballots
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.coroutines import STOPPING
from debate_orchestrator.util.errors import DebateError, ExternalError, Interrupted
from debate_orchestrator.util.signals import interrupts_acting
from debate_orchestrator.util.terminal_text import can_move_cursor

if TYPE_CHECKING:
    from debate_orchestrator.terminal.asking import Asker
    from debate_orchestrator.terminal.display import Display
    from debate_orchestrator.terminal.keys import TerminalControl
    from debate_orchestrator.terminal.live import LiveView
    from debate_orchestrator.terminal.turn import TerminalPeople


_OFFER_SECONDS = 120
"""Seconds for which the list of issues may be changed before the debate continues by itself."""
_CANCEL_DELAY = 0.1
"""Seconds from a signal to the loop's cancellation, in which a wait for the disk can report what is lost."""


class KeyMode(Enum):
    RUN = auto()
    CONFIRM = auto()
    """The next key says if the debate is really ended early."""
    OFFER = auto()
    """The list of issues may be changed now."""
    QUIT = auto()


class Key(NamedTuple):
    """A key that does something while a debate runs."""

    key: str
    """Its character in lower case; `Enter`."""
    action: str
    """As the status line shows it."""
    press: Callable[[], None]


class Controls:
    """Applies keys and interrupts to a running debate. A pause lets the replies under way come in and starts no
    call; the debate can then continue, or be left as it is: everything is in the journal either way."""

    def __init__(
        self,
        session: DebateSession,
        live: LiveView | None,
        on_event: OnEvent,
        people: TerminalPeople | None = None,
    ):
        self._session, self._live, self._people = session, live, people
        self._message: Callable[[str], None] = live.message if live else print_status
        session.journal.notify = self._message
        self._on_event = on_event
        self._task = asyncio.current_task()
        self._terminal: TerminalControl | None = None
        self.stop, self._resumed = asyncio.Event(), asyncio.Event()
        self._mode = KeyMode.RUN
        self._idle = False
        """Whether no call is under way and none is started."""
        self._offered = False
        """Whether the list of issues could be changed before."""
        self._prompting: asyncio.Task[None] | None = None
        """The task that asks the user for a question from the floor or a changed list of issues."""

    @property
    def user_quit(self) -> bool:
        return self._mode is KeyMode.QUIT

    @property
    def _debate(self) -> DebateState:
        return self._session.state

    @property
    def _reads_keys(self) -> bool:
        return self._terminal is not None and self._terminal.reads_keys

    def begin(self, terminal: TerminalControl | None) -> None:
        """Reads keys from the terminal, if there is one, and lets a person be asked there."""
        self._terminal = terminal
        if self._people is not None:
            self._on_event = self._people.begin_watching(self.quit, terminal, self._on_event)
        self.show_status()
        self._offer_issues(print_list=True)

    def end(self) -> None:
        """Asks nothing more: the debate is no longer driven."""
        if self._prompting is not None:
            self._prompting.cancel()

    def keys(self) -> list[Key]:
        """The keys that do something now."""
        if self.user_quit or not self._reads_keys:
            return []
        leave = Key("q", "quit and save", self.quit)
        if self._mode is KeyMode.CONFIRM:
            keep = partial(self._set_mode, KeyMode.RUN)
            return [Key("y", "end it early", self._end_early), Key("n", "go on", keep)]
        if self._mode is KeyMode.OFFER:
            return [Key("Enter", "go on", self._go_on), Key("c", "change the list", self._change_issues), leave]
        keys = [Key("r", "resume", self.resume) if self.stop.is_set() else Key("p", "pause", self.pause)]
        keys += [Key("f", "question", self._ask_question)] if schedule.seats_open_to_questions(self._debate) else []
        keys += [Key("e", "end early", partial(self._set_mode, KeyMode.CONFIRM))] if can_end_early(self._debate) else []
        return [*keys, leave]

    def press(self, pressed: str) -> None:
        """Handles a key."""
        for key in self.keys():
            if key.key == ("Enter" if pressed in "\r\n" else pressed.casefold()):
                key.press()
                return
        if self._mode is KeyMode.CONFIRM:
            self._set_mode(KeyMode.RUN)  # every key but yes means no

    # What keys do

    def pause(self) -> None:
        """Starts no call until it is resumed."""
        self.stop.set()
        self._resumed.clear()
        self.show_status()

    def resume(self) -> None:
        """Continues."""
        self.stop.clear()
        self._resumed.set()
        self.show_status()

    def quit(self) -> None:
        """Starts no call, and stops when the replies under way are saved; the debate can be resumed."""
        if self.user_quit:
            return
        self._leave()
        if not self._idle and self._live is None:
            self._message(STOPPING)
        self.show_status()

    def _leave(self) -> None:
        self._mode = KeyMode.QUIT
        self.stop.set()
        self._resumed.set()
        if self._people is not None:
            self._people.quit()

    def _ask_question(self) -> None:
        names = {seat: self._debate.format.name_of(seat) for seat in schedule.seats_open_to_questions(self._debate)}

        async def question(asker: Asker) -> Event | None:
            from debate_orchestrator.terminal.asking import Question

            choices = (*names.items(), ("all", "All of them"))
            to = await asker.ask(Question("Who is the question for?", (), choices, "all"))
            text = await asker.ask(Question("Your question?", ("Enter alone asks nothing.",)))
            return floor_question(self._debate, text, tuple(names) if to == "all" else (to,)) if text else None

        self._prompt(question, resumes=not self.stop.is_set())

    def _change_issues(self) -> None:
        self._mode = KeyMode.RUN

        async def change(asker: Asker) -> Event:
            from debate_orchestrator.terminal.form import change_issues

            return await change_issues(asker, current_issues(self._debate))

        self._prompt(change, resumes=True)

    def _prompt(self, question: Callable[[Asker], Awaitable[Event | None]], *, resumes: bool) -> None:
        """Lends the terminal to the user, who is asked something, and records the event that comes of it. No call is
        started meanwhile; then the debate goes on if it `resumes`. Ctrl-C leaves it paused."""
        from debate_orchestrator.terminal.asking import Asker, Quit

        async def run(terminal: TerminalControl) -> None:
            terminal.lend()
            try:
                with Asker() as asker:
                    event = await question(asker)
            except Quit:
                return
            except DebateError as error:
                self._message(str(error))
                return
            finally:
                terminal.take_back()
            if event is not None:
                self._record(event)
            if resumes and not self.user_quit:
                self.resume()

        if self._terminal is not None:
            self.pause()
            self._prompting = asyncio.create_task(run(self._terminal))

    def _set_mode(self, mode: KeyMode) -> None:
        self._mode = mode
        self.show_status()

    def _end_early(self) -> None:
        """Ends the debate early: the phase under way is finished, and then the verdict is asked for."""
        if can_end_early(self._debate):
            self._record(schedule.early_end(self._debate))
        self._set_mode(KeyMode.RUN)

    def _record(self, event: Event) -> None:
        """Writes an event to the journal. If that fails, it is shown, and the debate continues as far as it can."""
        try:
            self._session.record(event, self._on_event)
            self._session.journal.sync()
        except DebateError as error:
            self._message("Not on record: " + " ".join(error.problems))

    def _offer_issues(self, *, print_list: bool = False) -> None:
        """Holds the debate once, so that the list of issues can be changed before the debate goes on."""
        is_wanted = self._reads_keys and not self._offered and not model_spec.is_rehearsal(self._debate.cast)
        if not is_wanted or self.user_quit or not schedule.can_change_issues(self._debate):
            return
        self._offered, self._mode = True, KeyMode.OFFER
        asyncio.get_running_loop().call_later(_OFFER_SECONDS, self._go_on)
        for number, issue in enumerate(current_issues(self._debate) if print_list else (), start=1):
            self._message(f"I{number}. {issue}")
        minutes = _OFFER_SECONDS // 60
        self._message(f"Enter continues with this list, c changes it. After {minutes} minutes the debate goes on.")
        self.pause()

    def _go_on(self) -> None:
        if self._mode is KeyMode.OFFER:
            self._mode = KeyMode.RUN
            self.resume()

    # Signals

    def interrupt(self) -> bool:
        """Handles the first Ctrl-C: quits, or cancels where the user has quit by a key. Returns False in a person's
        editor, for which it is meant."""
        if self._people is not None and self._people.is_in_other_program:
            return False
        if self.user_quit:
            self.cancel()
        else:
            self.quit()
        return True

    def cancel(self) -> None:
        """Handles SIGTERM, SIGHUP and the second Ctrl-C: cancels the calls under way, of each of which the part that
        has come is kept, and the wait for the disk."""
        self._leave()
        if self._task is not None:
            asyncio.get_running_loop().call_later(_CANCEL_DELAY, self._task.cancel)

    # What the engine calls

    async def wait_for_resume(self) -> bool:
        """Waits, with no call under way, until the user resumes or quits; whether the debate goes on."""
        if self.user_quit:
            return False
        self._idle = True
        self.show_status()
        await self._resumed.wait()
        self._idle = False
        self.show_status()
        return not self.user_quit

    def on_event(self, debate: DebateState, event: Event) -> None:
        """Passes on what happens, and shows what the keys do then."""
        self._on_event(debate, event)
        if isinstance(event, ReplyEvent):
            self._offer_issues()
        if isinstance(event, BriefSent | ReplyEvent):
            self.show_status()

    def show_status(self) -> None:
        """Shows the state of the debate and the keys that can be pressed."""
        if self._live is None:
            return
        self._live.note = self._note()
        keys = [f"{key.key} {key.action}" for key in self.keys()] or ["Ctrl-C quit and save"]
        self._live.keys = ["Ctrl-C cancels them"] if self.user_quit else keys
        self._live.paint()

    def _note(self) -> str:
        notes = {
            KeyMode.QUIT: "stopping when the replies under way are in",
            KeyMode.CONFIRM: "end the debate early, and go to the verdict?",
            KeyMode.OFFER: f"the debate goes on by itself in {_OFFER_SECONDS // 60} minutes",
        }
        paused = "paused" if self._idle else "pausing after this turn" if self.stop.is_set() else ""
        return notes.get(self._mode, paused)


def display_of(stream: TextIO) -> Display | None:
    """The terminal behind a stream; None if there is none whose cursor can be moved, or another job is in front."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return None
    if not (stream.isatty() and can_move_cursor(os.environ)):
        return None
    from debate_orchestrator.terminal.display import Display
    from debate_orchestrator.terminal.keys import in_foreground

    return Display(stream, os.environ) if in_foreground(descriptor) else None


def live_view(debate: DebateState, stream: TextIO, *, money: bool = True) -> LiveView | None:
    """A live view of a debate on a stream; None if that has no terminal for it."""
    if (display := display_of(stream)) is None:
        return None
    from debate_orchestrator.terminal.live import LiveView

    return LiveView(debate, display, money=money, ballots_hidden=hides_ballots(debate))


def terminal_control(
    live: LiveView | None, press: Callable[[str], None]
) -> AbstractAsyncContextManager[TerminalControl | None]:
    """The context that holds the terminal of a live view and calls `press` with every key; empty without a view."""
    if live is None:
        return nullcontext()
    from debate_orchestrator.terminal.keys import TerminalControl, keyboard

    return TerminalControl(live, press, keyboard())


@asynccontextmanager
async def control(
    session: DebateSession, live: LiveView | None, on_event: OnEvent, people: TerminalPeople | None
) -> AsyncIterator[Controls]:
    """The keys and interrupts of a debate while the block drives it. The first interrupt waits for the replies under
    way, the second, SIGTERM or SIGHUP leaves them. Raises Interrupted if work is left then."""
    controls = Controls(session, live, on_event, people)
    try:
        with interrupts_acting(controls.cancel, controls.interrupt):
            async with terminal_control(live, controls.press) as terminal:
                controls.begin(terminal)
                try:
                    yield controls
                finally:
                    controls.end()
    except asyncio.CancelledError:
        pass
    except ExternalError as error:
        if not controls.user_quit:
            raise
        for problem in error.problems:
            print_status(problem)
    if controls.user_quit and not session.state.complete:
        raise Interrupted
