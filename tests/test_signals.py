"""An interrupt ends a command without a traceback, keeps what was paid for, and says how to go on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import STATED, Run
from messages_server import Server
from started import started

from debate_orchestrator.core.events import Opened, Spoke
from debate_orchestrator.core.fold import fold
from debate_orchestrator.host import turns_folder
from debate_orchestrator.providers import anthropic
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util import coroutines, signals

J = "r.journal.jsonl"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EACH_SIGNAL = (signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGINT, signal.SIGHUP)))
TALK = ("--topic=T", "--format=conversation", "--a=anthropic:m", "--b=anthropic:m", "--output=r.md")
OPEN = ("open", *TALK, "--position-a=It is so.", "--position-b=It is not so.")
DERIVING = ("--topic=T", "--a=anthropic:m", "--b=anthropic:m", "--judge=anthropic:m", "--no-issues", "--output=r.md")
HOSTED = ("open", "--topic=Tabs", "--a=host", "--b=host", "--judge=anthropic:m", "--no-issues", "--output=r.md")

IN_THE_LOOP = """
import asyncio, os, signal, sys
from asyncio.events import Handle
from debate_orchestrator.util.coroutines import run

async def main():
    loop, waiting = asyncio.get_running_loop(), asyncio.Event()

    async def child():
        await waiting.wait()

    def at_wakeup(frame, event, argument):
        if event == "call" and frame.f_code is Handle._run.__code__ and waiting.is_set():
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGTERM)

    task = asyncio.create_task(child())
    await asyncio.sleep(0)
    loop.call_soon(sys.setprofile, at_wakeup)
    loop.call_soon(waiting.set)
    await task
    await asyncio.sleep(3600)

signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    run(main())
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGTERM) is signal.default_int_handler)
"""

AT_AN_IMPORT = """
import os, signal, sys
from debate_orchestrator.cli import main

class AtImport:
    def find_spec(self, name, *rest):
        if name == "debate_orchestrator.cli.parser":
            try:
                os.kill(os.getpid(), int(sys.argv.pop()))
            except KeyboardInterrupt:
                raise ImportError("as modules written in C do") from None

sys.meta_path.insert(0, AtImport())
sys.argv[1:] = ["formats", sys.argv[1]]
main()
"""

TWO_AT_A_VERB = """
import atexit, os, signal, sys, time
from debate_orchestrator.cli import formats, main
from debate_orchestrator.util.errors import Interrupted

first, second = map(int, sys.argv[1:])

def run(arguments):
    try:
        os.kill(os.getpid(), first)
        time.sleep(60)
    except KeyboardInterrupt:
        os.kill(os.getpid(), second)
        raise Interrupted("all is saved.") from None

formats.run = run
atexit.register(lambda: os.kill(os.getpid(), second))
sys.argv[1:] = ["formats"]
main()
"""


@pytest.fixture
def server(plain_server: Server) -> Server:
    return plain_server


def asked(server: Server, requests: int) -> None:
    """Waits until the server has so many requests."""
    until = time.monotonic() + 60
    while len(server.requests) < requests:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_signal_between_two_callbacks_of_the_loop() -> None:
    """A signal that comes when the loop has taken a task's wake-up and not made it yet cancels the task: raised there
    as an exception, it would leave the task asleep for ever."""
    ran = subprocess.run([sys.executable, "-c", IN_THE_LOOP], capture_output=True, text=True, check=False, timeout=30)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("interrupted True\n", "", 0)


@pytest.mark.parametrize("sign", EACH_SIGNAL)
def test_a_signal_before_a_verb_begins(sign: signal.Signals) -> None:
    """A signal that comes while the program is still being loaded ends it with the exit code of an interrupt."""
    command = [sys.executable, "-c", AT_AN_IMPORT, str(int(sign))]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "debate: interrupted.\n", 130)


@pytest.mark.parametrize("first", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.parametrize("second", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_second_signal_changes_nothing(first: signal.Signals, second: signal.Signals) -> None:
    """One that follows at once, while the first is reported and while Python ends: what is saved is reported, and the
    exit code is that of an interrupt."""
    command = [sys.executable, "-c", TWO_AT_A_VERB, str(int(first)), str(int(second))]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "debate: interrupted; all is saved.\n", 130)


def test_an_interrupt_for_an_editor_is_no_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ctrl-C that is meant for another program cancels nothing, nor does the one after it."""
    monkeypatch.setattr(signals, "_REPEAT_SECONDS", 0.0)
    done, is_in_editor = list[str](), iter((True, True, False))

    def stop() -> bool:
        done.append("stop")
        return not next(is_in_editor)

    async def interrupted() -> None:
        with signals.interrupts_acting(lambda: done.append("cancel"), stop):
            for _ in range(4):
                signal.raise_signal(signal.SIGINT)
                await asyncio.sleep(0)

    coroutines.run(interrupted())
    assert done == ["stop", "stop", "stop", "cancel"]


