"""Access control: the tokens of links, what every request is checked for before a view sees it, the fields of forms,
and the headers of every response."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse

from debate_orchestrator.providers.servers import is_loopback
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.errors import BadFile

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

DASHBOARD = "/dashboard/"
"""Before the token of the dashboard in the addresses of its pages."""
_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 500
_FORM_SECONDS = 20.0
"""Seconds in which a form has to arrive whole."""
_SECRET_SIZE = 32
"""Bytes of the secret of a user."""
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # addresses hold tokens; with "no-referrer" forms would have no origin to check
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""On every answer; a view's own header of the same name stays."""

Admit = Callable[[Scope], None]
"""Raises HTTPException for a request whose sender may not open its path."""


class Guard:
    """Lets requests through if they are for this server, not of another site, and `admit` raises no error."""

    def __init__(self, app: App, *, hosts: Iterable[str], admit: Admit):
        """`hosts` are the values of the Host header that are this server's."""
        self._app, self._admit = app, admit
        self._origins = {host.lower(): _origin(host.lower()) for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        has_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
            self._admit(scope)
        except HTTPException as error:
            refusal = PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)
            await refusal(scope, receive, send_with_headers)
            return
        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:  # in the middle of a form
            pass
        except asyncio.CancelledError:  # the server ends
            if has_begun:
                raise
            await PlainTextResponse("This server is ending.\n", 503)(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        """Raises HTTPException for a request that is not for this server, or that another site sent."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self._origins:
            problem = "This server does not go by that name. Use the address that it printed at its start."
            raise HTTPException(421, problem)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise HTTPException(405, "This server answers only GET, HEAD and POST.")
        if scope["method"] == "POST":
            origin = headers.get("origin", "").lower()
            is_other_site = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
            if is_other_site or (origin and origin != self._origins[host]):
                raise HTTPException(403, "This form was sent from another site.")
            if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
                raise HTTPException(415, f"This server takes only forms ({_FORM}).")


async def form(request: Request, token: str | None, max_bytes: int) -> dict[str, str]:
    """The fields of a form; of several with one name, their values with commas between. Raises HTTPException where it
    has more than `max_bytes` bytes, comes too slowly, can't be read, or lacks the `token` that forms have here, so that
    no other site can have sent it."""
    body = bytearray()
    try:
        async with asyncio.timeout(_FORM_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > max_bytes:
                    problem = f"A form may have {max_bytes:,} bytes. Nothing was saved; go back to what you wrote."
                    raise HTTPException(413, problem, {"connection": "close"})
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except TimeoutError:
        problem = f"The form did not arrive within {_FORM_SECONDS:.0f} s. Nothing was saved; go back and send it again."
        raise HTTPException(408, problem, {"connection": "close"}) from None
    except ValueError:
        raise HTTPException(400, "This form can't be read.") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    tokens = fields.pop("form_token", [""])
    if token is not None and not is_same_token(token, tokens[0]):
        problem = "This form is not from a page of this server, or the page is too old. Reload it and send it again."
        raise HTTPException(403, problem)
    return {name: ", ".join(values) for name, values in fields.items()}


def _origin(host: str) -> str:
    """The origin of forms that are sent to a host: only at this machine's own names do they come without https."""
    return f"{'http' if of_this_machine(host) else 'https'}://{host}"


def of_this_machine(host: str) -> bool:
    """Whether the value of a Host header names this machine, so that only a browser here can have sent it."""
    return host.partition(":")[0] == "localhost" or is_loopback(f"http://{host}")


def is_https(scope: Scope) -> bool:
    """Whether the browser came by https. The proxy says so, since it is the only one that this server hears."""
    return last_header_value(scope, "x-forwarded-proto").lower() == "https"


def last_header_value(scope: Scope, header: str) -> str:
    """The nearest proxy's value in a header that each proxy adds to: a value after a comma, or a line of
    its own below those that the client sent."""
    return ",".join(Headers(scope=scope).getlist(header)).rpartition(",")[2].strip()


class LinkedDebate(NamedTuple):
    """The value from which a debate's links are derived. A copy of its journal has another name, and other links."""

    name: str
    """The name of its journal without the suffix."""
    first_hash: str


class AccessTokens:
    """The tokens of one server. Those of seats and reviews are worked out from the secret of its user, so that links
    to them stay the same after a restart. Those of the dashboard are made again each time."""

    def __init__(self, secret: bytes):
        self._secret = secret
        self.dashboard = secrets.token_hex(16)
        """Opens the dashboard. It is in the addresses of its pages, since a browser sends cookies to every port of
        a host, and so to the servers of other users."""
        self.form = secrets.token_hex(16)
        """Stands in every form of the dashboard, so that no other site can send one."""

    def seat(self, debate: LinkedDebate, seat: str) -> str:
        return self._derive_token(f"seat {debate.first_hash} {seat} {debate.name}")

    def review(self, debate: LinkedDebate) -> str:
        return self._derive_token(f"review {debate.first_hash} {debate.name}")

    def reviewer(self, debate: LinkedDebate, stem: str) -> str:
        """The token of one reviewer of a debate. `stem` is the name of the reviewer's files without the suffix."""
        return self._derive_token(f"reviewer {debate.first_hash} {debate.name}/{stem}")

    def _derive_token(self, purpose: str) -> str:
        key = purpose.encode("utf-8", "surrogateescape")
        return hmac.new(self._secret, key, hashlib.sha256).hexdigest()[:40]


def is_same_token(token: str, other: str) -> bool:
    """Whether a token is the one that was given; takes equally long for every token."""
    return hmac.compare_digest(token.encode(), other.encode("utf-8", "replace"))


def load_access_tokens() -> AccessTokens:
    """Tokens by the secret of this user, which is made on first use, and by the folder that is served: a copy of it has
    links of its own. If the secret can't be kept, all links end with the server."""
    secret = secrets.token_bytes(_SECRET_SIZE)
    if (folder := state_folder()) is not None:
        path = folder / "serve.key"
        try:
            key = bytes.fromhex(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            key = b""
        if len(key) == _SECRET_SIZE:
            secret = key
        else:
            with suppress(OSError, BadFile):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_atomic(path, secret.hex(), mode=0o600)
    return AccessTokens(hmac.new(secret, os.fsencode(os.path.realpath(os.curdir)), hashlib.sha256).digest())
