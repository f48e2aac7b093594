"""The shared part of all model APIs: the connection, the stream of a reply, and the errors of both.

What the environment holds for a vendor (keys, organizations, headers of a gateway) goes to that vendor alone. A request
to an address from a cast carries only what it needs, and the key that is meant for that host. Redirects are never
followed, since a key would go along, and no key goes over plain http to another machine or through a proxy to this one.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from importlib import import_module
from typing import Any, Literal

from debate_orchestrator.core import speech_rules
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import FoundPage, Reply, Usage
from debate_orchestrator.core.settings import MAX_COST, MAX_COUNT
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import call_errors, event_stream, limits, pricing, servers
from debate_orchestrator.providers.limits import LIMITS, OverLimit
from debate_orchestrator.providers.options import Option, UnsupportedOptions
from debate_orchestrator.providers.provider import OnPiece, Permissions, Provider
from debate_orchestrator.util import redact
from debate_orchestrator.util.coroutines import cancel_later
from debate_orchestrator.util.errors import ExternalError, ProviderFailed, TransientError

CONNECT_SECONDS = 15.0
MAX_FIELD_LENGTH = 10_000
"""Characters of what a server says of itself and of how a reply ended, and of a page that it found."""
ResponseListener = Callable[[int, Mapping[str, str]], None]
"""Gets the status and the headers of each response to a call."""

response_listener: ContextVar[ResponseListener | None] = ContextVar("response_listener", default=None)
"""Set in the task that makes a call, to be told of each response."""
_NEEDED_HEADERS = {
    "host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent",
    "anthropic-version",
}  # fmt: skip
_TRANSPORTS = ("httpx2", "httpx", "httpcore2", "aiohttp", "anyio")
_Ended = Literal["whole", "cut", "refused", "broken off"]
_CUT = (
    "length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit", "limit",
    "error_limit", "context_length_exceeded", "model_context_window_exceeded", "pause_turn",
)  # fmt: skip
_REFUSED = (
    "content_filter", "content_filtered", "refusal", "safety", "recitation", "prohibited_content", "blocklist",
    "blacklist", "spii", "sensitive", "guardrail_intervened", "error_toxic",
)  # fmt: skip
_BROKEN_OFF = (
    "abort", "aborted", "cancelled", "error", "failed", "insufficient_system_resource", "interrupted", "network_error",
    "time_limit", "timeout", "user_cancel",
)  # fmt: skip
_ENDINGS: Mapping[str, _Ended] = {
    **dict.fromkeys(_CUT, "cut"),
    **dict.fromkeys(_REFUSED, "refused"),
    **dict.fromkeys(_BROKEN_OFF, "broken off"),
}
"""Word of a stop reason, in lower case, to how the reply ended; any other means that it is whole. Servers of one API
pass on the words of others, and some several at once (`content_filter: RECITATION`). `abort` is of vLLM and SGLang,
`insufficient_system_resource` of DeepSeek."""


class ApiReply:
    """A reply as far as its stream has come. Every field is checked before it is believed: a server may send
    anything. The SDKs' own accumulators are not a substitute: they copy the text with every piece, so that a reply in
    small pieces takes them quadratic time, and fail on events that are out of order."""

    def __init__(self) -> None:
        self.stop_reason: str | None = None
        self.invalid: str | None = None
        """The reason that this can't be a reply, if something invalid came."""
        self.length = self.received_chars = 0
        """Characters of its text, and of everything that came, with thinking."""
        self.has_begun = False
        """Whether anything has come, so that the call may have cost something."""
        self.is_over = False
        """Whether it has ended, so that nothing more is read."""
        self.was_cut_off = False
        """Whether its stream was closed because its text was too long. It counts as cut."""
        self.model: str | None = None
        self.usage: Usage | None = None
        """The tokens that the server counted; None if it counted none."""
        self.has_last_count = True
        """Whether `usage` is the count at the end of the reply, by which it has a price."""
        self.cost: float | None = None
        """The cost that the server gives, in US dollars."""

    def feed(self, event: Any) -> list[str]:
        """The pieces that an event adds to the text. An empty one: the reply began, or the model works."""
        raise NotImplementedError

    def incomplete(self) -> str | None:
        """The reason why the reply is not complete; None if it is, or was cut off."""
        if self.invalid is not None or self.was_cut_off:
            return self.invalid
        return self.missing() or self.broken_end()

    def missing(self) -> str | None:
        """What the reply lacks of its end; None if it has ended."""
        raise NotImplementedError

    def broken_end(self) -> str | None:
        """The reason why the reply is not complete, if the server says that it broke it off."""
        is_broken_off = self._stop_word() == "broken off"
        return f"it ended with {call_errors.quote(self.stop_reason)}" if is_broken_off else None

    def _stop_word(self) -> _Ended:
        """How the reply ended, as its stop reason says."""
        words = re.findall(r"[a-z_]+", (self.stop_reason or "").lower())
        return next((_ENDINGS[word] for word in words if word in _ENDINGS), "whole")

    @property
    def text(self) -> str:
        """The text so far; of a refusal its explanation."""
        raise NotImplementedError

    def ended(self) -> Literal["whole", "cut", "refused"]:
        ended = "cut" if self.was_cut_off else self._stop_word()
        return "whole" if ended == "broken off" else ended

    def pages(self) -> tuple[FoundPage, ...]:
        return ()

    def reply(self, spec: str, unsupported: tuple[str, ...] = (), *, batch: bool = False) -> Reply:
        """This as the `Reply` of that seat, priced as one of a batch if it is. Of the cost that the server reports
        and that of its tokens the higher one counts: a gateway may report its own fee alone. The cost of the tokens of
        a reply whose stream was closed is unknown, since they are counted at its end, unless it is free. So is that of
        a reply without this last count."""
        is_counted = self.has_last_count and not self.was_cut_off
        usage = self.usage if is_counted or pricing.is_free(spec) else None
        costs = [cost for cost in (pricing.cost(spec, usage, batch=batch), self.cost) if cost is not None]
        cost = max(costs, default=None)
        if cost is not None and cost > MAX_COST:
            cost = None  # the counts of the server can't be right
        reply = Reply(
            text=self.text[: LIMITS.max_reply_chars], brief_digest="", spec=spec, model=self.model, usage=self.usage,
            stop_reason=self.stop_reason, ended=self.ended(), cost=cost, found_pages=self.pages(),
            unsupported=unsupported,
        )  # fmt: skip
        return reply.model_copy(update={"received_chars": self.received_chars})

    def partial(self, spec: str) -> Reply | None:
        """The received part of a reply that broke off; None if nothing came, so that nothing can have cost money."""
        return self.reply(spec) if self.has_begun else None


