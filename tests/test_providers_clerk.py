"""The clerk looks up what the sides cite, over real sockets, and says what it found."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core.folding import opened
from evidence_site import ARTICLE, Site, answer, serving

from debate_orchestrator.core.events import Reply, Voted
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import brief
from debate_orchestrator.providers import registry, rehearse
from debate_orchestrator.providers.clerk import Clerk, unchecked

QUOTE = "The sea rose by 3.4 millimetres a year between 1993 and 2023"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        site.says["/"] = answer(ARTICLE)
        yield site


def cited(*urls: str | None, quote: str = QUOTE) -> DebateState:
    """A debate on a claim in which the sides have cited these pages, and the clerk is due; None declines."""
    debate = fold([opened(2, rules=loader.load("claim"))])
    for url in urls:
        (turn,) = debate.due
        given = {"url": url, "quote": quote, "context": "A page.", "argument": "It shows so."}
        said = {"refused": False, "reason": None, **given}
        if url is None:
            said = {"refused": True, "reason": "It is not so.", **dict.fromkeys(given)}
        debate = apply(
            debate, replies.parse_reply(debate, turn, Reply(text=json.dumps(said), brief="", by="host"), None)
        )
    return debate


def checks(debate: DebateState, clerk: Clerk) -> list[dict[str, Any]]:
    """What the clerk says, after it was found to be what the format asks for."""
    (turn,) = debate.due
    made = asyncio.run(clerk.reply(brief(debate, turn), lambda piece: None))
    event = replies.parse_reply(debate, turn, made, None)
    assert isinstance(event, Voted)
    found: list[dict[str, Any]] = event.ballot["checks"]
    return found


def test_pages_are_fetched_and_kept(site: Site, tmp_path: Path) -> None:
    """Each quote that was cited in the round is looked for on its page, and the pages are kept in the archive."""
    debate = cited(site.url("/"), site.url("/none"))
    clerk = Clerk("fetch", CurrentState(debate), site.fetcher)
    clerk.archive = str(tmp_path / "kept")

    first, second = checks(debate, clerk)

    assert (first["turn"], first["state"], first["title"]) == ("1.argument.a", "verified", "Rising water")
    assert (tmp_path / "kept" / first["archived"]).read_bytes() == ARTICLE.encode()
    assert (second["turn"], second["state"], second["archived"]) == ("1.argument.b", "unreachable", None)
    assert "404" in second["why"]


def test_this_machine_is_out_of_bounds(site: Site) -> None:
    """As it is cast, the clerk fetches nothing from this machine or its network: that is blocked."""
    debate = cited(f"http://127.0.0.1:{site.port}/", "http://localhost/")
    clerk = registry.make_providers(CurrentState(_cast(debate, "fetch")))["clerk"]
    assert isinstance(clerk, Clerk)

    assert [one["state"] for one in checks(debate, clerk)] == ["blocked", "blocked"]
    assert site.asked == []


def _cast(debate: DebateState, clerk: str) -> DebateState:
    return replace(debate, cast={**debate.cast, "clerk": (clerk,)})


def test_offline_nothing_is_checked(site: Site) -> None:
    """An offline clerk fetches nothing, and says that nothing was checked."""
    debate = cited(site.url("/"), None)

    (only,) = checks(debate, Clerk("offline", CurrentState(debate)))

    assert (only["turn"], only["state"]) == ("1.argument.a", "not checked")
    assert site.asked == []


def test_nothing_cited_is_nothing_checked() -> None:
    """Where both sides declined there is nothing to look up, and the reply is an empty list."""
    debate = cited(None, None)

    assert checks(debate, Clerk("fetch", CurrentState(debate))) == []


def test_a_rehearsal_looks_nothing_up() -> None:
    """The stand-in of a clerk says what a clerk who is offline says."""
    debate = cited("https://example.org/a", "https://example.org/b")
    (turn,) = debate.due

    assert rehearse.reply_for(debate, turn) == unchecked(debate, turn)
    assert [one["state"] for one in json.loads(unchecked(debate, turn))["checks"]] == ["not checked"] * 2


@pytest.mark.parametrize(
    ("cast", "said"),
    [
        ({"clerk": ("fetch:everything",)}, "Try: fetch or offline"),
        ({"judge": ("fetch",)}, "can only be the clerk"),
        ({"a": ("offline",)}, "can only be the clerk"),
    ],
)
def test_a_clerk_is_no_speaker(cast: dict[str, tuple[str, ...]], said: str) -> None:
    """`fetch` and `offline` fill the clerk's seat and no other, and take nothing after their name."""
    (wrong,) = registry.cast_problems(cast)

    assert said in wrong
    assert registry.cast_problems({"clerk": ("fetch",)}) == registry.cast_problems({"clerk": ("offline",)}) == []
