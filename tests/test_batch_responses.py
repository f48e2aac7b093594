"""What vendors answer about batches: only a whole answer can say that a call has no result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import local_http
import pytest
import started
from core.folding import play_debate

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.providers import batch_responses
from debate_orchestrator.providers.cast_providers import make_provider
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.provider import BatchApi
from debate_orchestrator.util.errors import TransientError

KEY = "sk-proj-Zq8Vw3Lk9TbX2mNc7RfYh5Jd"


KINDS = ("anthropic", "openai")
JSON = {"content-type": "application/json"}
PAGE = b"<html>down for maintenance</html>"
ERROR = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'


def made(kind: str) -> BatchApi:
    """A provider with batches."""
    return cast(BatchApi, make_provider(f"{kind}:x", CurrentState(play_debate())))


async def asked(provider: BatchApi, request: Callable[[BatchApi], Any]) -> Any:
    """What comes of a request about batches."""
    return await asyncio.wait_for(request(provider), started.PATIENCE)


@contextmanager
def answering(
    monkeypatch: pytest.MonkeyPatch, kind: str, answer: Callable[[local_http.Asked], local_http.Answer]
) -> Iterator[Callable[[Callable[[BatchApi], Any]], Any]]:
    """A server that answers so. Gives a function that makes a request about batches there."""
    with local_http.answering(answer) as url, asyncio.Runner() as runner:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
        provider = made(kind)
        try:
            yield lambda request: runner.run(asked(provider, request))
        finally:
            runner.run(provider.close())


def test_half_a_character_in_a_result() -> None:
    """It is replaced in its text, as in a stream, so that a batch that is paid for can be used. A whole one stays."""
    line = batch_responses.parse_part("m", Noted, rb'{"custom_id": "c", "said": ["a\ud800b", "\ud83d\ude00"]}')
    assert line.said == ["a?b", "\U0001f600"]


class Noted(batch_responses.ResultLine):
    said: list[str]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer",
    [
        *(["x"], {"id": None}, {"id": f"b_{KEY}"}, {"id": "b\n1 debate"}),
        *(ERROR, PAGE, b'{"id": "b", "proc'),
    ],
    ids=lambda answer: str(answer)[:20],
)
def test_an_answer_that_is_no_batch(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, answer: Any) -> None:
    """An answer of another form than a batch is reported as an outage. So is an id that holds a key, which would be
    kept in the clear, or that is not one short line."""
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    requests: list[Callable[[BatchApi], Any]] = [
        lambda provider: provider.create_batch({"c": {}}, "file"),
        lambda provider: provider.batch_ended("b"),
        lambda provider: provider.batch_results("b", {"c"}),
    ]
    headers = JSON if body[:1] in (b"{", b"[") else {"content-type": "text/html"}
    with answering(monkeypatch, kind, lambda http: (200, headers, [body])) as ask:
        for request in requests:
            with pytest.raises(TransientError) as failed:
                ask(request)
            assert KEY not in str(failed.value)


def batch(kind: str, id: str, size: int = 3, created: int = 2**35, **more: Any) -> dict[str, Any]:
    """A batch of either API that has ended, and whose name is its id."""
    if kind == "anthropic":
        counts = dict.fromkeys(("processing", "errored", "canceled", "expired"), 0) | {"succeeded": size}
        vendor_batch = {"created_at": datetime.fromtimestamp(created, UTC).isoformat(), "processing_status": "ended"}
    else:
        counts = {"total": size, "completed": size, "failed": 0}
        vendor_batch = {"created_at": created, "status": "completed", "input_file_id": f"in-{id}"}
        vendor_batch |= {"metadata": {"name": id}, "output_file_id": "f"}
    return {"id": id, **vendor_batch, "request_counts": counts, **more}


def result_line(call: str, text: str) -> dict[str, Any]:
    """A line of a batch's results, in which a call is answered, as either API has it."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    answer = {"result": {"type": "succeeded", "message": message}, "response": {"status_code": 200, "body": body}}
    return {"custom_id": call, **answer}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_results_of_another_batch(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Results of other calls say nothing of ours, and are never a part of our results."""
    foreign = [json.dumps(result_line(f"{n:048x}", "x")).encode() for n in range(5_000)]
    data = b"\n".join(foreign)
    with answering(monkeypatch, kind, lambda http: results_of(kind, http, data)) as ask:

        def request(provider: BatchApi) -> Any:
            return provider.batch_results("b", {"c", "d", "e"})

        with pytest.raises(TransientError, match="more results than the 3 calls of a batch"):
            ask(request)


def results_of(kind: str, http: local_http.Asked, data: bytes, **more: Any) -> local_http.Answer:
    """What a server answers on a batch of either API that has ended: itself, and its results."""
    whole = http.path.endswith(("/results", "/content"))
    return 200, JSON, [data if whole else json.dumps(batch(kind, "b", **more)).encode()]


LIMIT = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}


@pytest.mark.parametrize(
    ("errors", "why"),
    [(LIMIT, "failed: “Enqueued token limit reached”."), *((odd, "failed.") for odd in (None, "no", {"data": [None]}))],
)
def test_a_batch_that_is_refused_as_a_whole(monkeypatch: pytest.MonkeyPatch, errors: Any, why: str) -> None:
    """Each of its calls is on record with OpenAI's words, if there are any in the documented shape."""

    def answer(http: local_http.Asked) -> local_http.Answer:
        return results_of("openai", http, b"", status="failed", output_file_id=None, errors=errors)

    with answering(monkeypatch, "openai", answer) as ask:
        failures = ask(lambda provider: provider.batch_results("b", {"c"}))
    assert str(failures["c"]) == f"openai:x gave no answer in its batch: status {why}"


WHOLE = b"".join(json.dumps(result_line(call, call * 20)).encode() + b"\n" for call in "cde")
DAMAGES = {
    "a page": PAGE,
    "an error": ERROR,
    "an error in lines": json.dumps(json.loads(ERROR), indent=1).encode(),
    "nothing": b"",
    "cut in a line": WHOLE[: len(WHOLE) * 2 // 3],
    "cut at a line": WHOLE[: WHOLE.rfind(b"\n", 0, -1) + 1],
    "a line twice": WHOLE.splitlines(keepends=True)[0] * 3,
    "a page behind": WHOLE.splitlines(keepends=True)[0] + PAGE,
    "a line more": WHOLE + WHOLE.splitlines()[0],
    "a line without a result": WHOLE + b'{"custom_id": "f"}',
    **{
        f"lines with {what}": b"\n".join(json.dumps({"custom_id": call} | line).encode() for call in "cde")
        for what, line in {
            "ids alone": {},
            "what is not a result": {"result": {"type": "processing"}, "response": None, "error": None},
            "no message": {"result": {"type": "succeeded"}, "response": {"status_code": 200, "body": None}},
            "a text": {"result": "{}", "response": {"status_code": 200, "body": "{}"}},
            "an empty answer": {
                "result": {"type": "succeeded", "message": {}},
                "response": {"status_code": 200, "body": {}},
            },
            "an answer and an error": {
                "result": None,
                "response": {"status_code": 200, "body": {}},
                "error": {},
            },
        }.items()
    },
}


def test_results_have_a_limit_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results with more lines than a response may have are refused, empty ones too; as many as allowed are skipped."""
    monkeypatch.setattr(batch_responses, "LIMITS", LIMITS._replace(max_response_lines=1_000))
    line = json.dumps(result_line("c", "x")).encode()

    def lines(data: bytes) -> Any:
        return asyncio.run(batch_responses.result_lines("x", data, batch_responses.ResultLine, {"c"}))

    assert lines(b"\n" * 999 + line).keys() == {"c"}
    with pytest.raises(TransientError, match="more than 1,000 lines"):
        lines(b"\n" * 1_000 + line)


@pytest.mark.slow
def test_empty_lines_of_results_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop has its turn once for many empty lines, not for each: as many as are allowed are read soon."""
    turns = 0
    sleep = asyncio.sleep

    async def counted(seconds: float) -> None:
        nonlocal turns
        turns += 1
        await sleep(seconds)

    monkeypatch.setattr(batch_responses.asyncio, "sleep", counted)
    data = b"\n" * LIMITS.max_response_lines
    assert asyncio.run(batch_responses.result_lines("x", data, batch_responses.ResultLine, {"c"})) == {}
    assert 100 < turns < LIMITS.max_response_lines / 100


@pytest.mark.parametrize("kind", [pytest.param("anthropic", marks=pytest.mark.slow), "openai"])
def test_results_that_are_not_whole(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What comes in place of the results of a batch, or a part of them, is an outage: none of the calls is said to have
    no result, since it would be made and paid for again. White space around the lines, or a byte order mark before
    them, is not damage."""
    data = b""
    with answering(monkeypatch, kind, lambda http: results_of(kind, http, data)) as ask:
        for damage, damaged in DAMAGES.items():
            data = damaged
            if damage == "lines with an empty answer":  # which break off, and hold up no others
                assert ask(lambda provider: provider.batch_results("b", {"c", "d", "e"})) == {}
            else:
                with pytest.raises(TransientError, match="no complete answer"):
                    ask(lambda provider: provider.batch_results("b", {"c", "d", "e"}))
        for whole in (WHOLE, WHOLE.rstrip(), b"\n" + WHOLE.replace(b"\n", b"\r\n\n"), b"\xef\xbb\xbf" + WHOLE):
            data = whole
            assert ask(lambda provider: provider.batch_results("b", {"c", "d", "e"})).keys() == {"c", "d", "e"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_created_batch_that_is_another(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What is told of another batch than the one that was to be created does not say that it was created."""
    with answering(monkeypatch, kind, lambda http: (200, JSON, [json.dumps(batch(kind, "b")).encode()])) as ask:
        with pytest.raises(TransientError, match="than the one that was to be created"):
            ask(lambda provider: provider.create_batch({"c": {}}, "in-n"))
        assert ask(lambda provider: provider.create_batch({"c": {}, "d": {}, "e": {}}, "in-b")) == "b"
