"""A worker's look at the tournaments of a database, which may hold anything."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from contests import spec

from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.cluster import worker
from debate_orchestrator.tournament.cluster.worker import Worker


def test_a_worker_schedules_beside_its_debates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large schedule takes seconds, in which the debates of other tournaments go on."""
    text, threads = json.dumps(folder.frozen(spec())), list[threading.Thread]()
    schedule = folder.make_schedule

    def scheduled(given: Any) -> Any:
        threads.append(threading.current_thread())
        return schedule(given)

    async def rows(*_: Any, **__: Any) -> list[tuple[str]]:
        return [(text,)]

    monkeypatch.setattr(folder, "make_schedule", scheduled)
    monkeypatch.setattr(worker.queue, "register", lambda *_: None)
    found = Worker(SimpleNamespace(rows=rows, where="db", app=None), lambda _: [], concurrency=1)
    held, problems = asyncio.run(found._loaded("t"))

    assert held is not None and held.schedule == schedule(spec()) and not problems
    assert threading.main_thread() not in threads


def test_a_tournament_that_a_mistake_stops_is_skipped_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong with the look at one tournament of a database ends no worker."""
    texts = {name: json.dumps(folder.frozen(spec(tag=name))) for name in ("bad", "good")}
    told = list[str]()

    async def rows(_: str, id: str = "") -> list[tuple[Any, ...]]:
        return [(texts[id],)] if id else [(name, name, 1, 30.0) for name in texts]

    def find_problems(held: folder.Tournament) -> list[str]:
        if held.spec.tag == "bad":
            raise ZeroDivisionError
        return []

    async def no_jobs(*_: Any) -> int:
        return 0

    monkeypatch.setattr(worker.queue, "register", lambda *_: None)
    monkeypatch.setattr(worker.queue, "give_up_unreadable", no_jobs)
    monkeypatch.setattr(worker.queue, "work", no_jobs)
    database = SimpleNamespace(rows=rows, retried_until_reached=lambda ask: ask(), where="db", app=None)
    found = Worker(database, find_problems, concurrency=1, tell=told.append)

    asyncio.run(found._look())
    assert told[0].startswith("No debates of bad are taken: ") and "ZeroDivisionError" in told[0], told
    assert told[1] == "Taking debates of good, up to 1 at once."
