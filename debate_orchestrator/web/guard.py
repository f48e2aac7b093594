"""Who may open what: the tokens of links, what every request is checked for before a view sees it, and the headers of
every answer.

Written against ASGI itself, so that nothing is read of a body before its sender, size and speed are known to be right.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from debate_orchestrator.providers.servers import is_loopback
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.errors import BadFile, with_hint
from debate_orchestrator.web.open_files import bounds

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Mapping[str, str]


class RequestLimit(NamedTuple):
    """What a request may take that is let in."""

    size: int
    """Bytes of a form."""
    counted_by: str = ""
    """The link or the visitor that sent it: so many of their requests are answered at once. Empty where they are not
    counted."""
    may_be_dropped: bool = False
    """Whether a form is worked on no more when its browser has gone before the answer begins."""


Admit = Callable[[Scope, Headers], RequestLimit]

DASHBOARD = "/dashboard/"
"""Before the token of the dashboard in the addresses of its pages."""
MAX_FORMS = 10
"""Forms of one link or visitor that are in memory at once."""
MAX_READS = 50
"""Other requests of one link that are answered at once, its streams among them."""
_SLICE = 65_536
"""Bytes of an answer that are handed to a connection at once."""
BODY_SECONDS = 20.0
"""Seconds in which a request has to arrive whole."""
_PACE = 10_000
"""Bytes a second by which forms that come are compared: where there are too many, the one furthest behind ends."""
UNREAD_SECONDS = 10.0
"""Seconds after which a connection is ended whose browser has stopped reading what is sent to it."""
_SECRET_SIZE = 32
"""Bytes of the secret of a user."""
_SEND_AGAIN = "go back, and send it again in some seconds"
_AGAIN_LATER = "the same again in some minutes"
_FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
"""The type of forms that may be long: a character takes as many bytes as in UTF-8, where percent-encoding takes three
times as many."""
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


class HttpError(Exception):
    """The answer to a request that is not let in: its HTTP status, and a sentence for the person who sent it."""

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None):
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
        self.retry_after = retry_after
        """Seconds after which the same request may be let in; None where it never is."""


def shutdown_error() -> HttpError:
    """For a request that is not answered before the server ends."""
    return HttpError(503, with_hint("This server is ending, so it did not answer.", _AGAIN_LATER), retry_after=60)


class _Upload(NamedTuple):
    """A form that has not come whole."""

    sender: str
    """What it is counted by."""
    began: float
    """By the clock of the loop, in seconds."""
    body: bytearray

    def lead(self, now: float) -> float:
        """How many bytes it is ahead of the pace; below 0 if it is behind."""
        return len(self.body) - _PACE * (now - self.began)


class Guard:
    """Lets requests through to the app if they are for this server and `admit` raises no error for them."""

    def __init__(self, app: App, *, hosts: Iterable[str], admit: Admit):
        """`hosts` are the values of the Host header that are this server's; `admit` raises HttpError for a request
        whose sender may not open its path."""
        self._app, self._admit = app, admit
        self._forms, self._reads = Counter[str](), Counter[str]()
        """Numbers of forms that are read or worked on, and of other requests that are answered; by visitor or link."""
        self._uploads: dict[asyncio.Timeout, _Upload] = {}
        """By the timeout of each, forms that come. They give their places to others: a sender could hold them as long
        as it likes."""
        self._origins = {host: _origin(host) for host in map(str.lower, hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                own = {name for name, _ in message.get("headers", ())}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
                message["headers"] = [*message.get("headers", ()), *more]
            for part in slices(message):
                await send(part)

        try:
            limit = self._check(scope, headers)
            with self._counted(limit.counted_by, is_form=scope["method"] == "POST"):
                is_form = scope["method"] == "POST"
                body = await self._whole(receive, headers, limit) if is_form else b""

                def must_go_on() -> bool:
                    return is_form and (begun or not limit.may_be_dropped)

                await self._answer(scope, receive, body, send_with_headers, must_go_on)
        except HttpError as error:
            await _send_error(send_with_headers, error)
        except asyncio.CancelledError:
            if begun:
                raise
            await _send_error(send_with_headers, shutdown_error())

    @contextmanager
    def _counted(self, sender: str, *, is_form: bool) -> Iterator[None]:
        """Counts a request until it is answered, unless its sender is not counted. Raises HttpError where too many of
        the sender are not answered yet, or too many forms in all: those who read keep their part of the connections. A
        form takes the place of one that has not come whole, if there is one."""
        if not sender:
            yield
            return
        counted, most = (self._forms, MAX_FORMS) if is_form else (self._reads, MAX_READS)
        again = _SEND_AGAIN if is_form else "the same again in some seconds"
        if counted[sender] >= most and not (is_form and self._end_slowest({sender})):
            sentence = f"{most} requests of yours are not answered yet.{' Nothing was saved.' if is_form else ''}"
            raise HttpError(429, with_hint(sentence, again), retry_after=5)
        if is_form and counted.total() >= bounds().connections // 2 and not self._end_slowest(counted):
            raise HttpError(
                503, with_hint("Too many forms come at the moment. Nothing was saved.", again), retry_after=5
            )
        counted[sender] += 1
        try:
            yield
        finally:
            counted[sender] -= 1
            if not counted[sender]:
                del counted[sender]

    def _end_slowest(self, senders: Collection[str]) -> bool:
        """Ends the form of these senders that is furthest behind, of those that have not come whole. Whether there was
        one."""
        slow = [timeout for timeout, upload in self._uploads.items() if upload.sender in senders]
        if not slow:
            return False
        now = asyncio.get_running_loop().time()
        slowest = min(slow, key=lambda timeout: self._uploads[timeout].lead(now))
        del self._uploads[slowest]
        if not slowest.expired():
            slowest.reschedule(now)
        return True

    async def _whole(self, receive: Receive, headers: Headers, limit: RequestLimit) -> bytes:
        """The body of a form. Raises HttpError where it is too large, takes too long, or gives its place to another."""
        too_large = f"A form may have {limit.size:,} bytes. Nothing was saved; go back to what you wrote."
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length[:12]) > limit.size:
            raise HttpError(413, too_large)
        body, more = bytearray(), True
        upload = _Upload(limit.counted_by, asyncio.get_running_loop().time(), body)
        try:
            async with asyncio.timeout(BODY_SECONDS) as timeout:
                self._uploads[timeout] = upload
                while more:
                    message = await receive()
                    if timeout not in self._uploads:  # it was ended, and its last part came at the same moment
                        raise TimeoutError
                    if message["type"] == "http.disconnect":
                        raise HttpError(400, "The request ended before all of it arrived.")
                    body.extend(message.get("body", b""))
                    if len(body) > limit.size:
                        raise HttpError(413, too_large)
                    more = message.get("more_body", False)
        except TimeoutError:
            sentence = f"The form did not arrive within {BODY_SECONDS:.0f} s, or too many came at once."
            raise HttpError(408, with_hint(f"{sentence} Nothing was saved.", _SEND_AGAIN)) from None
        finally:
            self._uploads.pop(timeout, None)
        return bytes(body)

    async def _answer(
        self, scope: Scope, receive: Receive, body: bytes, send: Send, must_go_on: Callable[[], bool]
    ) -> None:
        """Answers a request. What is done for it ends when the client is gone, unless it `must_go_on` then."""
        gone = asyncio.ensure_future(disconnected(receive))
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_end() -> Message:
            return waiting.pop() if waiting else await asyncio.shield(gone)

        answering = asyncio.ensure_future(self._app(scope, receive_end, send))
        try:
            await asyncio.wait({gone, answering}, return_when=asyncio.FIRST_COMPLETED)
            if must_go_on():
                await asyncio.wait({answering})
        finally:
            gone.cancel()
            answering.cancel()
            with suppress(asyncio.CancelledError):
                await answering

    def _check(self, scope: Scope, headers: dict[str, str]) -> RequestLimit:
        """Raises HttpError for a request that is not for this server, or that another site sent."""
        host = headers.get("host", "").lower()
        if host not in self._origins:
            raise HttpError(421, "This server does not go by that name. Use the address that it printed at its start.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise HttpError(405, "This server answers only GET, HEAD and POST.")
        if scope["method"] == "POST":
            origin = headers.get("origin", "")
            other_site = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
            if other_site or (origin and origin.lower() != self._origins[host]):
                raise HttpError(403, "This form was sent from another site.")
            if headers.get("content-type", "").partition(";")[0].strip().lower() not in (_FORM, MULTIPART):
                raise HttpError(415, f"This server takes only forms ({_FORM}, {MULTIPART}).")
        return self._admit(scope, headers)


def dashboard_of(path: str) -> str:
    """The part of a path that all pages of the dashboard begin with; empty for a path that is not the dashboard's."""
    return DASHBOARD + path.removeprefix(DASHBOARD).partition("/")[0] if path.startswith(DASHBOARD) else ""


