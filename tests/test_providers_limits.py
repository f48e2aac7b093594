"""What a hostile or broken server can make us do: send too much, too deep, too slowly, or a key to be printed."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import pytest
from conftest import STATED, Run
from hostile import KINDS, begun, ended, raw, sending, thought
from hostile import said as piece
from test_providers_anthropic import ask

from debate_orchestrator.core.events import CallFailed
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.storage.journal import read
from debate_orchestrator.util.errors import ExternalError, ProviderFailed, TransientError

pytestmark = pytest.mark.slow

SETUP = (*STATED, "--output=r.md", "--rounds=1")


def fails(spec: str, said: str, kind: type[ExternalError] = TransientError, **more: Any) -> ExternalError:
    """The fault that one call amounts to, which must say this."""
    with pytest.raises(kind, match=said) as failure:
        ask(spec, **more)
    assert type(failure.value) is kind
    return failure.value


def forever(*pieces: bytes, first: bytes = b"", pause: float = 0.0) -> Callable[[], Iterator[bytes]]:
    """A body that never ends."""

    def body() -> Iterator[bytes]:
        yield first
        for many in repeat(pieces):
            yield from many
            time.sleep(pause)

    return body


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("event", "said"),
    [
        *((f"{'[' * depth}{']' * depth}", "nested more than") for depth in (100, 150_000)),
        (f"[{'[],' * 1_000_000}0]", "more than 200,000 lists, objects and commas"),
    ],
    ids=["deep", "deeper", "a million values"],
)
@pytest.mark.parametrize("hidden", [b"", b'id: "\n'], ids=["plain", "after a quote"])
def test_an_event_that_is_too_deep_or_too_large(kind: str, event: str, said: str, hidden: bytes) -> None:
    """An event nested deeper than any answer, or of more values, is the server's fault, whether or not it could be
    parsed; what had come before it is kept. It is not parsed, which would take seconds."""
    with sending(lambda: [begun(kind), piece(kind, "Half"), hidden + raw(kind, event), ended(kind)]) as server:
        fault = fails(server.spec(kind), said)

    assert isinstance(fault, TransientError) and isinstance(fault.partial, Reply) and fault.partial.text == "Half"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [b"7", b'{"type": 7, "choices": 7}', b"\xff", b"{"])
def test_events_of_another_shape(kind: str, data: bytes) -> None:
    """An event that is not an object of the API is neither an answer nor an error of ours."""
    odd = b"event: message_start\ndata: " + data + b"\n\n"
    with sending(lambda: [begun(kind), odd, ended(kind)]) as server:
        try:
            assert ask(server.spec(kind)).text == ""
        except TransientError as fault:
            assert "no complete answer" in str(fault)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", [b"\r", b"\r\n"])
def test_other_ends_of_lines(kind: str, end: bytes) -> None:
    """Lines may end in each of the ways that the standard of server-sent events has, and a byte order mark may stand
    before the first."""
    whole = b"\xef\xbb\xbf" + b"".join([begun(kind), piece(kind, "One. "), piece(kind, "Two."), ended(kind)])
    pieces = [whole.replace(b"\n", end)[at : at + 7] for at in range(0, 2 * len(whole), 7)]
    with sending(lambda: pieces) as server:
        assert ask(server.spec(kind)).text == "One. Two."


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [10_000, 2_100_000])
def test_an_answer_without_end(kind: str, size: int) -> None:
    """An answer is stopped as soon as it is longer than any reply may be; what had come is kept up to there, and the
    call is made again once."""
    with sending(forever(piece(kind, "x" * size), first=begun(kind))) as server:
        fault = fails(server.spec(kind), "more than 262,144 characters")

    assert isinstance(fault, TransientError) and fault.tries == 2
    assert isinstance(fault.partial, Reply) and len(fault.partial.text) == 262_144


@pytest.mark.parametrize("kind", KINDS)
def test_a_response_without_end(kind: str) -> None:
    """A response is bounded as a whole."""
    many = (thought(kind, "x" * 20_000) + b": " + b"x" * 980_000 + b"\n\n") * 150
    with sending(lambda: [many] * 100) as server:
        fails(server.spec(kind), "more than 134,217,728 bytes")


EMPTY = {
    "pings": lambda kind: b'event: ping\ndata: {"type": "ping"}\n\n' if kind == "anthropic" else b": ping\n\n",
    "empty text": lambda kind: piece(kind, ""),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", EMPTY)
def test_nothing_new_is_silence(kind: str, what: str) -> None:
    """A stream of events that add nothing to the answer runs into the limit of silence, before the first word as
    well as after it."""
    with sending(forever(EMPTY[what](kind), first=begun(kind), pause=0.05)) as server:
        fails(server.spec(kind), "no word for 3 s", retry_for=2.0)
        server.body = forever(EMPTY[what](kind), first=begun(kind) + piece(kind, "Half"), pause=0.05)
        fails(server.spec(kind), "silence for 1 s", retry_for=2.0)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_without_end(kind: str) -> None:
    """Of a refusal as much is read as tells why; how it is treated follows from its status."""
    with sending(forever(b"bad request " * 1_000), status=400) as server:
        fails(server.spec(kind), "HTTP 400: “bad request", ProviderFailed)
    with sending(forever(b"slow down " * 1_000), status=429, retry_after="7") as other:
        fault = fails(other.spec(kind), "HTTP 429")

    assert server.sent < 20_000_000 and other.sent < 20_000_000
    assert isinstance(fault, TransientError) and fault.after == 7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [b": ping\n\n", b"data: {half\n\n", b"event: x\ndata: " + b"[" * 100 + b"\n\n"])
def test_what_follows_a_whole_answer(kind: str, after: bytes) -> None:
    """Nothing that comes after an answer has ended takes anything from it: it is paid for."""
    whole = begun(kind) + piece(kind, "So.") + ended(kind).removesuffix(b"data: [DONE]\n\n")
    with sending(forever(after, first=whole, pause=0.1)) as server:
        assert ask(server.spec(kind), retry_for=2.0).text == "So."


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_answer(kind: str) -> None:
    """No compression is asked for, and an answer that comes compressed is refused."""
    whole = begun(kind) + piece(kind, "So.") + ended(kind)
    with sending(lambda: [gzip.compress(whole)], content_encoding="gzip") as server:
        fails(server.spec(kind), "in a compression that was not asked for")


def test_an_endless_answer_leaves_a_small_journal(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never stops talking pauses the debate after two calls; the journal holds no more of each than a
    reply may have."""
    with sending(forever(piece("anthropic", "x" * 1_000), first=begun("anthropic"))) as server:
        spec = server.spec("anthropic")
        ran = debate("run", *SETUP, f"--a={spec}", f"--b={spec}", f"--judge={spec}")
    troubles = [one for one in read("r.journal.jsonl").events if isinstance(one, CallFailed)]

    assert ran.code == 3, ran.err
    assert [one.wait is None for one in troubles] == [False, True]
    assert all(one.reply is not None and len(one.reply.text) < 270_000 for one in troubles)
    assert len(ran.err) < 10_000
    assert server.requests == 2


def test_no_warning_reaches_the_terminal() -> None:
    """The command line shows no warnings of libraries, unless Python is told to."""
    program = "import atexit, warnings; from debate_orchestrator.cli import main; " + (
        "atexit.register(warnings.warn, 'a library warns'); main(['--version'])"
    )

    def printed(*flags: str) -> str:
        command = [sys.executable, *flags, "-c", program]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr

    assert printed() == ""
    assert "a library warns" in printed("-W", "default")