@pytest.mark.slow
@pytest.mark.parametrize("sign", SIGNALS)
def test_an_interrupt_at_a_step_says_how_to_go_on(sign: signal.Signals, server: Server) -> None:
    """While models speak in `open`, `step` and `resume`, a second Ctrl-C, SIGTERM or SIGHUP ends each at once with the
    command that continues, and the journal is free for it."""
    server.held = 1
    for requests, command in ((1, OPEN), (2, ("step", J)), (3, ("resume", J))):
        with started(*command) as process:
            asked(server, requests)
            process.give_up_calls(sign)
            ended = process.end(within=30)
        assert ended.code == 130 and "Traceback" not in ended.err
        assert f"interrupted; 0 replies saved. Continue with `debate resume {J}`." in ended.err
        server.held = requests + 1
    server.held = 0
    with started("resume", J, "--quiet") as process:
        assert process.end().code == 0


def interrupt_once(server: Server, requests: int, command: tuple[str, ...]) -> str:
    """What a command says that is interrupted once while a call is under way, whose reply then comes."""
    server.held = requests
    with started(*command) as process:
        asked(server, requests)
        process.interrupt()
        server.held = 0
        ended = process.end(within=30)
    assert ended.code == 130 and "Traceback" not in ended.err
    assert len(server.requests) == requests
    return ended.err


def test_one_interrupt_of_a_step_awaits_what_is_paid_for(server: Server) -> None:
    """The first Ctrl-C in `open`, `step` and `resume` makes no further call, and saves the reply under way."""
    for requests, command in ((1, OPEN), (2, ("step", J)), (3, ("resume", J))):
        said = interrupt_once(server, requests, command)
        assert f"{'1 reply' if requests == 1 else f'{requests} replies'} saved. Continue with `debate resume" in said
    with started("resume", J, "--quiet") as process:
        assert process.end().code == 0
    assert [event.turn_id for event in read(J).events if isinstance(event, Spoke)] == [*fold(read(J).events).turns]


@pytest.mark.parametrize("usable", [True, False])
def test_one_interrupt_awaits_the_positions(usable: bool, server: Server) -> None:
    """The first Ctrl-C awaits the positions that a model derives. They are saved; those that can't be used are not
    asked for again."""
    positions = '{"kind": "design", "a": "It is so.", "b": "It is not so."}'
    server.say = lambda request: positions if usable else "No."
    said = interrupt_once(server, 1, ("run", *DERIVING))
    if usable:
        (opened,) = [event for event in read(J).events if isinstance(event, Opened)]
        assert len(opened.moderator_replies) == 1
        assert f"0 replies saved. Continue with `debate resume {J}`." in said
    else:
        assert "1 reply did not give positions." in said and "no debate was opened, and nothing is saved." in said
        assert not Path(J).exists()


@pytest.mark.parametrize("sign", SIGNALS)
def test_positions_that_are_given_up_may_be_billed(sign: signal.Signals, server: Server) -> None:
    """No journal names the call, so the last line does, also with --quiet."""
    server.held = 1
    with started("run", *DERIVING, "--quiet") as process:
        asked(server, 1)
        process.give_up_calls(sign)
        ended = process.end(within=30)
    assert ended.code == 130 and "Traceback" not in ended.err
    assert "no debate was opened, and nothing is saved. 1 call of anthropic:m may have been billed." in ended.err


def test_an_interrupted_wait_says_what_is_saved(here: Path, debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is interrupted while it waits for replies has lost nothing, and says so."""
    assert debate("open", *STATED, "--a=host", "--b=host", "--judge=host", "--output=r.md").code == 0
    # The module's own name is replaced, since another thread may sleep meanwhile.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(turns_folder, "time", clock)
    ran = debate("step", J, "--wait", "9")
    assert ran.code == 130 and "interrupted; every reply that was accepted is saved." in ran.err


@pytest.mark.parametrize("sign", EACH_SIGNAL)
def test_paid_positions_are_kept(
    sign: signal.Signals, server: Server, debate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt that comes after the moderator's answer ends the command once the journal holds it, and says how to
    go on."""
    close = anthropic.Messages.close

    async def interrupted(provider: anthropic.Messages) -> None:
        os.kill(os.getpid(), sign)
        await asyncio.sleep(0)
        await close(provider)

    monkeypatch.setattr(anthropic.Messages, "close", interrupted)
    ran = debate(*HOSTED)
    assert ran.code == 130
    (opened,) = [event for event in read(J).events if isinstance(event, Opened)]
    assert len(opened.moderator_replies) == 1
    assert f"interrupted; 0 replies saved. Continue with `debate resume {J}`." in ran.err
