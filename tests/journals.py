"""Makers of small journals, and writers of them that tests start as processes of their own."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from debate_orchestrator.core.events import (
    BriefSent,
    BudgetChanged,
    CallFailed,
    Declined,
    Event,
    Noted,
    Opened,
    Reassigned,
    Rejected,
    RetryForChanged,
    Spoke,
    StructuredReplyGiven,
)
from debate_orchestrator.core.format import Format
from debate_orchestrator.core.phases import AnnouncementTexts, Criterion, ReservedLines, Rubric, Seat, Strictness
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.storage.journal_lines import SCHEMA
from debate_orchestrator.util.errors import PermanentFailure

EARLIER = Path(__file__).parent / "earlier"
"""Journals as an earlier version wrote them."""

START = "0" * 64
"""What the first line of a journal says of the line before it."""

_FORMAT = Format(
    name="small",
    title="Small",
    about="",
    seats={"a": Seat(name="A", tag="A"), "judge": Seat(name="J", tag="J")},
    round=(),
    rubric=Rubric(
        name="small",
        min=1,
        max=10,
        criteria={"wit": Criterion(title="Wit", about="")},
        strictness={"strict": Strictness(about="", judge="", debaters="")},
    ),
    announcements=AnnouncementTexts(round="", intervention="", divergence="", converged_again="", final=""),
    reserved_lines=ReservedLines(concede="c", decline="d"),
)


def opened(**changes: Any) -> Opened:
    """The opening of a debate under the smallest format there can be."""
    cast: dict[str, Any] = changes.pop("cast", {}) | dict.fromkeys(("a", "b", "judge"), ("host",))
    setup = Settings(topic="Tabs?", positions={"a": "Yes.", "b": "No."}, rounds=1, strictness="strict", first="a")
    made: dict[str, Any] = {
        "schema_version": SCHEMA,
        "version": "0",
        "settings": setup,
        "format": _FORMAT,
        "prompts": {},
    }
    made |= {"seed": 1, "nonce": "n"} | changes
    given: Settings = made["settings"]
    positions = {side: given.positions.get(side, "Yes.") for side in made["format"].sides}
    made["settings"] = given.model_copy(update={"positions": positions, "cast": cast})
    return Opened(**made)


def reply_of(text: str) -> Reply:
    """A reply with that text."""
    return Reply(text=text, brief_digest="0" * 64, spec="host")


def every_kind() -> list[Event]:
    """One event of every kind, in several scripts."""
    return [
        opened(),
        BriefSent(turn_id="1.opening.a", brief_digest="0" * 64, spec="host"),
        Spoke(turn_id="1.opening.a", reply=reply_of("Привет, 世界 👩‍🔬\u2028 and\nso on")),
        Declined(turn_id="1.opening.b", reply=reply_of("לא")),
        StructuredReplyGiven(
            turn_id="1.verdict.judge", data={"scores": {"a": 7.5}, "é": [None, True, "\x00"]}, reply=reply_of("{}")
        ),
        Rejected(turn_id="final.verdict.judge", problems=("one", "two"), reply=reply_of("{")),
        CallFailed(turn_id="1.opening.a", spec="x", problem="silence", wait=1.5, reply=reply_of("This is ha")),
        Reassigned(seat="judge", specs=("host",)),
        BudgetChanged(max_cost=0.5),
        RetryForChanged(retry_for=1_800),
        Noted(note="one agent", detail="who"),
    ]


def nth_event(n: int) -> Event:
    """The n-th event of an endless writer: now a short line, now one of many pages."""
    return opened() if n == 0 else Noted(note="one agent", detail=f"{n} " + "ж" * (50_000 if n % 9 == 5 else n % 300))


def write_journal(path: Path, events: Iterable[Event]) -> bytes:
    """The bytes of a new journal at `path` that holds `events`."""
    first, *rest = events
    assert isinstance(first, Opened)
    with JournalWriter.create(path, first) as writer:
        for event in rest:
            writer.append(event)
    return path.read_bytes()


def add_hash(body: bytes) -> bytes:
    """A line with the checksum that belongs to those bytes, made from the format's description alone."""
    return body[:-1] + b',"hash":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


def line(n: Any, prev: str, event: Any) -> bytes:
    """A well-sealed line that says whatever it is told to."""
    record = {"n": n, "at": "2025-01-01T00:00:00.000Z", "prev": prev, "event": event}
    return add_hash(json.dumps(record, separators=(",", ":")).encode())


def chained(events: Iterable[Any]) -> bytes:
    """A journal of these events, as plain data, with right hashes."""
    made, before = b"", START
    for n, event in enumerate(events, start=1):
        made += (sealed := line(n, before, event))
        before = json.loads(sealed)["hash"]
    return made


def line_ends(data: bytes) -> list[int]:
    """The offsets right after each newline."""
    return [found.end() for found in re.finditer(b"\n", data)]


def ten_lines(path: Path) -> bytes:
    """The bytes of a new journal of ten lines."""
    return write_journal(path, [*every_kind(), *(Noted(note="one agent", detail=str(n)) for n in range(3))][:10])


