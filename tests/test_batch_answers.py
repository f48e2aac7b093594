"""What vendors answer about batches: only a whole answer can say that a call has no result, or there is no batch."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast

import local_http
import pytest
from core.folding import debated
from counting import calls_without_a_turn

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.providers import api, batch_answers
from debate_orchestrator.providers.batch_answers import ResultFile
from debate_orchestrator.providers.casting import make_provider
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.openai import CompletionsReply
from debate_orchestrator.providers.provider import BatchApi
from debate_orchestrator.util.errors import TransientError

KEY = "sk-proj-Zq8Vw3Lk9TbX2mNc7RfYh5Jd"


KINDS = ("anthropic", "openai")
JSON = {"content-type": "application/json"}
PAGE = b"<html>down for maintenance</html>"
ERROR = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'


async def asked(kind: str, request: Callable[[BatchApi], Any]) -> Any:
    """What comes of a request about batches."""
    provider = cast(BatchApi, make_provider(f"{kind}:x", CurrentState(debated())))
    try:
        return await asyncio.wait_for(request(provider), 20)
    finally:
        await provider.close()


@contextmanager
def answering(
    monkeypatch: pytest.MonkeyPatch, kind: str, answer: Callable[[local_http.Asked], local_http.Answer]
) -> Iterator[Callable[[Callable[[BatchApi], Any]], Any]]:
    """A server that answers so. Gives a function that makes a request about batches there."""
    with local_http.answering(answer) as url:
        monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
        yield lambda request: asyncio.run(asked(kind, request))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer",
    [
        *[
            ["x"],
            {"id": None},
            {"data": 5},
            {"data": ["x"]},
            {"id": f"b_{KEY}"},
            {"id": "b\n1 debate"},
            {"id": "b" * 201},
        ],
        *[
            {"data": {}, "has_more": False},
            {"data": []},
            {"data": [], "has_more": True},
        ],
        *[ERROR, PAGE, b"", b'{"data": [], "has_mo'],
    ],
    ids=lambda answer: str(answer)[:20],
)
def test_an_answer_that_is_no_batch(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, answer: Any) -> None:
    """An answer of another form than a batch is told as an outage, after which a batch is looked for as always. An id
    is one, too, that holds a key, which would be kept in the clear, or that is not one short line. A list is one that
    is not whole: it does not tell that a batch was not created."""
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    requests: list[Callable[[BatchApi], Any]] = [
        lambda provider: provider.create_batch("n", {"c": {}}),
        lambda provider: provider.find_batches("n", 1, 0),
        lambda provider: provider.batch_ended("b"),
        lambda provider: provider.batch_results("b", {"c"}),
    ]
    for headers in (JSON, {"content-type": "text/html"}):
        with answering(monkeypatch, kind, lambda http, headers=headers: (200, headers, [body])) as ask:
            for request in requests:
                with pytest.raises(TransientError) as failed:
                    ask(request)
                assert KEY not in str(failed.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("new", [False, True], ids=["the same", "new ones"])
def test_a_list_of_batches_that_never_ends(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, new: bool) -> None:
    """A list whose pages come again, or that goes on with new batches, is given up without a word on whether the batch
    was created, since it would be paid for again."""
    monkeypatch.setattr(batch_answers, "MAX_LISTED", 50)
    pages = count()

    def page(http: local_http.Asked) -> local_http.Answer:
        n = next(pages)
        return 200, JSON, [list_page(kind, range(n * 20, n * 20 + 20) if new else range(20), more=True)]

    why = "more than 50 batches" if new else "has a batch twice"
    with answering(monkeypatch, kind, page) as ask, pytest.raises(TransientError, match=why):
        ask(lambda provider: provider.find_batches("n", 4, 0))
    assert next(pages) <= 4


def list_page(kind: str, numbers: range, *, more: bool) -> bytes:
    """A page of a list of batches of one call each, whose names are their ids."""
    batches = [
        {"id": f"b{n}", "created_at": "2999-01-01T00:00:00Z" if kind == "anthropic" else 2**35,
         "metadata": {"name": f"b{n}"}, "request_counts": {"processing": n}}
        for n in numbers
    ]  # fmt: skip
    return json.dumps({"data": batches, "has_more": more, "last_id": batches[-1]["id"]}).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_on_a_later_page(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The pages of a list are followed to the last. If one of them is cut, the list tells nothing."""
    second = list_page(kind, range(2, 4), more=False)

    def page(http: local_http.Asked) -> local_http.Answer:
        return 200, JSON, [second if "after" in http.path else list_page(kind, range(2), more=True)]

    with answering(monkeypatch, kind, page) as ask:
        assert ask(lambda provider: provider.find_batches("b3", 3, 0)) == ["b3"]
        assert ask(lambda provider: provider.find_batches("b4", 4, 0)) == []
        for cut in (second[:-5], b"", ERROR, PAGE):
            second = cut
            with pytest.raises(TransientError):
                ask(lambda provider: provider.find_batches("b4", 4, 0))


