"""What a server sends leaves the event loop its turns: timers, signals and other debates wait for no answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import debates
import pytest
from counting import calls_without_a_turn
from hostile import KINDS, begun, ended, event, said, sending, thought

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers.casting import make_provider
from debate_orchestrator.util.errors import ExternalError

DELTA = {"type": "text_delta", "text": "."}
A_TURN = 80_000
"""Calls of functions that may come between two turns: about twenty milliseconds of work."""


def asking(spec: str) -> Callable[[], Coroutine[Any, Any, object]]:
    """A call for the first turn of a debate: its reply, or its error."""
    debate = fold([debates.opened_event()])

    async def asked() -> object:
        provider = make_provider(spec, CurrentState(debate))
        try:
            return await provider.reply(brief(debate, debate.due[0]), lambda piece: None)
        except ExternalError as error:
            return error
        finally:
            await provider.close()

    return asked


def test_an_answer_of_very_many_blocks() -> None:
    """An answer in more parts than any answer has is given up: its text is put together of them each time."""
    parts = [event({"type": "content_block_delta", "index": n, "delta": DELTA}) for n in range(1_100)]
    with sending(lambda: [begun("anthropic"), *parts, ended("anthropic")]) as server:
        assert "more than 1,000 blocks" in str(asyncio.run(asking(server.spec("anthropic"))()))


@pytest.mark.parametrize("kind", KINDS)
def test_small_pieces_share_a_turn(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn of the event loop takes as long as reading an event, so there is one for many small events."""
    body = begun(kind) + thought(kind, "a") * 5_000 + said(kind, "So.") + ended(kind)
    turns, sleep = [0], asyncio.sleep

    async def counted(seconds: float) -> None:
        turns[0] += not seconds
        await sleep(seconds)

    with sending(lambda: [body]) as server:
        ask = asking(server.spec(kind))
        monkeypatch.setattr(asyncio, "sleep", counted)
        assert isinstance(reply := asyncio.run(ask()), Reply) and reply.text == "So."
        assert turns[0] < 1_000
        assert calls_without_a_turn(ask) < A_TURN
