"""The terminal while a debate is on it: held, and given back whenever the process stops or ends, whatever ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from types import TracebackType

from debate_orchestrator.screen.keys import Keyboard, Press, in_front
from debate_orchestrator.screen.live import Live
from debate_orchestrator.screen.terminal import Terminal

TICK = 1 / 20
"""Seconds between two looks at what is new."""
_ENDS = (signal.SIGQUIT, signal.SIGHUP)
"""End the process, if nobody has said that they are to be ignored."""


class Session:
    """Holds a terminal for as long as it is entered, and keeps what it shows up to date."""

    def __init__(self, live: Live, terminal: Terminal, press: Press):
        self._live, self._terminal = live, terminal
        descriptor = _descriptor() if terminal.moves else None
        self._keyboard = None if descriptor is None else Keyboard(descriptor, press)
        self._ticking: asyncio.Task[None] | None = None
        self._lent = False
        self._ends = [one for one in _ENDS if signal.getsignal(one) is signal.SIG_DFL]

    @property
    def hears(self) -> bool:
        """Whether keys are read."""
        return self._keyboard is not None and self._keyboard.taken

    async def __aenter__(self) -> Session:
        loop = asyncio.get_running_loop()
        self._take()
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._go_on)
        for ending in self._ends:
            loop.add_signal_handler(ending, self._end_by, ending)
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            if self._ticking is not None:
                self._ticking.cancel()
            if self._lent:
                self._terminal.forget()  # whoever left the debate is not told what others said in the same stage
            else:
                self._terminal.hold()  # what was not printed behind another job is printed now
                self._live.leave()
        finally:
            self._give_back()
            for one in (signal.SIGTSTP, signal.SIGCONT, *self._ends):
                loop.remove_signal_handler(one)  # those of a terminal that is lent are gone already
        if error is None and self._ticking is not None and self._ticking.done():
            self._ticking.result()  # painting has failed, which is our fault: it must be seen

    def lend(self) -> None:
        """Somebody else has the terminal from here on, as a shell would have it, and may stop the process themselves.
        What is finished meanwhile is printed when it is given back."""
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTSTP, signal.SIGCONT):
            loop.remove_signal_handler(one)
        self._lent = True
        self._give_back()

    def take_back(self) -> None:
        """The terminal is held again."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._go_on)
        self._lent = False
        self._take()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            if self._waits_behind():
                self._go_on()
            self._live.paint()

    def _waits_behind(self) -> bool:
        """Whether keys could be read and are not: a shell sends a job that already runs no signal when it puts it in
        front of others."""
        return self._keyboard is not None and not self._keyboard.taken and not self._lent

    def _take(self) -> None:
        if self._keyboard is not None:
            self._keyboard.take()
        self._terminal.hold()

    def _give_back(self) -> None:
        self._terminal.let_go()
        if self._keyboard is not None:
            self._keyboard.give_back()

    def _stop(self) -> None:
        """Ctrl-Z: the shell gets its terminal as it was, and the process stops here until it is told to go on."""
        self._give_back()
        loop = asyncio.get_running_loop()
        loop.remove_signal_handler(signal.SIGTSTP)
        signal.raise_signal(signal.SIGTSTP)
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        self._go_on()

    def _go_on(self) -> None:
        """In front again, the terminal is held again; behind another job nothing is printed until then."""
        if self._keyboard is None or in_front(self._keyboard.descriptor):
            self._give_back()
            self._take()

    def _end_by(self, ending: signal.Signals) -> None:
        """A signal that ends the process does so, after the terminal was given back."""
        self._give_back()
        asyncio.get_running_loop().remove_signal_handler(ending)
        signal.raise_signal(ending)


def _descriptor() -> int | None:
    """Where keys come from; None where nobody can press one."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if os.isatty(descriptor) else None
