"""One debate, one file: the events, one JSON line each, only ever appended.

A line is `{"n":3,"at":"...","prev":"<hash of line 2>","event":{...},"hash":"<sha256>"}`. The hash is
that of the line's bytes with the `,"hash":"..."` before the last brace taken out, so that any language
can check it; `prev` chains the lines. A line is complete or absent: it is written by one write, and it
is whole only with its newline. What a crash left without a newline is a torn tail: readers skip it, and
a writer trims it before it appends. Anything else that does not verify is damage, and never guessed over.

One writer at a time, held by a lock on the file for as long as the writer lives: the kernel lets go
when the process ends, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from debate_orchestrator.core.events import EVENT, Event, Opened
from debate_orchestrator.core.private_text import without_private
from debate_orchestrator.util.data import error_text, must_fit, name_of, read_regular, regular_file
from debate_orchestrator.util.errors import (
    BadJournal,
    DamagedJournal,
    JournalWriteError,
    LockedJournal,
    ProviderFailed,
    complaint,
    short_repr,
)
from debate_orchestrator.util.redact import redactor
from debate_orchestrator.util.sanitize import sanitize

SCHEMA = 1
"""The version of the journal's own form."""
_SEAL = len(',"hash":""}') + 64
_START = "0" * 64
"""What the first line's `prev` says."""
_BEGINNING = b'{"n":1,"at":"'
"""How every journal begins."""


class Entry(NamedTuple):
    """One line that verified."""

    n: int
    at: str
    """UTC, ISO 8601, to the millisecond."""
    event: Event
    hash: str


class JournalContents(NamedTuple):
    """What a journal holds: the whole lines, and how many bytes a crash left after them."""

    entries: list[Entry]
    torn: int

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries]


def read(path: str | os.PathLike[str]) -> JournalContents:
    """The journal at `path`. BadJournal where it is none or of a newer version, Damaged where a
    line was changed, is missing, or follows a bad one."""
    try:
        data = read_regular(path, follow=True)
    except (OSError, ValueError) as error:
        hint = "`debate open` makes one."
        raise BadJournal(complaint(name_of(path), error_text(error), "a journal", hint)) from None
    return _parse(str(path), data)


def must_be_new(path: str | os.PathLike[str]) -> None:
    """BadJournal where `Writer.create` would refuse that path because of what is there."""
    try:
        there = read_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(str(path), error) from None
    _must_be_free(str(path), there)


def _unwritable(path: str, error: OSError) -> BadJournal:
    hint = "Name the file that it points to." if error.errno == errno.ELOOP else ""
    return BadJournal(complaint(path, error_text(error), "a journal that can be written", hint))


def _must_be_free(path: str, there: bytes) -> None:
    """Room for a new journal is a file that is empty, or has no more than a crash left of a first line."""
    if b"\n" in there or there[: len(_BEGINNING)] != _BEGINNING[: len(there)]:
        hint = f"Go on with it (`debate resume {path}` or `debate step {path}`), or name another output."
        raise BadJournal(complaint(path, "a journal that is there already", "a new one", hint))


def _parse(path: str, data: bytes) -> JournalContents:
    end = data.rfind(b"\n") + 1
    entries: list[Entry] = []
    for n, line in enumerate(data[:end].split(b"\n")[:-1], start=1):
        entries.append(_entry(path, n, line, entries[-1].hash if entries else _START))
    if not entries:
        hint = "Nothing was said in it: open the debate again."
        raise BadJournal(complaint(path, "no whole line", "a journal that begins with an opened debate", hint))
    if not isinstance(entries[0].event, Opened):
        raise DamagedJournal(complaint(f"{path}: line 1", entries[0].event.kind, "the event that opens the debate"))
    return JournalContents(entries, len(data) - end)


