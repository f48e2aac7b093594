"""A Python process of ours in which there is nothing to lose: how it is started, and how it shuts itself in.

A stranger's page or template goes through parsers and programs that some input can break, or make run for ever. So it
is read by a process without the environment and its keys, with no network, no other program, no file to write, little
memory and little time. This is a second line, behind the parser or the sandbox that the input goes through first: the
limits are the kernel's, and the rest is an audit hook of Python's, which sees what Python tells it. A file's status can
be read, for one, and machine code that got in would not be held.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

_ALLOWED = (
    "builtins.id", "code.", "compile", "cpython.", "exec", "gc.", "import", "marshal.", "object.", "resource.", "sys.",
)  # fmt: skip
"""Beginnings of the names of what Python reports, as computing does it."""
_READING = ("open", "os.listdir", "os.scandir")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def command(module: str) -> list[str]:
    """The words that start a module of this package as a process of its own. Start it in `/`, with `environment`."""
    # -P: what lies in the working directory is not what is imported
    return [sys.executable, "-P", "-B", "-m", module]


def environment() -> dict[str, str]:
    """Nothing of this process's own but where Python finds its modules."""
    return {"PYTHONPATH": os.pathsep.join(one for one in sys.path if one), "PYTHONUTF8": "1"}


def confine(memory: int, *, cpu: int | None = None, reads: bool = False) -> None:
    """Shuts this process in: from here on it computes, within so many bytes of address space and seconds of processor
    time, and opens files only with `reads`, to read them. There is no way back, so load everything before."""
    limits = [(resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)]
    if cpu is not None:
        limits.append((resource.RLIMIT_CPU, cpu))
    for what, most in limits:
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # not every system has all of them
            continue

    allowed = (*_ALLOWED, *_READING) if reads else _ALLOWED

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        if writes or not event.startswith(allowed):
            raise PermissionError(f"{event} has no place here")

    sys.addaudithook(refuse)
