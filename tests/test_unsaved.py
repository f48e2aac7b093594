"""On a full disk no answer that was paid for is lost: it waits in memory for room, and an end says what is lost."""

from __future__ import annotations

import json
import resource
import signal
import time
from pathlib import Path

import pytest
from conftest import STATED
from messages_server import Server
from started import Started, started

from debate_orchestrator.core.events import BriefSent, StructuredReplyGiven
from debate_orchestrator.storage.journal import read

pytestmark = pytest.mark.slow

J = "r.journal.jsonl"
JUDGES = ["1.verdict.judge-1", "1.verdict.judge-2", "1.verdict.judge-3"]
RUN = (
    *("run", *STATED, "--rounds=1", "--output=r.md"),
    *("--a=anthropic:m", "--b=anthropic:m", "--judge=anthropic:m", "--judge=anthropic:n", "--judge=anthropic:o"),
)


@pytest.fixture
def server(plain_server: Server) -> Server:
    plain_server.first_byte, plain_server.whole = 0.01, 0.02
    return plain_server


def limit(process: Started, most: int | None) -> None:
    """Lets a process write files of at most so many bytes; None for any size."""
    hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard if most is None else most, hard))


def full(process: Started, server: Server, requests: int) -> None:
    """Has the disk full for a process once the server has so many requests; then they are answered."""
    until = time.monotonic() + 60
    while len(server.requests) < requests:
        assert time.monotonic() < until and process.look() is None, process.end()
        time.sleep(0.01)
    time.sleep(0.3)  # each `BriefSent` is written
    limit(process, Path(J).stat().st_size)
    server.held = 0


def asked(journal: str = J) -> list[str]:
    """The turns that were asked for, as often as they were."""
    return [event.turn_id for event in read(journal).events if isinstance(event, BriefSent)]


def test_answers_wait_for_room(server: Server) -> None:
    """Answers that come while the disk is full wait, which is reported; with room again they are saved, and the debate
    goes on to its report without asking for anything twice."""
    server.held, server.whole = 5, 0.3
    with started(*RUN, "--quiet") as process:
        full(process, server, 5)
        for turn in JUDGES:
            process.hear(f"{turn}: its reply")
        assert [one for one in read(J).events if isinstance(one, StructuredReplyGiven)] == []
        assert process.look() is None
        limit(process, None)
        ended = process.end()

    assert ended.code == 0, ended.err
    assert "as soon as there is room" in ended.err
    assert len(asked()) == len(set(asked())) == len(server.requests)
    assert read(J).torn_bytes == 0 and Path("r.md").exists()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_gives_up_what_waits_for_room(sign: signal.Signals, server: Server) -> None:
    """A second Ctrl-C ends the wait for room, as one SIGTERM does. Each answer that is lost is named; `resume` asks
    for those alone."""
    server.held, server.whole = 5, 0.3
    with started(*RUN) as process:
        full(process, server, 5)
        for turn in JUDGES:
            process.hear(f"{turn}: its reply")
        process.give_up_calls(sign)
        ended = process.end(within=20)

    assert ended.code == 130
    assert "Traceback" not in ended.err
    for turn in JUDGES:
        assert f"Lost: {turn}: its reply" in ended.err, turn
    saved = f"2 replies saved. Continue with `debate resume {J}`."
    assert f"interrupted; 3 replies lost, as named above. {saved}" in ended.err
    assert read(J).torn_bytes == 0 and asked() == ["1.opening.a", "1.opening.b", *JUDGES]
    with started("resume", J) as process:
        assert process.end().code == 0
    assert sorted({turn for turn in asked() if asked().count(turn) > 1}) == JUDGES


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_step_says_what_is_lost(sign: signal.Signals, server: Server) -> None:
    """A step of a host-run debate whose judges are called waits for room too; a second Ctrl-C or SIGTERM ends it."""
    server.held = 3
    hosted = [one.replace("-a=anthropic:m", "-a=host").replace("--b=anthropic:m", "--b=host") for one in RUN[1:]]
    with started("open", *hosted, "--a=host", "--json") as process:
        output = json.loads(process.end().out)
    for turn in ("1.opening.a", "1.opening.b"):
        assert [one["turn"] for one in output["turns"]] == [turn]
        Path(output["turns"][0]["reply"]).write_text(f"A speech for {turn}.")
        with started("step", J, "--json") as process:
            if turn == "1.opening.a":
                output = json.loads(process.end().out)
                continue
            full(process, server, 3)
            for judge in JUDGES:
                process.hear(f"{judge}: its reply")
            process.give_up_calls(sign)
            ended = process.end(within=20)

    assert ended.code == 130, ended
    assert ended.err.count("Lost: ") == 3
    assert "interrupted; 3 replies lost, as named above. 2 replies saved." in ended.err
    assert read(J).torn_bytes == 0


@pytest.mark.parametrize("ends", [None, signal.SIGINT, signal.SIGTERM])
def test_derived_positions_wait_for_room(server: Server, ends: signal.Signals | None) -> None:
    """Positions that a model derived wait for room for the journal that is to hold them; a second Ctrl-C or SIGTERM
    says that they are lost."""
    server.held = 1
    server.say = lambda request: '{"a": "It is so.", "b": "It is not so."}' if len(server.requests) == 1 else None
    with started("run", "--topic=T", *RUN[4:], "--quiet") as process:
        until = time.monotonic() + 60
        while not server.requests:
            assert time.monotonic() < until
            time.sleep(0.01)
        limit(process, 4_000)
        server.held = 0
        process.hear("the positions that were derived for")
        if ends:
            process.give_up_calls(ends)
        else:
            limit(process, None)
        ended = process.end(within=30)

    assert ("Lost: the positions that were derived" in ended.err, ended.code) == (bool(ends), 130 if ends else 0)
    assert ("no debate was opened, and nothing is saved" in ended.err) == bool(ends)
    assert Path("r.md").exists() is not bool(ends)
    assert "Traceback" not in ended.err
