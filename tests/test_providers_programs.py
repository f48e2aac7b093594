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
from debate_orchestrator.web.public import moderation
from debate_orchestrator.web.public.moderation import ModerationFailed, TopicScreener


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


def test_a_supervisor_that_is_killed_is_not_signalled(signals: list[int]) -> None:
    """Where a program kills its supervisor too, the turn fails as after any signal; nothing is sent to its number."""
    with pytest.raises(TransientError, match="it was ended by signal 9"):
        speak(f"{sys.executable} -c {shlex.quote('import os; os.killpg(0, 9)')}")
    assert signals == []


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
    monkeypatch.setattr(moderation, "MODERATION_SECONDS", 0.5)
    pid = tmp_path / "pid"
    with pytest.raises(ModerationFailed, match="no answer within"):
        screen(f"sh -c {shlex.quote(f'sleep 60 & echo $! > {shlex.quote(str(pid))}; wait')}")

    assert gone(int(pid.read_text(encoding="utf-8")))
