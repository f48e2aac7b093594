"""Models that speak the Messages API: the vendor's own, and every server that speaks it too.

The SDK is imported with the first call, since that takes seconds and megabytes. It is asked to retry
nothing: whether a call is made again is the loop's to say, which writes each one down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from debate_orchestrator.core.events import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import faults, pricing, servers, sse
from debate_orchestrator.providers.caching import CachePlan, cache_plans, placed_marks
from debate_orchestrator.providers.limits import OverLimit
from debate_orchestrator.providers.messages import Answer
from debate_orchestrator.providers.registry import Piece
from debate_orchestrator.util.errors import ExternalError, ProviderFailed, TransientError
from debate_orchestrator.util.errors import complaint as said

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

complaint = servers.cannot_reach
_MOST_TOKENS = 32_000
"""Tokens that an answer may have, thinking included."""
_MOST_UNKNOWN = 8_192
"""The same for a model that nothing is known of: many servers refuse to be asked for more."""
_SEARCH = {"type": "web_search_20260209", "name": "web_search", "max_uses": 5}
_SEARCH_PAUSES = 4
"""How often a provider may hand back an answer in the middle of a search, to be told to go on."""


class _Line:
    """A client, and how many providers use it."""

    def __init__(self, client: AsyncAnthropic):
        self.client, self.users = client, 0


_lines: dict[tuple[object, ...], _Line] = {}
"""Event loop, address and key to the client that is shared: one takes 65 ms and a megabyte to make (it reads
the authorities of its TLS), and has connections to keep, so that many debates must not each make their own."""


class Messages:
    """One model of one server."""

    caches = True

    def __init__(self, spec: str, debate: DebateState):
        self.name = spec
        self._server = servers.server(spec)
        self._debate, self._plans = debate, cache_plans(debate)
        self._reached = False
        self._line: tuple[object, ...] | None = None
        self._lacks: set[str] = set()

    async def reply(self, brief: Brief, on_text: Piece) -> Reply:
        """The answer to one brief, as `Provider` says."""
        plan = self._plans.get(brief.turn, CachePlan())
        marked = placed_marks(plan, self._debate, sum(len(message.parts) for message in brief.messages))
        asked = request(brief, self.name, marked, self._lacks, hour=plan.hour)
        answer = Answer()
        clock = faults.SilenceClock(self._debate.opened.patience)
        for _ in range(_SEARCH_PAUSES):
            answer = await self._heard(asked, answer, clock, on_text)
            if answer.stop != "pause_turn":
                break
            asked["messages"] = [*asked["messages"], {"role": "assistant", "content": answer.blocks_to_resend()}]
        self._reached = True
        return answer.reply(self.name, sorted(self._lacks & self._wanted(brief)))

    def _wanted(self, brief: Brief) -> set[str]:
        """What this brief would like that not every server can do."""
        return {name for name, asked in (("structured output", brief.json_schema), ("search", brief.search)) if asked}

    async def _heard(self, asked: dict[str, Any], before: Answer, clock: faults.SilenceClock, on_text: Piece) -> Answer:
        """One call, listened to until its end; its answer goes on from the one before. Trouble with the line after a
        whole answer takes nothing from it."""
        answer = Answer(before)
        try:
            servers.learn(self._client().credentials)  # before the clock runs: loading the library takes seconds
            async with clock.listening():
                stream = await self._open(asked)
                try:
                    await sse.read_stream(stream, answer, clock, on_text)
                finally:
                    await stream.close()
        except ExternalError:
            raise
        except Exception as error:
            fault = self._fault(error, answer, clock)
            if answer.wrong() is not None or not isinstance(fault, TransientError):
                raise fault from None
        if wrong := answer.wrong():
            raise faults.broken(self.name, wrong, answer.partial(self.name))
        return answer

    async def _open(self, asked: dict[str, Any]) -> Any:
        """The stream of an answer. A server that takes no structured output or search is asked again without:
        it refused before it did anything."""
        from anthropic import BadRequestError

        try:
            return await self._client().messages.create(**asked, stream=True)
        except BadRequestError as error:
            about = str(error).lower()
            for name, key, signs in (
                ("structured output", "output_config", ("output_config", "output_format", "json_schema", "schema")),
                ("search", "tools", ("web_search", "tool")),
            ):
                if key in asked and any(sign in about for sign in signs):
                    self._lacks.add(name)
                    del asked[key]
                    return await self._open(asked)
            raise

    def _client(self) -> AsyncAnthropic:
        """The client of all providers that ask the same server with the same key in this event loop."""
        if self._line is None:
            server = self._server
            line = (asyncio.get_running_loop(), server.url is None, server.address, server.key())
            _lines[line] = _lines.get(line) or _Line(self._connected())
            _lines[line].users += 1
            self._line = line
        return _lines[self._line].client

    def _connected(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, DefaultAioHttpClient, Timeout

        server = self._server
        key = server.key()
        if server.needs_key and server.url is not None and key is None:
            hint = f"Set {server.keys[0]} in the environment, then resume."
            raise ProviderFailed(said(self.name, "no key", f"one in {server.keys[0]}", hint))
        timeout = Timeout(None, connect=sse.CONNECT)
        http = DefaultAioHttpClient(timeout=timeout, **sse.options(server))
        if server.url is None:
            api_key = servers.key("ANTHROPIC_API_KEY")
            token = None if api_key else key  # the library takes one of them, or looks for a profile
            made = AsyncAnthropic(api_key=api_key, auth_token=token, max_retries=0, timeout=timeout, http_client=http)
            if made.credentials and (wrong := servers.wrong_way(made.credentials, server, str(made.base_url))):
                raise ProviderFailed(wrong)
            return made
        key = key or servers.NO_KEY
        return AsyncAnthropic(api_key=key, base_url=server.url, max_retries=0, timeout=timeout, http_client=http)

    def _fault(self, error: Exception, answer: Answer, clock: faults.SilenceClock) -> Exception:
        """What an exception of the library, or of those beneath it, amounts to."""
        if isinstance(error, TimeoutError):
            return faults.broken(self.name, clock.verdict(), answer.partial(self.name))
        from anthropic import (
            AnthropicError,
            APIConnectionError,
            APIStatusError,
            CredentialsError,
            WorkloadIdentityError,
        )

        partial = answer.partial(self.name)
        unread = isinstance(error, sse.Unread)
        error = error.reason if isinstance(error, sse.Unread) else error
        if isinstance(error, APIStatusError):
            message = faults.shown(error.api_message or error.message)
            fault = faults.refused(self.name, error.status_code, message, error.response.headers, str(error.type or ""))
            return faults.with_partial(fault, partial)
        if isinstance(error, CredentialsError) or (isinstance(error, TypeError) and "authentication" in str(error)):
            what = "no key and no profile" if isinstance(error, TypeError) else faults.shown(error)
            hint = f"Set {self._server.keys[0]}, or sign in with the provider's own tool; `debate models` tells more."
            return ProviderFailed(said(self.name, what, "credentials in the environment", hint))
        if isinstance(error, WorkloadIdentityError):  # its text quotes a server that was sent a token
            status = f" (HTTP {error.status_code})" if error.status_code else ""
            return faults.broken(self.name, f"no token: {type(error).__name__}{status}", partial)
        if unread or isinstance(error, AnthropicError | OSError | ValueError | OverLimit) or sse.is_beneath(error):
            wrapped = isinstance(error, APIConnectionError)
            return sse.fault(self.name, error, partial, wrapped=wrapped, reached=self._reached)
        return error  # a fault of ours: it must be seen

    async def close(self) -> None:
        """Lets go of the connections; the last of those who share them closes them."""
        line, self._line = self._line, None
        if line is not None:
            _lines[line].users -= 1
            if not _lines[line].users:
                await _lines.pop(line).client.close()


def request(
    brief: Brief, spec: str, marked: Iterable[int] = (), lacks: Collection[str] = (), *, hour: bool = False
) -> dict[str, Any]:
    """A brief as the API takes it from a server that lacks so much, with marks on these of its blocks."""
    blocks: list[dict[str, Any]] = []
    messages = []
    for message in brief.messages:
        content: list[dict[str, Any]] = [{"type": "text", "text": part} for part in message.parts]
        blocks += content
        messages.append({"role": message.role, "content": content})
    for place in marked:
        blocks[place]["cache_control"] = {"type": "ephemeral", **({"ttl": "1h"} if hour else {})}
    known = pricing.known(spec)
    most = min(known.most_output, _MOST_TOKENS) if known else _MOST_UNKNOWN
    made: dict[str, Any] = {
        "model": servers.server(spec).model,
        "max_tokens": min(most, brief.tokens or most),
        "system": brief.system,
        "messages": messages,
    }
    if brief.json_schema is not None and "structured output" not in lacks:
        made["output_config"] = {"format": {"type": "json_schema", "schema": brief.json_schema}}
    if brief.search and "search" not in lacks:
        made["tools"] = [_SEARCH]
    return made


def provider(spec: str, debate: DebateState) -> Messages:
    return Messages(spec, debate)
