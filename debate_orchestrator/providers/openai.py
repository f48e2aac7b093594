"""Models that speak Chat Completions: the vendor's own, and the many servers that speak it too.

The SDK is an extra, and is imported with the first call, since that takes time and memory. It is asked to
retry nothing: whether a call is made again is the loop's to say, which writes each one down.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from debate_orchestrator.core.events import Reply, Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import faults, pricing, servers, sse
from debate_orchestrator.providers.limits import OverLimit
from debate_orchestrator.providers.registry import Piece
from debate_orchestrator.util import errors
from debate_orchestrator.util.errors import ExternalError, ProviderFailed, TransientError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_ENDED: dict[str, Literal["whole", "cut", "refused"]] = {"stop": "whole", "length": "cut", "content_filter": "refused"}
_USAGE, _STRUCTURED, _SEARCH, _LIMIT = "usage", "structured output", "search", "limit of tokens"
_LONGEST = 10_000
"""Characters that a server may say of itself, and of how an answer ended."""
_OPTIONAL = (
    (_USAGE, "stream_options", ("stream_options", "include_usage")),
    (_LIMIT, "max_completion_tokens", ("max_completion_tokens",)),
    (_STRUCTURED, "response_format", ("response_format", "schema", "structured", "grammar")),
)
"""What not every server takes, where it stands in a request, and the words of a server that complains of it."""


class Completions:
    """One model of one server."""

    caches = True

    def __init__(self, spec: str, patience: float):
        self.name = spec
        self._server = servers.server(spec)
        self._patience = patience
        self._client: AsyncOpenAI | None = None
        self._lacks: set[str] = set()
        self._reached = False

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        """The answer to one brief, as `Provider` says. Trouble with the line after an answer has said how it
        ended takes nothing from it."""
        answer = Answer()
        clock = faults.SilenceClock(self._patience)
        try:
            client = self._client = self._client or self._connected()  # before the clock runs: imports take long
            async with clock.listening():
                stream = await self._open(client, self._request(brief))
                try:
                    await sse.read_stream(stream, answer, clock, on_text)
                finally:
                    await stream.close()
        except ExternalError:
            raise
        except Exception as error:
            fault = self._fault(error, answer, clock)
            if answer.stop is None or not isinstance(fault, TransientError):
                raise fault from None
        if wrong := answer.wrong():
            raise faults.broken(self.name, wrong, answer.partial(self.name))
        self._reached = True
        wanted = {_STRUCTURED} if brief.json_schema is not None else set()
        wanted |= {_LIMIT} if brief.tokens is not None else set()
        return answer.reply(self.name, sorted(self._lacks & wanted | ({_SEARCH} if brief.search else set())))

    def _request(self, brief: Brief) -> dict[str, Any]:
        """A brief as the API takes it, with what this server is not known to refuse."""
        said = [{"role": one.role, "content": sse.clean("\n\n".join(one.parts))} for one in brief.messages]
        made: dict[str, Any] = {
            "model": self._server.model,
            "messages": [{"role": "system", "content": sse.clean(brief.system)}, *said],
            "stream_options": {"include_usage": True},
        }
        if brief.json_schema is not None:
            shape = {"name": "reply", "strict": True, "schema": brief.json_schema}
            made["response_format"] = {"type": "json_schema", "json_schema": shape}
        if brief.tokens is not None:
            made["max_completion_tokens"] = brief.tokens
        for name, key, _ in _OPTIONAL:
            if name in self._lacks:
                made.pop(key, None)
        return made

    async def _open(self, client: AsyncOpenAI, request: dict[str, Any]) -> Any:
        """The stream of an answer. A server that complains of what it need not take is asked again without: it
        refused before it did anything."""
        from openai import BadRequestError, UnprocessableEntityError

        try:
            return await client.chat.completions.create(**request, stream=True)
        except (BadRequestError, UnprocessableEntityError) as error:
            about = f"{error.message} {error.body}".lower()
            for name, key, signs in _OPTIONAL:
                if key in request and any(sign in about for sign in signs):
                    self._lacks.add(name)
                    return await self._open(client, {what: value for what, value in request.items() if what != key})
            raise

    def _connected(self) -> AsyncOpenAI:
        """A new client. Nothing of the environment that is meant for the vendor goes to another server."""
        if find_spec("openai") is None:
            raise ProviderFailed(_missing(self.name))
        from openai import AsyncOpenAI, DefaultAioHttpClient, Timeout

        server, key = self._server, self._server.key()
        if key is None and server.needs_key:
            hint = f"Set {server.keys[0]} in the environment, then resume."
            raise ProviderFailed(errors.complaint(self.name, "no key", f"one in {server.keys[0]}", hint))
        timeout = Timeout(None, connect=sse.CONNECT)
        http = DefaultAioHttpClient(timeout=timeout, **sse.options(server))
        key = key or servers.NO_KEY
        made = AsyncOpenAI(api_key=key, base_url=server.url, max_retries=0, timeout=timeout, http_client=http)
        _ = made.chat.completions  # loads what belongs to it
        return made

    def _fault(self, error: Exception, answer: Answer, clock: faults.SilenceClock) -> Exception:
        """What an exception of the SDK, or of those beneath it, amounts to."""
        partial = answer.partial(self.name)
        if isinstance(error, TimeoutError):
            return faults.broken(self.name, clock.verdict(), partial)
        from openai import APIConnectionError, APIError, APIStatusError, OpenAIError

        unread = isinstance(error, sse.Unread)
        error = error.reason if isinstance(error, sse.Unread) else error
        if isinstance(error, APIConnectionError):
            return sse.fault(self.name, error, partial, wrapped=True, reached=self._reached)
        if isinstance(error, APIError):
            response = error.response if isinstance(error, APIStatusError) else None
            status = response.status_code if response else _status(error.code)
            about = f"{error.code or ''} {error.type or ''}"
            message = faults.shown(_message(error.body) or error.message)
            fault = faults.refused(self.name, status, message, response.headers if response else {}, about)
            return faults.with_partial(fault, partial)
        if unread or isinstance(error, OpenAIError | OSError | ValueError | OverLimit) or sse.is_beneath(error):
            return sse.fault(self.name, error, partial, wrapped=False, reached=self._reached)
        return error  # a fault of ours: it must be seen

    async def close(self) -> None:
        """Closes the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class Answer:
    """One answer, as far as its stream has come; every field is looked at before it is believed."""

    def __init__(self) -> None:
        self.stop: str | None = None
        self.odd: str | None = None
        """What stands in the stream and can't be part of an answer."""
        self._begun = False
        self._model: str | None = None
        self._said: list[str] = []
        self._refusal: list[str] = []
        self.length = self.came = 0
        self._usage: Usage | None = None
        self._cost: float | None = None

    def take(self, chunk: Any) -> list[str]:
        """Takes one piece of the stream; what it adds to the text. Nothing where it only keeps the line open; an
        empty text where the answer begins, where it is thought about, and where it is counted."""
        if not hasattr(chunk, "model_fields_set"):
            return self._wrong("a piece that is no object")
        choices = getattr(chunk, "choices", None) or []
        if not isinstance(choices, list):
            return self._wrong("choices that are no list")
        pieces = [] if self._begun else [""]
        self._begun = True
        model = getattr(chunk, "model", None)
        self._model = self._model or (sse.clean(model[:_LONGEST]) if isinstance(model, str) and model else None)
        for choice in choices:
            if getattr(choice, "index", 0) in (0, None):
                pieces += self._choice(choice)
        if (usage := getattr(chunk, "usage", None)) is not None:
            self._count(usage)
            pieces.append("")
        return pieces

    def _choice(self, choice: Any) -> list[str]:
        pieces: list[str] = []
        delta = getattr(choice, "delta", None)
        for name, kept in (("content", self._said), ("refusal", self._refusal)):
            piece = getattr(delta, name, None)
            if piece is None or piece == "":
                continue
            if not isinstance(piece, str):
                return self._wrong(f"{name} that is no text")
            kept.append(piece)
            pieces.append(sse.clean(piece))
            self.length += len(piece)
            self.came += len(piece)
        thought = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
        if isinstance(thought, str) and thought:
            pieces.append("")
            self.came += len(thought)
        stop = getattr(choice, "finish_reason", None)
        if stop is not None and not isinstance(stop, str):
            return self._wrong("a finish_reason that is no word")
        if stop == "error":
            return self._wrong("an answer that ended in an error")
        self.stop = self.stop or (sse.clean(stop[:_LONGEST]) if stop else None)
        return pieces

    def _wrong(self, what: str) -> list[str]:
        self.odd = self.odd or what
        return []

    def _count(self, usage: Any) -> None:
        """Takes the counts. What is no number is not known: no whole answer is thrown away for that."""
        prompt, output = _number(usage, "prompt_tokens"), _number(usage, "completion_tokens")
        if prompt is not None and output is not None:
            cached = min(_number(getattr(usage, "prompt_tokens_details", None), "cached_tokens") or 0, prompt)
            self._usage = Usage(fresh=prompt - cached, cached=cached, output=output)
        cost = getattr(usage, "cost", None)
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e6:
            self._cost = float(cost)

    def wrong(self) -> str | None:
        """Why this is no answer; None where it is one."""
        if self.odd:
            return self.odd
        if self.stop is None:
            return "a stream that ended without a finish_reason" if self._begun else "nothing that is an answer"
        return None

    def reply(self, spec: str, lacked: list[str]) -> Reply:
        """The answer as a reply. What a refusal says is its text; a cost that the server reports is believed."""
        reported = self._cost
        known = pricing.cost(spec, self._usage) if self._usage else 0.0 if pricing.free(spec) else None
        return Reply(
            text=sse.clean("".join(self._refusal or self._said)),
            brief="",
            by=spec,
            model=self._model,
            usage=self._usage,
            stop=self.stop,
            ended="refused" if self._refusal else _ENDED.get(self.stop or "", "whole"),
            cost=known if reported is None else reported,
            lacked=tuple(lacked),
        )

    def partial(self, spec: str) -> Reply | None:
        """What has come of an answer that broke off; None where nothing had."""
        return self.reply(spec, []) if self._begun else None