class ServerError(Exception):
    """The error with which a server responds, or which it sends within a stream: then it may say a status itself."""

    def __init__(self, body: Any, message: str = "", status: int | None = None, headers: Mapping[str, str] = {}):
        super().__init__(str(body or message)[: LIMITS.max_error_bytes])
        if status:  # a response has the error within its body
            body = field(body, "error") or body
        self.message, self.headers = error_message(body) or message, headers
        self.code = " ".join(str(field(body, name) or "") for name in ("code", "type")).strip()
        number = str(field(body, "code") or "")
        self.status = status or (int(number) if re.fullmatch(r"[45]\d\d", number, re.ASCII) else 200)


class _SharedClient:
    """A client, and how many providers use it."""

    def __init__(self, client: Any):
        self.client, self.users = client, 0


_clients: dict[tuple[object, ...], _SharedClient] = {}
"""Clients by event loop, SDK, address and key. One takes 65 ms and a megabyte to make (it reads the certificate
authorities) and keeps connections open, so the debates of a process share it."""


class ApiModel(Provider):
    """One model of one server. The SDK retries nothing: the loop decides on every call, and writes each one down."""

    caches = True
    sdk_name = ""
    """The SDK of the subclass: it is part of what clients are shared by."""
    imports = ""
    """The module that the SDK needs for a call."""

    def __init__(self, spec: str, current: CurrentState, permissions: Permissions):
        self.name = spec
        self.server = servers.server(spec)
        self.insecure = permissions.insecure
        self.current = current
        self.unsupported = UnsupportedOptions()
        self._reached = False
        self._key: tuple[object, ...] | None = None

    def sdk(self) -> Any:
        """The SDK's module. Raises ProviderFailed if it is not installed."""
        raise NotImplementedError

    def connect(self, options: dict[str, Any]) -> Any:
        """A new client of the SDK with these options."""
        raise NotImplementedError

    async def _import_sdk(self) -> None:
        """Imports the SDK, which takes seconds the first time."""
        try:
            await asyncio.to_thread(import_module, self.imports)
        except OSError as error:
            raise call_errors.out_of_files(self.name, error) or error from None

    def _new_client(self) -> Any:
        """A new client. Raises ProviderFailed if a key is missing or would be sent unencrypted."""
        sdk, server = self.sdk(), self.server
        if server.needs_key and not server.has_key and not (server.url is None and server.api.profile):
            raise ProviderFailed(
                f"{self.name} needs a key. Try: set {server.key_variables[0]} in the environment, then resume."
            )
        timeout = sdk.Timeout(None, connect=CONNECT_SECONDS)
        http = sdk.DefaultAioHttpClient(timeout=timeout, **http_options(server, insecure=self.insecure))
        _refuse_cookies(http)
        return self.connect({"max_retries": 0, "timeout": timeout, "http_client": http})

    async def create(self, client: Any, request: dict[str, Any]) -> Any:
        """The SDK's stream of the reply to a request."""
        raise NotImplementedError

    def credentials_error(self, error: Exception) -> ExternalError | None:
        """The error for an exception of the SDK that says that credentials are missing; None for any other."""
        return None

    def client(self) -> Any:
        """The client of all providers that ask the same server with the same key in this event loop."""
        if self._key is None:
            server = self.server
            loop = asyncio.get_running_loop()
            key = (loop, self.sdk_name, server.url is None, server.address, server.key(), self.insecure)
            _clients[key] = _clients.get(key) or _SharedClient(self._new_client())
            _clients[key].users += 1
            self._key = key
        return _clients[self._key].client

    async def close(self) -> None:
        """Gives the client back; the last provider that uses it closes its connections."""
        key, self._key = self._key, None
        if key is not None:
            _clients[key].users -= 1
            if not _clients[key].users:
                await _clients.pop(key).client.close()

    async def make_call(
        self,
        base: Mapping[str, Any],
        options: Sequence[Option],
        api_reply: ApiReply,
        brief: Brief,
        clock: limits.SilenceClock,
        on_text: OnPiece,
    ) -> None:
        """Makes one call and fills the `ApiReply`. An error after a complete reply is ignored, and a cancellation then
        takes effect at the next wait. If a server does not support an option, the call is made again at once in
        another variant. If it may have been billed it fails first, so that it is on record."""
        await self._import_sdk()
        meter = limits.Meter(
            limits.reply_length(brief, self.name), partial(speech_rules.without_private_reasoning, self.current.state)
        )
        while True:
            try:
                client = self.client()  # before the clock runs
                async with clock.listening():
                    # The SDK's own reading of the stream has no limits, and makes a model of every event.
                    response = (await self.create(client, self.unsupported.request(base, options))).response
                    try:
                        await read_stream(response, api_reply, clock, on_text, meter)
                    finally:
                        await response.aclose()
            except ExternalError:
                raise
            except asyncio.CancelledError:
                if api_reply.incomplete() is not None:
                    raise
                cancel_later()
            except Exception as error:
                error = self._server_error(error)
                failure = self._error_for(error, api_reply, clock)
                lacks_option = (
                    not api_reply.has_begun
                    and isinstance(error, ServerError)
                    and self.unsupported.learn(options, error.status, str(error))
                )
                if lacks_option and not (isinstance(failure, TransientError) and failure.maybe_billed):
                    continue
                if api_reply.incomplete() is not None or not isinstance(failure, TransientError):
                    raise failure from None
            break
        if problem := api_reply.incomplete():
            raise call_errors.broken_reply(self.name, problem, api_reply.partial(self.name))
        self._reached = True

    async def about_batches(self, method: Literal["get", "post"], path: str, **options: Any) -> bytes:
        """The body of the response to a request about batches. Errors are those of a call for a reply. The SDKs' own
        models are not used: they take any JSON for what they asked for."""
        import httpx2

        await self._import_sdk()
        clock = limits.SilenceClock(self.current.state.retry_for)
        try:
            client = self.client()
            async with clock.listening():
                response = await getattr(client, method)(path, cast_to=httpx2.Response, **options)
        except ExternalError:
            raise
        except Exception as error:
            raise self._error_for(self._server_error(error), ApiReply(), clock) from None
        self._reached = True
        return bytes(response.content)

    def _server_error(self, error: Exception) -> Exception:
        """The error with which a server responded, where that is what an exception of the SDK says."""
        if not isinstance(error, self.sdk().APIStatusError):
            return error
        return ServerError(error.body, error.message, error.status_code, error.response.headers)

    def _error_for(self, error: Exception, api_reply: ApiReply, clock: limits.SilenceClock) -> Exception:
        """The error for an exception of the SDK, or of the libraries beneath it."""
        partial = api_reply.partial(self.name)
        if isinstance(error, TimeoutError):
            return call_errors.broken_reply(self.name, clock.timeout_reason(), partial, clock.hint)
        if isinstance(error, ServerError):
            failure: ExternalError | None = call_errors.http_error(
                self.name, error.status, error.message, error.headers, error.code
            )
        else:
            failure = call_errors.out_of_files(self.name, error) or self.credentials_error(error)
        if failure is not None:
            if partial is not None:  # what had come was paid for
                failure.partial, failure.maybe_billed = partial, True
            return failure
        wrapped = isinstance(error, self.sdk().APIConnectionError)
        reason = call_errors.cause(error) if wrapped else error
        if isinstance(reason, OverLimit):
            return call_errors.oversized_reply(self.name, str(reason), partial)
        if isinstance(reason, ExternalError):
            return reason
        from_library = type(error).__module__.partition(".")[0] in (*_TRANSPORTS, self.sdk_name)
        if not (from_library or isinstance(error, OSError | ValueError)):
            return error  # an error in this program: it must be seen
        what = call_errors.describe(error, reason)
        if wrapped and isinstance(reason, socket.gaierror):
            what = f"the name of its server was not found ({call_errors.quote(reason)}), or this machine is offline"
        is_refused = wrapped and call_errors.is_refused_connection(error)
        if is_refused or (wrapped and call_errors.is_without_connection(error)):
            # A server that refuses nothing may be there all the same, as one that has answered.
            return call_errors.unreachable_server(self.name, what, reached=self._reached or not is_refused)
        return call_errors.broken_reply(self.name, what, partial)


