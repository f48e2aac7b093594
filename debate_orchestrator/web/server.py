"""Serves the application: on which address, with which limits, and until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.web import tokens as tokens_module

LOOPBACK = "127.0.0.1"
_MOST_CONNECTIONS = 1_500


def serve(port: int, more_hosts: Sequence[str], ready: Callable[[str], None]) -> None:
    """Serves the debates of the working folder on this machine alone, until Ctrl-C or SIGTERM. `more_hosts` are names
    under which a proxy passes requests on. `ready` gets the address of the desk with its key, once it is served.
    Raises BadSettings where the port is taken, or the extra is not installed."""
    try:
        import uvicorn
    except ImportError:
        hint = 'pip install "debate-orchestrator[web]"'
        raise BadSettings("`debate serve` needs the extra `web`.", hint=hint) from None
    from debate_orchestrator.web.app import create_app
    from debate_orchestrator.web.connections import BACKLOG, Connection, Server
    from debate_orchestrator.web.guard import DESK
    from debate_orchestrator.web.runs import Runs

    runs = Runs()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(512)  # before the address is printed: a browser that is quick waits in the queue
    except (OSError, OverflowError):
        hint = "another --port, or 0 for any that is free"
        raise BadSettings(f"port: {port} can't be used here.", hint=hint) from None
    port = listening.getsockname()[1]
    tokens = tokens_module.load()
    hosts = [f"{LOOPBACK}:{port}", f"localhost:{port}", *more_hosts]
    config = uvicorn.Config(
        create_app(tokens, hosts, runs),
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
    ready(f"http://{LOOPBACK}:{port}{DESK}{tokens.desk}/")
    Server(config, runs.shutdown).run(sockets=[listening])
