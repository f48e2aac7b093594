"""What a debate may still cost: the cap held before each call, with what is under way and what broke off counted in.

Nobody knows the cost of a call before it is answered. What is expected of it is what its brief and an answer
of the asked length cost with nothing cached; a model that thinks long may take one call above that, and no
call more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Reply, Usage
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.estimate import expected
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import pricing
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import OverBudget, complaint

_HINT = "Raise it with `debate resume JOURNAL --max-cost USD` (none for no cap)."
_AGAIN = "Run it again with a higher --max-cost: nothing that was answered is asked again."


def unpriced_seats(cast: Mapping[str, Iterable[str]]) -> list[str]:
    """A complaint where a cap on costs could not be held, since a seat is called at a price that nobody knows."""
    fillers = dict.fromkeys(spec for seat in cast.values() for spec in seat)
    unknown = [spec for spec in fillers if model_spec.is_called(spec) and pricing.cost(spec, Usage()) is None]
    if not unknown:
        return []
    got = f"a cap, and {', '.join(unknown)}, whose price is unknown"
    hint = "Leave the cap out (or --max-cost none), or cast models whose prices are known: `debate models` lists them."
    return [complaint("max_cost", got, "prices for every seat that is called", hint)]


class Budget:
    """What one debate has spent, with what its calls under way will."""

    def __init__(self, debate: DebateState, shared_budget: SharedBudget | None = None, unseen: float = 0.0):
        self._debate, self._shared_budget = debate, shared_budget
        self._under_way: dict[str, float] = {}
        self.unseen = unseen
        """What calls of this run may have cost of which nothing came back."""

    def take(self, turn_id: str, spec: str, brief: Brief) -> None:
        """Sets the expected cost of a call aside. OverCap where that would take the debate, or all that share a
        fund with it, over its cap."""
        price = expected(spec, brief)
        _must_fit(self._debate.max_cost, self.committed, turn_id, spec, price, _HINT)
        if self._shared_budget is not None:
            _must_fit(self._shared_budget.cap, self._shared_budget.committed, turn_id, spec, price, _AGAIN)
        self._under_way[turn_id] = price or 0.0

    def give(self, turn_id: str, *, unseen: bool = False) -> None:
        """The call is over; `unseen` says that it may have cost something that is not on record."""
        price = self._under_way.pop(turn_id, 0.0)
        self.unseen += price if unseen else 0.0

    def spent(self) -> float:
        """US dollars on record, with the least that broken answers can have cost."""
        broken = (one.reply for lost in self._debate.unanswered.values() for one in lost if one.reply is not None)
        return costs_of(self._debate).total.cost + sum(map(_least, broken)) + self.unseen

    def committed(self) -> float:
        """US dollars spent, and set aside for what is under way."""
        return self.spent() + sum(self._under_way.values())


class SharedBudget:
    """What several debates may cost together, with what each of them has on record already."""

    def __init__(self, cap: float | None):
        self.cap = cap
        self._open: dict[str, Budget] = {}
        self._settled: dict[str, float] = {}

    def budget(self, key: str, debate: DebateState) -> Budget:
        """The purse of the debate that goes by `key`; it takes the place of an earlier one of that debate."""
        before = self._open.get(key)
        self._open[key] = made = Budget(debate, self, before.unseen if before else 0.0)
        return made

    def settle(self, key: str) -> None:
        """Nothing is asked in that debate any more: what it has spent is counted once and for all."""
        self._settled[key] = self._open.pop(key).spent()

    def committed(self) -> float:
        """US dollars spent in all of them, and set aside for what is under way."""
        return sum(self._settled.values()) + sum(one.committed() for one in self._open.values())


def _must_fit(
    cap: float | None, committed: Callable[[], float], turn_id: str, spec: str, price: float | None, hint: str
) -> None:
    """OverCap where a call at that price is not within a cap."""
    if cap is None:
        return
    if price is None:
        raise OverBudget(complaint("max_cost", f"{spec}, whose price is unknown", "a price for every call", hint))
    if (spent := committed()) + price > cap:
        got = f"${spent:.4f} spent or under way, and about ${price:.4f} more for {turn_id}"
        raise OverBudget(complaint("max_cost", got, f"at most ${cap:.2f} in all", hint))


def _least(reply: Reply) -> float:
    """The least that an answer that broke off has cost: what was counted, and what had come."""
    usage = reply.usage or Usage()
    output = max(usage.output, pricing.tokens(reply.text))
    return pricing.cost(reply.by, usage.model_copy(update={"output": output})) or 0.0
