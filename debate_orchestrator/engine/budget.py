"""The cost cap of a debate, checked before each call; running calls and calls that broke off count too.

The cost of a call is unknown until its reply is there. What is expected is the price of its brief and of a reply of
the usual length, with nothing cached. A model that thinks for long may exceed the cap by one call, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from debate_orchestrator.core.costs import costs_of
from debate_orchestrator.core.events import Reply, Usage
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.estimate import expected
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import pricing
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import OverBudget

_RAISE_CAP = "Raise it with `debate resume JOURNAL --max-cost USD` (none for no cap)."
RUN_AGAIN = "Run it again with a higher cap: replies that are saved are not paid for twice."


def unpriced_seats(cast: Mapping[str, Iterable[str]]) -> list[str]:
    """A problem if a cap can't be held with this cast, because the price of a model in it is unknown."""
    specs = dict.fromkeys(spec for seat in cast.values() for spec in seat)
    unknown = [spec for spec in specs if model_spec.is_called(spec) and pricing.cost(spec, Usage()) is None]
    if not unknown:
        return []
    hint = "Leave the cap out, or cast models whose prices are known: `debate models` lists them."
    return [f"max_cost: a cap can't be held with {', '.join(unknown)}, whose price is unknown. {hint}"]


class Budget:
    """What one debate has spent and reserved, in US dollars."""

    def __init__(self, current: CurrentState, shared_budget: SharedBudget | None = None, unseen: float = 0.0):
        self._current, self._shared_budget = current, shared_budget
        self._reserved: dict[str, float] = {}
        self._known: tuple[DebateState | None, float] = (None, 0.0)
        """A state and what it cost: adding it up for every call of many debates would take long."""
        self.unseen = unseen
        """The expected cost of calls that brought no reply and may have been billed."""

    def reserve(self, turn_id: str, spec: str, brief: Brief, *, batch: bool = False) -> None:
        """Reserves the expected cost of a call, alone or in a batch. OverBudget if that would exceed the debate's cap
        or the shared one."""
        price = expected(spec, brief, batch=batch)
        check_cap(self._current.state.max_cost, self.committed, turn_id, spec, price, _RAISE_CAP)
        if self._shared_budget is not None:
            check_cap(self._shared_budget.cap, self._shared_budget.committed, turn_id, spec, price, RUN_AGAIN)
        self._reserved[turn_id] = price or 0.0

    def release(self, turn_id: str, *, unseen: bool = False) -> None:
        """Ends the reservation. `unseen` means that the call may have been billed without a trace in the journal."""
        price = self._reserved.pop(turn_id, 0.0)
        self.unseen += price if unseen else 0.0

    def spent(self) -> float:
        """US dollars on record, with the least that replies which broke off can have cost."""
        debate = self._current.state
        if debate is not self._known[0]:
            failed = (call.reply for calls in debate.failed.values() for call in calls)
            unpriced = (reply for reply in failed if reply is not None and reply.cost is None)
            self._known = debate, costs_of(debate).total.cost + sum(map(_min_cost, unpriced))
        return self._known[1] + self.unseen

    def committed(self) -> float:
        """US dollars spent and reserved."""
        return self.spent() + sum(self._reserved.values())


class SharedBudget:
    """A cap over several debates together, in US dollars; None for no cap."""

    def __init__(self, cap: float | None):
        self.cap = cap
        self._running: dict[str, Budget] = {}
        self._settled: dict[str, tuple[float, float]] = {}
        """What was spent, and what of it is of calls that left no trace."""

    def budget(self, key: str, current: CurrentState) -> Budget:
        """The budget of the debate with that key; it replaces an earlier one of the same debate."""
        if key in self._running:
            self.settle(key)
        _, unseen = self._settled.pop(key, (0.0, 0.0))
        budget = self._running[key] = Budget(current, self, unseen)
        return budget

    def settle(self, key: str) -> None:
        """Fixes what a debate has spent, while no more calls are made in it."""
        budget = self._running.pop(key)
        self._settled[key] = budget.spent(), budget.unseen

    def committed(self) -> float:
        """US dollars spent and reserved in all debates."""
        return sum(spent for spent, _ in self._settled.values()) + sum(
            budget.committed() for budget in self._running.values()
        )


def check_cap(
    cap: float | None, committed: Callable[[], float], turn_id: str, spec: str, price: float | None, hint: str
) -> None:
    """OverBudget if a call at that price would exceed the cap."""
    if cap is None:
        return
    if price is None:
        raise OverBudget(f"max_cost: a cap can't be held with {spec}, whose price is unknown. {hint}")
    if (spent := committed()) + price > cap:
        raise OverBudget(
            f"max_cost: {turn_id} would cost about ${price:.4f}; with ${spent:.4f} spent or under way "
            f"that exceeds the cap of ${cap:.2f}. {hint}"
        )


def _min_cost(reply: Reply) -> float:
    """The least that a reply that broke off has cost. Its output count may be missing, so its text counts too."""
    usage = reply.usage or Usage()
    output = max(usage.output, pricing.tokens(len(reply.text)))
    return pricing.cost(reply.by, usage.model_copy(update={"output": output})) or 0.0
