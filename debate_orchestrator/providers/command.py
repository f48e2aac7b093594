"""A program as a speaker: it reads a brief on its standard input and prints the reply.

No shell is involved. A supervisor runs the program, in a process group of its own, so that whatever it starts ends with
it: when a turn takes too long, is cancelled, or when this process is killed. The program gets the part of the
environment that programs need, and no key unless the user names it: an answers file may have chosen the program.
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
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief, earlier_speech
from debate_orchestrator.providers import call_errors, supervisor
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.provider import NO_PERMISSIONS, OnPiece, Permissions, Provider
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.coroutines import cancel_later
from debate_orchestrator.util.errors import ProviderFailed, TransientError, short_repr
from debate_orchestrator.util.redact import redact

GRACE_SECONDS = supervisor.GRACE_SECONDS
"""Seconds that a program has to end after it was asked to, and that a stray child may hold its output open."""
ENV_VARIABLE = "DEBATE_COMMAND_ENV"
"""Names, separated by commas, environment variables that programs get besides the usual ones."""
_STDERR_KEPT = 64 * 1024
"""Bytes that are kept of the end of the standard error, where the reason of a failure stands."""
_STDERR_SHOWN = 250
_POLL_SECONDS = 0.02
_ENVIRONMENT = re.compile(
    "PATH|HOME|LANG|LANGUAGE|LC_.*|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|USER|LOGNAME|SHELL|XDG_.*"
    "|CLAUDE_CONFIG_DIR|CODEX_HOME|LLM_USER_PATH|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS"
)
"""Environment variables that every program gets: to run, to find its own configuration, and to verify servers."""
_HINT = (
    "Try: correct the command or the program. It gets an environment variable, such as a key or a proxy, only if "
    f"{ENV_VARIABLE} has its name."
)


class Program(asyncio.SubprocessProtocol):
    """A program that runs, and leads a process group."""

    exited: asyncio.Event


R = TypeVar("R", bound=Program)


class Command(Provider):
    """One program, which is run for each turn."""

    def __init__(self, spec: str, debate: DebateState, permissions: Permissions):
        self.name = spec
        self._words = shlex.split(spec.partition(":")[2])
        self._limit = max(1.0, LIMITS.program_seconds * debate.retry_for / LIMITS.retry_for)
        self._nonce = debate.opened.nonce
        self._permissions = permissions

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """What the program prints. TransientError if it fails or takes too long, ProviderFailed if it can't be
        run."""
        own_end, child_end = socket.socketpair()
        with own_end:
            with child_end:
                words = (sys.executable, "-I", "-S", supervisor.__file__, str(child_end.fileno()), *self._words)
                options: dict[str, Any] = {"env": environment(self._permissions), "pass_fds": [child_end.fileno()]}
                try:
                    transport, run = await start_program(lambda: _Run(on_text), words, **options)
                except (OSError, ValueError) as error:
                    raise self._cant_run(error) from None
            await self._finish(transport, run, document(brief, self._nonce).encode("utf-8", "replace"))
            code = transport.get_returncode()
            if code == supervisor.NOT_RUN and (number := _read_available(own_end)):
                raise self._cant_run(OSError(int(number), os.strerror(int(number)), self._words[0]))
        return self._read(run, code)

    async def _finish(self, transport: asyncio.SubprocessTransport, run: _Run, text: bytes) -> None:
        """Hands a program its brief, and waits until it has ended. Where the program has ended by itself, its reply is
        whole, and a cancellation waits until it is on record."""
        ended_well = False
        try:
            stdin = transport.get_pipe_transport(0)
            assert isinstance(stdin, asyncio.WriteTransport)
            stdin.write(text)
            stdin.write_eof()
            async with asyncio.timeout(self._limit):
                await run.finished
        except TimeoutError:
            raise self._broken(f"no end after {self._limit:g} s", run, _HINT) from None
        except asyncio.CancelledError:
            ended_well = transport.get_returncode() == 0  # a child of it may hold its output open
            if not ended_well:
                raise
            cancel_later()
        finally:
            try:
                await _end(transport, run)
            except asyncio.CancelledError:
                if not ended_well and (not run.finished.done() or run.finished.cancelled()):
                    raise
                cancel_later()

    def _cant_run(self, error: Exception) -> ProviderFailed:
        reason = f"{type(error).__name__}: {error}"
        return ProviderFailed(f"{self.name} can't be run: {reason}. Try: {call_errors.REASSIGN}.")

    def _read(self, run: _Run, code: int | None) -> Reply:
        """The reply of a program that has ended."""
        if len(run.stdout) > LIMITS.max_answer_chars:
            raise self._broken(f"more than {LIMITS.max_answer_chars:,} bytes", run)
        if run.stderr_length > LIMITS.max_stderr_bytes:
            raise self._broken(f"more than {LIMITS.max_stderr_bytes:,} bytes on its standard error", run)
        if code:
            ended = f"exit code {code}" if code > 0 else f"it was ended by signal {-code}"
            stderr = call_errors.quote(run.stderr(), _STDERR_SHOWN, end=True)
            raise self._broken(f"{stderr} ({ended})" if stderr else ended, run, _HINT)
        try:
            return self._reply(run.stdout.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise self._broken(f"bytes that are not UTF-8 at offset {error.start}", run) from None

    def _broken(self, what: str, run: _Run, hint: str = "") -> TransientError:
        """The error for a run that gave no reply, with the part of it that had come."""
        text = bytes(run.stdout[: LIMITS.max_answer_chars]).decode("utf-8", "replace")
        error = call_errors.broken_answer(self.name, what, self._reply(text) if text else None, hint)
        error.tries = call_errors.TRIES
        return error

    def _reply(self, text: str) -> Reply:
        return Reply(text=text.removesuffix("\n").removesuffix("\r"), brief_digest="", spec=self.name)


class _Run(Program):
    """The output of a running program."""

    def __init__(self, on_text: OnPiece):
        loop = asyncio.get_running_loop()
        self._on_text, self._loop = on_text, loop
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = {1, 2}
        self.stdout, self.stderr_length = bytearray(), 0
        """What came on the standard output, and how many bytes on the standard error."""
        self._stderr = bytearray()
        self.exited = asyncio.Event()
        self.finished: asyncio.Future[None] = loop.create_future()
        """Done once the program has ended and its output is closed, or has printed too much."""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self.finished.done():
            return
        if fd == 2:
            self.stderr_length += len(data)
            if self.stderr_length > LIMITS.max_stderr_bytes:
                return self._done()
            self._stderr = (self._stderr + data)[-2 * _STDERR_KEPT :]
            return
        self.stdout += data
        if len(self.stdout) > LIMITS.max_answer_chars:
            return self._done()
        try:
            self._on_text(self._decoder.decode(data))
        except Exception as error:  # an error in this program: it is raised where the reply is awaited
            self.finished.set_exception(error)

    def stderr(self) -> str:
        """The end of the standard error, redacted before it is cut: half a secret would not be recognised."""
        return redact(self._stderr.decode("utf-8", "replace"))[-_STDERR_KEPT:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if self.exited.is_set() and not self._open:
            self._done()

    def process_exited(self) -> None:
        self.exited.set()
        if self._open:
            self._loop.call_later(GRACE_SECONDS, self._done)
        else:
            self._done()

    def _done(self) -> None:
        if not self.finished.done():
            self.finished.set_result(None)


async def start_program(
    make_run: Callable[[], R], words: Sequence[str], **options: Any
) -> tuple[asyncio.SubprocessTransport, R]:
    """A program that has been started, and what `make_run` makes of its output. OSError and ValueError where it can't
    be run."""
    # not create_subprocess_exec: its Process can't let go of a pipe that a stray child holds open
    return await asyncio.get_running_loop().subprocess_exec(make_run, *words, start_new_session=True, **options)


async def _end(transport: asyncio.SubprocessTransport, run: _Run) -> None:
    """Ends a program with all processes that it started, and closes its pipes. If this task is cancelled, it stops
    waiting and kills them at once."""
    group, loop = transport.get_pid(), asyncio.get_running_loop()
    try:
        running, deadline = _send_signal(group, signal.SIGTERM), loop.time() + GRACE_SECONDS
        while running and loop.time() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
            running = _send_signal(group, 0)
    finally:
        await kill(transport, run)


async def kill(transport: asyncio.SubprocessTransport, run: Program) -> None:
    """Ends a program and its child processes at once, and closes its pipes."""
    _send_signal(transport.get_pid(), signal.SIGKILL)
    try:
        await run.exited.wait()
    finally:
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        if stdin.get_write_buffer_size():  # closing would wait until the rest is read
            stdin.abort()
        transport.close()


def _send_signal(group: int, number: int) -> bool:
    """Sends a signal to a process group; False if none of it is left."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def environment(permissions: Permissions = NO_PERMISSIONS) -> dict[str, str]:
    """The part of the environment that programs get."""
    variables = {name.strip() for name in os.environ.get(ENV_VARIABLE, "").split(",")} | {*permissions.command_env}
    return {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name) or name in variables}


