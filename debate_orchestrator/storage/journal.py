"""A debate's journal: one file with one JSON line for each event, only ever appended to.

A line is `{"n":3,"at":"...","prev":"<hash of line 2>","event":{...},"hash":"<sha256>"}`. The hash is that of the line's
bytes with the `,"hash":"..."` before the last brace taken out, so any language can check it. `prev` chains the lines: a
line can't be changed, moved or removed without every later line showing it.

A line is complete or absent: it is written by one write, and counts only with its newline. What a crash left without a
newline is a torn tail. Readers skip it, and a writer trims it before it appends. Anything else that does not verify is
damage, and is reported instead of repaired.

There is one writer at a time. It holds a lock on the file for as long as it lives; the kernel releases the lock when
the process ends, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple
from weakref import WeakValueDictionary

from pydantic import ValidationError

from debate_orchestrator import __version__
from debate_orchestrator.core.events import EVENT, Event, Opened
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.private_text import without_private
from debate_orchestrator.core.values import NOT_A_LINE
from debate_orchestrator.storage.paths import JOURNAL
from debate_orchestrator.util.data import error_text, followed_file, must_fit, name_of, read_regular, regular_file
from debate_orchestrator.util.errors import (
    BadJournal,
    DamagedJournal,
    JournalWriteError,
    LockedJournal,
    NewerJournal,
    PermanentFailure,
    UnknownEvent,
    short_repr,
)
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.numbers import numbers_of
from debate_orchestrator.util.redact import Redactor, redactor, truncate
from debate_orchestrator.util.sanitize import sanitize

SCHEMA = 1
"""The version of the journal's format."""
_SUFFIX_LENGTH = len(',"hash":""}') + 64
_FIRST_PREV = "0" * 64
"""The `prev` of the first line."""
BEGINNING = b'{"n":1,"at":"'
"""How every journal begins."""
NAME_ONE = f"name a file that ends in {JOURNAL}"
"""What to try where a name is no journal's."""
_AT = re.compile(r"[0-9A-Za-z:.+ -]{1,40}")
"""What says when a line was written: reports show a part of it as it is, so it may hold no markup and no controls."""


class Entry(NamedTuple):
    """One verified line."""

    n: int
    """Its number, from 1."""
    at: str
    """UTC, ISO 8601, to the millisecond."""
    event: Event
    hash: str


class JournalContents(NamedTuple):
    """A journal's complete lines, and the number of bytes that a crash left after them."""

    entries: list[Entry]
    torn: int

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries]


def read(path: str | os.PathLike[str]) -> JournalContents:
    """The journal at `path`.

    Raises BadJournal if the file is not a journal, NewerJournal if a newer version wrote it, UnknownEvent if this one
    can't read an event, and DamagedJournal if a line was changed, is missing, or follows a bad one.
    """
    return parse(str(path), read_bytes(path))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a journal, of which nothing is verified. BadJournal if the file can't be read."""
    try:
        return read_regular(path, follow=True)
    except (OSError, ValueError) as error:
        problem = f"Can't read the journal {name_of(path)} ({error_text(error)})."
        raise BadJournal(problem, hint=NAME_ONE) from None


