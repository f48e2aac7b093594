"""How a server ends: what it says of replies that can't be saved, what it does on signals, and that it leaves no thread
behind that writes files."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import STATED, Run
from debates import opened_event
from public_server import ask, served_public, start

from debate_orchestrator.core.events import BriefSent, Opened
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.engine import debate as engine_debate
from debate_orchestrator.engine import start as start_module
from debate_orchestrator.engine.debate import create_debate
from debate_orchestrator.storage import journal
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import log
from debate_orchestrator.util.errors import JournalWriteError, Paused, PermanentFailure
from debate_orchestrator.web import runs as web_runs
from debate_orchestrator.web.public.site import public_reasons
from debate_orchestrator.web.runs import ServedDebate, ServedDebates, consent_already_given, error_sentences

J = "r.journal.jsonl"
LOST = "Lost: 1.opening.a: its reply"
WHOLE_CAST = ("--a=rehearse", "--b=rehearse", "--judge=rehearse")
Fail = Callable[[Exception | None], None]


@pytest.fixture
def fail(here: Path, monkeypatch: pytest.MonkeyPatch) -> Fail:
    """A debate of stand-ins is there. The function says how the writing of replies fails from then on."""
    cast = dict.fromkeys(("a", "b", "judge"), ("rehearse",))
    create_debate(opened_event(cast=cast), DebateFiles.of_journal(J)).journal.close()
    failing: list[Exception | None] = [None]
    append = journal.append_line

    def append_line(handle: int, line: bytes, *more: Any) -> int:
        if b'"reply":{' in line and failing[0] is not None:
            raise failing[0]
        return append(handle, line, *more)

    monkeypatch.setattr(journal, "append_line", append_line)
    monkeypatch.setattr(journal, "WRITE_RETRY_SECONDS", 0.01)
    return lambda error: failing.__setitem__(0, error)


async def until(happened: Callable[[], object]) -> None:
    """Waits for something to happen."""
    end = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.005)


def run_of(notices: list[str], explain: Callable[[Exception], list[str]]) -> tuple[ServedDebates, ServedDebate]:
    runs = ServedDebates(explain, notices.append)
    return runs, runs.start(J, consent_already_given)


@pytest.mark.parametrize("explain", [error_sentences, public_reasons])
@pytest.mark.parametrize("room_again", [True, False])
def test_replies_that_wait_for_room(fail: Fail, explain: Any, room_again: bool) -> None:
    """Each reply that waits for room is reported, on the page for as long as it waits. So is each that is saved, or is
    lost when the server ends; those are counted."""
    fail(JournalWriteError("full", "no room"))
    notices: list[str] = []

    async def served() -> int:
        runs, run = run_of(notices, explain)
        await until(lambda: notices)
        assert "can't be saved: no room" in notices[0] and run.problems
        if room_again:
            fail(None)
            await until(lambda: len(notices) > 1)
            assert notices[1].startswith("Saved: 1.opening.a: its reply") and run.problems == []
        await runs.shutdown()
        return runs.lost_count

    assert asyncio.run(served()) == sum(line.startswith(LOST) for line in notices) == (not room_again)


def test_a_journal_that_takes_no_more_names_the_replies_that_are_lost(fail: Fail) -> None:
    """The page of the debate says why it is paused and what is lost, visitors are not told that it is kept, and both
    still count when the server ends."""
    fail(PermanentFailure("The journal is gone."))
    notices: list[str] = []

    async def served(explain: Any) -> str:
        runs, run = run_of(notices, explain)
        await asyncio.wait([run.task])
        await until(lambda: runs.running(J) is None and runs.problems(J))
        assert runs.lost_count == sum(line.startswith("Lost: ") for line in notices) > 0
        return " ".join(runs.problems(J))

    shown = asyncio.run(served(error_sentences))
    assert "The journal is gone." in shown and LOST in shown
    notices.clear()
    assert asyncio.run(served(public_reasons)) == public_reasons(JournalWriteError(""))[0]


DERIVED = (Reply(text="{}", brief_digest="", spec="anthropic:x", by_call=True),)


@pytest.fixture
def deriving(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions are derived, and come once no further call is to be made."""

    async def opening(_: object, *, stop: asyncio.Event) -> Any:
        await stop.wait()
        await asyncio.sleep(0.02)  # the call that is under way
        return opened_event().model_copy(update={"moderator_replies": DERIVED})

    monkeypatch.setattr(start_module, "opened_with_positions", opening)


