"""Models that speak Chat Completions, asked over real connections: an independent fault server, and a scripted one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from chat_server import chunks, scripted
from corpus import for_each
from debates import opened_event
from llmock.pytest_plugin import LLMock

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.prompting.briefs import Brief, Message
from debate_orchestrator.providers.cast_providers import cast_problems, make_provider
from debate_orchestrator.providers.pricing import use_prices
from debate_orchestrator.providers.servers import key_name
from debate_orchestrator.util.errors import ExternalError, Paused, ProviderFailed, TransientError

SPEC = "openai:gpt-x"
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": False}
PLAIN = Brief(
    turn_id="1.opening.a", system="Be \ud800 fair.", messages=(Message(role="user", parts=("A", "B")),), wants="text"
)
SHAPED = PLAIN.model_copy(update={"wants": "json", "json_schema": SCHEMA})
TOLD = [{"content": "Hel"}, {"content": "lo."}]


def ask(spec: str = SPEC, *asked: Brief, retry_for: float = 20.0, on_text: Callable[[str], Any] = str) -> list[Reply]:
    """The replies of one provider to these briefs, each in an event loop of its own."""
    debate = fold([opened_event().with_settings(retry_for=retry_for)])
    provider = make_provider(spec, CurrentState(debate))

    async def reply(one: Brief) -> Reply:
        try:
            return await provider.reply(one, on_text)
        finally:
            await provider.close()

    return [asyncio.run(reply(one)) for one in asked or (PLAIN,)]


def test_a_reply(llmock: LLMock) -> None:
    """A reply is reported verbatim as it comes, with the model, the counts, and how it ended; its price is unknown.
    Where a shape is wanted, it is asked for strictly, and the reply is in it."""
    llmock.reply("Tabs, **always**.\n\nEnd.")
    heard: list[str] = []
    (reply,) = ask(on_text=heard.append)
    body = llmock.last_request.body

    assert "".join(heard) == reply.text == "Tabs, **always**.\n\nEnd."
    assert (reply.model, reply.stop_reason, reply.ended, reply.spec) == ("gpt-x", "stop", "whole", SPEC)
    assert reply.cost is None
    assert reply.usage is not None and reply.usage.uncached_input > 0 and reply.usage.output > 0
    assert [one["content"] for one in body["messages"]] == ["Be ? fair.", "A\n\nB"]
    assert [one["role"] for one in body["messages"]] == ["system", "user"]
    assert set(body) == {"model", "messages", "stream", "stream_options"}

    llmock.reset()
    (shaped,) = ask(SPEC, SHAPED)
    asked = llmock.last_request.body["response_format"]
    assert set(json.loads(shaped.text)) == {"x"} and shaped.unsupported == ()
    assert asked["type"] == "json_schema"
    assert (asked["json_schema"]["strict"], asked["json_schema"]["schema"]) == (True, SCHEMA)


@pytest.mark.parametrize(
    ("inject", "kind", "text"),
    [
        (lambda mock: mock.rate_limit(retry_after=7), TransientError, "HTTP 429"),
        (lambda mock: mock.fail(429, code="insufficient_quota", message="no quota"), Paused, "add credit"),
        (lambda mock: mock.fail(401, message="bad llmock-test-key"), ProviderFailed, r"HTTP 401: “bad \[key\]”"),
        (lambda mock: mock.context_overflow(), ProviderFailed, "does not fit its context"),
        (lambda mock: mock.truncate(after_chunks=4), TransientError, "without a finish_reason"),
        (lambda mock: mock.corrupt(after_chunks=4), TransientError, "JSONDecodeError"),
        (lambda mock: mock.stall(after_chunks=4), TransientError, "silence for 1 s"),
    ],
)
def test_a_fault(llmock: LLMock, inject: Callable[[LLMock], Any], kind: type[ExternalError], text: str) -> None:
    """Each fault of a server is the error that call_errors.py says it is, after one call; what had come of it is
    kept."""
    inject(llmock)
    with pytest.raises(kind, match=text) as failure:
        ask(retry_for=2 if "silence" in text else 20)

    assert type(failure.value) is kind and len(llmock.requests) == 1
    assert (getattr(failure.value, "after", None) == 7) is (text == "HTTP 429")
    partial = getattr(failure.value, "partial", None)
    assert partial is None or (partial.text and partial.stop_reason is None)


def test_counts() -> None:
    """Cached tokens are told apart, and a cost that the server reports is taken, unless a known price makes more."""
    usage = {"prompt_tokens": 90, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}, "cost": 0.02}
    strange_usage = {"prompt_tokens": "many", "cost": -1}
    own_key = usage | {"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.12}}
    unsaid = {key: value for key, value in own_key.items() if key != "is_byok"}
    usages = (usage, strange_usage, own_key, own_key | {"is_byok": False}, unsaid, usage | {"cost": 0})
    with scripted(*(chunks(TOLD, usage=usage) for usage in usages)) as server:
        spec = f"openai:x@{server.url}"
        counted, strange, byok, without, in_doubt = ask(spec, *[PLAIN] * 5)
        with use_prices([(spec, 1000.0, 10_000.0)]):
            (declared,) = ask(spec)

    # A gateway may state its own fee alone; so it does in doubt.
    assert byok.cost == in_doubt.cost == pytest.approx(0.121)
    assert (without.cost, declared.cost) == (0.001, pytest.approx(0.09 + 0.07))
    assert counted.usage == Usage(uncached_input=30, cached=60, output=7)
    assert counted.cost == 0.02
    assert (strange.text, strange.usage, strange.cost) == ("Hello.", None, 0.0)


@for_each(
    [
        *((chunks(TOLD, stop), "cut", "Hello.") for stop in ("length", "max_tokens", "model_length")),
        *((chunks(TOLD, stop), "refused", "Hello.") for stop in ("PROHIBITED_CONTENT", "content_filter: RECITATION")),
        (chunks(TOLD, "a word of its own"), "whole", "Hello."),
        (chunks([{"refusal": "I "}, {"refusal": "won't."}]), "refused", "I won't."),
        (chunks([{"reasoning": "hm"}, {"content": "a\ud800b"}], "eos"), "whole", "a?b"),
        (chunks(TOLD, "null").replace(b"data: [DONE]\n\n", chunks([{"content": "So."}])), "whole", "Hello.So."),
        (chunks(TOLD) + b"data: {half\n\n", "whole", "Hello."),
        (chunks(TOLD)[: -len(b"data: [DONE]\n\n")] + b"data: {half\n\n", "whole", "Hello."),
    ]
)
def test_an_end(sent: bytes, ended: str, text: str) -> None:
    """The word that an answer ends with says whether it is whole; what goes wrong after it takes nothing from it."""
    with scripted(sent) as server:
        (reply,) = ask(f"openai:x@{server.url}")

    assert (reply.ended, reply.text) == (ended, text)


@for_each(
    [
        b"<html>a page</html>",
        b"data: [DONE]\n\n",
        b'data: {"choices": "x", "model": "m"}\n\n',
        chunks([{"content": ["x"]}]),
        chunks(TOLD, stop=7),
        *(chunks(TOLD, stop=stop) for stop in ("error", "abort", "insufficient_system_resource", "TIMEOUT")),
        b'data: {"error": {"message": "overloaded", "code": 503}}\n\n',
    ]
)
def test_no_answer(sent: bytes) -> None:
    """What is not the stream of an answer is a broken one, to be asked for again."""
    with scripted(sent) as server, pytest.raises(TransientError):
        ask(f"openai:x@{server.url}")


def test_a_foreign_server_learns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server named by its address gets no key, organization, project or header that is meant for the vendor, only
    the key that is named after it; and nothing is sent on to where it points."""
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "sk-vendor")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: sk-vendor\nAuthorization: Bearer sk-vendor")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with scripted(chunks(TOLD), chunks(TOLD), (307, "")) as server:
        ask(f"openai:x@{server.url}")
        monkeypatch.setenv(key_name(server.url), "sk-own\n")
        ask(f"openai:x@{server.url}")
        with pytest.raises(ProviderFailed, match="HTTP 307"):
            ask(f"openai:x@{server.url}")

    assert [one["authorization"] for one in server.headers] == ["Bearer none", "Bearer sk-own", "Bearer sk-own"]
    assert "sk-vendor" not in json.dumps([server.headers, server.bodies])
    assert not [name for name in server.headers[0] if name.startswith(("x-", "openai"))]


def test_the_library_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no library, that is reported before a debate is opened."""
    assert cast_problems({"a": (SPEC,)}) == []
    assert len(cast_problems({"a": ("openai:", "openai:x@http://u@h/v1")})) == 2

    monkeypatch.setattr("debate_orchestrator.providers.openai.find_spec", lambda name: None)
    assert 'pip install "debate-orchestrator[openai]"' in cast_problems({"a": (SPEC,)})[0]
    with pytest.raises(ProviderFailed, match="pip install"):
        ask()
