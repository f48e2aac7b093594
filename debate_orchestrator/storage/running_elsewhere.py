"""What in a tournament's folder says that its debates are under way elsewhere, where they would be paid for twice if
they were run here: `cluster.txt`, by which workers of a database may be running them, and the record of batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from debate_orchestrator.core.costs import CALL_ID
from debate_orchestrator.storage.files import take_lock, write_new
from debate_orchestrator.util.data import error_text, name_of, open_regular, read_regular
from debate_orchestrator.util.errors import BadFile, BadSettings
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, quoted, visible_address

SPEC, DEBATES, CLUSTER, BATCHES = "tournament.json", "debates", "cluster.txt", "batches.jsonl"
"""In a tournament's folder: its resolved spec, the folder of its journals, the name of the database of its workers, and
the record of batches."""
LOCK, CLUSTER_FILE_LOCK = ".lock", ".cluster.lock"
"""The files by which processes lock the folder, and its `cluster.txt`. Their names are hidden, so they do not count
among what a folder holds."""
_HEAD = "debate_orchestrator: workers of this database may have debates of this tournament."
"""The first line of `cluster.txt`, without which the file is a person's. The second is the address of the database. It
is shown and compared, and is in no command to copy: a folder from elsewhere must not choose where a password goes."""
_MAX_LENGTH = 4_096
"""Bytes of `cluster.txt` that are read."""


@contextmanager
def lock_folder(folder: str, problem: str, hint: str, *, shared: bool = False) -> Iterator[None]:
    """Locks a folder for this process, or with `shared` for all that ask so, until the end of the block or of the
    process. Raises BadFile with this problem and hint if another process has locked it."""
    handle = open_lock(folder, LOCK)
    try:
        if not take_lock(handle, name_of(folder), BadFile, shared=shared):
            raise BadFile(problem, hint=hint)
        yield
    finally:
        os.close(handle)


def open_lock(folder: str, name: str) -> int:
    """A file of a folder by which processes lock it. Raises BadFile if it can't be used."""
    try:
        return open_regular(os.path.join(folder, name), os.O_RDWR | os.O_CREAT)
    except OSError as error:
        problem = f"Can't write to the folder {name_of(folder)} ({error_text(error)})."
        raise BadFile(problem, hint="make it writable, or use a copy") from None


def write_cluster_file(folder: str, address: str) -> None:
    """Names the database in which debates of a tournament may be queued. Raises BadFile if a person's file is there,
    and BadSettings if the file names another database."""
    must_not_be_elsewhere(folder, address)
    path = os.path.join(folder, CLUSTER)
    if cluster_address(folder) is None:
        if os.path.lexists(path):
            problem = f"{name_of(path)} is in the place of this program's note on workers."
            raise BadFile(problem, hint="move it away")
        write_new(path, f"{_HEAD}\n{address}\n")


def remove_cluster_file(folder: str) -> None:
    """Removes `cluster.txt`, since no debates are queued any more. A person's file stays."""
    if cluster_address(folder) is not None:
        Path(folder, CLUSTER).unlink(missing_ok=True)


def must_not_run_elsewhere(journal: str, awaited_calls: Callable[[], Collection[str]] = tuple) -> None:
    """As `must_not_be_elsewhere` and `must_not_be_in_batches`, for one debate, which may be in the folder of a
    tournament."""
    if folder := _folder_above(journal):
        must_not_be_elsewhere(folder)
    if folder := tournament_of(journal):  # a user's file may have the name of the record elsewhere
        must_not_be_in_batches(folder, awaited_calls)


def tournament_of(journal: str) -> str:
    """The folder of the tournament that a journal is in; empty if it is in none."""
    folder = _folder_above(journal)
    return folder if folder and os.path.lexists(os.path.join(folder, SPEC)) else ""


def _folder_above(journal: str) -> str:
    debates = os.path.dirname(os.path.realpath(journal))
    return os.path.relpath(os.path.dirname(debates)) if os.path.basename(debates) == DEBATES else ""


def has_batches(folder: str) -> bool:
    """Whether a tournament's folder has a record of batches that is not empty."""
    path = os.path.join(folder, BATCHES)
    return os.path.lexists(path) and os.lstat(path).st_size > 0


def must_not_be_in_batches(folder: str, awaited_calls: Callable[[], Collection[str]]) -> None:
    """Raises BadSettings, with the command that takes them, if batches may have any of these calls of a folder's
    tournament, by their ids, which are worked out only if there are batches. Raises BadFile if the record of batches
    can't be read."""
    if not has_batches(folder):
        return
    path = os.path.join(folder, BATCHES)
    try:
        recorded = {*CALL_ID.findall(read_regular(path))}
    except OSError as error:
        raise BadFile(f"Can't read {name_of(path)} ({error_text(error)}).", hint="make it readable") from None
    if any(call.encode() in recorded for call in awaited_calls()):
        problem = "calls of this tournament are in batches, and would be paid for again outside of them."
        raise BadSettings(problem, hint=f"`{command('tournament resume', folder)}`, which takes them")


def must_not_be_elsewhere(folder: str, address: str | None = None) -> None:
    """Raises BadSettings, with the command that fetches them, if workers of a database may be running debates of the
    tournament in a folder, other than the database at `address`."""
    noted, file = cluster_address(folder), name_of(os.path.join(folder, CLUSTER))
    if noted is None or noted == (address and redact(address)):
        return
    where = quoted(visible_address(noted)) if noted else "a database"  # of any words that others wrote
    problem = f"{file} says that workers of {where} may be running these debates: here they would be paid for again."
    fetch = f"`{command('tournament resume --cluster URL', folder)}`, which fetches them"
    raise BadSettings(problem, hint=f"{fetch}; if that database is gone or not yours, remove {file}")


def cluster_address(folder: str) -> str | None:
    """The address of the database that `cluster.txt` names; None without that file."""
    path = os.path.join(folder, CLUSTER)
    try:
        with open(path, "rb", opener=open_regular) as file:
            head, address, *_ = [*file.read(_MAX_LENGTH).decode("utf-8", "replace").splitlines(), "", ""]
    except PermissionError as error:
        raise BadFile(f"Can't read {name_of(path)} ({error_text(error)}).", hint="make it readable") from None
    except OSError:  # nothing, or a folder, a link and what else is never written here
        return None
    return one_line(address) if head == _HEAD else None
