"""A debate that runs holds up nothing else in the browser, however long its speeches are."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from counting import calls
from debates import played
from test_web_work import counted

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Spoke
from debate_orchestrator.core.fold import apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.debate import create_debate
from debate_orchestrator.reports import announcements
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.web import blocks, runs
from debate_orchestrator.web.live import Viewers
from debate_orchestrator.web.live_blocks import LiveBlocks

LINE_BREAKS = "word" + "\n" * 250_000 + "end"


def long_journal(**setup: Any) -> None:
    """Writes the journal of a debate whose first speech is very long."""
    stand_ins = {"a": ("rehearse",), "b": ("rehearse",), "judge": ("rehearse",)}
    events = played(until="1.rebuttal.a", cast=stand_ins, **setup)
    first = next(n for n, event in enumerate(events) if isinstance(event, Spoke))
    reply = events[first].reply.model_copy(update={"text": LINE_BREAKS})  # type: ignore[union-attr]
    events[first] = Spoke(turn="1.opening.a", reply=reply)
    create_debate(events[0], DebateFiles.of_output("x.md"), events[1:]).journal.close()  # type: ignore[arg-type]


def test_no_event_looks_at_earlier_speeches_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn of a debate that runs is looked at once, also one with a very long speech, and where viewers come at
    each event. No block is made in the event loop, and all are sent in their order."""
    long_journal(rounds=2)
    loop_thread, made_in, real = threading.get_ident(), set[int](), blocks.rendered
    monkeypatch.setattr(blocks, "rendered", lambda *given: made_in.add(threading.get_ident()) or real(*given))
    looked = counted(monkeypatch, announcements, "_about")

    async def ran() -> None:
        run = runs.Runs(remember=False).start("x.journal.jsonl", runs.consent_already_given)
        told, viewer, state = list[str](), run.viewers.join(), None
        while (sent := await viewer.get()) is not None:
            run.messages_so_far()
            if sent.startswith(b"event: block"):
                told += re.findall(r'id="((?:before|turn|after)-[^"]+)"', json.loads(sent.split(b"data: ", 1)[1]))
            state = run.current and run.current.state
        assert state is not None and state.complete, run.problems
        assert set(looked.values()) == {1} and len(looked) == len(state.turns)
        assert made_in and loop_thread not in made_in
        assert told == [block.id for block in blocks.Outline().new(state)]

    asyncio.run(ran())


def test_an_event_takes_the_same_work_in_every_round(here: Path) -> None:
    """However much was said before it."""
    work = dict[str, int]()
    events = played(rounds=8)
    state, outline = fold(events[:1]), blocks.Outline()
    for event in events[1:]:
        state = apply(state, event)
        taken = calls(partial(outline.new, state))
        if isinstance(event, Spoke):
            work[event.turn] = taken
    assert work["8.rebuttal.b"] == work["2.rebuttal.b"] and work["8.challenge.a"] == work["2.challenge.a"]


def test_the_blocks_that_are_kept_are_those_of_a_page_made_anew() -> None:
    """After each event, also where the round that was announced gives way since the debate is ended early, and where a
    person is one of several judges, whose ballots are shown at the end."""
    cast = {"a": ("host",), "b": ("host",), "judge": ("host", "human")}
    for ended_early in (False, True):
        events = played(rounds=3, cast=cast, until="2.constructive.a" if ended_early else None)
        state, outline, sent = fold(events[:1]), blocks.Outline(), list[blocks.Block]()
        outline.new(state)
        while events := events[1:]:
            state = apply(state, events[0])
            sent += outline.new(state)
            assert outline.blocks == blocks.Outline().new(state)
            if ended_early and len(events) == 1 and not state.ended_after:
                events.append(schedule.early_end(state))
        assert len(sent) == len(set(sent)) and bool(state.ended_after) == ended_early


def ended_early(*, after: bool) -> tuple[DebateState, DebateState]:
    """A debate whose second round is announced, and the same once it is ended before that round; with the phases
    `after` the rounds or without any."""
    events = played(rounds=3, until="2.constructive.a")
    if not after:
        format = events[0].format.model_copy(update={"after": ()})  # type: ignore[union-attr]
        events[0] = events[0].model_copy(update={"format": format})
    state = fold(events)
    return state, apply(state, schedule.early_end(state))


@pytest.mark.parametrize("after", [True, False])
def test_the_banner_of_a_round_that_is_not_held_is_taken_back(after: bool) -> None:
    """Those who watch are told, and those who come later are not shown it."""
    state, ended = ended_early(after=after)

    async def told() -> list[bytes]:
        viewers = Viewers()
        viewer, live = viewers.join(), LiveBlocks(viewers)
        for taken in (state, ended):
            live.take(taken)
        live.end()
        await live.send()
        assert "ROUND 2" not in live.page().decode() and "ROUND 2" not in live.html()()
        assert live.html()() == blocks.all_rendered(ended)
        return [viewer.get_nowait() or b"" for _ in range(viewer.qsize())]

    messages = asyncio.run(told())
    banner = next(n for n, sent in enumerate(messages) if b"ROUND 2" in sent)
    gone = [sent for sent in messages[banner:] if sent.startswith(b"event: gone")]
    (id,) = (json.loads(sent.split(b"data: ", 1)[1]) for sent in gone)
    assert f'id=\\"{id}\\"' in messages[banner].decode()


def test_the_blocks_of_a_page_are_those_of_the_time_when_it_was_asked_for() -> None:
    """A thread makes it, while the debate goes on."""
    events = played(rounds=1)
    live = LiveBlocks(Viewers())
    live.take(before := fold(events[:-2]))
    html = live.html()
    live.take(fold(events))
    assert html() == blocks.all_rendered(before) != live.html()()


def test_a_block_that_fails_to_render_ends_no_debate(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The owner is told why, and a sentence stands in the place of the block; all others are shown."""
    long_journal(rounds=1)

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("no ballot can be shown")

    async def ran() -> tuple[str, DebateState]:
        run = runs.Runs(remember=False).start("x.journal.jsonl", runs.consent_already_given)
        viewer, told = run.viewers.join(), list[bytes]()
        while (sent := await viewer.get()) is not None:
            told.append(sent)
        assert run.current is not None and run.current.state.complete
        assert run.failure is None and not run.problems
        return b"".join(told).decode(), run.current.state

    monkeypatch.setattr(blocks, "_ballot", broken)
    told, state = asyncio.run(ran())
    ballots = [f"turn-{turn.id}" for turn in state.turns.values() if turn.judging]
    assert ballots == re.findall(r'id=\\"([^"]+)\\" class=\\"said warning missing\\">This part can', told)
    assert 'id=\\"turn-1.opening.b\\" class=\\"speech b' in told
    assert "no ballot can be shown" in capsys.readouterr().err