def _origin(host: str) -> str:
    """The origin of forms that are sent to a host: only at this machine's own names do they come without https."""
    return f"{'http' if of_this_machine(host) else 'https'}://{host}"


def of_this_machine(host: str) -> bool:
    """Whether the value of a Host header names this machine, so that only a browser here can have sent it."""
    name = host.partition(":")[0]
    return name == "localhost" or name.endswith(".localhost") or is_loopback(f"http://{host}")


def is_https(scope: Scope) -> bool:
    """Whether the browser came by https. The proxy says so, since it is the only one that this server hears."""
    return stated_last(scope, b"x-forwarded-proto").lower() == "https"


def stated_last(scope: Scope, header: bytes) -> str:
    """What the nearest proxy states in a header that each proxy on the way adds to: a value after a comma, or a line of
    its own below those that the client sent."""
    lines = [value.decode("latin-1") for name, value in scope["headers"] if name == header]
    return ",".join(lines).rpartition(",")[2].strip()


def slices(message: Message) -> Iterator[Message]:
    """A part of an answer in pieces that a connection takes one at a time: what is handed to it is copied, and kept
    until the client reads it."""
    body = memoryview(message.get("body", b""))
    while len(body) > _SLICE:
        yield {**message, "body": bytes(body[:_SLICE]), "more_body": True}
        body = body[_SLICE:]
    yield {**message, "body": bytes(body)} if "body" in message else message


