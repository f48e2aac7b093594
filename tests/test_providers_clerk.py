"""A clerk that is offline says of everything cited that nobody looked, in whatever fields are asked for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from core.folding import opened, play, voted
from core.plain import BALLOT, PLAIN, phase, rules

from debate_orchestrator import providers, replies
from debate_orchestrator.briefs import Brief, evidence
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Reply, Voted
from debate_orchestrator.core.rules import Format
from debate_orchestrator.core.shapes import json_schema
from debate_orchestrator.providers import clerk

CASE = {
    "refused": {"kind": "flag"},
    "url": {"kind": "url", "unless": {"refused": True}},
    "quote": {"kind": "text", "unless": {"refused": True}},
}
FIELDS: dict[str, Any] = {
    "why": {"kind": "text"},
    "turn": {"kind": "text"},
    "state": {"kind": "choice", "of": ["found", "gone", "not checked"]},
    "url": {"kind": "url"},
    "title": {"kind": "text", "optional": True},
    "near": {"kind": "number", "optional": True},
}
REFUSED = {"refused": True, "url": None, "quote": None}
WHY = "Nobody looked: the clerk is offline."


def cited(n: int) -> dict[str, Any]:
    return {"refused": False, "url": f"https://example.org/{n}", "quote": f"Quote {n}."}


def clerked(fields: dict[str, Any] = FIELDS) -> Format:
    """A format in which a clerk looks up what the sides cite in each round."""
    shapes = PLAIN["shapes"] | {"case": CASE, "checks": {"checks": {"kind": "list", "fields": fields}}}
    case = phase("case", "a", "b", reply="case", heard_by=["a", "b", "judge", "clerk"])
    steps = [case, phase("checks", "clerk", reply="checks"), BALLOT]
    return rules(seats=PLAIN["seats"] | {"clerk": {"name": "Clerk", "tag": "C"}}, shapes=shapes, round=steps)


def waiting(script: dict[str, Any], made: Format | None = None, *, until: str = "1.checks.clerk") -> Debate:
    """A debate in which the clerk's turn is due, its seat filled by nobody who is online."""
    first = opened(2, rules=made or clerked())
    debate = Debate([first.model_copy(update={"cast": first.cast | {"clerk": ("offline",)}})])
    play(debate, script, until=until)
    return debate


def answered(debate: Debate) -> tuple[Reply, list[str]]:
    """What the clerk says in the turn that is due, and the pieces in which it was heard."""
    (turn,) = debate.due()
    schema = json_schema(debate.shape(turn) or {}, debate.terms(turn))
    asked = Brief(turn=turn.id, system="", messages=(), wants="json", json_schema=schema)
    heard: list[str] = []
    return asyncio.run(providers.seated(debate)["clerk"].reply(asked, heard.append)), heard


def checks(debate: Debate) -> list[dict[str, Any]]:
    """The clerk's checks; its reply must be one that the debate takes."""
    reply, _ = answered(debate)
    event = replies.read(debate, debate.due()[0], reply)
    assert isinstance(event, Voted)
    assert debate.take(event)
    made: list[dict[str, Any]] = event.ballot["checks"]
    return made


def test_each_quote_is_told_to_be_unchecked() -> None:
    """Offline, everything that is cited in the round is not checked, and the reply says why, in order of the agenda."""
    debate = waiting({"1.case.a": cited(1), "1.case.b": cited(2)})
    assert checks(debate) == [
        dict.fromkeys(FIELDS) | {"why": WHY, "turn": turn, "state": "not checked", "url": cited(n)["url"]}
        for n, turn in ((1, "1.case.a"), (2, "1.case.b"))
    ]


def test_what_a_side_refused_to_cite_is_not_looked_up() -> None:
    """A side that declined cites nothing, and where nobody cites anything there are no checks."""
    assert [one["turn"] for one in checks(waiting({"1.case.a": REFUSED, "1.case.b": cited(2)}))] == ["1.case.b"]
    assert checks(waiting({"1.case.a": REFUSED, "1.case.b": REFUSED})) == []


def test_what_was_checked_is_not_checked_again() -> None:
    """In a later round the clerk looks up what is cited in it."""
    script = {"1.case.a": cited(1), "2.case.a": cited(3), "1.case.b": REFUSED, "2.case.b": REFUSED}
    checks_then = {"1.checks.clerk": [voted("1.checks.clerk", {"checks": []})]}
    debate = waiting(script | checks_then, until="2.checks.clerk")
    assert evidence(debate, debate.due()[0]) == [
        {"turn": "2.case.a", "url": "https://example.org/3", "quote": "Quote 3."}
    ]
    assert [one["url"] for one in checks(debate)] == ["https://example.org/3"]


def test_fields_come_as_they_are_asked_for() -> None:
    """A check has the fields of the format, in its order, and those that the clerk knows nothing of are null."""
    made = clerked({name: FIELDS[name] for name in ("near", "url", "turn")})
    reply, _ = answered(waiting({"1.case.a": cited(1), "1.case.b": REFUSED}, made))
    assert [list(one) for one in json.loads(reply.text)["checks"]] == [["near", "url", "turn"]]


def test_the_reply_is_nobodys_words() -> None:
    """It costs nothing, is the clerk's own, answers the brief, and is heard as it is given; twice it is the same."""
    debate = waiting({"1.case.a": cited(1), "1.case.b": cited(2)})
    (reply, heard), (again, _) = answered(debate), answered(debate)
    assert (reply.by, reply.cost, reply.model, reply.usage, reply.ended) == ("offline", 0.0, None, None, "whole")
    assert (heard, again) == ([reply.text], reply)
    assert len(reply.brief) == 64


@pytest.mark.parametrize("spec", ["fetch:x", "offline:now", "fetch:"])
def test_a_clerk_has_no_more_words(spec: str) -> None:
    """A clerk is named by its one word."""
    assert (clerk.complaint(spec) is None) is (spec == "fetch:")
    assert bool(providers.complaints({"clerk": (spec,)})) is (spec != "fetch:")


@pytest.mark.parametrize("spec", ["fetch", "offline", "rehearse:fetch", "rehearse:offline"])
def test_a_clerk_sits_in_its_own_seat(spec: str) -> None:
    """Who looks things up, or stands in for one who does, fills the clerk's seat and no other."""
    assert providers.complaints({"clerk": (spec,)}) == []
    for seat in ("a", "judge"):
        (said,) = providers.complaints({seat: (spec,)})
        assert said.startswith(f"cast: {seat}: ") and "fills the clerk's seat alone" in said


def test_a_clerk_may_be_rehearsed() -> None:
    """A stand-in for a clerk gives a reply that the debate takes."""
    first = opened(1, rules=clerked())
    debate = Debate([first.model_copy(update={"cast": first.cast | {"clerk": ("rehearse:fetch",)}})])
    play(debate, {"1.case.a": cited(1)}, until="1.checks.clerk")
    assert checks(debate)


def test_where_pages_are_kept() -> None:
    """Who seats a clerk says where it keeps what it finds; nobody else is told."""
    debate = waiting({"1.case.a": cited(1)})
    provider, alone = (providers.seated(debate, folder)["clerk"] for folder in ("x.evidence", None))
    assert isinstance(provider, providers.Archiving)
    assert isinstance(alone, providers.Archiving)
    assert (provider.archive, alone.archive) == ("x.evidence", None)
    asyncio.run(provider.close())
