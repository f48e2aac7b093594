"""People in the seats of a debate, at a real terminal: they write, are killed in the middle, come back, and judge."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import STATED
from messages_server import Server, schema_of, serving

from debate_orchestrator.core import schedule
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.storage.journal import read

from .test_tmux_screen import at_rest, reaching
from .tmux import Screen, awaited, screen

pytestmark = pytest.mark.slow

SETUP = (*STATED, "--output=r.md")
J = "r.journal.jsonl"
PLAIN = {"VISUAL": "", "EDITOR": "", "PAGER": "cat"}
BALLOT = ("7 6", "5 5", "A began well.", "B began well.", "a", "A did better.")
"""Answers of a ballot of one round."""
FINAL = ("a", "A did better all along.", "a", "That it is so.", "It decided.", "Ask again.")
DISSENT = ("It is so.", "Yes.", "No.", "unresolved", "1", "")


@pytest.fixture
def server(here: Path) -> Iterator[Server]:
    """A server whose speeches are of numbered words."""

    def say(request: dict[str, object]) -> str | None:
        return None if schema_of(request) else f"The model says {len(made.requests)}."

    with serving(Server()) as made:
        made.say = say
        yield made


def debate() -> DebateState:
    return fold(read(J).events)


def said(turn: str) -> str:
    one = debate()
    return one.reply(schedule.turn(one, turn)).text


def speak(one: Screen, text: str) -> None:
    """Writes a speech and hands it in."""
    one.see("0 words of about")
    one.ask("send-keys", "-l", text)
    one.press("M-Enter")
    one.see("Enter hands it in; e and Enter continues with it.")
    one.press("Enter")


def fill(one: Screen, *answers: str, first: int = 1) -> None:
    """Fills in a form and hands it in, each answer when its question is there."""
    for n, answer in enumerate(answers, first):
        one.see(lambda text, n=n: bool(re.search(rf"^Question {n}\b", text, re.MULTILINE)))  # type: ignore[misc]
        if answer:
            one.ask("send-keys", "-l", answer)
        one.press("Enter")
    one.see("Enter hands it in, a number changes that answer")
    one.press("Enter")


def take_the_keyboard(one: Screen, who: str) -> None:
    one.see(f"{who}, take the keyboard.")
    one.press("Enter")


def the_process() -> int:
    """The command that runs in the working directory."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"debate_orchestrator" in words and (entry / "cwd").resolve() == Path.cwd().resolve():
                return int(entry.name)
        except (OSError, ValueError):
            continue
    raise AssertionError("it does not run")


def kept(words: str) -> None:
    """Waits until these are in a draft."""

    def stand() -> bool:
        try:
            return any(words in path.read_text(encoding="utf-8") for path in Path("r.drafts").glob("[!.]*"))
        except OSError:  # one is written at this moment, and has moved
            return False

    awaited(f"a draft with {words!r}", stand)


def killed(one: Screen) -> None:
    """Kills the debate, and has it go on in a wider terminal."""
    os.kill(the_process(), signal.SIGKILL)
    one.see("Killed")
    one.resize(120, 40)
    one.type("stty sane; clear")
    one.debate("resume", J, **PLAIN)