def begins_like_one(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a journal; False for one that can't be read."""
    try:
        with open(path, "rb", opener=followed_file) as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except (OSError, ValueError):
        return False


def stated_first_hash(path: str | os.PathLike[str]) -> str | None:
    """The hash that the first line of a file states. It is not verified. None for a file that does not begin as a
    journal does. OSError for a file that is larger than a journal may be: strangers may ask for this."""
    with open(path, "rb", opener=followed_file) as file:
        must_fit(file.fileno())
        if file.read(len(BEGINNING)) != BEGINNING:
            return None
        end, newline = b"", b""
        while not newline and (piece := file.read(65_536)):
            line, newline, _ = piece.partition(b"\n")
            end = (end + line)[-_SUFFIX_LENGTH:]
    digest = end[len(',"hash":"') : -len('"}')].decode("latin-1")
    return digest if newline and end == _hash_suffix(digest) else None


def must_be_new(path: str | os.PathLike[str]) -> None:
    """Raises BadJournal if `JournalWriter.create` would refuse `path` because of what is there."""
    try:
        existing = read_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(str(path), error) from None
    _must_be_free(str(path), existing)


def _unwritable(path: str, error: OSError) -> BadJournal:
    hint = "name the file that it points to" if error.errno == errno.ELOOP else ""
    return BadJournal(f"Can't write the journal {name_of(path)} ({error_text(error)}).", hint=hint)


def _must_be_free(path: str, existing: bytes) -> None:
    # An empty file, or the first part of a first line that a crash cut short, holds nothing that could be lost.
    if b"\n" in existing or existing[: len(BEGINNING)] != BEGINNING[: len(existing)]:
        hint = f"`{command('resume', path)}` or `{command('step', path)}` to continue it, or name another output"
        raise BadJournal(f"{name_of(path)} already exists, and a journal is never overwritten.", hint=hint)


def parse(path: str, data: bytes) -> JournalContents:
    """The journal that `data` holds; `path` names it in errors. Raises as `read`."""
    path = name_of(path)
    end = data.rfind(b"\n") + 1
    entries: list[Entry] = []
    for n, line in enumerate(data[:end].split(b"\n")[:-1], start=1):
        entries.append(_entry(path, n, line, entries))
    if not entries:
        raise BadJournal(f"{path} has no complete line, so it holds no debate.", hint="open the debate again")
    if not isinstance(entries[0].event, Opened):
        raise DamagedJournal(f"{path}: line 1 is not the event that opens a debate, but {entries[0].event.kind!r}.")
    return JournalContents(entries, len(data) - end)


def _entry(path: str, n: int, line: bytes, earlier: list[Entry]) -> Entry:
    """The entry that line `n` holds, verified: its own hash, then its place in the chain, then the event."""
    where, prev = f"{path}: line {n}", earlier[-1].hash if earlier else _FIRST_PREV
    body, suffix = line[:-_SUFFIX_LENGTH] + b"}", line[-_SUFFIX_LENGTH:]
    digest = hashlib.sha256(body).hexdigest()
    if suffix != _hash_suffix(digest):
        if n == 1 and not line.startswith(BEGINNING):
            beginning = short_repr(truncate(line.decode("utf-8", "replace"), 40))
            raise BadJournal(f"{path} is not a debate's journal: it begins with {beginning}.")
        raise DamagedJournal(f"{where} was changed: it does not match its hash.", hint="restore it from a copy")
    number, at, before, data = _fields(where, body)
    if number != n or before != prev:
        raise DamagedJournal(
            f"{where} is entry {number} and follows {short_repr(before)}, which is not the line before it: "
            "a line is missing, or lines were moved."
        )
    if n == 1 and isinstance(data, dict) and (version := data.get("schema_version", SCHEMA)) != SCHEMA:
        kind = NewerJournal if type(version) is int and version > SCHEMA else UnknownEvent
        raise kind(f"{path} has journal version {short_repr(version)}, and this program reads version {SCHEMA}.")
    try:
        return Entry(number, at, EVENT.validate_python(data), digest)
    except (ValidationError, RecursionError) as error:
        mistake = _first_mistake(error)
        if isinstance(error, ValidationError) and {item["type"] for item in error.errors()} == {NOT_A_LINE}:
            raise DamagedJournal(f"{where} holds a text that is not allowed in its place{mistake}.") from None
        opened = earlier[0].event.model_dump() if earlier else data
        version = opened.get("version") if isinstance(opened, dict) else None
        kind = NewerJournal if numbers_of(version) > numbers_of(__version__) else UnknownEvent
        raise kind(f"{where} holds an event this version does not know{mistake}.") from None


def _fields(where: str, body: bytes) -> tuple[int, str, str, object]:
    """Number, time, previous hash and event data of a line whose hash is right."""
    try:
        record = json.loads(body.decode(), parse_constant=_reject_constant)
        if b"\\u" in body:
            json.dumps(record, ensure_ascii=False).encode()  # fails for half a surrogate pair, which can't be printed
        number, at, before, data = record["n"], record["at"], record["prev"], record["event"]
        if type(number) is not int or not isinstance(at, str) or not _AT.fullmatch(at):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedJournal(
            f"{where} matches its hash but lacks n, at, prev or event as a journal has them."
        ) from None
    return number, at, before, data


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _first_mistake(error: Exception) -> str:
    """The first thing that is wrong with an event, in brackets."""
    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(key) for key in first["loc"][1:])
    wanted = f"should be {first['msg']}" if first["type"] == NOT_A_LINE else first["msg"]
    return f" ({short_repr(': '.join(filter(None, (place, wanted))), 200)})"


