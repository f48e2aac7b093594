"""The cap on costs: held before each call, with what is under way and what broke off counted in."""

from __future__ import annotations

import debates
import pytest

from debate_orchestrator.core.events import CallFailed, Reply, Usage
from debate_orchestrator.core.fold import CurrentState, apply, fold
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import Budget, SharedBudget, unpriced_seats
from debate_orchestrator.engine.estimate import expected
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.util.errors import OverBudget, Paused

OPUS = "anthropic:claude-opus-5-5"


def capped(cap: float | None) -> tuple[DebateState, Brief, float]:
    """A debate with a cap, its first brief, and what a call for that is expected to cost."""
    debate = fold([debates.opening(rounds=1).with_settings(max_cost=cap)])
    asked = brief(debate, debate.due[0])
    price = expected(OPUS, asked)
    assert price is not None
    return debate, asked, price


def test_calls_under_way_count() -> None:
    """A call is refused where those under way beside it have taken what is left; one that is over gives it back."""
    _, asked, price = capped(None)
    budget = Budget(CurrentState(capped(price * 1.5)[0]))
    budget.reserve("1.opening.a", OPUS, asked)
    with pytest.raises(Paused, match=r"1\.opening\.b"):
        budget.reserve("1.opening.b", OPUS, asked)
    budget.release("1.opening.a")
    budget.reserve("1.opening.b", OPUS, asked)


def test_a_call_without_an_outcome_counts() -> None:
    """A call of which nothing came back may have cost what it was expected to, and counts as if it had."""
    _, asked, price = capped(None)
    budget = Budget(CurrentState(capped(price * 1.5)[0]))
    budget.reserve("1.opening.a", OPUS, asked)
    budget.release("1.opening.a", unseen=True)

    assert budget.spent() == pytest.approx(price)
    with pytest.raises(Paused):
        budget.reserve("1.opening.a", OPUS, asked)


def test_what_broke_off_counts_at_the_least() -> None:
    """Of an answer that broke off, the input that was counted and the words that had come are taken for spent."""
    debate, _, _ = capped(1.0)
    half = Reply(text="word " * 700, brief="", by=OPUS, usage=Usage(fresh=1_000, output=1), called=True)
    debate = apply(debate, CallFailed(turn="1.opening.a", by=OPUS, trouble="cut", unsure=True, reply=half))

    assert Budget(CurrentState(debate)).spent() == pytest.approx((1_000 * 4 + 1_000 * 20) / 1e6)


def test_an_unknown_price_has_no_place_under_a_cap() -> None:
    """Under a cap no model is called at an unknown price; without one they are."""
    debate, asked, _ = capped(100.0)
    with pytest.raises(Paused, match="command:cat, whose price is unknown"):
        Budget(CurrentState(debate)).reserve("1.opening.a", "command:cat", asked)
    Budget(CurrentState(capped(None)[0])).reserve("1.opening.a", "command:cat", asked)


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
    _, asked, price = capped(None)
    shared_budget = SharedBudget(price * 2.5)
    one, other = (shared_budget.budget(key, CurrentState(capped(None)[0])) for key in ("one", "other"))
    one.reserve("1.opening.a", OPUS, asked)
    one.release("1.opening.a", unseen=True)
    shared_budget.settle("one")
    other.reserve("1.opening.a", OPUS, asked)
    with pytest.raises(OverBudget, match="higher --max-cost"):
        other.reserve("1.opening.b", OPUS, asked)
    other.release("1.opening.a")
    other.reserve("1.opening.b", OPUS, asked)

    assert shared_budget.committed() == pytest.approx(2 * price)


def test_a_debate_taken_up_again_is_counted_once() -> None:
    """The purse of a debate that is taken up again takes the first one's place, with what was never heard of again."""
    _, asked, price = capped(None)
    shared_budget = SharedBudget(None)
    first = shared_budget.budget("one", CurrentState(capped(None)[0]))
    first.reserve("1.opening.a", OPUS, asked)
    first.release("1.opening.a", unseen=True)
    shared_budget.budget("one", CurrentState(capped(None)[0]))

    assert shared_budget.committed() == pytest.approx(price)


def test_a_debate_in_a_fund_keeps_its_own_cap() -> None:
    """A debate's own cap holds where its fund would allow more."""
    _, asked, price = capped(None)
    budget = SharedBudget(price * 100).budget("one", CurrentState(capped(price / 2)[0]))
    with pytest.raises(OverBudget, match="debate resume"):
        budget.reserve("1.opening.a", OPUS, asked)
