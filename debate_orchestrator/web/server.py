"""The web application and its server: which view answers which address, on which port and with which limits for
connections, until it is interrupted; and how it is opened in the user's browser."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import html
import re
import secrets
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route, Router
from uvicorn.protocols.http.h11_impl import H11Protocol

from debate_orchestrator.prompting.replies import MAX_SIZE
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util.errors import BadFile, BadSettings, DebateError
from debate_orchestrator.web import folder, guard, pages
from debate_orchestrator.web.dashboard import Dashboard
from debate_orchestrator.web.guard import (
    DASHBOARD,
    Admit,
    App,
    FormLimit,
    Guard,
    Headers,
    HttpError,
    Scope,
    Tokens,
    dashboard_alone,
    load_tokens,
)
from debate_orchestrator.web.public import views
from debate_orchestrator.web.public.limits import MemoryLimits, PostgresLimits
from debate_orchestrator.web.public.rules import Rules
from debate_orchestrator.web.public.site import Site, spent_before
from debate_orchestrator.web.renderings import Renderings
from debate_orchestrator.web.reviewing import Reviews
from debate_orchestrator.web.runs import Runs
from debate_orchestrator.web.seats import Seats
from debate_orchestrator.web.tournaments import Tournaments


def create_app(tokens: Tokens, hosts: Iterable[str], runs: Runs | None = None) -> Guard:
    """The application for the debates of the working folder. `hosts` are the names under which it is asked for, with
    their ports; `runs` are ended with it."""
    runs = runs or Runs()
    renderings = Renderings()
    dashboard, seats = Dashboard(tokens, runs, renderings), Seats(tokens, runs, renderings)
    reviews, tournaments = Reviews(tokens, renderings), Tournaments(tokens, renderings)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        runs.go_on()
        yield
        renderings.close()
        await runs.shutdown()

    of_dashboard = [
        Route("/", dashboard.debates),
        Route("/proof", dashboard.proof),
        Route("/new", dashboard.new, methods=["GET", "POST"]),
        Route("/search", dashboard.search),
        Route("/compare", dashboard.compare),
        Route("/tournaments", tournaments.listed),
        Route("/tournaments/{name}", tournaments.tournament),
        Route("/tournaments/{name}/report", tournaments.lead),
        Route("/tournaments/{name}/debates/{debate}", tournaments.debate),
        Route("/debates/{name}", dashboard.debate),
        Route("/debates/{name}/stream", dashboard.stream),
        Route("/debates/{name}/report", dashboard.report),
        Route("/debates/{name}/{action}", dashboard.act, methods=["POST"]),
    ]
    routes = [
        Route(f"{DASHBOARD}{{key}}", dashboard.with_slash),
        Mount(f"{DASHBOARD}{{key}}", app=Router(of_dashboard, redirect_slashes=False)),
        Route("/static/{name}", pages.static_file),
        Route("/review/{name}/{token}", reviews.review, methods=["GET", "POST"]),
        Route("/review/{name}/{token}/proof", reviews.proof),
        Route("/review/{name}/{token}/report", reviews.report),
        Route("/tournament/{name}/{token}/", tournaments.page),
        Route("/tournament/{name}/{token}/debates/{debate}", tournaments.debate_of_page),
        Route("/seat/{name}/{seat}/{token}", seats.seat, methods=["GET", "POST"]),
        Route("/seat/{name}/{seat}/{token}/proof", seats.proof),
        Route("/seat/{name}/{seat}/{token}/stream", seats.stream),
        Route("/seat/{name}/{seat}/{token}/report", seats.report),
    ]
    handlers: dict[Any, Any] = {DebateError: pages.failed, HTTPException: pages.failed}
    app = pages.application(routes, lifespan, handlers)
    app.state.proof = tokens.proof(tokens.dashboard)
    return Guard(app, hosts=hosts, admit=_with_link_alone(tokens))


_MAX_REPLY_FORM = 4 * MAX_SIZE + 100_000
"""Bytes of a form with a reply: four for each character that a reply may have, and what stands around its fields."""
_MAX_BALLOT_FORM = 100_000
"""Bytes of a form with a reviewer's ballot, whose reason is a sentence."""


def _with_link_alone(tokens: Tokens) -> Admit:
    """Admits what `dashboard_alone` does, and forms only at the dashboard, or with the link of a seat or a review:
    nothing is read of another."""
    dashboard = dashboard_alone(tokens)

    def admit(scope: Scope, headers: Headers) -> FormLimit:
        limit, path = dashboard(scope, headers), scope["path"]
        if scope["method"] != "POST" or path.startswith(DASHBOARD):
            return limit
        if not _is_link(path, tokens):
            raise HttpError(404, "There is no such page.")
        return FormLimit(_MAX_BALLOT_FORM if path.startswith("/review/") else _MAX_REPLY_FORM, path)

    return admit


