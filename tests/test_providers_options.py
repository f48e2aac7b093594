"""Servers that refuse options of a request, each in its own way, and models that never stop."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import messages_server
import pytest
from chat_server import Answer, answering, chunks
from conftest import STATED, Run
from corpus import for_each
from test_providers_openai import PLAIN, SHAPED, ask

from debate_orchestrator.core.events import CallFailed
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import Paused, ProviderFailed, TransientError

Refuses = Callable[[dict[str, Any]], tuple[int, str] | None]
"""A request to the status and the body of its refusal; None if it is taken."""
LIMITED = PLAIN.model_copy(update={"target_words": 50, "max_words": 75})
LIMITED_SHAPE = SHAPED.model_copy(update={"max_tokens": 99})


def error(status: int, message: str, **more: Any) -> tuple[int, str]:
    return status, json.dumps({"error": {"message": message, **more}})


def llama_cpp_python(body: dict[str, Any]) -> tuple[int, str] | None:
    """Validation fails outside of its error handling, and the error repeats the whole request."""
    if body.get("response_format", {}).get("type") != "json_schema":
        return None
    found = {
        "type": "literal_error",
        "loc": ("body", "response_format", "type"),
        "msg": "Input should be 'text' or 'json_object'",
        "input": "json_schema",
    }
    return error(500, str([found, body]), type="internal_server_error")


def lm_studio(body: dict[str, Any]) -> tuple[int, str] | None:
    """An error that is a text, for all but a schema; here with a model that can't hold to one."""
    match body.get("response_format", {}).get("type"):
        case "json_object":
            return 400, json.dumps({"error": "'response_format.type' must be 'json_schema' or 'text'"})
        case "json_schema":
            return 400, json.dumps({"error": "Failed to compile the grammar of this model."})
    return None


def vllm_before_limits(body: dict[str, Any]) -> tuple[int, str] | None:
    """A version that takes no field that it does not know."""
    if unknown := next((name for name in ("stream_options", "max_completion_tokens") if name in body), None):
        found = {"type": "extra_forbidden", "loc": ("body", unknown), "msg": "Extra inputs are not permitted"}
        return 400, json.dumps({"object": "error", "message": str([found]), "code": 400})
    return None


def gemma(body: dict[str, Any]) -> tuple[int, str] | None:
    """A template of a chat without a system message."""
    return error(400, "System role not supported") if body["messages"][0]["role"] == "system" else None


def openrouter(body: dict[str, Any]) -> tuple[int, str] | None:
    """No server after the router takes all that is asked, and it does not say what."""
    if "response_format" in body:
        return error(404, "No endpoints found that can handle the requested parameters.", code=404)
    return None


def upstream(body: dict[str, Any]) -> tuple[int, str] | None:
    """A router that hands on what the server after it said."""
    if "response_format" in body:
        return error(400, "Provider returned error", metadata={"raw": "response_format: no"})
    return None


def openai_reasoning(body: dict[str, Any]) -> tuple[int, str] | None:
    """The vendor's newer models after a gateway, which refuse the older field."""
    if "max_tokens" in body:
        message = "Unsupported parameter: 'max_tokens' is not supported with this model."
        return error(400, f"{message} Use 'max_completion_tokens' instead.", param="max_tokens")
    return None


def everything(body: dict[str, Any]) -> tuple[int, str] | None:
    """A server that takes messages, and refuses one option after another."""
    for name in ("stream_options", "response_format", "max_tokens", "max_completion_tokens"):
        if name in body:
            return error(422, f"{name}: not implemented")
    return gemma(body)


def in_stream(body: dict[str, Any]) -> Answer | None:
    """The error of a server behind a router, which may have billed the call."""
    if body.get("response_format", {}).get("type") != "json_schema":
        return None
    failure = {"error": {"code": "server_error", "message": "response_format: not taken"}}
    return b": OPENROUTER PROCESSING\n\ndata: " + json.dumps(failure).encode() + b"\n\n"


def server_that(
    refuses: Callable[[dict[str, Any]], Answer | None], answer: Callable[[dict[str, Any]], Answer]
) -> Callable[[dict[str, Any]], Answer]:
    """What a server answers that refuses something and otherwise speaks."""
    return lambda body: refuses(body) or answer(body)


