"""Connections are bounded by the files that the server may have open, and debates go on beside them."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import uvicorn
from public_site import visiting_public
from test_web_server import HALF, answering, opened, serving

from debate_orchestrator.storage import journal
from debate_orchestrator.util.errors import BadJournal
from debate_orchestrator.web import connections, guard
from debate_orchestrator.web.open_files import bounds, bounds_for, is_out_of_files

PATIENCE = 90.0


@contextmanager
def dashboard(folder: Path, files: int) -> Iterator[tuple[subprocess.Popen[bytes], str, int]]:
    """A dashboard whose process may have so many files open and no more, its host and its port. Its standard error is
    a pipe that is not read."""
    serve = f"ulimit -n {files}; exec {sys.executable} -m debate_orchestrator serve --no-browser --port 0"
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    with subprocess.Popen(
        ["sh", "-c", serve], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            host, _, port = process.stdout.readline().decode().split("/")[2].partition(":")
            yield process, host, int(port)
        finally:
            process.kill()


def stylesheet(host: str, port: int) -> bytes:
    return f"GET /static/page.css HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


def begins(host: str, port: int) -> bytes:
    """The first bytes of a page, for a browser that asks again where its connection was ended."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with socket.create_connection((host, port), timeout=5) as browser:
                browser.sendall(stylesheet(host, port))
                if came := browser.recv(15):
                    return came
        except OSError:
            time.sleep(0.1)
    return b""


def held(opened: ExitStack, host: str, port: int, sent: bytes) -> None:
    """A connection that sends that, and reads nothing."""
    one = opened.enter_context(socket.socket())
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    one.settimeout(0.3)
    try:
        one.connect((host, port))
        one.send(sent)
    except OSError:
        pass  # the server does not take it: that is what it is asked for


@pytest.mark.parametrize("files", [128, pytest.param(256, marks=pytest.mark.slow)])
def test_strangers_hold_no_more_connections_than_there_are_files(tmp_path: Path, files: int) -> None:
    """With more idle connections, and more that read none of their answers, than files may be open, a page comes,
    little is said on the standard error, and Ctrl-C ends the server."""
    with dashboard(tmp_path, files) as (process, host, port), ExitStack() as opened:
        for _ in range(files):
            held(opened, host, port, stylesheet(host, port) * 16)
        for _ in range(files):
            held(opened, host, port, b"")
        assert begins(host, port) == b"HTTP/1.1 200 OK"
        for _ in range(files):
            held(opened, host, port, b"")
        assert begins(host, port) == b"HTTP/1.1 200 OK"
        assert len(os.listdir(f"/proc/{process.pid}/fd")) < files
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    assert len(told) < 2_000, told[-2_000:]


def test_the_bounds_follow_from_the_files() -> None:
    """All connections, and what is accepted before they are counted, leave room for debates."""
    for files in range(64, 5_000):
        bounds = bounds_for(files)
        assert bounds.waiting > 0 and bounds.waiting + bounds.viewers < bounds.connections <= 1_500
        assert bounds.connections + 8 * bounds.accepted < files and 4 * bounds.accepted < max(bounds.waiting, 5)


