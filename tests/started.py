"""Commands as processes of their own, each with a session of its own, none of which outlives its test.

They are forked from one process that has loaded whatever a debate needs, once, and runs no threads: loading it takes
longer than most debates here. Each begins as a shell would begin it: in the test's folder and environment, with every
signal as a Python that was just begun has it, whatever the tests themselves were begun by.
"""

from __future__ import annotations

import array
import atexit
import fcntl
import gc
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

PATIENCE = 180.0
"""Seconds until something that is awaited counts as not coming."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """The exit code, or the negative number of a signal."""
    out: str
    err: str


class Started:
    """A command that runs, or has ended."""

    def __init__(self, pid: int, streams: Sequence[IO[bytes]] = ()):
        self.pid, self._streams = pid, streams
        self._code: int | None = None

    def look(self) -> int | None:
        """How it ended; None while it runs."""
        if self._code is None:
            self._code = _asked({"look": self.pid})["code"]
        return self._code

    def stop(self) -> None:
        """It is stopped as it stands."""
        os.kill(self.pid, signal.SIGSTOP)
        until = time.monotonic() + PATIENCE
        while not _asked({"look": self.pid})["stopped"]:
            assert time.monotonic() < until, "it was not stopped"
            time.sleep(0.01)

    def signal(self, sign: signal.Signals) -> None:
        """Sends it a signal, if it has not ended."""
        if self.look() is None:
            os.kill(self.pid, sign)

    def interrupt(self) -> None:
        """Sends it a Ctrl-C, which is passed on to it once it has answered: the two count as one."""
        self.signal(signal.SIGINT)
        self.hear("Stopping: waiting for running calls, since they are paid for. Press Ctrl-C again to cancel them.")
        self.signal(signal.SIGINT)
        time.sleep(0.2)

    def give_up_calls(self, sign: signal.Signals) -> None:
        """Has it give up the calls under way, by this signal; a Ctrl-C gives up none until another one comes a second
        later."""
        if sign == signal.SIGINT:
            self.interrupt()
            assert self.look() is None, self._said()
            time.sleep(1)
        self.signal(sign)

    def end(self, within: float = PATIENCE) -> Ended:
        """Waits for its end; AssertionError, with what it said so far, where that does not come."""
        until = time.monotonic() + within
        while self.look() is None:
            assert time.monotonic() < until, f"it has not ended in {within} seconds: {self._said()}"
            time.sleep(0.01)
        assert self._code is not None
        return Ended(self._code, *self._said())

    def hear(self, text: str) -> None:
        """Waits until it has said that on its standard error; AssertionError, with what it said, where it ends before
        or does not come to it."""
        until = time.monotonic() + PATIENCE
        while text not in self._said()[1]:
            assert self.look() is None and time.monotonic() < until, f"it did not say {text!r}: {self._said()}"
            time.sleep(0.01)

    def kill(self) -> None:
        """Ends it, with all that it has started in its session's first group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.end()

    def _said(self) -> tuple[str, str]:
        """What is in its output and on its standard error; nothing if a terminal is both."""
        out, err = [os.pread(one.fileno(), 1 << 20, 0).decode("utf-8", "replace") for one in self._streams] or ["", ""]
        return out, err


@contextmanager
def started(*arguments: str, folder: Path = Path()) -> Iterator[Started]:
    """`debate` with these arguments in that folder, and nothing at its terminal."""
    with open(os.devnull, "rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        made = begun(arguments, [nothing.fileno(), out.fileno(), err.fileno()], (out, err), folder)
        try:
            yield made
        finally:
            made.kill()


def begun(
    arguments: Sequence[str],
    streams: Sequence[int],
    said: Sequence[IO[bytes]] = (),
    folder: Path = Path(),
    **environment: str,
) -> Started:
    """A command that has begun, with these three streams; a terminal is its own. The caller ends it."""
    wanted = {"argv": arguments, "folder": str(folder.resolve()), "environment": {**os.environ, **environment}}
    return Started(_asked(wanted, streams)["pid"], said)


class _Door(NamedTuple):
    """Where commands are asked for."""

    way: socket.socket
    process: subprocess.Popen[bytes]

    def close(self) -> None:
        """Closes it to requests, and no answer that comes late is taken for another's."""
        self.way.close()
        try:
            self.process.wait(2)  # it ends what it has begun
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@cache
def _door() -> _Door:
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    command = [sys.executable, str(Path(__file__).resolve()), str(theirs.fileno())]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True)
    theirs.close()
    made = _Door(ours, process)
    atexit.register(made.close)
    return made


