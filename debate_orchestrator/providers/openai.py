"""Models that speak Chat Completions: OpenAI's, and those of the many servers that speak it. The SDK is an extra."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from typing import Any, Literal
from urllib.parse import quote

from pydantic import model_validator

from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import api, batch_responses, call_errors, limits, servers
from debate_orchestrator.providers.options import Option, UnsupportedOptions
from debate_orchestrator.providers.provider import OnPiece
from debate_orchestrator.util.errors import ProviderFailed, TransientError

_STRUCTURED, _SEARCH, _LIMIT, _USAGE = "structured output", "search", "limit of tokens", "usage"
_LIMIT_FIELDS = ("max_completion_tokens", "max_tokens")
_ERROR_WORDS = {
    _STRUCTURED: (
        "response_format", "json_schema", "json_object", "schema", "structured", "grammar", "guided", "json mode",
        "generate json", "xgrammar", "outlines",
    ),
    _USAGE: ("stream_options", "include_usage"),
    _LIMIT: (*_LIMIT_FIELDS, "in the completion", "for the completion", "output tokens"),
}  # fmt: skip
"""Option to words of the errors with which OpenAI, vLLM, SGLang, llama.cpp, LM Studio, Ollama, Groq and OpenRouter
refuse it, in lower case."""
_ENDPOINT = "/v1/chat/completions"
_BATCHES = "/batches"
_FORM = {"Content-Type": "multipart/form-data"}
_ENDED = ("completed", "expired", "cancelled", "failed")
"""The states in which a batch stays as it is."""
_NO_PACKAGE = 'The openai package is not installed. Try: pip install "debate-orchestrator[openai]".'


class Completions(api.ApiModel):
    """One model of one server."""

    sdk_name = "openai"
    imports = "openai.resources.chat"

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The reply to one brief, as `Provider` says. The API has no search."""
        api_reply, options = CompletionsReply(), self._options(brief)
        clock = limits.SilenceClock(self.current.state.retry_for)
        await self.make_call({"model": self.server.model}, options, api_reply, brief, clock, on_text)
        unsupported = (*self.unsupported.lacking(options), *([_SEARCH] if brief.search else []))
        return api_reply.reply(self.name, tuple(sorted(unsupported)))

    def batch_body(self, brief: Brief) -> dict[str, Any]:
        options = [option for option in self._options(brief) if option.name != _USAGE]  # it is for streams
        return UnsupportedOptions().request({"model": self.server.model}, options)

    async def upload_batch(self, bodies: Mapping[str, dict[str, Any]]) -> str:
        lines = [
            json.dumps({"custom_id": call, "method": "POST", "url": _ENDPOINT, "body": body}) + "\n"
            for call, body in bodies.items()
        ]
        file = {"file": ("calls.jsonl", "".join(lines).encode())}
        form: dict[str, Any] = {"body": {"purpose": "batch"}, "files": file, "options": {"headers": _FORM}}
        data = await self.about_batches("post", "/files", **form)
        return batch_responses.parse_documented(self.name, batch_responses.HasId, data).id

    async def create_batch(self, bodies: Mapping[str, dict[str, Any]], file: str) -> str:
        body = {"input_file_id": file, "endpoint": _ENDPOINT, "completion_window": "24h"}
        data = await self.about_batches("post", _BATCHES, body=body)
        return batch_responses.parse_documented(self.name, _Batch, data).id

    async def batch_ended(self, batch: str) -> bool:
        return (await self._batch(batch)).status in _ENDED

    async def batch_results(self, batch: str, calls: Collection[str]) -> dict[str, Reply | TransientError]:
        """As `BatchApi` says. Calls that failed have a file of their own; a batch refused as a whole has none."""
        state = await self._batch(batch)
        if state.status not in _ENDED:
            raise call_errors.broken_reply(self.name, "results of a batch that has not ended")
        output, errors = [await self._lines(file, calls) for file in (state.output_file_id, state.error_file_id)]
        if output.keys() & errors.keys():
            raise call_errors.broken_reply(self.name, "results of a batch with two of one call")
        missing = None if state.status == "completed" else state.why_ended_early()
        return await batch_responses.batch_replies(self.name, output | errors, calls, _batch_reply, missing=missing)

    async def _batch(self, id: str) -> _Batch:
        data = await self.about_batches("get", f"{_BATCHES}/{quote(id, safe='')}")
        return batch_responses.read_batch(self.name, _Batch, data, id)

    async def _lines(self, file: str | None, calls: Collection[str]) -> dict[str, _Line]:
        """The lines of a file of results by the id of each call; none if there is no file."""
        if file is None:
            return {}
        data = await self.about_batches("get", f"/files/{quote(file, safe='')}/content")
        return await batch_responses.result_lines(self.name, data, _Line, calls)

    def _options(self, brief: Brief) -> list[Option]:
        """Options requested of the server, with the words in which servers refuse them."""
        system, *messages = [
            {"role": role, "content": api.clean(text)}
            for role, text in (
                ("system", brief.system),
                *((message.role, "\n\n".join(message.parts)) for message in brief.messages),
            )
        ]
        first = {"role": "user", "content": f"{system['content']}\n\n{messages[0]['content']}"}
        options = [
            # The templates of some models, such as Gemma 2, have no system message.
            Option(
                "system message",
                ({"messages": [system, *messages]}, {"messages": [first, *messages[1:]]}),
                ("system role", "system message", "role 'system'", 'role "system"'),
                is_reported=False,
            ),
            Option(_USAGE, ({"stream_options": {"include_usage": True}}, {}), _ERROR_WORDS[_USAGE], is_reported=False),
        ]
        if brief.json_schema is not None:
            # The vendor puts the schema before what it caches. Other servers make a grammar of it.
            shape = brief.shared_schema if self.server.address is None else brief.json_schema
            schema = {"name": "reply", "strict": True, "schema": shape}
            strict = {"type": "json_schema", "json_schema": schema}
            variants: tuple[dict[str, Any], ...] = (
                {"response_format": strict},
                {"response_format": {"type": "json_object"}},
                {},
            )
            options.insert(0, Option(_STRUCTURED, variants, _ERROR_WORDS[_STRUCTURED]))
        if (maximum := limits.reply_length(brief, self.name).tokens) is not None:
            # The vendor's newer models refuse the older field; other servers refuse the newer one, or ignore it.
            fields = _LIMIT_FIELDS if self.server.address is None else _LIMIT_FIELDS[::-1]
            limit_fields: tuple[dict[str, Any], ...] = ({fields[0]: maximum}, {fields[1]: maximum}, {})
            is_reported = brief.max_tokens is not None
            options.append(
                Option(_LIMIT, limit_fields, _ERROR_WORDS[_LIMIT], equivalent_variants=2, is_reported=is_reported)
            )
        return options

    def sdk(self) -> Any:
        if find_spec("openai") is None:
            raise ProviderFailed(f"{self.name}: {_NO_PACKAGE}")
        import openai

        return openai

    async def create(self, client: Any, request: dict[str, Any]) -> Any:
        return await client.chat.completions.create(**request, stream=True)

    def connect(self, options: dict[str, Any]) -> Any:
        key = self.server.key() or servers.NO_KEY
        client = self.sdk().AsyncOpenAI(api_key=key, base_url=self.server.url, **options)
        _ = client.chat.completions  # imports what belongs to it, before the clock runs
        return client