def _entry(path: str, n: int, line: bytes, prev: str) -> Entry:
    where = f"{path}: line {n}"
    body, seal = line[:-_SEAL] + b"}", line[-_SEAL:]
    digest = hashlib.sha256(body).hexdigest()
    if seal != _seal(digest):
        if n == 1 and not line.startswith(_BEGINNING):
            raise BadJournal(complaint(path, short_repr(line[:40].decode("utf-8", "replace")), "a debate's journal"))
        hint = "Restore it from a copy."
        raise DamagedJournal(
            complaint(where, "bytes that do not match the line's hash", "the line as it was written", hint)
        )
    try:
        record = json.loads(body.decode(), parse_constant=_no_number)
        if b"\\u" in body:
            json.dumps(record, ensure_ascii=False).encode()  # fails for half a character, which can't be shown
        number, at, before, data = record["n"], record["at"], record["prev"], record["event"]
        if type(number) is not int or not isinstance(at, str):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedJournal(complaint(where, "a sealed line of another form", "n, at, prev and event")) from None
    if number != n or before != prev:
        hint = "A line is missing, or lines were moved."
        raise DamagedJournal(
            complaint(where, f"entry {number} after {short_repr(before)}", f"entry {n} that follows it", hint)
        )
    if n == 1 and isinstance(data, dict) and data.get("schema_version", SCHEMA) != SCHEMA:
        raise _newer(path, f"journal version {short_repr(data['schema_version'])}", f"version {SCHEMA}")
    try:
        return Entry(number, at, EVENT.validate_python(data), digest)
    except (ValidationError, RecursionError) as error:
        raise _newer(where, f"an event this version does not know{_because(error)}", "one it knows") from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _because(error: Exception) -> str:
    """What is wrong with an event first of all, in brackets."""
    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(key) for key in first["loc"][1:])
    return f" ({short_repr(': '.join(filter(None, (place, first['msg']))), 160)})"


def _seal(digest: str) -> bytes:
    return b',"hash":"%s"}' % digest.encode()


