"""Single keys while a debate is on the terminal, which is given back as it was whenever the process stops or ends."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import termios
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Any

from debate_orchestrator.terminal.live import LiveView

TICK_SECONDS = 1 / 20
"""Seconds between two paints."""
_KEY = re.compile(r"\x1b.*|.", re.DOTALL)
"""One key of a terminal's input: a character, or an escape and all that follows, which is ignored."""


def in_foreground(descriptor: int) -> bool:
    """Whether this is a terminal, and this process is its foreground job."""
    try:
        return os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False


def keyboard() -> int | None:
    """The descriptor that keys come from; None if standard input is not a terminal."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if os.isatty(descriptor) else None


class TerminalControl:
    """Holds a terminal while it is entered: paints the live view, and reads keys one by one without an echo."""

    def __init__(self, live: LiveView, press: Callable[[str], None], descriptor: int | None):
        """`press` gets each key from `descriptor`, which is None if there is no keyboard."""
        self._live, self._display, self._press = live, live.display, press
        self._descriptor = descriptor
        self._modes: Any = None
        """The terminal's modes before keys were read; None while they are not."""
        self._lent = False
        self._ticking: asyncio.Task[None] | None = None

    @property
    def reads_keys(self) -> bool:
        return self._modes is not None

    async def __aenter__(self) -> TerminalControl:
        self.take_back()
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
                self._display.forget()  # a person who leaves a turn is not shown what others said beside it
            else:
                self._display.acquire()  # what waited behind another job is printed now
                self._live.close()
        finally:
            self._give_back()
            for signum in (signal.SIGTSTP, signal.SIGCONT):
                loop.remove_signal_handler(signum)
        if error is None and self._ticking is not None and self._ticking.done():
            self._ticking.result()  # painting failed, which is a bug: it must be seen

    def lend(self) -> None:
        """Lends the terminal, with a shell's modes and signals. What ends meanwhile is printed after `take_back`."""
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTSTP, signal.SIGCONT):
            loop.remove_signal_handler(signum)
        self._lent = True
        self._give_back()

    def take_back(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._resume)
        self._lent = False
        self._take()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self._descriptor is not None and not self.reads_keys and not self._lent:
                self._resume()  # a shell sends no signal to a running job that it puts into the foreground
            self._live.paint()

    def _take(self) -> None:
        if self._descriptor is not None and not self.reads_keys and in_foreground(self._descriptor):
            try:
                self._modes = termios.tcgetattr(self._descriptor)
                tty.setcbreak(self._descriptor, termios.TCSADRAIN)
                asyncio.get_running_loop().add_reader(self._descriptor, self._read)
            except (OSError, termios.error):
                self._give_back()
        self._display.acquire()

    def _give_back(self) -> None:
        self._display.release()
        modes, self._modes = self._modes, None
        if modes is None or self._descriptor is None:
            return
        asyncio.get_running_loop().remove_reader(self._descriptor)
        try:
            termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, modes)  # unread keys are dropped: no shell gets them
        except (OSError, termios.error):
            pass  # the terminal is closed

    def _read(self) -> None:
        assert self._descriptor is not None
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:
            data = b""
        if not data:  # the terminal is closed
            asyncio.get_running_loop().remove_reader(self._descriptor)
        for key in _KEY.findall(data.decode("utf-8", "ignore")):
            self._press(key)

    def _stop(self) -> None:
        """Ctrl-Z: gives the terminal to the shell, and stops here until the process is continued."""
        self._give_back()
        loop = asyncio.get_running_loop()
        loop.remove_signal_handler(signal.SIGTSTP)
        signal.raise_signal(signal.SIGTSTP)
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        self._resume()

    def _resume(self) -> None:
        """Takes the terminal again in the foreground; behind another job nothing is printed until then."""
        if self._descriptor is None or in_foreground(self._descriptor):
            self._give_back()
            self._take()
