"""On a full disk no answer that was paid for is lost: it waits in memory for room, and an end says what is lost."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from journals import private_mount
from messages_server import Server
from started import Started, started

from debate_orchestrator.core.events import BriefSent, StructuredReplyGiven
from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read

pytestmark = pytest.mark.slow

J = "r.journal.jsonl"
JUDGES = ["1.verdict.judge-1", "1.verdict.judge-2", "1.verdict.judge-3"]
RUN = (
    *(
        "run",
        "--topic=T",
        "--position-a=It is so.",
        "--position-b=It is not so.",
        "--no-issues",
        "--no-brief",
        "--rounds=1",
        "--output=r.md",
    ),
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
    return [event.turn for event in read(journal).events if isinstance(event, BriefSent)]


def test_answers_wait_for_room(server: Server) -> None:
    """Answers that come while the disk is full wait, which is told; with room again they are saved, and the debate
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
    assert read(J).torn == 0 and Path("r.md").exists()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_gives_up_what_waits_for_room(sign: signal.Signals, server: Server) -> None:
    """One interrupt ends the wait for room, and names each answer that is lost; `resume` asks for those alone."""
    server.held, server.whole = 5, 0.3
    with started(*RUN) as process:
        full(process, server, 5)
        for turn in JUDGES:
            process.hear(f"{turn}: its reply")
        process.signal(sign)
        ended = process.end(within=20)

    assert ended.code == 130
    assert "Traceback" not in ended.err
    for turn in JUDGES:
        assert f"Lost: {turn}: its reply" in ended.err, turn
    assert f"interrupted; 3 replies lost, as named above. 2 replies saved. Go on with `debate resume {J}`." in ended.err
    assert read(J).torn == 0 and asked() == ["1.opening.a", "1.opening.b", *JUDGES]
    with started("resume", J) as process:
        assert process.end().code == 0
    assert sorted({turn for turn in asked() if asked().count(turn) > 1}) == JUDGES


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_the_last_line_claims_nothing_of_a_journal_that_is_gone(server: Server, how: str) -> None:
    """Where the journal was deleted, moved or replaced while the debate ran, an interrupt says that it is gone, and
    counts no reply as saved in it."""
    server.held = 2
    with started(*RUN) as process:
        until = time.monotonic() + 60
        while len(server.requests) < 2:
            assert time.monotonic() < until
            time.sleep(0.01)
        Path(J).rename("elsewhere.jsonl") if how == "moved" else Path(J).unlink()
        if how == "replaced":
            Path(J).write_text("Another file.", encoding="utf-8")
        process.signal(signal.SIGTERM)
        ended = process.end(within=20)

    assert ended.code == 130 and "Traceback" not in ended.err
    last = ended.err.splitlines()[-1]
    assert last.startswith("debate: interrupted; "), ended.err
    assert " saved." not in last and "he journal is gone: it was deleted, moved or replaced" in last, last
    assert last.endswith(f"Put it back, or a copy of it, then go on with `debate resume {J}`."), last


def test_a_step_says_what_is_lost(server: Server) -> None:
    """A step of a host-run debate whose judges are called waits for room too, and ends well when it is told to."""
    server.held = 3
    hosted = [one.replace("-a=anthropic:m", "-a=host").replace("--b=anthropic:m", "--b=host") for one in RUN[1:]]
    with started("open", *hosted, "--a=host", "--json") as process:
        told = json.loads(process.end().out)
    for turn in ("1.opening.a", "1.opening.b"):
        assert [one["turn"] for one in told["turns"]] == [turn]
        Path(told["turns"][0]["reply"]).write_text(f"A speech for {turn}.")
        with started("step", J, "--json") as process:
            if turn == "1.opening.a":
                told = json.loads(process.end().out)
                continue
            full(process, server, 3)
            for judge in JUDGES:
                process.hear(f"{judge}: its reply")
            process.signal(signal.SIGTERM)
            ended = process.end(within=20)

    assert ended.code == 130, ended
    assert ended.err.count("Lost: ") == 3
    assert "interrupted; 3 replies lost, as named above. 2 replies saved." in ended.err
    assert read(J).torn == 0


@pytest.mark.parametrize("how", ["limit", "mount"])
def test_full_at_every_write(tmp_path: Path, how: str) -> None:
    """Wherever in a debate the disk is full, each answer that was received is on record in the end, whole and once, and
    no seat was asked twice."""
    script = [sys.executable, str(Path(__file__).with_name("full_disk.py")), how, str(tmp_path)]
    if how == "mount" and not (script := private_mount(tmp_path, "600k", script)):
        pytest.skip("no file system may be mounted here")
    ran = subprocess.run(script, capture_output=True, text=True, check=False, timeout=200)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)

    assert len(told) >= 10
    assert [one for one in told if not (one["complete"] and one["once"] and one["torn"] == 0)] == []
    assert [one for one in told if one["never_asked"]] == [], "where no call was made, nothing waits"
    assert sum(one["waited"] > 1 for one in told) > 2, "several answers of a stage waited at once"


def test_nine_answers_of_nine(tmp_path: Path) -> None:
    """Nine judges are asked at once and all answer while there is room for a few: all nine ballots are kept."""
    script = [sys.executable, str(Path(__file__).with_name("full_disk.py")), "nine", str(tmp_path)]
    ran = subprocess.run(script, capture_output=True, text=True, check=False, timeout=200)
    assert ran.returncode == 0, ran.stderr
    events = read(tmp_path / "nine.jsonl").events

    assert (
        len({one.turn for one in events if isinstance(one, StructuredReplyGiven) and one.turn.startswith("1.verdict")})
        == 9
    )
    assert json.loads(ran.stdout)["waited"] >= 6
    assert fold(events).complete


@pytest.mark.parametrize("ends", [False, True])
def test_derived_positions_wait_for_room(server: Server, ends: bool) -> None:
    """Positions that a model derived wait for room for the journal that is to hold them; an interrupt says that they
    are lost."""
    server.held = 1
    server.say = lambda request: '{"a": "It is so.", "b": "It is not so."}' if len(server.requests) == 1 else None
    with started("run", "--topic=T", *RUN[4:], "--quiet") as process:
        until = time.monotonic() + 60
        while not server.requests:
            assert time.monotonic() < until
            time.sleep(0.01)
        limit(process, 4_000)
        server.held = 0
        process.hear("the positions that were derived can't be saved")
        if ends:
            process.signal(signal.SIGTERM)
        else:
            limit(process, None)
        ended = process.end(within=30)

    assert ("Lost: the positions that were derived" in ended.err, ended.code) == (ends, 130 if ends else 0)
    assert (
        "1 reply lost, as named above. No debate was opened" in ended.err
    ) == ends and "accepted is saved" not in ended.err
    assert Path("r.md").exists() is not ends
    assert "Traceback" not in ended.err