async def read_stream(
    response: Any, api_reply: ApiReply, clock: limits.SilenceClock, on_text: OnPiece, meter: limits.Meter
) -> None:
    """Reads a stream until the reply ends, is too long for its brief, or can't be a reply. Raises ServerError if the
    server sends an error in it, OverLimit if it is longer than any reply may be, TimeoutError if it takes too long, and
    errors of the HTTP client and of JSON."""
    async for event in event_stream.events(response):
        clock.check()
        if error := field(event, "error"):
            raise ServerError(error)
        received = api_reply.received_chars
        pieces = api_reply.feed(event)
        if api_reply.length > LIMITS.max_reply_chars:
            raise OverLimit(f"more than {LIMITS.max_reply_chars:,} characters")
        if api_reply.received_chars > LIMITS.max_received_chars:
            raise OverLimit(f"more than {LIMITS.max_received_chars:,} characters, with thinking")
        for piece in pieces:
            on_text(clean(piece))
        if api_reply.received_chars > received:
            clock.restart_silence()
        api_reply.was_cut_off = meter.exceeded(api_reply.length, lambda: api_reply.text)
        if api_reply.was_cut_off or api_reply.is_over or api_reply.invalid is not None:
            break


def http_options(server: servers.ModelServer, *, insecure: bool) -> dict[str, Any]:
    """Options of the HTTP client for a server: the key goes to that server alone, encrypted, and no redirect is
    followed. Raises ProviderFailed if a key would go over plain http to another machine."""
    if problem := servers.unencrypted(server, insecure=insecure):
        raise ProviderFailed(problem)
    url = server.address or ""
    plain = url.lower().startswith("http://")
    return {
        "follow_redirects": False,
        "event_hooks": {
            "request": [_prepared(server, insecure)],
            "response": [_notify_listener, event_stream.limit_body],
        },
        "headers": {"accept-encoding": "identity"},  # so that what comes is what is counted
        "verify": not plain,  # without TLS there are no certificates to load
        "trust_env": not (plain and servers.is_loopback(url)),
    }


