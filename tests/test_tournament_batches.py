"""Tournaments whose calls go into batches: in waves, at half price, and never paid for twice."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from itertools import count, cycle
from pathlib import Path
from typing import Any, cast

import chat_batches
import contests
import local_http
import pytest
from chat_batches import ChatBatches
from contests import OPUS, runner, statuses
from core.folding import debated
from counting import calls_without_a_turn
from messages_server import Server
from reply_codes import coded
from started import started

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import BriefSent, CallFailed, Event
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.providers import api, batch_answers, pricing
from debate_orchestrator.providers.casting import make_provider
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.openai import CompletionsReply
from debate_orchestrator.providers.provider import BatchApi
from debate_orchestrator.storage.journal import read
from debate_orchestrator.tournament import folder
from debate_orchestrator.tournament.batches import Batches
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.run import TournamentRun
from debate_orchestrator.util.errors import BadFile, LockedJournal, TransientError

KEY = "sk-proj-Zq8Vw3Lk9TbX2mNc7RfYh5Jd"
CALLS = 8
"""Of a debate in the panel format with two judges."""


def batches(held: Tournament, **options: Any) -> Batches:
    return Batches(held.folder, quiet=0.08, first_look=0.02, **options)


def ran(held: Tournament, **options: Any) -> TournamentRun:
    """A run in batches, to its end."""
    return contests.ran(held, batches=batches(held), **options)


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
    return [read(held.journal(debate)).events for debate in held.schedule]


def calls_of(held: Tournament) -> int:
    return sum(isinstance(event, BriefSent) for events in journals(held) for event in events)


@pytest.mark.slow
def test_a_tournament_runs_in_waves(server: Server) -> None:
    """Every call of every debate is in a batch with those of other debates to the same model, and none is made
    alone."""
    held = contests.tournament(topics=2, rehearse=False)
    run = contests.ran(held, batches=Batches(held.folder, quiet=0.2, first_look=0.02))
    models = [{request["params"]["model"] for request in requests} for requests in server.batches.values()]

    assert set(statuses(run)) == {"complete"} and server.requests == []
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)
    assert all(len(found) == 1 for found in models)
    # A wave may come apart where the machine is slow; its calls still share batches.
    assert len(server.batches) < len(server.batch_paid) / 2


def test_the_cost_is_half(server: Server) -> None:
    """Replies of a batch cost exactly half of what the price list says of their tokens, in journals and standings."""
    held = contests.tournament(topics=1, rehearse=False)
    run = ran(held)
    replies = [event.reply for events in journals(held) for event in events if getattr(event, "reply", None)]
    usual = [pricing.cost(reply.by, reply.usage) for reply in replies]
    total = sum(costs_of(fold(events)).total.cost for events in journals(held))

    assert [reply.cost for reply in replies] == [(price or 0) / 2 for price in usual]
    assert replies[0].usage == Usage(fresh=1000, output=100)
    assert sum(standing.cost for standing in run.statuses.values()) == pytest.approx(total)
    assert total == pytest.approx(sum(price or 0 for price in usual) / 2)


@pytest.mark.slow
def test_the_cap_counts_half(server: Server) -> None:
    """Under a cap a call counts with the price of a batch: what is too little for live calls is enough."""
    held = contests.tournament("one", topics=1, rehearse=False)
    price = sum(standing.cost for standing in ran(held).statuses.values())
    expected = price * 1.9
    capped = contests.tournament("two", topics=1, rehearse=False, max_cost=round(expected, 4))
    run = ran(capped)

    assert set(statuses(run)) == {"complete"}
    assert sum(standing.cost for standing in run.statuses.values()) == pytest.approx(price)


@pytest.mark.slow
@pytest.mark.parametrize("cancel", [False, True])
def test_a_run_that_was_stopped_takes_its_batches(server: Server, cancel: bool) -> None:
    """A run that leaves while its batches are under way is gone on with by one that takes their results: no call is
    paid for twice, and each has one intent."""
    held = contests.tournament(topics=1, rehearse=False)
    first = stopped(held, server, cancel=cancel)
    begun = len(server.batch_paid)
    second = ran(held)

    assert begun and set(statuses(first)) == {"stopped"} and set(statuses(second)) == {"complete"}
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)
    assert server.requests == []
    assert sum(costs_of(fold(events)).total.unknown for events in journals(held)) == 0


def test_a_plain_run_takes_earlier_batches(server: Server) -> None:
    """Without batches of its own, a run takes the results of an earlier run's and makes only the other calls."""
    held = contests.tournament(topics=1, rehearse=False)
    stopped(held, server)
    begun = len(server.batch_paid)
    run = contests.ran(held, batches=batches(held, collects=False))

    assert set(statuses(run)) == {"complete"} and len(server.batch_paid) == begun
    assert len(server.requests) == len(held.schedule) * CALLS - begun == calls_of(held) - begun


