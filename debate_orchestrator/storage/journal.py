"""A debate's journal: one file with one JSON line for each event (`journal_lines`), only ever appended to.

A line is complete or absent: it is written by one write, and counts only with its newline. What a crash left without a
newline is a torn tail. Readers skip it, and a writer trims it before it appends. Anything else that does not verify is
damage, and is reported instead of repaired.

There is one writer at a time. It holds a lock on the file for as long as it lives; the kernel releases the lock when
the process ends, however it ends. On a full disk the writer keeps results of calls in memory until there is room.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import NamedTuple

from debate_orchestrator.core.events import EVENT, BriefSent, CallFailed, Event, Opened, Rejected, ReplyEvent, TurnEvent
from debate_orchestrator.storage.files import append_line, sync_folder, take_lock, write_errors
from debate_orchestrator.storage.journal_lines import BEGINNING, Entry, JournalContents, make_line, parse, stated_hash
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.data import (
    MAX_FILE_SIZE,
    error_text,
    is_in_place,
    must_not_be_too_large,
    name_of,
    open_following_links,
    open_regular,
    read_regular,
)
from debate_orchestrator.util.errors import BadJournal, JournalWriteError, LockedJournal, PermanentFailure
from debate_orchestrator.util.messages import Notify, command
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.redact import redactor
from debate_orchestrator.util.sanitize import count_words

JOURNAL_NAME_HINT = f"name a file that ends in {JOURNAL}"
"""The hint for a name that is not a journal's."""
REPLY_ROOM = 4 * 1024 * 1024
"""Bytes that the line of a reply may have without the pages that were found: its text, of at most 256 KiB, is in it
twice if it is structured, and each of its characters may take six bytes."""
WRITE_RETRY_SECONDS = 0.5
"""Seconds between two attempts to write on a full disk."""
_KEPT = "It is kept in memory and saved as soon as there is room. Ctrl-C twice discards it."


def read(path: str | os.PathLike[str], *, follow_symlinks: bool = True) -> JournalContents:
    """The journal at `path`. What was found in a folder, not named by the user, is read with `follow_symlinks` false:
    a link in a stranger's folder may lead to any file. Raises BadJournal if the file is not a journal, or is a link
    and not to be followed, NewerJournal if a newer version wrote it, UnknownEvent if this one can't read an event,
    and DamagedJournal if a line was changed, is missing, or follows a bad one."""
    return parse(str(path), read_bytes(path, follow_symlinks=follow_symlinks))


def read_unverified(path: str | os.PathLike[str]) -> list[Event | None]:
    """The events of a journal that can't be used, of which nothing is verified; None for each line that can't be read,
    or for the file."""
    events: list[Event | None] = []
    try:
        lines = read_bytes(path, follow_symlinks=False).removesuffix(b"\n").split(b"\n")
    except BadJournal:
        return [None]
    for line in lines:
        try:
            events.append(EVENT.validate_python(json.loads(line)["event"]))
        except (ValueError, LookupError, TypeError, RecursionError):
            events.append(None)
    return events


def read_bytes(path: str | os.PathLike[str], *, follow_symlinks: bool = True) -> bytes:
    """The bytes of a journal, of which nothing is verified. Raises BadJournal if the file can't be read."""
    try:
        return read_regular(path, follow_symlinks=follow_symlinks)
    except (OSError, ValueError) as error:
        problem = f"Can't read the journal {name_of(path)} ({error_text(error)})."
        raise BadJournal(problem, hint=JOURNAL_NAME_HINT) from None


def is_being_written(path: str | os.PathLike[str]) -> bool:
    """Whether another process has locked a journal; False if it can't be read, or there are no file locks."""
    try:
        handle = open_following_links(os.fspath(path), os.O_RDONLY)
    except (OSError, ValueError):
        return False
    try:
        return not take_lock(handle, name_of(path), BadJournal, shared=True)
    except BadJournal:
        return False
    finally:
        os.close(handle)