def _refuse_cookies(http: Any) -> None:
    """Makes an HTTP client keep no cookie: a server could set one that can't be sent back, and no API needs any."""
    http.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
    for transport in filter(None, (http._transport, *http._mounts.values())):
        transport.client = partial(_open_session, transport)


def _open_session(transport: Any) -> Any:
    """The session of a transport, as it opens one itself, but without cookies."""
    import aiohttp

    connector = aiohttp.TCPConnector(
        ssl=transport.ssl_context,
        limit=transport.limits.max_connections or 0,
        keepalive_timeout=transport.limits.keepalive_expiry,
    )
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


async def _notify_listener(response: Any) -> None:
    """A hook of the HTTP client: passes the status and the headers of a response to the listener of the call."""
    listening = response_listener.get()
    if listening is not None:
        # As a mapping of its own: each look into the library's one goes through all headers.
        listening(int(response.status_code), dict(response.headers.items()))


def _prepared(server: servers.ModelServer, insecure: bool) -> Callable[[Any], Awaitable[None]]:
    """A hook that checks where a request really goes, since a profile may say so, and its headers. What goes to a
    vendor as credentials may come from a profile, and a server may quote it, so it is redacted from now on. Everything
    meant for a vendor is taken out of a request to an address from a cast."""

    async def prepare(request: Any) -> None:
        if problem := servers.unencrypted(server, str(request.url), insecure=insecure):
            raise ProviderFailed(problem)
        for name, value in request.headers.items():
            if not (value.isascii() and value.isprintable()):
                problem = f"The header {call_errors.quote(name)} can't be sent: it is not one line of printable ASCII."
                raise ProviderFailed(problem, hint="set the key or the variable of headers again that it comes from")
        if server.url is None:
            for name in ("authorization", "x-api-key"):
                redact.add_secret(request.headers.get(name, ""))
            return
        for name in set(request.headers) - _NEEDED_HEADERS:
            del request.headers[name]
        request.headers["authorization"] = f"Bearer {server.key() or servers.NO_KEY}"

    return prepare


