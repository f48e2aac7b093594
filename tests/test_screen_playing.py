"""A recorded debate is played as it went, at a reader's pace, and can be skipped, paused and left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import debates
import pytest
from glass import Glass, OnGlass

from debate_orchestrator.core.events import Asked, CallFailed, EndedEarly, Event, QuestionAsked, Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.screen import playing
from debate_orchestrator.screen.live import Live
from debate_orchestrator.screen.playing import Player, stages


@pytest.fixture(autouse=True)
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time that passes when it is waited for, and at once."""
    passed: list[float] = []
    real, ours = asyncio.sleep, threading.get_ident()

    async def sleep(seconds: float) -> None:
        mine = threading.get_ident() == ours  # servers of other tests may still sleep in threads of their own
        if mine:
            passed.append(seconds)
        await real(0 if mine else seconds)

    monkeypatch.setattr(playing.asyncio, "sleep", sleep)
    return passed


def recorded(**setup: Any) -> list[Event]:
    """A debate's events, with an intent before each answer, as journals have them."""
    events = debates.played(**setup)
    made: list[Event] = events[:1]
    for event in events[1:]:
        made += [Asked(turn=event.turn, brief="0" * 64, by="host"), event]  # type: ignore[union-attr]
    return made


def player(events: Iterable[Event], pace: float | None, columns: int = 80) -> tuple[Player, Glass]:
    """A player of these events, and the glass on which it plays."""
    first, *rest = events
    glass = Glass(columns)
    debate, terminal = DebateState([first]), OnGlass(glass)
    live = Live(debate, terminal, now=lambda: 0.0, money=False)
    terminal.hold()
    return Player(debate, rest, live, pace), glass


def play(one: Player, beside: Callable[[], Awaitable[None]] | None = None) -> None:
    """Plays to the end, while something else goes on."""

    async def both() -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(one.play(), *([beside()] if beside else []))

    asyncio.run(both())


@pytest.mark.parametrize("columns", [60, 160])
@pytest.mark.parametrize("pace", [None, 600.0])
def test_all_of_it_is_played(pace: float | None, columns: int) -> None:
    """At whatever pace and width, all of the debate is shown."""
    one, glass = player(recorded(), pace, columns)
    play(one)

    text = " ".join(glass.text.split())
    assert all(f"says in {n}.{phase}." in text for n in (2, 3) for phase in ("challenge.a", "rebuttal.b"))
    assert "Dissent record: 1 disputed claim" in text
    assert not one.left


def test_the_pace(ticks: list[float]) -> None:
    """So many words a minute come; with no pace nobody waits at all."""
    events = recorded(rounds=1, say=debates.saying(_1_opening_a="word " * 300, _1_opening_b="b"))
    play(player(events, 600.0)[0])
    slow = sum(ticks)
    ticks.clear()
    play(player(events, 1200.0)[0])

    assert slow - sum(ticks) == pytest.approx(15, abs=1)
    ticks.clear()
    play(player(events, None)[0])
    assert ticks == []


def test_words_come_one_after_the_other() -> None:
    """A speech grows word by word, and both of a stage grow together where they stand side by side."""
    long = {f"_1_{phase}": "so it is " * 15 for phase in ("opening_a", "challenge_a", "challenge_b")}
    one, glass = player(recorded(say=debates.saying(**long)), 600.0, 160)
    seen = set[str]()

    async def look() -> None:
        while "Rebuttal" not in glass.text:
            one._live.paint()
            seen.add(" ".join(line for line in glass.screen if "Researcher A writes" in line))
            await asyncio.sleep(0)
        one.press("q")

    play(one, look)
    both = [line for line in seen if "Challenge" in line and "Researcher B writes" in line]
    assert len(seen) > 30 and len(both) > 10


def test_any_key_skips() -> None:
    """A key shows the rest of a speech at once; the next one is spoken at its pace again."""
    events = recorded(rounds=1, say=debates.saying(_1_opening_a="a " * 10_000, _1_opening_b="b " * 10_000))
    one, glass = player(events, 60.0)

    async def skip() -> None:
        for heading in ("Researcher A", "Researcher B"):
            while heading not in glass.text:
                await asyncio.sleep(0)
            one.press(" ")
        while glass.text.count("b") < 9_000:
            await asyncio.sleep(0)
        one.press("q")

    play(one, skip)
    assert glass.text.count("  a a") > 100 and one.left


