"""A user who watches a command at a terminal of its own, and presses keys."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fake_terminal import FakeTerminal
from started import PATIENCE, Started, begun


class Viewer:
    """A command, the terminal in front of which it runs, and what is seen there."""

    def __init__(self, command: Started, master: int, glass: FakeTerminal):
        self._command, self._master, self.glass = command, master, glass
        self.pid = command.pid
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self.code: int | None = None
        """How it ended: the exit code, or the negative number of a signal."""

    def resize(self, columns: int, rows: int) -> None:
        """The terminal has another size from now on."""
        self.glass.columns, self.glass.rows = columns, rows
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def stop(self) -> None:
        """The command is stopped as it stands, and all that it has sent is seen."""
        self._command.stop()
        while self.code is None and select.select([self._master], [], [], 0.05)[0]:
            self._look(0)

    @property
    def plain(self) -> bool:
        """Whether the terminal is as shells have it: with an echo, and line by line."""
        modes = termios.tcgetattr(self._master)[3]
        return bool(modes & termios.ECHO) and bool(modes & termios.ICANON)

    def see(self, wanted: Callable[[], bool], *, within: float = PATIENCE) -> None:
        """Looks until that is so."""
        until = time.monotonic() + within
        while not wanted():
            assert time.monotonic() < until, f"not seen: {self.glass.text[-3000:]}"
            self._look(0.05)

    def see_text(self, text: str) -> None:
        self.see(lambda: text in self.glass.text)

    def see_end(self, pressing: str = "") -> int:
        """Looks until the command has ended, and presses keys the while; its exit code."""

        def ended() -> bool:
            if pressing and self.code is None and not self.plain:
                self.press(pressing)
            return self.code is not None

        self.see(ended)
        assert self.code is not None
        return self.code

    def _look(self, seconds: float) -> None:
        ready, _, _ = select.select([self._master], [], [], seconds)
        data = b""
        if ready:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the other end is closed
                data = b""
        if data:
            self.glass.write(self._decode.decode(data))
        elif self.code is None:
            self.code = self._command.look()


@contextmanager
def watching(*arguments: str, columns: int = 80, rows: int = 24, **environment: str) -> Iterator[Viewer]:
    """`debate` with these arguments, watched; it is ended when the watching ends."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    command = begun(arguments, [slave] * 3, **{"TERM": "xterm-256color", **environment})
    os.close(slave)
    try:
        yield Viewer(command, master, FakeTerminal(columns, rows))
    finally:
        command.kill()
        os.close(master)