def _newer(where: str, got: str, expected: str) -> BadJournal:
    return BadJournal(complaint(where, got, expected, "A newer version wrote it: upgrade debate-orchestrator."))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class JournalWriter:
    """The one writer of a journal. Use it as a context manager; leaving it lets go of the lock. It follows no link:
    what one process reads by a link, another could have point elsewhere before it writes."""

    entries: list[Entry]
    """Every line, those of earlier writers too."""

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], str] = _now):
        """Takes the lock of an existing journal and reads it. Locked where another writer has it."""
        self._take(path, os.O_RDWR, clock)
        with self._closed_on_failure():
            data = self._all()
            reading = _parse(self.path, data)
        self.entries = reading.entries
        self._size = len(data) - reading.torn
        self._written = self._synced = len(self.entries)

    @classmethod
    def create(cls, path: str | os.PathLike[str], opened: Opened, *, clock: Callable[[], str] = _now) -> JournalWriter:
        """Begins a journal. BadJournal where a file is there already, unless it is empty or a crash left
        in it nothing but the beginning of a journal's first line."""
        new = cls.__new__(cls)
        new._take(path, os.O_RDWR | os.O_CREAT, clock)
        with new._closed_on_failure():
            _must_be_free(str(path), new._all())
            new.append(opened)
            new.sync()
            _sync_folder(os.path.dirname(os.path.abspath(path)))
        return new

    def _take(self, path: str | os.PathLike[str], flags: int, clock: Callable[[], str]) -> None:
        self.path, self._clock = str(path), clock
        self.entries = []
        self._size = self._written = self._synced = 0
        self._sync_lost = False
        self._syncing = threading.Lock()
        self._handle = self._locked(flags)

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _locked(self, flags: int) -> int:
        try:
            handle = regular_file(self.path, flags)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        try:
            must_fit(handle)
        except OSError as error:
            os.close(handle)
            raise _unwritable(self.path, error) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if not isinstance(error, BlockingIOError):
                got = f"a place without file locks ({error.strerror})"
                raise BadJournal(complaint(self.path, got, "a local file system")) from None
            hint = "Wait for the other process or end it; nothing was changed."
            got = "a journal that another process is writing"
            raise LockedJournal(complaint(self.path, got, "one writer", hint)) from None
        return handle

    def _all(self) -> bytes:
        size, parts = os.fstat(self._handle).st_size, []
        offset = 0
        while offset < size:
            part = os.pread(self._handle, size - offset, offset)
            if not part:
                break
            parts.append(part)
            offset += len(part)
        return b"".join(parts)

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries]

    def append(self, event: Event) -> Entry:
        """Writes one event after the last whole line, without the secrets of the environment; the entry has it as it
        was written. BadJournal for an event that would not read back as it is; Unwritten where the disk would not
        take it. The journal is then as it was."""
        event = event.with_text(self._redacted)
        prev = self.entries[-1].hash if self.entries else _START
        n, at = len(self.entries) + 1, self._clock()
        body = _body(n, at, prev, event)
        digest = hashlib.sha256(body).hexdigest()
        line = body[:-1] + _seal(digest) + b"\n"
        self._must_be_ours()
        try:
            if os.pwrite(self._handle, line, self._size) != len(line):
                raise OSError(28, "no space left for a whole line")
        except OSError as error:
            self._trim()
            hint = "All before it is saved. Make room and run the same command again."
            said = complaint(self.path, error_text(error), "room for one more line", hint)
            raise JournalWriteError(said, error_text(error)) from None
        self._size += len(line)
        entry = Entry(n, at, event, digest)
        self.entries.append(entry)
        self._written += 1
        return entry

    def _redacted(self, text: str) -> str:
        """`text` without secrets, and without its private working where leaving that out would make one whole."""
        redact = redactor()
        kept = redact(text)
        opened = self.entries[0].event if self.entries else None
        said = without_private(sanitize(kept), opened.format.private if isinstance(opened, Opened) else "")
        safe = redact(said)
        return kept if safe == said else safe

    def _must_be_ours(self) -> None:
        """Trims the tail that a crash left. Failed where the file is not as this writer knows it."""
        status = os.fstat(self._handle)
        if status.st_nlink == 0:
            hint = "Restore it from a copy, and go on with that."
            got = "a journal that was deleted or replaced while it was open"
            raise ProviderFailed(complaint(self.path, got, "the file that was opened", hint))
        size = status.st_size
        if size < self._size or b"\n" in os.pread(self._handle, size - self._size, self._size):
            hint = "Somebody else changed it; `debate check` tells what is left."
            got = f"{size:,} bytes in place of {self._size:,}"
            raise ProviderFailed(complaint(self.path, got, "the journal as this process wrote it", hint))
        if size > self._size:
            os.ftruncate(self._handle, self._size)

    def _trim(self) -> None:
        try:
            os.ftruncate(self._handle, self._size)
        except OSError:
            pass  # the tail has no newline: the next reader skips it, the next writer trims it

    def sync(self, upto: int | None = None) -> None:
        """Returns when the first `upto` events, or all that were appended, are on the disk. Failed where that
        can't be had, from then on: what the kernel still holds is unknown, and trying again would not tell."""
        with self._syncing:
            written = self._written
            if upto is not None and self._synced >= upto:
                return
            try:
                if self._sync_lost:
                    raise OSError(5, "an earlier failure to sync")
                os.fdatasync(self._handle)
            except OSError as error:
                self._sync_lost = True
                hint = "Check the disk, then `debate check` the journal."
                raise ProviderFailed(
                    complaint(self.path, error.strerror or "an error", "a disk that syncs", hint)
                ) from None
            self._synced = written

    async def synced(self) -> None:
        """`sync` off the event loop. Those who wait while another syncs share the next one."""
        import asyncio  # those who only read a journal need none

        await asyncio.to_thread(self.sync, self._written)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _body(n: int, at: str, prev: str, event: Event) -> bytes:
    """The bytes of a line without its seal."""
    record = {"n": n, "at": at, "prev": prev, "event": event.model_dump(mode="json")}
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        body = text.encode()
        same = EVENT.validate_python(json.loads(text)["event"]) == event
    except (ValueError, RecursionError):
        same = False
    if not same:
        hint = "Half a character, a number that is none, or nesting without end can't be kept."
        raise BadJournal(complaint(f"line {n}", f"{event.kind}: something that is no text", "plain data", hint))
    return body


def _sync_folder(path: str) -> None:
    """Makes a new file's name durable, where the folder lets itself be opened for that."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
