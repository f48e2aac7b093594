"""Two positions from a topic, by a model, where nobody gave them: derived once, kept with what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from messages_server import Server, serving

from debate_orchestrator.core.events import Opened
from debate_orchestrator.journal import read

DERIVED = json.dumps({"kind": "technical", "a": "Tabs it is.", "b": "Spaces it is."})
SETUP = ("--topic=Tabs?", "--rounds=1", "--output=r.md", "--a=anthropic:m", "--b=anthropic:m", "--judge=anthropic:n")


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with serving(Server()) as made:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
        made.trouble = lambda request, n: {"text": DERIVED} if deriving(request) else None
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
    setup, derived = opened().setup, opened().derived

    assert ran.code == 0, ran.err
    assert setup.positions == {"a": "Tabs it is.", "b": "Spaces it is."}
    assert setup.sources["positions"] == "derived"
    assert derived is not None and (derived.by, derived.text) == ("anthropic:n", DERIVED)
    assert derived.usage is not None and derived.usage.input > 0
    assert "Tabs it is." in ran.err  # the setup that is shown holds what was derived
    assert "moderator" in Path("r.md").read_text(encoding="utf-8")


def test_a_reply_that_will_not_do_is_asked_for_again(debate: Run, server: Server) -> None:
    """Prose in place of positions is asked for once more; prose again opens nothing."""
    said = iter(["I would rather not.", DERIVED])
    server.trouble = lambda request, n: {"text": next(said)} if deriving(request) else None
    assert debate("run", *SETUP).code == 0

    server.trouble = lambda request, n: {"text": "No."} if deriving(request) else None
    ran = debate("run", *SETUP, "--output=other.md")
    assert ran.code == 2
    assert not Path("other.journal.jsonl").exists()


def test_trouble_passes(debate: Run, server: Server) -> None:
    """A refused call for positions is made again."""
    server.trouble = lambda request, n: {"status": 529} if n == 0 else {"text": DERIVED} if deriving(request) else None

    assert debate("run", *SETUP).code == 0


def test_a_moderator_of_its_own(debate: Run, server: Server) -> None:
    """A cast may name who derives; everything else is as without."""
    cast = "topic: T\nrounds: 1\noutput: r.md\ncast: {a: host, b: host, judge: host, moderator: anthropic:q}\n"
    Path("a.yaml").write_text(cast, encoding="utf-8")
    ran = debate("run", "--answers", "a.yaml")

    assert ran.code == 3  # the host is due
    assert opened().derived is not None and opened().derived.by == "anthropic:q"  # type: ignore[union-attr]


def test_a_host_can_not_derive_here(debate: Run, server: Server) -> None:
    """Where everybody is the host, positions must be given, and the way to have them derived is named."""
    ran = debate("run", "--topic=T", "--a=host", "--b=host", "--judge=host")

    assert ran.code == 2
    assert "debate ask" in ran.err
