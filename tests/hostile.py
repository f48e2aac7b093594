"""A server on loopback that sends whatever bytes it is given, for as long as its client takes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import local_http

KINDS = ("anthropic", "openai")
"""The two APIs whose streams these servers send."""


class Hostile:
    """One server; `url` is its address."""

    def __init__(self, body: Callable[[], Iterable[bytes]], status: int, headers: dict[str, str]):
        self.body, self.status, self.headers = body, status, headers
        self.url = ""
        self.requests = 0
        self.sent = 0
        """Bytes of bodies that clients have taken, or that lie in the buffers of sockets."""

    def spec(self, kind: str) -> str:
        """How a cast names a model of this server that speaks this API."""
        return f"{kind}:m@{self.url}{'/v1' if kind == 'openai' else ''}"


@contextmanager
def sending(body: Callable[[], Iterable[bytes]], status: int = 200, **headers: str) -> Iterator[Hostile]:
    """A server that answers every request with this status and these bytes."""
    server = Hostile(body, status, {"content-type": "text/event-stream", **headers})

    def counted() -> Iterator[bytes]:
        for piece in server.body():
            yield piece
            server.sent += len(piece)

    def respond(asked: local_http.Asked) -> local_http.Answer:
        server.requests += 1
        return server.status, {name.replace("_", "-"): value for name, value in server.headers.items()}, counted()

    with local_http.answering(respond) as server.url:
        yield server


def begun(kind: str) -> bytes:
    """What a stream begins with."""
    if kind == "openai":
        return delta(kind, role="assistant")
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m"}
    return event({"type": "message_start", "message": {**message, "usage": {"input_tokens": 1, "output_tokens": 1}}})


def said(kind: str, text: str) -> bytes:
    """A piece of the text."""
    return delta(kind, content=text) if kind == "openai" else delta(kind, type="text_delta", text=text)


def thought(kind: str, text: str) -> bytes:
    """A piece of what a model thinks before it answers."""
    return delta(kind, reasoning=text) if kind == "openai" else delta(kind, type="thinking_delta", thinking=text)


def delta(kind: str, **fields: Any) -> bytes:
    """An event that adds something to the answer."""
    if kind == "openai":
        return event({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": fields}]}, named=False)
    return event({"type": "content_block_delta", "index": 0, "delta": fields})


def ended(kind: str) -> bytes:
    """What a whole stream ends with."""
    if kind == "openai":
        last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        return event(last, named=False) + b"data: [DONE]\n\n"
    stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}
    return event(stop) + event({"type": "message_stop"})


def event(data: dict[str, Any], *, named: bool = True) -> bytes:
    """One event of a stream."""
    return (f"event: {data['type']}\n" if named else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


def raw(kind: str, value: str) -> bytes:
    """A piece of the text with a field beside it whose value is written as it stands."""
    return said(kind, "x").replace(b'{"', f'{{"odd": {value}, "'.encode(), 1)