def _read_available(line: socket.socket) -> bytes:
    """What has come on a socket so far."""
    line.setblocking(False)
    try:
        return line.recv(16)
    except BlockingIOError:
        return b""


def document(brief: Brief, nonce: str) -> str:
    """A brief as one self-contained text. What the seat said itself stands in blocks of its own."""
    parts = [
        earlier_speech(brief, nonce, part) if message.role == "assistant" else part
        for message in brief.messages
        for part in message.parts
    ]
    return "\n\n".join([brief.system, "---", *parts]) + "\n"


def problem(spec: str) -> str | None:
    """Why a spec names no program that can be run; None if it does."""
    hint = "Try: command:PROGRAM ARGUMENTS."
    rest = spec.partition(":")[2]
    try:
        words = shlex.split(rest)
    except ValueError as error:
        return f"{short_repr(rest)} is not a command line ({error}). {hint}"
    if not words or not rest.replace("\n", "").replace("\t", "").isprintable():
        return f"{short_repr(rest)} is not a command line. {hint}"
    if len(rest) > model_spec.MAX_COMMAND_LENGTH:
        maximum = model_spec.MAX_COMMAND_LENGTH
        problem = f"A command line of {len(rest):,} characters is too long; at most {maximum} are allowed."
        return f"{problem} Put it into a script, and name that."
    if shutil.which(words[0]) is None:
        return f"{short_repr(words[0])} is not a program that can be run. A path counts from the working directory."
    return None


def provider(spec: str, current: CurrentState, permissions: Permissions) -> Command:
    return Command(spec, current.state, permissions)
