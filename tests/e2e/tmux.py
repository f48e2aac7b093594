"""A terminal that can be looked at: tmux, with a shell in it; a test that can't have one is skipped, and says why.
Where everything is said to be there (CI=true), it fails."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest

PATIENCE = 60.0
"""Seconds until something that is awaited counts as not coming; it takes about one."""
ROOT = Path(__file__).parent.parent.parent
KEYS = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENROUTER_API_KEY", "OPENAI_API_KEY", "TMUX"}


class Screen:
    """A terminal with a shell in it."""

    def __init__(self, folder: str):
        kept = {name: value for name, value in os.environ.items() if name not in KEYS}
        plain = {"HOME": folder, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "OLLAMA_HOST": "127.0.0.1:9"}
        self._environment = {**kept, **plain}
        self._command = ["tmux", "-S", os.path.join(folder, "socket"), "-f", os.path.join(folder, "conf")]
        Path(folder, "conf").write_text("set -g history-limit 50000\n", encoding="utf-8")

    def ask(self, *arguments: str) -> str:
        """What tmux answers."""
        command = [*self._command, *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, encoding="utf-8", timeout=30, env=self._environment
        ).stdout

    def type(self, text: str) -> None:
        """A line, with its end."""
        self.ask("send-keys", "-l", "--", text)
        self.ask("send-keys", "Enter")

    def debate(self, *arguments: str, **environment: str) -> None:
        """Starts the command in the shell."""
        given = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
        self.type(" ".join([*given, sys.executable, "-m", "debate_orchestrator", *map(shlex.quote, arguments)]))

    def press(self, *keys: str) -> None:
        self.ask("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self.ask("resize-window", "-x", str(columns), "-y", str(rows))

    def seen(self) -> list[str]:
        """The lines on the screen."""
        return self.ask("capture-pane", "-p").splitlines()

    def all(self, *, styles: bool = False) -> list[str]:
        """The lines of the whole scroll-back, those whole that the terminal has wrapped; with `styles`, with the codes
        that make them look as they do."""
        return self.ask("capture-pane", "-p", "-J", "-S", "-", *(["-e"] if styles else [])).splitlines()

    def see(self, wanted: Callable[[str], bool] | str, *, still: bool = False) -> str:
        """Looks until something is on the screen, and with `still` until nothing more comes; the screen."""
        end, before = time.monotonic() + PATIENCE, ""
        while True:
            text = "\n".join(self.seen())
            if (wanted in text if isinstance(wanted, str) else wanted(text)) and not (still and text != before):
                return text
            assert time.monotonic() < end, f"{wanted} was not seen in:\n{text}"
            before = text
            time.sleep(0.1)


def awaited(what: str, come: Callable[[], bool]) -> None:
    """Waits until something has come."""
    end = time.monotonic() + PATIENCE
    while not come():
        assert time.monotonic() < end, f"{what} did not come in {PATIENCE:.0f} seconds"
        time.sleep(0.05)


@contextmanager
def screen(columns: int, rows: int, folder: Path) -> Iterator[Screen]:
    """A terminal of that size, in that folder."""
    if shutil.which("tmux") is None:
        missing("tmux is missing")
    shell = f"cd {shlex.quote(str(folder))}; PS1='> ' exec bash --norc --noprofile -i"
    # A socket's path has to be short; what is killed may write on while its folder goes.
    with tempfile.TemporaryDirectory(prefix="debate-", ignore_cleanup_errors=True) as own:
        one = Screen(own)
        try:
            one.ask("new-session", "-d", "-x", str(columns), "-y", str(rows), shell)
        except (subprocess.SubprocessError, OSError) as error:
            missing(f"tmux can't be started here: {error}")
        try:
            one.see(">")
            yield one
        finally:
            with suppress(subprocess.SubprocessError, OSError):  # what has failed before is to be seen
                one.ask("kill-server")


def missing(what: str) -> NoReturn:
    """Skips the test, or fails it where CI=true."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)
