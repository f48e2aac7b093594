"""A vendor of batches for tests, as either API has it: what it answers may be wrong in one way at each request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import local_http

Json = dict[str, Any]
KINDS = ("anthropic", "openai")
JSON = {"content-type": "application/json"}
PAGE = b"<html>down for maintenance</html>"


def batch_json(kind: str, id: str, **more: Any) -> Json:
    """A batch of either API that has ended, and whose file of results is called as it is."""
    if kind == "anthropic":
        return {"id": id, "processing_status": "ended", **more}
    return {"id": id, "status": "completed", "output_file_id": id, "error_file_id": None, **more}


def result_line(call: str, text: str = "") -> Json:
    """A line of results in which a call is answered, with its id by default, as either API has it."""
    message = {"content": [{"type": "text", "text": text or call}], "stop_reason": "end_turn"}
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    body = {"choices": [{"message": {"content": text or call}, "finish_reason": "stop"}], "usage": usage}
    result, response = {"type": "succeeded", "message": message}, {"status_code": 200, "body": body}
    return {"custom_id": call, "result": result, "response": response, "error": None}


def as_lines(lines: list[Json]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


class Vendor:
    """`faults` are what goes wrong with the next requests, one after another; see `FAULTS`. `say` makes an answer from
    the body of a call, or None for a call of OpenAI's that expires; a call is answered with its id by default."""

    def __init__(self, kind: str, faults: list[str], say: Callable[[Json], str | None] = lambda body: ""):
        self.kind, self.faults, self.say = kind, iter(faults), say
        self.batches: dict[str, tuple[str, ...]] = {"others": ("x0", "x1", "x2")}
        """The calls of each batch."""
        self.paid = Counter[str]()
        self.live: list[str] = []
        """The paths of calls that were made alone, which are refused."""
        self._files: list[bytes] = []
        self._said: dict[str, str | None] = {}

    def answer(self, http: local_http.Asked) -> local_http.Answer:
        fault = next(self.faults, "")
        if http.path.endswith("/chat/completions"):
            self.live.append(http.path)
            fault = "refused 404"
        if fault.startswith("refused "):
            return int(fault.removeprefix("refused ")), JSON, [b'{"error": {"message": "no"}}']
        data = self._post(http) if http.method == "POST" else self._get(http.path, fault)
        if fault.startswith("then "):
            return int(fault.removeprefix("then ")), JSON, [b'{"error": {"message": "no"}}']
        broken = {"a page": PAGE, "nothing": b"", "cut": data[: len(data) // 2], "another": b"{}"}
        return 200, JSON, [broken.get(fault, data)]

    def _post(self, http: local_http.Asked) -> bytes:
        if http.path.endswith("/files"):
            self._files.append(http.body)
            return json.dumps({"id": f"file{len(self._files) - 1}"}).encode()
        asked = json.loads(http.body)
        if self.kind == "anthropic":
            requests = asked["requests"]
        else:
            lines = self._files[int(asked["input_file_id"].removeprefix("file"))].splitlines()
            requests = [json.loads(line) for line in lines if line.startswith(b"{")]
        calls = tuple(request["custom_id"] for request in requests)
        self._said |= {request["custom_id"]: self.say(request.get("body", {})) for request in requests}
        self.paid.update(call for call in calls if self._said[call] is not None)
        id = f"batch{len(self.batches)}"
        self.batches[id] = calls
        return json.dumps(self._batch(id)).encode()

    def _expired(self, id: str) -> list[str]:
        return [call for call in self.batches[id] if self._said.get(call, "") is None]

    def _batch(self, id: str) -> Json:
        return batch_json(self.kind, id, **({"error_file_id": f"{id}-errors"} if self._expired(id) else {}))

    def _get(self, path: str, fault: str) -> bytes:
        parts = path.removeprefix("/v1").removeprefix("/messages").split("/")[1:]
        if parts[-1] in ("results", "content"):
            id = parts[1].removesuffix("-errors")
            calls = self._expired(id)
            if parts[1] == id:
                calls = [call for call in self.batches[id] if call not in calls]
            lines = [self._line(call) for call in calls]
            return as_lines(RESULT_FAULTS.get(fault, list)(lines))
        assert len(parts) == 2, f"nothing is asked of {path}"
        return json.dumps(self._batch(parts[1]) | BATCH_FAULTS.get(fault, {})).encode()

    def _line(self, call: str) -> Json:
        if (text := self._said.get(call, "")) is None:
            error = {"code": "batch_expired", "message": "too late"}
            return {"custom_id": call, "response": None, "error": error}
        return result_line(call, text)


def _with(**fields: Any) -> Callable[[list[Json]], list[Json]]:
    return lambda lines: [line | fields for line in lines]


RESULT_FAULTS: dict[str, Callable[[list[Json]], list[Json]]] = {
    "lines of others": lambda lines: [lines[0], *(line | {"custom_id": "y" + line["custom_id"]} for line in lines[1:])],
    "a line less": lambda lines: lines[:-1],
    "no lines": lambda lines: [],
    "a line twice": lambda lines: [*lines[:-1], lines[0]],
    "a line more": lambda lines: [*lines, lines[0]],
    "ids alone": lambda lines: [{"custom_id": line["custom_id"]} for line in lines],
    "unknown results": _with(result={"type": "processing"}, response=None),
    "no message": _with(result={"type": "succeeded"}, response={"status_code": 200, "body": None}),
    "texts": _with(result="{}", response={"status_code": 200, "body": "{}"}),
    "answers and errors": _with(result=None, response={"status_code": 200, "body": {}}, error={}),
}
"""What is wrong with the lines of results."""
EMPTY_ANSWERS = _with(result={"type": "succeeded", "message": {}}, response={"status_code": 200, "body": {}})
BATCH_FAULTS: dict[str, Json] = {
    "no files": {"output_file_id": None},
    "ended early": {"status": "expired"},
    "another id": {"id": "another"},
}
"""What is wrong with a batch."""
FAULTS = (
    *(*RESULT_FAULTS, *BATCH_FAULTS, "a page", "nothing", "cut", "another", ""),
    *(f"refused {status}" for status in (400, 401, 402, 403, 404, 429, 500, 503, 504, 529)),
    *("then 500", "then 503", "then 504"),  # a refusal is believed
)
"""All that may go wrong with a request any number of times."""
