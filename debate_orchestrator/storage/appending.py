"""Appending whole lines to a file that one process has locked."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress

from debate_orchestrator.util.data import error_text
from debate_orchestrator.util.errors import JournalWriteError, UserError


def append_line(handle: int, line: bytes, size: int, name: str, *, synced: bool = False) -> int:
    """Writes a line at the end of an open file that has this size, and returns the new one; `synced`, the line is then
    on the disk. JournalWriteError, with `name`, if the disk does not take it whole; the file is then as before."""
    try:
        # One write at the known end: a line that is written in part has no newline, and is trimmed.
        if os.pwrite(handle, line, size) != len(line):
            raise OSError(errno.ENOSPC, "no space left for a whole line")
        if synced:
            os.fsync(handle)
    except OSError as error:
        with suppress(OSError):  # the tail has no newline: the next reader skips it, the next writer trims it
            os.ftruncate(handle, size)
        reason = error_text(error)
        problem = f"Can't write to {name} ({reason}); everything before is saved."
        raise JournalWriteError(problem, reason, hint="make room and run the same command again") from None
    return size + len(line)


def take_lock(handle: int, name: str, kind: type[UserError], *, shared: bool = False) -> bool:
    """Locks an open file for this process, or with `shared` for all that ask so; False if another process has it.
    Raises an error of this `kind`, with `name`, where the file system has no locks."""
    try:
        # flock belongs to the open file, so it ends with this process and is not shared by name.
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        problem = f"{name} is in a place without file locks ({error_text(error)})."
        raise kind(problem, hint="a local file system") from None
    return True


def sync_folder(path: str) -> None:
    """Makes a new file's name durable, if the folder can be opened for that."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
