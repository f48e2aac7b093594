"""A program as a speaker: it reads a brief on its standard input and prints the reply.

The program gets the part of the environment that programs need, and no key unless the user names it: an answers file
may have chosen the program.

No shell is involved. The program runs in a process group of its own, so that whatever it starts ends with it: when it
takes too long, when its caller is cancelled, or when this process is killed. The group is ended before the supervisor,
which leads it, can be reaped: no other process has its number then. Where another kills the supervisor, the group is
killed once the socket to it closes, which is before it can be reaped.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.briefs import Brief, earlier_speech
from debate_orchestrator.providers import call_errors, supervisor
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.provider import NO_PERMISSIONS, OnPiece, Permissions, Provider
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.coroutines import cancel_later, running_timeout
from debate_orchestrator.util.errors import ProviderFailed, TransientError, short_repr
from debate_orchestrator.util.redact import add_program_variables, redact

GRACE_SECONDS = supervisor.GRACE_SECONDS
"""Seconds that a program, and what it left running, has to end after it was asked to."""
ENV_VARIABLE = "DEBATE_COMMAND_ENV"
"""Names, separated by commas, of environment variables that programs get besides the usual ones."""
_ENVIRONMENT = re.compile(
    "PATH|HOME|LANG|LANGUAGE|LC_.*|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|USER|LOGNAME|SHELL|XDG_.*"
    "|CLAUDE_CONFIG_DIR|CODEX_HOME|LLM_USER_PATH|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS"
)
"""Environment variables that every program gets: to run, to find its own configuration, and to verify servers."""
_PROGRAM = -1
"""Stands for the program itself among its open pipes."""
_MAX_PIPE = 1024 * 1024
"""Bytes of the largest pipe."""
_STDERR_KEPT = 64 * 1024
"""Bytes that are kept of the end of the standard error, which has the reason of a failure."""
_STDERR_SHOWN = 250
_HINT = (
    "Try: correct the command or the program. It gets an environment variable, such as a key or a proxy, only if "
    f"{ENV_VARIABLE} has its name."
)


class Command(Provider):
    """One program, which is run for each turn."""

    def __init__(self, spec: str, current: CurrentState, permissions: Permissions):
        self.name = spec
        self._words = shlex.split(spec.partition(":")[2])
        self._limit = max(1.0, LIMITS.program_seconds * current.state.retry_for / LIMITS.retry_for)
        self._nonce = current.state.opened.nonce
        self._permissions = permissions

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The program's output. Raises TransientError if it fails or takes too long, ProviderFailed if it can't be
        run."""
        run, text = ProgramRun(on_text), document(brief, self._nonce).encode("utf-8", "replace")
        try:
            await run.run(self._words, environment(self._permissions), text, self._limit)
        except TimeoutError:
            raise self._broken(f"no end after {self._limit:g} s", run, _HINT) from None
        except NotRun as failure:
            reason = f"{type(failure.error).__name__}: {failure.error}"
            problem = f"{self.name} can't be run: {reason}. Try: {call_errors.REASSIGN_HINT}."
            raise call_errors.out_of_files(self.name, failure.error) or ProviderFailed(problem) from None
        return self._read(run)

    def _read(self, run: ProgramRun) -> Reply:
        if len(run.stdout) > LIMITS.max_reply_chars:
            raise self._broken(f"more than {LIMITS.max_reply_chars:,} bytes", run)
        if run.stderr_length > LIMITS.max_stderr_bytes:
            raise self._broken(f"more than {LIMITS.max_stderr_bytes:,} bytes on its standard error", run)
        if code := run.code:
            ended = f"exit code {code}" if code > 0 else f"it was ended by signal {-code}"
            stderr = call_errors.quote(run.stderr(), _STDERR_SHOWN, end=True)
            raise self._broken(f"{stderr} ({ended})" if stderr else ended, run, _HINT)
        try:
            return self._reply(run.stdout.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise self._broken(f"bytes that are not UTF-8 at offset {error.start}", run) from None

    def _broken(self, what: str, run: ProgramRun, hint: str = "") -> TransientError:
        text = bytes(run.stdout[: LIMITS.max_reply_chars]).decode("utf-8", "replace")
        error = call_errors.broken_reply(self.name, what, self._reply(text) if text else None, hint)
        error.tries = call_errors.MAX_TRIES
        return error

    def _reply(self, text: str) -> Reply:
        return Reply(text=text.removesuffix("\n").removesuffix("\r"), brief_digest="", spec=self.name)


def document(brief: Brief, nonce: str) -> str:
    """A brief as one self-contained text. What the seat said itself is in blocks of its own."""
    parts = [
        earlier_speech(brief, nonce, part) if message.role == "assistant" else part
        for message in brief.messages
        for part in message.parts
    ]
    return "\n\n".join([brief.system, "---", *parts]) + "\n"


def problem(spec: str) -> str | None:
    """The reason that a spec names no program that can be run; None if it does."""
    hint = "Try: command:PROGRAM ARGUMENTS."
    rest = spec.partition(":")[2]
    try:
        arguments = shlex.split(rest)
    except ValueError as error:
        return f"{short_repr(rest)} is not a command line ({error}). {hint}"
    if not arguments or not rest.replace("\n", "").replace("\t", "").isprintable():
        return f"{short_repr(rest)} is not a command line. {hint}"
    if len(rest) > model_spec.MAX_COMMAND_LENGTH:
        maximum = model_spec.MAX_COMMAND_LENGTH
        problem = f"A command line of {len(rest):,} characters is too long; at most {maximum} are allowed."
        return f"{problem} Put it into a script, and name that."
    if shutil.which(arguments[0]) is None:
        return f"{short_repr(arguments[0])} is not a program that can be run. A path counts from the working directory."
    return None


provider = Command


# Running a program, for a speaker or for the screening of topics


class NotRun(Exception):
    def __init__(self, error: OSError | ValueError):
        self.error = error
        super().__init__(str(error))


class ProgramRun(asyncio.SubprocessProtocol):
    def __init__(self, on_text: Callable[[str], object] = str):
        self._on_text, self._loop = on_text, asyncio.get_running_loop()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = {_PROGRAM, 1, 2}
        self._transport: asyncio.SubprocessTransport | None = None
        self.code: int | None = None
        """The exit code, or minus the number of the signal that ended it; None until it has ended by itself."""
        self.stdout, self.stderr_length = bytearray(), 0
        """The standard output, and the number of bytes on the standard error."""
        self._stderr = bytearray()
        self._error_number: int | None = None
        self._all_closed, self._supervisor_exited = asyncio.Event(), asyncio.Event()
        self._finished: asyncio.Future[None] = self._loop.create_future()

    async def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        text: bytes,
        seconds: float,
        *,
        stderr: bool = True,
    ) -> None:
        """Hands the program a text, and waits until it has ended or has printed too much; then nothing of it is left.
        Without `stderr`, it has that of this process. Raises TimeoutError if it takes more seconds than that, without
        those in which this process was stopped; NotRun if it can't be run. Where the program has ended by itself, its
        output is whole, and a cancellation comes where the task next waits."""
        try:
            own_end, child_end = socket.socketpair()
        except OSError as error:
            raise NotRun(error) from None
        with own_end:
            with child_end:
                self._open = {_PROGRAM, 1, 2} if stderr else {_PROGRAM, 1}
                # not create_subprocess_exec: its Process can't let go of a pipe that a stray child holds open
                try:
                    transport, _ = await self._loop.subprocess_exec(
                        lambda: self,
                        *(sys.executable, "-I", "-S", supervisor.__file__, str(child_end.fileno()), *command),
                        stderr=asyncio.subprocess.PIPE if stderr else None,
                        env=environment,
                        pass_fds=[child_end.fileno()],
                        start_new_session=True,
                    )
                except (OSError, ValueError) as error:
                    raise NotRun(error) from None
            self._loop.add_reader(own_end, self._read_report, own_end)
            try:
                await self._finish(transport, text, seconds)
            finally:
                self._loop.remove_reader(own_end)
        if self._error_number is not None:
            raise NotRun(OSError(self._error_number, os.strerror(self._error_number), command[0]))

    async def _finish(self, transport: asyncio.SubprocessTransport, text: bytes, seconds: float) -> None:
        ended_well = False
        try:
            stdin = transport.get_pipe_transport(0)
            assert isinstance(stdin, asyncio.WriteTransport)
            stdin.write(text)
            stdin.write_eof()
            async with running_timeout(seconds):
                await asyncio.shield(self._finished)  # which takes the rest of the output also if this is cancelled
        except asyncio.CancelledError:
            ended_well = self.code == 0
            if not ended_well:
                raise
            cancel_later()
        finally:
            try:
                await self._end(transport)
            except asyncio.CancelledError:
                if not ended_well and not self._finished.done():
                    raise
                cancel_later()

    async def _end(self, transport: asyncio.SubprocessTransport) -> None:
        """Ends the program with all processes that it started, and closes its pipes. What still runs or has output to
        close is asked to first; if this task is cancelled, it stops waiting and kills them at once."""
        try:
            if not self._all_closed.is_set():
                self._send_signal(transport, signal.SIGTERM)
                with suppress(TimeoutError):
                    async with running_timeout(GRACE_SECONDS):
                        await self._all_closed.wait()
        finally:
            self._send_signal(transport, signal.SIGKILL)
            try:
                await self._supervisor_exited.wait()
            finally:
                stdin = transport.get_pipe_transport(0)
                assert isinstance(stdin, asyncio.WriteTransport)
                if stdin.get_write_buffer_size():  # closing would wait until the rest is read
                    stdin.abort()
                transport.close()

    @staticmethod
    def _send_signal(transport: asyncio.SubprocessTransport, number: int) -> None:
        """Sends a signal to the group. Its leader, the supervisor, lives until it is killed here; if it was killed by
        another, the number may be another group's."""
        if transport.get_returncode() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), number)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def stderr(self) -> str:
        """The end of the standard error, redacted before it is cut: half a secret would not be recognised."""
        return redact(self._stderr.decode("utf-8", "replace"))[-_STDERR_KEPT:]

    def _read_report(self, own_end: socket.socket) -> None:
        """Takes the supervisor's report on how the program has ended; or, where the socket has closed, kills the
        group: the supervisor was killed by another just now."""
        kind, _, number = own_end.recv(64).decode().partition(" ")
        if not kind:  # `process_exited` comes too
            self._loop.remove_reader(own_end)
            assert self._transport is not None
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
            return
        if kind == supervisor.NOT_RUN:
            self._error_number = int(number)
        else:
            self.code = int(number)
        self._close(_PROGRAM)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._finished.done():
            return
        if fd == 2:
            self.stderr_length += len(data)
            if self.stderr_length > LIMITS.max_stderr_bytes:
                return self._stop_waiting()
            self._stderr = (self._stderr + data)[-2 * _STDERR_KEPT :]
            return
        self.stdout += data
        if len(self.stdout) > LIMITS.max_reply_chars:
            return self._stop_waiting()
        try:
            self._on_text(self._decoder.decode(data))
        except Exception as error:  # an error in this program: it is raised where the output is awaited
            self._finished.set_exception(error)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._close(fd)

    def process_exited(self) -> None:
        """The supervisor has gone: it was killed from here, or by another."""
        assert self._transport is not None
        if self.code is None:
            self.code = self._transport.get_returncode()
        self._supervisor_exited.set()
        self._close(_PROGRAM)

    def _close(self, part: int) -> None:
        """Takes note that the program has ended, or that one of its pipes is closed."""
        self._open.discard(part)
        if not self._open:
            self._all_closed.set()
            self._stop_waiting()
        elif part == _PROGRAM:
            for _, pipe in self._pipes():
                pipe.pause_reading()
            self._loop.call_soon(self._take_rest)  # after what was read

    def _pipes(self) -> Iterator[tuple[int, asyncio.ReadTransport]]:
        """The pipes that may have output, by their numbers in the program."""
        assert self._transport is not None
        for fd in (1, 2):
            pipe = self._transport.get_pipe_transport(fd)
            if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
                yield fd, pipe

    def _take_rest(self) -> None:
        """Takes what the program had printed when it ended. What a child prints later does not count."""
        for fd, pipe in self._pipes():
            with suppress(BlockingIOError):
                if rest := os.read(pipe.get_extra_info("pipe").fileno(), _MAX_PIPE):
                    self.pipe_data_received(fd, rest)
            pipe.resume_reading()
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        if not self._finished.done():
            self._finished.set_result(None)


def environment(permissions: Permissions = NO_PERMISSIONS) -> dict[str, str]:
    """The part of the environment that programs get."""
    variables = {name.strip() for name in os.environ.get(ENV_VARIABLE, "").split(",")} | {*permissions.command_env}
    add_program_variables(variables)
    return {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name) or name in variables}
