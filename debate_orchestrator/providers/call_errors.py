"""The errors for calls that fail: one for each way in which a server of models can fail.

Each failure is treated alike, whatever the library: a TransientError is retried for a while, Paused stops the
debate until something outside has changed, ProviderFailed until the setup has. docs/failures.md has the whole table,
and the tests follow it row by row.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from debate_orchestrator.core.reply import Reply
from debate_orchestrator.providers import servers
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.util.data import OUT_OF_FILES, TOO_MANY_FILES
from debate_orchestrator.util.errors import ExternalError, Paused, ProviderFailed, TransientError
from debate_orchestrator.util.redact import redact
from debate_orchestrator.util.sanitize import one_line, quoted

MAX_TRIES = 2
"""Calls after which a server that sends too much, or a program that fails, will likely always do so."""
REASSIGN_HINT = "another model in that seat, by `cast`"
_QUOTED = 300
_UNREACHED_SECONDS = 20.0
"""Seconds after which a server that never answered is likely not to be there."""
_HTTP_PARSER = "aiohttp.http_exceptions"
"""The module of the exceptions with which the parser of HTTP fails."""
_NO_CONNECTION = ("ClientConnectorError", "ConnectionTimeoutError")
"""The exceptions of aiohttp for a connection that was not made."""
_UNREACHABLE_WORDS = (
    "connection refused", "connect call failed", "name or service not known", "no address", "getaddrinfo",
    "nodename nor servname", "name resolution",
)  # fmt: skip
_OUT_OF_CREDIT = ("credit balance", "spend limit", "spending limit", "insufficient_quota", "insufficient credit")
_NOT_BEGUN = (425, 429, 529)
"""Statuses by which a server says that it did not begin with the request. Any other from 500 on, and 408, may be that
of a gateway which had passed it on."""
_TOO_LONG = ("prompt is too long", "context_length", "context length", "context window", "maximum context")


def excerpt(text: object, max_length: int = _QUOTED, *, end: bool = False) -> str:
    """What a server, a program or a library said, on one line: its beginning or its `end`. It is redacted before it is
    shortened."""
    content = str(text)
    content = content if end else content[: LIMITS.max_error_bytes]
    line = one_line(redact(content).encode("utf-8", "replace").decode())
    if len(line) <= max_length:
        return line
    return f"...{line[-max_length:]}" if end else f"{line[:max_length]}..."


def quote(text: object, max_length: int = _QUOTED, *, end: bool = False) -> str:
    """An excerpt in quotation marks, as an error tells it. It is empty if nothing was said."""
    words = excerpt(text, max_length, end=end)
    return words and quoted(words)


def http_error(name: str, status: int, message: str, headers: Mapping[str, str], error_code: str = "") -> ExternalError:
    """The error for an HTTP status. `message` is what the server said, and `error_code` its own word for the error.
    Status 200 is an error within a stream."""
    words = [f"HTTP {status}" if status != 200 else "", quote(message)]
    reason = ": ".join(filter(None, words)) or "an error without a message"
    lowered = f"{error_code} {message}".lower()
    if status == 402 or (status in (200, 400, 403, 429) and any(word in lowered for word in _OUT_OF_CREDIT)):
        return Paused(f"{name} has no credit left: {reason}. Try: add credit, then resume.")
    if status == 413 or (status in (200, 400, 422) and any(word in lowered for word in _TOO_LONG)):
        hint = f"Try: {REASSIGN_HINT}, with a larger context."
        return ProviderFailed(f"{name}: the transcript does not fit its context: {reason}. {hint}")
    if status in (408, 409, 425, 429) or status >= 500 or status == 200:
        return TransientError(
            f"{name} gave no answer: {reason}.",
            after=retry_after(headers),
            maybe_billed=status not in (409, *_NOT_BEGUN),
            not_begun=status in _NOT_BEGUN,
        )
    if status in (401, 403):
        names = " or ".join(servers.key_names(name)) or "the environment (`debate models` names the variable)"
        return ProviderFailed(f"{name} refused the key: {reason}. Try: set the key in {names}, then resume.")
    if status == 404:
        return ProviderFailed(f"{name}: model or address unknown: {reason}. Try: {REASSIGN_HINT}.")
    return ProviderFailed(f"{name} refused the request: {reason}.")


def broken_reply(name: str, what: str, partial: Reply | None = None, hint: str = "") -> TransientError:
    problem = f"{name} gave no complete answer: {what}."
    return TransientError(f"{problem} {hint}" if hint else problem, maybe_billed=True, partial=partial)


def oversized_reply(name: str, what: str, partial: Reply | None = None) -> TransientError:
    """The error for a reply that went over a limit and was stopped."""
    return TransientError(
        f"{name} gave no complete answer: {what}.", maybe_billed=True, partial=partial, tries=MAX_TRIES
    )


def unreachable_server(name: str, what: str, *, reached: bool) -> TransientError:
    """The error for a server that is not there. One that never answered is not waited for long."""
    if reached:
        return TransientError(f"{name} can't be reached: {what}.", not_begun=True)
    hint = "Try: check the network connection, or, for a server of your own, that it runs at this address."
    return TransientError(f"{name} can't be reached: {what}. {hint}", retry_for=_UNREACHED_SECONDS, not_begun=True)


def out_of_files(name: str, error: BaseException) -> TransientError | None:
    """The error for a call that was not made since this process can open no more files; None for any other
    exception."""
    if getattr(cause(error), "errno", None) not in OUT_OF_FILES:
        return None
    return TransientError(f"{name} can't be asked: {TOO_MANY_FILES}.", hint="fewer debates at once", not_begun=True)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that a server asks to wait (in seconds, milliseconds or a date); None if none. `now` is a Unix time."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        digits = value.replace(".", "", 1)
        if digits.isascii() and digits.isdigit():
            return min(float(value[:20]) * scale, 1e9)
    try:
        at = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, at - (time.time() if now is None else now))


def cause(error: BaseException) -> BaseException:
    """The innermost reason that says anything of an exception that a library wrapped."""
    return next((reason for reason in reversed(_chain(error)) if str(reason)), error)


def _chain(error: BaseException) -> list[BaseException]:
    """An exception, the one that it wraps, and so on. What was raised `from None` wraps none."""
    chain: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and inner not in chain:
        chain.append(inner)
        inner = inner.__cause__ or (None if inner.__suppress_context__ else inner.__context__)
    return chain


def describe(error: BaseException, reason: BaseException) -> str:
    """The `reason` of an exception by its kind and, quoted, its words. Of a parser of HTTP only the kind is given: it
    quotes the line that it failed at, and cuts it, so that the rest of a key there would not be recognised."""
    parsing = next((type(inner) for inner in reversed(_chain(error)) if type(inner).__module__ == _HTTP_PARSER), None)
    if parsing:
        return f"{parsing.__name__}: an answer that is not HTTP"
    return ": ".join(filter(None, (type(reason).__name__, quote(reason))))


def is_without_connection(error: BaseException) -> bool:
    """Whether no connection was made, so that nothing was sent."""
    names = {kind.__name__ for inner in _chain(error) for kind in type(inner).__mro__}
    return not names.isdisjoint(_NO_CONNECTION)


def is_refused_connection(error: BaseException) -> bool:
    """Whether no server was reached: the host is unknown, or nothing listens there. Only the words of this system
    count: other exceptions quote what a server answered."""
    reason = cause(error)
    return isinstance(reason, OSError) and any(words in str(reason).lower() for words in _UNREACHABLE_WORDS)
