"""How many connections the server takes: as many as the open files of its process permit."""

from __future__ import annotations

import errno
from contextlib import suppress
from functools import cache
from typing import NamedTuple

_MAX_CONNECTIONS = 1_500
_WANTED_FILES = 4_096
"""Open files that are asked for: the usual limit is 1,024, and 256 on macOS."""
_RESERVE = 64
"""Open files for debates, their programs and servers, journals and the database, at least; where more are granted, a
quarter of them."""
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)


class Bounds(NamedTuple):
    """What the server has open at once."""

    connections: int
    waiting: int
    """Connections that wait for a request."""
    viewers: int
    """Streams."""
    accepted: int
    """Connections that are accepted in one turn of the event loop. They are open for some turns before they are
    counted. They are so few that each is read before it can be the one that has waited longest."""


def bounds_for(files: int) -> Bounds:
    """The bounds of a process that may have so many files open."""
    reserve = min(max(_RESERVE, files // 4), files // 2)
    connections = min(_MAX_CONNECTIONS, files - reserve)
    return Bounds(connections, connections // 6, connections * 2 // 3, connections // 64 + 1)


@cache
def bounds() -> Bounds:
    """The bounds of this process. Its limit of open files is raised to what they take at most, as far as the system
    lets it be."""
    return bounds_for(_raised_limit())


def _raised_limit() -> int:
    """How many files this process may have open."""
    try:
        import resource
    except ImportError:  # Windows, where connections do not count as files
        return _WANTED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _WANTED_FILES:
        return _WANTED_FILES
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def is_out_of_files(error: BaseException | None) -> bool:
    """Whether an error has come of too many open files, in this process or on the machine."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _OUT_OF_FILES:
            return True
        error = error.__cause__ or error.__context__
    return False