def _hash_suffix(digest: str) -> bytes:
    return b',"hash":"%s"}' % digest.encode()


def now() -> str:
    """The time as lines have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class JournalWriter:
    """The one writer of a journal. Use it in a `with`; leaving it releases the lock.

    It opens no symbolic link: another process could point the link elsewhere between reading and writing.
    """

    entries: list[Entry]
    """Every line, those of earlier writers too."""

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], str] = now):
        """Locks and reads an existing journal. Raises LockedJournal if another writer has it, and as `read`."""
        self._acquire(path, os.O_RDWR, clock)
        with self._closed_on_failure():
            data = self._read_all()
            contents = parse(self.path, data)
        self.entries = contents.entries
        self._size = len(data) - contents.torn
        self._written = self._synced = len(self.entries)

    @classmethod
    def create(cls, path: str | os.PathLike[str], opened: Opened, *, clock: Callable[[], str] = now) -> JournalWriter:
        """Begins a journal.

        Raises BadJournal if a file is there already, unless it is empty or holds no more than the beginning of a
        journal's first line, which a crash left.
        """
        new = cls.__new__(cls)
        new._acquire(path, os.O_RDWR | os.O_CREAT, clock)
        with new._closed_on_failure():
            # Checked under the lock: two processes that create the same journal can't both find it free.
            _must_be_free(str(path), new._read_all())
            try:
                new.append(opened)
            except BaseException:
                new._discard_empty()
                raise
            new.sync()
            sync_folder(os.path.dirname(os.path.abspath(path)))
        return new

    def _acquire(self, path: str | os.PathLike[str], flags: int, clock: Callable[[], str]) -> None:
        self.path, self._clock = str(path), clock
        self.entries = []
        self._size = self._written = self._synced = 0
        self._sync_lost = False
        self._syncing = threading.Lock()
        try:
            self._handle = regular_file(self.path, flags)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        with self._closed_on_failure():
            self._lock()

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            must_fit(self._handle)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        try:
            # flock belongs to the open file, so it ends with this process and is not shared by name.
            take_lock(self._handle)
        except BlockingIOError:
            problem = f"The journal {self._name} is locked, because another process is writing it; nothing was changed."
            raise LockedJournal(problem, hint="wait for the other process, or end it") from None
        except OSError as error:
            problem = f"{self._name} is in a place without file locks ({error.strerror})."
            raise BadJournal(problem, hint="a local file system") from None

    @property
    def _name(self) -> str:
        """The path as messages show it."""
        return name_of(self.path)

    def _read_all(self) -> bytes:
        with open(self._handle, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries]

    def append(self, event: Event) -> Entry:
        """Writes one event after the last complete line; the entry holds it as it was written, without the secrets
        of the environment.

        Raises BadJournal for an event that would not read back as it is, and JournalWriteError if the disk does not
        take it; the journal is then as it was. Raises PermanentFailure if another program changed the file.
        """
        event = event.with_text(partial(self._safe_text, redactor()))
        prev = self.entries[-1].hash if self.entries else _FIRST_PREV
        n, at = len(self.entries) + 1, self._clock()
        body = _line_body(n, at, prev, event)
        digest = hashlib.sha256(body).hexdigest()
        self._write(body[:-1] + _hash_suffix(digest) + b"\n")
        entry = Entry(n, at, event, digest)
        self.entries.append(entry)
        return entry

    def _write(self, line: bytes) -> None:
        """Writes the next line. A journal that is kept elsewhere than in a file has another `_write`."""
        self._check_unchanged()
        self._size = append_line(self._handle, line, self._size, self._name)
        self._written += 1

    def _safe_text(self, redact: Redactor, text: str) -> str:
        """`text` without secrets."""
        kept = redact(text)
        opened = self.entries[0].event if self.entries else None
        # Dropping private working joins what stood on both sides of it, and the two halves may be a secret. Where
        # that happens the joined text is kept, redacted.
        visible = without_private(sanitize(kept), opened.format.private if isinstance(opened, Opened) else "")
        redacted = redact(visible)
        return kept if redacted == visible else redacted

    def _check_unchanged(self) -> None:
        """Fences this writer off from a file that is not as it left it, and trims the tail that a crash left.

        Not every program honours the lock: an editor or a sync tool may have replaced or changed the file. Appending
        then would break the chain, or write to a file that has no name any more.
        """
        status = os.fstat(self._handle)
        if status.st_nlink == 0:
            problem = f"The journal {self._name} was deleted or replaced while it was open."
            raise PermanentFailure(problem, hint="restore it from a copy, and resume that")
        size = status.st_size
        if size < self._size or b"\n" in os.pread(self._handle, size - self._size, self._size):
            problem = f"Another program changed the journal {self._name}: it has {size:,} bytes, not {self._size:,}."
            raise PermanentFailure(problem, hint="`debate check` shows what is left")
        if size > self._size:
            os.ftruncate(self._handle, self._size)

    def _discard_empty(self) -> None:
        """Removes the file where it has no line: it would be taken for the newest debate of its folder. A file that
        another program has put in its place stays."""
        with suppress(OSError):
            if os.path.samestat(os.lstat(self.path), os.fstat(self._handle)) and b"\n" not in self._read_all():
                os.unlink(self.path)

    def sync(self, upto: int | None = None) -> None:
        """Returns when the first `upto` events, or all that were appended, are on the disk.

        Raises PermanentFailure if that fails, and from then on. After a failed sync the kernel may have dropped the
        data and report success the next time, so a second attempt proves nothing.
        """
        with self._syncing:
            written = self._written
            if upto is not None and self._synced >= upto:
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
            self._synced = written

    async def synced(self) -> None:
        """`sync` off the event loop. Tasks that wait while another syncs share the next sync."""
        from debate_orchestrator.util.threads import in_debate_pool  # late: reading a journal needs no asyncio

        written = self._written
        await in_debate_pool(lambda: self.sync(written))

    async def handed_over(self) -> None:
        """Returns when all that was appended outlives this process. Lines of a file do at once."""

    def close(self) -> None:
        """Closes the file, which releases the lock."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _line_body(n: int, at: str, prev: str, event: Event) -> bytes:
    """The bytes of a line without its hash."""
    try:
        data = event.model_dump_json()
        same = _read_back(event, data) == event
    except (ValueError, RecursionError):
        data, same = "", False
    if not same:
        raise BadJournal(
            f"line {n}: the event {event.kind!r} can't be kept: it holds half a surrogate pair, NaN or Infinity, "
            "or is nested too deeply."
        )
    return f'{{"n":{n},"at":{json.dumps(at)},"prev":"{prev}","event":{data}}}'.encode()


