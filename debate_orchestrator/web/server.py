"""Serves the web applications until they are interrupted, and opens the dashboard in the user's
browser."""

from __future__ import annotations

import atexit
import contextlib
import html
import logging
import re
import signal
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import uvicorn
from h11 import LocalProtocolError
from uvicorn.protocols.http.h11_impl import H11Protocol

from debate_orchestrator.storage.files import write_atomic
from debate_orchestrator.storage.paths import state_folder
from debate_orchestrator.util import coroutines
from debate_orchestrator.util.errors import BadFile, BadSettings, Interrupted, saved_but_for, short_repr
from debate_orchestrator.util.log import log_line, print_log_records
from debate_orchestrator.util.messages import ignore
from debate_orchestrator.util.signals import termination_signals
from debate_orchestrator.web.dashboard import create_app
from debate_orchestrator.web.guard import DASHBOARD, App, load_access_tokens
from debate_orchestrator.web.public import views
from debate_orchestrator.web.public.rules import SiteRules
from debate_orchestrator.web.public.site import Site
from debate_orchestrator.web.runs import ServedDebates

LOOPBACK = "127.0.0.1"
_QUEUE = 512
"""Connections that the system holds until they are accepted."""
_MAX_CONNECTIONS = 900
"""Below the usual limit of 1,024 open files, of which debates need some."""
_MAX_HEAD_SIZE = 16_384
"""Bytes of a request's head."""


def serve(
    port: int, allowed_hosts: Sequence[str], ready: Callable[[str], None], ending: Callable[[], None] = ignore
) -> None:
    """Serves the debates of the working folder on this machine alone, until Ctrl-C or SIGTERM. `allowed_hosts` are
    names under which a proxy passes requests on.
    `ready` gets the address of the dashboard with its token, once it is served; `ending` is called when the end begins.
    Raises BadSettings where the port is taken."""
    served_debates, tokens = ServedDebates(), load_access_tokens()
    with _listening_socket(port) as listening_socket:
        port = listening_socket.getsockname()[1]
        app = create_app(tokens, _hosts(port, allowed_hosts), served_debates)
        ready(f"http://{LOOPBACK}:{port}{DASHBOARD}{tokens.dashboard}/")
        _run(app, listening_socket, served_debates, served_debates.shutdown, ending)


def serve_public(
    port: int,
    allowed_hosts: Sequence[str],
    rules: SiteRules,
    ready: Callable[[str], None],
    ending: Callable[[], None] = ignore,
) -> None:
    """Serves a public site as `serve` does the dashboard. Raises BadSettings too where the program that screens topics
    can't be used."""
    site = Site(rules, log_line)
    with _listening_socket(port) as listening_socket:
        port = listening_socket.getsockname()[1]
        app = views.create_app(site, _hosts(port, allowed_hosts))
        ready(f"http://{LOOPBACK}:{port}/")
        _run(app, listening_socket, site.served_debates, site.shutdown, ending)


def _hosts(port: int, allowed_hosts: Sequence[str]) -> list[str]:
    """The values of the Host header that are this server's. Raises BadSettings for a name that no browser sends."""
    for host in allowed_hosts:
        name = re.fullmatch(r"(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)(?::(\d{1,5}))?", host, re.ASCII | re.I)
        if name is None or int(name[2] or 0) > 65_535:
            raise BadSettings(
                f"{short_repr(host)} is not the name of a host.", hint="only the name: debate.example.org"
            )
    return [f"{LOOPBACK}:{port}", f"localhost:{port}", *allowed_hosts]


@contextmanager
def _listening_socket(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening_socket:
        # On Windows, SO_REUSEADDR would let another process take the same address, and this option keeps it out.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        listening_socket.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            listening_socket.bind((LOOPBACK, port))
            listening_socket.listen(_QUEUE)  # before the address is printed: a browser that is quick waits in the queue
        except (OSError, OverflowError):
            hint = "another port, or 0 for any that is free"
            raise BadSettings(f"port: {port} can't be used at {LOOPBACK}.", hint=hint) from None
        yield listening_socket


End = Callable[[], Awaitable[None]]


class _Server(uvicorn.Server):
    """Ends the debates before it waits for open connections, since live streams end with their debates."""

    def __init__(self, config: uvicorn.Config, end_debates: End):
        super().__init__(config)
        self._end_debates = end_debates
        self.end_signal: signal.Signals | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._end_debates()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what the end cuts short is no error
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As in uvicorn, and for SIGHUP too unless it is ignored."""
        is_main_thread = (
            threading.current_thread() is threading.main_thread()
        )  # Python lets no other thread handle signals
        with super().capture_signals():
            before = {
                signum: signal.signal(signum, self.handle_exit)
                for signum in (termination_signals() if is_main_thread else ())
            }
            try:
                yield
            finally:
                for signum, handler in before.items():
                    signal.signal(signum, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begins the end, and notes the signal: uvicorn would raise it again before the last line is printed. A second
        signal changes nothing, since the end is bounded."""
        if not self.should_exit:
            self.should_exit, self.end_signal = True, signal.Signals(sig)


class _Protocol(H11Protocol):
    def send_400_response(self, msg: str) -> None:
        """As in uvicorn, which logs an error if another response was begun before."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        with suppress(LocalProtocolError):  # the answer has begun
            super().send_400_response(msg)
        self.transport.close()


def _run(
    app: App, listening_socket: socket.socket, served_debates: ServedDebates, shutdown: End, ending: Callable[[], None]
) -> None:
    """Serves until a signal ends it, and then says whether any reply of the `served_debates` was lost. Raises
    KeyboardInterrupt for Ctrl-C; any other signal is raised again."""

    async def end() -> None:
        ending()
        await shutdown()

    config = uvicorn.Config(
        app,
        loop="asyncio",  # programs that speak need its transports
        http=_Protocol,
        ws="none",
        log_config=None,
        log_level="error",  # what clients send brings about warnings
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MAX_CONNECTIONS,
        h11_max_incomplete_event_size=_MAX_HEAD_SIZE,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
    )
    print_log_records()
    server = _Server(config, end)
    try:
        coroutines.run(server.serve(sockets=[listening_socket]))
    except KeyboardInterrupt:  # before the server took signals
        server.end_signal = signal.SIGINT
    if server.end_signal is None:
        return
    interrupted = Interrupted(saved_but_for(served_debates.lost_count))
    if server.end_signal == signal.SIGINT:
        raise interrupted
    log_line(f"debate: {interrupted}")
    signal.raise_signal(server.end_signal)


_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Debates</title>
<p><a href="{address}">Open the dashboard</a></p>
"""
PAGE_SECONDS = 60.0


def open_dashboard(address: str) -> bool:
    """Opens an address with a token; False if no browser can be opened. Every user of a machine can read the
    arguments of its processes, so the browser is given a file that leads to the address, and that only this user can
    read."""
    folder = state_folder()
    if folder is None:
        return False
    page = folder / "serve" / f"dashboard-{address.split('/')[2].replace(':', '-')}.html"
    try:
        write_atomic(page, _PAGE.format(address=html.escape(address)), mode=0o600)
    except (OSError, BadFile):
        return False
    atexit.register(_remove, page)  # a server that ends sooner leaves no file
    timer = threading.Timer(PAGE_SECONDS, _remove, [page])
    timer.daemon = True
    timer.start()
    return webbrowser.open(page.as_uri())


def _remove(page: Path) -> None:
    with contextlib.suppress(OSError):
        page.unlink()
