"""What a status, a header, a silence or an error of a library amounts to, and what may be said of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from email.utils import formatdate
from types import SimpleNamespace

import httpx2
import pytest
from core.folding import many
from corpus import for_each
from fake_clock import FakeClockLoop, skipped_seconds
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.providers import event_stream
from debate_orchestrator.providers.api import http_options
from debate_orchestrator.providers.call_errors import (
    cause,
    http_error,
    is_refused_connection,
    quote,
    retry_after,
)
from debate_orchestrator.providers.event_stream import events, limit_body
from debate_orchestrator.providers.limits import LIMITS, OverLimit, SilenceClock
from debate_orchestrator.providers.servers import server
from debate_orchestrator.util.errors import Paused, ProviderFailed, TransientError
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line

STATUSES = [
    (429, "slow down", "rate_limit_error", TransientError),
    (529, "", "overloaded_error", TransientError), (500, "", "", TransientError),
    (502, "<html>", "", TransientError), (408, "", "", TransientError),
    (200, "Overloaded", "overloaded_error", TransientError),
    (401, "bad key", "", ProviderFailed), (403, "", "", ProviderFailed),
    (404, "no model", "", ProviderFailed), (400, "odd", "", ProviderFailed),
    (413, "", "request_too_large", ProviderFailed), (400, "prompt is too long: 9 tokens", "", ProviderFailed),
    (400, "", "context_length_exceeded", ProviderFailed),
    (402, "", "", Paused), (429, "x", "insufficient_quota", Paused),
    (400, "Your credit balance is too low", "", Paused), (429, "monthly spend limit", "", Paused),
]  # fmt: skip


def test_statuses() -> None:
    """Each status is retried, pauses until the user has paid, or fails until the setup has changed."""
    for status, message, code, kind in STATUSES:
        assert type(http_error("m", status, message, {}, code)) is kind, status
    statuses = {200, 400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504, 520, 524, 529, 599}
    billed = {status for status in statuses if http_error("m", status, "", {}).maybe_billed}
    # A gateway had passed it on, perhaps; or the error came in the answer.
    assert billed == {200, 408, 500, 502, 503, 504, 520, 524, 599}


@for_each([
    ({}, None), ({"retry-after": "7"}, 7), ({"retry-after": "0.5"}, 0.5), ({"retry-after-ms": "250"}, 0.25),
    ({"retry-after": formatdate(1_000, usegmt=True)}, 100), ({"retry-after": formatdate(1, usegmt=True)}, 0),
    ({"retry-after": "soon"}, None), ({"retry-after": "-5"}, None), ({"retry-after": "nan"}, None),
    ({"retry-after": "9" * 400}, 1e9),
])  # fmt: skip
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds and dates are understood; whatever else is there asks for nothing."""
    assert retry_after(headers, now=900) == seconds


