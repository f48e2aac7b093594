"""Whoever begins commands for the tests tells of each what is so of it, and begins it as a shell would."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import started as beginning
from started import started

pytestmark = pytest.mark.slow


@pytest.fixture
def fresh() -> Iterator[None]:
    """Commands are begun by somebody who was begun within the test, and by somebody else after it."""
    _close()
    yield
    _close()


def _close() -> None:
    if beginning._door.cache_info().currsize:
        beginning._door().close()
        beginning._door.cache_clear()


def test_a_late_answer_is_no_answer_to_the_next_question(fresh: None) -> None:
    """Where an answer does not come in time, somebody else answers from then on, and knows of nothing before."""
    with pytest.raises(AssertionError, match="somebody else began it"), started("demo", "--pace=300") as before:
        door = beginning._door()
        os.kill(door.process.pid, signal.SIGSTOP)
        door.way.settimeout(0.1)
        with pytest.raises(TimeoutError):
            before.look()
        assert door.process.poll() is not None
        with started("--help") as after:
            ended = after.end()
    assert (ended.code, ended.err) == (0, "")
    assert "usage" in ended.out.lower()


def test_signals_are_as_a_shell_leaves_them(fresh: None) -> None:
    """Whatever signals the tests ignore or block, a command ignores those alone that Python ignores, and blocks
    none."""
    ignored = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGTSTP})
    try:
        with started("demo", "--pace=300") as process:
            told = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    finally:
        signal.signal(signal.SIGUSR2, ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    of = dict(line.split(":\t") for line in told.splitlines())
    assert int(of["SigBlk"], 16) == 0
    assert int(of["SigIgn"], 16) == sum(1 << one - 1 for one in (signal.SIGPIPE, signal.SIGXFSZ))
