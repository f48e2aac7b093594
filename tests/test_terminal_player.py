"""A recorded debate is played as it went, at a reader's pace, and can be skipped, paused and left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import debates
import pytest
from fake_terminal import FakeTerminal, Shown

from debate_orchestrator.core.events import (
    BriefSent,
    Event,
)
from debate_orchestrator.terminal import player
from debate_orchestrator.terminal.player import Player


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited for, which pass at once."""
    passed: list[float] = []
    sleep, ours = asyncio.sleep, threading.get_ident()

    async def at_once(seconds: float) -> None:
        mine = threading.get_ident() == ours  # servers of other tests may still sleep in threads of their own
        if mine:
            passed.append(seconds)
        await sleep(0 if mine else seconds)

    monkeypatch.setattr(player.asyncio, "sleep", at_once)
    return passed


def asked(turn: str) -> BriefSent:
    return BriefSent(turn_id=turn, brief_digest="0" * 64, spec="host")


def recorded(**setup: Any) -> list[Event]:
    """A debate's events, with a `BriefSent` before each answer, as journals have them."""
    first, *answers = debates.play_events(**setup)
    return [first, *(event for answer in answers for event in (asked(answer.turn_id), answer))]  # type: ignore[union-attr]


class Play:
    """A player of these events, and what is shown by it."""

    def __init__(self, events: Sequence[Event], pace: float | None, columns: int = 80):
        self.shown = Shown(columns=columns, events=events[:1])
        self.player = Player(self.shown.debate, events[1:], self.shown.live, pace)

    def run(self, meanwhile: Callable[[], Awaitable[None]] | None = None) -> bool:
        """Plays to the end, while something else goes on; whether the end was reached."""

        async def both() -> bool:
            async with asyncio.timeout(60):
                played, *_ = await asyncio.gather(self.player.play(), *([meanwhile()] if meanwhile else []))
                return played

        return asyncio.run(both())

    @property
    def terminal(self) -> FakeTerminal:
        """The terminal as it is now."""
        self.shown.live.paint()
        return self.shown.terminal


@pytest.mark.slow
@pytest.mark.parametrize(("pace", "columns"), [(None, 60), (600.0, 160)])
def test_all_of_it_is_played(pace: float | None, columns: int) -> None:
    """At whatever pace and width, all of the debate is shown."""
    play = Play(recorded(), pace, columns)
    assert play.run()

    text = " ".join(play.terminal.text.split())
    assert all(f"says in {n}.{phase}." in text for n in (2, 3) for phase in ("challenge.a", "rebuttal.b"))
    assert "Dissent record: 1 disputed claim" in text


def test_the_pace(waits: list[float]) -> None:
    """So many words come a minute; without a pace nothing waits at all."""
    events, taken = recorded(rounds=1, say=debates.script_of(_1_opening_a="word " * 300, _1_opening_b="b")), []
    for pace in (600.0, 1200.0, None):
        waits.clear()
        Play(events, pace).run()
        taken.append(sum(waits))
    assert taken[0] - taken[1] == pytest.approx(15, abs=1)
    assert taken[2] == 0


def test_pausing() -> None:
    """p stops it where it is and the status says so; any other key goes on, and q leaves, also from a pause."""
    play = Play(recorded(say=debates.script_of(_1_opening_a="a " * 6_000)), 600.0)

    async def turns(count: int) -> str:
        for _ in range(count):
            await asyncio.sleep(0)
        return play.terminal.text

    async def pause() -> None:
        await turns(20)
        play.player.press("p")
        before = await turns(5)
        assert "paused · any key goes on · q quit" in before
        assert await turns(20) == before
        play.player.press("x")
        after = await turns(20)
        assert "paused" not in after and "any key skips · v verdict · p pause · q quit" in after and after != before
        play.player.press("p")
        play.player.press("Q")

    assert not play.run(pause)
    assert play.terminal.text.count("a a") < 1_000
