"""The record of a tournament's batches in its folder: which calls are in which batch."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from debate_orchestrator.storage.files import append_line, sync_folder, write_errors
from debate_orchestrator.storage.running_elsewhere import BATCHES
from debate_orchestrator.util.data import (
    error_text,
    is_in_place,
    must_not_be_too_large,
    name_of,
    open_regular,
    strict_json,
)
from debate_orchestrator.util.errors import BadFile, JournalWriteError

_LOG = logging.getLogger(__name__)
_BEGINNING = b'{"batch": "'


@dataclass
class Batch:
    name: str
    """This program's name for it."""
    model: str
    calls: tuple[str, ...]
    reply_codes: dict[str, str]
    """Call id to the reply code in its brief, for calls that have one: another machine may read the replies."""
    at: str
    """The time at which its creation began: the date and the time in UTC."""
    id: str | None = None
    """The provider's name for it; None if that never arrived."""


def _is_json(line: bytes) -> bool:
    try:
        strict_json(line.decode())
    except ValueError:
        return False
    return True


class BatchFile:
    """The batches of a folder, which one process has locked (`folder.lock`)."""

    def __init__(self, folder: str):
        """Opens or begins the file. Raises BadFile if it can't be used."""
        self.path = os.path.join(folder, BATCHES)
        self._batches: dict[str, Batch] = {}
        self._batch_by_call: dict[str, Batch] = {}
        self._pending_lines: list[dict[str, Any]] = []
        """Lines that the disk has not taken yet."""
        try:
            self._handle = open_regular(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            try:
                self._read()
                sync_folder(folder)
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise BadFile(f"Can't use {name_of(self.path)} ({error_text(error)}).") from None

    def _read(self) -> None:
        """Reads the lines. The end of a line that a crash broke off is trimmed; a whole one without its newline, which
        the user may have added with an editor that ends it so, gets one."""
        must_not_be_too_large(self._handle)
        with open(os.dup(self._handle), "rb") as file:
            *lines, tail = file.read().split(b"\n")
        if _is_json(tail):
            lines, tail = [*lines, tail], b""
        for n, line in enumerate(lines, start=1):
            try:
                self._take(strict_json(line.decode()))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError):
                raise self._damaged_line(n) from None
        if not (tail.startswith(_BEGINNING) or _BEGINNING.startswith(tail)):
            raise self._damaged_line(len(lines) + 1)
        self._size = sum(len(line) + 1 for line in lines)
        if lines:  # before the rest is trimmed, which would fill a gap with a zero
            os.pwrite(self._handle, b"\n", self._size - 1)
        os.ftruncate(self._handle, self._size)

    def _damaged_line(self, n: int) -> BadFile:
        problem = f"{name_of(self.path)}: line {n} was not written by this program."
        return BadFile(problem, hint="restore the file from a copy")

    def _take(self, line: dict[str, Any]) -> None:
        name = str(line["batch"])
        if "calls" in line:
            codes = {str(call): str(code) for call, code in dict(line.get("codes", {})).items()}
            at = datetime.fromtimestamp(float(line["at"]), UTC).strftime("%Y-%m-%d %H:%M:%S")
            batch = Batch(name, str(line["model"]), tuple(map(str, line["calls"])), codes, at)
            self._batches[name] = batch
            self._batch_by_call |= dict.fromkeys(batch.calls, batch)
        elif "origin" in line:
            pass  # earlier versions wrote what would find a batch again
        elif line["id"] is None:
            for call in self._batches.pop(name).calls:
                del self._batch_by_call[call]
        else:
            self._batches[name].id = str(line["id"])

    def batch_of(self, call: str) -> Batch | None:
        """The batch that holds a call; None if none does."""
        return self._batch_by_call.get(call)

    def record_intent(self, model: str, calls: Mapping[str, str | None]) -> Batch:
        """Records a batch that is about to be created, of calls with their codes. Raises as `_append`."""
        self._write_pending()
        name, codes = secrets.token_hex(8), {call: code for call, code in calls.items() if code}
        line = {"batch": name, "model": model, "at": time.time(), "calls": list(calls), "codes": codes}
        self._append(line)
        self._take(line)
        return self._batches[name]

    def record_creation(self, batch: Batch, id: str | None) -> None:
        """Records the provider's name for a batch; None if it was not created, so that its calls may be put into
        another. A line that can't be written waits for the next batch, or for `close`."""
        line = {"batch": batch.name, "id": id}
        self._take(line)
        self._pending_lines.append(line)
        with suppress(JournalWriteError):
            self._write_pending()

    def _write_pending(self) -> None:
        """Writes the lines that wait, in their order. Raises as `_append`."""
        while self._pending_lines:
            self._append(self._pending_lines[0])
            self._pending_lines.pop(0)

    def _append(self, line: dict[str, Any]) -> None:
        """Writes a line. Raises JournalWriteError if the disk does not take it, or if another program replaced the file
        or wrote to it: a later run would not find the line, or not what the other program wrote."""
        name = name_of(self.path)
        with write_errors(name):
            is_ours = is_in_place(self.path, self._handle) and os.fstat(self._handle).st_size == self._size
        if not is_ours:
            problem = f"Another program changed {name} while it was open."
            raise JournalWriteError(problem, hint="put back the lines that it lacks, and resume")
        data = json.dumps(line).encode() + b"\n"
        self._size = append_line(self._handle, data, self._size, name, synced=True)

    def close(self) -> None:
        """Closes the file. Lines that wait are tried a last time, and then logged."""
        try:
            self._write_pending()
        except JournalWriteError as error:
            for line in self._pending_lines:
                add = f"Add this line to {name_of(self.path)} before you resume: {json.dumps(line)}"
                _LOG.warning("%s %s", error.problems[0], add)
        os.close(self._handle)
