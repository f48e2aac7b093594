"""Strict reading of YAML, JSON and text files, and of the paths that lead to them.

Answers files and formats may come from strangers, so every file has a size limit, must be a regular file, and must
parse without surprises (no duplicate keys, NaN, aliases or deep nesting).
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from debate_orchestrator.util.errors import BadFile, short_repr
from debate_orchestrator.util.sanitize import is_visible, quoted

MAX_SIZE = 1_000_000
"""Bytes an answers or format file may have."""
MAX_FILE_SIZE = 268_435_456
"""Bytes that any file may have which is read whole."""
_MAX_DEPTH = 32
_YAML_HINTS = {
    "mapping values are not allowed": 'put quotes around a text that has a colon, as in key: "one thing: another"; '
    "or indent line {line} as the lines that it belongs with",
    "tab character": "indent with spaces, not with tabs",
    "cannot start any token": "quote a text that begins with a mark such as @, and indent with spaces, not with tabs",
    "could not find expected ':'": "write every line as `key: value`; a colon may be missing on the line before",
    "did not find expected key": "indent line {line} as the lines that it belongs with; quote a text of several lines",
    "expected '-' indicator": "indent line {line} as the lines that it belongs with",
    "unexpected end of stream": "end every quoted text with its quote",
}
"""Words of the YAML parser, and what usually helps."""
_KINDS = {str: "a text", list: "a list", bool: "true or false", int: "a number", float: "a number"}


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The mapping that a YAML file holds, or one whose name ends in .json. Raises BadFile if it can't be read, is
    larger than `MAX_SIZE`, or holds anything but a mapping."""
    return mapping_of(read_bytes(path, MAX_SIZE), path)