@pytest.mark.parametrize(("text", "stop"), [("half", None), ("x" * (LIMITS.answer + 1), "stop")], ids=["cut", "long"])
def test_what_came_of_an_answer_that_is_not_whole(text: str, stop: str | None) -> None:
    """The text and the tokens of a result that can't be used are kept with its failure, since they were paid for."""
    answer = CompletionsReply()
    usage = {"prompt_tokens": 7, "completion_tokens": 9}
    answer.take({"choices": [{"message": {"content": text}, "finish_reason": stop}], "usage": usage})
    line = json.dumps({"custom_id": "c"}).encode()
    failure = asyncio.run(batch_answers.batch_replies("openai:x", [ResultFile(line, 1)], {"c"}, lambda _: answer))["c"]

    assert isinstance(failure, TransientError) and isinstance(failure.partial, Reply)
    assert failure.partial.text == text[: LIMITS.answer] and failure.partial.usage == Usage(fresh=7, output=9)


def result_line(call: str, text: str) -> dict[str, Any]:
    """A line of a batch's results, in which a call is answered, as either API has it."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    answer = {"result": {"type": "succeeded", "message": message}, "response": {"status_code": 200, "body": body}}
    return {"custom_id": call, **answer}


@pytest.mark.parametrize("kind", KINDS)
def test_results_that_were_not_asked_for(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Of a batch's results only those of the calls that are asked for are made replies, each from its first line; the
    event loop has its turn while the others are passed over, and there may be so many of them."""
    made = count()
    foreign = [result_line(f"{n:048x}", "x") for n in range(5_000)]
    lines = [result_line("c", "first"), result_line("c", "second"), *foreign, result_line("d", "last")]
    data = "\n".join(map(json.dumps, lines)).encode()

    class Counted(Reply):
        def __init__(self, **fields: Any) -> None:
            next(made)
            super().__init__(**fields)

    monkeypatch.setattr(api, "Reply", Counted)
    with answering(monkeypatch, kind, lambda http: results_of(http, data, 5_002)) as ask:

        def request(provider: BatchApi) -> Any:
            return provider.batch_results("b", {"c", "d", "e"})

        found = ask(request)
        assert {call: getattr(reply, "text", None) for call, reply in found.items()} == {"c": "first", "d": "last"}
        assert next(made) == 2
        assert calls_without_a_turn(lambda: asked(kind, request)) < 80_000
        data += b"\n{}" * 50_000
        with pytest.raises(TransientError, match="more than 50,000"):
            ask(request)