def test_the_soft_limit_is_raised(tmp_path: Path) -> None:
    """A process that may open more files than it does now opens more, and takes as many connections as it then can."""
    code = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 2_000))\n"
        "from debate_orchestrator.web.open_files import bounds, bounds_for\n"
        "assert bounds() == bounds_for(2_000) and resource.getrlimit(resource.RLIMIT_NOFILE) == (2_000, 2_000)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_an_accept_that_fails_ends_a_connection_and_is_told_seldom(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each failure makes room for a connection, and one line is written of all within a minute; none where it would be
    waited for."""
    ended: list[int] = []
    monkeypatch.setattr(connections, "_end_oldest", lambda: ended.append(1))
    server = connections.Server(uvicorn.Config(None), asyncio.sleep)  # type: ignore[arg-type]
    no_files = {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")}
    loop = asyncio.new_event_loop()
    reading, writing = os.pipe()
    with open(writing, "wb", buffering=0) as pipe, open(reading, "rb") as read, monkeypatch.context() as patch:
        os.set_blocking(writing, False)
        while pipe.write(b"x" * 4096):
            pass
        os.set_blocking(writing, True)
        patch.setattr(sys, "stderr", open(os.dup(writing), "w", encoding="utf-8"))  # noqa: SIM115
        server._failed(loop, no_files)
        assert read.peek(1) and len(ended) == 1
    for _ in range(10):
        server._failed(loop, no_files)
    loop.close()
    assert len(ended) == 11 and capfd.readouterr().err.count("\n") == 1


def test_strangers_end_no_form_that_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The form of a link that comes slowly is answered, however many connections are opened meanwhile. The form of a
    stranger, which is refused, is ended with the others of its kind; so is the connection of the link, once it waits
    for another request."""
    monkeypatch.setattr(connections, "bounds", lambda: bounds()._replace(waiting=5))

    async def app(scope: guard.Scope, receive: guard.Receive, send: guard.Send) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    def admit(scope: guard.Scope, headers: guard.Headers) -> guard.RequestLimit:
        if scope["path"] != "/link":
            raise guard.HttpError(404, "There is no such page.")
        return guard.RequestLimit(100, "/link")

    async def visit(port: int) -> None:
        head = "POST /%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        begun = f"{head}Content-Length: 4\r\n\r\nte"
        honest, stranger = await opened(port, (begun % "link").encode()), await opened(port, (begun % "other").encode())
        assert await stranger.readline() == b"HTTP/1.1 404 Not Found\r\n"
        for _ in range(20):
            await opened(port, HALF)
        with suppress(ConnectionError):
            await stranger.read()
        honest.kept.write(b"xt")  # type: ignore[attr-defined]
        assert await honest.readline() == b"HTTP/1.1 204 No Content\r\n"
        for _ in range(20):
            await opened(port, HALF)
        with suppress(ConnectionError):
            await honest.read()

    serving(visit, guard.Guard(app, hosts=["x"], admit=admit))


@pytest.mark.parametrize("at_once", [1, 20])
def test_connections_that_were_answered_end_no_new_one(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """A browser that opens a connection, and sends its request a moment later, is answered, however many connections
    others use again and again, or for how many requests at once."""
    monkeypatch.setattr(connections, "bounds", lambda: bounds()._replace(waiting=5))
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    async def visit(port: int) -> None:
        honest = await opened(port, HALF)
        for _ in range(20):
            other = await opened(port, request * at_once)
            await other.readuntil(b"\r\n\r\nxxx")
            other.kept.write(request)  # type: ignore[attr-defined]
        honest.kept.write(b"\r\n\r\n")  # type: ignore[attr-defined]
        assert await honest.readline() == b"HTTP/1.1 200 OK\r\n"

    serving(visit, answering(3))


def test_an_answer_is_whole_before_its_connection_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many connections wait, one that was answered is the first to end, once its answer has been read."""
    monkeypatch.setattr(connections, "bounds", lambda: bounds()._replace(waiting=5))

    async def visit(port: int) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.setblocking(False)
            await loop.sock_connect(reader, ("127.0.0.1", port))
            await loop.sock_sendall(reader, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            said = await loop.sock_recv(reader, 100)
            for _ in range(10):
                await opened(port, HALF)
            while came := await loop.sock_recv(reader, 2_000):
                said += came
                await asyncio.sleep(0)
        assert len(said.partition(b"\r\n\r\n")[2]) == 60_000

    serving(visit, answering(60_000), send_buffer=4096)


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (OSError(errno.EMFILE, "Too many open files"), True),
        (OSError(errno.ENFILE, "Too many open files in system"), True),
        (OSError(errno.ENOENT, "No such file"), False),
        (ValueError("x"), False),
        (None, False),
    ],
)
def test_the_want_of_files_is_told_from_other_errors(error: Exception | None, known: bool) -> None:
    """Also where an error of this program was raised for it."""
    try:
        try:
            raise error or ValueError
        except (OSError, ValueError):
            raise BadJournal("Can't read it.") from None
    except BadJournal as raised:
        assert (is_out_of_files(error), is_out_of_files(raised)) == (known, known)


def test_a_debate_goes_on_when_files_can_be_opened_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where too many files are open as it begins, its page says that, and it goes on by itself."""
    monkeypatch.setattr("debate_orchestrator.web.public.site.RETRY_SECONDS", (1.0, 1.0, 1.0, 1.0))
    full = [True]

    def unless_full(open_file: Callable[[str, int], int]) -> Callable[[str, int], int]:
        def opened(path: str, flags: int) -> int:
            if full[0] and not flags & os.O_CREAT:
                raise OSError(errno.EMFILE, "Too many open files")
            return open_file(path, flags)

        return opened

    for name in ("regular_file", "followed_file"):
        monkeypatch.setattr(journal, name, unless_full(getattr(journal, name)))
    with visiting_public() as visitor:
        path = visitor.started()
        assert "Too many people use this site" in visitor.until(path, "goes on by itself in about")
        full[0] = False
        visitor.until(path, "Complete")