def test_pausing() -> None:
    """p stops it where it is, the status says so, and any other key goes on; q leaves it in a pause too."""
    one, glass = player(recorded(say=debates.saying(_1_opening_a="a " * 500)), 600.0)

    async def pause() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        one.press("p")
        for _ in range(5):
            await asyncio.sleep(0)
        one._live.paint()
        assert "paused" in glass.text and "any key goes on" in glass.text
        before = glass.text
        for _ in range(20):
            await asyncio.sleep(0)
        one._live.paint()
        assert glass.text == before
        one.press("x")
        one._live.paint()
        assert "paused" not in glass.text
        one.press("p")
        one.press("Q")

    play(one, pause)
    assert one.left


def test_it_is_left_from_a_pause() -> None:
    """q leaves at once where it is paused, too, in the middle of a speech of an hour."""
    one, glass = player(recorded(rounds=1, say=debates.saying(_1_opening_a="word " * 6_000)), 100.0)

    async def leave() -> None:
        while glass.text.count("word") < 5:
            one._live.paint()
            await asyncio.sleep(0)
        one.press("p")
        await asyncio.sleep(0)
        one.press("q")

    play(one, leave)
    one._live.paint()
    assert one.left and glass.text.count("word") < 1_000


def test_what_broke_off_is_played_too() -> None:
    """Attempts that came to nothing are shown as they were."""
    events = recorded(rounds=1)
    lost = Reply(text="I was about", brief="0" * 64, by="host")
    events.insert(2, CallFailed(turn="1.opening.a", by="host", trouble="it hung up.", reply=lost))
    events.insert(3, Asked(turn="1.opening.a", brief="0" * 64, by="host"))
    one, glass = player(events, None)
    play(one)

    assert "  I was about\n\n-- broken off here, and not counted: it hung up." in glass.text


def test_stages_in_the_order_of_the_agenda() -> None:
    """Whoever answered first, the speeches of a stage are played in the agenda's order, after all that came before."""
    events = debates.played(until="1.rebuttal.a")
    debate, rest = DebateState(events[:3]), events[3:][::-1]
    asked = [Asked(turn=one.turn, brief="0" * 64, by="host") for one in rest]  # type: ignore[union-attr]
    (stage,) = stages(debate, [asked[0], rest[0], asked[1], rest[1]])

    assert [(one.kind, one.turn) for one in stage] == [  # type: ignore[union-attr]
        ("asked", "1.challenge.b"),
        ("asked", "1.challenge.a"),
        ("spoke", "1.challenge.a"),
        ("spoke", "1.challenge.b"),
    ]


def test_keys_are_told() -> None:
    """The status tells what keys do only once somebody can press them."""
    one, glass = player(recorded(), None)
    one._live.paint()
    assert "any key" not in glass.text
    one.tell_keys()
    one._live.paint()

    assert "any key skips · p pause · q quit" in glass.text


def test_an_early_end_keeps_its_place() -> None:
    """An early end that came while speeches were under way is played before them, as it happened: the debate that is
    played takes every event that the recorded one took."""
    events = recorded(until="1.challenge.a")
    debate = DebateState(events)
    under_way: list[Event] = [Asked(turn=f"1.challenge.{side}", brief="0" * 64, by="host") for side in "ab"]
    spoken = [one for one in recorded() if one.kind == "spoke" and one.turn in ("1.challenge.a", "1.challenge.b")]  # type: ignore[union-attr]
    events += [*under_way, QuestionAsked(question="Why?", to=("judge",)), EndedEarly(), *reversed(spoken)]
    for one in events[len(debate.answers) * 2 + 1 :]:
        debate.take(one)
    one, glass = player(events, None)
    play(one)

    assert "Ended early, after Challenge of round 1." in glass.text
    assert [turn.id for turn in one._debate.due()] == [turn.id for turn in debate.due()] == ["final.verdict.judge"]
