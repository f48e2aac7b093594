"""The line to a server of models: what the clients of both libraries have in common.

What the environment holds for a vendor (keys, organizations, headers of one's own gateway) goes to that
vendor and to nobody else: a request to an address from a cast carries what a request needs, and the key that
is meant for that host. Redirects are never followed, since a key would go along, and no key goes over plain http to
another machine or through a proxy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from debate_orchestrator.core.events import Reply
from debate_orchestrator.providers import faults, servers
from debate_orchestrator.providers.limits import LIMITS, OverLimit
from debate_orchestrator.providers.registry import Piece
from debate_orchestrator.util import redact
from debate_orchestrator.util.errors import ExternalError, ProviderFailed

CONNECT = 15.0
"""Seconds in which a server must take a connection."""
_NEEDED = {
    "host",
    "accept",
    "accept-encoding",
    "connection",
    "content-type",
    "content-length",
    "user-agent",
    "anthropic-version",
}
_BENEATH = ("httpx2", "httpx", "httpcore2", "aiohttp", "anyio")


def options(server: servers.Server) -> dict[str, Any]:
    """How a client of that server connects: without redirects, without reading certificates where there is no
    TLS, past any proxy to this machine, within `LIMITS`, and bare of what is not meant for the server where its
    address comes from a cast. Failed where a key would go over plain http to another machine."""
    from debate_orchestrator.providers import bounded_body

    if wrong := servers.in_the_clear(server):
        raise ProviderFailed(wrong)
    url = server.address or ""
    clear = url.lower().startswith("http://")
    return {
        "follow_redirects": False,
        "event_hooks": {
            "request": [_private(server), _learned if server.url is None else _bare(server)],
            "response": [bounded_body.hold_to_limits(LIMITS)],
        },
        "headers": {"accept-encoding": "gzip"},  # what `bounded` can unpack
        "verify": not clear,
        "trust_env": not (clear and servers.is_loopback(url)),
    }


def _private(server: servers.Server) -> Callable[[Any], Awaitable[None]]:
    """A hook that raises Failed where a key would go over plain http to another machine, by the address that a request
    really goes to: a profile may name one too."""

    async def check(request: Any) -> None:
        if wrong := servers.in_the_clear(server, str(request.url)):
            raise ProviderFailed(wrong)

    return check


async def _learned(request: Any) -> None:
    """Notes what is sent as credentials, since it may be from a profile: a server that quotes it is not to be told."""
    for name in ("authorization", "x-api-key"):
        redact.add_secret(request.headers.get(name, ""))


def _bare(server: servers.Server) -> Callable[[Any], Awaitable[None]]:
    async def strip(request: Any) -> None:
        for name in set(request.headers) - _NEEDED:
            del request.headers[name]
        request.headers["authorization"] = f"Bearer {server.key() or servers.NO_KEY}"

    return strip


class Unread(Exception):
    """A library could not read what a server sent; `reason` is its exception."""

    def __init__(self, reason: Exception):
        super().__init__(str(reason))
        self.reason = reason


class Growing(Protocol):
    """An answer that is put together from its events."""

    length: int
    """Characters of its text so far."""
    came: int
    """Characters of everything that came, thinking too."""
    odd: str | None
    """What can't be part of an answer, where something of that kind came."""

    def take(self, event: Any) -> list[str]:
        """Takes one event; the pieces that it adds to the text. An empty piece tells that the answer has begun."""
        ...


async def read_stream(stream: Any, answer: Growing, clock: faults.SilenceClock, on_text: Piece) -> None:
    """Takes a stream event by event until it ends, or can be no answer. Unread where the library fails to read it,
    whatever its exception; OverLimit where it is too long; TimeoutError where it takes too long."""
    events = aiter(stream)
    while answer.odd is None:
        try:
            event = await anext(events)
        except StopAsyncIteration:
            return
        except Exception as error:
            raise Unread(error) from error
        clock.check()
        came = answer.came
        pieces = answer.take(event)
        if answer.length > LIMITS.answer:
            raise OverLimit(f"more than {LIMITS.answer:,} characters")
        if answer.came > LIMITS.kept:
            raise OverLimit(f"more than {LIMITS.kept:,} characters, with thinking")
        for piece in pieces:
            on_text(piece)
        if answer.came > came:
            clock.heard()


def fault(who: str, error: Exception, partial: Reply | None, *, wrapped: bool, reached: bool) -> ExternalError:
    """What an exception of the line amounts to; `wrapped` says that a library put its own around the reason,
    `reached` that the server has answered before."""
    if isinstance(error, OverLimit):
        kept = partial and partial.model_copy(update={"text": partial.text[: LIMITS.answer]})
        return faults.oversized(who, str(error), kept)
    reason = cause(error) if wrapped else error
    if isinstance(reason, ExternalError):
        return reason
    what = faults.shown(f"{type(reason).__name__}: {reason}")
    if wrapped and is_refused_connection(error):
        return faults.unreachable(who, what, reached=reached)
    return faults.broken(who, what, partial)


def is_beneath(error: BaseException) -> bool:
    """Whether an exception comes from a library that a client stands on."""
    return type(error).__module__.partition(".")[0] in _BENEATH


def cause(error: BaseException) -> BaseException:
    """The innermost reason that a library wrapped, if it says anything."""
    seen = [error]
    while (inner := seen[-1].__cause__ or seen[-1].__context__) is not None and inner not in seen:
        seen.append(inner)
    return next((one for one in reversed(seen) if str(one)), error)


def is_refused_connection(error: BaseException) -> bool:
    """Whether no server was reached at all: no such host, or nobody listens."""
    text = f"{type(cause(error)).__name__} {cause(error)}".lower()
    return any(
        sign in text
        for sign in (
            "connection refused",
            "connect call failed",
            "name or service not known",
            "no address",
            "getaddrinfo",
            "nodename nor servname",
            "name resolution",
        )
    )


def clean(text: str) -> str:
    """`text` with halves of characters replaced, which no file could hold."""
    return text.encode("utf-8", "replace").decode()