@pytest.mark.slow
def test_a_call_without_an_answer_is_made_alone(server: Server) -> None:
    """What expires, fails or is cancelled in a batch is on record and is asked again once, live, at the usual price."""
    held = contests.tournament(topics=1, rehearse=False)
    troubles = ("expired", "errored", "canceled")
    next_trouble = cycle(troubles)
    server.batch_trouble = lambda request: next(next_trouble) if f"anthropic:{request['model']}" == OPUS else ""
    run = ran(held)
    failed = [event for events in journals(held) for event in events if isinstance(event, CallFailed)]
    models = Counter(request["model"] for request in server.requests)

    assert set(statuses(run)) == {"complete"} and set(models) == {OPUS.partition(":")[2]}
    assert len(failed) == len(server.requests) == len(held.schedule) * CALLS - len(server.batch_paid)
    found = [trouble for event in failed for trouble in troubles if trouble in event.problem]
    assert Counter(found).keys() == {*troubles} and len(found) == len(failed)
    assert not any(event.maybe_billed for event in failed)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["refuse", "lose"])
def test_a_batch_is_created_once(server: Server, trouble: str) -> None:
    """A creation that was refused is tried again; one whose answer was lost is found again, and not repeated."""
    held = contests.tournament(topics=1, rehearse=False)
    server.creations = lambda n: trouble if n == 0 else ""
    run = ran(held)

    assert set(statuses(run)) == {"complete"} and server.requests == []
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)


def test_a_batch_is_found_that_was_never_confirmed(server: Server) -> None:
    """A process that ends between the creation of a batch and the provider's name for it leaves enough for the next
    one to find the batch; a batch that was not created is created then."""
    held = contests.tournament(topics=1, rehearse=False)
    stopped(held, server)
    path = Path(held.folder, "batches.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"id"' not in line) + '{"batch": "half')
    others = [{"custom_id": f"of another program {n}"} for n in range(len(server.batches.pop("msgbatch_0")))]
    for answer in server.answers_of.pop("msgbatch_0"):
        server.batch_paid.remove(answer["custom_id"])
    server.batches["of another program"] = server.answers_of["of another program"] = others
    run = ran(held)

    assert set(statuses(run)) == {"complete"} and server.requests == []
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)


def test_a_plain_run_creates_no_batch(server: Server) -> None:
    """Where a batch of an earlier run was never created, a run without batches of its own makes its calls alone."""
    held = contests.tournament(topics=1, rehearse=False)
    stopped(held, server)
    path = Path(held.folder, "batches.jsonl")
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if '"id"' not in line))
    for records in (server.batches, server.answers_of, server.batch_paid):
        records.clear()
    run = contests.ran(held, batches=batches(held, collects=False))
    failed = [event for events in journals(held) for event in events if isinstance(event, CallFailed)]

    assert set(statuses(run)) == {"complete"} and not server.batches and not server.batch_paid
    assert len(server.requests) == len(held.schedule) * CALLS == calls_of(held) - len(failed)
    assert failed and all("No batch of" in event.problem and not event.maybe_billed for event in failed)