def results_of(http: local_http.Asked, data: bytes, completed: int, **batch: Any) -> local_http.Answer:
    """What a server answers on a batch of either API that has ended: itself, and its results."""
    whole = http.path.endswith(("/results", "/content"))
    counts = {"total": completed, "completed": completed, "failed": 0}
    told = {"id": "b", "status": "completed", "output_file_id": "f", "error_file_id": None, "request_counts": counts}
    return 200, JSON, [data if whole else json.dumps(told | batch).encode()]


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
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_results_that_are_not_whole(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, damage: str) -> None:
    """What comes in place of the results of a batch, or a part of them, is an outage: none of the calls is said to have
    no result, since it would be made and paid for again. White space around the lines is no damage."""
    data = DAMAGES[damage]
    with answering(monkeypatch, kind, lambda http: results_of(http, data, 3)) as ask:
        with pytest.raises(TransientError, match="no complete answer"):
            ask(lambda provider: provider.batch_results("b", {"c", "d", "e"}))
        for whole in (WHOLE, WHOLE.rstrip(), b"\n" + WHOLE.replace(b"\n", b"\r\n\n")):
            data = whole
            assert ask(lambda provider: provider.batch_results("b", {"c", "d", "e"})).keys() == {"c", "d", "e"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left", [30, -9, -8, -1])
def test_packed_results_that_break_off(here: Path, monkeypatch: pytest.MonkeyPatch, kind: str, left: int) -> None:
    """A packed body that ends before its compressed data does is an outage, even if the lines look whole."""
    packed = gzip.compress(WHOLE)

    def answer(http: local_http.Asked) -> local_http.Answer:
        status, headers, pieces = results_of(http, packed[:left], 2)
        of_results = http.path.endswith(("/results", "/content"))
        return status, {**headers, **({"content-encoding": "gzip"} if of_results else {})}, pieces

    with answering(monkeypatch, kind, answer) as ask:
        with pytest.raises(TransientError, match="compressed data that breaks off"):
            ask(lambda provider: provider.batch_results("b", {"c", "d"}))
        left = len(packed)
        assert ask(lambda provider: provider.batch_results("b", {"c", "d"})).keys() == {"c", "d"}


@pytest.mark.parametrize(
    ("batch", "data", "found"),
    [
        ({"output_file_id": None}, WHOLE, None),
        ({"status": "in_progress"}, WHOLE, None),
        ({"request_counts": {"total": 3, "completed": None, "failed": 0}}, WHOLE, None),
        ({"request_counts": None}, WHOLE, "cde"),
        ({"request_counts": None}, WHOLE[: WHOLE.rfind(b"\n", 0, -1) + 1], None),
        ({"request_counts": {"total": 0, "completed": 0, "failed": 0}}, b"", None),
        ({"request_counts": {"total": 3, "completed": 0, "failed": 0}}, b"", None),
        ({"request_counts": None, "status": "failed", "output_file_id": None}, b"", ""),
        ({"request_counts": None, "status": "cancelled", "output_file_id": None}, b"", ""),
    ],
)
def test_counts_of_openai(
    here: Path, monkeypatch: pytest.MonkeyPatch, batch: dict[str, Any], data: bytes, found: str | None
) -> None:
    """A batch of OpenAI's says how many results it has. One that does not has a result of each call if it was
    completed; one that was refused as a whole, or cancelled before it began, has none."""
    with answering(monkeypatch, "openai", lambda http: results_of(http, data, 3, **batch)) as ask:
        if found is None:
            with pytest.raises(TransientError):
                ask(lambda provider: provider.batch_results("b", {"c", "d", "e"}))
        else:
            assert ask(lambda provider: provider.batch_results("b", {"c", "d", "e"})).keys() == {*found}


@pytest.mark.parametrize("errors", [b"", WHOLE[:-20], PAGE])
def test_the_errors_of_a_batch_that_are_not_whole(here: Path, monkeypatch: pytest.MonkeyPatch, errors: bytes) -> None:
    """The file of errors of a batch of OpenAI's has to be whole as the one of its results."""
    counts: dict[str, int] | None = {"total": 4, "completed": 1, "failed": 3}
    output = json.dumps(result_line("x", "x")).encode()

    def answer(http: local_http.Asked) -> local_http.Answer:
        data = errors if "/errors/" in http.path else output
        return results_of(http, data, 4, error_file_id="errors", request_counts=counts)

    with answering(monkeypatch, "openai", answer) as ask:
        for known in (counts, None):
            counts = known
            with pytest.raises(TransientError, match="no complete answer"):
                ask(lambda provider: provider.batch_results("b", {"x", "c", "d", "e"}))
        errors = WHOLE
        assert ask(lambda provider: provider.batch_results("b", {"x", "c", "d", "e"})).keys() == {*"xcde"}
