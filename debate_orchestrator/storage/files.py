"""Writing files whole, so that a reader sees the old file or the new one and nothing that a person wrote in them is
lost; and appending whole lines to a file that one process has locked."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from operator import itemgetter
from pathlib import Path

from debate_orchestrator.util.data import error_text, is_link, name_of, read_regular
from debate_orchestrator.util.errors import BadFile, DiskFull, JournalWriteError, UserError
from debate_orchestrator.util.redact import redact, redact_json, redact_yaml

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""The errors of a disk that is full or fails, or takes no larger files, whatever the name of the file."""
_ATTEMPTS = 3
"""To write a file while another program saves to it."""
WrittenByUs = Callable[[bytes], bool]
"""Whether this program wrote a file with these bytes."""


def redacted_bytes(path: str | os.PathLike[str], text: str) -> bytes:
    """A text as it is written to a file of that name: without secrets, and still JSON or YAML where the name says so.
    Everything that is made from texts goes through here; only journals, and bytes that came from elsewhere, do not."""
    match os.path.splitext(path)[1]:
        case ".json":
            text = redact_json(text, ensure_ascii=False, indent=2)
        case ".jsonl":
            text = "\n".join(map(redact_json, text.split("\n")))
        case ".yaml" | ".yml":
            text = redact_yaml(text)
        case _:
            text = redact(text)
    return _in_utf8(text)


def _in_utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def write_atomic(
    path: str | os.PathLike[str],
    text: str,
    *,
    is_ours: WrittenByUs | None = None,
    mode: int | None = None,
    as_typed: bool = False,
) -> str | None:
    """Writes `text` to `path` as `write_bytes_atomic`, without secrets unless it is a visitor's text `as_typed`: its
    redaction would tell the visitor which guesses are keys."""
    return write_bytes_atomic(
        path, _in_utf8(text) if as_typed else redacted_bytes(path, text), is_ours=is_ours, mode=mode
    )


def write_bytes_atomic(
    path: str | os.PathLike[str], data: bytes, *, is_ours: WrittenByUs | None = None, mode: int | None = None
) -> str | None:
    """Writes `data` to `path` whole or not at all. The file has the given `mode` from its first byte on; without one, a
    file that is replaced passes its mode on.

    With `is_ours`, an existing file that this program did not write, a read-only file and a link are moved aside as
    `NAME.edited`, and the new name is returned; so is what another program saves there meanwhile, where the file
    system has hard links. Without `is_ours`, a read-only file and a link are refused. A folder, a pipe and a device are
    always refused. Raises BadFile if nothing was written.
    """
    moved = list[str]()
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            _write(Path(path), data, is_ours, mode, moved)
            break
        except (OSError, ValueError) as error:
            if isinstance(error, FileExistsError) and attempts_left:
                continue  # another program saved a file here meanwhile, which is judged as any other
            raise _unwritable(f"Can't write {name_of(path)}", error, "name another output", moved) from None
    return moved[-1] if moved else None


def _write(target: Path, data: bytes, is_ours: WrittenByUs | None, mode: int | None, moved: list[str]) -> None:
    """As `write_bytes_atomic`, once. The new name of what is moved aside is added to `moved`, also where it fails then:
    with FileExistsError if another program saves a file meanwhile."""
    target.parent.mkdir(parents=True, exist_ok=True)
    status, kept_aside, old, replaced = None, False, None, ""
    with suppress(FileNotFoundError):
        status = os.lstat(target)
    if is_ours is not None and status is not None:
        old = _replaceable(target, status)
        if old == data:
            return
        kept_aside = old is None or not (old == b"" or is_ours(old))
    if status is not None and (reason := _protected(status)) and not (kept_aside and reason in _MOVABLE):
        raise OSError(errno.EPERM, reason)
    if mode is None and status is not None and not kept_aside:
        mode = stat.S_IMODE(status.st_mode) & 0o777
    temporary = _temporary(target, data, mode)
    try:
        if kept_aside:
            moved.append(move_aside(target, "edited"))
        if status is None or kept_aside:
            _place(temporary, target)
        else:
            replaced = "" if old is None else _second_name(target)
            os.replace(temporary, target)
    except OSError:
        for name in filter(None, (temporary, replaced)):
            os.unlink(name)
        raise
    if replaced and (changed := _remove_unless_changed(replaced, old, target)):
        moved.append(changed)


def write_new(path: str | os.PathLike[str], text: str, *, as_typed: bool = False) -> None:
    """Writes `text` to `path` whole, as `write_atomic`, and never over anything. Raises BadFile if something is
    there."""
    try:
        create(Path(path), _in_utf8(text) if as_typed else redacted_bytes(path, text))
    except FileExistsError:
        raise BadFile(f"{name_of(path)} already exists.", hint="name another, or move it away") from None
    except (OSError, ValueError) as error:
        raise _unwritable(f"Can't write {name_of(path)}", error) from None