@pytest.mark.slow
def test_a_batch_of_others_holds_up_none(server: Server) -> None:
    """While a batch of another program of the same size is at work, ours is found that has ended, and goes on."""
    held = contests.tournament(topics=1, rehearse=False)
    stopped(held, server)
    path = Path(held.folder, "batches.jsonl")
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if '"id"' not in line))
    sizes = {len(requests) for requests in server.batches.values()}
    for size in sizes:
        others = [{"custom_id": f"of another program {n}"} for n in range(size)]
        server.batches[f"of others {size}"] = server.answers_of[f"of others {size}"] = others
        server.endless.add(f"of others {size}")
    run = ran(held)

    assert set(statuses(run)) == {"complete"}
    assert len(server.batch_paid) == len(set(server.batch_paid)) == len(held.schedule) * CALLS == calls_of(held)


def test_one_run_has_the_record(server: Server) -> None:
    """A second run in batches is refused while the first holds the record."""
    held = contests.tournament(topics=1, rehearse=False)
    first = batches(held)
    with pytest.raises(LockedJournal, match="another process"):
        batches(held)
    asyncio.run(first.close())


@pytest.mark.parametrize("text", ["{}\n", "{}", "my notes", '{"batch": "x", "id": "y"}\n{"bat', "\nmine\n{"])
def test_a_record_of_another_making_stays_as_it_is(here: Path, text: str) -> None:
    """A file that this program did not write is refused, and not a byte of it is lost."""
    held = contests.tournament(topics=1, rehearse=False)
    path = Path(held.folder, "batches.jsonl")
    path.write_text(text)
    with pytest.raises(BadFile, match=r"batches\.jsonl: line \d was not written by this program"):
        batches(held)
    assert path.read_text() == text


def test_a_call_under_another_model_is_told(server: Server) -> None:
    """A record that has a call in a batch of another model's is told as a bad file, and nothing waits for it."""
    held = contests.tournament(topics=1, rehearse=False)
    stopped(held, server)
    path = Path(held.folder, "batches.jsonl")
    path.write_text(path.read_text().replace(OPUS, "anthropic:another"))
    run = ran(held)

    assert "unusable" in statuses(run)
    assert any("another" in problem for standing in run.statuses.values() for problem in standing.why)


def test_cancelling_ends_what_waits_for_a_batch(here: Path) -> None:
    """A task that waits for an answer is cancelled as any other, and its call goes into no batch."""
    held = contests.tournament(topics=1, rehearse=False)

    async def play() -> None:
        waiting = batches(held)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting.reply("a call", OPUS, {}, asyncio.Event()), 0.01)
        await asyncio.sleep(0.4)
        await waiting.close()

    asyncio.run(play())
    assert Path(held.folder, "batches.jsonl").read_bytes() == b""


def test_other_models_are_called_live(server: Server) -> None:
    """A model of a server that has no batches is called alone, beside the batches of the others."""
    elsewhere = {"name": "own", "spec": f"anthropic:own@{server.url}", "price": {"input": 1, "output": 1}}
    models = [OPUS, elsewhere]
    held = contests.tournament(topics=1, rehearse=False, models=models)
    run = ran(held)

    assert set(statuses(run)) == {"complete"}
    assert {request["model"] for request in server.requests} == {"own"}
    assert len(server.requests) + len(server.batch_paid) == len(held.schedule) * CALLS