def hello(body: dict[str, Any]) -> Answer:
    return chunks([{"content": "Hello."}])


@pytest.mark.parametrize(
    ("refuses", "calls", "taken", "lacked"),
    [
        (lm_studio, 3, {"stream_options", "max_tokens"}, ("structured output",)),
        (vllm_before_limits, 2, {"response_format", "max_tokens"}, ()),
        (gemma, 2, {"response_format", "stream_options", "max_tokens"}, ()),
        (openrouter, 3, {"stream_options", "max_tokens"}, ("structured output",)),
        (upstream, 3, {"stream_options", "max_tokens"}, ("structured output",)),
        (openai_reasoning, 2, {"response_format", "stream_options", "max_completion_tokens"}, ()),
        (everything, 7, set(), ("limit of tokens", "structured output")),
    ],
)
def test_a_refused_option(refuses: Refuses, calls: int, taken: set[str], lacked: tuple[str, ...]) -> None:
    """A refused option is asked for in its next form at once, the others are kept, and the server is not asked for it
    again; the reply says what it lacks."""
    with answering(server_that(refuses, hello)) as server:
        first, second = ask(f"openai:x@{server.url}", LIMITED_SHAPE, LIMITED_SHAPE)

    assert (first.text, first.unsupported) == ("Hello.", lacked)
    assert second == first
    assert len(server.bodies) == calls + 1
    assert set(server.bodies[-1]) - {"model", "messages", "stream"} == taken
    assert "Be ? fair." in server.bodies[-1]["messages"][0]["content"]


@for_each(
    [
        (402, "This request requires more credits, or fewer max_tokens.", Paused),
        (429, "Rate limit reached: max_tokens a minute.", TransientError),
        (503, "Loading model", TransientError),
        (504, '{"@context": "https://schema.org"}', TransientError),
        (520, "max_tokens", TransientError),
        (400, "messages: odd", ProviderFailed),
    ]
)
def test_an_error_about_something_else(status: int, message: str, kind: type[Exception]) -> None:
    """An error about credit, load or the rest of a request takes no option away."""
    with answering(lambda body: error(status, message)) as server, pytest.raises(kind):
        ask(f"openai:x@{server.url}", LIMITED_SHAPE)

    assert len(server.bodies) == 1


def endless(word: str = "more ") -> Iterator[bytes]:
    """The stream of an answer that never ends."""
    begun = chunks([{"content": word}], None).partition(b"data: [DONE]")[0]
    return itertools.repeat(begun)


def test_an_endless_speech() -> None:
    """A stream is closed at twice the words of its phase, and what came of it is a cut reply. The limit that the
    server was told leaves room for a speech of that length and for thinking."""
    with answering(lambda body: endless()) as server:
        (reply,) = ask(f"openai:x@{server.url}", LIMITED)

    assert 150 <= len(reply.text.split()) < 400
    assert (reply.ended, reply.stop_reason) == ("cut", None)
    assert server.bodies[0]["max_tokens"] == 2 * 75 * 3 + 8_000


@pytest.mark.parametrize(("refuses", "billed"), [(everything, 0), (llama_cpp_python, 1), (in_stream, 1)])
def test_a_server_without_options_debates_well(
    refuses: Callable[[dict[str, Any]], Answer | None], billed: int, debate: Run, here: Path
) -> None:
    """Without any option, a model that answers in the shape that its brief shows still judges the debate. A call whose
    refusal may have been billed is on record."""

    def said(body: dict[str, Any]) -> Answer:
        last = body["messages"][-1]["content"]
        request = {"messages": [{"content": [{"text": last}]}]}
        return chunks([{"content": messages_server.coded(request, messages_server.answer(request))}])

    with answering(server_that(refuses, said)) as server:
        spec = f"openai:x@{server.url}"
        models = (f"--a={spec}", f"--b={spec}", f"--judge={spec}")
        setup = (*STATED, "--rounds=1", "--output=r.md")
        ran = debate("run", *setup, *models, "--trust", "--retry-for=5")

    assert ran.code == 0, ran.err
    assert "Winner: A" in ran.out
    assert "structured output" in Path("r.md").read_text(encoding="utf-8")
    failures = [event for event in read("r.journal.jsonl").events if isinstance(event, CallFailed)]
    assert [failure.maybe_billed for failure in failures] == [True] * billed
