"""The real command, killed at dozens of moments: it resumes, asks for nothing again, and tells the same debate."""

from __future__ import annotations

import random
import re
import signal
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import STATED
from messages_server import Server
from started import started

from debate_orchestrator.core.events import BriefSent, CallFailed, ReplyEvent
from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import DebateError

pytestmark = pytest.mark.slow

J = "r.journal.jsonl"
RUN = ("run", *STATED, "--rounds=1", "--output=r.md")


@pytest.fixture
def server(plain_server: Server) -> Server:
    plain_server.first_byte, plain_server.whole = 0.01, 0.02
    return plain_server


def report_text(report: Path) -> str:
    """A report without what differs between two runs of the same debate: the day, and the count of calls."""
    text = re.sub(r"\*\*Date:\*\* \S+", "", report.read_text(encoding="utf-8"))
    return text.partition("## Calls and Cost")[0]


def test_killed_again_and_again(server: Server, tmp_path: Path) -> None:
    """Debates killed at any moment are finished by `resume`: each crash repeats no more calls than it left under way,
    nothing that was answered is asked for again, and the report is that of a debate that was left alone."""
    debates = crash(tmp_path, 3, 7)
    needed = len(fold(read(tmp_path / "whole" / J).events).replies)

    assert [one.code for one in debates] == [0] * 3
    assert all(one.kills for one in debates)
    assert [one for one in debates if one.again > one.in_flight] == []
    assert len(server.requests) <= needed * 4 + sum(one.in_flight for one in debates)
    assert {report_text(tmp_path / str(n) / "r.md") for n in range(3)} == {report_text(tmp_path / "whole" / "r.md")}


def until(found: int, server: Server) -> None:
    """Waits until the server has so many requests."""
    for _ in range(3_000):
        if len(server.requests) >= found:
            return
        time.sleep(0.01)
    raise AssertionError(f"only {len(server.requests)} requests came")


def test_a_termination_keeps_what_was_streamed(server: Server) -> None:
    """SIGTERM, also right after a Ctrl-C: the process does not wait for the rest of an answer, and says how to go on;
    what had been streamed is on record, and `resume` asks for that turn again."""
    server.between = lambda request: 0.2
    with started(*RUN) as process:
        until(1, server)
        time.sleep(1.5)
        server.between = lambda request: 600.0
        process.interrupt()
        process.signal(signal.SIGTERM)
        ended = process.end()
    (left,) = (event for event in read(J).events if isinstance(event, CallFailed))

    assert ended.code == 130
    assert f"debate resume {J}" in ended.err and "Traceback" not in ended.err
    assert left.maybe_billed and left.reply is not None and left.reply.text.startswith("This is what is said")
    assert (left.reply.cost, left.reply.by_call) == (None, True)
    server.between = lambda request: 0.0
    with started("resume", J) as process:
        assert process.end().code == 0
    assert "1.opening.a" in fold(read(J).events).replies


def test_one_debate_has_one_driver(server: Server) -> None:
    """While a debate runs, `resume` on it is refused, and changes nothing."""
    server.whole = 50.0
    with started(*RUN):
        until(1, server)
        with started("resume", J) as other:
            ended = other.end()

    assert ended.code == 2
    assert "another process is writing" in ended.err
    assert len(server.requests) == 1


BEGIN = (
    "run",
    "--output=r.md",
    *STATED,
    "--rounds=2",
    "--judge=anthropic:m",
    "--judge=anthropic:n",
    "--a=anthropic:m",
    "--b=anthropic:m",
)


class Crashed(NamedTuple):
    """What one debate went through."""

    kills: int
    in_flight: int
    """Calls that were under way at its crashes, summed."""
    again: int
    """Turns that were asked for more often than once."""
    code: int


def run(folder: Path, *arguments: str, seconds: float | None = None) -> int | None:
    """Runs a command; kills it after so many seconds. Its exit code, or None if killed."""
    with started(*arguments, "--quiet", folder=folder) as process:
        if seconds is None:
            return process.end().code
        time.sleep(seconds)
        process.kill()
        code = process.end().code
        return None if code == -signal.SIGKILL else code


def flying(journal: Path) -> int:
    """How many calls a journal leaves under way: `BriefSent` with no answer and no end after them."""
    waiting: set[str] = set()
    try:
        events = read(journal).events
    except DebateError:
        return 0
    for event in events:
        if isinstance(event, BriefSent):
            waiting.add(event.turn_id)
        elif isinstance(event, ReplyEvent | CallFailed):
            waiting.discard(event.turn_id)
    return len(waiting)


def crashed(folder: Path, chance: random.Random, longest: float) -> Crashed:
    """One debate, killed again and again until it is done."""
    folder.mkdir()
    kills = in_flight = 0
    while True:
        begun = (folder / J).exists() and b"\n" in (folder / J).read_bytes()
        seconds = None if kills >= 8 else chance.uniform(0.005, longest)
        code = run(folder, *(("resume", J) if begun else BEGIN), seconds=seconds)
        if code is not None:
            break
        kills += 1
        in_flight += flying(folder / J)
    asked = [event.turn_id for event in read(folder / J).events if isinstance(event, BriefSent)]
    return Crashed(kills, in_flight, len(asked) - len(set(asked)), code)


def crash(root: Path, debates: int, seed: int) -> list[Crashed]:
    """So many debates, in folders by their number; the first one, in `whole`, is left alone, to compare with."""
    chance = random.Random(seed)
    (root / "whole").mkdir()
    with started(*BEGIN, "--quiet", folder=root / "whole") as process:
        begun = time.monotonic()
        assert process.end().code == 0
    longest = 0.4 * (time.monotonic() - begun)
    return [crashed(root / str(n), chance, longest) for n in range(debates)]
