"""Keys are read one by one without an echo, and the terminal is given back as it was."""

from __future__ import annotations

import asyncio
import os
import pty
import termios
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.screen import keys
from debate_orchestrator.screen.keys import Keyboard, in_front, typed


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """Both ends of a terminal that counts as ours."""
    monkeypatch.setattr(keys, "in_front", os.isatty)
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


def echoes(end: int) -> bool:
    return bool(termios.tcgetattr(end)[3] & termios.ECHO)


@pytest.mark.parametrize(
    ("data", "pressed"),
    [
        (b"p", ["p"]),
        (b"pr", ["p", "r"]),
        (b"\x1b[A", ["\x1b[A"]),
        (b"\x1bOPq", ["\x1bOP", "q"]),
        (b"\x1b[1;5Cq", ["\x1b[1;5C", "q"]),
        (b"\x1b", ["\x1b"]),
        ("é日".encode(), ["é", "日"]),
        (b"\xff\xfe", []),
    ],
)
def test_keys(data: bytes, pressed: list[str]) -> None:
    """A letter is one key, and so is everything that an arrow or a function key sends; no letter of it counts."""
    assert typed(data) == pressed


@given(st.binary(max_size=40))
def test_whatever_is_typed(data: bytes) -> None:
    """Nothing that can be typed is too odd to be told."""
    assert "".join(typed(data)) == data.decode("utf-8", "ignore")


def test_keys_are_read(terminal: tuple[int, int]) -> None:
    """While it is taken, keys come one by one and unechoed; afterwards the terminal is as it was before."""
    master, slave = terminal
    before, pressed = termios.tcgetattr(slave), list[str]()

    async def on_event() -> None:
        keyboard = Keyboard(slave, pressed.append)
        keyboard.take()
        keyboard.take()  # once is enough
        assert keyboard.taken and not echoes(slave)
        os.write(master, b"pq")
        async with asyncio.timeout(30):
            while len(pressed) < 2:
                await asyncio.sleep(0.01)
        keyboard.give_back()
        keyboard.give_back()
        assert not keyboard.taken

    asyncio.run(on_event())

    assert pressed == ["p", "q"]
    assert termios.tcgetattr(slave) == before and echoes(slave)


def test_a_terminal_that_goes(terminal: tuple[int, int]) -> None:
    """A terminal that ends in the middle is read no more, and breaks nothing."""
    _, slave = terminal
    master, own = pty.openpty()

    async def on_event() -> None:
        keyboard = Keyboard(own, lambda key: None)
        keyboard.take()
        os.close(master)
        await asyncio.sleep(0.05)
        keyboard.give_back()

    asyncio.run(on_event())
    os.close(own)
    assert echoes(slave)


def test_nothing_is_taken_from_others() -> None:
    """What is no terminal, or not ours to use now, is left alone."""
    read, write = os.pipe()
    master, slave = pty.openpty()  # nobody's, as far as we are concerned
    assert [in_front(end) for end in (read, slave, -1)] == [False, False, False]
    for end in (read, slave):
        keyboard = Keyboard(end, lambda key: None)
        keyboard.take()
        assert not keyboard.taken
        keyboard.give_back()
    for end in (read, write, master, slave):
        os.close(end)