def openai_tournament(monkeypatch: pytest.MonkeyPatch, server: ChatBatches) -> Tournament:
    """One of two models and a judge of OpenAI's, with prices of their own."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    models = [{"name": name, "spec": f"openai:{name}", "price": {"input": 2, "output": 8}} for name in "xyz"]
    judges = {"from": models[2:], "panel": 1}
    return contests.tournament(topics=1, rehearse=False, models=models[:2], judges=judges)


def chat_reply(body: dict[str, Any]) -> str:
    """A ballot of the shape that a request asks for, or a speech."""
    if "response_format" not in body:
        return "This is what is said."
    ballot = contests.fitting(body["response_format"]["json_schema"]["schema"], body["model"])
    return coded(body["messages"][-1]["content"], ballot)


def test_openai_takes_batches(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tournament of OpenAI's models runs in batches at half the price; one whose creation was not confirmed is found
    by its name."""
    with chat_batches.serving(ChatBatches(chat_reply)) as server:
        server.lose = 1
        held = openai_tournament(monkeypatch, server)
        run = ran(held)
    replies = [event.reply for events in journals(held) for event in events if getattr(event, "reply", None)]

    assert set(statuses(run)) == {"complete"} and server.live == []
    assert len(server.paid) == len(set(server.paid)) == len(replies) == calls_of(held)
    assert {reply.cost for reply in replies} == {(1000 * 2 + 100 * 8) / 1e6 / 2}


