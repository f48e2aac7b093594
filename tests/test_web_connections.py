"""What strangers send on a connection brings about no error, no long wait and no memory that stays."""

from __future__ import annotations

import asyncio
import asyncio.selector_events
import errno
import gc
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from test_web_server import answering, opened, serving

from debate_orchestrator.web import connections, guard, log
from debate_orchestrator.web.runs import Runs

CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED_HEADS = [
    b"HEAD / HTTP/1.1\r\nHost: x\r\n" + CHUNKED,
    b"HEAD / HTTP/1.0\r\n" + CHUNKED,
    b"CONNECT / HTTP/1.1\r\nHost: x\r\n" + CHUNKED,
    b"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
    b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000000\r\n\r\nabc",
]
FORM = (
    b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000000\r\n\r\n"
)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The errors that the library of the server logs."""
    told: list[Any] = []
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "error", lambda *said, **_: told.append(said))
    return told


@contextmanager
def errors() -> Iterator[list[Any]]:
    """What is given to the loop's handler of errors, which would be printed."""
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    yield told


@pytest.mark.parametrize("sent", REFUSED_HEADS, ids=range(len(REFUSED_HEADS)))
def test_a_refused_request_brings_about_no_error(sent: bytes) -> None:
    """It is answered with 400, a HEAD without a body, and its connection ends."""

    async def visit(port: int) -> None:
        with errors() as told:
            said = await (await opened(port, sent)).read()
            head, _, body = said.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 400 ") and not told
            assert bool(body) != sent.startswith(b"HEAD")

    serving(visit, answering(3))


@pytest.mark.parametrize("request_line", [b"HEAD / HTTP/1.0", b"GET / HTTP/1.1\r\nHost: x"], ids=["1.0", "1.1"])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_comes_behind_a_request_is_not_answered(logged: list[Any], request_line: bytes, at_once: bool) -> None:
    """It brings about no error. The answer to the request is whole, and its connection ends."""
    gate = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await gate.wait()
        await answering(3)(scope, receive, send)

    async def visit(port: int) -> None:
        with errors() as told:
            request = request_line + b"\r\n\r\n"
            reader = await opened(port, request * 2 if at_once else request)
            await asyncio.sleep(0.05)
            reader.kept.write(request)  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)
            gate.set()
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ") and body == (b"" if b"HEAD" in request else b"xxx")
            assert not told and not logged

    serving(visit, app)


