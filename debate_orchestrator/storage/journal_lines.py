"""The lines of a journal: how they are made, how they are verified, and the state that they fold into.

A line is `{"n":3,"at":"...","prev":"<hash of line 2>","event":{...},"hash":"<sha256>"}`. The hash is that of the line's
bytes with the `,"hash":"..."` before the last brace taken out, so any language can check it. `prev` chains the lines: a
line can't be changed, moved or removed without every later line showing it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import NamedTuple

from pydantic import ValidationError

from debate_orchestrator import __version__
from debate_orchestrator.core.events import EVENT, Event, Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.core.values import NOT_ONE_LINE
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import (
    BadJournal,
    DamagedJournal,
    DebateError,
    DoesNotFit,
    NewerJournal,
    UnknownEvent,
    short_repr,
)
from debate_orchestrator.util.numbers import numbers_of
from debate_orchestrator.util.redact import redactor

SCHEMA = 2
"""The version of the journal's own format. Version 1 had other names for kinds and fields, and is read too."""
_SUFFIX_LENGTH = len(',"hash":""}') + 64
"""Bytes of the end of a line that states its hash."""
_FIRST_PREV = "0" * 64
BEGINNING = b'{"n":1,"at":"'
_AT = re.compile(r"[0-9A-Za-z:.+ -]{1,40}")
"""The time at which a line was written. Reports show a part of it as it is: it has no markup and no controls."""


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
    torn_bytes: int

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries]


def parse(path: str, data: bytes) -> JournalContents:
    """The journal that `data` holds; `path` names it in errors. Its texts are redacted: it may have been written where
    a secret of this environment was not known. Raises as `journal.read`."""
    path = name_of(path)
    end = data.rfind(b"\n") + 1
    entries: list[Entry] = []
    redact = redactor()
    for n, line in enumerate(data[:end].split(b"\n")[:-1], start=1):
        entry = _entry(path, n, line, entries)
        entries.append(entry._replace(event=entry.event.with_text(redact)))
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
            # Quotes nothing of the file: it may be the wrong file, and this message may be published.
            raise BadJournal(f"{path} is not a debate's journal.")
        raise DamagedJournal(f"{where} was changed: it does not match its hash.", hint="restore it from a copy")
    number, at, before, data = _fields(where, body)
    if number != n or before != prev:
        raise DamagedJournal(
            f"{where} is entry {number} and follows {short_repr(before)}, which is not the line before it: "
            "a line is missing, or lines were moved."
        )
    if n == 1 and isinstance(data, dict) and (version := data.get("schema_version", SCHEMA)) not in (1, SCHEMA):
        kind = NewerJournal if type(version) is int and version > SCHEMA else UnknownEvent
        raise kind(f"{path} has journal version {short_repr(version)}, and this program reads version {SCHEMA}.")
    try:
        return Entry(number, at, _parse_opened(body) if n == 1 else EVENT.validate_python(data), digest)
    except (ValidationError, RecursionError) as error:
        problem = _first_problem(error)
        if isinstance(error, ValidationError) and {item["type"] for item in error.errors()} == {NOT_ONE_LINE}:
            raise DamagedJournal(f"{where} holds a text that is not allowed in its place{problem}.") from None
        opened = earlier[0].event.model_dump() if earlier else data
        version = opened.get("version") if isinstance(opened, dict) else None
        kind = NewerJournal if numbers_of(version) > numbers_of(__version__) else UnknownEvent
        raise kind(f"{where} holds an event this version does not know{problem}.") from None


@lru_cache(maxsize=16)
def _parse_opened(body: bytes) -> Event:
    """The event of a first line. One journal is read many times."""
    data = json.loads(body)["event"]
    if isinstance(data, dict) and "format" in data and "course" not in data:  # not of 0.1, which is renamed as a whole
        with suppress(ValidationError):  # EVENT raises it again, with its place in the event
            data["format"] = _parse_format(json.dumps(data["format"]))
    return EVENT.validate_python(data)


