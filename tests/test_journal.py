"""A journal gives back what was written, takes no other file for one, and can be checked without this program."""

from __future__ import annotations

import asyncio
import hashlib
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from corpus import for_each
from hypothesis import example, given
from hypothesis import strategies as st
from journals import START, add_hash, every_kind, line, opened, reply_of, write_journal

from debate_orchestrator import __version__
from debate_orchestrator.core.events import (
    NONCE_PATTERN,
    BriefSent,
    ContextFile,
    Declined,
    Event,
    Noted,
    Opened,
    Rejected,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.storage.journal_lines import SCHEMA
from debate_orchestrator.util.errors import (
    BadJournal,
    DamagedJournal,
    DebateError,
    LockedJournal,
    NewerJournal,
    UnknownEvent,
)

# Round trips

HOSTILE = (
    "\x00\x1b[2J\x7f\x85\u2028\u2029\ufeff\ufffe",
    "\u202eright to left\u2066 שלום",
    "👩‍🔬🏳️‍🌈 \U0010ffff",
    'a seal of its own","hash":"' + "0" * 64 + '"}\n{"n":1}\r\n',
    "\\ud800 \\n \\",
)
TEXTS = st.text(max_size=40) | st.sampled_from(HOSTILE)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
REPLIES = st.builds(
    Reply,
    text=TEXTS,
    brief_digest=TEXTS,
    spec=TEXTS,
    model=st.none() | TEXTS,
    usage=st.none() | st.builds(Usage, uncached_input=st.integers(0, 10**12), output=st.integers(0, 10**12)),
    stop_reason=st.none() | TEXTS,
)
SETTINGS = st.builds(
    Settings,
    topic=TEXTS,
    positions=st.dictionaries(TEXTS, TEXTS, max_size=2),
    rounds=st.integers(1, 8),
    strictness=st.just("strict"),
    first=st.just("a"),
    context=st.lists(TEXTS, max_size=2).map(tuple),
    max_cost=st.none() | st.floats(0, 1e9),
)
OPENINGS = st.builds(
    opened,
    settings=SETTINGS,
    version=TEXTS,
    nonce=st.from_regex(NONCE_PATTERN, fullmatch=True),
    seed=st.integers(0, 2**32),
    cast=st.dictionaries(TEXTS, st.lists(TEXTS, max_size=1).map(tuple), max_size=2),
    prompts=st.dictionaries(TEXTS, TEXTS, max_size=2),
    context=st.lists(st.builds(ContextFile, name=TEXTS, text=TEXTS), max_size=2).map(tuple),
)
REST: st.SearchStrategy[Event] = st.one_of(
    st.builds(BriefSent, turn_id=TEXTS, brief_digest=TEXTS, spec=TEXTS),
    st.builds(Spoke, turn_id=TEXTS, reply=REPLIES),
    st.builds(Declined, turn_id=TEXTS, reply=REPLIES),
    st.builds(StructuredReplyGiven, turn_id=TEXTS, data=st.dictionaries(TEXTS, JSON, max_size=3), reply=REPLIES),
    st.builds(Rejected, turn_id=TEXTS, problems=st.lists(TEXTS, max_size=2).map(tuple), reply=REPLIES),
    st.builds(Noted, note=st.sampled_from(["one agent", "prompts changed"]), detail=TEXTS),
)


@given(OPENINGS, st.lists(REST, max_size=6))
@example(opened(), every_kind()[1:])
def test_what_is_written_is_what_is_read(first: Opened, rest: list[Event]) -> None:
    """Whatever text and numbers events of any kind hold, a reader and the next writer find the same events."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.jsonl"
        with JournalWriter.create(path, first) as writer:
            for event in rest:
                writer.append(event)
        reading = read(path)
        assert (reading.events, reading.torn_bytes) == ([first, *rest], 0)
        assert reading.entries == writer.entries
        with JournalWriter(path) as again:
            assert again.entries == writer.entries


@pytest.mark.parametrize("text", ["\ud800", "half \udfff of a pair", "\udfff\ud800"], ids=ascii)
def test_a_lone_surrogate_is_refused(tmp_path: Path, text: str) -> None:
    """Half of a surrogate pair is not text: it is refused before a byte is written, and the writer goes on."""
    path = tmp_path / "j.jsonl"
    before = write_journal(path, every_kind())
    with JournalWriter(path) as writer:
        for event in (
            lambda: Noted(note="one agent", detail=text),
            lambda: Spoke(turn_id="t", reply=reply_of(text)),
            lambda: StructuredReplyGiven(turn_id="t", data={"deep": [text]}, reply=reply_of("")),
        ):
            with pytest.raises((ValueError, DebateError)):
                writer.append(event())
            assert path.read_bytes() == before
        writer.append(Noted(note="one agent"))
    assert read(path).events == [*every_kind(), Noted(note="one agent")]


# The documented checksum


def test_the_seal_can_be_checked_without_this_program(tmp_path: Path) -> None:
    """The hash of every line, and the chain of lines, follow from the bytes and sha256 alone."""
    data = write_journal(tmp_path / "j.jsonl", every_kind())
    before, key = b"0" * 64, b',"hash":"'
    lines = data.split(b"\n")
    assert lines.pop() == b""
    for n, one in enumerate(lines, start=1):
        hash_at = len(one) - len(key) - 64 - len(b'"}')
        body = one[:hash_at] + b"}"
        digest = hashlib.sha256(body).hexdigest().encode()
        assert one[hash_at:] == key + digest + b'"}'
        head = rb'\{"n":%d,"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","prev":"%s","event":\{' % (n, before)
        assert re.match(head, one)
        before = digest
    assert read(tmp_path / "j.jsonl").entries[-1].hash == before.decode()


# Beginning a journal


def test_a_journal_is_not_begun_twice(tmp_path: Path) -> None:
    """Where a journal is already, a new one is refused, the ways to go on are named, and nothing changes."""
    path = tmp_path / "j.jsonl"
    before = write_journal(path, every_kind())
    with pytest.raises(BadJournal, match=r"debate resume .*debate step ") as refused:
        JournalWriter.create(path, opened())
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before
    with JournalWriter(path):
        pass  # the refusal let go of the lock


@pytest.mark.parametrize(
    ("name", "reason"), [(".", "Is a directory"), ("none/j.jsonl", "No such file"), ("j.jsonl", "No such file")]
)
def test_a_place_that_takes_no_file_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    """A folder, a path in a folder that does not exist, and a missing journal but for a new one, are refused by name
    and make no file."""
    path = tmp_path / name
    new = [] if name == "j.jsonl" else [lambda: JournalWriter.create(path, opened())]
    for attempt in (*new, lambda: JournalWriter(path), lambda: read(path)):
        with pytest.raises(BadJournal, match=f"journal {re.escape(str(path))} .{reason}"):
            attempt()
    assert list(tmp_path.iterdir()) == []


# What is not a journal, or not one of this version


@for_each(
    [
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        b"\x89PNG\x00\xff" * 9,
        b"# Notes\n\nMilk.\n",
        b"Milk, and no newline",
        b'{"topic": "x"}\n',
        b"\n\n{}\n",
    ],
    "data",
)
def test_another_kind_of_file_is_no_journal(tmp_path: Path, data: bytes) -> None:
    """A file that is not the beginning of a journal is refused by readers and writers alike, and left as it was."""
    path = tmp_path / "j.jsonl"
    path.write_bytes(data)
    for attempt in (lambda: read(path), lambda: JournalWriter(path), lambda: JournalWriter.create(path, opened())):
        with pytest.raises(BadJournal) as refused:
            attempt()
        assert not isinstance(refused.value, DamagedJournal | LockedJournal)
    assert path.read_bytes() == data


@for_each([{}, {"settings": "of another form"}, {"mood": "new"}], "more")
def test_a_newer_journal_asks_for_an_upgrade(tmp_path: Path, more: dict[str, Any]) -> None:
    """A well-sealed journal of a later version is not called damaged: the version is named, and what to do."""
    path = tmp_path / "j.jsonl"
    path.write_bytes(line(1, START, opened().model_dump(mode="json") | {"schema_version": SCHEMA + 1} | more))
    for attempt in (lambda: read(path), lambda: JournalWriter(path)):
        with pytest.raises(BadJournal, match=rf"journal version {SCHEMA + 1}, .* version {SCHEMA}.*upgrade") as refused:
            attempt()
        assert not isinstance(refused.value, DamagedJournal)


VERSIONS = [
    *(("999.0", True), (f"{__version__}.1", True)),
    *((version, False) for version in (__version__, "0.0.9", "x", "")),
]
UNKNOWN = ({"kind": "applauded", "turn_id": "t"}, {"kind": "noted", "note": "new"}, {}, 7, None)


@for_each([(event, *version) for event in UNKNOWN for version in VERSIONS], "event", "version", "newer")
def test_an_unknown_event_is_called_newer_where_its_journal_says_so(
    tmp_path: Path, event: object, version: str, newer: bool
) -> None:
    """A well-sealed line with an event this version does not know is named by its number. That a newer version wrote it
    is said only where one opened the journal."""
    path = tmp_path / "j.jsonl"
    path.unlink(missing_ok=True)
    data = write_journal(path, [opened().model_copy(update={"version": version})])
    path.write_bytes(data + line(2, read(path).entries[-1].hash, event))
    with pytest.raises(BadJournal, match=r"line 2 holds an event this version does not know") as refused:
        read(path)
    assert isinstance(refused.value, NewerJournal if newer else UnknownEvent)
    assert ("upgrade" in str(refused.value)) == ("newer" in str(refused.value)) == newer


def test_a_journal_begins_with_its_opening(tmp_path: Path) -> None:
    """A well-sealed file whose first event opens no debate is damaged."""
    path = tmp_path / "j.jsonl"
    path.write_bytes(line(1, START, Noted(note="one agent").model_dump(mode="json")))
    with pytest.raises(DamagedJournal, match=r"line 1 is .* 'noted'"):
        read(path)


@pytest.mark.parametrize("body", [b"[]}", b'{"n":1}', b"{}", b"}", b'"n"}', b"{\xff}", b'{"n":1,}'], ids=ascii)
def test_a_seal_does_not_make_a_line(tmp_path: Path, body: bytes) -> None:
    """A line of another form is damage, even with a checksum that belongs to it."""
    path = tmp_path / "j.jsonl"
    path.write_bytes(write_journal(path, [opened()]) + add_hash(body))
    with pytest.raises(DamagedJournal, match="line 2"):
        read(path)


# One writer


def test_a_second_writer_waits_its_turn(tmp_path: Path) -> None:
    """While one writer lives another is refused, even within one process; readers are not."""
    path = tmp_path / "j.jsonl"
    with JournalWriter.create(path, opened()) as writer:
        for attempt in (lambda: JournalWriter(path), lambda: JournalWriter.create(path, opened())):
            with pytest.raises(LockedJournal, match="another process is writing"):
                attempt()
        writer.append(Noted(note="one agent"))
        assert read(path).events == [opened(), Noted(note="one agent")]
    with JournalWriter(path) as writer:
        assert writer.events == [opened(), Noted(note="one agent")]


def test_an_error_lets_go_of_the_lock(tmp_path: Path) -> None:
    """A writer that is left by an error, or that refused a damaged journal, holds nothing."""
    path = tmp_path / "j.jsonl"
    data = write_journal(path, every_kind())
    with pytest.raises(ZeroDivisionError), JournalWriter(path):
        _ = 1 / 0
    path.write_bytes(b"{" + data)
    with pytest.raises(BadJournal):
        JournalWriter(path)
    path.write_bytes(data)
    with JournalWriter(path) as writer:
        writer.close()
        writer.close()


def test_a_program_that_was_started_does_not_inherit_the_lock(tmp_path: Path) -> None:
    """A command that a writer's process started, and that outlives the writer, keeps no other out."""
    path = tmp_path / "j.jsonl"
    with JournalWriter.create(path, opened()):
        sleeper = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with JournalWriter(path) as writer:
            writer.append(Noted(note="one agent"))
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait(30)


def test_those_who_wait_for_the_disk_all_return(tmp_path: Path) -> None:
    """Any number of tasks may append and wait for the disk together; each returns, and all is written."""

    async def one(writer: JournalWriter, n: int) -> None:
        writer.append(Noted(note="one agent", detail=str(n)))
        await writer.wait_until_synced()

    async def all_of_them(writer: JournalWriter) -> None:
        await asyncio.gather(*(one(writer, n) for n in range(30)))

    with JournalWriter.create(tmp_path / "j.jsonl", opened()) as writer:
        asyncio.run(all_of_them(writer))
    assert [Noted(note="one agent", detail=str(n)) for n in range(30)] == read(tmp_path / "j.jsonl").events[1:]
