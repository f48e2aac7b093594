"""A program of the user's own as a speaker: it reads a brief on its standard input and prints the reply.

No shell is involved. A supervisor runs the program, in a process group of their own, so that whatever it starts ends
with it when a turn takes too long or is called off, and when this process is killed. It gets the part of the
environment that programs need, and no key unless the user names it: the program may have been chosen by the writer of
an answers file.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import shlex
import shutil
import signal
import socket
import sys
from typing import Any

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import faults, supervisor
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.permissions import permissions
from debate_orchestrator.providers.registry import Piece
from debate_orchestrator.util import errors, model_spec
from debate_orchestrator.util.errors import ProviderFailed
from debate_orchestrator.util.redact import redact

GRACE = supervisor.GRACE
"""Seconds that a program has between being asked to end and being ended, and that what it leaves behind may
hold its output open."""
_KEPT = 64 * 1024
"""Bytes kept of what a program says on its standard error: the last ones, which tell why it failed."""
_TOLD = 250
_PAUSE = 0.02
_GIVEN = re.compile(
    "PATH|HOME|LANG|LANGUAGE|LC_.*|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|USER|LOGNAME|SHELL|XDG_.*"
    "|CLAUDE_CONFIG_DIR|CODEX_HOME|LLM_USER_PATH|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS"
)
"""Environment variables that every program gets: to run, to find its own configuration, and to verify servers."""
_HINT = "If it needs an environment variable, such as a key or a proxy, name that: --command-env NAME."
_TRIES = 2
"""Calls after which a program that fails is held to fail for good."""


class Command:
    """One program, run anew for each turn."""

    caches = False

    def __init__(self, spec: str, patience: float, nonce: str):
        self.name = spec
        self._words = shlex.split(spec.partition(":")[2])
        self._limit = min(LIMITS.program, max(1.0, patience))
        self._nonce = nonce

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        """What the program prints, as `Provider` says. Trouble where it fails or takes too long, Failed where it
        can't be run."""
        loop = asyncio.get_running_loop()
        asked = document(brief, self._nonce).encode("utf-8", "replace")
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                words = (sys.executable, "-I", "-S", supervisor.__file__, str(theirs.fileno()), *self._words)
                given: dict[str, Any] = {"env": environment(), "start_new_session": True, "pass_fds": [theirs.fileno()]}
                try:
                    # not create_subprocess_exec: its Process can't be made to let go of a pipe that a stray child holds
                    transport, run = await loop.subprocess_exec(lambda: _Run(on_text), *words, **given)
                except (OSError, ValueError) as error:
                    raise self._not_run(error) from None
            await self._ended(transport, run, asked)
            code = transport.get_returncode()
            if code == supervisor.NOT_RUN and (number := _received(ours)):
                raise self._not_run(OSError(int(number), os.strerror(int(number)), self._words[0]))
        return self._read(run, code)

    async def _ended(self, transport: asyncio.SubprocessTransport, run: _Run, asked: bytes) -> None:
        """Hands a program its brief, and waits until it has ended."""
        try:
            stdin = transport.get_pipe_transport(0)
            assert isinstance(stdin, asyncio.WriteTransport)
            stdin.write(asked)
            stdin.write_eof()
            async with asyncio.timeout(self._limit):
                await run.over
        except TimeoutError:
            raise self._broken(f"no end after {self._limit:g} s", run, _HINT) from None
        finally:
            await _end(transport, run)

    def _not_run(self, error: Exception) -> ProviderFailed:
        hint = "Resume with another: `debate resume JOURNAL --a, --b or --judge WHO`."
        return ProviderFailed(errors.complaint(self.name, f"{type(error).__name__}: {error}", "a program", hint))

    def _read(self, run: _Run, code: int | None) -> Reply:
        if len(run.out) > LIMITS.answer:
            raise self._broken(f"more than {LIMITS.answer:,} bytes", run)
        if code:
            ended = f"exit code {code}" if code > 0 else f"the end by signal {-code}"
            told = _told(run.err.decode("utf-8", "replace"))
            raise self._broken(f"{ended} ({told})" if told else ended, run, _HINT)
        try:
            return self._reply(run.out.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise self._broken(f"bytes that are no UTF-8 at offset {error.start}", run) from None

    def _broken(self, what: str, run: _Run, hint: str = "") -> errors.TransientError:
        """The fault of an answer that is none, with what had come of it."""
        came = bytes(run.out[: LIMITS.answer]).decode("utf-8", "replace")
        fault = faults.broken(self.name, what, self._reply(came) if came else None, hint)
        fault.tries = _TRIES
        return fault

    def _reply(self, text: str) -> Reply:
        return Reply(text=text.removesuffix("\n").removesuffix("\r"), brief="", by=self.name)

    async def close(self) -> None:
        """Nothing is open: a program ends with its turn."""


class _Run(asyncio.SubprocessProtocol):
    """What comes from a running program."""

    def __init__(self, on_text: Piece):
        loop = asyncio.get_running_loop()
        self._on_text, self._loop = on_text, loop
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = {1, 2}
        self.out, self.err = bytearray(), bytearray()
        self.exited = asyncio.Event()
        self.over: asyncio.Future[None] = loop.create_future()
        """Done once the program has ended and its output is closed, or there is no use in hearing more."""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.err += data
            del self.err[:-_KEPT]
            return
        if self.over.done():
            return
        self.out += data
        if len(self.out) > LIMITS.answer:
            return self._done()
        try:
            self._on_text(self._decoder.decode(data))
        except Exception as error:  # not the program's fault: it must be seen where the reply is awaited
            self.over.set_exception(error)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if self.exited.is_set() and not self._open:
            self._done()

    def process_exited(self) -> None:
        self.exited.set()
        if self._open:
            self._loop.call_later(GRACE, self._done)
        else:
            self._done()

    def _done(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


async def _end(transport: asyncio.SubprocessTransport, run: _Run) -> None:
    """Ends what is left of a program and of what it started, and lets go of its pipes. Called off itself, it
    waits no longer, and still leaves nothing alive."""
    group, loop = transport.get_pid(), asyncio.get_running_loop()
    try:
        left, until = _signalled(group, signal.SIGTERM), loop.time() + GRACE
        while left and loop.time() < until:
            await asyncio.sleep(_PAUSE)
            left = _signalled(group, 0)
    finally:
        _signalled(group, signal.SIGKILL)
        try:
            await run.exited.wait()
        finally:
            stdin = transport.get_pipe_transport(0)
            assert isinstance(stdin, asyncio.WriteTransport)
            if stdin.get_write_buffer_size():  # a mere close would wait until somebody reads what is left
                stdin.abort()
            transport.close()


def _signalled(group: int, number: int) -> bool:
    """Sends a signal to a process group; False where none of it is left."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def environment() -> dict[str, str]:
    """The part of the environment that programs get."""
    named = permissions().command_env
    return {name: value for name, value in os.environ.items() if _GIVEN.fullmatch(name) or name in named}


def _received(line: socket.socket) -> bytes:
    """What has come on a socket so far."""
    line.setblocking(False)
    try:
        return line.recv(16)
    except BlockingIOError:
        return b""


def _told(stderr: str) -> str:
    """The end of what a program said on its standard error, without the secrets of the environment."""
    stderr = redact(stderr).strip()
    return faults.shown(stderr if len(stderr) <= _TOLD else f"...{stderr[-_TOLD:]}")


def document(brief: Brief, nonce: str) -> str:
    """A brief as one self-contained text. What the seat said itself stands in blocks of its own."""
    parts = [
        f"<<< EARLIER {nonce} said by you\n{part}\nEND {nonce} >>>" if message.role == "assistant" else part
        for message in brief.messages
        for part in message.parts
    ]
    return "\n\n".join([brief.system, "---", *parts]) + "\n"


def complaint(spec: str) -> str | None:
    """What is wrong with a command; None where nothing is."""
    expected = "command:PROGRAM ARGUMENTS"
    rest = spec.partition(":")[2]
    try:
        words = shlex.split(rest)
    except ValueError as error:
        return errors.complaint("the command", f"{errors.short_repr(rest)} ({error})", expected)
    if not words or not rest.replace("\n", "").replace("\t", "").isprintable():
        return errors.complaint("the command", errors.short_repr(rest), expected)
    if len(rest) > model_spec.LONGEST_COMMAND:
        got, hint = f"a command line of {len(rest):,} characters", "Put it into a script, and name that."
        return errors.complaint("the command", got, f"at most {model_spec.LONGEST_COMMAND}", hint)
    if shutil.which(words[0]) is None:
        hint = "A path counts from the working directory."
        return errors.complaint(
            "the command", errors.short_repr(words[0]), "a program that is there and can be run", hint
        )
    return None


def provider(spec: str, debate: DebateState) -> Command:
    return Command(spec, debate.opened.patience, debate.opened.nonce)