class CompletionsReply(api.ApiReply):
    def __init__(self) -> None:
        super().__init__()
        self._content: list[str] = []
        self._refusal: list[str] = []

    def feed(self, event: Any) -> list[str]:
        """As `ApiReply.feed`. A completion that came at once is an event with a `message` in place of each `delta`."""
        if not isinstance(event, dict):
            return self._reject("a piece that is not an object")
        choices = event.get("choices") or []
        if not isinstance(choices, list):
            return self._reject("choices that are not a list")
        pieces = [] if self.has_begun else [""]
        self.has_begun = True
        self.model = self.model or api.short_field(event.get("model"))
        for choice in choices:
            if api.field(choice, "index") in (0, None):
                pieces += self._choice(choice)
        if (usage := event.get("usage")) is not None:
            self._count(usage)
            pieces.append("")
        return pieces

    def _choice(self, choice: Any) -> list[str]:
        pieces: list[str] = []
        delta = api.field(choice, "delta") or api.field(choice, "message")
        for name, parts in (("content", self._content), ("refusal", self._refusal)):
            piece = api.field(delta, name)
            if piece is None or piece == "":
                continue
            if not isinstance(piece, str):
                return self._reject(f"{name} that is not text")
            parts.append(piece)
            pieces.append(piece)
            self.length += len(piece)
            self.received_chars += len(piece)
        thought = api.field(delta, "reasoning_content") or api.field(delta, "reasoning")
        if isinstance(thought, str) and thought:
            pieces.append("")
            self.received_chars += len(thought)
        stop = api.field(choice, "finish_reason")
        if stop is not None and not isinstance(stop, str):
            return self._reject("a finish_reason that is not text")
        if stop not in ("null", "None"):  # so some servers write that there is none yet
            self.stop_reason = self.stop_reason or api.short_field(stop)
        return pieces

    def _reject(self, why: str) -> list[str]:
        self.invalid = self.invalid or why
        return []

    def _count(self, usage: Any) -> None:
        """Takes the counts. Counts that are not numbers are unknown: no whole reply is thrown away for that."""
        prompt, output = api.count_field(usage, "prompt_tokens"), api.count_field(usage, "completion_tokens")
        if prompt is not None and output is not None:
            cached = min(api.count_field(api.field(usage, "prompt_tokens_details"), "cached_tokens") or 0, prompt)
            self.usage = Usage(uncached_input=prompt - cached, cached=cached, output=output)
        if (cost := _dollars(usage, "cost")) is not None:
            if api.field(usage, "is_byok") is not False:
                # With a key of the user's own at the vendor, the cost is OpenRouter's fee alone.
                cost += _dollars(api.field(usage, "cost_details"), "upstream_inference_cost") or 0.0
            self.cost = cost

    def missing(self) -> str | None:
        if self.stop_reason is not None:
            return None
        return "a stream that ended without a finish_reason" if self.has_begun else "no answer in it"

    @property
    def text(self) -> str:
        return api.clean("".join(self._refusal or self._content))

    def ended(self) -> Literal["whole", "cut", "refused"]:
        return "refused" if self._refusal else super().ended()


