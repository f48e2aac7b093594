"""Models that speak the Messages API: what is sent, what is believed of their streams, and what never goes wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import debates
import pytest
from conftest import STATED, Run
from corpus import for_each
from messages_server import Server, serving

from debate_orchestrator.core.events import CallFailed
from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import FoundPage, Reply, Usage
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers.anthropic import MessagesReply as Answer
from debate_orchestrator.providers.cast_providers import make_provider
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import ProviderFailed, TransientError

SETUP = (*STATED, "--output=r.md")
KEY = "sk-test-0123456789abcdef"
SPEC = "anthropic:claude-opus-5-5"
PAUSED: dict[str, Any] = {"text": "First. ", "stop": "pause_turn"}


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with serving(Server()) as made:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        yield made


def ask(spec: str, retry_for: float = 600.0, on_text: Callable[[str], Any] = str, **changes: Any) -> Reply:
    """One call of a model named so, for the first turn of a debate."""
    debate = fold([debates.opened_event().with_settings(retry_for=retry_for)])
    provider = make_provider(spec, CurrentState(debate))

    async def asked() -> Reply:
        try:
            put = brief(debate, debate.due[0]).model_copy(update=changes)
            return await provider.reply(put, on_text)
        finally:
            await provider.close()

    return asyncio.run(asked())


def test_the_layout_on_the_wire(debate: Run, server: Server) -> None:
    """One neutral system text for all seats; blocks that only ever grow at their end; the task last, uncached;
    at most four breakpoints, and none if no call will read what is written. A judge's call carries the schema of its
    reply. No call has a temperature, a forced tool or a half answer to be gone on from: current models refuse them."""
    assert debate("run", *SETUP, "--rounds=2").code == 0
    seen = server.requests
    texts = [[block["text"] for message in one["messages"] for block in message["content"]] for one in seen]

    assert len({json.dumps(one["system"]) for one in seen}) == 1
    for before, after in pairwise(texts):
        shared = min(len(before), len(after)) - 1
        assert before[:shared] == after[:shared]
    for one in seen:
        blocks = [block for message in one["messages"] for block in message["content"]]
        breakpoints = [place for place, block in enumerate(blocks) if "cache_control" in block]
        assert "cache_control" not in blocks[-1]
        assert len(breakpoints) <= 4
    last = [one for one, blocks in zip(seen, texts, strict=True) if "# Your task: Final" in blocks[-1]]
    assert len(last) == 1
    assert all("cache_control" not in json.dumps(one["messages"]) for one in (*last, seen[-1]))
    assert sum(one.cached for one in server.counted) > sum(one.cache_write_5m for one in server.counted)

    shapes = [one.get("output_config", {}).get("format", {}).get("type") for one in seen]
    assert (shapes.count(None), shapes.count("json_schema"), len(shapes)) == (12, 4, 16)
    for one in seen:
        assert not {"temperature", "top_p", "top_k", "tool_choice"} & set(one)
        assert one["messages"][-1]["role"] == "user" and one["stream"] is True
    assert {headers["Accept-Encoding"] for headers in server.headers} == {"identity"}


def test_a_cast_names_any_server(debate: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seat may be filled from an address, which gets the key that is named after its host and not the vendor's."""
    url, host = server.url, f"DEBATE_KEY_127_0_0_1_{server.url.rpartition(':')[2]}"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OLLAMA_HOST", url)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-gateway: secret-gateway")
    seats = (f"--a=anthropic:m@{url}", f"--b=ollama:m@{url}", f"--judge=anthropic:n@{url}")
    first = debate("run", *SETUP, "--rounds=1", *seats)
    keys = set(server.keys)
    monkeypatch.setenv(host, "the-hosts-own")
    ask(f"anthropic:m@{url}")

    assert first.code == 0, first.err
    assert keys == {"Bearer none"}
    assert not any("secret-gateway" in str(one) for one in server.headers)
    assert server.keys[-1] == "Bearer the-hosts-own"
    assert KEY not in str(server.keys)
    assert "$0.00" in first.err  # a server of one's own costs nothing


