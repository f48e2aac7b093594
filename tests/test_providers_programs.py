"""Programs under their supervisor: what is left of them, and to whom signals go."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_providers_command import ask, gone

from debate_orchestrator.providers import programs
from debate_orchestrator.util.errors import TransientError
from debate_orchestrator.web.public import site
from debate_orchestrator.web.public.site import ModerationFailed, TopicScreener


def screen(command: str) -> str:
    return asyncio.run(TopicScreener(command).reason({"topic": "x"}))


def speak(command: str) -> str:
    return ask(f"command:{command}").text


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The signals that are sent to groups, none of which may have lost its leader to be reaped."""
    sent, killpg = list[int](), os.killpg

    def checked(group: int, number: int) -> None:
        os.waitid(os.P_PID, group, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # ChildProcessError once it is reaped
        sent.append(number)
        killpg(group, number)

    monkeypatch.setattr(os, "killpg", checked)
    return sent


@pytest.mark.parametrize("run", [screen, speak])
def test_no_group_gets_a_signal_whose_number_may_be_free(run: Callable[[str], str], signals: list[int]) -> None:
    """A group is ended before its leader is reaped: afterwards its number may be that of a stranger's group."""
    run("sh -c 'cat > /dev/null; echo So it is.'")
    assert signals


def test_a_program_that_kills_itself_and_its_supervisor() -> None:
    """The turn fails as after any signal."""
    with pytest.raises(TransientError, match="it was ended by signal 9"):
        speak(f"{sys.executable} -c {shlex.quote('import os; os.killpg(0, 9)')}")


def test_what_a_child_prints_later_does_not_count() -> None:
    """All that a program printed until it ended is its output, and nothing that what it left running prints then."""
    heard = list[str]()
    script = (
        "import os, sys, time\n"
        "if os.fork():\n    print('x' * 50_000, flush=True); os._exit(0)\n"
        "time.sleep(0.3)\nwhile True: print('After.', flush=True); time.sleep(0.01)"
    )
    run = asyncio.run(ran([sys.executable, "-c", script], heard))

    assert run.code == 0 and run.stdout.strip(b"x") == b"\n" == "".join(heard).strip("x").encode()
    assert len(run.stdout) == 50_001


ENDS_ITS_SUPERVISOR = """
import os, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
print("Before.", flush=True)
{fork}
os.kill({supervisor}, 9)
time.sleep(0.5)
print("After.", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("fork", "supervisor"),
    [
        ("", "os.getppid()"),
        (
            "supervisor = os.getppid()\nif os.fork(): sys.exit()\nopen(sys.argv[1], 'w').write(str(os.getpid()))",
            "supervisor",
        ),
    ],
    ids=["program", "child"],
)
def test_what_kills_its_supervisor_ends_with_it(tmp_path: Path, fork: str, supervisor: str) -> None:
    """Neither a program that kills its supervisor lives on, nor a child of it; what it prints then does not count."""
    pid, script, heard = tmp_path / "pid", tmp_path / "script.py", list[str]()
    script.write_text(ENDS_ITS_SUPERVISOR.format(fork=fork, supervisor=supervisor), encoding="utf-8")
    words = [sys.executable, str(script), str(pid)]
    run = asyncio.run(ran(words, heard))

    assert gone(int(pid.read_text(encoding="utf-8")))
    assert run.stdout == b"Before.\n" and "".join(heard) == "Before.\n"


async def ran(words: list[str], heard: list[str]) -> programs.ProgramRun:
    run = programs.ProgramRun(heard.append)
    await run.run(words, programs.environment(), b"", 30)
    return run


@pytest.mark.parametrize("run", [screen, speak])
def test_a_child_that_holds_the_output_open_ends(
    run: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program has said all once it has ended: what it left running is waited for a little, and then ended."""
    monkeypatch.setattr(programs, "GRACE_SECONDS", 0.1)
    pid = tmp_path / "pid"
    run(f"sh -c {shlex.quote(f'sleep 60 & echo $! > {shlex.quote(str(pid))}')}")

    assert gone(int(pid.read_text(encoding="utf-8")))


def test_a_screening_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an answer in time the program and its children end, and the debate does not start."""
    monkeypatch.setattr(site, "MODERATION_SECONDS", 0.5)
    pid = tmp_path / "pid"
    with pytest.raises(ModerationFailed, match="no answer within"):
        screen(f"sh -c {shlex.quote(f'sleep 60 & echo $! > {shlex.quote(str(pid))}; wait')}")

    assert gone(int(pid.read_text(encoding="utf-8")))
