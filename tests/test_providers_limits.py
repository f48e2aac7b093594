"""What a hostile or broken server can make us do: send too much, too deep, too slowly, or a key to be printed."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from conftest import STATED, Run
from hostile import KINDS, begun, delta, ended, event, raw, said, sending, thought
from test_providers_anthropic import ask

from debate_orchestrator.core.events import CallFailed
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.providers.servers import key_name
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
@pytest.mark.parametrize("depth", [100, 200_000])
@pytest.mark.parametrize("hidden", [b"", b'id: "\n'], ids=["plain", "after a quote"])
def test_a_deeply_nested_event(kind: str, depth: int, hidden: bytes) -> None:
    """An event nested deeper than any answer is the server's fault, whether or not it could be parsed; what had come
    before it is kept."""
    deep = hidden + raw(kind, "[" * depth + "]" * depth)
    with sending(lambda: [begun(kind), said(kind, "Half"), deep, ended(kind)]) as server:
        fault = fails(server.spec(kind), "nested more than")

    assert isinstance(fault, TransientError) and isinstance(fault.partial, Reply) and fault.partial.text == "Half"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "data",
    [
        b"7",
        b"[]",
        b'{"type": 7, "choices": 7}',
        b'{"type": "message_start"}',
        b"\xff",
        b'{"x": NaN}',
        b'{"x": 1e999}',
        b"{",
    ],
)
def test_events_of_another_shape(kind: str, data: bytes) -> None:
    """An event that is no object of the API is no answer, and no error of ours."""
    odd = b"event: message_start\ndata: " + data + b"\n\n"
    with sending(lambda: [begun(kind), odd, ended(kind)]) as server:
        try:
            assert ask(server.spec(kind)).text == ""
        except TransientError as fault:
            assert "no complete answer" in str(fault)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [10_000, 2_100_000])
def test_an_answer_without_end(kind: str, size: int) -> None:
    """An answer is stopped as soon as it is longer than any reply may be; what had come is kept up to there, and the
    call is made again once."""
    with sending(forever(said(kind, "x" * size), first=begun(kind))) as server:
        fault = fails(server.spec(kind), "more than 262,144 characters")

    assert isinstance(fault, TransientError) and fault.tries == 2
    assert isinstance(fault.partial, Reply) and len(fault.partial.text) == 262_144


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thinking_without_end(kind: str) -> None:
    """What a model thinks is bounded too."""
    with sending(forever(thought(kind, "x" * 50_000), first=begun(kind))) as server:
        fails(server.spec(kind), "more than 8,000,000 characters")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_event_without_end(kind: str) -> None:
    """An event that never ends is given up, in one line or in many."""
    for piece in (b"x" * 10_000, b"data: x\n" * 100, b"\r" + b"x" * 10_000):
        with sending(forever(piece, first=begun(kind) + b"data: ")) as server:
            fails(server.spec(kind), "an event of more than")
        assert server.sent < 40_000_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_lines_without_end(kind: str) -> None:
    """Lines are counted over the whole response, since each takes work: an event of text may have very many."""
    lines = b"data:\n" * 900 + said(kind, ".")
    with sending(lambda: [begun(kind) + lines * 1_000]) as server:
        fails(server.spec(kind), "more than 900,000 lines")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_response_without_end(kind: str) -> None:
    """A response is bounded as a whole."""
    many = (thought(kind, "x" * 20_000) + b": " + b"x" * 980_000 + b"\n\n") * 150
    with sending(lambda: [many] * 100) as server:
        fails(server.spec(kind), "more than 134,217,728 bytes")


EMPTY = {
    "pings": lambda kind: b'event: ping\ndata: {"type": "ping"}\n\n' if kind == "anthropic" else b": ping\n\n",
    "empty text": lambda kind: said(kind, ""),
    "beginnings": begun,
    "unknown events": lambda kind: event({"type": "odd", "choices": []}, named=kind == "anthropic"),
    "counts": lambda kind: (
        event({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}})
        if kind == "anthropic"
        else event({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}, named=False)
    ),
    "empty blocks": lambda kind: (
        event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        if kind == "anthropic"
        else delta(kind, reasoning="")
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", EMPTY)
def test_nothing_new_is_silence(kind: str, what: str) -> None:
    """A stream of events that add nothing to the answer runs into the limit of silence, before the first word as
    well as after it."""
    with sending(forever(EMPTY[what](kind), first=begun(kind), pause=0.05)) as server:
        fails(server.spec(kind), "no word for 3 s", retry_for=2.0)
        server.body = forever(EMPTY[what](kind), first=begun(kind) + said(kind, "Half"), pause=0.05)
        fails(server.spec(kind), "silence for 1 s", retry_for=2.0)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_without_end(kind: str) -> None:
    """Of a refusal as much is read as tells why; how it is treated follows from its status."""
    with sending(forever(b"bad request " * 1_000), status=400) as server:
        fails(server.spec(kind), "HTTP 400: bad request", ProviderFailed)
    with sending(forever(b"slow down " * 1_000), status=429, retry_after="7") as other:
        fault = fails(other.spec(kind), "HTTP 429")

    assert server.sent < 20_000_000 and other.sent < 20_000_000
    assert isinstance(fault, TransientError) and fault.after == 7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("packing", ["br", "gzip"])
def test_an_error_that_can_not_be_unpacked(kind: str, packing: str) -> None:
    """The status decides where the body is packed in a way that is not known, or is broken."""
    with sending(lambda: [b"odd"], status=401, content_encoding=packing) as server:
        fails(server.spec(kind), "HTTP 401", ProviderFailed)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_that_comes_slowly(kind: str) -> None:
    """An error whose body does not end is taken after a few seconds as far as it has come: its status decides."""
    with sending(forever(b" ", first=b'{"error": {"message": "No."}}', pause=0.2), status=400) as server:
        fails(server.spec(kind), "HTTP 400", ProviderFailed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [b": ping\n\n", b"data: {half\n\n", b"event: x\ndata: " + b"[" * 100 + b"\n\n"])
def test_what_follows_a_whole_answer(kind: str, after: bytes) -> None:
    """Nothing that comes after an answer has ended takes anything from it: it is paid for."""
    whole = begun(kind) + said(kind, "So.") + ended(kind).removesuffix(b"data: [DONE]\n\n")
    with sending(forever(after, first=whole, pause=0.1)) as server:
        assert ask(server.spec(kind), retry_for=2.0).text == "So."


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_answer(kind: str) -> None:
    """No compression is asked for, and an answer that comes compressed is refused."""
    whole = begun(kind) + said(kind, "So.") + ended(kind)
    with sending(lambda: [gzip.compress(whole)], content_encoding="gzip") as server:
        fails(server.spec(kind), "in a compression that was not asked for")


@pytest.mark.slow
def test_an_endless_answer_leaves_a_small_journal(debate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never stops talking pauses the debate after two calls; the journal holds no more of each than a
    reply may have."""
    with sending(forever(said("anthropic", "x" * 1_000), first=begun("anthropic"))) as server:
        spec = server.spec("anthropic")
        ran = debate("run", *SETUP, f"--a={spec}", f"--b={spec}", f"--judge={spec}")
    troubles = [one for one in read("r.journal.jsonl").events if isinstance(one, CallFailed)]

    assert ran.code == 3, ran.err
    assert [one.wait is None for one in troubles] == [False, True]
    assert all(one.reply is not None and len(one.reply.text) < 270_000 for one in troubles)
    assert len(ran.err) < 10_000
    assert server.requests == 2


