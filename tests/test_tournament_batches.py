"""Tournaments whose calls go into batches: in waves, at half price, and never paid for twice."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import local_http
import pytest
import small_tournaments
from batch_vendor import Vendor
from conftest import Run
from messages_server import Server
from reply_codes import coded
from small_tournaments import OPUS, runner, statuses
from started import started

from debate_orchestrator import resume
from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import BriefSent, CallFailed, Event
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.storage.journal import read
from debate_orchestrator.tournament import batches as batches_module
from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.batches import Batches
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.run import TournamentRun
from debate_orchestrator.util.errors import BadFile, BadSettings

CALLS = 8
"""Of a debate in the panel format with two judges."""


def batches(held: Tournament, **options: Any) -> Batches:
    return Batches(held.folder, quiet_seconds=0.08, first_poll=0.02, **options)


def ran(held: Tournament, **options: Any) -> TournamentRun:
    """A run in batches, to its end."""
    return small_tournaments.run_tournament(held, batches=batches(held), **options)


def stopped(held: Tournament, server: Server, *, cancel: bool = False) -> TournamentRun:
    """A run that is told to stop, or cancelled, as soon as its first batches are created."""
    run = runner(held, batches=batches(held))

    async def until_created() -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(run.run(stop))
        while len(server.batches) < 3:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        stop.set()
        if cancel:
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    server.batches_open = True
    asyncio.run(until_created())
    server.batches_open = False
    return run


def journals(held: Tournament) -> list[list[Event]]:
    return [read(held.journal_path(debate.id)).events for debate in held.schedule]


def calls_of(held: Tournament) -> int:
    return sum(isinstance(event, BriefSent) for events in journals(held) for event in events)


def test_a_tournament_runs_in_waves(server: Server) -> None:
    """Every call of every debate is in a batch with those of other debates to the same model, and none is made
    alone. Replies of a batch cost exactly half of what the price list says of their tokens, in journals and
    standings."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    run = small_tournaments.run_tournament(held, batches=Batches(held.folder, quiet_seconds=0.2, first_poll=0.02))
    models = [{request["params"]["model"] for request in requests} for requests in server.batches.values()]

    assert set(statuses(run)) == {"complete"} and server.requests == []
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)
    assert all(len(found) == 1 for found in models)
    # A wave comes apart where the machine is slow; some calls still share a batch.
    assert len(server.batches) < len(server.batch_paid)

    replies = [event.reply for events in journals(held) for event in events if getattr(event, "reply", None)]
    usual = [pricing.cost(reply.spec, reply.usage) for reply in replies]
    total = sum(costs_of(fold(events)).total.cost for events in journals(held))
    assert [reply.cost for reply in replies] == [(price or 0) / 2 for price in usual]
    assert replies[0].usage == Usage(uncached_input=1000, output=100)
    assert sum(standing.cost for standing in run.statuses.values()) == pytest.approx(total)
    assert total == pytest.approx(sum(price or 0 for price in usual) / 2)


@pytest.mark.slow
def test_the_cap_counts_half(server: Server) -> None:
    """Under a cap a call counts with the price of a batch: what is too little for live calls is enough."""
    held = small_tournaments.tournament("one", topics=1, rehearse=False)
    price = sum(standing.cost for standing in ran(held).statuses.values())
    expected = price * 1.9
    capped = small_tournaments.tournament("two", topics=1, rehearse=False, max_cost=round(expected, 4))
    run = ran(capped)

    assert set(statuses(run)) == {"complete"}
    assert sum(standing.cost for standing in run.statuses.values()) == pytest.approx(price)


@pytest.mark.slow
@pytest.mark.parametrize("cancel", [False, True])
def test_a_run_that_was_stopped_takes_its_batches(server: Server, cancel: bool) -> None:
    """A run that leaves while its batches are under way is continued by one that takes their results: no call is
    paid for twice, and each has one `BriefSent`."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    first = stopped(held, server, cancel=cancel)
    begun = len(server.batch_paid)
    second = ran(held)

    assert begun and set(statuses(first)) == {"stopped"} and set(statuses(second)) == {"complete"}
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)
    assert server.requests == []
    assert sum(costs_of(fold(events)).total.unpriced_calls for events in journals(held)) == 0


def test_a_plain_run_takes_earlier_batches(debate: Run, server: Server) -> None:
    """Without batches of its own, a run takes the results of an earlier run's and makes only the other calls. A debate
    that is resumed alone, and workers, would ask for them again: that is refused, with the command that takes them,
    and only while a call is in a batch."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    stopped(held, server)
    begun = len(server.batch_paid)
    by_workers = ("tournament", "resume", held.folder, "--cluster", "postgresql://none@127.0.0.1:1/none")
    for _ in range(2):
        with pytest.raises(BadSettings, match="are in batches") as refused:
            asyncio.run(resume(held.journal_path(held.schedule[0].id)))
        assert f"`debate tournament resume {held.folder}`" in str(refused.value) and server.requests == []
        assert "are in batches" in debate(*by_workers).err
        for path in (Path(held.journal_path(scheduled.id)) for scheduled in held.schedule):
            lines = path.read_bytes().splitlines(keepends=True)
            while b'"kind":"brief_sent"' in lines[-1]:  # which a power cut may take
                lines.pop()
            path.write_bytes(b"".join(lines))
    assert calls_of(held) == 0
    run = small_tournaments.run_tournament(held, batches=batches(held, creates_batches=False))

    assert set(statuses(run)) == {"complete"} and len(server.batch_paid) == begun
    assert len(server.requests) == len(held.schedule) * CALLS - begun == calls_of(held) - begun

    alone = Path(held.journal_path(held.schedule[0].id))
    sent = max(n for n, event in enumerate(read(alone).events) if isinstance(event, BriefSent))
    alone.write_bytes(b"".join(alone.read_bytes().splitlines(keepends=True)[: sent + 1]))  # of a call of its own
    assert "can't be reached" in debate(*by_workers).err
    asyncio.run(resume(alone))
    assert fold(read(alone).events).complete


