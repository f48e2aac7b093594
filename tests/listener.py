"""An HTTP server that keeps all it is sent, to see where keys go; it may stand in for a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Listener:
    """An HTTP server on this machine that keeps all it is sent; as a proxy it is asked for whole addresses."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.status, self.headers, self.body = 200, {"content-type": "application/json"}, "{}"
        self.url = ""

    def said(self) -> str:
        return "\n".join(self.heard)


@contextmanager
def listening() -> Iterator[Listener]:
    made = Listener()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length", 0))).decode("utf-8", "replace")
            made.heard.append(f"{self.requestline}\n{self.headers}\n{sent}")
            self.send_response(made.status)
            for name, value in {**made.headers, "content-length": str(len(made.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(made.body.encode())

        do_GET = do_POST = do_CONNECT = handle_any

        def log_message(self, *arguments: Any) -> None:
            """Keeps quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{http.server_address[1]}"
    Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield made
    finally:
        http.shutdown()
        http.server_close()