def test_calls_that_expire_at_openai(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that a batch of OpenAI's lists among its errors is on record with the reason, and is made alone."""
    with chat_batches.serving(ChatBatches(lambda body: None if body["model"] == "z" else chat_reply(body))) as server:
        held = openai_tournament(monkeypatch, server)
        run = ran(held)
    failed = [event.problem for events in journals(held) for event in events if isinstance(event, CallFailed)]

    assert set(statuses(run)) == {"stopped"}
    assert set(server.live) == {"/v1/chat/completions"} and len(server.live) == len(held.schedule)
    assert sum("batch_expired" in trouble for trouble in failed) == len(held.schedule)


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
@pytest.mark.parametrize(
    "answer",
    [["x"], {"id": None}, {"data": 5}, {"data": ["x"]}, {"id": f"b_{KEY}"}, {"id": "b\n1 debate"}, {"id": "b" * 201}],
    ids=lambda answer: str(answer)[:20],
)
def test_an_answer_that_is_no_batch(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, answer: Any) -> None:
    """An answer of another form than a batch is told as an outage, after which a batch is looked for as always. An id
    is one, too, that holds a key, which would be kept in the clear, or that is not one short line."""
    json_answer = (200, {"content-type": "application/json"}, [json.dumps(answer).encode()])
    with local_http.answering(lambda asked: json_answer) as url:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
        provider = cast(BatchApi, make_provider(f"{kind}:x", CurrentState(debated())))

        async def ask() -> list[Any]:
            requests = [
                provider.create_batch("n", {"c": {}}),
                provider.find_batches("n", 1, 0),
                provider.batch_ended("b"),
            ]
            return [(await asyncio.gather(request, return_exceptions=True))[0] for request in requests]

        created, found, ended = asyncio.run(ask())
    assert isinstance(created, TransientError) and KEY not in str(created), created
    assert isinstance(found, TransientError) or found == [], found
    assert isinstance(ended, TransientError) or ended is False, ended


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
@pytest.mark.parametrize("new", [False, True], ids=["the same", "new ones"])
def test_a_list_of_batches_that_never_ends(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, new: bool) -> None:
    """A list whose pages come again is read once. One that goes on with new batches is given up, without a word on
    whether the batch was created, since it would be paid for again."""
    monkeypatch.setattr(batch_answers, "MAX_LISTED", 50)
    pages = count()

    def page(asked: local_http.Asked) -> local_http.Answer:
        first = next(pages) * 20 if new else 0
        batches = [
            {"id": f"b{n}", "created_at": "2999-01-01T00:00:00Z" if kind == "anthropic" else 2**35, "metadata": {},
             "request_counts": {"processing": 1}}
            for n in range(first, first + 20)
        ]  # fmt: skip
        body = {"data": batches, "has_more": True, "first_id": "a", "last_id": batches[-1]["id"]}
        return 200, {"content-type": "application/json"}, [json.dumps(body).encode()]

    with local_http.answering(page) as url:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", "sk-test")
        provider = cast(BatchApi, make_provider(f"{kind}:x", CurrentState(debated())))
        if new:
            with pytest.raises(TransientError, match="more than 50 batches") as refused:
                asyncio.run(asyncio.wait_for(provider.find_batches("n", 4, 0), 20))
            assert refused.value.tries == 1
        else:
            assert asyncio.run(asyncio.wait_for(provider.find_batches("n", 4, 0), 20)) == []
    assert next(pages) <= 4


@pytest.mark.parametrize(("text", "stop"), [("half", None), ("x" * (LIMITS.answer + 1), "stop")], ids=["cut", "long"])
def test_what_came_of_an_answer_that_is_not_whole(text: str, stop: str | None) -> None:
    """The text and the tokens of a result that can't be used are kept with its failure, since they were paid for."""
    answer = CompletionsReply()
    usage = {"prompt_tokens": 7, "completion_tokens": 9}
    answer.take({"choices": [{"message": {"content": text}, "finish_reason": stop}], "usage": usage})
    line = json.dumps({"custom_id": "c"}).encode()
    failure = asyncio.run(batch_answers.batch_replies("openai:x", line, {"c"}, lambda _: answer))["c"]

    assert isinstance(failure, TransientError) and isinstance(failure.partial, Reply)
    assert failure.partial.text == text[: LIMITS.answer] and failure.partial.usage == Usage(fresh=7, output=9)


def result_line(kind: str, call: str, text: str) -> dict[str, Any]:
    """A line of a batch's results, in which a call is answered."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    answer = {"result": {"type": "succeeded", "message": message}, "response": {"status_code": 200, "body": body}}
    return {"custom_id": call, **answer}


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_results_that_were_not_asked_for(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Of a batch's results only those of the calls that are asked for are made replies, each from its first line; the
    event loop has its turn while the others are passed over, and there may be so many of them."""
    made = count()
    foreign = [result_line(kind, f"{n:048x}", "x") for n in range(5_000)]
    lines = [
        result_line(kind, "c", "first"),
        result_line(kind, "c", "second"),
        *foreign,
        result_line(kind, "d", "last"),
    ]
    data = "\n".join(map(json.dumps, lines)).encode()

    def answer(asked: local_http.Asked) -> local_http.Answer:
        of_batch = json.dumps({"id": "b", "output_file_id": "f", "error_file_id": None}).encode()
        whole = asked.path.endswith(("/results", "/content"))
        return 200, {"content-type": "application/json"}, [data if whole else of_batch]

    class Counted(Reply):
        def __init__(self, **fields: Any) -> None:
            next(made)
            super().__init__(**fields)

    monkeypatch.setattr(api, "Reply", Counted)
    with local_http.answering(answer) as url:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", "sk-test")

        async def results() -> dict[str, Any]:
            provider = cast(BatchApi, make_provider(f"{kind}:x", CurrentState(debated())))
            try:
                return dict(await provider.batch_results("b", {"c", "d", "e"}))
            finally:
                await provider.close()

        found = asyncio.run(results())
        assert {call: getattr(reply, "text", None) for call, reply in found.items()} == {"c": "first", "d": "last"}
        assert next(made) == 2
        assert calls_without_a_turn(results) < 80_000
        data += b"\n{}" * 50_000
        with pytest.raises(TransientError, match="more than 50,000"):
            asyncio.run(results())


@pytest.mark.slow
def test_a_killed_process_takes_its_batches(server: Server, here: Path) -> None:
    """A command that is killed between the creation of its batches and their results is gone on with by `resume`, and
    no call is paid for twice; the cluster is refused."""
    Path("spec.json").write_text(json.dumps(contests.given(1)))
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
    debate("tournament", "new", "spring.yaml")
    plans = [debate("tournament", "plan", *flags, "spring.yaml", "--json").json for flags in ((), ("--batch",))]
    usual, batched = (plan["usd"] for plan in plans)

    assert batched == {name: pytest.approx(usd / 2, abs=2e-4) for name, usd in usual.items()} and usual["low"] > 0
    assert plans[1]["seconds"] is None and plans[1]["bound_by"] == "batches"
    assert json.dumps(plans[0]["schedule"]) == json.dumps(plans[1]["schedule"])
