"""What the words of a cast mean."""

from __future__ import annotations

from typing import Any

from corpus import for_each

from debate_orchestrator.util.model_spec import (
    is_rehearsal,
    kind,
    makes_calls,
    public_name,
    rest,
    stand_in,
    without_rehearse,
)

MODEL = "anthropic:m@http://x:1"


def test_kind_and_rest() -> None:
    """The first colon parts the kind from the rest, which may have colons of its own."""
    assert (kind(MODEL), rest(MODEL)) == ("anthropic", "m@http://x:1")
    assert (kind("host"), rest("host")) == ("host", "")


@for_each([
    ("host", False), ("replay:j", False), (f"rehearse:{MODEL}", False), (MODEL, True), ("command:llm -m x", True),
    ("fetch", False), ("offline", False), ("human", False), ("rehearse:human", False), ("rehearse:fetch", False),
])  # fmt: skip
def test_who_is_called(spec: str, called: bool) -> None:
    """Models and programs are called; a host, a recording, a stand-in, a clerk and a person are not."""
    assert makes_calls(spec) is called


def test_stand_ins() -> None:
    """A stand-in names whom it stands in for, and there is none for a stand-in."""
    assert [without_rehearse(spec) for spec in (f"rehearse:{MODEL}", "rehearse", "host")] == [
        MODEL,
        "host",
        "host",
    ]
    assert stand_in(stand_in(MODEL)) == stand_in(MODEL) == f"rehearse:{MODEL}"
    assert stand_in("rehearse") == "rehearse:host"


@for_each([
    ({"a": "rehearse", "judge": ["rehearse", f"rehearse:{MODEL}"]}, True), ({"a": ("rehearse", MODEL)}, False),
    ({"a": "rehearse", "b": "human"}, False), ({"a": ()}, False), ({}, False),
])  # fmt: skip
def test_what_is_a_rehearsal(cast: dict[str, Any], is_one: bool) -> None:
    """A debate with stand-ins in every seat is a rehearsal, whether or not they name a model."""
    assert is_rehearsal(cast) is is_one


@for_each(
    [
        (MODEL, MODEL),
        ("command:/bin/curl -H secret", "command:curl"),
        ("rehearse:command:/bin/curl -H secret", "rehearse:command:curl"),
        ("command:", "command:"),
    ]
)
def test_what_may_be_shown(spec: str, said: str) -> None:
    """A program is named without its arguments, which may hold anything."""
    assert public_name(spec) == said