def out_of_place(lines: list[bytes]) -> dict[str, list[bytes]]:
    """What was done to the lines, to the lines after it: one deleted, doubled, or swapped with another."""
    found = {}
    for n in range(len(lines)):
        if n < len(lines) - 1:
            found[f"{n} deleted"] = lines[:n] + lines[n + 1 :]
        found[f"{n} doubled"] = [*lines[: n + 1], *lines[n:]]
        found[f"{n} doubled at the end"] = [*lines, lines[n]]
        for other in range(n + 1, len(lines)):
            swapped = list(lines)
            swapped[n], swapped[other] = lines[other], lines[n]
            found[f"{n} and {other} swapped"] = swapped
    return found


class Recorded(NamedTuple):
    """A finished debate of two rounds, whose seats were all filled by the host."""

    journal: bytes
    report: bytes
    events: list[Event]
    debate: Callable[..., Any]
    """Runs the command line."""

    def after_a_crash(self, name: str, cut: int) -> Path:
        """A folder with the journal's first `cut` bytes."""
        folder = Path(name)
        folder.mkdir()
        (folder / "report.journal.jsonl").write_bytes(self.journal[:cut])
        return folder

    def step(self, folder: Path) -> Any:
        """What a step that has nothing to complain of tells."""
        ran = self.debate("step", f"{folder}/report.journal.jsonl", "--json")
        assert (ran.code, ran.err) == (0, ""), ran.err
        return ran.json

    def same_events(self, folder: Path) -> bool:
        """Whether a journal holds what the recorded one does, in whatever order within a stage."""
        reading = read(folder / "report.journal.jsonl")
        return reading.torn_bytes == 0 and sorted(map(repr, reading.events)) == sorted(map(repr, self.events))


# Writers with a process of their own


def command(*arguments: object) -> list[str]:
    """The command that runs one of the writers below."""
    return [sys.executable, __file__, *(str(one) for one in arguments)]


def wait_for_size(path: Path, beyond: int) -> int:
    """The size of a file once it is more than `beyond`."""
    for _ in range(2_000):
        if path.exists() and path.stat().st_size > beyond:
            return path.stat().st_size
        time.sleep(0.01)
    raise AssertionError(f"{path} did not grow beyond {beyond} bytes")


def killed(folder: str, rounds: str, each: str, seed: str) -> None:
    """Writers that are killed at random moments, every other one amid its work; each leaves a journal."""
    chance = random.Random(seed)
    for n in range(int(rounds)):
        path = Path(folder) / f"{n}.jsonl"
        child = os.fork()
        if child == 0:
            _endless(path, synced=each == "synced")
        if n % 2:
            wait_for_size(path, 3_000)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _endless(path: Path, *, synced: bool) -> None:
    first = nth_event(0)
    assert isinstance(first, Opened)
    writer = JournalWriter.create(path, first)
    for n in range(1, 20_000):
        writer.append(nth_event(n))
        if synced:
            writer.sync()
    os._exit(0)


def filling(folder: str, out: str, how: str) -> None:
    """A writer whose room runs out and is made again; it leaves copies of its journal, and prints what happened."""
    path, ballast = Path(folder) / "j.jsonl", Path(folder) / "ballast"
    if how == "mount":
        ballast.write_bytes(b"x" * 40_000)
        _fill(path, Path(out), ballast.unlink)
        return
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    _fill(path, Path(out), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before))


def _fill(path: Path, out: Path, make_room: Callable[[], None]) -> None:
    events, problems = [opened()], []
    with JournalWriter.create(path, opened()) as writer:
        for n in count():
            event = Noted(note="one agent", detail=f"{n} " + "y" * 2_500)
            try:
                writer.append(event)
            except PermanentFailure as error:
                problems.append(str(error))
                if len(problems) == 2:
                    break
            else:
                events.append(event)
        full = read(path)
        make_room()
        shutil.copy(path, out / "full.jsonl")
        writer.append(Noted(note="one agent", detail="the same writer"))
        writer.sync()
    with JournalWriter(path) as writer:
        writer.append(Noted(note="one agent", detail="a new writer"))
    shutil.copy(path, out / "after.jsonl")
    print(json.dumps({"complaints": problems, "saved": len(events), "whole": full.events == events}))


def fills(how: str, room: Path, out: Path) -> list[str]:
    """The command that fills `room`: a small file system of its own, or a limit on the size of files; empty
    where no file system may be mounted."""
    filler = command("filling", room, out, how)
    if how == "limit":
        return filler
    return private_mount(room, "64k", filler)


def private_mount(room: Path, size: str, wanted: list[str]) -> list[str]:
    """A command that runs another with a small file system of its own at `room`; empty if none may be mounted."""
    script = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
    for unshare in (["unshare", "-m"], ["unshare", "-r", "-m"]):
        private = [*unshare, "sh", "-c", script, str(room)]
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run([*private, "true"], capture_output=True, check=True, timeout=60)
            return [*private, *wanted]
    return []


if __name__ == "__main__":
    {"killed": killed, "filling": filling}[sys.argv[1]](*sys.argv[2:])
