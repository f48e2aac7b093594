"""Misspelt model specs: what was probably meant is said, and models newer than the price list still work."""

from __future__ import annotations

import pytest

from debate_orchestrator.providers import registry
from debate_orchestrator.providers.discovery import misspelt


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ("anthropic:claude-opsu-5-5", ["anthropic:claude-opus-5-5"]),
        ("rehearse:anthropic:claude-opsu-5-5", ["anthropic:claude-opus-5-5"]),
        ("anthropic:claude-opus-5-5", []),
        ("anthropic:claude-opus-5-9", []),
        ("anthropic:claude-verse-7", []),
        ("anthropic:claude-opsu-5-5@https://models.example", []),
        ("command:claude-opsu-5-5", []),
    ],
)
def test_a_near_miss(spec: str, asked: list[str]) -> None:
    """A vendor's model that is nearly a known one is asked about, once; a new version or family is not."""
    questions = misspelt({"a": (spec,), "judge": (spec, spec)})

    assert [question.rpartition("Did you mean ")[2].rstrip("?") for question in questions] == asked


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("antropic:x", "Try: anthropic:x."),
        ("opus", "Try: anthropic:claude-opus-5-5."),
        ("gpt-5", "Try: openai:gpt-5."),
        ("claude-x", "Try: anthropic:claude-x."),
        ("claude-sonet-5-5", "Try: anthropic:claude-sonnet-5-5."),
        ("claude-sonnet-9", "Try: anthropic:claude-sonnet-9."),
        ("martian:x", "Try: `debate models` lists what is reachable."),
    ],
)
def test_what_was_meant(spec: str, meant: str) -> None:
    """A spec of no known kind is refused with the one that was probably meant, once for all its seats."""
    (problem,) = registry.cast_problems({"a": (spec,), "b": (spec,)})

    assert problem.startswith("cast: a, b: ") and problem.endswith(meant)