@pytest.mark.slow
def test_a_call_without_an_answer_is_made_alone(server: Server) -> None:
    """What expires, fails or is cancelled in a batch is on record and is asked again once, live, at the usual price."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    troubles = ("expired", "errored", "canceled")
    next_fault = cycle(troubles)
    server.batch_fault = lambda request: next(next_fault) if f"anthropic:{request['model']}" == OPUS else ""
    run = ran(held)
    failed = [event for events in journals(held) for event in events if isinstance(event, CallFailed)]
    models = Counter(request["model"] for request in server.requests)

    assert set(statuses(run)) == {"complete"} and set(models) == {OPUS.partition(":")[2]}
    assert len(failed) == len(server.requests) == len(held.schedule) * CALLS - len(server.batch_paid)
    found = [trouble for event in failed for trouble in troubles if trouble in event.problem]
    assert Counter(found).keys() == {*troubles} and len(found) == len(failed)
    assert not any(event.maybe_billed for event in failed)


PARTS: list[Callable[[str], str]] = [
    lambda text: "<html>down for maintenance</html>",
    lambda text: text[: text.rfind("\n", 0, -1) + 1],
]


def failures(held: Tournament) -> list[str]:
    return [event.problem for events in journals(held) for event in events if isinstance(event, CallFailed)]


@pytest.mark.slow
def test_results_that_come_in_part_are_asked_for_again(server: Server) -> None:
    """Where a gateway once sends a page in place of a batch's results, or not all of them, no call is made again."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    server.results = lambda text, n: PARTS[n](text) if n < 2 else text
    run = ran(held)

    assert set(statuses(run)) == {"complete"} and server.requests == [] and failures(held) == []
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)


def test_results_that_never_come_whole(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that are not whole for as long as they are asked for stop the debates, which say why. None of the calls
    has failed, and a later run takes the results."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    server.results = lambda text, n: PARTS[1](text)
    with monkeypatch.context() as patched:
        patched.setattr(batches_module, "LIMITS", LIMITS._replace(retry_for=0.2))
        run = ran(held)
    assert set(statuses(run)) == {"stopped"} and server.requests == [] and failures(held) == []
    why = " ".join(problem for standing in run.statuses.values() for problem in standing.why)
    assert "results of a batch" in why and "is under way" in why

    server.results = lambda text, n: text
    assert set(statuses(ran(held))) == {"complete"} and server.requests == [] and failures(held) == []
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)


TOO_LATE = '{"batch": "x", "model": "m", "at": 1e17, "calls": []}\n'


@pytest.mark.parametrize("text", ["{}\n", "{}", "my notes", '{"batch": "x", "id": "y"}\n{"bat', "\nmine\n{", TOO_LATE])
def test_a_record_of_another_making_stays_as_it_is(here: Path, text: str) -> None:
    """A file that this program did not write is refused, and not a byte of it is lost."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    path = Path(held.folder, "batches.jsonl")
    path.write_text(text)
    with pytest.raises(BadFile, match=r"batches\.jsonl: line \d was not written by this program"):
        batches(held)
    assert path.read_text() == text


@pytest.mark.slow
def test_a_call_under_another_model_is_reported(server: Server) -> None:
    """A record that has a call in a batch of another model's is reported as a bad file, and nothing waits for it."""
    held = small_tournaments.tournament(topics=1, rehearse=False)
    stopped(held, server)
    path = Path(held.folder, "batches.jsonl")
    path.write_text(path.read_text().replace(OPUS, "anthropic:another"))
    run = ran(held)

    assert "unusable" in statuses(run)
    assert any("another" in problem for standing in run.statuses.values() for problem in standing.why)


