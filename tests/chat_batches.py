"""A server that takes batches of Chat Completions, as files of lines, and no other calls."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class ChatBatches:
    """What the server was sent; `say` makes an answer from the body of a request, or None for one that expires."""

    def __init__(self, say: Callable[[dict[str, Any]], str | None]):
        self.say = say
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.paid: list[str] = []
        self.live: list[str] = []
        """The paths of calls that were made alone."""
        self.results: Callable[[str, int], str] = lambda text, n: text
        """A file, and how often one was asked for before, to what is sent."""
        self.asked_for_results = 0
        self.url = ""

    def upload(self, data: bytes) -> dict[str, Any]:
        """POST /files: what is between the lines of the form that begin with a brace is the file."""
        lines = [line for line in data.decode().splitlines() if line.startswith("{")]
        id = f"file-{len(self.files)}"
        self.files[id] = "\n".join(lines)
        return {"id": id, "object": "file", "bytes": len(data), "created_at": 1, "filename": "x", "purpose": "batch"}

    def create(self, asked: dict[str, Any]) -> dict[str, Any]:
        """POST /batches."""
        id = f"batch_{len(self.batches)}"
        output, errors = [], []
        for line in map(json.loads, self.files[asked["input_file_id"]].splitlines()):
            assert line["url"] == asked["endpoint"] == "/v1/chat/completions" and "stream_options" not in line["body"]
            if (text := self.say(line["body"])) is None:
                error = {"code": "batch_expired", "message": "too late"}
                errors.append({"custom_id": line["custom_id"], "response": None, "error": error})
                continue
            self.paid.append(line["custom_id"])
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
            body = {"id": "c", "object": "chat.completion", "created": 1, "model": line["body"]["model"]}
            body |= {"choices": [choice], "usage": usage}
            output.append(
                {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}
            )
        self.files |= {f"{id}-out": _lines(output), f"{id}-errors": _lines(errors)}
        counts = {"total": len(output) + len(errors), "completed": len(output), "failed": len(errors)}
        self.batches[id] = {
            "id": id, "object": "batch", "created_at": int(time.time()), "status": "completed", "endpoint": "x",
            "completion_window": "24h", "input_file_id": asked["input_file_id"],
            "output_file_id": f"{id}-out", "error_file_id": f"{id}-errors" if errors else None,
            "request_counts": counts,
        }  # fmt: skip
        return self.batches[id]

    def found(self, path: str) -> str:
        """The body of a GET."""
        parts = path.partition("?")[0].split("/")[2:]
        if parts[0] == "files":
            self.asked_for_results += 1
            return self.results(self.files[parts[1]], self.asked_for_results - 1)
        return json.dumps(self.batches[parts[1]])


def _lines(values: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


@contextmanager
def serving(server: ChatBatches) -> Iterator[ChatBatches]:
    """The server, answering from threads of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            if self.path.endswith("/files"):
                self._send(json.dumps(server.upload(data)))
            elif self.path.endswith("/batches"):
                self._send(json.dumps(server.create(json.loads(data))))
            else:
                server.live.append(self.path)
                self._send('{"error": {"message": "no live calls"}}', 404)

        def do_GET(self) -> None:
            self._send(server.found(self.path))

        def _send(self, text: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *parts: Any) -> None:
            """Keeps quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
