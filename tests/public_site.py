"""A public site in the working folder, and visitors with browsers, without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient
from web_visitor import Visitor, plain

from debate_orchestrator.web.public.rules import SiteRules, parse_rules
from debate_orchestrator.web.public.site import Site
from debate_orchestrator.web.public.views import create_app

HOST = "debates.example.org"
REHEARSAL = {"about": "Stand-ins", "cast": {"a": "rehearse", "b": "rehearse"}}
PAID: dict[str, Any] = {"about": "x", "cast": dict.fromkeys(("a", "b", "judge"), "anthropic:claude-sonnet-5-5")}
TOPIC = {"topic": "Should we move to gRPC?", "rounds": "1"}


def rules(**more: Any) -> SiteRules:
    """SiteRules with an offer of stand-ins."""
    return parse_rules({"offers": {"rehearsal": REHEARSAL}, "debates_per_visitor": 50, **more})


class PublicVisitor(Visitor):
    """A browser at an address of the network, after the site's proxy."""

    def __init__(self, client: TestClient, site: Site, log: list[str]):
        super().__init__(client)
        self.site, self.log = site, log
        self.address = "203.0.113.7"

    @property
    def headers(self) -> dict[str, str]:
        return {"x-forwarded-for": self.address, "x-forwarded-proto": "https"}

    def start(self, fields: Mapping[str, str] = TOPIC, headers: Mapping[str, str] | None = None) -> Any:
        """Sends the form as a browser does."""
        sent = {**self.headers, "origin": f"https://{HOST}", **(headers or {})}
        return self.client.post("/start", data=dict(fields), headers=sent, follow_redirects=False)

    def started(self, **fields: str) -> str:
        """The path of a debate that has begun."""
        answer = self.start({**TOPIC, **fields})
        assert answer.status_code == 303, plain(answer.text)
        return str(answer.headers["location"])


@contextmanager
def visiting_public(permitted: SiteRules | None = None) -> Iterator[PublicVisitor]:
    """A visitor of a site in the working folder."""
    log: list[str] = []
    site = Site(permitted or rules(), log.append)
    with TestClient(create_app(site, [HOST]), base_url=f"https://{HOST}") as client:
        yield PublicVisitor(client, site, log)