ODD = [7, None, "x" * 500_000, [], {"a": [1]}, "\ud800", 1e300, True]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_odd_fields(kind: str, value: Any) -> None:
    """Whatever stands in the fields of events and errors, it is a reply of bounded size, or a fault of the server."""
    fields = (
        "type",
        "index",
        "model",
        "stop_reason",
        "finish_reason",
        "code",
        "message",
        "usage",
        "url",
        "text",
        "delta",
    )
    common = dict.fromkeys((*fields, "param", "citation", "content", "stop_details", "choices"), value)
    odd = [
        {"type": "error", "error": common},
        {"type": "error", "error": value},
        {"type": "message_start", "message": common},
        {"type": "message_start", "message": value},
        {"type": "content_block_start", "index": value, "content_block": common},
        {"type": "content_block_start", "index": 1, "content_block": {**common, "type": "text"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "web_search_tool_result", "content": [common]},
        },
        *(
            {"type": "content_block_delta", "index": 0, "delta": common | {"type": one}}
            for one in ("citations_delta", value)
        ),
        {"type": "message_delta", "delta": common, "usage": common},
        {"choices": [common]},
        {"choices": [{"index": 0, "delta": common}], "usage": common, "model": value},
    ]
    with sending(list) as server:
        for one in odd:
            whole = [begun(kind), event(one, named="type" in one), said(kind, "x"), ended(kind)]
            server.body = lambda whole=whole: whole
            try:
                made: Reply | object = ask(server.spec(kind))
            except ExternalError as fault:
                made = getattr(fault, "partial", None)
                assert len(str(fault)) < 1_000
            assert not isinstance(made, Reply) or len(made.model_dump_json()) < 300_000


KEY = "sk-" + "".join(chr(ord("a") + n * n % 23) + str(n % 10) for n in range(49))
"""A made-up key of 101 characters."""


def quoting(key: str) -> list[bytes]:
    """A whole answer in which the key stands in fields that have other types."""
    blocks = [
        {"type": "text", "text": {key: key}, "citations": key},
        {"type": "text", "text": [key], "citations": [key]},
        {"type": "thinking", "thinking": [key], "signature": {"k": key}},
        {"type": "web_search_tool_result", "tool_use_id": [key], "content": [{"k": key}, key]},
        {"type": "server_tool_use", "id": {"k": key}, "name": [key], "input": [key]},
    ]
    starts = [{"type": "content_block_start", "index": n + 1, "content_block": one} for n, one in enumerate(blocks)]
    return [begun("anthropic"), *map(event, starts), said("anthropic", "So it is."), ended("anthropic")]


@pytest.mark.slow
def test_a_key_in_fields_of_another_type(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that quotes the key where no text belongs makes nothing print it, not even in part."""
    with sending(lambda: quoting(KEY)) as server:
        monkeypatch.setenv(key_name(server.url), KEY)
        seats = (f"--a={server.spec('anthropic')}", "--b=rehearse", "--judge=rehearse", "--retry-for=5")
        command = [sys.executable, "-m", "debate_orchestrator", "run", *SETUP, *seats]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)

    assert len(KEY) == 101 and server.requests
    kept = "".join(path.read_text() for path in here.iterdir() if path.is_file())
    assert [KEY[n : n + 12] for n in range(90) if KEY[n : n + 12] in ran.stdout + ran.stderr + kept] == []


@pytest.mark.slow
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
