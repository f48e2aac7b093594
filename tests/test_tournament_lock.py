"""One process at a time runs a tournament's folder, or changes what is scheduled in it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
import small_tournaments
from conftest import Run
from messages_server import Server
from postgres import Postgres
from started import PATIENCE, started

from debate_orchestrator.tournament import folder

pytestmark = pytest.mark.usefixtures("few_draws")
RUN = ("tournament", "run", "spec.json", "--to", "held", "--no-reports")
RESUME = ("tournament", "resume", "held", "--no-reports")
CLUSTER = ("--cluster", "postgresql://none@127.0.0.1:1/none")
HELD = "Another process runs the tournament in held"


@pytest.fixture
def spec(here: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A spec file of three models and one topic, and the server that answers for the models."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    server.say = small_tournaments.replied
    small_tournaments.write_spec("spec.json", max_cost=5)
    return server


def until_asked(server: Server) -> None:
    until = time.monotonic() + PATIENCE
    while not server.requests:
        assert time.monotonic() < until, "no model was asked"
        time.sleep(0.01)


@pytest.mark.slow
def test_a_second_process_is_refused(debate: Run, spec: Server) -> None:
    """While one process runs a folder, no other runs it, changes its cap or adds a model to it. A process that
    was killed leaves no lock."""
    spec.held = 1
    with started(*RUN) as first:
        until_asked(spec)
        before = Path("held/tournament.json").read_bytes()
        refused = [
            debate(*RUN),
            debate(*RESUME, "--max-cost", "9"),
            debate("tournament", "add", "held", "anthropic:claude-opus-4-1"),
            debate(*RESUME, *CLUSTER),
        ]
        assert first.look() is None
        first.signal(signal.SIGKILL)
        first.end()
    spec.held = 0
    after = debate(*RESUME)

    assert [one.code for one in refused] == [2, 2, 2, 2], [one.err for one in refused]
    assert all(one.err.count(HELD) == 1 and "`debate worker URL`" in one.err for one in refused)
    assert Path("held/tournament.json").read_bytes() == before
    assert after.code == 0 and "6 debates complete" in after.out, after.err


def test_a_run_in_batches_is_refused_too(debate: Run, spec: Server) -> None:
    """The lock of the folder is that of its batches: a second run in batches reads and writes none of them."""
    small_tournaments.tournament(topics=1, rehearse=False)
    with folder.lock("held"):
        ran = debate(*RESUME, "--batch")

    assert ran.code == 2 and HELD in ran.err and not Path("held/batches.jsonl").exists()


@pytest.mark.slow
def test_workers_and_a_process_exclude_each_other(debate: Run, here: Path, postgres_server: Postgres) -> None:
    """While workers run a folder's debates for one process, others may have them run too, and none runs them itself."""
    small_tournaments.write_spec("spec.json")
    url = postgres_server.url(postgres_server.database())
    with started(*RUN, "--rehearse", "--cluster", url) as first:
        first.hear("Workers take the debates")
        with started(*RESUME, "--cluster", url) as second:
            second.hear("Workers take the debates")
            alone = debate(*RESUME)
            added = debate("tournament", "add", "held", "openai:gpt-5.1", "--rehearse")
            worker = debate("worker", url, "--until-done", "--quiet")
            ends = [one.end() for one in (first, second)]

    assert [alone.code, added.code] == [2, 2] and HELD in alone.err and HELD in added.err
    assert worker.code == 0 and [one.code for one in ends] == [0, 0], ends
    assert debate(*RESUME).code == 0


def test_a_lock_that_is_a_link_is_refused(debate: Run, here: Path, outside: Path) -> None:
    """A folder from elsewhere can't have a file made where its lock leads."""
    small_tournaments.tournament(topics=1)
    Path("held/.lock").symlink_to(outside / "made")
    ran = debate(*RESUME)

    assert ran.code == 2 and ".lock is a symbolic link" in ran.err and not (outside / "made").exists()