def _is_link(path: str, tokens: Tokens) -> bool:
    """Whether a path is the link of a seat or of a review."""
    match path.split("/"):
        case ["", "seat", name, seat, token]:
            return folder.journal_of_link(name, partial(tokens.seat, seat=seat), token) is not None
        case ["", "review", name, token]:
            return folder.journal_of_link(name, tokens.review, token) is not None
    return False


LOOPBACK = "127.0.0.1"
_MAX_CONNECTIONS = 1_500


def serve(port: int, more_hosts: Sequence[str], ready: Callable[[str], None]) -> None:
    """Serves the debates of the working folder on this machine alone, until Ctrl-C or SIGTERM. `more_hosts` are names
    under which a proxy passes requests on to 127.0.0.1; without any, the dashboard has an origin that no earlier server
    had.
    `ready` gets the address of the dashboard with its token, once it is served. Raises BadSettings where the port is
    taken."""
    runs, tokens = Runs(), load_tokens(lasting=bool(more_hosts))
    address, name = (LOOPBACK, LOOPBACK) if more_hosts else _new_origin()
    with _listening(address, port) as listening:
        port = listening[0].getsockname()[1]
        hosts = _hosts(port, more_hosts) if more_hosts else [f"{name}:{port}"]
        app = create_app(tokens, hosts, runs)
        ready(f"http://{name}:{port}{DASHBOARD}{tokens.dashboard}/")
        _run(app, listening, runs.shutdown)


def _new_origin() -> tuple[str, str]:
    """An address of this machine to listen on, and the name by which a browser asks for it: random ones. What another
    user's server left in the browser (a service worker, a cached script) is for an origin, and would run at the
    dashboard if that had the same."""
    address = str(IPv4Address("127.0.0.2") + secrets.randbelow(2**24 - 4))
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise BadSettings(f"No address of this machine can be used: {error.strerror}.") from None
            # Only 127.0.0.1 is the loopback here, as on macOS. Browsers take names below localhost to it.
            return LOOPBACK, f"{secrets.token_hex(16)}.localhost"
    return address, address


def serve_public(
    port: int, more_hosts: Sequence[str], rules: Rules, ready: Callable[[str], None], log: Callable[[str], None]
) -> None:
    """Serves a public site as `serve` does the dashboard. `log` gets what the owner should know of failures. Raises
    BadSettings too where the moderation, or the database of the limits, can't be used."""
    limits = PostgresLimits(rules.limits_database) if rules.limits_database else MemoryLimits(spent_before())
    site = Site(rules, limits, log)
    with _listening(LOOPBACK, port) as listening:
        port = listening[0].getsockname()[1]
        app = views.create_app(site, _hosts(port, more_hosts))
        ready(f"http://{LOOPBACK}:{port}/")
        _run(app, listening, site.shutdown)


def _hosts(port: int, more: Sequence[str]) -> list[str]:
    return [f"{LOOPBACK}:{port}", f"localhost:{port}", *more]


@contextmanager
def _listening(address: str, port: int) -> Iterator[list[socket.socket]]:
    """Sockets of this machine. Beside 127.0.0.1 there is one for ::1, which browsers may take for `localhost` first:
    another user's server there would get what is meant for this one."""
    with contextlib.ExitStack() as opened:
        listening = [opened.enter_context(_bound(socket.AF_INET, address, port))]
        if address == LOOPBACK and _has_ipv6():
            port = listening[0].getsockname()[1]
            listening.append(opened.enter_context(_bound(socket.AF_INET6, "::1", port)))
        yield listening


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    # On Windows, SO_REUSEADDR would let another process take the same address, and this option keeps it out.
    option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    listening.setsockopt(socket.SOL_SOCKET, option, 1)
    try:
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((address, port))
        listening.listen(512)  # before the address is printed: a browser that is quick waits in the queue
    except (OSError, OverflowError):
        listening.close()
        hint = "another port, or 0 for any that is free"
        raise BadSettings(f"port: {port} can't be used at {address}.", hint=hint) from None
    return listening


def _has_ipv6() -> bool:
    """Whether this machine has the address ::1."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError as error:
        return error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True


def _run(app: App, listening: list[socket.socket], shutdown: Callable[[], Awaitable[None]]) -> None:
    """Serves until it is interrupted."""
    config = uvicorn.Config(
        app,
        loop="asyncio",  # programs that speak need its transports
        http=Connection,
        backlog=BACKLOG,
        ws="none",
        # What clients send brings about warnings. Where these are not read, a full pipe would stop the server.
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
    )
    Server(config, shutdown).run(sockets=listening)


HEAD_SECONDS = 10.0
"""Seconds in which the head of a request has to arrive, and that a connection may be idle."""
MAX_UNFINISHED = 256
"""Connections at once on which no whole request has come. For one more the oldest is closed, so that a browser gets
through however many are opened. They are not counted by address: all that come by a proxy have the same."""
_MAX_HEAD_SIZE = 16_384
"""Bytes of a request's head."""
_MAX_BLANKS = 100
"""Blanks in a row in a head."""
BACKLOG = 100
"""Connections that are accepted at a time; fewer than may be unfinished, so that each is read before it can be the
oldest."""