async def disconnected(receive: Receive) -> Message:
    """Waits until the client is gone; its message."""
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message


async def _send_error(send: Send, error: HttpError) -> None:
    body = f"{error.sentence}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class LinkedDebate(NamedTuple):
    """What the links of a debate are worked out from. A copy of its journal has another name, and so other links."""

    name: str
    """The name of its journal without the suffix."""
    first_hash: str
    """The hash of the journal's first line."""


class Tokens:
    """The tokens of one server. Those of seats and reviews are worked out from the secret of its user, so that links
    to them stay the same after a restart, if they are `lasting`. Others, and always those of the dashboard, are made
    anew each time: pages that are still open when a server ends send them to any program that takes its address."""

    def __init__(self, secret: bytes, *, lasting: bool = True):
        self._secret = secret
        self._links = secret if lasting else secrets.token_bytes(_SECRET_SIZE)
        self.dashboard = secrets.token_hex(16)
        """Opens the dashboard. It stands in the addresses of its pages, since a browser sends cookies to every port of
        a host, and so to the servers of other users."""
        self.form = secrets.token_hex(16)
        """Stands in every form of the dashboard, so that no other site can send one."""

    def seat(self, debate: LinkedDebate, seat: str) -> str:
        """The token of a seat."""
        return _digest(self._links, f"seat {debate.first_hash} {seat} {debate.name}")

    def review(self, debate: LinkedDebate) -> str:
        """The token with which a debate is reviewed."""
        return _digest(self._links, f"review {debate.first_hash} {debate.name}")

    def reviewer(self, debate: LinkedDebate, stem: str) -> str:
        """The token of one reviewer of a debate. `stem` is the name of the reviewer's files without the suffix."""
        return _digest(self._secret, f"reviewer {debate.first_hash} {debate.name}/{stem}")

    def server_proof(self, page: str) -> str:
        """A value that each page receives on loading; `page` is the token in its address. Before sending a form, the
        page fetches it again and sends only if it is the same. Another program that has taken over the address can't
        supply it."""
        return _digest(self._links, f"proof {page}")

    def tournament(self, name: str) -> str:
        """The token of the page that lies in the folder of a tournament, for as long as the token of the dashboard
        holds."""
        return _digest(self.dashboard.encode(), f"tournament {name}")


def _digest(secret: bytes, purpose: str) -> str:
    return hmac.new(secret, purpose.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()[:40]


def same(token: str, given: str) -> bool:
    """Whether a token is the one that was given; takes equally long whatever was given."""
    return hmac.compare_digest(token.encode(), given.encode("utf-8", "replace"))


def load_tokens(*, lasting: bool = True) -> Tokens:
    """Tokens by the secret of this user, which is made on first use, and by the folder that is served: a copy of it has
    links of its own. Where the secret can't be kept, all links end with the server. `lasting` is that of `Tokens`."""
    folder = state_folder()
    if folder is None:
        return Tokens(secrets.token_bytes(_SECRET_SIZE), lasting=lasting)
    path = folder / "serve.key"
    with suppress(OSError, ValueError):
        if len(secret := bytes.fromhex(path.read_text(encoding="ascii"))) == _SECRET_SIZE:
            return Tokens(_of_folder(secret), lasting=lasting)
    secret = secrets.token_bytes(_SECRET_SIZE)
    with suppress(OSError, BadFile):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, secret.hex(), mode=0o600)
    return Tokens(_of_folder(secret), lasting=lasting)


def _of_folder(secret: bytes) -> bytes:
    return hmac.new(secret, os.fsencode(os.path.realpath(os.curdir)), hashlib.sha256).digest()
