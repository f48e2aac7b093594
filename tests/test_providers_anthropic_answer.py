"""An answer of the Messages API, put together from its stream: nothing in it is believed unseen."""

from __future__ import annotations

import time
from typing import Any

import pytest
from core.folding import many
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import EVENT, FoundPage, Spoke, Usage
from debate_orchestrator.providers.anthropic import MessagesAnswer as Answer

SPEC = "anthropic:claude-opus-5-5"


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def start(**usage: Any) -> dict[str, Any]:
    return event("message_start", message={"model": "m-1", "usage": {"input_tokens": 10} | usage})


def said(text: str, index: int = 0) -> dict[str, Any]:
    return event("content_block_delta", index=index, delta=event("text_delta", text=text))


def end(stop: Any = "end_turn", why: str | None = None, **usage: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": stop, "stop_details": {"explanation": why}}
    return [event("message_delta", delta=delta, usage={"output_tokens": 5} | usage), event("message_stop")]


def heard(*events: Any, before: Answer | None = None) -> Answer:
    answer = Answer(before)
    for one in events:
        answer.take(one)
    return answer


def test_a_whole_answer() -> None:
    """Text, model, tokens and stop reason are those of the stream; what it cost follows from them."""
    counts = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 50}
    counts["cache_creation"] = {"ephemeral_1h_input_tokens": 20}  # type: ignore[assignment]
    answer = heard(start(**counts), said("One "), said("two."), *end())
    reply = answer.reply(SPEC)

    assert answer.incomplete() is None
    assert (reply.text, reply.model, reply.stop, reply.ended) == ("One two.", "m-1", "end_turn", "whole")
    assert reply.usage == Usage(fresh=10, cached=100, written=30, written_hour=20, output=5)
    assert reply.cost == pytest.approx((10 + 100 * 0.05 + 30 * 1.25 + 20 * 2) * 4e-6 + 5 * 20e-6)


@pytest.mark.parametrize(
    ("events", "wrong"),
    [
        ([], "no answer in it"),
        ([start(), said("half")], "ended in the middle"),
        ([start(), said("half"), end()[0]], "ended in the middle"),
        ([start(), said("whole"), *end(None)], "does not say how it ended"),
        ([start(), said("whole"), *end(7)], "does not say how it ended"),
    ],
)
def test_what_is_no_answer(events: list[Any], wrong: str) -> None:
    """A stream that breaks off, or does not say how it ended, is no answer."""
    assert wrong in str(heard(*events).incomplete())


def test_thinking_is_no_speech() -> None:
    """What a model thinks is not what it says."""
    thought = event("content_block_delta", index=0, delta=event("thinking_delta", thinking="hm"))
    answer = heard(
        start(),
        event("content_block_start", index=0, content_block=event("thinking", thinking="")),
        thought,
        said("So.", 1),
        *end(),
    )

    assert answer.text == "So."
    assert [block["type"] for block in answer.blocks_to_resend()] == ["thinking", "text"]


def test_pages_that_were_found() -> None:
    """Pages that a search returned are kept, with what was cited of them; the text holds no citation."""
    results = [{"type": "web_search_result", "url": f"https://x/{n}", "title": f"T{n}"} for n in range(2)]
    block = event("web_search_tool_result", content=results)
    cited = {"url": "https://x/1", "title": "T1", "cited_text": "so it says"}
    citing = event("content_block_delta", index=1, delta=event("citations_delta", citation=cited))
    counts = {"server_tool_use": {"web_search_requests": 2}}
    answer = heard(
        start(), event("content_block_start", index=0, content_block=block), said("So.", 1), citing, *end(**counts)
    )
    reply = answer.reply(SPEC)

    assert reply.found == (
        FoundPage(url="https://x/0", title="T0"),
        FoundPage(url="https://x/1", title="T1", quote="so it says"),
    )
    assert reply.usage is not None and reply.usage.searches == 2
    assert all("cited" not in one and "citations" not in one for one in answer.blocks_to_resend())


def test_an_answer_that_goes_on() -> None:
    """An answer that was handed back in the middle of a search is one answer, with the tokens of both calls."""
    half = heard(start(), said("First. "), *end("pause_turn"))
    whole = heard(start(), said("Second."), *end(), before=half).reply(SPEC)

    assert whole.text == "First. Second."
    assert whole.usage == Usage(fresh=20, output=10)


def test_tokens_that_were_not_counted_are_unknown() -> None:
    """Without counts there is no usage and no cost, rather than none of it."""
    answer = heard(event("message_start", message={"model": "m"}), said("x"), *end())
    silent = answer.reply(SPEC)

    assert (silent.usage, silent.cost) == (None, None)
    assert heard().partial(SPEC) is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800half"),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.sampled_from(["text", "type", "url", "usage"]), some),
    max_leaves=6,
)  # fmt: skip
KINDS = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "ping"]
)
FIELDS = st.sampled_from(
    ["message", "usage", "index", "content_block", "delta", "model", "stop_reason", "content", "text", "type"]
)


@many
@given(st.lists(st.tuples(KINDS, st.dictionaries(FIELDS, JUNK)), max_size=8))
def test_no_stream_is_too_odd(events: list[tuple[str, dict[str, Any]]]) -> None:
    """Whatever a server sends, the answer is right or wrong but never a crash, and what is kept can be written down."""
    answer = heard(*(fields | {"type": kind} for kind, fields in events))
    answer.incomplete()
    if (partial := answer.partial("command:x")) is not None:
        kept = Spoke(turn="1.opening.a", reply=partial)
        assert EVENT.validate_json(kept.model_dump_json()) == kept


def test_small_pieces_take_time_in_proportion() -> None:
    """Text and thinking in small pieces take as long for each piece whether there are few of them or many."""

    def seconds(pieces: int) -> float:
        thought = event("content_block_delta", index=0, delta=event("thinking_delta", thinking="four"))
        answer, began = heard(start()), time.process_time()
        for _ in range(pieces):
            answer.take(thought)
            answer.take(said("four", 1))
        assert len(answer.text) == 4 * pieces
        return time.process_time() - began

    assert seconds(80_000) < 30 * max(seconds(8_000), 0.01)