def _asked(what: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
    door, sent = _door(), json.dumps(what).encode() + b"\n"
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    try:
        first = door.way.sendmsg([sent], ancillary)
        door.way.sendall(sent[first:])
        answer = json.loads(_line(lambda: door.way.recv(1 << 16)))
    except BaseException:
        _door.cache_clear()
        door.close()
        raise
    assert answer is not None, f"{what} is not known to the process that begins commands now: an earlier one began it"
    return answer


def _line(more: Any) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        if not (piece := more()):
            raise EOFError
        found += piece
    return found


# The process from which they are forked


def _serve(door: socket.socket) -> list[str]:
    """Begins what is asked for, until the requests end; in a command's own process, its arguments."""
    children: dict[int, dict[str, Any]] = {}
    while True:
        streams: list[int] = []

        def more(streams: list[int] = streams) -> bytes:
            data, given, _, _ = socket.recv_fds(door, 1 << 16, 3)
            streams += given
            return data

        try:
            wanted = json.loads(_line(more))
        except (EOFError, OSError):
            for pid in (pid for pid, how in children.items() if how["code"] is None):
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
            os._exit(0)
        if "look" in wanted:
            answer = _looked(wanted["look"], children[wanted["look"]]) if wanted["look"] in children else None
        else:
            pid = os.fork()
            if pid == 0:
                door.close()
                _become(wanted, streams)
                return list(wanted["argv"])
            children[pid] = {"code": None, "stopped": False}
            answer = {"pid": pid}
        for one in streams:
            os.close(one)
        door.sendall(json.dumps(answer).encode() + b"\n")


def _looked(pid: int, known: dict[str, Any]) -> dict[str, Any]:
    if known["code"] is None:
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        if done:
            known["stopped"] = os.WIFSTOPPED(status)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                known["code"] = os.waitstatus_to_exitcode(status)
    return known


def _become(wanted: dict[str, Any], streams: list[int]) -> None:
    os.setsid()
    if os.isatty(streams[0]):
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for place, one in enumerate(streams):
        os.dup2(one, place)
        os.close(one)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _load() -> None:
    """Loads what debates need, by holding one in which no model is asked; SystemExit where that fails."""
    gc.disable()  # until all is loaded: it stays
    atexit.register(gc.freeze)
    for name in ("anthropic", "aiohttp", "debate_orchestrator.providers.anthropic", "debate_orchestrator.cli.judge"):
        __import__(name)
    for name in ("controls", "replay", "run", "resume", "step", "open", "answers", "check", "report"):
        __import__(f"debate_orchestrator.cli.{name}")
    setup = "--topic=T --position-a=A --position-b=B --no-issues --no-brief --rounds=1 --rehearse --quiet --output=r.md"
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(io.StringIO()):
        try:
            main(["run", *setup.split()])
        except SystemExit as end:
            if end.code:
                raise
    os.chdir("/")
    gc.freeze()
    gc.enable()


def _begin() -> None:
    """Signals are what they are to a Python that was just begun by a shell."""
    for sign in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(sign, signal.SIG_DFL)
    for sign in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(sign, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


if __name__ == "__main__":
    from debate_orchestrator.cli import main

    _begin()
    _load()
    main(_serve(socket.socket(fileno=int(sys.argv[1]))))