_unfinished: dict[Connection, None] = {}
"""Connections on which no whole request has come, the oldest first."""


class Server(uvicorn.Server):
    """Ends the debates before it waits for open connections: the streams among these end with them."""

    def __init__(self, config: uvicorn.Config, end_debates: Callable[[], Awaitable[None]]):
        super().__init__(config)
        self._end_debates = end_debates

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._end_debates()
        await super().shutdown(sockets)


_CHUNKED = "This server takes a request whole, with its Content-Length, and not in chunks (Transfer-Encoding)."
_HEAD = f"Its head may have {_MAX_HEAD_SIZE:,} bytes, on lines without control characters and long runs of blanks."
_BLANK_LINE = re.compile(rb"\n\r?\n")
_MALFORMED = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|\n[ \t]")
"""Control characters, a carriage return within a line, and a line that goes on with the one above."""


class WholeRequests(h11.Connection):
    """Refuses requests that cost far more to read than to send. Those in chunks of a byte are, and browsers and proxies
    send forms whole. h11 tries a header's line again from each blank in it before it refuses the line."""

    _searched = 0
    """Bytes of the next head in which its end was looked for."""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            self._check_head()
        event = super().next_event()
        if isinstance(event, h11.Request) and any(name == b"transfer-encoding" for name, _ in event.headers):
            raise h11.RemoteProtocolError(_CHUNKED)
        return event

    def _check_head(self) -> None:
        """Raises RemoteProtocolError for a head that arrived whole and is not taken; h11 bounds one that has not."""
        received = self.trailing_data[0]
        end = _BLANK_LINE.search(received, max(0, self._searched - 2))
        if end is None:
            self._searched = len(received)
            return
        self._searched = 0
        head = received[: end.end()]
        if (
            len(head) > _MAX_HEAD_SIZE
            or _MALFORMED.search(head)
            or b" " * (_MAX_BLANKS + 1) in head.replace(b"\t", b" ")
        ):
            raise h11.RemoteProtocolError(_HEAD)


class Connection(H11Protocol):
    """Closes a connection on which no head comes in time, and ends one whose answers are not read: either would be held
    for ever. The time for the rest of a request is kept by the guard."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = WholeRequests(h11.SERVER, _MAX_HEAD_SIZE)

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(f"The request can't be read. {_HEAD} {_CHUNKED}\n")

    _timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():  # a closing one is held until the rest is read too, and pauses no more
            self._stop_unread()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._stop_unread()
        _unfinished.pop(self, None)
        super().connection_lost(exc)

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        if self._answering:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._close)
        if self._answering and not self.cycle.more_body:
            _unfinished.pop(self, None)
            return
        _unfinished.setdefault(self)
        if len(_unfinished) > MAX_UNFINISHED:
            oldest = next(iter(_unfinished))
            del _unfinished[oldest]
            # Not `close`: that waits until all of an answer is read, and the other side may never read it.
            oldest.transport.abort()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if not self._answering:
            self.transport.close()  # it waits until all of an answer is read
            self._await_reading()

    def _await_reading(self) -> None:
        """Ends the connection unless the other side reads on: some of what waits for it in each such time."""
        if self._unread_timer is None:
            waiting = self.transport.get_write_buffer_size()
            self._unread_timer = self.loop.call_later(guard.UNREAD_SECONDS, self._must_have_read, waiting)

    def _must_have_read(self, before: int) -> None:
        self._unread_timer = None
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._await_reading()

    def _stop_unread(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None


_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Debates</title>
<p><a href="{address}">Open the dashboard</a></p>
"""
PAGE_SECONDS = 60.0
"""Seconds in which the browser has to read that page."""


def open_dashboard(address: str) -> bool:
    """Opens an address with a token; False where no browser can be opened. Every user of a machine can read the
    arguments of its processes, so the browser is given a file that leads to the address, and that only this user can
    read."""
    folder = state_folder()
    if folder is None:
        return False
    parts = urlsplit(address)
    page = folder / "serve" / f"dashboard-{parts.hostname}-{parts.port}.html"
    try:
        write_atomic(page, _PAGE.format(address=html.escape(address)), mode=0o600)
    except (OSError, BadFile):
        return False
    atexit.register(_remove, page)  # a server that ends sooner leaves no file
    forget = threading.Timer(PAGE_SECONDS, _remove, [page])
    forget.daemon = True
    forget.start()
    return webbrowser.open(page.as_uri())


def _remove(page: Path) -> None:
    with contextlib.suppress(OSError):
        page.unlink()
