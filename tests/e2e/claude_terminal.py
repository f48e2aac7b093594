"""A user of Claude Code at its terminal, who reads the screen and answers by keys."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .tmux import Screen, screen

COLUMNS, ROWS = 160, 60
SECONDS = 240
"""That a whole session may take; it takes about a tenth of them."""
OPTION = re.compile(r"^[❯ ]+(\d)\. (.+)$", re.MULTILINE)
RULE = re.compile(r"^─{20,}$", re.MULTILINE)
TABS = re.compile(r"^.*[☐☒] .*$", re.MULTILINE)
"""The line over a question: one box for each question of the dialog, ticked once it is answered."""


@dataclass
class Person:
    """The user of one session, and what was put to them."""

    window: Screen
    choices: dict[str, str]
    """How a question ends, to the option to choose, or else to the words to type."""
    approved: list[str] = field(default_factory=list)
    """The beginning of each request for a permission."""
    dialogs: list[list[str]] = field(default_factory=list)
    """The questions of each dialog."""
    _answered: list[str] = field(default_factory=list)

    def say(self, words: str) -> None:
        """Sends a message."""
        self.window.see("? for shortcuts", still=True)
        self.window.ask("send-keys", "-l", "--", words)
        self.window.see(words)
        self.window.press("Enter")

    def attend(self, ending: str) -> None:
        """Answers what is asked until these words are on the screen and the model has come to rest."""
        end = time.monotonic() + SECONDS
        while ending not in (text := "\n".join(self.window.seen())) or "esc to interrupt" in text:
            assert "API Error" not in text, text
            assert time.monotonic() < end, f"{ending} did not come in {SECONDS} seconds:\n{text}"
            if asked := self._dialog():
                self._answer(asked)
            else:
                time.sleep(0.1)

    def leave(self) -> None:
        """Ends the program, which must end with success."""
        self.window.type("/exit")
        self.window.see("ended with 0")

    def _dialog(self) -> str:
        """The dialog on the screen once it is fully drawn; empty if there is none."""
        before = _below_the_rule(self.window)
        time.sleep(0.3)
        now = _below_the_rule(self.window)
        return now if now == before and OPTION.search(now) else ""

    def _answer(self, asked: str) -> None:
        labels = {label.casefold(): number for number, label in OPTION.findall(asked)}
        if "submit answers" in labels:
            self._press(labels["submit answers"], asked)
            self._close()
        elif tabs := TABS.search(asked):
            question, *_ = OPTION.split(asked[tabs.end() :])
            self._answered.append(" ".join(question.replace("│", " ").split()))
            self._choose(labels, asked)
            if "Submit" not in tabs[0]:
                self._close()
        else:
            self.approved.append(" ".join(re.sub("[╌│]", " ", asked).split())[:200])
            self._press(labels["yes"], asked)

    def _choose(self, labels: dict[str, str], asked: str) -> None:
        choice = next(choice for ending, choice in self.choices.items() if self._answered[-1].endswith(ending))
        label = choice.partition(" (")[0]
        if label.casefold() in labels:
            self._press(labels[label.casefold()], asked)
            return
        self._press(labels["type something."], asked)
        self.window.ask("send-keys", "-l", "--", label)
        self.window.see(label)
        self._press("Enter", _below_the_rule(self.window))

    def _close(self) -> None:
        self.dialogs.append(self._answered)
        self._answered = []

    def _press(self, key: str, asked: str) -> None:
        """Presses a key until this dialog changes. One that has just come up may not take a key yet."""
        for _ in range(6):
            self.window.press(key)
            end = time.monotonic() + 5
            while time.monotonic() < end:
                if _below_the_rule(self.window) != asked:
                    return
                time.sleep(0.1)
        raise AssertionError(f"{key} changed nothing in:\n{asked}")


def _below_the_rule(window: Screen) -> str:
    """What is below the first rule across the screen, where the client puts its dialogs."""
    lines = "\n".join(window.seen())
    rule = RULE.search(lines)
    return lines[rule.end() :] if rule else ""


@contextmanager
def at_terminal(
    command: list[str], project: Path, environment: dict[str, str], choices: dict[str, str]
) -> Iterator[Person]:
    """Claude Code in a terminal, past its first start, asking for every permission."""
    home = Path(environment["HOME"])
    known = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [environment["ANTHROPIC_API_KEY"][-20:]], "rejected": []},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(known), encoding="utf-8")
    given = environment | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    settings = [f"{name}={value}" for name, value in given.items()]
    line = shlex.join(["env", "-i", *settings, *command, "--permission-mode", "manual"])
    (home / "start").write_text(f"{line}\necho ended with $?\n", encoding="utf-8")
    with screen(COLUMNS, ROWS, project) as window:
        window.type(f"clear; sh {shlex.quote(str(home / 'start'))}")
        yield Person(window, choices)