def test_what_waits_for_a_batch(here: Path) -> None:
    """A task that waits for an answer is cancelled as any other, and its call goes into no batch. Of two journals with
    one nonce the second is told so: the answer to both could go to one of them alone."""
    held = small_tournaments.tournament(topics=1, rehearse=False)

    async def play() -> None:
        waiting = batches(held)
        first = asyncio.ensure_future(waiting.reply("a call", OPUS, {}, asyncio.Event()))
        await asyncio.sleep(0)
        with pytest.raises(BadFile, match="same nonce"):
            await waiting.reply("a call", OPUS, {}, asyncio.Event())
        assert waiting._calls.keys() == {"a call"}
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert first.cancelled()
        await asyncio.sleep(0.4)
        await waiting.close()

    asyncio.run(play())
    assert Path(held.folder, "batches.jsonl").read_bytes() == b""


def test_other_models_are_called_live(server: Server) -> None:
    """A model of a server that has no batches is called alone, beside the batches of the others."""
    elsewhere = {"name": "own", "spec": f"anthropic:own@{server.url}", "price": {"input": 1, "output": 1}}
    models = [OPUS, elsewhere]
    held = small_tournaments.tournament(topics=1, rehearse=False, models=models)
    run = ran(held)

    assert set(statuses(run)) == {"complete"}
    assert {request["model"] for request in server.requests} == {"own"}
    assert len(server.requests) + len(server.batch_paid) == len(held.schedule) * CALLS


def openai_tournament(monkeypatch: pytest.MonkeyPatch, url: str) -> Tournament:
    """One of two models and a judge of OpenAI's, with prices of their own."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    models = [{"name": name, "spec": f"openai:{name}", "price": {"input": 2, "output": 8}} for name in "xyz"]
    judges = {"from": models[2:], "panel": 1}
    return small_tournaments.tournament(topics=1, rehearse=False, models=models[:2], judges=judges)


def chat_reply(body: dict[str, Any]) -> str:
    """A ballot of the shape that a request asks for, or a speech."""
    if "response_format" not in body:
        return "This is what is said."
    ballot = small_tournaments.fitting(body["response_format"]["json_schema"]["schema"], body["model"])
    return coded(body["messages"][-1]["content"], ballot)


def test_openai_takes_batches(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tournament of OpenAI's models runs in batches at half the price."""
    vendor = Vendor("openai", [], chat_reply)
    with local_http.answering(vendor.answer) as url:
        held = openai_tournament(monkeypatch, url)
        run = ran(held)
    replies = [event.reply for events in journals(held) for event in events if getattr(event, "reply", None)]

    assert set(statuses(run)) == {"complete"} and vendor.live == []
    assert vendor.paid.total() == len(vendor.paid) == len(replies) == calls_of(held)
    assert {reply.cost for reply in replies} == {(1000 * 2 + 100 * 8) / 1e6 / 2}


@pytest.mark.slow
def test_calls_that_expire_at_openai(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that a batch of OpenAI's lists among its errors is on record with the reason, and is made alone."""
    vendor = Vendor("openai", [], lambda body: None if body["model"] == "z" else chat_reply(body))
    with local_http.answering(vendor.answer) as url:
        held = openai_tournament(monkeypatch, url)
        run = ran(held)
    failed = failures(held)

    assert set(statuses(run)) == {"stopped"}
    assert set(vendor.live) == {"/v1/chat/completions"} and len(vendor.live) == len(held.schedule)
    assert sum("batch_expired" in trouble for trouble in failed) == len(held.schedule)


@pytest.mark.slow
def test_a_killed_process_takes_its_batches(server: Server, here: Path) -> None:
    """A command that is killed between the creation of its batches and their results is continued by `resume`, and
    no call is paid for twice; the cluster is refused."""
    small_tournaments.write_spec("spec.json")
    server.batches_open = True
    with started("tournament", "run", "spec.json", "--to", "held", "--batch", "--no-reports", folder=here) as process:
        while len(server.batches) < 3:
            time.sleep(0.05)
        time.sleep(1)
        process.kill()
    server.batches_open = False
    with started("tournament", "resume", "held", "--batch", "--no-reports", folder=here) as process:
        ended = process.end(240)
    held = folder.load("held")

    assert ended.code == 0 and "Batch msgbatch_" in ended.err
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)
    with started("tournament", "resume", "held", "--batch", "--cluster", "postgresql://x", folder=here) as process:
        assert process.end().code == 2


def test_a_plan_shows_the_halved_cost(debate: Any) -> None:
    """`plan --batch` costs half of a plan, at every end of its range, and promises no time."""
    small_tournaments.write_spec("spring.yaml", max_cost=50)
    plans = [debate("tournament", "plan", *flags, "spring.yaml", "--json").json for flags in ((), ("--batch",))]
    usual, batched = (plan["usd"] for plan in plans)

    assert batched == {name: pytest.approx(usd / 2, abs=2e-4) for name, usd in usual.items()} and usual["low"] > 0
    assert plans[1]["seconds"] is None and plans[1]["bound_by"] == "batches"
    assert json.dumps(plans[0]["schedule"]) == json.dumps(plans[1]["schedule"])
