"""Confined worker processes: how one is started, and how it gives up its own rights.

Pages and templates from outside go through parsers that some input can break, or make run for ever. So a process reads
them that has no environment (and so no keys), no network, no subprocesses, no files to write, little memory and little
time. This is a second line of defence, behind the parser or the sandbox. The kernel enforces the limits; the rest
is a Python audit hook, which sees only what Python reports: it does not stop reading a file's status, or machine code.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

_ALLOWED = (
    "builtins.id", "code.", "compile", "cpython.", "exec", "gc.", "import", "marshal.", "object.", "resource.", "sys.",
)  # fmt: skip
"""Beginnings of the audit events that plain computing causes."""
_READING = ("open", "os.listdir", "os.scandir")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def command(module: str) -> list[str]:
    """The command line that runs a module of this package. Start it in `/`, with `environment`."""
    # -P: never import from the working directory
    return [sys.executable, "-P", "-B", "-m", module]


def environment() -> dict[str, str]:
    """An environment that holds nothing but where Python finds its modules."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}


def confine(memory: int, *, cpu: int | None = None, may_read_files: bool = False) -> None:
    """Confines this process to computing, and with `may_read_files` to reading files. `memory` is in bytes of address
    space, `cpu` in seconds of processor time. It can't be undone, so import everything before."""
    limits = [(resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)]
    if cpu is not None:
        limits.append((resource.RLIMIT_CPU, cpu))
    for kind, maximum in limits:
        try:
            resource.setrlimit(kind, (maximum, maximum))
        except (OSError, ValueError):  # not every system has all of them
            continue

    allowed = (*_ALLOWED, *_READING) if may_read_files else _ALLOWED

    def reject(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        if writes or not event.startswith(allowed):
            raise PermissionError(f"{event} is not allowed in a confined process")

    sys.addaudithook(reject)