def test_a_refusal_behind_a_head_has_its_body(logged: list[Any]) -> None:
    """What can't be read is no HEAD because the request before it was one."""

    async def visit(port: int) -> None:
        reader = await opened(port, b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        reader.kept.write(b"GET / HTTP/1.1\r\nHost: \x01\r\n\r\n")  # type: ignore[attr-defined]
        said = await reader.read()
        assert said.startswith(b"HTTP/1.1 400 ") and b"can't be read" in said and not logged

    serving(visit, answering(3))


def test_a_client_that_is_gone_before_its_refusal_brings_about_no_error(
    logged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system then knows no other side to say the end to."""

    def gone(transport: Any) -> None:
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    async def visit(port: int) -> None:
        reader = await opened(port, REFUSED_HEADS[0])
        with suppress(ConnectionError):
            await reader.read()
        assert not logged

    monkeypatch.setattr(asyncio.selector_events._SelectorSocketTransport, "write_eof", gone)  # type: ignore[attr-defined]
    serving(visit, answering(3))


def test_an_error_in_a_connection_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one while the next request is read behind an answer: the answer stays whole."""

    def fails(connection: Any) -> Any:
        raise RuntimeError

    async def visit(port: int) -> None:
        with errors() as told:
            reader = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\nxxx")).startswith(b"HTTP/1.1 200 ")
            monkeypatch.setattr(connections.WholeRequests, "next_event", fails)
            reader.kept.write(b"GET")  # type: ignore[attr-defined]
            with suppress(ConnectionError):
                assert await reader.read() == b""
            assert not told

    serving(visit, answering(3))


def connections_held() -> int:
    """Those that are in memory, of this test and of earlier ones."""
    return sum(isinstance(held, connections.Connection) for held in gc.get_objects())


def stranger() -> guard.Guard:
    def admit(scope: guard.Scope, headers: guard.Headers) -> guard.RequestLimit:
        raise guard.HttpError(404, "There is no such page.")

    return guard.Guard(answering(3), hosts=["x"], admit=admit)


@pytest.mark.slow
def test_the_rest_of_a_refused_form_is_not_kept() -> None:
    """It is answered and its connection ends, and nothing of it waits for Python's collector."""

    async def visit(port: int) -> None:
        gc.collect()
        gc.disable()
        before, was_open = connections_held(), len(connections._open)
        try:
            for _ in range(10):
                reader = await opened(port, FORM + b"x" * 100_000)
                assert (await reader.read()).startswith(b"HTTP/1.1 404 ")
                reader.kept.close()  # type: ignore[attr-defined]
            del reader
            async with asyncio.timeout(10):
                while len(connections._open) > was_open:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            assert connections_held() == before
        finally:
            gc.enable()

    serving(visit, stranger())


def test_a_refused_form_is_read_no_further() -> None:
    """Of one that goes on being sent, only so many bytes are thrown away before the connection ends."""

    async def visit(port: int) -> None:
        reader = await opened(port, FORM.replace(b"1000000", b"1000000000"))
        assert (await reader.readline()).startswith(b"HTTP/1.1 404 ")
        with pytest.raises(ConnectionError):
            for _ in range(1_000):
                reader.kept.write(b"x" * 100_000)  # type: ignore[attr-defined]
                await reader.kept.drain()  # type: ignore[attr-defined]

    serving(visit, stranger())


def test_little_is_kept_of_what_comes_behind_a_request() -> None:
    """A connection that sends more before its stream has ended is ended."""

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    async def visit(port: int) -> None:
        reader = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"begun")
        reader.kept.write(b"y" * 400_000)  # type: ignore[attr-defined]
        with pytest.raises(ConnectionError):
            async with asyncio.timeout(30):
                assert not await reader.read(), "it has ended in another way"
                raise ConnectionResetError

    serving(visit, stream)


@pytest.mark.slow
def test_a_request_that_the_end_cancels_is_told_so(logged: list[Any]) -> None:
    """It gets a sentence and 503, with the headers of all answers, and no bare 500."""
    begun: list[asyncio.Task[Any] | None] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async def visit(port: int) -> None:
        real = guarded._answer

        async def noted(*arguments: Any) -> None:
            begun.append(asyncio.current_task())
            await real(*arguments)

        guarded._answer = noted  # type: ignore[method-assign]
        reader = await opened(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        while not begun:
            await asyncio.sleep(0.01)
        assert begun[0] is not None
        begun[0].cancel()
        said = await reader.read()
        assert said.startswith(b"HTTP/1.1 503 ") and b"This server is ending" in said and b"nosniff" in said
        assert not logged

    guarded = guard.Guard(app, hosts=["x"], admit=lambda scope, headers: guard.RequestLimit(0))
    serving(visit, guarded)


@pytest.mark.parametrize("key", ["", "key"])
def test_what_forms_have_begun_ends_with_the_server(key: str) -> None:
    """Their requests are told so, with or without a key, and no form is taken after that."""
    ended: list[str] = []

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)  # a program that is ended takes a moment
            ended.append("ended")
        return ""

    async def run() -> None:
        runs = Runs(remember=False)
        forms = runs.forms
        asked = asyncio.ensure_future(forms.begin(key, work))
        await asyncio.sleep(0.01)
        await runs.shutdown()
        assert ended == ["ended"]
        for waiting in (asked, forms.begin(key, work)):
            with pytest.raises(HTTPException, match="This server is ending") as raised:
                await waiting
            assert raised.value.status_code == 503

    asyncio.run(run())


def test_a_pipe_that_is_not_read_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has room for is printed, and the rest is left out."""
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as read, open(writing, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stderr", pipe)
        log.tell("begins " + "é" * 1_000_000)
        os.set_blocking(reading, False)
        assert read.read(7) == b"begins "
        while read.read(1_000_000):
            pass
        monkeypatch.undo()


def test_errors_of_a_kind_are_told_once_in_a_minute(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Other kinds are told beside them, and the same again a minute later."""
    now = [1000.0]
    monkeypatch.setattr(log.time, "monotonic", lambda: now[0])
    logger = logging.Logger("x")
    logger.addHandler(log.SeldomHandler())
    for n in range(5):
        logger.error("It failed at %d" % n, exc_info=ValueError("first"))  # noqa: UP031
        logger.error("It took %d s", n)
    told = capfd.readouterr().err
    assert told.count("ValueError: first") == 1 and told.count("It took") == 1
    now[0] += 61
    logger.error("again", exc_info=ValueError("second"))
    assert "ValueError: second" in capfd.readouterr().err
