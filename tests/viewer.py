"""Somebody who watches a command at a terminal of its own, and presses keys."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from glass import Glass

PATIENCE = 60.0
"""Seconds until something that is awaited counts as not coming."""


class Viewer:
    """A command, the terminal in front of which it runs, and what is seen there."""

    def __init__(self, pid: int, master: int, glass: Glass):
        self.pid, self._master, self.glass = pid, master, glass
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
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)
        while select.select([self._master], [], [], 0.05)[0]:
            self._look(0)

    def make_plain(self) -> None:
        """The terminal is made as shells have it."""
        modes = termios.tcgetattr(self._master)
        modes[3] |= termios.ECHO | termios.ICANON
        termios.tcsetattr(self._master, termios.TCSANOW, modes)

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

    def see_end(self) -> int:
        """Looks until the command has ended; its exit code."""
        self.see(lambda: self.code is not None)
        assert self.code is not None
        return self.code

    def _look(self, seconds: float) -> None:
        ready, _, _ = select.select([self._master], [], [], seconds)
        data = b""
        if ready:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # nobody has the other end open any more
                data = b""
        if data:
            self.glass.write(self._decode.decode(data))
        elif self.code is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if done else None


@contextmanager
def watching(*arguments: str, columns: int = 80, rows: int = 24, **environment: str) -> Iterator[Viewer]:
    """`debate` with these arguments, watched; it is ended when nobody watches any more."""
    pid, master = pty.fork()
    if pid == 0:
        struct_of_size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct_of_size)
        for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(one, signal.SIG_DFL)  # a shell's background job has them ignored, and so would its children
        command = [sys.executable, "-m", "debate_orchestrator", *arguments]
        os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color", **environment})
    viewer = Viewer(pid, master, Glass(columns, rows))
    try:
        yield viewer
    finally:
        if viewer.code is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(master)
