"""A server that ends leaves no thread behind that writes files: reports are whole, and lie where they belong."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import STATED, Run

from debate_orchestrator.engine import debate as engine_debate
from debate_orchestrator.util.messages import ignore
from debate_orchestrator.web import runs as web_runs
from debate_orchestrator.web.guard import Guard
from debate_orchestrator.web.runs import ServedDebate, ServedDebates, consent_already_given


def reporting(monkeypatch: pytest.MonkeyPatch, begun: threading.Event, go: threading.Event) -> list[str]:
    """Writing a report begins, and waits. Returns what will be said of each report that is finished."""
    ended = list[str]()

    def finish(debate: engine_debate.DebateSession) -> None:
        begun.set()
        assert go.wait(60)
        engine_debate.finish(debate)
        ended.append(debate.files.report)

    monkeypatch.setattr(web_runs, "finish", finish)
    return ended


async def ending(runs: ServedDebates, run: ServedDebate, go: threading.Event) -> None:
    """Ends the server, and lets the writing go on once that has cancelled the debate's task, which is given time to
    leave its journal."""
    shutdown = asyncio.ensure_future(runs.shutdown())
    while not run.task.cancelling():
        await asyncio.sleep(0.01)
    await asyncio.wait([run.task], timeout=0.3)
    go.set()
    await shutdown


def test_a_report_that_is_being_written_when_the_server_ends(
    debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends once the report is written, whole, beside its journal, which is open until then."""
    whole_cast = ("--a=rehearse", "--b=rehearse", "--judge=rehearse")
    assert debate("open", *STATED, "--rounds=1", *whole_cast, "--output=r.md").code == 0
    for made in (Path("r.md"), Path("r.html")):
        made.unlink()
    begun, go = threading.Event(), threading.Event()
    ended = reporting(monkeypatch, begun, go)

    async def served() -> None:
        runs = ServedDebates()
        run = runs.start("r.journal.jsonl", consent_already_given)
        while not begun.is_set():
            await asyncio.sleep(0.01)
        await ending(runs, run, go)
        assert ended == ["r.md"], run.problems
        assert not run.problems

    asyncio.run(served())
    assert Path("r.md").stat().st_size and Path("r.html").stat().st_size


def test_a_view_that_the_end_cuts_short_says_so() -> None:
    """Its visitor gets an answer, and the server no error."""
    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    async def cut_short() -> None:
        begun = asyncio.Event()

        async def view(*_: Any) -> None:
            begun.set()
            await asyncio.Event().wait()

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
        answering = asyncio.ensure_future(
            Guard(view, hosts=["localhost"], admit=ignore)(scope, asyncio.Event().wait, send)
        )
        await begun.wait()
        answering.cancel()
        await answering

    asyncio.run(cut_short())
    assert sent[0]["status"] == 503 and b"This server is ending." in sent[1]["body"]


SLOW = """
import sys, threading
from debate_orchestrator.util import coroutines
coroutines.SHUTDOWN_SECONDS, coroutines.EXIT_SECONDS = 0.1, {seconds}
from debate_orchestrator.engine import library

def held(*_):
    print("held", flush=True)
    threading.Event().wait()

def held_in_the_pool(*_):
    coroutines._pool().submit(held)
    threading.Event().wait()

library.render = {work}
from debate_orchestrator.cli import main
main(["serve", "--no-browser", "--port", "0"])
"""
"""A server whose work never ends once it is begun."""
WORK_LEFT = "some work did not end"


@pytest.mark.slow
@pytest.mark.parametrize(("work", "seconds"), [("held", 300), ("held_in_the_pool", 0.3)])
def test_the_process_of_a_server_that_has_ended_is_gone(work: str, seconds: float, debate: Run, here: Path) -> None:
    """Also while a thread makes a page without an end, which is just left, or writes one, which is awaited for some
    time. Whoever asked for the page is told, nothing else is said, and journals are as they were."""
    whole_cast = ("--a=rehearse", "--b=rehearse", "--judge=rehearse")
    assert debate("open", *STATED, "--rounds=1", *whole_cast, "--output=r.md").code == 0
    journal = Path("r.journal.jsonl").read_bytes()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    code = SLOW.format(work=work, seconds=seconds)
    server: subprocess.Popen[str] = subprocess.Popen([sys.executable, "-c", code], **pipes)  # type: ignore[call-overload]
    answers = list[httpx.Response]()
    try:
        assert server.stdout is not None and server.stderr is not None
        address = server.stdout.readline().strip()

        def ask() -> None:
            with suppress(httpx.RemoteProtocolError):  # the server may be gone before it answers
                answers.append(httpx.get(f"{address}debates/r/report", timeout=60))

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        assert server.stdout.readline() == "held\n"
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 130
        asking.join(60)
        said = server.stderr.read()
    finally:
        server.kill()
        server.communicate()
    assert (WORK_LEFT in said) == (work != "held") and "Cancel" not in said and "Traceback" not in said, said
    assert work != "held" or [answer.status_code for answer in answers] == [503]
    assert Path("r.journal.jsonl").read_bytes() == journal
