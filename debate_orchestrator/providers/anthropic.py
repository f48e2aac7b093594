"""Models that speak the Messages API: Anthropic's, OpenRouter's, Ollama's, and those of any server that speaks it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import model_validator

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import FoundPage, Reply, Usage
from debate_orchestrator.core.settings import MAX_COUNT
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import api, batch_responses, call_errors, limits, pricing, servers
from debate_orchestrator.providers.caching import CachePlan, cache_plans, placed_breakpoints
from debate_orchestrator.providers.options import Option, UnsupportedOptions
from debate_orchestrator.providers.provider import OnPiece, Permissions
from debate_orchestrator.util.data import strict_json
from debate_orchestrator.util.errors import ExternalError, ProviderFailed, TransientError
from debate_orchestrator.util.sanitize import one_line

problem = servers.spec_problem
_BATCHES = "/v1/messages/batches"
_MAX_TOKENS = 32_000
"""Tokens that a reply may have, with thinking."""
_MAX_UNKNOWN = 8_192
"""The same for a model that is not in the price table: many servers refuse to be asked for more."""
_SEARCH_TOOL = {"type": "web_search_20260209", "name": "web_search", "max_uses": 5}
_SEARCH_PAUSES = 4
"""The number of requests that one reply may take, each of which continues where a search paused."""
_STRUCTURED, _SEARCH = "structured output", "search"
_STRUCTURED_ERROR_WORDS = ("output_config", "output_format", "json_schema", "schema", "structured", "grammar")
_LIMIT_ERROR_WORDS = ("max_tokens", "output tokens", "in the completion")
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "partial_json"),
}
"""Type of a delta to the field of the block that it adds to, and its own field with what it adds."""
_BLOCKS = 1_000
"""Blocks of a reply: a few for each search, and one for each part of the text that cites anything."""
_PAGES, _CITATIONS = 40, 200
"""Pages and citations that a reply keeps: a search returns ten pages, and there are at most five searches."""


class Messages(api.ApiModel):
    """One model of one server."""

    sdk_name = "anthropic"
    imports = "anthropic.resources.messages"

    def __init__(self, spec: str, current: CurrentState, permissions: Permissions):
        super().__init__(spec, current, permissions)
        self._plans = cache_plans(current.state)
        self._paused: dict[str, tuple[str, MessagesReply]] = {}
        """Turn id to the digest of its brief and the reply that paused, whose continuation failed."""

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The reply to one brief, as `Provider` says. A reply that pauses for a search takes several requests. If
        one of them fails, the next call goes on from the last pause: what came before is paid for, and on record with
        the error.
        """
        base, options = self._request(brief), options_of(brief, self.name)
        digest, before = self._paused.pop(brief.turn_id, ("", None))
        before = before if digest == brief.digest else None
        if before is not None:
            on_text(before.text)
        clock = limits.SilenceClock(self.current.state.retry_for)
        while True:
            api_reply = MessagesReply(before)
            request = base | {"messages": base["messages"] + (before.messages_to_resend() if before else [])}
            try:
                await self.make_call(request, options, api_reply, brief, clock, on_text)
            except TransientError:
                if before is not None:
                    before.set_recorded()
                    self._paused[brief.turn_id] = brief.digest, before
                raise
            if api_reply.stop_reason != "pause_turn" or api_reply.requests == _SEARCH_PAUSES:
                return api_reply.reply(self.name, self.unsupported.lacking(options))
            before = api_reply

    def _request(self, brief: Brief) -> dict[str, Any]:
        plan = self._plans.get(brief.turn_id, CachePlan())
        breakpoints = placed_breakpoints(
            plan, self.current.state, sum(len(message.parts) for message in brief.messages)
        )
        return request(brief, self.name, breakpoints, long_ttl=plan.long_ttl)

    def batch_body(self, brief: Brief) -> dict[str, Any]:
        return UnsupportedOptions().request(self._request(brief), options_of(brief, self.name))

    async def upload_batch(self, bodies: Mapping[str, dict[str, Any]]) -> str:
        return ""

    async def create_batch(self, bodies: Mapping[str, dict[str, Any]], file: str) -> str:
        requests = [{"custom_id": call, "params": body} for call, body in bodies.items()]
        data = await self.about_batches("post", _BATCHES, body={"requests": requests})
        return batch_responses.parse_documented(self.name, _Batch, data).id

    async def batch_ended(self, batch: str) -> bool:
        data = await self.about_batches("get", f"{_BATCHES}/{quote(batch, safe='')}")
        return batch_responses.read_batch(self.name, _Batch, data, batch).processing_status == "ended"

    async def batch_results(self, batch: str, calls: Collection[str]) -> dict[str, Reply | TransientError]:
        """As `BatchApi` says. Every call has a line, also if it failed."""
        data = await self.about_batches("get", f"{_BATCHES}/{quote(batch, safe='')}/results")
        lines = await batch_responses.result_lines(self.name, data, _Line, calls)
        return await batch_responses.batch_replies(self.name, lines, calls, _batch_reply, missing=None)

    def sdk(self) -> Any:
        import anthropic

        return anthropic

    async def create(self, client: Any, request: dict[str, Any]) -> Any:
        return await client.messages.create(**request, stream=True)

    def connect(self, options: dict[str, Any]) -> Any:
        sdk, server, key = self.sdk(), self.server, self.server.key()
        if server.url is not None:
            return sdk.AsyncAnthropic(api_key=key or servers.NO_KEY, base_url=server.url, **options)
        # The SDK takes a key or a token; with neither it looks for a profile.
        api_key = servers.key("ANTHROPIC_API_KEY")
        client = sdk.AsyncAnthropic(api_key=api_key, auth_token=None if api_key else key, **options)
        if client.credentials:
            url = str(client.base_url)
            if problem := _unsafe_route(client.credentials, server, url, insecure=self.insecure):
                raise ProviderFailed(problem)
        return client

    def credentials_error(self, error: Exception) -> ExternalError | None:
        sdk = self.sdk()
        if isinstance(error, sdk.CredentialsError) or (isinstance(error, TypeError) and "authentication" in str(error)):
            what = "there is no key and no profile" if isinstance(error, TypeError) else call_errors.quote(error)
            sign_in_hint = "sign in with the vendor's own tool; `debate models` tells more"
            hint = f"Try: set {self.server.key_variables[0]}, or {sign_in_hint}."
            return ProviderFailed(f"{self.name} has no credentials: {what}. {hint}")
        if isinstance(error, sdk.WorkloadIdentityError):  # its text quotes a server that was sent a token
            status = f" (HTTP {error.status_code})" if error.status_code else ""
            return call_errors.broken_reply(self.name, f"no token: {type(error).__name__}{status}")
        return None


