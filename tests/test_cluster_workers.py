"""Tournaments that several workers hold, processes of their own, which are killed, frozen and cut off meanwhile."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import small_tournaments
from conftest import Run
from messages_server import Server
from postgres import Postgres
from started import Started, started

from debate_orchestrator.core.events import BriefSent, CallFailed, Rejected, Spoke, StructuredReplyGiven
from debate_orchestrator.storage.journal import read
from debate_orchestrator.storage.journal_lines import parse

pytestmark = pytest.mark.slow


def coordinator(url: str, *flags: str) -> Any:
    """A run that queues the debates of `spec.yaml` and watches them."""
    return started("tournament", "run", "spec.yaml", "--to", "out", "--cluster", url, "--no-reports", *flags)


def worker(url: str, *flags: str) -> Any:
    return started("worker", url, "--concurrency", "4", *flags)


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits for something that happens elsewhere."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"it did not come: {what}"
        time.sleep(0.02)


def journals(folder: str = "out") -> list[list[Any]]:
    """The events of all journals, which are verified."""
    return [read(path).events for path in sorted(Path(folder, "debates").glob("*.journal.jsonl"))]


def outcomes(events: list[list[Any]]) -> tuple[int, int, int]:
    """How many calls were announced, how many came back, and how many turns were answered."""
    every = [event for one in events for event in one]
    answered = sum(isinstance(event, Spoke | StructuredReplyGiven) for event in every)
    back = sum(isinstance(event, Spoke | StructuredReplyGiven | Rejected | CallFailed) for event in every)
    return sum(isinstance(event, BriefSent) for event in every), back, answered


def ratings(debate: Run, folder: str) -> dict[str, Any]:
    """What a tournament adds up to, without Elo's points, which depend on the order in which debates began. The fit
    adds up in that order too, and so is the same to nine digits."""
    printed = debate("tournament", "rate", folder, "--json").out
    rated = json.loads(printed, parse_float=lambda number: round(float(number), 6))
    games = sorted((row["model"], row["games"], row["won"], row["lost"], row["tied"]) for row in rated["elo"])
    return {"games": games, **{key: rated[key] for key in ("bradley_terry", "side_effect", "second_speaker_effect")}}


def decided(request: dict[str, Any]) -> str | None:
    """A speech, or a ballot whose winner follows from the judge and the motion."""
    if (text := small_tournaments.replied(request)) is None:
        return None
    motion = re.search(r"Motion (\d+)", json.dumps(request["messages"]))
    assert motion is not None
    ballot = json.loads(text)
    chosen = "ab"[(sum(map(ord, request["model"])) + int(motion[1])) % 2]
    return json.dumps(ballot | {"winner": chosen} if "winner" in ballot else ballot)


def lines(postgres: Postgres, name: str) -> dict[str, list[bytes]]:
    """The lines of every journal in a database."""
    found: dict[str, list[bytes]] = {}
    for debate, text in postgres.query(name, "SELECT debate, line FROM lines ORDER BY debate, n"):
        found.setdefault(debate, []).append(bytes(text))
    return found


def written(postgres: Postgres, name: str) -> list[list[Any]]:
    """The events of every journal in a database, which are verified."""
    return [parse(debate, b"".join(kept)).events for debate, kept in lines(postgres, name).items()]


def under_way(postgres: Postgres, name: str) -> int:
    """How many calls are announced in a database and have not come back."""
    asked, back, _ = outcomes(written(postgres, name))
    return asked - back


@contextmanager
def workers(*urls: str) -> Iterator[list[Started]]:
    with ExitStack() as all_of_them:
        yield [all_of_them.enter_context(worker(url)) for url in urls]


def test_killed_and_frozen_workers(debate: Run, server: Server, postgres_server: Postgres, database: str) -> None:
    """With one worker killed and one frozen in the middle, the third completes every debate: the ratings are those of
    one machine, no call is repeated but those that were under way, and the worker that wakes up writes nothing, and
    says why."""
    server.whole, server.say, url = 0.4, decided, postgres_server.url(database)
    small_tournaments.write_spec(topics=2)
    with coordinator(url) as run, workers(url, url, url) as (killed, frozen, _):
        until(lambda: len(server.requests) > 30, "calls")
        killed.kill()
        frozen.stop()
        in_flight = under_way(postgres_server, database)
        # Without debates of the frozen one fewer are left to ask, whichever the third takes first.
        until(lambda: len(server.requests) > 86, "the third worker goes on with debates of both")
        before = lines(postgres_server, database)
        frozen.signal(signal.SIGCONT)
        frozen.hear("A debate of this worker was given to another one")
        ended = run.end(120)
    asked, back, answered = outcomes(journals())
    requests = len(server.requests)
    alone = debate("tournament", "run", "spec.yaml", "--to", "alone", "--no-reports")
    after = lines(postgres_server, database)

    assert (ended.code, alone.code) == (0, 0), ended.err + alone.err
    assert answered == 12 * 8 and 0 < asked - back <= in_flight
    # A worker may be killed between a `BriefSent` and its request.
    assert asked - in_flight <= requests <= asked and len(server.requests) - requests == 12 * 8
    assert all(after[name][: len(kept)] == kept for name, kept in before.items())
    assert ratings(debate, "out") == ratings(debate, "alone")


def test_the_database_restarts(server: Server, postgres_server: Postgres, database: str) -> None:
    """A database that is killed and started again costs nothing: all wait for it, and no call is repeated."""
    server.whole, url = 0.2, postgres_server.url(database)
    small_tournaments.write_spec(topics=2)
    with coordinator(url) as run, workers(url, url) as both:
        until(lambda: server.answered > 20, "answers")
        postgres_server.stop()
        both[0].hear("can't be reached")
        postgres_server.start()
        both[0].hear("can be reached again")
        ended = run.end(120)
        for one in both:
            one.signal(signal.SIGINT)
        left = [one.end(20) for one in both]
    asked, back, answered = outcomes(journals())

    assert ended.code == 0, ended.err
    assert all(one.code == 130 and "Traceback" not in one.err for one in left), left
    assert len(server.requests) == asked == back == answered == 12 * 8


def test_workers_that_are_told_to_end(server: Server, postgres_server: Postgres, database: str) -> None:
    """Ctrl-C waits for the replies under way, which are kept, and puts the debates back; SIGTERM keeps what had come.
    The next worker goes on at once."""
    server.whole, url = 0.4, postgres_server.url(database)
    small_tournaments.write_spec()
    with coordinator(url) as run:
        for sign in (signal.SIGINT, signal.SIGTERM):
            seen = len(server.requests)
            with worker(url) as leaving:
                until(lambda seen=seen: len(server.requests) > seen + 4, "calls")
                leaving.signal(sign)
                left = leaving.end()
            assert left.code == 130 and "Other workers continue" in left.err, left.err
        with worker(url, "--until-done") as last:
            done = last.end()
        ended = run.end()
    asked, back, answered = outcomes(journals())

    assert (done.code, ended.code) == (0, 0), done.err + ended.err
    # A call that was announced may have ended before it was begun, and one that was broken off before it was sent.
    assert answered == 6 * 8 and back <= asked <= back + 6
    assert answered <= len(server.requests) <= asked


def test_a_worker_leaves_without_the_database(server: Server, postgres_server: Postgres, database: str) -> None:
    """SIGTERM ends a worker also while the database is away: soon, and in sentences of this program's own."""
    server.held, url = 1, postgres_server.url(database)
    small_tournaments.write_spec()
    with coordinator(url), worker(url) as leaving:
        until(lambda: len(server.requests) > 0, "a call")
        postgres_server.stop()
        try:
            server.held = 0
            until(lambda: server.answered > 0, "an answer")
            leaving.signal(signal.SIGTERM)
            left = leaving.end(20)
        finally:
            postgres_server.start()

    assert left.code == 130 and "Lost: start.opening." in left.err and "Other workers continue" in left.err
    assert "Traceback" not in left.err and "procrastinate" not in left.err