def create(target: Path, data: bytes, *, mode: int | None = None) -> None:
    """Writes a new file whole, with this mode from its first byte on. Raises FileExistsError if the name is taken."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(target, data, mode)
    try:
        _place(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _place(temporary: str, target: Path) -> None:
    """Gives a temporary file its name, which must be free: FileExistsError if it is taken."""
    try:
        # A hard link fails if the name is taken, in one step: a check before a rename would leave a gap.
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        _reserve(str(target), folder=False)
        try:
            os.replace(temporary, target)
        except OSError:
            os.unlink(target)
            raise
    else:
        os.unlink(temporary)


def write_over(path: str | os.PathLike[str], text: str, prefix: bytes, what: str) -> str | None:
    """Writes `text` to `path` if there is nothing, or a file that begins with `prefix`. Such a file with other content
    is moved aside, since a person may have written in it; its new name is returned. Raises BadFile for a link, and for
    any other file, as `must_have_prefix`."""
    if os.path.islink(path):
        raise BadFile(f"{name_of(path)} is a symbolic link, and is not replaced.", hint="name a new file")
    must_have_prefix(path, prefix, what)
    return write_atomic(path, text, is_ours=lambda _: False)


def must_have_prefix(path: str | os.PathLike[str], prefix: bytes, what: str) -> None:
    """Raises BadFile if `path` is a file that doesn't begin with `prefix`, or can't be read; nothing, an empty file and
    a link are permitted. `what` says in the message what would be replaced, as in "a comparison"."""
    try:
        existing = b"" if os.path.islink(path) else read_regular(path)
    except FileNotFoundError:
        existing = b""
    except (OSError, ValueError) as error:
        raise BadFile(f"Can't write {name_of(path)} ({error_text(error)}).") from None
    if existing and not existing.startswith(prefix):
        problem = f"{name_of(path)} is not {what}, and is not overwritten."
        raise BadFile(problem, hint="name a new file")


def _second_name(path: Path) -> str:
    """Another name for a file, so that replacing it right after this loses nothing that was saved since it was read;
    empty if the file system has no hard links."""
    name = _hidden(path)
    try:
        os.link(path, name, follow_symlinks=False)
    except OSError:
        return ""
    return name


def _remove_unless_changed(replaced: str, old: bytes | None, target: Path) -> str | None:
    """Removes a file that was replaced, unless it has other bytes than when it was read. It is then moved aside, where
    that is possible, and its name returned."""
    with suppress(OSError):
        if read_regular(replaced) == old:
            os.unlink(replaced)
            return None
    with suppress(OSError):
        return move_aside(replaced, "edited", beside=target)
    return replaced


def move_aside(
    path: str | os.PathLike[str], label: str, first_ending: str = "", *, beside: str | os.PathLike[str] | None = None
) -> str:
    """Renames a file, folder or link to `STEM.LABEL.SUFFIX` and returns the new name; STEM and SUFFIX are its own, or
    those of `beside`. The first such name has `first_ending` after LABEL. If that is taken, the next ones have `-2`,
    `-3` and so on. Raises OSError if it can't be moved."""
    stem, suffix = os.path.splitext(path if beside is None else beside)
    for n in itertools.count(1):
        aside = f"{stem}.{label}{first_ending if n == 1 else f'-{n}'}{suffix}"
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
    """Makes a folder of this program's own, such as that of a debate's turns. Raises BadFile if a link is in its place:
    what is written to it would end up elsewhere."""
    try:
        if is_link(path):
            raise OSError(errno.ELOOP, "")
        os.makedirs(path, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _unwritable(f"Can't write to the folder {name_of(path)}", error, "move it away") from None


def _unwritable(problem: str, error: Exception, hint: str = "", moved: Sequence[str] = ()) -> BadFile:
    """The error for a file that can't be written; `hint` is what to try unless the disk is the cause, and `moved` the
    new names of what was there."""
    problem = f"{problem} ({error_text(error)})."
    if moved:
        problem += f" What was there was moved to {', '.join(map(name_of, moved))}."
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        return DiskFull(problem, hint="make room on the disk")
    return BadFile(problem, hint=hint)


def _reserve(name: str, *, folder: bool) -> None:
    """Takes a name that is free, so that two processes that move files aside never choose the same one."""
    if folder:
        os.mkdir(name)
    else:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))


_MOVABLE = ("a symbolic link", "a read-only file")
"""The beginning of `_protected`'s sentence for files that may be moved aside."""


