"""The secret of this machine's user from which the codes of structured replies follow.

It is made on first use, in the state folder, where only the user can read it. No journal holds it, so no journal from
elsewhere can hold the code of a reply that is yet to come.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path

from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.data import error_text, read_regular
from debate_orchestrator.util.errors import BadFile

_NAME = "reply.key"
_BYTES = 32


def secret() -> bytes:
    """The 32 bytes that later processes read too; a secret of this process where they can't be kept."""
    try:
        return kept_secret()
    except BadFile:
        return _of_this_process()


def kept_secret() -> bytes:
    """The 32 bytes that later processes read too. BadFile if they can't be kept."""
    folder = state_folder()
    if folder is None:
        raise _not_kept("no state folder is known")
    path = folder / _NAME
    try:
        if not os.path.lexists(path):
            _make(path)
        found = read_regular(path, most=_BYTES)
    except OSError as error:
        raise _not_kept(f"{path}: {error_text(error)}") from None
    if len(found) != _BYTES:
        problem = f"{path} does not hold {_BYTES} bytes, so the codes of replies can't be worked out."
        raise BadFile(problem, hint="remove that file, and another is made")
    return found


def _make(path: Path) -> None:
    """Writes a new secret. It is complete once it has its name, and one that another process made meanwhile stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{_NAME}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(handle)
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.unlink(draft)


def _not_kept(reason: str) -> BadFile:
    problem = f"The secret for the codes of replies can't be kept for the next process ({reason})."
    return BadFile(problem, hint="set XDG_STATE_HOME to a folder that can be written")


@cache
def _of_this_process() -> bytes:
    return secrets.token_bytes(_BYTES)
