"""Serves the application: on which address, with which limits, and until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.web import tokens as tokens_module

if TYPE_CHECKING:
    from debate_orchestrator.web.guard import App
    from debate_orchestrator.web.public.rules import Rules

LOOPBACK = "127.0.0.1"
_MOST_CONNECTIONS = 1_500


def serve(port: int, more_hosts: Sequence[str], ready: Callable[[str], None]) -> None:
    """Serves the debates of the working folder on this machine alone, until Ctrl-C or SIGTERM. `more_hosts` are names
    under which a proxy passes requests on. `ready` gets the address of the desk with its key, once it is served.
    Raises BadSettings where the port is taken, or the extra is not installed."""
    must_be_installed()
    from debate_orchestrator.web.app import create_app
    from debate_orchestrator.web.guard import DESK
    from debate_orchestrator.web.runs import Runs

    runs, tokens = Runs(), tokens_module.load()
    with _listening(port) as (listening, address):
        app = create_app(tokens, _hosts(listening, more_hosts), runs)
        ready(f"{address}{DESK}{tokens.desk}/")
        _run(app, listening, runs.shutdown)


def serve_public(
    port: int, more_hosts: Sequence[str], rules: Rules, ready: Callable[[str], None], log: Callable[[str], None]
) -> None:
    """Serves a public site as `serve` does the desk. `log` gets what the owner should know of failures. Raises
    BadSettings too where the moderation, or the database of the limits, can't be used."""
    must_be_installed()
    from debate_orchestrator.web.public.app import create_app
    from debate_orchestrator.web.public.limits import MemoryLimits
    from debate_orchestrator.web.public.postgres import PostgresLimits
    from debate_orchestrator.web.public.site import Site, spent_before

    limits = PostgresLimits(rules.limits) if rules.limits else MemoryLimits(spent_before())
    site = Site(rules, limits, log)
    with _listening(port) as (listening, address):
        app = create_app(site, _hosts(listening, more_hosts))
        ready(f"{address}/")
        _run(app, listening, site.shutdown)


def must_be_installed() -> None:
    """Raises BadSettings where the extra is not installed."""
    if any(find_spec(name) is None for name in ("uvicorn", "starlette", "PIL")):
        hint = 'pip install "debate-orchestrator[web]"'
        raise BadSettings("`debate serve` needs the extra `web`.", hint=hint)


def _hosts(listening: socket.socket, more: Sequence[str]) -> list[str]:
    port = listening.getsockname()[1]
    return [f"{LOOPBACK}:{port}", f"localhost:{port}", *more]


@contextmanager
def _listening(port: int) -> Iterator[tuple[socket.socket, str]]:
    """A socket of this machine, and its address."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(512)  # before the address is printed: a browser that is quick waits in the queue
    except (OSError, OverflowError):
        listening.close()
        hint = "another --port, or 0 for any that is free"
        raise BadSettings(f"port: {port} can't be used here.", hint=hint) from None
    with listening:
        yield listening, f"http://{LOOPBACK}:{listening.getsockname()[1]}"


def _run(app: App, listening: socket.socket, shutdown: Callable[[], Awaitable[None]]) -> None:
    """Serves until it is interrupted."""
    import uvicorn

    from debate_orchestrator.web.connections import BACKLOG, Connection, Server

    config = uvicorn.Config(
        app,
        loop="asyncio",  # programs that speak need its transports
        http=Connection,
        backlog=BACKLOG,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
    )
    Server(config, shutdown).run(sockets=[listening])
