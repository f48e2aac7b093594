"""Two positions from a topic, by a model, where they were not given: derived once, kept with what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from messages_server import Server, serving

from debate_orchestrator.core.events import Opened
from debate_orchestrator.storage.journal import read

DERIVED = json.dumps({"kind": "technical", "a": "Tabs it is.", "b": "Spaces it is."})
SETUP = (
    *("--topic=Tabs?", "--rounds=1", "--output=r.md", "--a=anthropic:m", "--b=anthropic:m", "--judge=anthropic:n"),
    *("--no-issues", "--no-brief"),
)


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with serving(Server()) as made:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        made.problem = lambda request, n: {"text": DERIVED} if deriving(request) else None
        yield made


def deriving(request: dict[str, Any]) -> bool:
    return "Derive the two positions" in json.dumps(request["messages"])


def opened() -> Opened:
    first = read("r.journal.jsonl").events[0]
    assert isinstance(first, Opened)
    return first


def test_positions_are_derived(debate: Run, server: Server) -> None:
    """The judge's model derives both positions; they are marked as derived, and the reply is on record."""
    ran = debate("run", *SETUP)
    setup, derived = opened().settings, opened().derived

    assert ran.code == 0, ran.err
    assert setup.positions == {"a": "Tabs it is.", "b": "Spaces it is."}
    assert setup.sources["positions"] == "derived"
    assert [(one.by, one.text, one.called) for one in derived] == [("anthropic:n", DERIVED, True)]
    assert derived[0].usage is not None and derived[0].usage.input > 0
    assert 0 < ran.err.index("which derives the positions") < ran.err.index("Deriving the two positions"), ran.err
    assert "Tabs it is." in ran.err  # the setup that is shown holds what was derived
    assert "moderator" in Path("r.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("verb", ["run", "open"])
def test_a_key_in_the_topic_is_not_sent(
    debate: Run, server: Server, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that was pasted into the topic goes to no other server, neither as it stands nor escaped."""
    key = "gsk-a1B2c3D4e5F6g7H8"
    monkeypatch.setenv("DEBATE_KEY_OTHER", key)
    ran = debate(verb, f"--topic=Does {key} or gsk-a1B2c3D4\\u0065\u200b5F6g7H8 work?", *SETUP[1:])

    assert ran.code == 0, ran.err
    assert server.requests and all("[key]" in json.dumps(request) for request in server.requests)
    assert not [request for request in server.requests if "a1B2c3D4" in json.dumps(request)]
    assert "a1B2c3D4" not in Path("r.journal.jsonl").read_text(encoding="utf-8")


def test_a_reply_that_will_not_do_is_asked_for_again(debate: Run, server: Server) -> None:
    """Prose in place of positions is asked for once more, and both replies are on the bill."""
    said = iter(["I would rather not.", DERIVED])
    server.problem = lambda request, n: {"text": next(said)} if deriving(request) else None
    assert debate("run", *SETUP).code == 0
    assert [one.text for one in opened().derived] == ["I would rather not.", DERIVED]

    server.problem = lambda request, n: {"text": "No."} if deriving(request) else None
    ran = debate("run", *SETUP, "--output=other.md")
    assert ran.code == 4
    assert "2 replies" in ran.err and "--position-a" in ran.err
    assert not Path("other.journal.jsonl").exists()


def test_trouble_passes(debate: Run, server: Server) -> None:
    """A refused call for positions is made again."""
    server.problem = lambda request, n: {"status": 529} if n == 0 else {"text": DERIVED} if deriving(request) else None

    assert debate("run", *SETUP).code == 0


def test_a_moderator_of_its_own(debate: Run, server: Server) -> None:
    """A cast may name who derives; everything else is as without."""
    cast = "topic: T\nrounds: 1\noutput: r.md\ncast: {a: host, b: host, judge: host, moderator: anthropic:q}\n"
    Path("a.yaml").write_text(cast, encoding="utf-8")
    ran = debate("run", "--answers", "a.yaml")

    assert ran.code == 3  # the host is due
    assert [one.by for one in opened().derived] == ["anthropic:q"]


def test_a_host_can_not_derive_here(debate: Run, server: Server) -> None:
    """Where the host has every seat, a topic that asks for more than yes or no needs positions, and the way to have
    them derived is named."""
    ran = debate("run", "--topic=Which CI?", "--a=host", "--b=host", "--judge=host")

    assert ran.code == 2
    assert "debate ask" in ran.err


def test_nothing_is_asked_that_could_not_be_opened(debate: Run, server: Server) -> None:
    """What would be refused afterwards is refused before the moderator is paid."""
    Path("r.journal.jsonl").write_text("a journal of another debate\n", encoding="utf-8")
    there = debate("run", *SETUP)
    capped = debate("run", *SETUP, "--output=s.md", "--max-cost=1")
    unpaid = debate("run", *SETUP[:-1], "--output=t.md", "--judge=openrouter:v/m")

    assert (there.code, capped.code, unpaid.code) == (2, 2, 2)
    assert server.requests == []


def test_patience_holds_for_the_moderator_too(debate: Run, server: Server) -> None:
    """Trouble is shown, and bounded by the patience that was given."""
    server.problem = lambda request, n: {"status": 529}
    ran = debate("run", *SETUP, "--retry-for=1")

    assert ran.code == 3
    assert "Deriving the two positions: anthropic:n." in ran.err
    assert "Retry in" in ran.err and "Nothing was opened" in ran.err
