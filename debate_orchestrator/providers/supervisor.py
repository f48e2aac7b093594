"""Runs a program, and ends it and everything it started when the process that asked for it is gone.

`python -I -S supervisor.py FD PROGRAM ARGUMENTS` imports nothing of this package, so it starts in milliseconds. FD is
one end of a socket whose other end the asking process holds: however that ends, `kill -9` included, the system closes
it. Supervisor and program are one process group, led by the supervisor.

How the program has ended is written to the socket. The supervisor does not end with it, but with the group, when the
asking process kills that. Until then no other group can have the group's number, so that the kill reaches no other.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time

GRACE_SECONDS = 2.0
"""Seconds that a program has between being asked to end and being ended."""
EXIT, NOT_RUN = "exit", "error"
"""The message on the socket: `exit 1`, after a signal `exit -9`; or `error 2`, with the number of the error, where
the program could not be run."""


def main() -> None:
    """Runs the program, and waits until the group is ended."""
    parent_socket, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(parent_socket, False)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # meant for the program, in which it has its default meaning
    try:
        # Python ignores these two itself, which programs do not expect
        program = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
    except OSError as error:
        _report(parent_socket, f"{NOT_RUN} {error.errno}")
    else:
        _thread.start_new_thread(_wait_for, (program, parent_socket))
    closed = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(closed, descriptor)  # the program alone has the pipes, so that they close when it closes them
    _end_group_with(parent_socket)


def _wait_for(program: int, parent_socket: int) -> None:
    """Reports how the program has ended, once it has."""
    _, status = os.waitpid(program, 0)
    _report(parent_socket, f"{EXIT} {os.waitstatus_to_exitcode(status)}")


def _report(parent_socket: int, text: str) -> None:
    try:
        os.write(parent_socket, text.encode())
    except OSError:
        pass  # the asking process is gone, so that the group is about to be ended


def _end_group_with(parent_socket: int) -> None:
    """Ends the whole group when the other end of the socket is closed."""
    os.read(parent_socket, 1)
    os.killpg(os.getpgrp(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