def _dollars(holder: Any, name: str) -> float | None:
    value = api.field(holder, name)
    is_cost = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    return float(value) if is_cost else None


class _Batch(batch_responses.HasId):
    status: Literal[
        "validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"
    ]
    output_file_id: batch_responses.Id | None = None
    error_file_id: batch_responses.Id | None = None
    errors: Any = None
    """Why it was refused as a whole: an object with the errors in `data`, if it has the documented shape."""

    def why_ended_early(self) -> str:
        """Why calls without a line have no reply, in the vendor's words."""
        found = api.field(self.errors, "data")
        words = [api.error_message(error) for error in found] if isinstance(found, list) else []
        return ": ".join(filter(None, (f"status {self.status}", call_errors.quote("; ".join(words)))))


class _Response(batch_responses.DocumentedShape):
    status_code: int
    body: Any

    @model_validator(mode="after")
    def _answered(self) -> _Response:
        if self.status_code == 200 and not isinstance(self.body, dict):
            raise ValueError("no answer")
        return self


class _Line(batch_responses.ResultLine):
    response: _Response | None = None
    error: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _answered(self) -> _Line:
        answered = self.response is not None and self.response.status_code == 200
        if (self.error is None and self.response is None) or (self.error is not None and answered):
            raise ValueError("neither or both of an answer and an error")
        return self


def _batch_reply(line: _Line) -> CompletionsReply | str:
    """The reply in the line of one call; why there is none."""
    response = line.response
    if line.error is not None or response is None or response.status_code != 200:
        return str(line.error or (response and response.body) or "no response")
    api_reply = CompletionsReply()
    api_reply.feed(response.body)
    return api_reply


def problem(spec: str) -> str | None:
    """The reason that a spec of this kind can't be used here; None if it can."""
    return servers.spec_problem(spec) or (_NO_PACKAGE if find_spec("openai") is None else None)


provider = Completions
