"""A server that speaks the Messages API as far as debates need it, with the faults and counts that others lack.

It answers every brief as the stand-ins of `scripted_replies` do, counts tokens by the documented cache rules, and
does what `fault` says to any request. Run as a program, it prints its address and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import reply_codes
import scripted_replies
from aiohttp import web
from messages_cache import Cache, Counted, tokens

FaultFor = Callable[[dict[str, Any], int], dict[str, Any] | None]
"""A request and how many came before it, to what goes wrong; None if nothing does.

`status` (with `headers`, `kind`, `message`, `body`) refuses; `close` drops the line at once; `html` answers a page;
`text`, `stop`, `why` change the answer; `after` is how many pieces come before `then`: `end` (no closing event),
`drop`, `stall`, `garbage`, `error` (an error event, with `message`), `nested` (an event nested 100 deep),
`more` (360,000 characters at once),
`pings` (without end)."""


class Server:
    """One server; `url` is its address."""

    def __init__(self, first_byte: float = 0.0, whole: float = 0.0, least: int = 512):
        self.first_byte, self.whole = first_byte, whole
        self.piece = 40
        """Characters of each piece of a text."""
        self.held = 0
        """If not 0: how many requests must be there for no answer to end, until it is 0 again."""
        self.keeps_lines = False
        """Whether the line of an answer stays open after its last event, until this is False."""
        self.between: Callable[[dict[str, Any]], float] = lambda request: 0.0
        """A request to the seconds between two pieces of its answer."""
        self.problem: FaultFor = lambda request, n: None
        self.say: Callable[[dict[str, Any]], str | None] = lambda request: None
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.counted: list[Counted] = []
        self.answered = 0
        """Answers that were sent to their end."""
        self.at_once = self.most_at_once = 0
        self.cache = Cache(least)
        self.url = ""
        self.batches: dict[str, list[dict[str, Any]]] = {}
        """Batch to its requests, each with a `custom_id` and `params`."""
        self.batch_paid: list[str] = []
        """The ids of calls that batches answered: each is paid for."""
        self.batches_open = False
        """Whether batches take long: they do not end until this is False."""
        self.batch_fault: Callable[[dict[str, Any]], str] = lambda request: ""
        """A request of a batch to what becomes of it: `expired`, `errored`, `canceled`, or nothing else than usual."""
        self.answers_of: dict[str, list[dict[str, Any]]] = {}
        self.results: Callable[[str, int], str] = lambda text, n: text
        """The results of a batch, and how often results were asked for before, to what is sent."""
        self.asked_for_results = 0

    async def messages(self, http: web.Request) -> web.StreamResponse:
        """POST /v1/messages."""
        now = time.monotonic()
        request = await http.json()
        n = len(self.requests)
        self.requests.append(request)
        self.headers.append(dict(http.headers))
        self.keys.append(http.headers.get("Authorization", ""))
        fault = self.problem(request, n) or {}
        if "status" in fault:
            error = {"type": fault.get("kind", "api_error"), "message": fault.get("message", "no")}
            body = fault.get("body", {"type": "error", "error": error})
            return web.json_response(body, status=fault["status"], headers=fault.get("headers", {}))
        if "close" in fault:
            assert http.transport is not None
            http.transport.abort()
            return web.Response()
        if "html" in fault:
            return web.Response(text="<html>a proxy's page</html>", content_type="text/html")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            counted = self.cache.count(request, now, now + self.first_byte)
            self.counted.append(counted)
            return await self._stream(http, request, counted, fault)
        finally:
            self.at_once -= 1

    async def create_batch(self, http: web.Request) -> web.StreamResponse:
        """POST /v1/messages/batches."""
        id = f"msgbatch_{len(self.batches)}"
        self.batches[id] = (await http.json())["requests"]
        self.answers_of[id] = [self._batched(request) for request in self.batches[id]]
        return web.json_response(self._batch(id))

    async def get_batch(self, http: web.Request) -> web.StreamResponse:
        """GET /v1/messages/batches/{id}."""
        return web.json_response(self._batch(http.match_info["id"]))

    async def batch_results(self, http: web.Request) -> web.StreamResponse:
        """GET /v1/messages/batches/{id}/results, in another order than that of the requests."""
        assert not self.batches_open
        lines = [json.dumps(line) + "\n" for line in reversed(self.answers_of[http.match_info["id"]])]
        self.asked_for_results += 1
        text = self.results("".join(lines), self.asked_for_results - 1)
        return web.Response(text=text, content_type="application/x-jsonl")

    def _batch(self, id: str) -> dict[str, Any]:
        status = "in_progress" if self.batches_open else "ended"
        return {"id": id, "type": "message_batch", "processing_status": status, "results_url": None}

    def _batched(self, request: dict[str, Any]) -> dict[str, Any]:
        """The result of one request."""
        if fault := self.batch_fault(request["params"]):
            error = {"error": {"type": "error", "error": {"type": "api_error", "message": "no"}}}
            return {"custom_id": request["custom_id"], "result": {"type": fault} | error}
        self.batch_paid.append(request["custom_id"])
        text = coded(request["params"], self.say(request["params"]) or answer(request["params"]))
        usage = {"input_tokens": 1000, "output_tokens": 100}
        message = {"id": "m", "type": "message", "role": "assistant", "model": request["params"]["model"]}
        message |= {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
        return {"custom_id": request["custom_id"], "result": {"type": "succeeded", "message": message}}

    async def _stream(
        self, http: web.Request, request: dict[str, Any], counted: Counted, fault: dict[str, Any]
    ) -> web.StreamResponse:
        text = fault.get("text")
        text = text if text is not None else coded(request, self.say(request) or answer(request))
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await asyncio.sleep(self.first_byte)
        await response.prepare(http)
        pieces = re.findall(rf"(?s).{{1,{self.piece}}}", text)
        events = list(_events(request, counted, pieces, fault))
        pause = max(0.0, self.whole - self.first_byte)
        for place, event in enumerate(events):
            if place == fault.get("after", -1):
                return await self._break(response, fault["then"], fault.get("message", "Overloaded"))
            if pause and place == len(events) - 1:
                await asyncio.sleep(pause)
            while place == len(events) - 1 and 0 < self.held <= len(self.requests):
                await asyncio.sleep(0.01)
            if between := self.between(request):
                await asyncio.sleep(between)
            await response.write(_sse(event))
        self.answered += 1
        while self.keeps_lines:
            await asyncio.sleep(0.01)
        return response

    async def _break(self, response: web.StreamResponse, how: str, message: str) -> web.StreamResponse:
        match how:
            case "drop":
                assert response._req is not None and response._req.transport is not None
                response._req.transport.abort()
            case "stall":
                await asyncio.sleep(30)
            case "garbage":
                await response.write(b"event: content_block_delta\ndata: {half\n\n")
            case "error":
                error = {"type": "overloaded_error", "message": message}
                await response.write(_sse({"type": "error", "error": error}))
            case "nested":
                event = _sse({"type": "content_block_delta", "index": 0, "odd": 0})
                await response.write(event.replace(b": 0}", b": " + b"[" * 100 + b"]" * 100 + b"}"))
            case "more":
                delta = {"type": "text_delta", "text": "more and " * 40_000}
                await response.write(_sse({"type": "content_block_delta", "index": 0, "delta": delta}))
            case "pings":
                while True:
                    await response.write(_sse({"type": "ping"}))
                    await asyncio.sleep(0.1)
        return response


def _sse(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _events(
    request: dict[str, Any], counted: Counted, pieces: list[str], fault: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    usage = {
        "input_tokens": counted.uncached_input,
        "cache_read_input_tokens": counted.cached,
        "cache_creation_input_tokens": counted.cache_write_5m + counted.cache_write_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counted.cache_write_5m,
            "ephemeral_1h_input_tokens": counted.cache_write_1h,
        },
        "output_tokens": 1,
    }
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": request["model"]}
    yield {"type": "message_start", "message": {**message, "usage": usage, "stop_reason": None, "stop_sequence": None}}
    place = -1
    for place, block in enumerate(fault.get("blocks", [])):
        yield {"type": "content_block_start", "index": place, "content_block": block}
        yield {"type": "content_block_stop", "index": place}
    if pieces:
        yield {"type": "content_block_start", "index": place + 1, "content_block": {"type": "text", "text": ""}}
        for piece in pieces:
            delta = {"type": "text_delta", "text": piece}
            yield {"type": "content_block_delta", "index": place + 1, "delta": delta}
        for citation in fault.get("citations", []):
            delta = {"type": "citations_delta", "citation": citation}
            yield {"type": "content_block_delta", "index": place + 1, "delta": delta}
        yield {"type": "content_block_stop", "index": place + 1}
    output = {"output_tokens": tokens("".join(pieces))} | fault.get("usage", {})
    why = {"type": "refusal", "category": "general_harms", "explanation": fault["why"]} if "why" in fault else None
    delta = {"stop_reason": fault.get("stop", "end_turn"), "stop_sequence": None, "stop_details": why}
    yield {"type": "message_delta", "delta": delta, "usage": output}
    yield {"type": "message_stop"}


def schema_of(request: dict[str, Any]) -> dict[str, Any] | None:
    """The shape that a request wants, from the structured output it asks for, else from the words of its brief."""
    if "output_config" in request:
        schema: dict[str, Any] = request["output_config"]["format"]["schema"]
        return schema
    content = request["messages"][-1]["content"]
    last = content if isinstance(content, str) else content[-1]["text"]
    _, found, rest = last.partition("(a JSON Schema):")
    return json.JSONDecoder().raw_decode(rest.strip())[0] if found else None


def coded(request: dict[str, Any], text: str) -> str:
    """The answer with the code that its brief asks for."""
    return reply_codes.coded(request["messages"][-1]["content"][-1]["text"], text)


def answer(request: dict[str, Any], words: int = 60) -> str:
    """What a stand-in answers."""
    schema = schema_of(request)
    if schema is None:
        return " ".join(["This", "is", "what", "is", "said"] * (words // 5)) + ". And this is **why**."
    wanted = schema["properties"]
    if "rows" in wanted:
        turns = re.findall(r"<<< (\S+\.[ab]) ", json.dumps(request["messages"]))
        return json.dumps(scripted_replies.dissent(list(dict.fromkeys(turns))[:2]))
    if "unknowns" in wanted:
        return json.dumps(scripted_replies.issues())
    if "scores" not in wanted and "winner" not in wanted:
        return json.dumps({"kind": "technical", "a": "It should be done.", "b": "It should not be done."})
    if "scores" not in wanted:
        return json.dumps(scripted_replies.final())
    points = {
        side: dict.fromkeys(of["properties"], 7 if side == "a" else 6)
        for side, of in wanted["scores"]["properties"].items()
    }
    issues = dict.fromkeys(wanted.get("issues", {}).get("properties", ()), "untouched")
    ballot = scripted_replies.ballot() | {"scores": points, "issues": issues, "dry": False}
    return json.dumps({name: value for name, value in ballot.items() if name in wanted})


async def _serve(server: Server, ready: threading.Event, done: asyncio.Event) -> None:
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/messages", server.messages)
    app.router.add_post("/v1/messages/batches", server.create_batch)
    app.router.add_get("/v1/messages/batches/{id}", server.get_batch)
    app.router.add_get("/v1/messages/batches/{id}/results", server.batch_results)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    ready.set()
    await done.wait()
    await runner.cleanup()


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server, answering from a thread of its own."""
    loop, ready, done = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(_serve(server, ready, done)), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)


def chaotic(share: float, seed: int) -> FaultFor:
    """Every fault there is, drawn at random for such a share of the requests."""
    chance = random.Random(seed)
    faults: list[dict[str, Any]] = [
        {"status": 429, "headers": {"retry-after": "0"}},
        {"status": 529, "kind": "overloaded_error"},
        {"status": 500},
        {"close": True},
        *({"after": 3, "then": how} for how in ("end", "drop", "garbage", "error")),
        {"text": ""},
        {"html": True},
    ]
    return lambda request, n: chance.choice(faults) if chance.random() < share else None


def main(
    first_byte: str = "0", whole: str = "0", share: str = "0", seed: str = "0", between: str = "0", piece: str = "40"
) -> None:
    """Serves until standard input ends; then prints how many requests came and how many were answered."""
    server = Server(float(first_byte), float(whole))
    server.problem = chaotic(float(share), int(seed))
    server.piece = int(piece)
    server.between = lambda request: float(between)
    with serving(server):
        print(server.url, flush=True)
        sys.stdin.read()
    print(json.dumps({"requests": len(server.requests), "answered": server.answered}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
