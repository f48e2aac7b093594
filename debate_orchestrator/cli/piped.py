"""Reads a reply (`TURN=-`) or an answer (`KEY=-`) from standard input. There may be no other copy of it, so it is
written to a file as it comes, and the file is removed once it is taken."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Set
from contextlib import suppress
from typing import BinaryIO, TypeVar

from debate_orchestrator.cli.output import print_status
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.storage.files import DISK_ERRORS
from debate_orchestrator.storage.journal import WRITE_RETRY_SECONDS
from debate_orchestrator.util.data import error_text
from debate_orchestrator.util.errors import BadFile, DebateError, DiskFull, reason, with_hint
from debate_orchestrator.util.messages import shell_word
from debate_orchestrator.util.sanitize import one_line
from debate_orchestrator.util.signals import Interrupts, deferred, handled_by, interrupt_signals

Result = TypeVar("Result")

_MAX_SIZE = 64_000_000
"""Bytes that are read of standard input."""
_PIECE_SIZE = 1_000_000
"""Bytes that are read at once."""


class PipedInput:
    """The reply or answer on standard input: in memory, and until it is taken in a file, if that can be written."""

    def __init__(self, noun: str, hand_in: Callable[[str, str], str]):
        """`noun` says what it is; `hand_in` makes the command for its name and a file, both quoted for a shell."""
        self.folder = os.curdir
        """The folder of the file."""
        self.hand_in = hand_in
        self._noun, self._name, self._data, self._is_whole, self._is_cut = noun, "", bytearray(), False, False
        self._path, self._file_size, self._is_in_file, self._makes_folder = "", 0, False, False
        self._file: BinaryIO | None = None

    def read(self, name: str) -> bytes:
        """Reads standard input under this name; nothing, if it is closed or was read before. Raises BadFile if it can't
        be read."""
        if sys.stdin is None or self._name:
            return b""
        self._name, self._makes_folder = name, not os.path.lexists(self.folder)
        while not (self._is_whole or self._is_cut):
            select.select([sys.stdin], [], [])  # an interrupt comes here, where no bytes are on their way
            with deferred():
                self._read_piece(sys.stdin.fileno())
        return bytes(self._data)

    def _read_piece(self, descriptor: int) -> None:
        try:
            piece = os.read(descriptor, min(_PIECE_SIZE, _MAX_SIZE + 1 - len(self._data)))
        except OSError as error:
            raise BadFile(f"Standard input can't be read ({error_text(error)}).") from None
        self._data += piece
        self._is_whole, self._is_cut = not piece, len(self._data) > _MAX_SIZE
        with suppress(BadFile, OSError):  # `save` tries again, and says why it fails
            self._write()

    def _write(self) -> None:
        """Writes what is not in the file yet. Raises BadFile or OSError, and leaves no file, if it can't be written."""
        if self._is_blank or self._is_in_file:
            return
        try:
            if self._file is None:
                self._path, self._file = TurnsFolder(self.folder).new_file(self._name)
            self._file.write(self._data[self._file_size :])
            self._file.flush()
            self._file_size = len(self._data)
            if self._is_whole or self._is_cut:
                os.fsync(self._file.fileno())
                self._is_in_file = True
        except OSError:
            self._remove()
            raise

    def _remove(self) -> None:
        """Removes the file, and its folder if that was made for it."""
        if self._file is None:
            return
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            os.unlink(self._path)
        if self._makes_folder:
            with suppress(OSError):
                os.rmdir(self.folder)
        self._path, self._file, self._file_size, self._is_in_file = "", None, 0, False

    @property
    def _is_blank(self) -> bool:
        return not self._data or self._data.isspace()

    def forget(self, taken: Set[str]) -> None:
        """Removes the file if its name is among those that are on record, or were reported as lost."""
        if self._name in taken:
            self._remove()
            self._data.clear()

    def save(self, *, wait: bool = True) -> list[str]:
        """Saves what was not taken in its file, and says so in a sentence. On a full disk it waits for room, unless
        `wait` is false; what can't be saved is printed. Where KeyboardInterrupt ends it, all of it is still left."""
        if self._is_blank:
            return []
        part = "the" if self._is_whole else "the part that had come of the"
        remedy = "" if self._is_whole else "complete it: "
        if self._is_cut:
            part, remedy = f"the beginning, cut off at {_MAX_SIZE:,} bytes, of the", "shorten it: "
        about = f"{one_line(self._name)}: {part} {self._noun} on standard input"
        try:
            self._write_when_possible(about, wait=wait)
        except (BadFile, OSError) as error:
            print_status(*self._data.decode("utf-8", "backslashreplace").splitlines())
            sentence = f"{about} could not be kept ({reason(error)}); only its text on stderr is left"
        else:
            hint = f"`{self.hand_in(shell_word(self._name), shell_word(self._path))}` once it can be taken"
            sentence = with_hint(f"{about} was kept as {self._path}.", f"{remedy}{hint}")
        self._data.clear()
        return [sentence]

    def _write_when_possible(self, about: str, *, wait: bool) -> None:
        """Writes it to its file, waiting for room on a full disk. Raises BadFile or OSError if it can't be written."""
        is_announced = False
        while True:
            try:
                with deferred():
                    return self._write()
            except (BadFile, OSError) as error:
                is_full = isinstance(error, DiskFull) or getattr(error, "errno", None) in DISK_ERRORS
                if not (is_full and wait):
                    raise
                if not is_announced:
                    print_status(f"{about} waits for room on the disk ({reason(error)}). Ctrl-C prints it instead.")
                    is_announced = True
            time.sleep(WRITE_RETRY_SECONDS)

    def saved_on_failure(self, work: Callable[[], Result], problems: list[str]) -> Result:
        """The result of `work`. If it fails, what was not taken is saved, and the `problems` so far are reported. From
        then on no signal interrupts it, however soon; while an error waits for room on a full disk, the first one ends
        the wait."""
        interrupts = Interrupts()
        with handled_by(interrupts, interrupt_signals()):
            try:
                try:
                    return work()
                except DebateError as error:
                    problems += error.problems
                    problems += self.save()
                    error.problems[:] = problems
                    problems.clear()
                    raise
            except BaseException:
                interrupts.is_ending = True
                if messages := [*problems, *self.save(wait=False)]:
                    print_status(*messages)
                raise
