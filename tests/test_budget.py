"""A cap counts what the journal holds: every call under way, and every reply of unknown cost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import debates
import pytest
from speakers import Speaker, take_turns

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import CallFailed, CallIntended
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import Budget, SharedBudget, cost_before_call, unpriced_seats
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.provider import OnPiece
from debate_orchestrator.storage.journal import JournalWriter, read
from debate_orchestrator.util.errors import OverBudget, Paused

OPUS = "anthropic:claude-opus-5-5"


def capped(cap: float | None) -> tuple[DebateState, Brief, float]:
    """A debate with a cap, its first brief, and what a call for that is expected to cost."""
    debate = fold([debates.opened_event(rounds=1).with_settings(max_cost=cap)])
    asked = brief(debate, debate.due[0])
    price = cost_before_call(OPUS, asked)
    assert price is not None
    return debate, asked, price


def sent(debate: DebateState, turn: str, price: float | None) -> DebateState:
    """The debate with the `CallIntended` of a call."""
    return apply(debate, CallIntended(turn_id=turn, brief_digest="d", spec=OPUS, called=True, estimated_cost=price))


def test_calls_under_way_count() -> None:
    """A call is refused where those under way beside it have taken what is left; one that was not billed gives it
    back."""
    _, asked, price = capped(None)
    current = CurrentState(sent(capped(price * 1.5)[0], "1.opening.a", price))
    with pytest.raises(Paused, match=r"1\.opening\.b"):
        Budget(current).check("1.opening.b", OPUS, asked)
    refused = apply(current.state, CallFailed(turn_id="1.opening.a", spec=OPUS, problem="busy"))
    assert Budget(CurrentState(refused)).check("1.opening.b", OPUS, asked) == price


def test_a_call_without_an_outcome_counts() -> None:
    """A call of which nothing came back may have cost what it was expected to, and counts as if it had."""
    _, asked, price = capped(None)
    under_way = sent(capped(price * 1.5)[0], "1.opening.a", price)
    lost = apply(under_way, CallFailed(turn_id="1.opening.a", spec=OPUS, problem="cut", maybe_billed=True))

    for debate in (under_way, lost):
        budget = Budget(CurrentState(debate))
        assert budget.committed() == pytest.approx(price)
        with pytest.raises(Paused):
            budget.check("1.opening.a", OPUS, asked)


def test_of_a_long_reply_the_words_that_came_count() -> None:
    """Where more had come than was expected, that counts, with the input as the server counted it."""
    debate, _, price = capped(1.0)
    half = Reply(
        text="word " * 70_000, brief_digest="", spec=OPUS, usage=Usage(uncached_input=1_000, output=1), called=True
    )
    debate = apply(debate, CallFailed(turn_id="1.opening.a", spec=OPUS, problem="cut", maybe_billed=True, reply=half))

    assert Budget(CurrentState(debate)).committed() == pytest.approx((1_000 * 4 + 100_000 * 20) / 1e6) != price


class Erratic(Speaker):
    """A server whose replies have no cost, some with long thinking."""

    name = OPUS

    def __init__(self, outcomes: list[str]):
        super().__init__(rounds=1)
        self.outcomes = outcomes

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        outcome = self.outcomes.pop(0) if self.outcomes else "whole"
        reply = await super().reply(brief, on_text)
        update = {"thinking": {"received": 400_000}, "whole": {}}
        return reply.model_copy(update=update[outcome])


def test_a_resumed_debate_does_not_forget_what_it_may_have_cost(tmp_path: Path) -> None:
    """A server never counts its tokens: once the cap is reached, no resume makes another call."""
    _, _, price = capped(None)
    speaker, made = Erratic([]), []
    first = debates.opened_event(rounds=1).with_settings(max_cost=price * 4)
    JournalWriter.create(tmp_path / "j", first).close()
    for _ in range(4):
        with JournalWriter(tmp_path / "j") as journal, pytest.raises(OverBudget):
            seats = dict.fromkeys(("a", "b", "judge"), speaker)
            asyncio.run(take_turns(journal, CurrentState(fold(journal.events)), seats))
        made.append(len(speaker.briefs))

    assert made[0] > 0 and made == [made[0]] * 4


def test_thinking_counts_where_tokens_do_not(tmp_path: Path) -> None:
    """Of a reply without a cost all that came counts, with what the model thought; its cost stays unknown."""
    first = debates.opened_event(rounds=1).with_settings(max_cost=2.0)
    with JournalWriter.create(tmp_path / "j", first) as journal, pytest.raises(OverBudget):
        seats = dict.fromkeys(("a", "b"), Erratic(["thinking"]))
        asyncio.run(take_turns(journal, CurrentState(fold([first])), seats))
    debate = fold(read(tmp_path / "j").events)

    assert Budget(CurrentState(debate)).committed() > pricing.tokens(400_000) * 20 / 1e6
    assert costs_of(debate).total.unpriced_calls == 1


def test_an_unknown_price_has_no_place_under_a_cap() -> None:
    """Under a cap no model is called at an unknown price; without one they are."""
    debate, asked, _ = capped(100.0)
    with pytest.raises(Paused, match="command:cat, whose price is unknown"):
        Budget(CurrentState(debate)).check("1.opening.a", "command:cat", asked)
    assert Budget(CurrentState(capped(None)[0])).check("1.opening.a", "command:cat", asked) is None


def test_who_has_no_price() -> None:
    """All who are called at an unknown price are named at once, each once; a seat that calls no model needs none."""
    cast = {
        "a": ("command:cat",),
        "b": ("command:cat",),
        "judge": ("anthropic:who", OPUS, "host", "rehearse:command:x"),
    }
    (said,) = unpriced_seats(cast)

    assert "command:cat, anthropic:who, whose" in said
    assert unpriced_seats({"a": ("host",), "judge": (OPUS, "ollama:m")}) == []


def test_a_fund_holds_over_several_debates() -> None:
    """What one debate has under way or has spent is missing to the others of its fund, and only that."""
    debate, asked, price = capped(None)
    shared_budget = SharedBudget(price * 2.5)
    shared_budget.budget("one", CurrentState(sent(debate, "1.opening.a", price)))
    shared_budget.end_budget("one")
    current = CurrentState(debate)
    other = shared_budget.budget("other", current)
    other.check("1.opening.a", OPUS, asked)
    current.apply(CallIntended(turn_id="1.opening.a", brief_digest="d", spec=OPUS, called=True, estimated_cost=price))
    with pytest.raises(OverBudget, match="higher cap"):
        other.check("1.opening.b", OPUS, asked)
    current.apply(CallFailed(turn_id="1.opening.a", spec=OPUS, problem="busy"))
    other.check("1.opening.b", OPUS, asked)

    assert shared_budget.committed() == pytest.approx(price)
