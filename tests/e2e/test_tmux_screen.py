"""The live view in a real terminal: narrow and wide, resized, stopped, left, and under hostile speeches."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import STATED
from messages_server import Server, schema_of, serving

from debate_orchestrator.core import rapporteur, schedule
from debate_orchestrator.core.fold import fold
from debate_orchestrator.storage.journal import read

from .tmux import Screen, awaited, screen

pytestmark = pytest.mark.slow

SETUP = (*STATED, "--output=r.md")
J = "r.journal.jsonl"
PLAIN = {0, 1, 2, 39, 49}
"""Codes of what is bold, dim or as usual."""
HOSTILE = "\x1b[2J\x1b[1;1H\x1b]0;owned\x07\u202eright to left\u202c 日本語の文章。👨‍👩‍👧 **strong** `code`\r\n- item\n"


@pytest.fixture
def server(here: Path) -> Iterator[Server]:
    """A server that writes slowly once both sides write at once, and long speeches whose words are numbered."""

    def say(request: dict[str, Any]) -> str | None:
        count = len(made.requests)
        return None if schema_of(request) else " ".join(f"w{count}n{n}" for n in range(150))

    with serving(Server()) as made:
        made.say = say
        made.between = lambda request: random.choice((0.1, 0.3)) if "# Your task: Challenge" in str(request) else 0.0
        yield made


def reaching(server: Server) -> dict[str, str]:
    """The environment in which the server is Anthropic's."""
    return {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": server.url}


def at_rest(window: Screen) -> None:
    """Looks until the shell waits for the next command, with the terminal as it was."""
    window.see(lambda text: text.rstrip().endswith("\n>"))
    window.type("stty -a | grep -oE ' -?(icanon|echo) '; echo looked")
    window.see("\nlooked\n>")
    shown = [line.strip() for line in window.seen()]
    assert shown[max(n for n, line in enumerate(shown) if line == "looked") - 2 :][:2] == ["icanon", "echo"]


def speeches(journal: str) -> dict[str, str]:
    """Turn id to what was said in it."""
    debate = fold(read(journal).events)
    return {turn.id: debate.reply(turn).text for turn in schedule.turns_taken(debate) if debate.shape(turn) is None}


def test_resized_again_and_again(server: Server, here: Path) -> None:
    """In a narrow terminal the second speech is told to be written while the first is shown; in a wide one both sides
    are seen to write at once. Resized meanwhile, the terminal keeps everything that was printed in its order, and shows
    one status. What was being written may stay besides where the terminal itself moved it before it was redrawn."""
    with screen(80, 30, here) as window:
        window.debate("run", *SETUP, "--rounds", "2", **reaching(server))
        window.see(lambda text: "Challenge — Researcher A" in text and "Researcher B writes" in text)
        assert "Challenge — Researcher B" not in "\n".join(window.seen())
        window.resize(160, 30)
        window.see(lambda text: bool(re.search(r"w\d+n\d+ +│ +w\d+n\d+", text)))
        for columns, rows in ((100, 20), (170, 30), (50, 12), (130, 40)):
            window.see(lambda text: len(re.findall("writes", text)) == 2)
            window.resize(columns, rows)
        window.see(lambda text: sum("─" in line for line in text.splitlines()) == 1)
        server.between = lambda request: 0.0
        window.see("Debate complete.")
        at_rest(window)
        words = " ".join(window.all()).split()
    for speech in speeches(J).values():
        written = speech.split()
        seen = [word for word in words if word in set(written)]
        assert written in [seen[n : n + len(written)] for n in range(len(seen))]


def test_stopped_and_continued(server: Server, here: Path) -> None:
    """Ctrl-Z gives the shell its terminal as it was; in front again, the debate is shown on from where it was. Sent
    behind the shell it goes on without a word, and shows what it missed when it is in front again."""
    with screen(100, 40, here) as window:
        window.debate("run", *SETUP, "--rounds", "2", **reaching(server))
        window.see("Challenge — Researcher A")
        window.press("C-z")
        window.see("Stopped")
        at_rest(window)
        window.type("clear; fg")
        window.see("p pause")

        window.press("C-z")
        window.see("Stopped")
        window.type("clear; bg")
        until = len(server.requests)
        server.between = lambda request: 0.01
        awaited("the next turn, behind the shell", lambda: len(server.requests) > until)
        assert not re.search(r"w\d+n\d", "\n".join(window.seen()))
        window.type("fg")
        window.see(lambda text: "writes" in text and "p pause" in text)
        server.between = lambda request: 0.0
        window.see("Debate complete.")
        at_rest(window)
        words = " ".join(window.all()).split()
    later = [speech for turn, speech in speeches(J).items() if "opening" not in turn]
    assert len(later) > 4
    assert [speech for speech in later if speech.split()[-1] not in words] == []


def test_hostile_speech(server: Server, here: Path) -> None:
    """Whatever a speech holds, it clears nothing, colours nothing, renames nothing and reads from left to right, where
    colours are shown and where none are wanted. Nothing of the status is left at the end."""
    server.say = lambda request: None if schema_of(request) else HOSTILE * 3
    server.between = lambda request: 0.0
    again = [f"--{seat}=replay:{J}" for seat in ("a", "b", "judge")]
    ways: list[tuple[set[int], list[str], dict[str, str]]] = [
        ({31, 33, 35, 36, *PLAIN}, [], reaching(server)),
        (PLAIN, [*again, "--output=plain.md"], {"NO_COLOR": "1"}),
    ]
    with screen(90, 40, here) as window:
        for allowed, others, environment in ways:
            window.type("clear")
            window.see(lambda text: text.strip() == ">")
            window.ask("clear-history")
            window.debate("run", *SETUP, "--rounds", "1", *others, **environment)
            window.see("Debate complete.")
            at_rest(window)
            _tamed(window, allowed)


def _tamed(window: Screen, allowed: set[int]) -> None:
    title = window.ask("display-message", "-p", "#{pane_title}")
    styled, plain = "\n".join(window.all(styles=True)), "\n".join(window.all())
    codes = re.findall(r"\x1b\[([\d;]*)m", styled)
    assert "owned" not in title
    assert "␛[2J␛[1;1H␛]0;owned" in plain and "right to left 日本語の文章。" in plain
    assert "\u202e" not in plain and "─" not in plain
    assert len(codes) == styled.count("\x1b")
    assert {int(code or 0) for part in codes for code in part.split(";")} <= allowed


def test_the_list_of_issues_is_changed_by_its_reader(server: Server, tmp_path: Path) -> None:
    """After the rapporteur's list `c` leads to it; what is changed there is what the sides argue to."""
    server.between = lambda request: 0.0
    with screen(90, 40, tmp_path) as window:
        window.debate("run", *STATED[:3], "--rounds", "1", "--no-brief", "--output", "r.md", **reaching(server))
        window.see("c change the list")
        assert len(server.requests) == 1
        window.press("c")
        window.see("Strike, move or add lines.", still=True)
        window.press("Enter")
        window.ask("send-keys", "-l", "Who is on call?")
        window.press("M-Enter")
        window.see("Debate complete.")
        at_rest(window)
    listed = rapporteur.issue_list(fold(read(str(tmp_path / J)).events))
    assert listed is not None and len(listed.issues) == 9
    assert listed.issues["I9"] == "Who is on call?" and "Who is on call?" in str(server.requests[1:])