@lru_cache(maxsize=16)
def _parse_format(text: str) -> Format:
    """A format. It takes most of the time of a first line, and all journals of a tournament have the same one."""
    return Format.model_validate(json.loads(text))


def _fields(where: str, body: bytes) -> tuple[int, str, str, object]:
    """Number, time, previous hash and event data of a line whose hash is right."""
    try:
        record = json.loads(body.decode(), parse_constant=_reject_constant)
        if b"\\u" in body:
            json.dumps(record, ensure_ascii=False).encode()  # fails for half a surrogate pair, which can't be printed
        number, at, before, data = record["n"], record["at"], record["prev"], record["event"]
        if type(number) is not int or not isinstance(at, str) or not _AT.fullmatch(at):
            raise TypeError
    except RecursionError:
        raise DamagedJournal(f"{where} matches its hash but is nested too deeply.") from None
    except (ValueError, KeyError, TypeError):
        raise DamagedJournal(
            f"{where} matches its hash but lacks n, at, prev or event as a journal has them."
        ) from None
    return number, at, before, data


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _first_problem(error: Exception) -> str:
    """The first thing that is wrong with an event, in brackets."""
    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(key) for key in first["loc"][1:])
    expected = f"should be {first['msg']}" if first["type"] == NOT_ONE_LINE else first["msg"]
    return f" ({short_repr(': '.join(filter(None, (place, expected))), 200)})"


def _hash_suffix(digest: str) -> bytes:
    return b',"hash":"%s"}' % digest.encode()


def stated_hash(line: bytes) -> str | None:
    """The hash that a line states. It is not verified."""
    digest = line[-_SUFFIX_LENGTH + len(',"hash":"') : -len('"}')].decode("latin-1")
    return digest if line.endswith(_hash_suffix(digest)) else None


def make_line(event: Event, at: str, earlier: Sequence[Entry]) -> tuple[bytes, Entry]:
    """The line of an event, with its newline, and its entry. Raises BadJournal for one that would not read back as it
    is."""
    n, prev = len(earlier) + 1, earlier[-1].hash if earlier else _FIRST_PREV
    body = _line_body(n, at, prev, event)
    digest = hashlib.sha256(body).hexdigest()
    return body[:-1] + _hash_suffix(digest) + b"\n", Entry(n, at, event, digest)


def _line_body(n: int, at: str, prev: str, event: Event) -> bytes:
    try:
        data = event.model_dump_json()
        body = f'{{"n":{n},"at":{json.dumps(at)},"prev":"{prev}","event":{data}}}'.encode()
        reads_back = (_parse_opened(body) if n == 1 else EVENT.validate_json(data)) == event
    except (ValueError, RecursionError):
        body, reads_back = b"", False
    if not reads_back:
        raise BadJournal(
            f"line {n}: the event {event.kind!r} can't be kept: it holds half a surrogate pair, NaN or Infinity, "
            "or is nested too deeply."
        )
    return body


def state_of_events(journal: str, events: Iterable[Event]) -> DebateState:
    """The state after the events of a journal; `journal` is its path. Raises DamagedJournal if they do not fit."""
    with as_damaged_journal(journal):
        return fold(events)


@contextmanager
def as_damaged_journal(journal: str) -> Iterator[None]:
    """Makes a DamagedJournal of what goes wrong while a journal is made into a state or a report. `journal` is its
    path, or empty if that is not known. What was raised is the `__cause__`: it may be an error in this program."""
    name = name_of(journal) if journal else "This journal"
    try:
        yield
    except DoesNotFit as error:
        problem = f"{name} can't be read: it has an event that does not fit. {' '.join(error.problems)}"
        raise DamagedJournal(problem) from error
    except DebateError:
        raise
    except Exception as error:
        kind = type(error).__name__
        problem = f"{name} can't be read: its format is not one that this version can work with ({kind})."
        raise DamagedJournal(problem) from error
