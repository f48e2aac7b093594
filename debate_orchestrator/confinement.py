"""A Python process of ours in which there is nothing to lose: how it is started, and how it shuts itself in.

A stranger's page or template goes through parsers and programs that some input can break, or make run for ever. So it
is read by a process without the environment and its keys, with no network, no other program, no file to write, little
memory and little time.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

_REFUSED = (
    "socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.kill", "os.remove",
    "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "shutil.", "ctypes.dlopen",
)  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def command(module: str) -> list[str]:
    """The words that start a module of this package as a process of its own. Start it in `/`, with `environment`."""
    # -P: what lies in the working directory is not what is imported
    return [sys.executable, "-P", "-B", "-m", module]


def environment() -> dict[str, str]:
    """Nothing of this process's own but where Python finds its modules."""
    return {"PYTHONPATH": os.pathsep.join(one for one in sys.path if one), "PYTHONUTF8": "1"}


def confine(memory: int, *, cpu: int | None = None, reads: bool = False) -> None:
    """Lets this process do nothing from here on but compute, within so many bytes of address space and seconds of
    processor time, and read files only with `reads`. There is no way back, so load everything before."""
    limits = [(resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)]
    if cpu is not None:
        limits.append((resource.RLIMIT_CPU, cpu))
    for what, most in limits:
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # not every system has all of them
            continue

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and (not reads or (isinstance(arguments[2], int) and arguments[2] & _WRITES))
        if writes or event.startswith(_REFUSED):
            raise PermissionError(f"{event} has no place here")

    sys.addaudithook(refuse)