def test_limits_and_the_cap_are_shared(server: Server, postgres_server: Postgres, database: str) -> None:
    """Two workers keep to the cap on costs together, and each to its part of the calls at once; a higher cap goes on
    without paying for anything twice."""
    server.whole, url = 0.05, postgres_server.url(database)
    small_tournaments.write_spec(max_cost=0.1, limits={"anthropic": {"concurrency": 4}})
    with workers(url, url), coordinator(url) as run:
        capped = run.end(120)
    ((spent,),) = postgres_server.query(database, "SELECT spent FROM tournaments")
    with workers(url, url), started("tournament", "resume", "out", "--cluster", url, "--max-cost", "none") as resumed:
        ended = resumed.end(120)
    asked, _, answered = outcomes(journals())

    assert capped.code == 3 and "exceeds the cap of $0.1" in capped.err and "--cluster" in capped.err, capped.err
    assert 0 < spent <= 0.1 and ended.code == 0, ended.err
    assert server.most_at_once <= 8 and asked == answered == 6 * 8 == len(server.requests)


def test_each_tournament_has_numbers_and_a_queue_of_its_own(
    debate: Run, server: Server, postgres_server: Postgres, database: str
) -> None:
    """A run counts the calls, failures and refusals of its own tournament and run. A worker that lives on takes no more
    debates of a tournament that is complete."""
    url = postgres_server.url(database)
    numbers = []
    with workers(url):
        for tag, refused in (("first", 1), ("second", 0)):
            begun = len(server.requests)
            server.problem = lambda request, n, last=begun + refused: {"status": 429} if n < last else None
            small_tournaments.write_spec(tag=tag)
            ended = debate("tournament", "run", "spec.yaml", "--to", tag, "--cluster", url, "--json")
            assert ended.code == 0, ended.err
            numbers.append(ended.json)
        until(lambda: not postgres_server.query(database, "SELECT id FROM procrastinate_workers"), "no queue is left")

    keys = ("complete", "calls", "failed_calls", "workers")
    assert [[found[key] for key in keys] for found in numbers] == [[6, 49, 1, 0], [6, 48, 0, 0]]