def clean(text: str) -> str:
    """`text` with surrogate pairs joined, and lone surrogates, which can't be written to a file, replaced."""
    # Other codecs open a file when they are first used.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return joined.encode("utf-8", "replace").decode()


def error_message(body: Any) -> str:
    """A server's message in the body of an error, with an upstream server's; the whole body in another shape."""
    message, raw = field(body, "message"), field(field(body, "metadata"), "raw")
    if not isinstance(message, str):
        return str(body or "")
    return f"{message}: {raw}" if isinstance(raw, str) else message


def field(holder: Any, name: str) -> Any:
    """A field of a JSON object; None if there is none, or no object."""
    return holder.get(name) if isinstance(holder, dict) else None


def text_field(value: Any) -> str:
    """`value` if it is text, fit to be written down; else empty."""
    return clean(value) if isinstance(value, str) else ""


def short_field(value: Any) -> str | None:
    """The first `MAX_FIELD_LENGTH` characters of `value` if it is text, without secrets; None if there is no text."""
    text = text_field(value)
    return redact.truncate(text, MAX_FIELD_LENGTH) if text else None


def count_field(holder: Any, name: str) -> int | None:
    """A count in a field of a JSON object, if it is a plausible one."""
    value = field(holder, name)
    return value if type(value) is int and 0 <= value <= MAX_COUNT else None