def begins_like_one(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a journal; False for one that can't be read."""
    try:
        with open(path, "rb", opener=open_following_links) as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except (OSError, ValueError):
        return False


def stated_first_hash(path: str | os.PathLike[str]) -> str | None:
    """The hash that the first line of a file states. It is not verified. Returns None for a file that does not begin as
    a journal does. Strangers may ask for this, so it raises OSError for a link and for a file that is too large."""
    with open(path, "rb", opener=open_regular) as file:
        must_not_be_too_large(file.fileno())
        line = file.readline()
    return stated_hash(line[:-1]) if line.startswith(BEGINNING) and line.endswith(b"\n") else None


def must_be_new(path: str | os.PathLike[str]) -> None:
    """Raises BadJournal if `JournalWriter.create` would refuse `path` because of what is there."""
    try:
        existing = read_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(str(path), error) from None
    _must_be_free(str(path), existing)


def _unwritable(path: str, error: OSError | ValueError) -> BadJournal:
    hint = "name the file that it points to" if getattr(error, "errno", 0) == errno.ELOOP else ""
    return BadJournal(f"Can't write the journal {name_of(path)} ({error_text(error)}).", hint=hint)


def _must_be_free(path: str, existing: bytes) -> None:
    # An empty file, or the first part of a first line that a crash cut short, holds nothing that could be lost.
    if b"\n" in existing or existing[: len(BEGINNING)] != BEGINNING[: len(existing)]:
        hint = f"another output; or, if it is not finished, `{command('resume', path)}` or `{command('step', path)}`"
        raise BadJournal(f"{name_of(path)} already exists, and a journal is never overwritten.", hint=hint)


def now() -> str:
    """The time as lines have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LineToWrite(NamedTuple):
    """A line to write. While the disk is full it is kept in memory if it has a summary."""

    line: bytes
    summary: str
    """Its content, in a few words; empty if it must not wait."""


class JournalWriter:
    """The one writer of a journal. Use it in a `with`; leaving it releases the lock. It opens no symbolic link: another
    process could point the link elsewhere between reading and writing."""

    entries: list[Entry]
    """Every line, those of earlier writers too, and those that wait for room."""
    notify: Notify = logging.getLogger(__name__).warning
    """Gets a sentence when a line begins to wait for room, and when it is saved or lost."""

    def __init__(self, path: str | os.PathLike[str]):
        """Locks and reads an existing journal. Raises LockedJournal if another writer has it, and as `read`."""
        self._acquire(path, os.O_RDWR, now)
        with self.closed_on_failure():
            data = self._read_all()
            contents = parse(self.path, data)
        self.entries = contents.entries
        self._size = self._length = len(data) - contents.torn_bytes
        self._lines_written = self._lines_synced = len(self.entries)

    @classmethod
    def reserve(cls, path: str | os.PathLike[str], *, clock: Callable[[], str] = now) -> JournalWriter:
        """Makes and locks the file of a new journal, whose first event is still to come. Raises BadJournal if a file is
        there already, unless it is empty or holds no more than the beginning of a journal's first line, which a crash
        left."""
        new = cls.__new__(cls)
        new._acquire(path, os.O_RDWR | os.O_CREAT, clock)
        with new.closed_on_failure():
            # Checked under the lock: two processes that create the same journal can't both find it free.
            _must_be_free(str(path), new._read_all())
            new._is_empty = True
        return new

    @classmethod
    def create(cls, path: str | os.PathLike[str], opened: Opened, *, clock: Callable[[], str] = now) -> JournalWriter:
        """Begins a journal. Raises BadJournal as `reserve`, and JournalWriteError on a full disk."""
        new = cls.reserve(path, clock=clock)
        with new.closed_on_failure():
            new.append(opened)
            new.sync()
        return new

    def _acquire(self, path: str | os.PathLike[str], flags: int, clock: Callable[[], str]) -> None:
        self._set_up(str(path), clock)
        self._syncing = threading.Lock()
        try:
            self._handle = open_regular(self.path, flags)
        except (OSError, ValueError) as error:  # a name that is not allowed for a file
            raise _unwritable(self.path, error) from None
        with self.closed_on_failure():
            self._lock()

    def _set_up(self, path: str, clock: Callable[[], str]) -> None:
        self.path, self._name, self._clock = path, name_of(path), clock
        self.entries = []
        self.lost_results: list[str] = []
        """The results that could not be saved, in a few words each."""
        self._waiting: list[LineToWrite] = []
        self._length = 0
        """Bytes of all lines, with those that wait for room."""
        self._turns_under_way: frozenset[str] = frozenset()
        self._size = self._lines_written = self._lines_synced = 0
        self._is_empty = self._sync_lost = False

    @contextmanager
    def closed_on_failure(self) -> Iterator[None]:
        """Closes the journal if the block fails, and so releases its lock."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            must_not_be_too_large(self._handle)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        if not take_lock(self._handle, self._name, BadJournal):
            problem = f"The journal {self._name} is locked, because another process is writing it; nothing was changed."
            raise LockedJournal(problem, hint="wait for the other process, or end it")

    def _read_all(self) -> bytes:
        with open(self._handle, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries]

    def saved_events(self) -> list[Event]:
        """Those that do not wait for room."""
        return self.events[: len(self.entries) - len(self._waiting)]

    @property
    def unsaved(self) -> list[str]:
        """A sentence on each result that is lost, and on each that waits for room."""
        return [f"Lost: {summary}." for summary in self.lost_results] + [
            f"{waiting.summary} is not saved yet. {_KEPT}" for waiting in self._waiting if waiting.summary
        ]

    # Appending

    def append(self, event: Event, *, queue_if_disk_full: bool = False) -> Entry:
        """Writes one event after the last complete line; the entry holds it as it was written, without the secrets of
        the environment. With `queue_if_disk_full`, the line is kept in memory if the disk is full, and `wait_for_room`
        writes it. Raises BadJournal for an event that would not read back as it is, and JournalWriteError if the disk
        does not take it; the journal is then as it was. Raises PermanentFailure if another program changed the file, or
        the journal would be too long to be read, or could become so with the reply of the call that is about to be
        made. So that usable replies find room, a long journal keeps no words of those that are not, and no pages that
        don't fit."""
        event = event.with_text(redactor())
        line, entry = make_line(event, self._clock(), self.entries)
        turns_under_way = self._turns_under_way_after(event)
        maximum = MAX_FILE_SIZE - REPLY_ROOM * len(turns_under_way)
        if isinstance(event, CallFailed | Rejected) and self._length + len(line) > MAX_FILE_SIZE // 2:
            line, entry = make_line(event.without_words(), entry.at, self.entries)
        elif isinstance(event, ReplyEvent) and self._length + len(line) > maximum:
            reply = event.reply.without_pages()
            line, entry = make_line(event.model_copy(update={"reply": reply}), entry.at, self.entries)
        new = LineToWrite(line, f"{_summary(event)} for {self._name}" if queue_if_disk_full else "")
        if self._length + len(line) > (maximum if isinstance(event, BriefSent) else MAX_FILE_SIZE):
            self._lose(new)
            what = "has no room for another reply" if isinstance(event, BriefSent) else "is full"
            problem = f"{self._name} {what}: a journal has at most {MAX_FILE_SIZE:,} bytes, or it can't be read."
            raise PermanentFailure(problem, hint="`debate report`, which makes a report of what is there")
        self._append_line(new)
        self._length += len(line)
        self._turns_under_way = turns_under_way
        self.entries.append(entry)
        return entry

    def _turns_under_way_after(self, event: Event) -> frozenset[str]:
        """The turns that await the reply of a call which this writer has recorded. A turn has one call at a time."""
        if isinstance(event, BriefSent) and event.by_call:
            return self._turns_under_way | {event.turn_id}
        return self._turns_under_way - {event.turn_id} if isinstance(event, TurnEvent) else self._turns_under_way

    def _append_line(self, new: LineToWrite) -> None:
        """Writes the next line, or keeps it. A journal that is kept elsewhere than in a file does it in another way."""
        try:
            self._write_waiting()
            self._write_line(new.line)
        except JournalWriteError as error:
            if not new.summary:
                raise
            self._waiting.append(new)
            self._notify(f"{new.summary} can't be saved: {error.why}. {_KEPT}")
        except PermanentFailure:
            self._lose(new)
            raise

    def _write_waiting(self) -> None:
        """Writes the lines that wait for room. Raises JournalWriteError if there is none."""
        while self._waiting:
            self._write_line(self._waiting[0].line)
            self._notify(f"Saved: {self._waiting.pop(0).summary}.")

    def _write_line(self, line: bytes) -> None:
        with write_errors(self._name):
            self._check_unchanged()
        self._size = append_line(self._handle, line, self._size, self._name)
        self._lines_written += 1
        self._is_empty = False

    def _lose(self, line: LineToWrite) -> None:
        """Names what is lost, unless it can be had again at no cost."""
        if line.summary:
            self.lost_results.append(line.summary)
            self._notify(f"Lost: {line.summary}.")

    def _notify(self, sentence: str) -> None:
        with suppress(OSError):  # stderr may be closed, or go to the same full disk
            self.notify(sentence)

    def _check_unchanged(self) -> None:
        """Raises PermanentFailure unless the file is as this writer left it, and trims the tail that a crash left. An
        editor or a sync tool, which ignores locks, may have replaced or changed the file: a line would break the chain,
        or be lost."""
        self.must_be_in_place()
        size = os.fstat(self._handle).st_size
        if size < self._size or b"\n" in os.pread(self._handle, size - self._size, self._size):
            problem = f"Another program changed the journal {self._name}: it has {size:,} bytes, not {self._size:,}."
            raise PermanentFailure(problem, hint="`debate check` shows what is left")
        if size > self._size:
            os.ftruncate(self._handle, self._size)

    # Making lines durable

    async def wait_for_room(self) -> None:
        """Returns when no line waits for room. A task that is cancelled meanwhile tries a last time: if that succeeds,
        the cancellation comes at its next wait."""
        import asyncio  # late: reading a journal needs no asyncio

        from debate_orchestrator.util.coroutines import cancel_later

        while self._waiting:
            try:
                await asyncio.sleep(WRITE_RETRY_SECONDS)
            except asyncio.CancelledError as cancelled:
                try:
                    self._write_waiting()
                except JournalWriteError:
                    raise cancelled from None
                cancel_later()
            with suppress(JournalWriteError):
                self._write_waiting()

    async def wait_until_synced(self) -> None:
        """Returns when all that was appended is on the disk. Tasks that wait while another syncs share the next
        sync."""
        from debate_orchestrator.util.coroutines import in_debate_pool

        await self.wait_for_room()
        lines = self._lines_written
        await in_debate_pool(lambda: self.sync(lines))

    def sync(self, upto: int | None = None) -> None:
        """Returns when the first `upto` lines, or all that are written, are on the disk. Raises PermanentFailure if
        that fails, and from then on: the kernel may have dropped the data, and report success the next time."""
        with self._syncing:
            lines = self._lines_written
            if upto is not None and self._lines_synced >= upto:
                return
            try:
                if self._sync_lost:
                    raise OSError(errno.EIO, "an earlier failure to sync")
                os.fdatasync(self._handle)
            except OSError as error:
                self._sync_lost = True
                reason = error.strerror or "an error"
                problem = f"The disk did not confirm what was written to {self._name} ({reason})."
                raise PermanentFailure(problem, hint="check the disk, then `debate check` the journal") from None
            if not self._lines_synced:
                sync_folder(os.path.dirname(os.path.abspath(self.path)))
            self._lines_synced = lines

    async def wait_until_stored(self) -> None:
        """Returns when all that was appended outlives this process. No-op for files: the kernel has the bytes."""

    def is_in_place(self) -> bool:
        """Whether the file is still at its path, as far as the disk says; else it can't be resumed there."""
        try:
            return is_in_place(self.path, self._handle)
        except OSError:
            return True

    def must_be_in_place(self) -> None:
        """Raises PermanentFailure if the file is no longer at its path, JournalWriteError if the disk does not say."""
        with write_errors(self._name):
            in_place = is_in_place(self.path, self._handle)
        if not in_place:
            problem = f"The journal {self._name} was deleted, moved or replaced while it was open."
            raise PermanentFailure(problem, hint="put it back, or a copy of it, and resume that")

    def close(self) -> None:
        """Closes the file, which releases the lock. What still waits for room is tried a last time, and then lost."""
        if self._handle < 0:
            return
        try:
            with suppress(PermanentFailure):
                self._write_waiting()
        finally:
            for line in self._waiting:
                self._lose(line)
            self._waiting.clear()
            if self._is_empty:
                self._discard_empty()
            handle, self._handle = self._handle, -1
            os.close(handle)

    def _discard_empty(self) -> None:
        """Removes a file without a line: it would be taken for the newest debate of its folder. A file that another
        program has put in its place stays."""
        with suppress(OSError):
            if is_in_place(self.path, self._handle) and b"\n" not in self._read_all():
                os.unlink(self.path)

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _summary(event: Event) -> str:
    """The paid content of an event, in a few words."""
    if isinstance(event, Opened):
        return "the positions that were derived"
    reply, turn = getattr(event, "reply", None), getattr(event, "turn_id", "")
    return f"{turn}: its reply ({plural(count_words(reply.text), 'word')})" if reply else f"{turn}: a failed call"