def mapping_of(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """As `read_mapping`, of the bytes that the file was found to hold."""
    text, name = _decoded(data, path), name_of(path)
    if not os.fspath(path).endswith(".json"):
        return parse_mapping_with_lines(text, name)[0]
    try:
        return _mapping(strict_json(text), name)
    except ValueError as error:
        raise BadFile(f"{name}: not valid JSON: {_reason(error)}.") from None


def read_mapping_with_lines(
    path: str | os.PathLike[str], *, follow_symlinks: bool = True
) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """The mapping that a YAML file holds, and the line of every value in it (see `yaml.load_with_lines`). Raises
    BadFile as `read_mapping` and `read_text` do, with the line as `PATH:LINE`."""
    return parse_mapping_with_lines(read_text(path, MAX_SIZE, follow_symlinks=follow_symlinks), name_of(path))


def parse_mapping_with_lines(
    text: str, where: str, max_nodes: int | None = None
) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """As `read_mapping_with_lines`, for a YAML text; `where` names it in messages. With `max_nodes`, it may have no
    more values and keys."""
    from debate_orchestrator.util import yaml

    try:
        value, lines = yaml.load_with_lines(text, max_nodes or yaml.MAX_NODES)
        return _mapping(_reject_surrogates(value), f"{where}:1"), lines
    except (ValueError, RecursionError) as error:
        reason = _reason(error)
        line = getattr(error, "line", None) or 1
        hint = next((hint for words, hint in _YAML_HINTS.items() if words in reason), "")
        raise BadFile(f"{where}:{line}: not valid YAML: {reason}.", hint=hint.format(line=line)) from None


def parse_mapping(text: str, where: str) -> dict[str, Any]:
    """The mapping that a YAML or JSON text holds. Raises BadFile, with `where` and the line, if it holds none."""
    if text.lstrip().startswith("{"):
        with suppress(ValueError):  # YAML includes most such mappings, and its errors have lines
            return _mapping(strict_json(text), where)
    return parse_mapping_with_lines(text, where)[0]


def _mapping(value: Any, where: str) -> dict[str, Any]:
    """`value` with its keys as text. Raises BadFile if it is not a mapping."""
    if not isinstance(value, dict):
        kind = "the file is empty" if value is None else f"the file holds {_KINDS[type(value)]}"
        raise BadFile(f"{where}: {kind}, not a mapping of keys to values.", hint="write it as `key: value`")
    return {str(key): item for key, item in value.items()}


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    text = str(error)
    return text if text.isprintable() and len(text) <= 200 else short_repr(text, 120)


def read_text(path: str | os.PathLike[str], maximum: int, *, follow_symlinks: bool = True) -> str:
    """The UTF-8 text of a file, read as `read_bytes` does. Raises BadFile, also if it is not such a text."""
    return _decoded(read_bytes(path, maximum, follow_symlinks=follow_symlinks), path)


def read_bytes(path: str | os.PathLike[str], maximum: int, *, follow_symlinks: bool = True) -> bytes:
    """The bytes of a regular file, at most `maximum`. Raises BadFile if it is not one, or is a symbolic link and
    `follow_symlinks` is false."""
    try:
        return read_regular(path, follow_symlinks=follow_symlinks, maximum=maximum)
    except (OSError, ValueError) as error:
        raise BadFile(f"{name_of(path)}: can't be read ({error_text(error)}).") from None


def _decoded(data: bytes, path: str | os.PathLike[str]) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"{name_of(path)}: not UTF-8 text: the byte at offset {error.start} is not valid."
        raise BadFile(problem, hint="save the file as UTF-8") from None


def open_following_links(path: str, flags: int) -> int:
    """Opens a regular file, or a folder (for which `open` then raises an error). Raises OSError for a pipe, which may
    block; for a device, which may have no end; for the kernel's own files, such as /proc/self/environ with its keys;
    and if the path can't be resolved."""
    folder, name = os.path.split(path)
    # With O_NOFOLLOW the kernel refuses a link in the last part, so only the folder is resolved here.
    real = os.path.join(os.path.realpath(folder), name) if flags & os.O_NOFOLLOW else os.path.realpath(path)
    if not system_owned(real):
        # No part of `real` is a link, so the file that was checked is the file that is opened.
        handle = os.open(real, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o666)
        mode = os.fstat(handle).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return handle
        os.close(handle)
    raise OSError(errno.EINVAL, "a pipe or a device, or a file of the system")


_MAX_LINKS = 40
"""Links on the way of one path: as many as Linux follows."""


def real_path(path: str | os.PathLike[str]) -> str:
    """Where a path leads, as `os.path.realpath`, also where nothing is there yet. Raises OSError if that can't be told,
    where `realpath` guesses: a folder may not be looked into or lies too deep, or there are too many links."""
    real, links = "/", 0
    parts = os.path.join(os.getcwd(), os.fspath(path)).split("/")[::-1]
    while parts:
        part = parts.pop()
        if part in ("", os.curdir):
            continue
        if part == os.pardir:
            real = os.path.dirname(real)
            continue
        try:
            target = os.readlink(os.path.join(real, part))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                raise
            real = os.path.join(real, part)  # it is not a link, or is not there
            continue
        if (links := links + 1) > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        real = "/" if target.startswith("/") else real
        parts += target.split("/")[::-1]
    return real


def system_owned(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads into a file system of the kernel's own, where files look regular and are not."""
    real = os.path.realpath(path)
    return real.startswith(("/proc/", "/sys/", "/dev/")) and not real.startswith("/dev/shm/")


def strict_json(text: str, *, lone_surrogates: bool = False) -> Any:
    """`text` as JSON, or ValueError: no NaN or Infinity, no key twice, no deep nesting, no number too long to be
    one, no half characters unless they are allowed (the standard reader takes most of these without a word)."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in pairs:
            if key in mapping:
                raise ValueError(f"the key {short_repr(key)} appears twice")
            mapping[key] = value
        return mapping

    def reject(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    def number(digits: str) -> float:
        value = float(digits)
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"the number {short_repr(digits, 20)} is too large")
        return int(digits) if digits.lstrip("-").isdigit() else value

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=reject, parse_float=number, parse_int=number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if depth(value) > _MAX_DEPTH:
        raise ValueError(f"it is nested more than {_MAX_DEPTH} deep")
    return value if lone_surrogates else _reject_surrogates(value)


def _reject_surrogates(value: Any) -> Any:
    """`value`, or ValueError if a text in it holds half a surrogate pair, which is not a character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a surrogate pair, which is not a character") from None
    return value


def depth(value: Any) -> int:
    """The depth of nested plain data."""
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        item, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(item, dict):
            waiting += [(inner, level + 1) for inner in item.values()]
        elif isinstance(item, list):
            waiting += [(inner, level + 1) for inner in item]
    return deepest


def to_yaml(value: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """`value` as YAML that `read_mapping` reads back as it was; in ASCII alone it is safe on any screen."""
    from debate_orchestrator.util import yaml

    return yaml.dump(value, ascii_only=ascii_only)


def read_regular(path: str | os.PathLike[str], *, follow_symlinks: bool = False, maximum: int = MAX_FILE_SIZE) -> bytes:
    """The bytes of a regular file. Raises OSError for a pipe, a device, a file of more bytes than `maximum` and, unless
    it may be followed, a link."""
    with open(path, "rb", opener=open_following_links if follow_symlinks else open_regular) as file:
        must_not_be_too_large(file.fileno(), maximum)
        data = file.read(maximum + 1)
    if len(data) > maximum:
        raise _too_large(maximum)
    return data


def must_not_be_too_large(handle: int, maximum: int = MAX_FILE_SIZE) -> None:
    """Raises OSError if an open file has more bytes than `maximum`, before any is read: a sparse file may have any
    size."""
    if os.fstat(handle).st_size > maximum:
        raise _too_large(maximum)


def _too_large(maximum: int) -> OSError:
    return OSError(errno.EFBIG, f"more than {maximum:,} bytes")


def open_regular(path: str, flags: int) -> int:
    """Opens a regular file, as an opener for `open`. Raises OSError for a link, a pipe or a device."""
    return open_following_links(path, flags | os.O_NOFOLLOW)


def is_in_place(path: str, handle: int) -> bool:
    """Whether an open file is still at its path, neither removed nor replaced. Raises OSError if the disk does not
    say."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_link(folder: str | os.PathLike[str]) -> bool:
    """Whether a link takes the place of a folder, however its name ends."""
    return os.path.islink(os.path.normpath(folder))


MAX_NAME_LENGTH = 500
"""Characters of a path that a message shows whole."""
_PLAIN_PATH = re.compile(r"[\w./~+=@%#&-]+")


def name_of(path: str | os.PathLike[str]) -> str:
    """A path as it may be in a message, whatever bytes it has: in quotation marks if it has blanks or punctuation,
    which might be read as the message's own. If these would change a character, as in the name of another file, it
    is escaped."""
    name = printable_path(path)
    if name != os.fspath(path) or _PLAIN_PATH.fullmatch(name):
        return name
    in_marks = quoted(name)
    return in_marks if in_marks[1:-1] == name else short_repr(name, MAX_NAME_LENGTH)


def printable_path(path: str | os.PathLike[str]) -> str:
    """A path as it may be in a message that goes on with a file in it."""
    name = os.fspath(path)
    return name if all(map(is_visible, name)) and len(name) <= MAX_NAME_LENGTH else short_repr(name, MAX_NAME_LENGTH)


OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
TOO_MANY_FILES = "too many files are open, and `ulimit -n` says how many may be"


def error_text(error: Exception) -> str:
    """The reason that a file could not be opened; Python raises ValueError for names that no file system takes."""
    if isinstance(error, OSError):
        if error.errno in OUT_OF_FILES:
            return TOO_MANY_FILES
        return "a symbolic link" if error.errno == errno.ELOOP else error.strerror or "an error"
    return "a name that is not allowed for a file"
