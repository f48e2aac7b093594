"""What comes on standard input as a reply (`TURN=-`) or an answer (`KEY=-`). There may be no other copy of it, so it is
written to a file as it comes, and the file is removed once it is taken."""

from __future__ import annotations

import os
import select
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from typing import BinaryIO

from debate_orchestrator.cli.output import print_status
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.storage.files import DISK_ERRORS
from debate_orchestrator.storage.journal import WRITE_AGAIN
from debate_orchestrator.util.data import error_text
from debate_orchestrator.util.errors import BadFile, DebateError, DiskFull, reason, with_hint
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.signals import deferred

_MAX_SIZE = 64_000_000
"""Bytes that are read of standard input."""
_PIECE_SIZE = 1_000_000
"""Bytes that are read at once."""


class _Input:
    """What has come on standard input under one name: in memory, and in a file where that can be written."""

    def __init__(self, name: str, folder: TurnsFolder):
        self.name, self.data, self.is_whole = name, bytearray(), False
        self.path = ""
        """Of the file; empty while there is none."""
        self._folder, self._file_size = folder, 0
        self._file: BinaryIO | None = None
        self._makes_folder = not os.path.lexists(folder.folder)

    @property
    def is_blank(self) -> bool:
        return not self.data or self.data.isspace()

    def read_piece(self, descriptor: int) -> None:
        """Reads what is there. Raises BadFile if that can't be read."""
        try:
            piece = os.read(descriptor, _PIECE_SIZE)
        except OSError as error:
            raise BadFile(f"Standard input can't be read ({error_text(error)}).") from None
        self.data += piece
        self.is_whole = not piece or len(self.data) >= _MAX_SIZE
        with suppress(BadFile, OSError):  # `Piped.keep` tries again, and says why it fails
            self.save()

    def save(self) -> None:
        """Writes what is not in the file yet. Raises BadFile or OSError, and leaves no file, if it can't be written."""
        if self.is_blank:
            return
        try:
            if self._file is None:
                self.path, self._file = self._folder.new_file(self.name)
            self._file.write(self.data[self._file_size :])
            self._file.flush()
            self._file_size = len(self.data)
            if self.is_whole:
                os.fsync(self._file.fileno())
        except OSError:
            self.remove()
            raise

    def remove(self) -> None:
        """Removes the file, and its folder if that was made for it."""
        if self._file is None:
            return
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            os.unlink(self.path)
        if self._makes_folder:
            with suppress(OSError):
                os.rmdir(self._folder.folder)
        self.path, self._file, self._file_size = "", None, 0


class Piped:
    """The replies or answers from standard input that are not taken yet, by name."""

    def __init__(self, what: str, hand_in: Callable[[str, str], str]):
        """`what` they are, in a word; `hand_in` makes the command that hands in the one of that name from that
        file, both quoted for a shell."""
        self.folder = os.curdir
        """Where they are kept."""
        self.hand_in = hand_in
        self._what, self._untaken = what, list[_Input]()

    def read(self, name: str) -> bytes:
        """What is on standard input, which now has this name. Raises BadFile if that can't be read."""
        new = _Input(name, TurnsFolder(self.folder))
        if sys.stdin is None:  # it is closed
            return b""
        self._untaken.append(new)
        while not new.is_whole:
            select.select([sys.stdin], [], [])  # an interrupt comes here, where no bytes are on their way
            with deferred():
                new.read_piece(sys.stdin.fileno())
        return bytes(new.data)

    def forget(self, taken: Set[str]) -> None:
        """These are on record, or were named as lost."""
        for one in self._untaken:
            if one.name in taken:
                one.remove()
        self._untaken = [one for one in self._untaken if one.name not in taken]

    def keep(self, *, wait: bool = True) -> list[str]:
        """Leaves the files of what is left; a sentence on each. What can't be written, on a full disk, waits for room,
        unless `wait` is false. KeyboardInterrupt ends the wait. What is in no file then is printed."""
        left, sentences = [one for one in self._untaken if not one.is_blank], list[str]()
        interrupts = list[KeyboardInterrupt]()
        for one in left:
            whole = "the" if one.is_whole else "the part that had come of the"
            about = f"{one_line(one.name)}: {whole} {self._what} on standard input"
            try:
                _save(one, about, interrupts, wait=wait)
            except (BadFile, OSError) as error:
                with deferred():
                    print_status(*one.data.decode("utf-8", "backslashreplace").splitlines())
                sentences.append(f"{about} is lost but for its text on stderr, since it can't be kept: {reason(error)}")
                continue
            hint = f"`{self.hand_in(shlex.quote(one.name), shlex.quote(one.path))}` once it can be taken"
            sentences.append(
                with_hint(f"{about} was kept as {one.path}.", hint if one.is_whole else f"complete it: {hint}")
            )
        self._untaken.clear()
        if interrupts:
            print_status(*sentences)
            raise interrupts[0]
        return sentences

    @contextmanager
    def kept_on_failure(self, problems: list[str]) -> Iterator[None]:
        """Where the block fails, tells the `problems` until then too, and keeps what is left."""
        try:
            yield
        except DebateError as error:
            error.problems[:0] = problems
            try:
                error.problems += self.keep()
            except KeyboardInterrupt:
                print_status(*error.problems)
                raise
            raise
        except BaseException:
            with deferred():
                if told := [*problems, *self.keep(wait=False)]:
                    print_status(*told)
            raise


def _save(one: _Input, about: str, interrupts: list[KeyboardInterrupt], *, wait: bool) -> None:
    """Writes it to its file, if it is not there yet, and waits for room where the disk is full. An interrupt ends the
    wait, and is added to `interrupts`. Raises BadFile or OSError if it can't be written."""
    is_told = False
    while True:
        try:
            with deferred():
                one.save()
        except (BadFile, OSError) as error:
            is_full = isinstance(error, DiskFull) or getattr(error, "errno", None) in DISK_ERRORS
            if not (is_full and wait) or interrupts:
                raise
            if not is_told:
                print_status(f"{about} waits for room on the disk ({reason(error)}). Ctrl-C prints it instead.")
                is_told = True
        else:
            return
        try:
            time.sleep(WRITE_AGAIN)
        except KeyboardInterrupt as interrupt:  # it is tried a last time
            interrupts.append(interrupt)