def test_search(server: Server) -> None:
    """Where debaters may search, pages are kept with the speech, an answer that pauses is continued, and no
    citation is ever sent back. A server that knows no search is asked at once without it, and that is on record."""
    result = {"type": "web_search_result", "url": "https://x/1", "title": "T", "encrypted_content": "e"}
    block = {"type": "web_search_tool_result", "tool_use_id": "t", "content": [result]}
    cited = {"type": "web_search_result_location", "url": "https://x/1", "title": "T"}
    cited |= {"cited_text": "so", "encrypted_index": "i"}
    first = PAUSED | {"blocks": [block], "citations": [cited]}
    server.problem = lambda request, n: first if n == 0 else {"text": "Then."}
    reply = ask("anthropic:m", search=True)

    assert reply.text == "First. Then."
    assert reply.found_pages == (FoundPage(url="https://x/1", title="T", quote="so"),)
    assert [one["tools"][0]["name"] for one in server.requests] == ["web_search"] * 2
    resent = server.requests[1]["messages"][-1]
    assert resent["role"] == "assistant"
    assert [one["type"] for one in resent["content"]] == ["web_search_tool_result", "text"]
    assert "cited_text" not in json.dumps(resent)

    refusal = {"status": 400, "message": "tools.0: web_search is not supported"}
    server.problem = lambda request, n: refusal if "tools" in request else None
    assert ask("anthropic:m", search=True).unsupported == ("search",) and len(server.requests) == 4
    refusal = {"status": 400, "body": {"error": "Bad Request", "message": "web_search is not supported"}}
    assert ask("anthropic:m", search=True).unsupported == ("search",)


def test_what_came_before_a_pause_is_kept(server: Server) -> None:
    """Where the request that continues with a paused answer fails, the error brings what was answered and paid for.
    A block with NaN is no JSON that a request can have: the next try asks anew."""
    server.problem = lambda request, n: PAUSED if n == 0 else {"status": 529}
    with pytest.raises(TransientError) as raised:
        ask("anthropic:m", search=True)
    partial = raised.value.partial
    assert partial is not None and partial.text == "First. " and partial.usage.output > 0
    assert raised.value.maybe_billed

    odd = {"type": "server_tool_use", "input": {"n": float("nan")}}
    server.problem = lambda request, n: PAUSED | {"blocks": [odd]}
    with pytest.raises(TransientError, match="not plain data"):
        ask("anthropic:m", search=True)
    assert len(server.requests) == 3


HALF = {"text": "First. ", "after": 3, "then": "error"}


@pytest.mark.parametrize(
    "faults",
    [
        *([PAUSED, {"status": status}] for status in (400, 402)),
        *([HALF | {"message": message}] for message in ("Your credit balance is too low", "context window exceeded")),
    ],
)
def test_what_came_before_an_error_is_on_record(debate: Run, server: Server, faults: list[dict[str, Any]]) -> None:
    """Also where the request that continues a paused reply fails for good, and where a stream ends with an error that
    is not one to be asked again: what came was paid for, at a price that is not known."""
    server.problem = lambda request, n: faults[n]
    ran = debate("run", *SETUP, f"--a={SPEC}", "--b=rehearse", "--judge=rehearse", "--search", "--rounds=1")
    (failed,) = [event for event in read("r.journal.jsonl").events if isinstance(event, CallFailed)]

    assert ran.code in (3, 4) and len(server.requests) == len(faults)
    assert failed.maybe_billed and failed.reply is not None and failed.reply.text == "First. "
    assert failed.reply.cost is None and failed.reply.estimated_cost


