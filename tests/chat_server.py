"""A server that speaks Chat Completions: it gives scripted answers, or refuses options in the way of a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Answer = bytes | tuple[int, str] | Iterator[bytes]
"""The stream of an answer, whole or piece by piece; or a status and the body of an error."""


def chunks(deltas: list[Any], stop: Any = "stop", usage: Any = None, **more: Any) -> bytes:
    """A stream of these deltas."""
    common = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x-1"} | more
    sent: list[Any] = [common | {"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if stop is not None:
        sent.append(common | {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
    if usage is not None:
        sent.append(common | {"choices": [], "usage": usage})
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in sent) + b"data: [DONE]\n\n"


class Scripted:
    """A server that keeps what it was sent; `answer` makes an answer from the body of a request."""

    def __init__(self, answer: Callable[[dict[str, Any]], Answer]):
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


@contextmanager
def scripted(*answers: Answer) -> Iterator[Scripted]:
    """A server that gives these answers in turn."""
    left = iter(answers)
    with answering(lambda body: next(left)) as server:
        yield server


@contextmanager
def answering(answer: Callable[[dict[str, Any]], Answer]) -> Iterator[Scripted]:
    """A server that makes each answer from the request, in threads of its own."""
    server = Scripted(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = server.answer(server.bodies[-1])
            status, body = (answer[0], [answer[1].encode()]) if isinstance(answer, tuple) else (200, answer)
            body = [body] if isinstance(body, bytes) else body
            self.send_response(status)
            self.send_header("content-type", "text/event-stream" if status == 200 else "application/json")
            self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            with suppress(OSError):  # the client has closed the stream
                for piece in body:
                    self.wfile.write(piece)

        def log_message(self, *told: Any) -> None:
            """Keeps quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