async def begin(runs: ServedDebates, settings: Settings) -> str:
    """Sends the form of a debate to a server that then ends; the journal."""
    form = asyncio.ensure_future(runs.forms.begin("", lambda: runs.open(settings, rehearse=False)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await runs.shutdown()
    return await form


@pytest.mark.usefixtures("deriving")
def test_positions_are_awaited_when_the_server_ends() -> None:
    """Those of a call that is under way are saved in the journal of their debate, which then waits."""
    runs = ServedDebates(error_sentences, str)
    path = asyncio.run(begin(runs, opened_event().settings))
    first, *more = journal.read(path).events
    assert isinstance(first, Opened) and first.moderator_replies == DERIVED
    assert not any(isinstance(event, BriefSent) for event in more) and runs.lost_count == 0


@pytest.mark.usefixtures("deriving")
def test_positions_that_a_full_disk_loses_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that ends names and counts positions that were derived and could not be saved, and tells the
    sender of the form that nothing was opened. It takes no further form."""

    def full(*_: object) -> int:
        raise JournalWriteError("full", "no room")

    monkeypatch.setattr(journal, "append_line", full)
    monkeypatch.setattr(web_runs, "_LAST_CALLS", 0.05)
    notices: list[str] = []
    runs = ServedDebates(error_sentences, notices.append)
    for _ in range(2):
        with pytest.raises(Paused, match="nothing was opened"):
            asyncio.run(begin(runs, opened_event().settings))
    assert runs.lost_count == 1
    assert sum(line.startswith("Lost: the positions that were derived") for line in notices) == 1
    assert not any(line.startswith("Given up") for line in notices)


# A process of its own

SERVER = """
import asyncio, os, signal, sys
from debate_orchestrator.storage import journal
from debate_orchestrator.util.errors import JournalWriteError
from debate_orchestrator.web.runs import ServedDebates

append, shutdown, how = journal.append_line, ServedDebates.shutdown, sys.argv.pop(1)

def full(handle, line, *more):
    if b'"reply":{' in line:
        raise JournalWriteError("full", "no room")
    return append(handle, line, *more)

async def ended(runs):
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0)
    await shutdown(runs)

if how == "full":
    journal.append_line = full
if how == "twice":
    ServedDebates.shutdown = ended
sys.argv[1:] = ["serve", "--public", "--no-browser", "--port", "0"]
from debate_orchestrator.cli import main
main()
"""
"""A public site that lets stand-ins debate: without room for replies, or with a second Ctrl-C while it
ends."""


class Site:
    """Such a site as a process."""

    def __init__(self, process: subprocess.Popen[str]):
        assert process.stdout is not None
        self.process, self.said = process, list[str]()
        self.port = int(process.stdout.readline().strip().rsplit(":", 1)[1].strip("/"))
        assert asyncio.run(ask(self.port, "/")).status == 200  # it serves, so that signals are the server's

    def hear(self, words: str) -> None:
        """Reads its standard error up to a line with these words."""
        assert self.process.stderr is not None
        while words not in (line := self.process.stderr.readline()):
            assert line, self.said
            self.said.append(line)
        self.said.append(line)

    def end(self, code: int = 130) -> str:
        """All that it said, once it has ended with that code; 130 is that of Ctrl-C."""
        assert self.process.stderr is not None
        assert self.process.wait(60) == code
        return "".join([*self.said, *self.process.stderr.readlines()])


@contextmanager
def process_of(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs this code, and is gone afterwards."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "XDG_STATE_HOME": str(Path("state").resolve())}
    command = [sys.executable, "-c", code, *arguments]
    process: subprocess.Popen[str] = subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def site(how: str) -> Iterator[Site]:
    with process_of(SERVER, how) as process:
        yield Site(process)


def logged(text: str) -> None:
    """Tells of it as of what a library logs."""
    log._Handler().handle(logging.makeLogRecord({"msg": text, "levelno": logging.WARNING}))


ENDING = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def code_of(name: str) -> int:
    """How a server ends on a signal: a service manager takes any exit code for a failure."""
    return 130 if name == "SIGINT" else -signal.Signals[name]


@pytest.mark.parametrize("say", [log.log_line, lambda text: log.log_error(ValueError(text)), logged])
def test_what_is_reported_moves_no_cursor_and_holds_no_secret(
    say: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In whichever way: text of a stranger, or of a server, may be in it; nor does what is left out hide a secret."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-a1b2c3d4e5f6g7h8i9j0")
    say("Red \x1b[31m, back\u202e, and sk-ant-a1b2c3d4\u200be5f6g7h8i9j0.")
    said = capsys.readouterr().err
    assert "Red \u241b[31m, back, and " in said and "e5f6g7h8" not in said
    assert not {"\x1b", "\u202e", "\u200b"} & set(said)


def test_the_last_line_counts_what_is_lost(here: Path) -> None:
    """The last line of a server that a signal ends claims that all is saved only where nothing was lost."""
    with site("full") as served:
        asyncio.run(start(served.port, "Is tea better than coffee?", **{"position.a": "Yes.", "position.b": "No."}))
        served.hear("can't be saved")
        served.process.send_signal(signal.SIGTERM)
        said = served.end(code_of("SIGTERM"))
    lost = said.count("Lost: ")
    assert lost and re.search(
        rf"\ndebate: interrupted; {lost} repl(y|ies) lost, as named above\. Every other .* saved\.\n\Z", said
    ), said


@pytest.mark.slow
@pytest.mark.parametrize(("how", "name"), [("", name) for name in ENDING] + [("twice", "SIGINT")])
def test_a_server_that_ends_says_that_all_is_saved(here: Path, how: str, name: str) -> None:
    """In its last line, whatever signal ends it, also with another Ctrl-C while the debates are ended."""
    with site(how) as served:
        served.process.send_signal(signal.Signals[name])
        said = served.end(code_of(name))
    assert said.endswith("\ndebate: interrupted; every reply that was accepted is saved.\n" if not how else "\n")
    assert said.count("\n") == 2 and "Traceback" not in said, said


MODERATOR = """
import os, pathlib, sys, time
pathlib.Path("asked").write_text(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_no_program_outlives_a_closed_terminal(here: Path) -> None:
    """SIGHUP ends the server in good order, with the program that looks at a topic."""
    Path("moderator.py").write_text(MODERATOR, encoding="utf-8")
    seats = dict.fromkeys(("a", "b", "judge"), "rehearse")
    rules = {"moderation": f"{sys.executable} moderator.py", "offers": {"x": {"cast": seats, "free": True}}}

    def send(port: int) -> None:
        with suppress(AssertionError, OSError, IndexError, asyncio.IncompleteReadError):  # the server ends meanwhile
            asyncio.run(start(port, "Is tea better?", **{"position.a": "Yes.", "position.b": "No."}))

    with served_public(here, rules) as served:
        asking = threading.Thread(target=send, args=(served.port,))
        asking.start()
        asyncio.run(until(lambda: Path("asked").exists() and Path("asked").read_text()))
        served.process.send_signal(signal.SIGHUP)
        assert served.process.wait(60) == -signal.SIGHUP
        asking.join(60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path("asked").read_text()), 0)


# Work in threads


def test_a_report_that_is_being_written_when_the_server_ends(
    debate: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends once the report is written, whole, beside its journal, which is open until then."""
    assert debate("open", *STATED, "--rounds=1", *WHOLE_CAST, "--output=r.md").code == 0
    for made in (Path("r.md"), Path("r.html")):
        made.unlink()
    begun, go, finished = threading.Event(), threading.Event(), list[str]()

    def finish(session: engine_debate.DebateSession) -> None:
        begun.set()
        assert go.wait(60)
        engine_debate.finish(session)
        finished.append(session.files.report)

    async def served() -> None:
        runs = ServedDebates()
        run = runs.start(J, consent_already_given)
        await until(begun.is_set)
        shutdown = asyncio.ensure_future(runs.shutdown())
        await until(run.task.cancelling)
        await asyncio.wait([run.task], timeout=0.3)  # in which it could leave its journal
        go.set()
        await shutdown
        assert (finished, run.problems) == (["r.md"], [])

    monkeypatch.setattr(web_runs, "finish", finish)
    asyncio.run(served())
    assert Path("r.md").stat().st_size and Path("r.html").stat().st_size


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
    assert debate("open", *STATED, "--rounds=1", *WHOLE_CAST, "--output=r.md").code == 0
    journal = Path("r.journal.jsonl").read_bytes()
    answers = list[httpx.Response]()
    with process_of(SLOW.format(work=work, seconds=seconds)) as server:
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
    assert (WORK_LEFT in said) == (work != "held") and "Cancel" not in said and "Traceback" not in said, said
    assert work != "held" or [(answer.status_code, answer.text) for answer in answers] == [
        (503, "This server is ending.\n")
    ]
    assert Path("r.journal.jsonl").read_bytes() == journal
