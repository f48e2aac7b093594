"""The table of models: whole, and what a call costs by it, worked out by hand."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import Usage
from debate_orchestrator.providers import pricing

OPUS = "anthropic:claude-opus-5-5"  # $4 and $20 a million, a cached token at 0.05
HAIKU = "anthropic:claude-haiku-5-5"  # $0.10 and $0.50; above 100,000 tokens $0.50 and $2.50


def test_the_table_is_whole() -> None:
    """It has a date and a source, knows the defaults, and no price in it is out of the question."""
    table = pricing.table()

    date.fromisoformat(table.date)
    assert table.source
    assert {table.defaults.debater, table.defaults.judge, table.defaults.moderator} <= set(table.vendors["anthropic"])
    for model in table.vendors["anthropic"].values():
        assert 0 < model.input < model.output < 1000
        assert 0 < model.read < 1
        assert model.least >= 512
        assert (model.most_output or 0) < (model.context or 0)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(), 0.0),
        (Usage(fresh=1_000_000), 4.0),
        (Usage(output=1_000_000), 20.0),
        (Usage(cached=1_000_000), 0.2),
        (Usage(written=1_000_000), 5.0),
        (Usage(written_hour=1_000_000), 8.0),
        (Usage(searches=3), 0.03),
        (Usage(fresh=1000, cached=2000, written=400, written_hour=100, output=300), 0.0132),
    ],
)
def test_what_a_call_costs(usage: Usage, dollars: float) -> None:
    """Each kind of token has its price, and so has a search."""
    assert pricing.cost(OPUS, usage) == pytest.approx(dollars)


def test_long_requests_have_their_own_price() -> None:
    """A request of more than so many input tokens, cached or not, is dearer from its first token on."""
    assert pricing.cost(HAIKU, Usage(fresh=100_000, output=1000)) == pytest.approx(0.0105)
    assert pricing.cost(HAIKU, Usage(fresh=1, cached=100_000, output=1000)) == pytest.approx(0.0075005)


@pytest.mark.parametrize(
    "spec",
    [
        "anthropic:claude-next",
        "anthropic:claude-opus-5-5@https://example.org",
        "openai:gpt-x",
        "openai:m@http://localhost.example.org",
        "openai:m@http://127.example.org",
        "openai:m@https://example.org/@http://localhost",
        "command:ask @http://localhost",
        "command:ask",
        "openrouter:meta/llama",
    ],
)
def test_the_unknown_is_unknown(spec: str) -> None:
    """A model that is not in the table, or is served from elsewhere, has no price; that is not a price of nothing."""
    assert pricing.cost(spec, Usage()) is None


@pytest.mark.parametrize(
    "spec",
    ["host", "replay:x", "ollama:q", "rehearse", "openai:m@http://localhost:8000/v1", "openai:m@http://[::1]"],
)
def test_some_cost_nothing(spec: str) -> None:
    """A host, a person, a recording and a server of one's own cost nothing."""
    assert pricing.cost(spec, Usage(fresh=10, output=10, searches=1)) == 0.0


def test_who_is_known() -> None:
    """A model is known by its vendor's name, through a reseller, and when it is rehearsed."""
    known = pricing.known(OPUS)

    assert known is not None
    assert known == pricing.known("openrouter:anthropic/claude-opus-5.5") == pricing.known(f"rehearse:{OPUS}")


@given(text=st.text(max_size=100))
def test_tokens_are_about_that_many(text: str) -> None:
    """A text has a token for each 3.5 characters, the last of them begun."""
    n = pricing.tokens(len(text))

    assert 3.5 * (n - 1) < len(text) <= 3.5 * n or n == len(text) == 0