_readable: WeakValueDictionary[int, Format] = WeakValueDictionary()
"""Formats that were read back from a line as they are, by their identity. They are most of a first event, and the
debates of a tournament share one."""


def _read_back(event: Event, data: str) -> Event:
    """The event that is read from its JSON. ValueError if none is."""
    if not isinstance(event, Opened):
        return EVENT.validate_json(data)
    if _readable.get(id(event.format)) is event.format:
        rest = json.loads(event.model_dump_json(exclude={"format"}))
        return EVENT.validate_python(rest | {"format": event.format})
    opened = EVENT.validate_json(data)
    if opened == event:
        _readable[id(event.format)] = event.format
    return opened


def append_line(handle: int, line: bytes, size: int, name: str, *, synced: bool = False) -> int:
    """Writes a line at the end of an open file that has this size, and returns the new one; `synced`, the line is then
    on the disk. JournalWriteError, with `name`, if the disk does not take it whole; the file is then as before."""
    try:
        # One write at the known end: a line that is written in part has no newline, and is trimmed.
        if os.pwrite(handle, line, size) != len(line):
            raise OSError(errno.ENOSPC, "no space left for a whole line")
        if synced:
            os.fsync(handle)
    except OSError as error:
        with suppress(OSError):  # the tail has no newline: the next reader skips it, the next writer trims it
            os.ftruncate(handle, size)
        reason = error_text(error)
        problem = f"Can't write to {name} ({reason}); everything before is saved."
        raise JournalWriteError(problem, reason, hint="make room and run the same command again") from None
    return size + len(line)


def take_lock(handle: int, *, shared: bool = False) -> None:
    """Locks an open file for this process, or with `shared` for all that ask so. BlockingIOError if another process has
    it, OSError where the file system has no locks."""
    fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def sync_folder(path: str) -> None:
    """Makes a new file's name durable, if the folder can be opened for that."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
