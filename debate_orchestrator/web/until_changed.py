"""What is made of a file is kept until the file changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar, TypeVarTuple

from debate_orchestrator.storage.paths import DebateFiles


def file_version(path: str) -> tuple[int, int]:
    """When a file, or a link itself, was changed, in nanoseconds, and its size in bytes. Raises OSError."""
    status = os.lstat(path)
    return status.st_mtime_ns, status.st_size


def debate_version(path: str) -> tuple[object, ...]:
    """The versions of a journal and of its ballots, of which a report is made. Raises OSError without a journal."""
    ballots: list[object] = []
    with suppress(OSError):
        folder = DebateFiles.of_journal(path).ballots
        ballots = [(name, *file_version(os.path.join(folder, name))) for name in sorted(os.listdir(folder))]
    return (file_version(path), *ballots)


Of = TypeVarTuple("Of")
T = TypeVar("T")


def until_changed(
    size: int, version: Callable[[str], Hashable] = file_version
) -> Callable[[Callable[[str, *Of], T]], Callable[[str, *Of], T]]:
    """Keeps the latest `size` results of a function whose first argument is a path, each until the `version` of that
    path is another."""

    def decorate(make: Callable[[str, *Of], T]) -> Callable[[str, *Of], T]:
        kept = lru_cache(size)(lambda _, path, *more: make(path, *more))
        return lambda path, *more: kept(version(path), path, *more)

    return decorate
