"""The web application and where it is served: which view answers which address, on which port, until it is
interrupted; and how it is opened in the user's browser."""

from __future__ import annotations

import atexit
import contextlib
import errno
import html
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from starlette.routing import Mount, Route, Router

from debate_orchestrator.engine.retry import Interrupted
from debate_orchestrator.prompting.replies import MAX_SIZE
from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util import coroutines
from debate_orchestrator.util.errors import BadFile, BadSettings
from debate_orchestrator.util.messages import ignore
from debate_orchestrator.web import folder, pages
from debate_orchestrator.web.connections import QUEUE, Connection, Server
from debate_orchestrator.web.dashboard import Dashboard
from debate_orchestrator.web.guard import (
    DASHBOARD,
    Admit,
    App,
    Guard,
    Headers,
    HttpError,
    RequestLimit,
    Scope,
    Tokens,
    dashboard_of,
    load_tokens,
    same,
)
from debate_orchestrator.web.log import tell_line
from debate_orchestrator.web.open_files import bounds
from debate_orchestrator.web.public import views
from debate_orchestrator.web.public.limits import MemoryCounts, PostgresCounts
from debate_orchestrator.web.public.rules import SiteRules
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

    async def end() -> None:
        renderings.close()
        await runs.shutdown()
        await renderings.ended()

    of_dashboard = [
        Route("/", dashboard.debates),
        Route("/proof", dashboard.server_proof),
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
        Route("/review/{name}/{token}/proof", reviews.server_proof),
        Route("/review/{name}/{token}/report", reviews.report),
        Route("/tournament/{name}/{token}/", tournaments.page),
        Route("/tournament/{name}/{token}/debates/{debate}", tournaments.debate_of_page),
        Route("/seat/{name}/{seat}/{token}", seats.seat, methods=["GET", "POST"]),
        Route("/seat/{name}/{seat}/{token}/proof", seats.server_proof),
        Route("/seat/{name}/{seat}/{token}/stream", seats.stream),
        Route("/seat/{name}/{seat}/{token}/report", seats.report),
    ]
    app = pages.application(routes, pages.failed, runs.go_on, end)
    app.state.server_proof = tokens.server_proof(tokens.dashboard)
    return Guard(app, hosts=hosts, admit=_with_link_alone(tokens))


_OPEN = ("/static/", "/seat/", "/review/", "/tournament/")
"""Where the token of the dashboard is not needed: seats, reviews and the pages of tournaments have tokens of their
own."""
MAX_FORM_SIZE = 2_000_000
"""Bytes of a form of the dashboard."""
_MAX_REPLY_FORM = 4 * MAX_SIZE + 100_000
"""Bytes of a form with a reply: four for each character that a reply may have, and what stands around its fields."""
_MAX_BALLOT_FORM = 100_000
"""Bytes of a form with a reviewer's ballot, whose reason is a sentence."""


def _with_link_alone(tokens: Tokens) -> Admit:
    """Admits requests whose path has the token of the dashboard; at other paths that are open, forms only with the link
    of a seat or a review: nothing is read of another."""

    def admit(scope: Scope, headers: Headers) -> RequestLimit:
        path = scope["path"]
        if not path.startswith(_OPEN) and not same(f"{DASHBOARD}{tokens.dashboard}", dashboard_of(path)):
            raise HttpError(401, "Open the dashboard with the link that `debate serve` printed at its start.")
        if path.startswith(DASHBOARD):
            return RequestLimit(MAX_FORM_SIZE, counted_by=DASHBOARD if scope["method"] == "POST" else "")
        if scope["method"] != "POST":
            return RequestLimit(0, counted_by=_link_of(path))
        if not _is_link(path, tokens):
            raise HttpError(404, "There is no such page.")
        return RequestLimit(_MAX_BALLOT_FORM if path.startswith("/review/") else _MAX_REPLY_FORM, path)

    return admit


def _link_of(path: str) -> str:
    """The link that a path begins with; empty for a file that all pages load."""
    match path.split("/"):
        case ["", "seat", name, seat, token, *_]:
            return f"/seat/{name}/{seat}/{token}"
        case ["", kind, name, token, *_]:
            return f"/{kind}/{name}/{token}"
    return ""


def _is_link(path: str, tokens: Tokens) -> bool:
    """Whether a path is the link of a seat or of a review."""
    match path.split("/"):
        case ["", "seat", name, seat, token]:
            return folder.journal_of_link(name, partial(tokens.seat, seat=seat), token) is not None
        case ["", "review", name, token]:
            return folder.journal_of_link(name, tokens.review, token) is not None
    return False


LOOPBACK = "127.0.0.1"
End = Callable[[], Awaitable[None]]
"""Ends what is served."""


def serve(
    port: int, more_hosts: Sequence[str], ready: Callable[[str], None], ending: Callable[[], None] = ignore
) -> None:
    """Serves the debates of the working folder on this machine alone, until Ctrl-C or SIGTERM. `more_hosts` are names
    under which a proxy passes requests on to 127.0.0.1; without any, the dashboard has an origin that no earlier server
    had.
    `ready` gets the address of the dashboard with its token, once it is served; `ending` is called when the end begins.
    Raises BadSettings where the port is taken."""
    runs, tokens = Runs(), load_tokens(lasting=bool(more_hosts))
    address, name = (LOOPBACK, LOOPBACK) if more_hosts else _new_origin()
    with _listening(address, port) as listening:
        port = listening[0].getsockname()[1]
        hosts = _hosts(port, more_hosts) if more_hosts else [f"{name}:{port}"]
        app = create_app(tokens, hosts, runs)
        ready(f"http://{name}:{port}{DASHBOARD}{tokens.dashboard}/")
        _run(app, listening, runs, runs.shutdown, ending)


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
    port: int,
    more_hosts: Sequence[str],
    rules: SiteRules,
    ready: Callable[[str], None],
    ending: Callable[[], None] = ignore,
) -> None:
    """Serves a public site as `serve` does the dashboard. Raises BadSettings too where the moderation, or the database
    of the limits, can't be used."""
    database = rules.limits_database
    counts = PostgresCounts(database, spent_before) if database else MemoryCounts(spent_before())
    site = Site(rules, counts, tell_line)
    with _listening(LOOPBACK, port) as listening:
        port = listening[0].getsockname()[1]
        app = views.create_app(site, _hosts(port, more_hosts))
        ready(f"http://{LOOPBACK}:{port}/")
        _run(app, listening, site.runs, site.shutdown, ending)


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
        listening.listen(QUEUE)  # before the address is printed: a browser that is quick waits in the queue
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


def _run(app: App, listening: list[socket.socket], runs: Runs, shutdown: End, ending: Callable[[], None]) -> None:
    """Serves until a signal ends it, and then says whether any reply of the `runs` was lost. Raises KeyboardInterrupt
    for Ctrl-C; any other signal is raised again."""

    async def end() -> None:
        ending()
        await shutdown()

    config = uvicorn.Config(
        app,
        loop="asyncio",  # programs that speak need its transports
        http=Connection,
        backlog=bounds().accepted,
        ws="none",
        log_config=None,
        log_level="error",  # what clients send brings about warnings
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
    )
    server = Server(config, end)
    try:
        coroutines.run(server.serve(sockets=listening))
    except KeyboardInterrupt:  # before the server took signals
        server.ended_by = signal.SIGINT
    if server.ended_by is None:
        return
    interrupted = Interrupted(lost=runs.lost)
    if server.ended_by == signal.SIGINT:
        raise interrupted
    tell_line(f"debate: {interrupted}")
    signal.raise_signal(server.ended_by)


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