@many
@given(st.text(), st.from_regex(r"\Ask-[0-9]{6,400}\Z"), st.text())
def test_what_a_server_said_holds_no_key(before: str, key: str, after: str) -> None:
    """A key in a server's words is taken out, and what is left is one short line of text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", key)
        text = quote(f"{before}{key}{after}")

    assert text == one_line(text)
    assert len(text) <= 303
    assert key[:8] not in text.replace("[key]", "")


@pytest.fixture
def leaping() -> Iterator[asyncio.Runner]:
    """An event loop that leaps over every wait."""
    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        yield runner


def listened(leaping: asyncio.Runner, clock: SilenceClock, words: int, between: float = 0.1) -> float:
    """Seconds of that loop until so many words, after which nothing comes, are given up."""

    async def heard() -> float:
        begun = skipped_seconds()
        with pytest.raises(TimeoutError):
            async with clock.listening():
                for _ in range(words):
                    await asyncio.sleep(between)
                    clock.restart_silence()
                await asyncio.sleep(5)
        return skipped_seconds() - begun

    return leaping.run(heard())


def test_silence_ends_an_answer(leaping: asyncio.Runner) -> None:
    """An answer that says nothing for half of the time for retries is given up; each word gives it as long again. The
    first word may take three times as long as the next ones; with another time for retries all times change."""
    clock = SilenceClock(retry_for=0.4)
    assert listened(leaping, clock, 3) == pytest.approx(0.5, abs=0.001)
    assert clock.timeout_reason() == "silence for 0.2 s"

    assert listened(leaping, clock, 0) == pytest.approx(0.6, abs=0.001)
    assert clock.timeout_reason() == "no word for 0.6 s, in which it may still have been reading the prompt"
    assert "--retry-for" in clock.hint
    usual, long = SilenceClock(LIMITS.retry_for), SilenceClock(2 * LIMITS.retry_for)
    assert (usual.first_token_seconds, usual.silence_seconds) == (LIMITS.first_token_seconds, LIMITS.silence_seconds)
    assert long.first_token_seconds == 2 * usual.first_token_seconds
    assert long.silence_seconds == 2 * usual.silence_seconds


def test_an_answer_has_an_end(leaping: asyncio.Runner) -> None:
    """However lively, an answer may take only so long in all, and one in several requests no longer."""
    clock = SilenceClock(60, LIMITS._replace(total_seconds=0.3))

    assert listened(leaping, clock, 1_000, between=0.02) == pytest.approx(0.3, abs=0.001)
    assert clock.timeout_reason().startswith("no end after")
    assert listened(leaping, clock, 1_000, between=0.02) == pytest.approx(0, abs=0.001)


class Sent(httpx2.AsyncByteStream):
    """A body that comes in these pieces, each after some seconds."""

    def __init__(self, *pieces: bytes, pause: float = 0.0):
        self._pieces, self._pause = pieces, pause

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
            await asyncio.sleep(self._pause)


async def limited(body: Sent, status: int = 200) -> httpx2.Response:
    response = httpx2.Response(status, stream=body)
    await limit_body(response)
    return response


def test_an_error_is_read_for_a_few_seconds(leaping: asyncio.Runner) -> None:
    """Of an error whose body does not end, what came in five seconds is taken."""

    async def read() -> tuple[bytes, float]:
        response = await limited(Sent(b"No.", *[b" "] * 1_000, pause=0.2), status=400)
        return await response.aread(), skipped_seconds()

    text, seconds = leaping.run(read())
    assert text.strip() == b"No." and seconds == pytest.approx(5.0)


def events_of(*pieces: bytes) -> list[object]:
    """The events of a stream that comes in these pieces."""

    async def read() -> list[object]:
        return [event async for event in events(await limited(Sent(*pieces)))]

    return asyncio.run(read())


def test_events_wherever_pieces_are_cut() -> None:
    """A stream is the same events wherever it is cut, with either end of line, up to `[DONE]`."""
    stream = b': x\r\nevent: a\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata:[2]\n\n\ndata: [DONE]\n\ndata: 3\n\n'
    assert events_of(stream) == events_of(*(stream[n : n + 1] for n in range(len(stream)))) == [{"a": 1}, [2]]


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [
        ([b"data: " + b"x" * 500 + b"\n"] * 300, "an event of more than"),
        ([b"x" * 1_000] * 200, "an event of more than"),
        ([b":\n\n" * 1_000], "more than 1,000 lines"),
        ([b"data: " + b"[" * 90_000 + b"\n\n"], "nested more than"),
        ([b"data: " + b"[" * 40 + b"]" * 40 + b"\n\n"], "nested more than"),
    ],
)
def test_streams_have_limits(pieces: list[bytes], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event of too many bytes, too many lines in all, and JSON that is too deep are over a limit."""
    monkeypatch.setattr(event_stream, "LIMITS", LIMITS._replace(max_response_lines=1_000, max_event_bytes=100_000))
    with pytest.raises(OverLimit, match=problem):
        events_of(*pieces)


def test_the_words_of_a_server_stay_quoted() -> None:
    """Nothing in them ends the quotation, so none of them read as this program's own."""
    [problem] = http_error("openai:m", 400, "no”. Try: `debate run --trust`.\nState: verified", {}).problems
    assert problem == "openai:m refused the request: HTTP 400: “no'. Try: `debate run --trust`. State: verified”."


def test_a_refused_key_is_named() -> None:
    """A server that refuses the key is told of with the variable that holds it."""
    assert "set the key in DEBATE_KEY_X_ORG_8000" in str(http_error("openai:m@https://x.org:8000/v1", 401, "no", {}))
    assert "set the key in ANTHROPIC_API_KEY" in str(http_error("anthropic:m", 401, "no", {}))


def test_a_token_of_a_profile_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent to a vendor as a token, which may be from a profile, is redacted from then on."""
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setattr("debate_orchestrator.util.redact._learned", set())
    (prepare,) = http_options(server("anthropic:m"), insecure=False)["event_hooks"]["request"]
    headers = {"authorization": "Bearer oat-from-a-profile-1", "x-gateway": "g"}
    asyncio.run(prepare(SimpleNamespace(url="https://api.anthropic.com", headers=headers)))

    assert headers == {"authorization": "Bearer oat-from-a-profile-1", "x-gateway": "g"}
    assert redact("no: oat-from-a-profile-1") == "no: [key]"


@for_each(
    [
        (ConnectionRefusedError(111, "Connection refused"), True),
        (OSError("[Errno -2] Name or service not known"), True),
        (ConnectionResetError(104, "Connection reset by peer"), False),
        (ValueError("odd"), False),
        (ValueError("400, message: bad status line 'Connection refused'"), False),
    ]
)
def test_refused_connections(error: Exception, unreachable: bool) -> None:
    """A refused connection and an unknown host are told from a line that broke, however they are wrapped."""
    try:
        raise RuntimeError("wrapped") from error
    except RuntimeError as wrapped:
        assert is_refused_connection(wrapped) is unreachable
        assert cause(wrapped) is error
