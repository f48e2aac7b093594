"""YAML and JSON files, read strictly and written whole.

Answers and formats come from people and from strangers: what is read is looked at before it is believed.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from debate_orchestrator.errors import BadFile, complaint, shown

LARGEST = 1_000_000
"""Bytes an answers or format file may have."""
MOST = 268_435_456
"""Bytes that any file may have which is read whole."""
Ours = Callable[[bytes], bool]
"""Says of the bytes of a file whether this program wrote them."""
_DEEPEST = 32
_HALVES = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The mapping that a YAML or JSON file holds.

    Raises BadFile where it can't be read, is larger than `LARGEST`, or holds anything but a mapping.
    """
    text = read_text(path, LARGEST)
    try:
        value = strict_json(text) if str(path).endswith(".json") else _whole(_yaml(text))
    except (ValueError, RecursionError) as error:
        raise BadFile(
            complaint(str(path), _reason(error), "well-formed YAML or JSON", "`debate answers` prints a sample.")
        ) from None
    if not isinstance(value, dict):
        kind = "nothing" if value is None else f"a {type(value).__name__}"
        raise BadFile(complaint(str(path), kind, "a mapping of keys to values", "Write it as `topic: ...`."))
    return {str(key): item for key, item in value.items()}


def read_placed(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """The mapping that a YAML file holds, as `read_mapping` reads it, and the line of everything in it (see
    `plain_yaml.placed`). BadFile as there, with the line as `PATH:LINE`."""
    return placed(read_text(path, LARGEST), name_of(path))


def placed(text: str, where: str) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """The same of a YAML text that `where` names."""
    from debate_orchestrator import plain_yaml

    line = 1
    try:
        value, lines = plain_yaml.placed(text)
        value = _whole(value)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "line", None) or line
        raise BadFile(complaint(f"{where}:{line}", _reason(error), "well-formed YAML")) from None
    if not isinstance(value, dict):
        kind = "nothing" if value is None else f"a {type(value).__name__}"
        raise BadFile(complaint(f"{where}:{line}", kind, "a mapping of keys to values"))
    return {str(key): item for key, item in value.items()}, lines


def given(text: str, where: str) -> dict[str, Any]:
    """The mapping that a YAML or JSON text holds, whichever it is; BadFile, as `placed`, where it holds none."""
    if not text.lstrip().startswith("{"):
        return placed(text, where)[0]
    try:
        value: dict[str, Any] = strict_json(text)
    except (ValueError, RecursionError):
        return placed(text, where)[0]  # YAML has such mappings too, and tells where it goes wrong
    return value


def _yaml(text: str) -> Any:
    from debate_orchestrator import plain_yaml

    return plain_yaml.load(text)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nesting without end"
    text = str(error)
    return text if text.isprintable() and len(text) <= 200 else shown(text, 120)


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """The UTF-8 text of a regular file of at most `most` bytes; BadFile where it is none."""
    try:
        data = read_regular(path, follow=True, most=most)
    except (OSError, ValueError) as error:
        expected = f"at most {most:,}" if getattr(error, "errno", 0) == errno.EFBIG else "a file that can be read"
        raise BadFile(complaint(name_of(path), reason(error), expected)) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(
            complaint(str(path), f"a byte that is not UTF-8 at offset {error.start}", "text in UTF-8")
        ) from None


def _regular(path: str, flags: int) -> int:
    """Opens a regular file, or a folder, of which `open` complains; OSError for a pipe, which may block, for a device,
    which may have no end, and for what the kernel makes up, such as /proc/self/environ with its keys."""
    if not system_owned(path):
        handle = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o666)
        mode = os.fstat(handle).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return handle
        os.close(handle)
    raise OSError(errno.EINVAL, "a pipe or a device, or a file of the system")


def system_owned(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads into a file system of the kernel's own, where files look regular and are not."""
    real = os.path.realpath(path)
    return real.startswith(("/proc/", "/sys/", "/dev/")) and not real.startswith("/dev/shm/")


def strict_json(text: str) -> Any:
    """`text` as JSON, or ValueError: no NaN or Infinity, no key twice, no bottomless nesting, no
    number too long to be one, no half characters (the standard reader takes most of these without a word)."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise ValueError(f"the key {shown(twice)} stands twice")
        return made

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    def number(digits: str) -> float:
        value = float(digits)
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"the number {shown(digits, 20)} is too large")
        return value

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=refuse, parse_float=number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _depth(value) > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")
    return _whole(value) if _HALVES.search(text) else value


def _whole(value: Any) -> Any:
    """`value`, or ValueError where a text in it has half a surrogate pair, which is no character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it has half a surrogate pair, which is no character") from None
    return value


def _depth(value: Any) -> int:
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(item, dict):
            waiting += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list):
            waiting += [(inner, depth + 1) for inner in item]
    return deepest


def to_yaml(value: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """`value` as YAML that `read_mapping` reads back as it was; in ASCII alone it is safe on any screen."""
    from debate_orchestrator import plain_yaml

    return plain_yaml.dump(value, ascii_only=ascii_only)


def write_whole(path: str | os.PathLike[str], text: str, *, ours: Ours | None = None) -> str | None:
    """Writes `text` to `path` as `write_bytes_whole` writes bytes."""
    return write_bytes_whole(path, text.encode("utf-8", "backslashreplace"), ours=ours)


def write_bytes_whole(path: str | os.PathLike[str], data: bytes, *, ours: Ours | None = None) -> str | None:
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
        raise BadFile(complaint(name_of(path), reason(error), "a place that can be written", hint)) from None
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
        raise BadFile(complaint(name_of(path), reason(error), "a place that can be written")) from None
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
        raise BadFile(complaint(name_of(path), reason(error), f"a new file, or {what}")) from None
    if there and not there.startswith(begins):
        raise BadFile(complaint(name_of(path), "a file that holds something else", f"a new file, or {what}"))
    return write_whole(path, text, ours=lambda _: False)


def read_regular(path: str | os.PathLike[str], *, follow: bool = False, most: int = MOST) -> bytes:
    """The bytes of a regular file; OSError for a pipe, a device, a file of more bytes than `most` and, unless it may be
    followed, a link."""
    with open(path, "rb", opener=_regular if follow else regular_file) as file:
        must_fit(file.fileno(), most)
        data = file.read(most + 1)
    if len(data) > most:
        raise _too_large(most)
    return data


def must_fit(handle: int, most: int = MOST) -> None:
    """OSError where an open file has more bytes than `most`, before any is read: a sparse file may have any size."""
    if os.fstat(handle).st_size > most:
        raise _too_large(most)


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"more than {most:,} bytes")


def regular_file(path: str, flags: int) -> int:
    """Opens a regular file, as an opener for `open`; OSError for a link, a pipe or a device."""
    return _regular(path, flags | os.O_NOFOLLOW)


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
        raise BadFile(complaint(name_of(path), reason(error), "a place that can be written", hint)) from None


def is_link(folder: str | os.PathLike[str]) -> bool:
    """Whether a link stands in the place of a folder, however its name ends."""
    return os.path.islink(os.path.normpath(folder))


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


def name_of(path: str | os.PathLike[str]) -> str:
    """A path as it may stand in a message, whatever bytes it has."""
    name = os.fspath(path)
    return name if name.isprintable() else shown(name)


def reason(error: Exception) -> str:
    """Why a file could not be had; ValueError is what Python says of names that no file system takes."""
    if isinstance(error, OSError):
        return "a symbolic link" if error.errno == errno.ELOOP else error.strerror or "an error"
    return "a name that no file can have"