def _unsafe_route(credentials: object, server: servers.ModelServer, url: str, *, insecure: bool) -> str | None:
    """The reason that the tokens of these credentials may not be sent: to `url`, or to the profile's own address, where
    they are renewed, they would go unencrypted to another machine or through a proxy. Returns None if they may."""
    for address in dict.fromkeys((url, getattr(credentials, "resolved_base_url", None) or url)):
        if problem := servers.unencrypted(server, address, insecure=insecure):
            return problem
        if servers.is_loopback(address) and _proxied(address):
            host = urlsplit(address).hostname
            return f"A token for {one_line(address)} would go through a proxy. Try: add {host} to NO_PROXY."
    return None


def _proxied(url: str) -> bool:
    """Whether the environment sends plain http to that address through a proxy."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get("http") or proxies.get("all")
    return parts.scheme == "http" and bool(proxy) and not proxy_bypass(parts.hostname or "")


class _Batch(batch_responses.HasId):
    processing_status: Literal["in_progress", "canceling", "ended"]


class _Result(batch_responses.DocumentedShape):
    type: Literal["succeeded", "errored", "canceled", "expired"]
    message: dict[str, Any] | None = None
    error: Any = None

    @model_validator(mode="after")
    def _answered(self) -> _Result:
        if self.type == "succeeded" and self.message is None:
            raise ValueError("no message")
        return self


class _Line(batch_responses.ResultLine):
    result: _Result


def _batch_reply(line: _Line) -> MessagesReply | str:
    """The reply in the line of one call; why there is none."""
    result = line.result
    if result.type != "succeeded" or result.message is None:
        return f"{result.type} {result.error if result.error is not None else ''}".strip()
    api_reply = MessagesReply()
    api_reply.take_message(result.message)
    return api_reply


def request(brief: Brief, spec: str, breakpoints: Iterable[int] = (), *, long_ttl: bool = False) -> dict[str, Any]:
    """A brief as the body of a request, without its options. `breakpoints` are the blocks with a cache breakpoint,
    counted from 0 over all messages; what is cached there lasts an hour or minutes."""
    blocks: list[dict[str, Any]] = []
    messages = []
    for message in brief.messages:
        content: list[dict[str, Any]] = [{"type": "text", "text": part} for part in message.parts]
        blocks += content
        messages.append({"role": message.role, "content": content})
    for index in breakpoints:
        blocks[index]["cache_control"] = {"type": "ephemeral", **({"ttl": "1h"} if long_ttl else {})}
    return {"model": servers.server(spec).model, "system": brief.system, "messages": messages}


def options_of(brief: Brief, spec: str) -> list[Option]:
    """Options requested of the server, with the words in which servers refuse them."""
    options = []
    if brief.json_schema is not None:
        structured = {"output_config": {"format": {"type": "json_schema", "schema": brief.shared_schema}}}
        options.append(Option(_STRUCTURED, (structured, {}), _STRUCTURED_ERROR_WORDS))
    if brief.search:
        options.append(Option(_SEARCH, ({"tools": [_SEARCH_TOOL]}, {}), ("web_search", "tool")))
    price, asked_tokens = pricing.price_of(spec), limits.reply_length(brief, spec).tokens
    maximum = min(price.max_output or _MAX_UNKNOWN, _MAX_TOKENS) if price else _MAX_UNKNOWN
    maximum = min(maximum, asked_tokens or maximum)
    # The API wants a limit always. A server with a small context takes a lower one.
    variants = tuple({"max_tokens": max(1, maximum // share)} for share in (1, 2, 4))
    options.append(
        Option("limit of tokens", variants, _LIMIT_ERROR_WORDS, equivalent_variants=len(variants), is_reported=False)
    )
    return options


class MessagesReply(api.ApiReply):
    """A reply of the Messages API. It goes on from `before`, one that paused, if there is one."""

    def __init__(self, before: MessagesReply | None = None):
        super().__init__()
        self._explanation = ""
        self._blocks: dict[int, dict[str, Any]] = {}
        """The blocks as they began, by index."""
        self._added: dict[int, dict[str, list[str]]] = {}
        """Index to field to what was added to it since. Joined at the end: adding to a string copies it each time."""
        self._cited: list[FoundPage] = []
        self._counts, self.has_last_count = dict[str, int](), False
        self._before, self.requests, self._is_recorded = before, 1, False
        if before is not None:
            self.usage, self.requests = before.usage, before.requests + 1
            self.length, self.received_chars = before.length, before.received_chars

    def take_message(self, message: Mapping[str, Any]) -> None:
        """Takes a message that came at once."""
        blocks = message.get("content")
        self.feed({"type": "message_start", "message": message})
        for index, block in enumerate(blocks if isinstance(blocks, list) else []):
            self.feed({"type": "content_block_start", "index": index, "content_block": block})
        self.feed({"type": "message_delta", "delta": message, "usage": message.get("usage")})
        self.feed({"type": "message_stop"})

    def feed(self, event: Any) -> list[str]:
        index = api.field(event, "index")
        index = index if type(index) is int else 0
        match api.field(event, "type"):
            case "content_block_delta":
                return self._add(index, api.field(event, "delta"))
            case "message_start":
                message = api.field(event, "message")
                self.has_begun = True
                self.model = api.short_field(api.field(message, "model"))
                self._count(api.field(message, "usage"))
                return [""]
            case "content_block_start":
                return self._start(index, api.field(event, "content_block"))
            case "message_delta":
                delta = api.field(event, "delta")
                self.stop_reason = api.short_field(api.field(delta, "stop_reason")) or self.stop_reason
                explanation = api.field(api.field(delta, "stop_details"), "explanation")
                self._explanation = api.short_field(explanation) or self._explanation
                self._count(api.field(event, "usage"), is_last=True)
            case "message_stop":
                self.is_over = True
        return []

    def _start(self, index: int, block: Any) -> list[str]:
        try:
            fields = {name: value for name, value in block.items() if value is not None}
            json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
        except (AttributeError, ValueError):
            self.invalid = "a block that is not plain data"
            return []
        self.has_begun = True
        if not self._has_room(index):
            return []
        self._blocks[index], self._added[index] = fields, {}
        self.received_chars += sum(len(str(value)) for name, value in fields.items() if name != "type")
        text = api.text_field(fields.get("text")) if fields.get("type") == "text" else ""
        self.length += len(text)
        return [text] if text else []

    def _add(self, index: int, delta: Any) -> list[str]:
        kind = api.text_field(api.field(delta, "type"))
        if kind == "citations_delta":
            self._cite(api.field(delta, "citation"))
        name, source = _DELTAS.get(kind, ("", ""))
        piece = api.field(delta, source) if source else None
        if not isinstance(piece, str) or not piece:
            return []
        self.has_begun = True
        if not self._has_room(index):
            return []
        self._blocks.setdefault(index, {"type": "text", "text": ""})
        added = self._added.setdefault(index, {})
        if name == "signature":
            added.pop(name, None)  # it comes whole
        added.setdefault(name, []).append(piece)
        self.received_chars += len(piece)
        if name != "text":
            return []
        self.length += len(piece)
        return [piece]

    def _has_room(self, index: int) -> bool:
        """Whether the reply may have this block: its text is put together of all of them."""
        if index not in self._blocks and len(self._blocks) >= _BLOCKS:
            self.invalid = f"more than {_BLOCKS:,} blocks"
        return self.invalid is None

    def _cite(self, citation: Any) -> None:
        url, title, quote = (api.text_field(api.field(citation, name)) for name in ("url", "title", "cited_text"))
        size = len(url) + len(title) + len(quote)
        if url and size <= api.MAX_FIELD_LENGTH and len(self._cited) < _CITATIONS:
            self._cited.append(FoundPage(url=url, title=title, quote=quote))
        self.received_chars += size

    def _whole_blocks(self) -> list[dict[str, Any]]:
        return [
            block
            | {
                name: api.clean(api.text_field(block.get(name)) + "".join(pieces))
                for name, pieces in self._added[index].items()
            }
            for index, block in self._blocks.items()
        ]

    def _count(self, usage: Any, *, is_last: bool = False) -> None:
        """Takes the counts of an event, each of which is the sum so far. Only the last event has counted the output."""
        if is_last and api.count_field(usage, "output_tokens") is not None:
            self.has_last_count = self._before is None or self._before.has_last_count
        cache_creation, tools = api.field(usage, "cache_creation"), api.field(usage, "server_tool_use")
        for holder, name in (
            (usage, "input_tokens"),
            (usage, "output_tokens"),
            (usage, "cache_read_input_tokens"),
            (usage, "cache_creation_input_tokens"),
            (cache_creation, "ephemeral_1h_input_tokens"),
            (tools, "web_search_requests"),
        ):
            if (number := api.count_field(holder, name)) is not None:
                self._counts[name] = max(number, self._counts.get(name, 0))
        counts = self._counts
        cache_writes = counts.get("cache_creation_input_tokens", 0)
        one_hour = min(counts.get("ephemeral_1h_input_tokens", 0), cache_writes)
        this_request = Usage(
            uncached_input=counts.get("input_tokens", 0),
            cached=counts.get("cache_read_input_tokens", 0),
            cache_write_5m=cache_writes - one_hour,
            cache_write_1h=one_hour,
            output=counts.get("output_tokens", 0),
            searches=counts.get("web_search_requests", 0),
        )
        self.usage = this_request if "input_tokens" in counts else None
        if self._before is not None and self.usage is not None:
            self.usage = _sum(self._before.usage, this_request)

    def missing(self) -> str | None:
        if not self.is_over:
            return "a stream that ended in the middle" if self.has_begun else "no answer in it"
        return "an answer that does not say how it ended" if self.stop_reason is None else None

    def partial(self, spec: str) -> Reply | None:
        """The received part: of a reply that paused in a search, the part before the pause was paid for too."""
        is_new = self._before is not None and not self._before._is_recorded
        return self.reply(spec) if self.has_begun or is_new else None

    def set_recorded(self) -> None:
        """Notes that what was received is on record with an error: what continues it counts only its own tokens."""
        self._is_recorded, self.usage, self.has_last_count = True, Usage(), True

    @property
    def text(self) -> str:
        spoken_text = "".join(
            api.text_field(block.get("text")) for block in self._whole_blocks() if block.get("type") == "text"
        )
        spoken_text = (self._before.text if self._before else "") + spoken_text
        return spoken_text or (self._explanation if self.ended() == "refused" else "")

    def pages(self) -> tuple[FoundPage, ...]:
        """The pages that searches returned, with what the text cites of them."""
        pages = {page.url: page for page in self._before.pages()} if self._before else {}
        for block in self._blocks.values():
            content = block.get("content")
            for result in content if isinstance(content, list) else ():
                if not isinstance(result, dict) or len(pages) >= _PAGES:
                    continue
                url, title = api.text_field(result.get("url")), api.text_field(result.get("title"))
                if url and len(url + title) <= api.MAX_FIELD_LENGTH:
                    pages.setdefault(url, FoundPage(url=url, title=title))
        return tuple((pages | {page.url: page for page in self._cited}).values())

    def messages_to_resend(self) -> list[dict[str, Any]]:
        """The messages that the server takes back to go on, one for each request so far."""
        before = self._before.messages_to_resend() if self._before else []
        return [*before, {"role": "assistant", "content": self._blocks_to_resend()}]

    def _blocks_to_resend(self) -> list[dict[str, Any]]:
        """The blocks without citations, and with whole inputs."""
        resent = []
        for block in self._whole_blocks():
            fields = {key: value for key, value in block.items() if key not in ("partial_json", "citations")}
            if "partial_json" in block:
                fields["input"] = _input(api.text_field(block["partial_json"]))
            if fields.get("type") != "text" or fields.get("text"):
                resent.append(fields)
        return resent


def _sum(before: Usage | None, usage: Usage) -> Usage | None:
    """The usage of the requests of one reply; None if that is unknown, or more than one reply may have."""
    if before is None:
        return None
    total = before + usage
    return None if any(count > MAX_COUNT for _, count in total) else total


def _input(text: str) -> Any:
    try:
        return strict_json(text)
    except ValueError:
        return {}


provider = Messages