def _number(holder: Any, name: str) -> int | None:
    value = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def _message(body: object) -> str:
    """What a server says in an error's body, with what stands behind it where it only passes that on; the whole
    body where it is of another shape than the vendor's."""
    if not isinstance(body, dict) or not isinstance(body.get("message"), str):
        return str(body or "")
    behind = body.get("metadata")
    raw = behind.get("raw") if isinstance(behind, dict) else None
    return f"{body['message']}: {raw}" if isinstance(raw, str) else body["message"]


def _status(code: str | None) -> int:
    """The HTTP status that an error in the midst of a stream gives as its code; 200, which the stream began
    with, where it gives none."""
    known = code is not None and code.isascii() and code.isdigit() and len(code) == 3 and code[0] in "45"
    return int(code) if code is not None and known else 200


def _missing(where: str) -> str:
    hint = 'Run `pip install "debate-orchestrator[openai]"`.'
    return errors.complaint(where, "no library for it", "the openai package", hint)


def complaint(spec: str) -> str | None:
    """What is wrong with a spec of this kind, or with this installation; None where nothing is."""
    return servers.cannot_reach(spec) or (_missing(errors.short_repr(spec)) if find_spec("openai") is None else None)


def provider(spec: str, debate: DebateState) -> Completions:
    return Completions(spec, debate.opened.patience)
