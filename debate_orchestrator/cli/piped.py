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
from debate_orchestrator.util.signals import Interrupts, deferred, handled_by, interrupting

Result = TypeVar("Result")

_MAX_SIZE = 64_000_000
"""Bytes that are read of standard input."""
_PIECE_SIZE = 1_000_000
"""Bytes that are read at once."""


class _Input:
    """The standard input read for one name: in memory, and in a file if that can be written."""

    def __init__(self, name: str, folder: TurnsFolder):
        self.name, self.data, self.is_whole, self.is_cut = name, bytearray(), False, False
        self.path = ""
        """Of the file; empty while there is none."""
        self._folder, self._file_size, self._is_saved = folder, 0, False
        self._file: BinaryIO | None = None
        self._makes_folder = not os.path.lexists(folder.folder)

    @property
    def part(self) -> str:
        """Which part of the reply or answer this is, for a sentence."""
        if self.is_cut:
            return f"the beginning, cut off at {_MAX_SIZE:,} bytes, of the"
        return "the" if self.is_whole else "the part that had come of the"

    @property
    def remedy(self) -> str:
        """The hint on what to do before it can be handed in."""
        return "shorten it: " if self.is_cut else "" if self.is_whole else "complete it: "

    @property
    def is_blank(self) -> bool:
        return not self.data or self.data.isspace()

    def read_piece(self, descriptor: int) -> None:
        """Reads what is there. Raises BadFile if that can't be read."""
        try:
            piece = os.read(descriptor, min(_PIECE_SIZE, _MAX_SIZE + 1 - len(self.data)))
        except OSError as error:
            raise BadFile(f"Standard input can't be read ({error_text(error)}).") from None
        self.data += piece
        self.is_whole, self.is_cut = not piece, len(self.data) > _MAX_SIZE
        with suppress(BadFile, OSError):  # `PipedInputs.save` tries again, and says why it fails
            self.save()

    def save(self) -> None:
        """Writes what is not in the file yet. Raises BadFile or OSError, and leaves no file, if it can't be written."""
        if self.is_blank or self._is_saved:
            return
        try:
            if self._file is None:
                self.path, self._file = self._folder.new_file(self.name)
            self._file.write(self.data[self._file_size :])
            self._file.flush()
            self._file_size = len(self.data)
            if self.is_whole or self.is_cut:
                os.fsync(self._file.fileno())
                self._is_saved = True
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
        self.path, self._file, self._file_size, self._is_saved = "", None, 0, False


class PipedInputs:
    """The replies or answers from standard input that are not taken yet, by name."""

    def __init__(self, noun: str, hand_in: Callable[[str, str], str]):
        """`noun` says what they are; `hand_in` makes the command for a name and a file, both quoted for a shell."""
        self.folder = os.curdir
        """The file that holds them."""
        self.hand_in = hand_in
        self._noun, self._pending = noun, list[_Input]()

    def read(self, name: str) -> bytes:
        """Reads standard input under this name. Raises BadFile if that can't be read."""
        piped_input = _Input(name, TurnsFolder(self.folder))
        if sys.stdin is None:  # it is closed
            return b""
        self._pending.append(piped_input)
        while not (piped_input.is_whole or piped_input.is_cut):
            select.select([sys.stdin], [], [])  # an interrupt comes here, where no bytes are on their way
            with deferred():
                piped_input.read_piece(sys.stdin.fileno())
        return bytes(piped_input.data)

    def forget(self, taken: Set[str]) -> None:
        """Removes the files of those that are on record, or were reported as lost."""
        for piped_input in self._pending:
            if piped_input.name in taken:
                piped_input.remove()
        self._pending = [piped_input for piped_input in self._pending if piped_input.name not in taken]

    def save(self, *, wait: bool = True) -> list[str]:
        """Saves what is left in its files; a sentence on each. On a full disk it waits for room, unless `wait` is
        false, and what is in no file is printed. Where KeyboardInterrupt ends it, all of it is still left."""
        unsaved, sentences = [piped_input for piped_input in self._pending if not piped_input.is_blank], list[str]()
        for piped_input in unsaved:
            about = f"{one_line(piped_input.name)}: {piped_input.part} {self._noun} on standard input"
            try:
                _save(piped_input, about, wait=wait)
            except (BadFile, OSError) as error:
                print_status(*piped_input.data.decode("utf-8", "backslashreplace").splitlines())
                sentences.append(f"{about} could not be kept ({reason(error)}); only its text on stderr is left")
                continue
            hint = f"`{self.hand_in(shell_word(piped_input.name), shell_word(piped_input.path))}` once it can be taken"
            sentences.append(with_hint(f"{about} was kept as {piped_input.path}.", f"{piped_input.remedy}{hint}"))
        self._pending.clear()
        return sentences

    def saved_on_failure(self, work: Callable[[], Result], problems: list[str]) -> Result:
        """The result of `work`. If it fails, the rest is saved, and the `problems` until then are reported too. From
        then on no signal interrupts it, however soon; while an error waits for room on a full disk, the first one ends
        the wait."""
        interrupts = Interrupts()
        with handled_by(interrupts, interrupting()):
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


def _save(piped_input: _Input, about: str, *, wait: bool) -> None:
    """Writes it to its file, waiting for room on a full disk. Raises BadFile or OSError if it can't be written."""
    is_announced = False
    while True:
        try:
            with deferred():
                piped_input.save()
        except (BadFile, OSError) as error:
            is_full = isinstance(error, DiskFull) or getattr(error, "errno", None) in DISK_ERRORS
            if not (is_full and wait):
                raise
            if not is_announced:
                print_status(f"{about} waits for room on the disk ({reason(error)}). Ctrl-C prints it instead.")
                is_announced = True
        else:
            return
        time.sleep(WRITE_RETRY_SECONDS)
