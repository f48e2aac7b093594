"""What comes on standard input as a reply (`TURN=-`) or an answer (`KEY=-`). There may be no other copy of it, so what
is not taken is kept as a file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager

from debate_orchestrator.cli.output import print_status
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.util.errors import BadFile, DebateError, reason, with_hint
from debate_orchestrator.util.sanitize import one_line

_MAX_SIZE = 64_000_000
"""Bytes that are read of standard input."""


class Piped:
    """The replies or answers from standard input that are not taken yet, by name."""

    def __init__(self, what: str, hand_in: Callable[[str, str], str]):
        """`what` they are, in a word; `hand_in` makes the command that hands in the one of that name from that
        file, both quoted for a shell."""
        self.folder = os.curdir
        """Where they are kept."""
        self.hand_in = hand_in
        self._what, self._untaken = what, dict[str, bytes]()

    def read(self, name: str) -> bytes:
        """What is on standard input, which now has this name."""
        data = sys.stdin.buffer.read(_MAX_SIZE)
        if data.strip():
            self._untaken[name] = data
        return data

    def forget(self, taken: Set[str]) -> None:
        """These are on record, or were named as lost."""
        for name in taken:
            self._untaken.pop(name, None)

    def keep(self) -> list[str]:
        """Writes what is left to files; a sentence on each."""
        folder, sentences = TurnsFolder(self.folder), list[str]()
        for name, data in self._untaken.items():
            about = f"{one_line(name)}: the {self._what} on standard input"
            try:
                path = folder.keep(name, data)
            except (BadFile, OSError) as error:
                sentences.append(f"{about} is lost, since it can't be kept: {reason(error)}")
                continue
            hint = f"`{self.hand_in(shlex.quote(name), shlex.quote(path))}` once it can be taken"
            sentences.append(with_hint(f"{about} was kept as {path}.", hint))
        self._untaken.clear()
        return sentences

    @contextmanager
    def kept_on_failure(self, problems: list[str]) -> Iterator[None]:
        """Where the block fails, tells the `problems` until then too, and keeps what is left."""
        try:
            yield
        except DebateError as error:
            error.problems[:] = [*problems, *error.problems, *self.keep()]
            raise
        except BaseException:
            if told := [*problems, *self.keep()]:
                print_status(*told)
            raise