def _protected(status: os.stat_result) -> str:
    """The reason that a file must not be replaced; empty if it may be."""
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link"
    if stat.S_ISDIR(status.st_mode):
        return "a folder"
    if not stat.S_ISREG(status.st_mode):
        return "a pipe or a device"
    return "" if status.st_mode & stat.S_IWUSR else "a read-only file"


def _replaceable(path: Path, status: os.stat_result) -> bytes | None:
    """The bytes of a file that may be replaced; None if it is protected or can't be read."""
    try:
        return None if _protected(status) else read_regular(path)
    except OSError:
        return None


def _hidden(target: Path) -> str:
    """A new name beside the target. It begins with a dot, so that no pattern for a debate's files matches it."""
    return str(target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}"))


def _temporary(target: Path, data: bytes, mode: int | None) -> str:
    """A new file beside the target with these bytes, synced to disk; with `mode`, or that of new files."""
    name = _hidden(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                with suppress(OSError):  # a file system without modes
                    os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            # Without this a crash after the rename could leave an empty file in place of the old one.
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name)
        raise
    return name


def append_line(handle: int, line: bytes, size: int, name: str, *, synced: bool = False) -> int:
    """Writes a line at the end of an open file that has this size, and returns the new one; `synced`, the line is then
    on the disk. Raises JournalWriteError, with `name`, if the disk does not take it whole; the file is then as
    before."""
    with write_errors(name):
        try:
            # One write at the known end: a line that is written in part has no newline, and is trimmed.
            if os.pwrite(handle, line, size) != len(line):
                raise OSError(errno.ENOSPC, "no space left for a whole line")
            if synced:
                os.fsync(handle)
        except OSError:
            with suppress(OSError):  # the tail has no newline: the next reader skips it, the next writer trims it
                os.ftruncate(handle, size)
            raise
    return size + len(line)


@contextmanager
def write_errors(name: str) -> Iterator[None]:
    """Raises an OSError of the block, which writes to an open file, as JournalWriteError with the file's `name`."""
    try:
        yield
    except OSError as error:
        reason = error_text(error)
        problem = f"Can't write to {name} ({reason}); everything before is saved."
        raise JournalWriteError(problem, reason, hint="make room on the disk") from None


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
        with suppress(OSError):  # some file systems sync no folders
            os.fsync(handle)
    finally:
        os.close(handle)


# Files that are made again, with a list of their checksums beside them, as `sha256sum -c` reads it

CHECKSUMS = "SHA256SUMS"
_LINE = re.compile(r"^([0-9a-f]{64})  (\S+)$", re.MULTILINE)
_HEAD = "# Written by debate_orchestrator.\n"
"""The beginning of a list of checksums."""
_LIST = re.compile(rf"{_HEAD}(?:[0-9a-f]{{64}}  [\w./]+\n)*".encode())
"""All of a list that this program wrote."""
_MAX_LIST_SIZE = 1_000_000
"""Bytes of a list of checksums."""


def write_listed(folder: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """Writes files by their names, and the list of their checksums; a sentence on each file that is moved aside."""
    path = os.path.join(folder, CHECKSUMS)
    try:
        earlier_list = read_regular(path, maximum=_MAX_LIST_SIZE).decode("ascii", "replace")
    except OSError:
        earlier_list = ""
    listed_before = {*_LINE.findall(earlier_list)} if earlier_list.startswith(_HEAD) else set()
    listed = {(sha256(data).hexdigest(), name) for name, data in files.items()}
    # Both stand there while the files are written: where that breaks off, each is known the next time.
    both = listed | {line for line in listed_before if line[1] in files}
    yield from _write_listed(path, _list(both), lambda old: _LIST.fullmatch(old) is not None)
    for name, data in files.items():
        yield from _write_listed(os.path.join(folder, name), data, partial(_is_listed, both, name))
    yield from _write_listed(path, _list(listed), lambda old: _LIST.fullmatch(old) is not None)


def _list(listed: Collection[tuple[str, str]]) -> bytes:
    lines = "".join(f"{digest}  {name}\n" for digest, name in sorted(listed, key=itemgetter(1, 0)))
    return f"{_HEAD}{lines}".encode()


def _is_listed(listed: Collection[tuple[str, str]], name: str, data: bytes) -> bool:
    return (sha256(data).hexdigest(), name) in listed


def _write_listed(path: str, data: bytes, is_ours: WrittenByUs) -> Iterator[str]:
    if path_kept := write_bytes_atomic(path, data, is_ours=is_ours):
        yield f"{name_of(path)} was edited, or is not from this program; it is kept as {name_of(path_kept)}."
