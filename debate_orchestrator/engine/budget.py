"""The cost cap of a debate, checked before each call; running calls and calls of unknown cost count too.

The cost of a call is unknown until its reply is there, and after that if its tokens were not counted. What is expected
is the price of its brief and of a reply of the usual length, with nothing cached; the journal has it in `CallIntended`
and beside the reply. A model that thinks for long may exceed the cap by one call, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from debate_orchestrator.core.costs import BilledCall, billed_calls
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply, Usage
from debate_orchestrator.engine.estimate import cost_before_call
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import pricing
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import OverBudget

_RAISE_CAP = "Raise it with `debate resume JOURNAL --max-cost USD` (none for no cap)."
RUN_AGAIN_HINT = "Run it again with a higher cap: replies that are saved are not paid for twice."


def unpriced_seats(cast: Mapping[str, Iterable[str]]) -> list[str]:
    """A problem if a cap can't be kept with this cast, because the price of a model in it is unknown."""
    specs = dict.fromkeys(spec for seat in cast.values() for spec in seat)
    unknown = [spec for spec in specs if model_spec.is_called(spec) and pricing.cost(spec, Usage()) is None]
    if not unknown:
        return []
    hint = "Leave the cap out, or cast models whose prices are known: `debate models` lists them."
    return [f"max_cost: a cap can't be kept with {', '.join(unknown)}, whose price is unknown. {hint}"]


class Budget:
    """The US dollars that a debate has committed, by its events alone, so a resumed debate counts the same."""

    def __init__(self, current: CurrentState, shared_budget: SharedBudget | None = None):
        self._current, self._shared_budget = current, shared_budget

    def check(self, turn_id: str, spec: str, turn_brief: Brief, *, batch: bool = False) -> float | None:
        """The expected cost of a call, alone or in a batch; None if its price is unknown. It counts from the moment
        its `CallIntended` is on record. Raises OverBudget if it would exceed the debate's cap or the shared one."""
        cost = cost_before_call(spec, turn_brief, batch=batch)
        check_max_cost(self._current.state.max_cost, self.committed, turn_id, spec, cost, _RAISE_CAP)
        if self._shared_budget is not None:
            check_max_cost(
                self._shared_budget.max_cost, self._shared_budget.committed, turn_id, spec, cost, RUN_AGAIN_HINT
            )
        return cost

    def committed(self) -> float:
        """US dollars of all calls that were made or are under way. One of unknown cost counts with its estimate."""
        return sum(_cost_of(call) for call in billed_calls(self._current.state))


class SharedBudget:
    """The budget of several debates together: a cap in US dollars, or None for no cap."""

    def __init__(self, max_cost: float | None):
        self.max_cost = max_cost
        self._running: dict[str, Budget] = {}
        self._ended_costs: dict[str, float] = {}

    def budget(self, key: str, current: CurrentState) -> Budget:
        """The budget of the debate with that key; it replaces an earlier one of the same debate."""
        self._ended_costs.pop(key, None)
        budget = self._running[key] = Budget(current, self)
        return budget

    def end_budget(self, key: str) -> None:
        """Keeps the amount that a debate has committed. No call may be made in it until `budget` is called again."""
        self._ended_costs[key] = self._running.pop(key).committed()

    def committed(self) -> float:
        """US dollars committed by all debates together."""
        return sum(self._ended_costs.values()) + sum(budget.committed() for budget in self._running.values())


def check_max_cost(
    max_cost: float | None, committed: Callable[[], float], turn_id: str, spec: str, cost: float | None, hint: str
) -> None:
    """Raises OverBudget if a call of that cost would exceed the cap."""
    if max_cost is None:
        return
    if cost is None:
        raise OverBudget(f"max_cost: a cap can't be kept with {spec}, whose price is unknown. {hint}".rstrip())
    if (spent := committed()) + cost > max_cost:
        raise OverBudget(
            f"max_cost: {turn_id} would cost about ${cost:.4f}; with ${spent:.4f} spent or under way "
            f"that exceeds the cap of ${max_cost:.2f}. {hint}".rstrip()
        )


def _cost_of(call: BilledCall) -> float:
    """The amount that counts for a call. Journals of earlier versions hold no estimates."""
    if call.reply is not None and call.reply.cost is not None:
        return call.reply.cost
    if call.estimated_cost is not None:
        return call.estimated_cost
    return 0.0 if call.reply is None else _min_cost(call.reply)


def _min_cost(reply: Reply) -> float:
    """The least that a reply that broke off has cost. Its output count may be missing, so its text counts too."""
    usage = reply.usage or Usage()
    output = max(usage.output, pricing.tokens(len(reply.text)))
    return pricing.cost(reply.spec, usage.model_copy(update={"output": output})) or 0.0
