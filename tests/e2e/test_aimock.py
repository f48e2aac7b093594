"""A whole debate against a server of the Messages API by other authors, in another language."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import puppets
import pytest
import reply_codes
from conftest import Run

from debate_orchestrator.core.events import CallFailed, Spoke
from debate_orchestrator.core.fold import fold
from debate_orchestrator.prompting.reply_code import Code
from debate_orchestrator.storage.journal import read

from .npm import program

pytestmark = pytest.mark.slow

VERSION = "1.43.0"
SETUP = (
    "--topic=T",
    "--position-a=It is so.",
    "--position-b=It is not so.",
    "--no-issues",
    "--no-brief",
    "--rounds=1",
    "--output=r.md",
)


CODE = "BCDFGH"


def _coded(reply: dict[str, Any]) -> str:
    return json.dumps(reply_codes.signed(reply, Code(field="code", end_field="end_code", text=CODE)))


SAID = {
    "# Your task: Opening Statement": "This is what is said, and this is why it is so, and why it matters.",
    "# Your task: Judge Verdict": _coded(puppets.ballot(rounds=1)),
    "# Your task: Final Verdict": _coded(puppets.final()),
    "# Your task: Dissent Record": _coded(puppets.dissent()),
}


@pytest.fixture(autouse=True)
def known_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server says what it was told before the debate, so the code has to be known by then."""
    monkeypatch.setattr("debate_orchestrator.prompting.reply_code._text", lambda *parts: CODE)


@pytest.fixture(scope="module")
def aimock() -> Path:
    """The pinned server; the test is skipped where it can't be had."""
    return program("@copilotkit/aimock", VERSION, "llmock")


@contextmanager
def serving(aimock: Path, folder: Path, *flags: str, **faults: dict[str, Any]) -> Iterator[str]:
    """The server with one answer for each task, told to fail as `faults` say; its address."""
    fixtures = [{"match": {"userMessage": task}, "response": {"content": text}} for task, text in SAID.items()]
    first = (
        [{"match": {"userMessage": "# Your task: Opening Statement", "sequenceIndex": 0}, **faults["first"]}]
        if faults
        else []
    )
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": [*first, *fixtures]}), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(aimock), "-p", str(port), "-f", str(folder / "fixtures.json"), "--log-level", "silent", *flags]
    null = subprocess.DEVNULL
    server = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
    try:
        _wait(server, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait(30)


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/__aimock/journal", timeout=5).read()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server did not start; it ended with {server.poll()}")


def test_a_debate(aimock: Path, debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an address and any key, a debate goes from flags to its report."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-any")
    with serving(aimock, here) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        ran = debate("run", *SETUP)

    assert ran.code == 0, ran.err
    assert "Winner: A (narrow)" in ran.out
    assert fold(read("r.journal.jsonl").events).complete


FAULTS = [
    {"response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
    {"response": {"error": {"message": "overloaded", "type": "overloaded_error"}, "status": 529}},
    {"response": {"content": "This is only half of what"}, "truncateAfterChunks": 2},
    {"response": {"content": "This is only half of what"}, "disconnectAfterMs": 30, "latency": 20},
]


@pytest.mark.parametrize("fault", FAULTS, ids=["429", "529", "truncated", "disconnected"])
def test_a_fault(fault: dict[str, Any], aimock: Path, debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first call that comes to nothing is made again, and no half of a speech is ever taken for one."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-any")
    with serving(aimock, here, first=fault) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        ran = debate("run", *SETUP)
    events = read("r.journal.jsonl").events

    assert ran.code == 0, ran.err
    assert len([event for event in events if isinstance(event, CallFailed)]) == 1
    assert {event.reply.text for event in events if isinstance(event, Spoke)} == {
        SAID["# Your task: Opening Statement"]
    }