@pytest.mark.parametrize("fault", [{"status": 529}, {"close": True}, {"text": "Half", "after": 2, "then": "drop"}])
def test_a_paused_answer_is_continued_by_the_next_try(server: Server, fault: dict[str, Any]) -> None:
    """The part before the pause is asked for once and paid for once, however often its continuation fails."""
    faults = [PAUSED, fault, fault, {"text": "Then. ", "stop": "pause_turn"}, fault]
    server.problem = lambda request, n: faults[n] if n < len(faults) else {"text": "Last."}
    debate, failures, heard = fold([debates.opened_event()]), list[TransientError](), list[str]()
    provider = make_provider("anthropic:claude-opus-5-5", CurrentState(debate))
    put = brief(debate, debate.due[0]).model_copy(update={"search": True})

    async def asked() -> Reply:
        try:
            for _ in range(3):
                heard.clear()
                try:
                    await provider.reply(put, heard.append)
                except TransientError as failure:
                    failures.append(failure)
            heard.clear()
            return await provider.reply(put, heard.append)
        finally:
            await provider.close()

    reply = asyncio.run(asked())
    asked_again = [request["messages"][len(put.messages) :] for request in server.requests]
    resent = [[block["text"] for one in messages for block in one["content"]] for messages in asked_again]
    assert resent == [[], ["First. "], ["First. "], ["First. "], ["First. ", "Then. "], ["First. ", "Then. "]]
    assert reply.text == "First. Then. Last." == "".join(heard)
    assert len(failures) == 3
    # Each part is on record, and counted, with the first failure after it.
    parts = [failure.partial for failure in failures]
    assert isinstance(parts[0], Reply) and isinstance(parts[2], Reply)
    assert parts[0].text.startswith("First. ") and parts[2].text.startswith("First. Then. ")
    assert (parts[1] is not None) == ("after" in fault)
    assert reply.usage is not None and reply.usage.output == 2


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("aiohttp.connector.aiohappyeyeballs.start_connection", OSError(24, "Too many open files")),
        ("aiohttp.connector.aiohappyeyeballs.start_connection", TimeoutError()),
        ("debate_orchestrator.providers.api.import_module", OSError(24, "Too many open files")),
    ],
)
def test_a_call_without_a_connection_is_not_billed(
    server: Server, monkeypatch: pytest.MonkeyPatch, error: OSError, place: str
) -> None:
    """Where this machine opens no connection, or no file of the SDK, nothing was sent: the call costs nothing, and is
    made again. What is done with a reply opens no file."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(place, fail)
    with pytest.raises(TransientError) as raised:
        ask("anthropic:m")

    assert raised.value.not_begun and not raised.value.maybe_billed and raised.value.retry_for is None
    assert ("`ulimit -n`" in str(raised.value)) == (error.errno == 24), raised.value
    assert server.requests == []
    code = (
        "import resource; from debate_orchestrator.providers import api; from debate_orchestrator.util import escapes; "
    )
    code += "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); "
    code += r"print(ascii([api.clean('\ud83d\ude00'), escapes._meaning(r'\ud83d\ude00')]))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert printed == r"['\U0001f600', '\xf0\x9f\x98\x80']" "\n"


def test_pieces_are_told_as_they_come(server: Server) -> None:
    """What is heard on the way is, together, the speech; the first piece tells that it has begun."""
    heard: list[str] = []
    assert ask("anthropic:m", on_text=heard.append).text == "".join(heard)
    assert heard[0] == "" and len(heard) > 3


def test_no_redirect_is_followed(server: Server) -> None:
    """A server that sends a call elsewhere gets it nowhere: a key would go along."""
    server.problem = lambda request, n: {"status": 307, "headers": {"location": f"{server.url}/elsewhere"}}
    with pytest.raises(ProviderFailed):
        ask("anthropic:m")

    assert len(server.requests) == 1


def stream_event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def begun(**usage: Any) -> dict[str, Any]:
    return stream_event("message_start", message={"model": "m-1", "usage": {"input_tokens": 10} | usage})


def said(text: str, index: int = 0) -> dict[str, Any]:
    return stream_event("content_block_delta", index=index, delta=stream_event("text_delta", text=text))


def ended(stop: Any = "end_turn", why: str | None = None, **usage: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": stop, "stop_details": {"explanation": why}}
    return [
        stream_event("message_delta", delta=delta, usage={"output_tokens": 5} | usage),
        stream_event("message_stop"),
    ]


def heard(*events: Any, before: Answer | None = None) -> Answer:
    answer = Answer(before)
    for one in events:
        answer.feed(one)
    return answer


def test_output_that_is_not_counted_has_no_price() -> None:
    """The count at the end of a stream is that of the reply: without it the cost is unknown, and no later event takes
    back what was counted."""
    begins = begun(output_tokens=1)
    for uncounted in (ended(output_tokens=None), ended(output_tokens="5"), ended(output_tokens=10**15)):
        answer = heard(begins, said("One."), *uncounted)
        assert answer.reply(SPEC).cost is None and heard(begins, *ended(), before=answer).reply(SPEC).cost is None
    counted = heard(begins, said("One."), begun(input_tokens=0), *ended(output_tokens=0), *ended()).reply(SPEC)
    assert counted.usage and (counted.usage.uncached_input, counted.usage.output) == (10, 5)


def test_a_whole_answer() -> None:
    """Text, model, tokens and stop reason are those of the stream; what it cost follows from them."""
    counts = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 50}
    counts["cache_creation"] = {"ephemeral_1h_input_tokens": 20}  # type: ignore[assignment]
    answer = heard(begun(**counts), said("One "), said("two."), *ended())
    reply = answer.reply(SPEC)

    assert answer.incomplete() is None
    assert (reply.text, reply.model, reply.stop_reason, reply.ended) == ("One two.", "m-1", "end_turn", "whole")
    assert reply.usage == Usage(uncached_input=10, cached=100, cache_write_5m=30, cache_write_1h=20, output=5)
    assert reply.cost == pytest.approx((10 + 100 * 0.05 + 30 * 1.25 + 20 * 2) * 4e-6 + 5 * 20e-6)


@for_each(
    [
        ([], "no answer in it"),
        ([begun(), said("half")], "ended in the middle"),
        ([begun(), said("half"), ended()[0]], "ended in the middle"),
        ([begun(), said("whole"), *ended(None)], "does not say how it ended"),
        ([begun(), said("whole"), *ended(7)], "does not say how it ended"),
        ([begun(), said("half"), *ended("abort")], "ended with “abort”"),
    ]
)
def test_what_is_no_answer(events: list[Any], wrong: str) -> None:
    """A stream that breaks off, or does not say how it ended, is not an answer."""
    assert wrong in str(heard(*events).incomplete())
