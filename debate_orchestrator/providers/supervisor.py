"""Runs a program, and ends it and everything it started when the process that asked for it is gone.

`python -I -S supervisor.py FD PROGRAM ARGUMENTS` imports nothing of this package, so it starts in milliseconds. FD is
one end of a socket whose other end the asking process holds: however that ends, `kill -9` included, the system closes
it. Supervisor and program are one process group, led by the supervisor, which ends as the program does.
"""

from __future__ import annotations

import _thread
import os
import resource
import signal
import sys
import time

GRACE_SECONDS = 2.0
"""Seconds that a program has between being asked to end and being ended."""
NOT_RUN = 127
"""The exit code where the program could not be run; the number of the error is then written to the socket."""


def main() -> None:
    """Runs the program and waits for it."""
    parent_pipe, words = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(parent_pipe, False)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # meant for the program, in which it has its default meaning
    try:
        # Python ignores these two itself, which programs do not expect
        program = os.posix_spawnp(words[0], words, os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
    except OSError as error:
        os.write(parent_pipe, str(error.errno).encode())
        sys.exit(NOT_RUN)
    closed = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(closed, descriptor)  # the program alone has the pipes, so that they close when it closes them
    _thread.start_new_thread(_end_with, (parent_pipe,))
    _, status = os.waitpid(program, 0)
    _end_as(os.waitstatus_to_exitcode(status))


def _end_with(parent_pipe: int) -> None:
    """Ends the whole group when the other end of the socket is closed."""
    os.read(parent_pipe, 1)
    os.killpg(os.getpgrp(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _end_as(code: int) -> None:
    """Ends this process as the program has ended."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
