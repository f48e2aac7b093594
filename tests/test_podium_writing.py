"""A terminal to write at: every key does what is said of it, and nothing that was written is left on the screen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest
from persons import BACK, CTRL_C, CTRL_D, ENTER, ERASE, Screen
from podiums import EDIT, F2, F3, HAND_IN, run, standing
from prompt_toolkit.input import create_pipe_input

from debate_orchestrator.podium import writing
from debate_orchestrator.podium.briefing import Line
from debate_orchestrator.podium.lectern import Below, Blank, Elsewhere, Left
from debate_orchestrator.podium.slate import Slate
from debate_orchestrator.podium.writing import Terminal
from debate_orchestrator.util.terminal_text import Back

LONG = Blank(long=True)


def answered(blank: Blank, *keys: str) -> tuple[str, Screen]:
    with standing(*keys) as (terminal, screen):
        return run(terminal.ask(blank)), screen


def test_a_speech_has_lines() -> None:
    """In a speech Enter begins a new line, and Alt-Enter hands it in; it goes on from what is there."""
    assert answered(LONG, "One." + ENTER + ENTER + "Two." + HAND_IN)[0] == "One.\n\nTwo."
    assert answered(LONG._replace(now="One."), " Two." + HAND_IN)[0] == "One. Two."
    assert answered(LONG, "\x1b[200~a\r\nb\x1b[201~" + HAND_IN)[0] == "a\nb"


def test_a_field_is_a_line() -> None:
    """In a field Enter hands it in, and Alt-Enter begins a new line."""
    assert answered(Blank(), "One." + HAND_IN + "Two." + ENTER)[0] == "One.\nTwo."
    assert answered(Blank(now="old"), ERASE + "new" + ENTER)[0] == "new"


@pytest.mark.parametrize(
    ("keys", "error"),
    [("x" + BACK, Back), ("x" + EDIT, Elsewhere), ("x" + CTRL_C, Left), (CTRL_D, Left), ("", Left)],
    ids=("back", "editor", "ctrl-c", "ctrl-d", "gone"),
)
def test_leaving_a_field(keys: str, error: type[Exception]) -> None:
    """A field is left by going back, for an editor, or for good; a terminal that is gone leaves too."""
    with pytest.raises(error):
        answered(Blank(), keys)


def test_what_is_written_is_told() -> None:
    """Whoever wants to know is told of every change, and not of what stood there before."""
    changes: list[str] = []
    answered(Blank(now="a", changed=changes.append), "bc" + ENTER)

    assert changes[-1] == "abc" and "a" not in changes


def test_the_line_below() -> None:
    """The line below is made from what is written; what is too long for it is left out, and never the text itself."""
    seen: list[str] = []

    def below(text: str) -> Below:
        seen.append(text)
        return Below(f"{len(text)} letters", notes=("a note", "x" * 200, "\x1bevil"))

    with standing("ab" + ENTER, columns=60) as (terminal, _):
        run(terminal.ask(Blank(below=below)))
        terminal._blank = Blank(below=below)
        [(_, line)] = terminal._toolbar()  # type: ignore[misc]

    assert "ab" in seen
    assert line.endswith(" letters · a note · ␛evil")


def test_the_question_goes_with_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked stands above what is written; both are taken away when it is handed in."""
    with standing("secret" + ENTER) as (terminal, screen):
        erased: list[bool] = []
        monkeypatch.setattr(terminal._session.app.renderer, "erase", lambda **options: erased.append(True))
        run(terminal.ask(Blank(above=(Line("Winner", True), Line("who won")))))

    assert "Winner" in screen.text and "who won" in screen.text
    assert erased


@pytest.mark.parametrize(("key", "what"), [(F2, "brief"), (F3, "entered")])
def test_looking_something_up(key: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The brief, and what was entered, are a key away while something is written; nothing that is written is lost."""
    paged: list[str] = []
    monkeypatch.setattr(writing, "paged", lambda text: paged.append(text) or True)

    async def looking() -> str:
        with create_pipe_input() as pipe:
            terminal = Terminal(pipe, Screen())
            asking = asyncio.create_task(terminal.ask(Blank(shows={what: lambda: f"The {what}."})))
            pipe.send_text("half" + key)
            while not paged or terminal.elsewhere:
                await asyncio.sleep(0.02)
            pipe.send_text(" whole" + ENTER)
            return await asking

    assert asyncio.run(looking()) == "half whole"
    assert paged == [f"The {what}."]


def test_an_editor_has_the_terminal() -> None:
    """While an editor is open, an interrupt is the editor's."""
    with standing() as (terminal, _):
        seen: list[bool] = []

        async def editing() -> None:
            coming = asyncio.create_task(terminal.edit("sleep", "0.2"))
            await asyncio.sleep(0.05)
            seen.append(terminal.elsewhere)
            await coming
            seen.append(terminal.elsewhere)

        asyncio.run(editing())
    assert seen == [True, False]


def test_the_debate_is_left() -> None:
    """Whoever is asked something when the debate is left is asked no more; where nobody is, nothing happens."""

    async def leaving(ask: Callable[[Terminal], Awaitable[str]]) -> None:
        with create_pipe_input() as pipe:
            terminal = Terminal(pipe, Screen())
            terminal.abandon()
            asking = asyncio.ensure_future(ask(terminal))
            await asyncio.sleep(0.2)
            terminal.abandon()
            with pytest.raises(Left):
                await asking

    asyncio.run(leaving(lambda terminal: terminal.ask(Blank())))


def test_keys_that_are_piped_in_stop_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-Z stops whatever a shell has begun together; where no shell is in front, it is no order, but
    typed like any other key."""
    stopped: list[tuple[int, ...]] = []
    monkeypatch.setattr(os, "kill", lambda *told: stopped.append(told))
    with standing("on\x1ae", HAND_IN) as (terminal, _):
        assert run(terminal.ask(Blank(long=True))) == "on\x1ae"
    assert stopped == []


def test_what_is_told_is_tamed() -> None:
    """Control characters of a speech move nothing; only clearing does."""
    with standing() as (terminal, screen):
        terminal.tell([Line("\x1b[2J\x1b]0;x\x07evil\u202e", True)])
        assert "\x1b" not in screen.text and "␛[2J" in screen.text
        terminal.clear()
        assert "\x1b[3J" in screen.text


def test_which_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no cursor can be moved, lines are asked for."""
    monkeypatch.setenv("TERM", "dumb")
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)

        assert isinstance(writing.here(), Slate)
