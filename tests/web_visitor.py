"""A user with a browser at a served folder, without a network: forms are sent as a browser sends them."""

from __future__ import annotations

import html
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from debate_orchestrator.providers import discovery
from debate_orchestrator.web.dashboard import create_app
from debate_orchestrator.web.guard import AccessTokens

HOST = "127.0.0.1:8642"
TOKENS = AccessTokens(b"a secret of thirty-two bytes ...")
PATIENCE = 90.0
"""Seconds after which a debate by stand-ins is over for sure."""


class Visitor:
    """A browser. With a `dashboard`, addresses that are not of the whole server's are below it."""

    def __init__(self, client: TestClient, dashboard: str = ""):
        self.client, self.dashboard = client, dashboard

    @property
    def headers(self) -> dict[str, str]:
        """What goes with every request."""
        return {}

    def at(self, address: str) -> str:
        is_whole = address.startswith(("/dashboard/", "/seat/", "/review/", "/static/"))
        return address if is_whole else f"{self.dashboard}{address}"

    def another(self) -> Visitor:
        """A visitor of the same server, who has no link to the dashboard. Its debates run in one event loop."""
        client = TestClient(self.client.app, base_url=str(self.client.base_url))
        client.portal = self.client.portal
        return Visitor(client)

    def get(self, address: str, **headers: str) -> Any:
        return self.client.get(self.at(address), headers={**self.headers, **headers}, follow_redirects=False)

    def send(self, address: str, fields: dict[str, Any] | None = None, *, token: str = TOKENS.form) -> Any:
        """Sends a form."""
        data = {"form_token": token, **(fields or {})}
        return self.client.post(self.at(address), data=data, follow_redirects=False)

    def started(self, **fields: Any) -> str:
        """The address of a debate that the form of a new one began."""
        answer = self.send("/new", {"topic": "Should we move to gRPC?", "rounds": "1", "action": "start", **fields})
        assert answer.status_code == 303, plain(answer.text)
        return str(answer.headers["location"]).removesuffix("#begun")

    def risks(self, **fields: Any) -> list[str]:
        """What a form has to send to agree to the risks of its debate."""
        shown = self.send("/new", {"topic": "Should we move to gRPC?", "rounds": "1", "action": "cost", **fields})
        return re.findall(r'name="risk" value="(\w+)"', shown.text)

    def text(self, address: str) -> str:
        """The words of a page that is there."""
        answer = self.get(address)
        assert answer.status_code == 200, answer.text
        return plain(answer.text)

    def until(self, address: str, words: str) -> str:
        """The words of a page once it says that."""
        end = time.monotonic() + PATIENCE
        while words not in (text := self.text(address)):
            assert time.monotonic() < end, f"{words!r} was not said: {text[:2000]}"
            time.sleep(0.1)  # fewer requests than a visitor of a public site may make
        return text


def plain(page: str) -> str:
    """What a page says, without its tags."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model can be called from now on."""
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_AUTH_TOKEN"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(discovery, "model_sources", lambda *_: [])


@contextmanager
def visiting(*, enter: bool = True) -> Iterator[Visitor]:
    """A visitor of the working folder; with `enter`, at its dashboard."""
    with TestClient(create_app(TOKENS, [HOST]), base_url=f"http://{HOST}") as client:
        yield Visitor(client, f"/dashboard/{TOKENS.dashboard}" if enter else "")
