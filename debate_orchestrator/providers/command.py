"""A program as a speaker: it reads a brief on its standard input and prints the reply.

The program gets the part of the environment that programs need, and no key unless the user names it: an answers file
may have chosen the program.
"""

from __future__ import annotations

import shlex
import shutil

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.prompting.briefs import Brief, earlier_speech
from debate_orchestrator.providers import call_errors
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.programs import ENV_VARIABLE, NotRun, ProgramRun, environment
from debate_orchestrator.providers.provider import OnPiece, Permissions, Provider
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import ProviderFailed, TransientError, short_repr

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
            raise ProviderFailed(f"{self.name} can't be run: {reason}. Try: {call_errors.REASSIGN_HINT}.") from None
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
