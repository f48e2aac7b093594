"""A debate, watched as a person would: in a real terminal, narrow and wide, resized, stopped and left."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from messages_server import Server, schema_of, serving
from wcwidth import wcswidth

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.storage.journal import read

from .tmux import Screen, awaited, screen

SETUP = ("--topic", "Tabs", "--position-a", "Use tabs.", "--position-b", "Use spaces.", "--output", "r.md")
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


def at_rest(one: Screen) -> None:
    """Looks until the shell waits for the next command, with the terminal as it was."""
    one.see(lambda text: text.rstrip().endswith("\n>"))
    one.type("stty -a | grep -oE ' -?(icanon|echo) '; echo looked")
    one.see("\nlooked\n>")
    shown = [line.strip() for line in one.seen()]
    assert shown[max(n for n, line in enumerate(shown) if line == "looked") - 2 :][:2] == ["icanon", "echo"]


def speeches(journal: str = "r.rehearsed.journal.jsonl") -> dict[str, str]:
    """Turn id to what was said in it."""
    debate = DebateState(read(journal).events)
    return {turn.id: debate.reply(turn).text for turn in debate.settled() if debate.shape(turn) is None}


def columns_of(lines: list[str]) -> str:
    """What was said, with columns read one after the other."""
    left, right, made = list[str](), list[str](), list[str]()
    for line in [*lines, ""]:
        if "│" in line:
            one, _, other = line.partition("│")
            left.append(one)
            right.append(other)
        else:
            made += [*left, *right, line]
            left, right = [], []
    return "".join("".join(made).split())


@pytest.mark.parametrize("columns", [40, 160])
def test_a_rehearsal(columns: int, here: Path) -> None:
    """At every width everything that was said is there in its order, no line is too wide, and no status is left."""
    with screen(columns, 30, here) as one:
        one.debate("run", *SETUP, "--rounds", "2", "--rehearse")
        one.see("Debate rehearsed.")
        at_rest(one)
        lines = one.all()

    text, at = columns_of(lines), 0
    for said in speeches().values():
        at = text.index("".join(said.split()), at)
    shown = lines[
        lines.index("--- ROUND 1 OF 2 ---") : next(n for n, line in enumerate(lines) if "Debate rehearsed" in line)
    ]
    assert max(map(wcswidth, shown)) < columns
    assert not any("─" in line for line in lines)
    assert sum("│" in line for line in lines) > 20 or columns < 160


@pytest.mark.parametrize("columns", [40, 160])
def test_the_demo(columns: int, here: Path) -> None:
    """The demo can be skipped through, shows who speaks and the scores, and is left with q."""
    with screen(columns, 40, here) as one:
        one.debate("demo")
        one.see(lambda text: "writes" in text and "any key skips" in text)
        one.press("Space")
        one.see("Opening Statement — Researcher B")
        one.press("Down")
        one.see(lambda text: "Challenge — Researcher A" in text and "writes" in text)
        assert ("Challenge — Researcher B" in "\n".join(one.seen())) == (columns == 160)
        one.press("q")
        one.see("Left before the end.")
        at_rest(one)


def test_resized_again_and_again(server: Server, here: Path) -> None:
    """In a narrow terminal the second speech is told to be written while the first is shown; in a wide one both sides
    are seen to write at once. Resized meanwhile, the terminal keeps everything that was printed, once and in its
    order, and shows one status."""
    with screen(80, 30, here) as one:
        one.debate("run", *SETUP, "--rounds", "2", **reaching(server))
        one.see(lambda text: "Challenge — Researcher A" in text and "Researcher B writes" in text)
        assert "Challenge — Researcher B" not in "\n".join(one.seen())
        one.resize(160, 30)
        one.see(lambda text: bool(re.search(r"w\d+n\d+ +│ +w\d+n\d+", text)))
        for columns, rows in ((100, 20), (170, 30), (50, 12), (130, 40)):
            one.see(lambda text: len(re.findall("writes", text)) == 2)
            one.resize(columns, rows)
        one.see(lambda text: sum("─" in line for line in text.splitlines()) == 1)
        server.between = lambda request: 0.0
        one.see("Debate complete.")
        at_rest(one)
        words = " ".join(one.all()).split()
    for said in speeches(J).values():
        assert [word for word in words if word in set(said.split())] == said.split()


def test_stopped_and_continued(server: Server, here: Path) -> None:
    """Ctrl-Z gives the shell its terminal as it was; in front again, the debate is shown on from where it was. Sent
    behind the shell it goes on without a word, and shows what it missed when it is in front again."""
    with screen(100, 40, here) as one:
        one.debate("run", *SETUP, "--rounds", "2", **reaching(server))
        one.see("Challenge — Researcher A")
        one.press("C-z")
        one.see("Stopped")
        at_rest(one)
        one.type("clear; fg")
        one.see("p pause")

        one.press("C-z")
        one.see("Stopped")
        one.type("clear; bg")
        until = len(server.requests)
        server.between = lambda request: 0.01
        awaited("the next turn, behind the shell", lambda: len(server.requests) > until)
        assert not re.search(r"w\d+n\d", "\n".join(one.seen()))
        one.type("fg")
        one.see(lambda text: "writes" in text and "p pause" in text)
        server.between = lambda request: 0.0
        one.see("Debate complete.")
        at_rest(one)
        words = " ".join(one.all()).split()
    later = [said for turn, said in speeches(J).items() if "opening" not in turn]
    assert len(later) > 4
    assert [said for said in later if said.split()[-1] not in words] == []


def test_hostile_speech(server: Server, here: Path) -> None:
    """Whatever a speech holds, it clears nothing, colours nothing, renames nothing and reads from left to right, where
    colours are shown, where none are wanted, and where there are none."""
    server.say = lambda request: None if schema_of(request) else HOSTILE * 3
    server.between = lambda request: 0.0
    again = [f"--{seat}=replay:{J}" for seat in ("a", "b", "judge")]
    ways: list[tuple[set[int], list[str], dict[str, str]]] = [
        ({31, 33, 35, 36, *PLAIN}, [], reaching(server)),
        (PLAIN, [*again, "--output=plain.md"], {"NO_COLOR": "1"}),
        ({0, 39, 49}, [*again, "--output=dumb.md"], {"TERM": "dumb"}),
    ]
    with screen(90, 40, here) as one:
        for allowed, others, environment in ways:
            one.type("clear")
            one.see(lambda text: text.strip() == ">")
            one.ask("clear-history")
            one.debate("run", *SETUP, "--rounds", "1", *others, **environment)
            one.see("Debate complete.")
            at_rest(one)
            _tamed(one, allowed)


def _tamed(one: Screen, allowed: set[int]) -> None:
    title = one.ask("display-message", "-p", "#{pane_title}")
    styled, plain = "\n".join(one.all(styles=True)), "\n".join(one.all())
    codes = re.findall(r"\x1b\[([\d;]*)m", styled)
    assert "owned" not in title
    assert "␛[2J␛[1;1H␛]0;owned" in plain and "right to left 日本語の文章。" in plain
    assert "\u202e" not in plain
    assert len(codes) == styled.count("\x1b")
    assert {int(code or 0) for one_of in codes for code in one_of.split(";")} <= allowed
