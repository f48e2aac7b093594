"""The secret of this machine's user from which the codes of turns follow.

It is made on first use, in the state folder, where only the user can read it. No journal holds it, so no journal from
elsewhere can hold the code of a reply that is yet to come.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cache

from debate_orchestrator.storage.files import create
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.data import error_text, read_regular
from debate_orchestrator.util.errors import BadFile

_NAME = "reply.key"
_BYTES = 32


def secret() -> bytes:
    """The 32 bytes that later processes read too; this process's own if they can't be kept. Raises BadFile if
    damaged."""
    try:
        return _read()
    except OSError:
        return _of_this_process()


def stored_secret() -> bytes:
    """The 32 bytes that later processes read too. Raises BadFile if they can't be kept, or their file is damaged."""
    try:
        return _read()
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        reason = f"{where}{error_text(error)}"
        problem = f"The secret for the codes of replies can't be kept for the next process ({reason})."
        raise BadFile(problem, hint="set XDG_STATE_HOME to a folder that can be written") from None


def _read() -> bytes:
    folder = state_folder()
    if folder is None:
        raise OSError("no state folder is known")
    path = folder / _NAME
    if not os.path.lexists(path):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):  # another process has made one meanwhile
            create(path, secrets.token_bytes(_BYTES), mode=0o600)
    data = read_regular(path)
    if len(data) != _BYTES:
        problem = f"{path} does not hold {_BYTES} bytes, so the codes of replies can't be worked out."
        raise BadFile(problem, hint="remove that file, and another is made")
    return data


@cache
def _of_this_process() -> bytes:
    return secrets.token_bytes(_BYTES)
