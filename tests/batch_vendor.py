"""A vendor of batches for tests, as either API has it: what it answers may be wrong in one way at each request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import local_http

Json = dict[str, Any]
JSON = {"content-type": "application/json"}


class Batch(NamedTuple):
    """A batch: the id of its file, those of its calls, and when it was created."""

    file: str
    calls: tuple[str, ...]
    created: float


class Vendor:
    """`faults` are what goes wrong with the next requests, one after another; see `FAULTS`. `say` makes an answer from
    the body of a call, or None for a call of OpenAI's that expires; a call is answered with its id by default."""

    def __init__(self, kind: str, faults: list[str], say: Callable[[Json], str | None] | None = None):
        self.kind, self.faults, self.say = kind, iter(faults), say
        now = datetime.now(UTC).timestamp()
        self.batches = {"others": Batch("another", ("x0", "x1", "x2"), now - 60)}
        self.paid = Counter[str]()
        self.live: list[str] = []
        """The paths of calls that were made alone, which are refused."""
        self._files: list[bytes] = []
        self._said: dict[str, str | None] = {}

    def answer(self, http: local_http.Asked) -> local_http.Answer:
        fault, post = next(self.faults, ""), http.method == "POST"
        if http.path.endswith("/chat/completions"):
            self.live.append(http.path)
            fault = "refused 404"
        if fault.startswith("refused "):
            return int(fault.removeprefix("refused ")), JSON, [b'{"error": {"message": "no"}}']
        data = (
            self._post(http) if post else self._get(http.path, FAULTS.get(fault, lambda what, content: content))
        ).encode()
        if fault.startswith("then "):
            return int(fault.removeprefix("then ")), JSON, [b'{"error": {"message": "no"}}']
        broken = {"a page": b"<html>down</html>", "nothing": b"", "cut": data[: len(data) // 2], "another": b"{}"}
        return 200, JSON, [broken.get(fault, data)]

    def _post(self, http: local_http.Asked) -> str:
        if http.path.endswith("/files"):
            self._files.append(http.body)
            return json.dumps({"id": f"file{len(self._files) - 1}", "created_at": int(datetime.now(UTC).timestamp())})
        asked = json.loads(http.body)
        file = asked.get("input_file_id", "")
        if self.kind == "anthropic":
            requests = asked["requests"]
        else:
            lines = self._files[int(file.removeprefix("file"))].splitlines()
            requests = [json.loads(line) for line in lines if line.startswith(b"{")]
        for request in requests:
            call = request["custom_id"]
            self._said[call] = self.say(request["body"]) if self.say else call
        calls = tuple(request["custom_id"] for request in requests)
        self.paid.update(call for call in calls if self._said[call] is not None)
        id = f"batch{len(self.batches)}"
        self.batches[id] = Batch(file, calls, datetime.now(UTC).timestamp())
        return json.dumps(self._batch_json(id))

    def _get(self, path: str, altered: Callable[[str, Any], Any]) -> str:
        path = path.partition("?")[0]
        parts = path.removeprefix("/v1").removeprefix("/messages").split("/")[1:]
        if parts[-1] in ("results", "content"):
            id, failed = parts[1].removesuffix("-errors"), parts[1].endswith("-errors")
            calls = [call for call in self.batches[id].calls if (self._said.get(call, "") is None) is failed]
            lines = [self._line(call) for call in calls]
            return "".join(json.dumps(line) + "\n" for line in altered("results", lines))
        if len(parts) == 2:
            return json.dumps(altered("batch", self._batch_json(parts[1])))
        raise AssertionError(f"nothing is asked of {path}")

    def _batch_json(self, id: str) -> Json:
        batch = self.batches[id]
        size = len(batch.calls)
        if self.kind == "anthropic":
            counts = dict.fromkeys(("processing", "errored", "canceled", "expired"), 0) | {"succeeded": size}
            created = datetime.fromtimestamp(batch.created, UTC).isoformat()
            return {"id": id, "created_at": created, "processing_status": "ended", "request_counts": counts}
        counts = {"total": size, "completed": size, "failed": 0}
        content = {"id": id, "created_at": int(batch.created), "status": "completed", "request_counts": counts}
        errors = f"{id}-errors" if any(self._said.get(call, "") is None for call in batch.calls) else None
        return {**content, "input_file_id": batch.file, "output_file_id": id, "error_file_id": errors}

    def _line(self, call: str) -> Json:
        if self.kind == "anthropic":
            message = {"content": [{"type": "text", "text": call}], "stop_reason": "end_turn"}
            return {"custom_id": call, "result": {"type": "succeeded", "message": message}}
        if (text := self._said[call]) is None:
            return {"custom_id": call, "response": None, "error": {"code": "batch_expired", "message": "too late"}}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}
        return {"custom_id": call, "response": {"status_code": 200, "body": body}, "error": None}


def _results(change: Callable[[list[Json]], list[Json]]) -> Callable[[str, Any], Any]:
    return lambda what, content: change(content) if what == "results" else content


def _foreign(line: Json) -> Json:
    return line | {"custom_id": "y" + line["custom_id"]}


def _batches(change: Callable[[Json], Json]) -> Callable[[str, Any], Any]:
    def altered(what: str, content: Any) -> Any:
        return change(content) if what == "batch" else content

    return altered


def _counts(change: Callable[[int], Any]) -> Callable[[str, Any], Any]:
    def changed(batch: Json) -> Json:
        return batch | {"request_counts": {name: change(count) for name, count in batch["request_counts"].items()}}

    return _batches(changed)


FAULTS: dict[str, Callable[[str, Any], Any]] = {
    "lines of others": _results(lambda lines: [lines[0], *map(_foreign, lines[1:])]),
    "a line less": _results(lambda lines: lines[:-1]),
    "no lines": _results(lambda lines: []),
    "a line twice": _results(lambda lines: [*lines[:-1], lines[0]]),
    "ids alone": _results(lambda lines: [{"custom_id": line["custom_id"]} for line in lines]),
    "empty answers": _results(
        lambda lines: [
            line | {"result": {"type": "succeeded", "message": {}}, "response": {"status_code": 200, "body": {}}}
            for line in lines
        ]
    ),
    "unknown results": _results(
        lambda lines: [line | {"result": {"type": "processing"}, "response": None} for line in lines]
    ),
    "no counts": _batches(lambda batch: batch | {"request_counts": {}}),
    "negative counts": _counts(lambda count: -count),
    "counts of nothing": _counts(lambda count: 0),
    "no files": _batches(lambda batch: {name: None if name.endswith("file_id") else batch[name] for name in batch}),
    "ended early": _batches(lambda batch: batch | ({"status": "expired"} if "status" in batch else {})),
    "no file": _batches(lambda batch: {name: batch[name] for name in batch if name != "input_file_id"}),
    "another id": _batches(lambda batch: batch | {"id": "y" + batch["id"]}),
}  # fmt: skip
"""What is changed, by its kind (`results` or `batch`), and what it was to what it becomes."""


def faults() -> Iterator[str]:
    """All that may go wrong with a request any number of times."""
    yield from FAULTS
    yield from ("a page", "nothing", "cut", "another", "")
    for status in (400, 401, 402, 403, 404, 429, 500, 503, 504, 529):
        yield f"refused {status}"
    yield from ("then 500", "then 503", "then 504")  # a refusal is believed
