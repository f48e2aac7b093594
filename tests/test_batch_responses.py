"""What vendors answer about batches: only a whole answer can say that a call has no result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import local_http
import pytest
import started
from batch_vendor import EMPTY_ANSWERS, JSON, KINDS, PAGE, RESULT_FAULTS, as_lines, batch_json, result_line
from core.folding import play_debate

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.providers import batch_responses
from debate_orchestrator.providers.cast_providers import make_provider
from debate_orchestrator.providers.provider import BatchApi
from debate_orchestrator.util.errors import TransientError

KEY = "sk-proj-Zq8Vw3Lk9TbX2mNc7RfYh5Jd"
ERROR = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
LINES = [result_line(call) for call in "cde"]
WHOLE = as_lines(LINES)


@contextmanager
def answering(
    monkeypatch: pytest.MonkeyPatch, kind: str, answer: Callable[[local_http.Asked], local_http.Answer]
) -> Iterator[Callable[[Callable[[BatchApi], Any]], Any]]:
    """A server that answers so. Gives a function that makes a request about batches there."""
    with local_http.answering(answer) as url, asyncio.Runner() as runner:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
        provider = cast(BatchApi, make_provider(f"{kind}:x", CurrentState(play_debate())))

        async def asked(request: Callable[[BatchApi], Any]) -> Any:
            return await asyncio.wait_for(request(provider), started.PATIENCE)

        try:
            yield lambda request: runner.run(asked(request))
        finally:
            runner.run(provider.close())


def results_of(kind: str, http: local_http.Asked, data: bytes, **more: Any) -> local_http.Answer:
    """What a server answers on a batch of either API that has ended: itself, and its results."""
    whole = http.path.endswith(("/results", "/content"))
    return 200, JSON, [data if whole else json.dumps(batch_json(kind, "b", **more)).encode()]


class Noted(batch_responses.ResultLine):
    said: list[str]


def test_half_a_character_in_a_result() -> None:
    """It is replaced in its text, as in a stream, so that a batch that is paid for can be used. A whole one stays."""
    line = batch_responses.parse_documented("m", Noted, rb'{"custom_id": "c", "said": ["a\ud800b", "\ud83d\ude00"]}')
    assert line.said == ["a?b", "\U0001f600"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_no_batch(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """An answer of another form than a batch is reported as an outage. So is an id that holds a key, which would be
    kept in the clear, or that is not one short line."""
    shapes: list[Any] = [["x"], {"id": None}, {"id": f"b_{KEY}"}, {"id": "b\n1 debate"}]
    requests: list[Callable[[BatchApi], Any]] = [
        lambda provider: provider.create_batch({"c": {}}, "file"),
        lambda provider: provider.batch_ended("b"),
        lambda provider: provider.batch_results("b", {"c"}),
    ]
    for body in (*(json.dumps(shape).encode() for shape in shapes), ERROR, PAGE, b'{"id": "b", "proc'):
        headers = {"content-type": "text/html"} if body == PAGE else JSON
        with answering(monkeypatch, kind, lambda http, sent=(200, headers, [body]): sent) as ask:
            for request in requests:
                with pytest.raises(TransientError) as failed:
                    ask(request)
                assert KEY not in str(failed.value)


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


def test_results_have_a_limit_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results with more lines than a response may have are refused, empty ones too; as many as allowed are skipped, and
    the event loop has its turn for the others alone."""
    turns, sleep = list[float](), asyncio.sleep

    async def counted(seconds: float) -> None:
        turns.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr(batch_responses.asyncio, "sleep", counted)

    def lines(data: bytes) -> Any:
        return asyncio.run(batch_responses.result_lines("x", data, batch_responses.ResultLine, {"c"}))

    assert lines(b"\n" * 899_999 + as_lines([result_line("c")])).keys() == {"c"} and len(turns) == 1
    with pytest.raises(TransientError, match="more than 900,000 lines"):
        lines(b"\n" * 900_001)


@pytest.mark.parametrize("kind", [pytest.param("anthropic", marks=pytest.mark.slow), "openai"])
def test_results_that_are_not_whole(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What comes in place of the results of a batch, a part of them, or results of other calls, is an outage: none of
    the calls is said to have no result, since it would be made and paid for again. White space around the lines, or a
    byte order mark before them, is not damage. Answers that break off hold up no others."""
    first = as_lines(LINES[:1])
    foreign = as_lines([result_line(f"{n:048x}") for n in range(5_000)])
    damages = [
        *(as_lines(change(LINES)) for change in RESULT_FAULTS.values()),
        *(PAGE, ERROR, json.dumps(json.loads(ERROR), indent=1).encode(), WHOLE[: len(WHOLE) * 2 // 3], first + PAGE),
        *(first * 3, WHOLE + b'{"custom_id": "f"}', foreign),
    ]
    sent = [b""]
    with answering(monkeypatch, kind, lambda http: results_of(kind, http, sent[0])) as ask:

        def results(data: bytes) -> Any:
            sent[0] = data
            return ask(lambda provider: provider.batch_results("b", {"c", "d", "e"}))

        for damaged in damages:
            with pytest.raises(TransientError, match="no complete answer"):
                results(damaged)
        assert results(as_lines(EMPTY_ANSWERS(LINES))) == {}
        for whole in (WHOLE, WHOLE.rstrip(), b"\n" + WHOLE.replace(b"\n", b"\r\n\n"), b"\xef\xbb\xbf" + WHOLE):
            assert results(whole).keys() == {"c", "d", "e"}
