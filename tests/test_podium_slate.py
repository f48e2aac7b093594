"""Where no cursor can be moved, everything is a line: what is written, what is asked, and what keys do elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest
from podiums import run

from debate_orchestrator.podium.briefing import Line
from debate_orchestrator.podium.lectern import Below, Blank, Elsewhere, Left
from debate_orchestrator.podium.slate import Slate
from debate_orchestrator.util.terminal_text import Back


def at(typed: str, do: Callable[[Slate], Any]) -> tuple[Any, str]:
    """What comes of it when that is typed, and what is seen."""
    reading, writing = os.pipe()
    os.write(writing, typed.encode())
    os.close(writing)
    seen: list[str] = []
    try:
        return run(do(Slate(reading, seen.append))), "".join(seen)
    finally:
        os.close(reading)


def test_a_speech_ends_with_a_line() -> None:
    """A speech is written line by line, goes on from what is there, and is handed in by a line that is just a dot."""
    changes: list[str] = []
    blank = Blank(long=True, now="One.", below=lambda text: Below(f"{len(text)} letters"), changed=changes.append)
    text, seen = at("\nTwo.\n.\n", lambda slate: slate.ask(blank))

    assert text == "One.\n\nTwo."
    assert changes == ["One.\n", "One.\n\nTwo."]
    assert "Written so far:\nOne." in seen and "(4 letters)" in seen


def test_begun_anew() -> None:
    """What is written can be dropped; other lines that begin with a colon are what they say."""
    text, _ = at(":new\n:-)\n.\n", lambda slate: slate.ask(Blank(long=True, now="One.")))

    assert text == ":-)"


def test_a_field() -> None:
    """A field is a line; an empty one keeps what stands."""
    above = (Line("Winner", True),)
    assert at("b\n", lambda slate: slate.ask(Blank(above=above)))[0] == "b"
    text, seen = at("\n", lambda slate: slate.ask(Blank(above=above, now="a")))
    assert text == "a"
    assert "Winner" in seen and "(Enter keeps it) > " in seen


@pytest.mark.parametrize("typed", ["b\ntie\n", "b\r\ntie\r\n"])
def test_one_after_the_other(typed: str) -> None:
    """What is typed ahead is for the next question."""

    async def both(slate: Slate) -> list[str]:
        return [await slate.ask(Blank()), await slate.ask(Blank())]

    assert at(typed, both)[0] == ["b", "tie"]


@pytest.mark.parametrize(("typed", "error"), [(":back\n", Back), (":edit\n", Elsewhere), ("", Left), ("half", Left)])
def test_orders(typed: str, error: type[Exception]) -> None:
    """Going back, an editor and leaving are lines, or the end of them."""
    with pytest.raises(error):
        at(typed, lambda slate: slate.ask(Blank(long=True, now="so far")))


def test_looking_something_up() -> None:
    """The brief can be seen while a field is filled in."""
    said, seen = at(":brief\nx\n", lambda slate: slate.ask(Blank(shows={"brief": lambda: "The whole brief."})))

    assert said == "x"
    assert "The whole brief." in seen


def test_the_debate_is_left() -> None:
    """Whoever is asked something when the debate is left is asked no more."""
    reading, writing = os.pipe()

    async def leaving() -> None:
        slate = Slate(reading, lambda text: None)
        asking = asyncio.create_task(slate.ask(Blank()))
        await asyncio.sleep(0.05)
        slate.abandon()
        with pytest.raises(Left):
            await asking

    asyncio.run(leaving())
    os.close(reading)
    os.close(writing)


def test_what_is_seen_is_tamed_and_can_be_pushed_away() -> None:
    """Control characters move nothing; what was seen is pushed out of sight."""
    seen: list[str] = []
    slate = Slate(0, seen.append)
    slate.tell([Line("\x1b[2Jevil")])
    slate.clear()

    assert seen[0] == "␛[2Jevil\n"
    assert seen[1].count("\n") >= 24 and not seen[1].strip()
