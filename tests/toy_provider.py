"""A toy API: one POST with the brief as JSON, one JSON object as the answer. The example of docs/development.md."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import call_errors, pricing, servers
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.provider import OnPiece, Permissions, Provider
from debate_orchestrator.util.errors import ProviderFailed

problem = servers.spec_problem


class Toy(Provider):
    """One model of the toy API."""

    def __init__(self, spec: str, permissions: Permissions):
        self.name = spec
        self._server = servers.server(spec)
        self._permissions = permissions

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        """The answer to one brief."""
        if wrong := servers.unencrypted(self._server, insecure=self._permissions.insecure):
            raise ProviderFailed(wrong)
        try:
            async with asyncio.timeout(LIMITS.total_seconds):
                answer = await asyncio.to_thread(self._post, brief)
        except urllib.error.HTTPError as error:
            message = error.read(LIMITS.max_error_bytes).decode("utf-8", "replace")
            raise call_errors.http_error(self.name, error.code, message, dict(error.headers)) from None
        except (OSError, ValueError, TimeoutError) as error:
            raise call_errors.broken_reply(self.name, call_errors.quote(error)) from None
        text, sent, received = answer.get("text"), answer.get("input"), answer.get("output")
        if not isinstance(text, str) or type(sent) is not int or type(received) is not int:
            raise call_errors.broken_reply(self.name, "an answer of another shape")
        if len(text) > LIMITS.max_reply_chars:
            raise call_errors.oversized_reply(self.name, f"more than {LIMITS.max_reply_chars:,} characters")
        on_text(text)
        usage = Usage(uncached_input=sent, output=received)
        return Reply(text=text, brief_digest="", spec=self.name, usage=usage, cost=pricing.cost(self.name, usage))

    def _post(self, brief: Brief) -> dict[str, Any]:
        """The server's answer, of which no more is read than an answer may have."""
        prompt = "\n\n".join([brief.system, *(part for message in brief.messages for part in message.parts)])
        body = json.dumps({"model": self._server.model, "prompt": prompt}).encode()
        headers = {"authorization": f"Bearer {self._server.key() or servers.NO_KEY}"}
        url = f"{self._server.url}/v1/answer"
        with servers.opener(url).open(
            urllib.request.Request(url, body, headers), timeout=LIMITS.first_token_seconds
        ) as response:
            answer = json.loads(response.read(LIMITS.max_event_bytes))
        return answer if isinstance(answer, dict) else {}


def provider(spec: str, current: CurrentState, permissions: Permissions) -> Toy:
    """The provider of a spec, as the registry asks for it."""
    return Toy(spec, permissions)
