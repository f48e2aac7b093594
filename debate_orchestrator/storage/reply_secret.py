"""The secret of this machine's user from which the codes of structured replies follow.

It is made on first use, in the state folder, where only the user can read it. No journal holds it, so no journal from
elsewhere can hold the code of a reply that is yet to come.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.data import error_text, read_regular
from debate_orchestrator.util.errors import BadFile

_NAME = "reply.key"
_BYTES = 32
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What os.link fails with on filesystems without hard links."""


def secret() -> bytes:
    """The 32 bytes that later processes read too; a secret of this process where they can't be kept. BadFile if the
    file that keeps them is damaged."""
    try:
        return _read()
    except OSError:
        return _of_this_process()


def kept_secret() -> bytes:
    """The 32 bytes that later processes read too. BadFile if they can't be kept, or their file is damaged."""
    try:
        return _read()
    except OSError as error:
        problem = f"The secret for the codes of replies can't be kept for the next process ({_reason(error)})."
        raise BadFile(problem, hint="set XDG_STATE_HOME to a folder that can be written") from None


def is_there() -> bool:
    """Whether an earlier process has made the secret."""
    folder = state_folder()
    return folder is not None and os.path.lexists(folder / _NAME)


def _read() -> bytes:
    folder = state_folder()
    if folder is None:
        raise OSError("no state folder is known")
    path = folder / _NAME
    if not os.path.lexists(path):
        _make(path)
    return _found(path, *_version(path))


def _version(path: Path) -> tuple[int, ...]:
    """What differs when a file was changed or replaced."""
    status = os.lstat(path)
    return status.st_ino, status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=4)  # every structured reply of a process asks for it
def _found(path: Path, *version: int) -> bytes:
    try:
        found = read_regular(path, most=_BYTES)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        found = b""
    if len(found) != _BYTES:
        problem = f"{path} does not hold {_BYTES} bytes, so the codes of replies can't be worked out."
        raise BadFile(problem, hint="remove that file, and another is made")
    return found


def _make(path: Path) -> None:
    """Writes a new secret. It is complete once it has its name, and one that another process made meanwhile stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{_NAME}.{secrets.token_hex(8)}")
    try:
        _write(draft)
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with suppress(FileExistsError):
            _write(path)
    finally:
        draft.unlink(missing_ok=True)


def _write(path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
        file.flush()
        os.fsync(handle)


def _reason(error: OSError) -> str:
    return f"{error.filename}: {error_text(error)}" if error.filename else error_text(error)


@cache
def _of_this_process() -> bytes:
    return secrets.token_bytes(_BYTES)
