"""A server that speaks Chat Completions: it gives scripted answers, or refuses options in the way of a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import local_http

ELSEWHERE = "http://127.0.0.1:9/elsewhere"
"""Where a redirect leads."""

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

    def respond(asked: local_http.Asked) -> local_http.Answer:
        server.bodies.append(json.loads(asked.body))
        server.headers.append(asked.headers)
        made = server.answer(server.bodies[-1])
        if isinstance(made, tuple):
            return made[0], {"content-type": "application/json", "location": ELSEWHERE}, [made[1].encode()]
        return 200, {"content-type": "text/event-stream"}, [made] if isinstance(made, bytes) else made

    with local_http.answering(respond) as url:
        server.url = f"{url}/v1"
        yield server