def test_a_debate_with_people(here: Path) -> None:
    """One argues, a stand-in answers, another judges; stopped in the middle of a speech and killed in the middle of it
    and of a ballot, they continue with what was written; the report says who sat where, and the terminal is as it
    was."""
    with screen(60, 40, here) as one:
        one.debate("run", *SETUP, "--rounds", "1", "--a", "human", "--b", "rehearse", "--judge", "human", **PLAIN)
        take_the_keyboard(one, "Researcher A")
        one.see("0 words of about 550 (825 at most)")
        one.ask("send-keys", "-l", "Tabs are for")
        one.see("3 words of about 550")
        _stopped_and_continued(one)
        one.see("3 words of about 550")
        one.ask("send-keys", "-l", " everybody, and")
        one.see("5 words of about 550")
        kept("everybody, and")
        killed(one)
        take_the_keyboard(one, "Researcher A")
        one.see("What you had written is here again: 5 words.")
        one.see("5 words of about 550")
        one.ask("send-keys", "-l", " so they are.")
        one.press("M-Enter")
        one.see("8 words.")
        one.press("Enter")
        take_the_keyboard(one, "Judge")
        one.see("Question 1")
        one.type("7 6")
        one.see("Question 2")
        one.ask("send-keys", "-l", "5 5.")
        kept("5 5.")
        killed(one)
        take_the_keyboard(one, "Judge")
        one.see("What you had entered is here again.")
        one.see("> 5 5.")
        fill(one, "25", *BALLOT[2:], first=2)
        fill(one, *FINAL)
        fill(one, *DISSENT)
        one.see("Report written to")
        at_rest(one)
        shown = "\n".join(one.all())
    assert said("1.opening.a") == "Tabs are for everybody, and so they are."
    assert not Path("r.drafts").exists()
    report = " ".join(Path("r.md").read_text(encoding="utf-8").split())
    assert "Researcher A: human;" in report and "Judge: human" in report
    assert "Traceback" not in shown
    assert debate().complete


def _stopped_and_continued(one: Screen) -> None:
    """Ctrl-Z gives the shell its terminal in the middle of a speech."""
    one.press("C-z")
    one.see("Stopped")
    at_rest(one)
    one.type("clear; fg")


def test_two_challenges_at_once(server: Server, here: Path) -> None:
    """A model writes its challenge while a person writes theirs, and neither sees the other's before; the live screen
    shows both afterwards."""
    with screen(160, 40, here) as one:
        one.debate(
            "run", *SETUP, "--rounds", "2", "--a", "human", "--b", "anthropic:m", "--judge", "anthropic:m",
            **PLAIN, **reaching(server),
        )  # fmt: skip
        speak(one, "My opening.")
        one.see("Your task: Challenge")
        one.see("0 words of about 250")
        awaited("the model's challenge", lambda: "1.challenge.b" in debate().replies)
        assert "The model says 2." not in "\n".join(one.all())
        speak(one, "My challenge.")
        one.see("Your task: Rebuttal")
        awaited("the model's rebuttal", lambda: "1.rebuttal.b" in debate().replies)
        one.press("C-c")
        one.see(f"Continue with `debate resume {J}`.")
        at_rest(one)
        text = "\n".join(one.all())
    assert "The model says 2." in text and "The model says 3." not in text
    assert "My challenge." in text and re.search(r"Challenge — Researcher A +│ +Challenge — Researcher B", text)
    assert [turn.id for turn in debate().due] == ["1.rebuttal.a"]


def test_two_people_at_one_terminal(here: Path) -> None:
    """Two people of one stage are asked one after the other, and the second finds no word of the first anywhere, nor
    in what can be scrolled back to; Ctrl-C leaves with the first one's words on record, and exit code 130."""
    with screen(100, 30, here) as one:
        one.debate("run", *SETUP, "--rounds", "2", "--a", "human", "--b", "human", "--judge", "rehearse", **PLAIN)
        take_the_keyboard(one, "Researcher A")
        speak(one, "The opening of A.")
        take_the_keyboard(one, "Researcher B")
        speak(one, "The opening of B.")
        take_the_keyboard(one, "Researcher A")
        speak(one, "A secret challenge.")
        take_the_keyboard(one, "Researcher B")
        one.see("0 words of about 250")
        assert "secret" not in "\n".join(one.all())
        assert "The opening of A." in "\n".join(one.all())
        one.press("C-c")
        one.see(f"Continue with `debate resume {J}`.")
        one.type("echo code $?")
        one.see("code 130")
        assert "secret" not in "\n".join(one.all())
        at_rest(one)
    assert [turn.id for turn in debate().due] == ["1.challenge.b"]
    assert said("1.challenge.a") == "A secret challenge."
