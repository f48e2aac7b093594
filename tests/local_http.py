"""Servers on loopback for tests: what one answers is a function of the request, its body piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A request; the names of its headers are in lower case. A proxy is asked for whole addresses."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Answer = tuple[int, Mapping[str, str], Iterable[bytes]]
"""A status, headers, and a body in pieces, of which a client takes as many as it likes."""


@contextmanager
def answering(answer: Callable[[Asked], Answer], host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """The address of a server that answers from threads of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            status, sent, pieces = answer(Asked(self.command, self.path, headers, body))
            self.send_response(status)
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # the client has closed the stream
                for piece in pieces if self.command != "HEAD" else ():
                    self.wfile.write(piece)

        do_POST = do_HEAD = do_CONNECT = do_GET

        def log_message(self, *arguments: Any) -> None:
            """Prints nothing."""

    http = ThreadingHTTPServer((host, port), Handler)
    Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://{host}:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()


class Listener:
    """A server that keeps all it is sent, to see where keys go; it may stand in for a proxy."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.status, self.headers, self.body = 200, {"content-type": "application/json"}, "{}"
        self.url = ""

    def said(self) -> str:
        return "\n".join(self.heard)


@contextmanager
def listening() -> Iterator[Listener]:
    made = Listener()

    def answer(asked: Asked) -> Answer:
        made.heard.append(f"{asked.method} {asked.path}\n{asked.headers}\n{asked.body.decode('utf-8', 'replace')}")
        return made.status, {**made.headers, "content-length": str(len(made.body))}, [made.body.encode()]

    with answering(answer) as made.url:
        yield made
