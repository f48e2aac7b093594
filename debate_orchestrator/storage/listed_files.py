"""Files that are made again, and a list of their checksums beside them, as `sha256sum -c` reads it. A file that is
listed and unchanged is replaced, and any other is moved aside."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from hashlib import sha256
from operator import itemgetter

from debate_orchestrator.storage.files import WrittenByUs, write_bytes_atomic
from debate_orchestrator.util.data import name_of, read_regular

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
    yield from _write(path, _list(both), lambda old: _LIST.fullmatch(old) is not None)
    for name, data in files.items():
        yield from _write(os.path.join(folder, name), data, partial(_is_listed, both, name))
    yield from _write(path, _list(listed), lambda old: _LIST.fullmatch(old) is not None)


def _list(listed: Collection[tuple[str, str]]) -> bytes:
    lines = "".join(f"{digest}  {name}\n" for digest, name in sorted(listed, key=itemgetter(1, 0)))
    return f"{_HEAD}{lines}".encode()


def _is_listed(listed: Collection[tuple[str, str]], name: str, data: bytes) -> bool:
    return (sha256(data).hexdigest(), name) in listed


def _write(path: str, data: bytes, is_ours: WrittenByUs) -> Iterator[str]:
    if path_kept := write_bytes_atomic(path, data, is_ours=is_ours):
        yield f"{name_of(path)} was edited, or is not from this program; it is kept as {name_of(path_kept)}."
