"""."""

from __future__ import annotations

import errno
import itertools
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from debate_orchestrator.util.data import error_text, is_link, name_of, read_regular
from debate_orchestrator.util.errors import BadFile, complaint

Ours = Callable[[bytes], bool]
"""Says of the bytes of a file whether this program wrote them."""


def write_atomic(path: str | os.PathLike[str], text: str, *, ours: Ours | None = None) -> str | None:
    """Writes `text` to `path` as `write_bytes_whole` writes bytes."""
    return write_bytes_atomic(path, text.encode("utf-8", "backslashreplace"), ours=ours)


def write_bytes_atomic(path: str | os.PathLike[str], data: bytes, *, ours: Ours | None = None) -> str | None:
    """Writes `data` to `path` so that a reader sees the old file or the new one, never a half. A file that is replaced
    passes its mode on.

    `ours` says of the bytes of a file whether this program wrote them. A file of which it does not hold, a read-only
    file and a link are then moved aside as `NAME.edited`, and the new name is returned. Without `ours`, a read-only
    file and a link are refused. A folder, a pipe or a device is refused always. BadFile where nothing was written.
    """
    target, temporary, aside = Path(path), "", None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        there = _status(target)
        keep = False
        if ours is not None and there is not None:
            old = _replaceable(target, there)
            if old == data:
                return None
            keep = old is None or not (old == b"" or ours(old))
        if there is not None and (protected := _protected(there)) and not (keep and _can_be_moved(there)):
            raise OSError(errno.EPERM, protected)
        temporary = _temporary(target, data, None if there is None or keep else stat.S_IMODE(there.st_mode) & 0o777)
        if keep:
            aside = move_aside(target, "edited")
        os.replace(temporary, target)
    except (OSError, ValueError) as error:
        if temporary:
            os.unlink(temporary)
        hint = "Name another output."
        raise BadFile(complaint(name_of(path), error_text(error), "a place that can be written", hint)) from None
    return aside


def write_new(path: str | os.PathLike[str], text: str) -> None:
    """Writes `text` to `path` as `write_whole` does, and never over anything; BadFile where something is there."""
    target, temporary = Path(path), ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(target, text.encode("utf-8", "backslashreplace"))
        try:
            os.link(temporary, target, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, "") from None
            os.rename(temporary, target)
            temporary = ""
    except FileExistsError:
        hint = "Name another, or move it away."
        raise BadFile(complaint(name_of(path), "a file that is there already", "a new one", hint)) from None
    except (OSError, ValueError) as error:
        raise BadFile(complaint(name_of(path), error_text(error), "a place that can be written")) from None
    finally:
        if temporary:
            os.unlink(temporary)


def write_over(path: str | os.PathLike[str], text: str, begins: bytes, what: str) -> str | None:
    """Writes `text` to `path` as `write_whole` does, where there is nothing, or a file that begins so; BadFile where
    there is another. `what` says what such files are. A file that begins so and says something else is moved aside,
    since someone may have written in it; its new name is returned."""
    try:
        there = b"" if os.path.islink(path) else read_regular(path)
    except FileNotFoundError:
        there = b""
    except (OSError, ValueError) as error:
        raise BadFile(complaint(name_of(path), error_text(error), f"a new file, or {what}")) from None
    if there and not there.startswith(begins):
        raise BadFile(complaint(name_of(path), "a file that holds something else", f"a new file, or {what}"))
    return write_atomic(path, text, ours=lambda _: False)


def move_aside(path: str | os.PathLike[str], why: str, first: str = "") -> str:
    """Gives a file, a folder or a link the name `STEM.WHY.ENDING`, with `-2` and so on after WHY where that is taken,
    and `first` where it is not; its new name. OSError where it can't be moved."""
    stem, ending = os.path.splitext(path)
    for n in itertools.count(1):
        aside = f"{stem}.{why}{first if n == 1 else f'-{n}'}{ending}"
        try:
            _reserve(aside, folder=os.path.isdir(path) and not os.path.islink(path))
            break
        except FileExistsError:
            continue
    try:
        os.replace(path, aside)
    except OSError:
        (os.rmdir if os.path.isdir(aside) else os.unlink)(aside)
        raise
    return aside


def make_folder(path: str | os.PathLike[str]) -> None:
    """Makes a folder that is this program's own, such as that of a debate's turns. BadFile where a link is in its
    place, since what is written to it would end up elsewhere."""
    try:
        if is_link(path):
            raise OSError(errno.ELOOP, "")
        os.makedirs(path, exist_ok=True)
    except (OSError, ValueError) as error:
        hint = "Move it away, or name another output."
        raise BadFile(complaint(name_of(path), error_text(error), "a place that can be written", hint)) from None


def _reserve(name: str, *, folder: bool) -> None:
    if folder:
        os.mkdir(name)
    else:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _protected(there: os.stat_result) -> str:
    """What keeps a file from being replaced, as a complaint says it; empty where nothing does."""
    if stat.S_ISLNK(there.st_mode):
        return "a symbolic link"
    if stat.S_ISDIR(there.st_mode):
        return "a folder"
    if not stat.S_ISREG(there.st_mode):
        return "a pipe or a device"
    return "" if there.st_mode & stat.S_IWUSR else "a read-only file"


def _can_be_moved(there: os.stat_result) -> bool:
    return stat.S_ISLNK(there.st_mode) or stat.S_ISREG(there.st_mode)


def _replaceable(path: Path, there: os.stat_result) -> bytes | None:
    """The bytes of a file that may be replaced; None where it is protected or can't be read."""
    try:
        return None if _protected(there) else read_regular(path)
    except OSError:
        return None


def _temporary(target: Path, data: bytes, mode: int | None = None) -> str:
    """A new file with these bytes, safe on the disk, beside the target; with that mode, as far as the file system has
    modes, or else that of new files. Its name begins with a dot, so that no other file is looked for by it."""
    name = str(target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                with suppress(OSError):
                    os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name)
        raise
    return name
