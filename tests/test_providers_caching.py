"""Prompt caching and prices: breakpoints and their time, the tokens counted for it, and what a call costs."""

from __future__ import annotations

from datetime import date

import pytest
from corpus import for_each
from debates import opened_event
from hypothesis import given
from hypothesis import strategies as st

from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.fold import fold
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import estimate_debate, price_problems
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.caching import (
    CachePlan,
    breakpoints,
    cache_key,
    cache_plans,
    placed_breakpoints,
)

SONNET, OPUS = "anthropic:claude-sonnet-5-5", "anthropic:claude-opus-5-5"
NOTHING, MINUTES, HOUR = CachePlan(), CachePlan(write=True), CachePlan(write=True, long_ttl=True)


def debate(a: str = SONNET, b: str = SONNET, *judge: str, rounds: int = 3, **more: object) -> DebateState:
    """A debate with this cast, as it is opened."""
    cast = {"a": (a,), "b": (b,), "judge": judge or (OPUS,)}
    return fold([opened_event(rounds=rounds, cast=cast).with_settings(**more)])


def test_what_will_be_read_again_is_written() -> None:
    """The first of a family in each stage writes what the next stage of it reads, and those beside it read only. A call
    after which there is none of its family reads what was written before it, and writes nothing further. After a
    debate was ended early, no call sets a breakpoint for what a turn of a later round would have written."""
    made, short = cache_plans(debate()), cache_plans(debate(rounds=2))

    assert [made[turn] for turn in ("1.opening.a", "1.opening.b", "1.challenge.a", "1.rebuttal.a")] == [MINUTES] * 4
    assert made["1.challenge.b"] == CachePlan(reads="1.opening.b")
    assert made["1.rebuttal.b"] == CachePlan(reads="1.challenge.a")
    assert [turn for turn, plan in made.items() if plan == NOTHING] == ["final.verdict.judge", "final.dissent.judge"]
    assert short["2.rebuttal.a"] == short["2.rebuttal.b"] == CachePlan(reads="2.challenge.a")
    assert short["2.verdict.judge"] == CachePlan(reads="1.verdict.judge")
    assert placed_breakpoints(CachePlan(reads="3.rebuttal.a"), debate(rounds=3), 9) == []


def test_a_gap_of_a_host_takes_an_hour() -> None:
    """A judge between debaters whose turns take long has what will be read twice kept for an hour; what will be
    read once is not worth that, but what is there is read."""
    made = cache_plans(debate("host", "host", rounds=3))

    reads = CachePlan(reads="1.verdict.judge")
    assert [made[f"{n}.verdict.judge"] for n in (1, 2, 3)] == [HOUR, reads, reads]


def test_a_leader_writes_for_those_beside_it() -> None:
    """Where parallel calls wait for the first of them, a panel's last ballots are read among themselves."""
    panel = [f"final.verdict.judge-{n}" for n in (1, 2, 3)]
    together, led = (cache_plans(debate(SONNET, SONNET, OPUS, OPUS, OPUS, share_cache=lead)) for lead in (False, True))

    assert {together[turn] for turn in panel} == {NOTHING}
    assert [led[turn] for turn in panel] == [MINUTES, CachePlan(reads=panel[0]), CachePlan(reads=panel[0])]


@pytest.mark.parametrize("changed", [{"history": "dialogue"}, {"context_heard_by": ("a",)}, {"heard_by": ("a",)}])
def test_families_hear_the_same(changed: dict[str, object]) -> None:
    """Sides whose transcripts differ, by their layout, their material or what is kept from one, share nothing."""
    opened: Opened = debate().opened
    rules = opened.format
    if "heard_by" in changed:
        first, *rest = rules.round
        changed = {"round": (first.model_copy(update=changed), *rest)}
    one = fold([opened.model_copy(update={"format": rules.model_copy(update=changed)})])
    opening = one.format.round[0]

    assert cache_key(one, opening, "a") != cache_key(one, opening, "b")


