"""The setup conversation in a real terminal: from the first question to a written report, at three widths.

tmux is the terminal. Its screens are kept in the test's folder, to be read by people.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux, the terminal of this test, is not installed"),
    pytest.mark.xdist_group("tmux"),
]

ROOT = Path(__file__).parent.parent.parent
COMMAND = f"{shlex.quote(sys.executable)} -m debate_orchestrator"
_PATIENCE = 60.0
"""Seconds that a screen may take to come; it takes about one."""
ANSWERS = [
    ("What is the debate topic or question?", "Should our team write new services in Rust instead of Go?"),
    ("Is this accurate?", "1"),
    ("Should I assign the two positions", "auto"),
    ("What does Researcher A (Pro) argue?", ""),
    ("What does Researcher B (Con) argue?", " The team should stay with Go."),
    ("Correct?", "yes"),
    ("How many debate rounds?", "1"),
    ("How strict should the judge be?", "strict"),
    ("Where should I save the debate report?", "reports/rust.md"),
    ("Who argues, and who judges?", "rehearse"),
    ("Begin the debate?", "yes"),
]
"""What stands at the end of a screen, and what is typed then."""


class Tmux:
    """A terminal of some size, with a shell in it."""

    def __init__(self, folder: Path, columns: int, rows: int, **environment: str):
        self.folder, self.columns = folder, columns
        self._screens: list[str] = []
        keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENROUTER_API_KEY", "OPENAI_API_KEY", "TMUX")
        kept = {name: value for name, value in os.environ.items() if name not in keys}
        paths = {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}
        self._environment = {**kept, **paths, "OLLAMA_HOST": "127.0.0.1:9", "PS1": "$ ", "LC_ALL": "C.UTF-8"}
        self._socket = str(folder / "socket")
        shell = shlex.join(["env", *(f"{name}={value}" for name, value in environment.items()), "sh"])
        size = ("-x", str(columns), "-y", str(rows))
        self._run("-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder), shell)

    def _run(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        ran = subprocess.run(command, capture_output=True, check=False, env=self._environment, text=True, timeout=30)
        return ran.stdout

    def screen(self) -> str:
        """What is on the screen now."""
        return self._run("capture-pane", "-p").rstrip("\n")

    def wait(self, text: str) -> str:
        """The screen once that text stands on it, whatever its line breaks, and nothing more comes."""
        wanted = re.sub(r"\s", "", text)
        end = time.monotonic() + _PATIENCE
        shown = before = ""
        while wanted not in re.sub(r"\s", "", shown) or shown != before:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} did not come:\n{shown}")
            time.sleep(0.2)
            before, shown = shown, self.screen()
        self._screens.append(shown)
        return shown

    def type(self, text: str) -> None:
        """Types a line and sends it."""
        if text:
            self._run("send-keys", "-l", text)
        self._run("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def resize(self, columns: int) -> None:
        self.columns = columns
        self._run("resize-window", "-x", str(columns))

    def end(self) -> None:
        self._run("kill-server")
        line = "-" * self.columns
        (self.folder / "screens.txt").write_text(f"\n{line}\n".join(self._screens) + "\n", encoding="utf-8")


@pytest.fixture
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Tmux]:
    """A terminal of the size and environment that the test's parameters name."""
    columns, environment = getattr(request, "param", (80, {}))
    made = Tmux(tmp_path, columns, 30, **environment)
    yield made
    made.end()


def answered(terminal: Tmux, upto: int = len(ANSWERS)) -> list[str]:
    """The screens on which each question stood, each with its answer given."""
    screens = []
    for question, answer in ANSWERS[:upto]:
        screens.append(terminal.wait(question))
        terminal.type(answer)
    return screens


PLAIN = {"TERM": "dumb"}
WIDTHS = [(40, {}), (80, {}), (160, {}), (80, {"NO_COLOR": "1"}), (40, PLAIN), (80, PLAIN)]


@pytest.mark.parametrize("terminal", WIDTHS, indirect=True, ids=lambda one: f"{one[0]}{''.join(one[1])}")
def test_from_the_first_question_to_the_report(terminal: Tmux) -> None:
    """Somebody who types `debate` is led through every question to a written report, in any terminal."""
    terminal.type(f"clear; {COMMAND}")
    screens = answered(terminal)
    last = terminal.wait("Report written to reports/rust.rehearsed.md.")

    assert "Traceback" not in last
    assert max(len(line) for screen in screens for line in screen.split("\n")) <= terminal.columns
    assert "23calls,about9min,about$" in "".join("\n".join(screens).split())  # a terminal may break a line in a word
    assert (terminal.folder / "reports" / "rust.rehearsed.md").read_text(encoding="utf-8").startswith("# Debate Report")
    kept = (terminal.folder / "reports" / "rust.answers.yaml").read_text(encoding="utf-8")
    assert "The team should stay with Go." in kept


def test_leaving_and_going_on(terminal: Tmux) -> None:
    """Ctrl-C leaves the shell as it was, names the command, and that command goes on at the same question."""
    terminal.type(COMMAND)
    answered(terminal, 3)
    terminal.wait("What does Researcher A (Pro) argue?")
    terminal.press("C-c")
    terminal.wait("Go on with `debate --answers .debate-setup.yaml`.")
    terminal.type("echo code $?")
    terminal.wait("code 130")
    terminal.type(f"clear; {COMMAND} --answers .debate-setup.yaml")
    shown = terminal.wait("What does Researcher A (Pro) argue?")

    assert "topic: Should our team write new services in Rust instead of Go?" in shown
    assert "> Our team should write new services in Rust instead of Go." in shown


def test_a_window_that_changes(terminal: Tmux) -> None:
    """A window may be made narrower and wider under a question: what is typed stays, and the answer counts."""
    terminal.type(COMMAND)
    terminal.wait("What is the debate topic or question?")
    terminal.press("-l", "Is a window that changes its size a good test of a conversation")
    for columns in (40, 160, 60):
        terminal.resize(columns)
        time.sleep(0.5)
    terminal.type("?")

    assert "a good test of a conversation?" in " ".join(terminal.wait("Is this accurate?").split())


def test_the_line_below_follows_what_is_typed(terminal: Tmux) -> None:
    """Calls, minutes and cost change with a number that is typed, before it is sent."""
    terminal.type(f"clear; {COMMAND}")
    answered(terminal, 6)
    terminal.wait("How many debate rounds?")
    terminal.press("6")
    terminal.wait("with models: 44 calls, about 16 min")
    terminal.press("BSpace", "1")
    shown = terminal.wait("with models: 5 calls, about 3 min")

    assert shown.split("\n")[-1].startswith("with models: 5 calls")


def test_back_by_a_key(terminal: Tmux) -> None:
    """Shift-Tab puts the question before, with the answer that stands, and nothing later is asked again."""
    terminal.type(COMMAND)
    answered(terminal, 9)
    terminal.wait("Who argues, and who judges?")
    terminal.type("rehearse")
    terminal.wait("Begin the debate?")
    for question in ("(Enter: keep)", "> reports/rust.md", "(Enter: strict)", "(Enter: 1)"):
        terminal.press("BTab")
        terminal.wait(question)
    terminal.type("2")
    shown = terminal.wait("Rounds: 2")

    assert shown.index("Rounds: 2") < shown.rindex("Begin the debate?")
