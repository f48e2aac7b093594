"""A server goes on with the debates that ran when the servers before it were killed, and with no others."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from debates import opened_event
from started import PATIENCE

from debate_orchestrator.engine.debate import create_debate
from debate_orchestrator.engine.user_events import audience_question
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.web import folder, remembered, runs
from debate_orchestrator.web.runs import Runs, consent_already_given

PEOPLE = {"a": ("human",), "b": ("human",), "judge": ("rehearse",)}


@pytest.fixture(autouse=True)
def journals(here: Path) -> list[str]:
    """Debates of people, which wait for them as long as they run."""
    paths = [f"{name}.journal.jsonl" for name in "xyz"]
    for path in paths:
        create_debate(opened_event(cast=PEOPLE, topic=path), DebateFiles.of_journal(path)).journal.close()
    return paths


def noted() -> list[str]:
    return [path for path, _ in remembered.noted()]


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.01)


def test_two_servers_of_one_folder_keep_each_others_debates(journals: list[str]) -> None:
    """What one of them begins, pauses or fails to open leaves what is noted of the other's debates as it is."""
    x, y, z = journals

    async def served() -> None:
        one, other = Runs(), Runs()
        one.start(x, consent_already_given)
        paused = other.start(y, consent_already_given)
        other.start(z, consent_already_given)
        assert noted() == [x, y, z]
        await paused.opened.wait()
        paused.pause()
        locked = other.start(x, consent_already_given)
        await asyncio.wait([paused.task, locked.task])
        assert noted() == [x, z] and locked.failure is not None
        await one.shutdown()
        await other.shutdown()
        assert noted() == [x, z]
        third = Runs()
        third.go_on()
        await until(lambda: third.running(x) and third.running(z))
        assert third.running(y) is None
        await third.shutdown()

    asyncio.run(served())


def test_another_journal_of_the_same_name_is_not_gone_on_with(journals: list[str]) -> None:
    """A journal that was put in the place of one that ran when the server was killed is another debate."""
    x, y, _ = journals

    async def served() -> None:
        killed = Runs()
        killed.start(x, consent_already_given)
        await killed.shutdown()
        shutil.copy(y, x)
        later = Runs()
        later.go_on()
        await until(lambda: not noted())
        assert later.running(x) is None
        await later.shutdown()

    asyncio.run(served())


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What lets go of whatever reads or writes a journal that is not open; a watchdog does where the loop can't."""
    gate = threading.Event()

    def holding(real: Callable[..., Any]) -> Callable[..., Any]:
        def wait(*given: Any) -> Any:
            assert gate.wait(PATIENCE)
            return real(*given)

        return wait

    monkeypatch.setattr(runs, "record_alone", holding(runs.record_alone))
    monkeypatch.setattr(folder, "load", holding(folder.load))
    return gate


def turning(gate: threading.Event) -> bool:
    """Whether the event loop turns while the gate is shut; it opens the gate."""
    turns = not gate.is_set()
    gate.set()
    return turns


def test_journals_are_read_in_a_thread_at_the_start(journals: list[str], held: threading.Event) -> None:
    """They may be long, and the server takes requests meanwhile. One that ends before has gone on with none."""

    async def served() -> None:
        before = Runs()
        for path in journals:
            before.start(path, consent_already_given)
        await before.shutdown()
        ending, later = Runs(), Runs()
        ending.go_on()
        await asyncio.sleep(0)
        await ending.shutdown()
        later.go_on()
        await asyncio.sleep(0)
        assert turning(held)
        await until(lambda: all(map(later.running, journals)))
        assert list(later._runs) == journals and not ending._runs
        await later.shutdown()

    asyncio.run(bounded(served(), held))


def test_questions_for_a_paused_debate_are_taken_in_a_thread_and_in_order(
    journals: list[str], held: threading.Event
) -> None:
    """Nothing waits for them but the debate itself, which goes on once they are written."""

    async def served() -> None:
        paused = Runs(remember=False)
        asked = [
            asyncio.ensure_future(paused.record("x.journal.jsonl", lambda debate, n=n: audience_question(debate, n)))
            for n in ("One?", "Two?", "Three?")
        ]
        await asyncio.sleep(0)
        run = paused.start("x.journal.jsonl", consent_already_given)
        assert turning(held)
        await asyncio.gather(*asked)
        await run.opened.wait()
        assert run.failure is None and run.running
        await paused.shutdown()

    asyncio.run(bounded(served(), held))
    questions = [event.question for event in read("x.journal.jsonl").events if event.kind == "raised"]
    assert questions == ["One?", "Two?", "Three?"]


async def bounded(served: Any, gate: threading.Event) -> None:
    """Has a loop that is held up end all the same."""
    watchdog = threading.Timer(10, gate.set)
    watchdog.start()
    try:
        await served
    finally:
        watchdog.cancel()