@given(blocks=st.integers(0, 200))
def test_breakpoints(blocks: int) -> None:
    """The last block has one, and others so that a read finds what was written up to fifty blocks ago; one breakpoint
    is left for others."""
    made, rules = breakpoints(blocks), pricing.table().cache
    reached = {place - back for place in made for back in range(rules.lookback_blocks)}

    assert made == sorted(made)
    assert len(made) < rules.max_breakpoints
    assert (made[-1:] == [blocks - 1]) == (blocks > 0)
    assert set(range(max(0, blocks - 50), blocks)) <= reached


def test_the_table_is_whole() -> None:
    """It has a date and a source, knows the defaults, and no price in it is out of the question."""
    table = pricing.table()

    date.fromisoformat(table.date)
    assert table.source
    assert {table.defaults.debater, table.defaults.judge, table.defaults.moderator} <= set(table.vendors["anthropic"])
    for model in table.vendors["anthropic"].values():
        assert 0 < model.input < model.output < 1000
        assert 0 < model.cache_read_factor < 1
        assert model.min_cacheable_tokens >= 512
        assert (model.max_output or 0) < (model.context or 0)


@for_each(
    [
        (Usage(), 0.0),
        (Usage(uncached_input=1_000_000), 4.0),
        (Usage(output=1_000_000), 20.0),
        (Usage(cached=1_000_000), 0.2),
        (Usage(cache_write_5m=1_000_000), 5.0),
        (Usage(cache_write_1h=1_000_000), 8.0),
        (Usage(searches=3), 0.03),
        (Usage(uncached_input=1000, cached=2000, cache_write_5m=400, cache_write_1h=100, output=300), 0.0132),
    ]
)
def test_what_a_call_costs(usage: Usage, dollars: float) -> None:
    """Each kind of token has its price, and so has a search."""
    assert pricing.cost(OPUS, usage) == pytest.approx(dollars)


LOCAL = "openai:m@http://localhost:8000/v1"
CLOUD_HOST, CLOUD_KEY = {"OLLAMA_HOST": "https://ollama.com"}, {"OLLAMA_API_KEY": "k-12345678"}


@for_each(
    [
        *((spec, {}) for spec in ("anthropic:claude-next", "anthropic:claude-opus-5-5@https://example.org")),
        *((spec, {}) for spec in ("openai:gpt-x", "command:ask @http://localhost", "command:ask")),
        *((f"openai:m@http://{host}.example.org", {}) for host in ("localhost", "127")),
        *((spec, {}) for spec in ("openai:m@https://example.org/@http://localhost", "openrouter:meta/llama")),
        *(("ollama:q", {"OLLAMA_HOST": host}) for host in ("10.0.0.2:11434", "127.0.0.1.example.org")),
        *(("ollama:q", CLOUD_HOST), ("ollama:q", CLOUD_KEY), (LOCAL, {"DEBATE_KEY_LOCALHOST_8000": "k-12345678"})),
        *((f"ollama:glm-5:{tag}", {}) for tag in ("cloud", "Cloud", "120b-cloud", "cloud:local")),
        *((f"{kind}:g:120b-cloud@http://localhost:11434", {}) for kind in ("ollama", "anthropic", "openai")),
    ],
    "spec",
    "environment",
)
def test_what_may_be_billed_is_not_free(
    spec: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of a model that is not in the table or is served from elsewhere, that reaches another machine, carries a
    key, or that a local Ollama passes on has an unknown price, for caps and estimates too: not one of nothing."""
    with monkeypatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        cast = {"a": (spec,), "b": ("host",), "judge": ("host",)}
        assert not pricing.is_free(spec) and pricing.cost(spec, Usage(uncached_input=10)) is None
        assert price_problems({"a": (spec,)})
        assert estimate_debate(opened_event(cast=cast)).unpriced_specs == (spec,)


@for_each(
    [
        ("ollama:q", {"OLLAMA_HOST": "0.0.0.0:11434"}),
        ("ollama:q@http://localhost", CLOUD_HOST | CLOUD_KEY),
        (LOCAL, {"OPENAI_API_KEY": "k-12345678", "DEBATE_KEY_LOCALHOST": "k-12345678"}),
        ("ollama:cloud-writer:8b", {}),
    ],
    "spec",
    "environment",
)
def test_a_server_of_ones_own_stays_free(
    spec: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key or an address that is not meant for the server makes no difference."""
    with monkeypatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        assert pricing.is_free(spec)
