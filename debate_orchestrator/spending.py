"""What a debate may still cost: the cap held before each call, with what is under way and what broke off counted in.

Nobody knows the cost of a call before it is answered. What is expected of it is what its brief and an answer
of the asked length cost with nothing cached; a model that thinks long may take one call above that, and no
call more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from debate_orchestrator import casts, models
from debate_orchestrator.briefs import Brief
from debate_orchestrator.core.bill import bill
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Reply, Usage
from debate_orchestrator.errors import Paused, complaint
from debate_orchestrator.estimate import expected

_HINT = "Raise it with `debate resume JOURNAL --max-cost USD` (none for no cap)."


def unpriced(cast: Mapping[str, Iterable[str]]) -> list[str]:
    """A complaint where a cap on costs could not be held, since a seat is called at a price that nobody knows."""
    fillers = dict.fromkeys(spec for seat in cast.values() for spec in seat)
    unknown = [spec for spec in fillers if casts.is_called(spec) and models.cost(spec, Usage()) is None]
    if not unknown:
        return []
    got = f"a cap, and {', '.join(unknown)}, whose price is unknown"
    hint = "Leave the cap out (or --max-cost none), or cast models whose prices are known: `debate models` lists them."
    return [complaint("max_cost", got, "prices for every seat that is called", hint)]


class Purse:
    """What one debate has spent, with what its calls under way will."""

    def __init__(self, debate: Debate):
        self._debate = debate
        self._under_way: dict[str, float] = {}
        self._unseen = 0.0
        """What calls of this run may have cost of which nothing came back."""

    def take(self, turn_id: str, spec: str, brief: Brief) -> None:
        """Sets the expected cost of a call aside. Paused where that would take the debate over its cap."""
        price = expected(spec, brief)
        cap = self._debate.max_cost
        if cap is not None:
            spent = self.spent() + sum(self._under_way.values())
            if price is None:
                raise Paused(complaint("max_cost", f"{spec}, whose price is unknown", "a price for every call", _HINT))
            if spent + price > cap:
                got = f"${spent:.4f} spent or under way, and about ${price:.4f} more for {turn_id}"
                raise Paused(complaint("max_cost", got, f"at most ${cap:.2f} in all", _HINT))
        self._under_way[turn_id] = price or 0.0

    def give(self, turn_id: str, *, unseen: bool = False) -> None:
        """The call is over; `unseen` says that it may have cost something that is not on record."""
        price = self._under_way.pop(turn_id, 0.0)
        self._unseen += price if unseen else 0.0

    def spent(self) -> float:
        """US dollars on record, with the least that broken answers can have cost."""
        broken = (one.reply for lost in self._debate.unanswered.values() for one in lost if one.reply is not None)
        return bill(self._debate).total.cost + sum(map(_least, broken)) + self._unseen


def _least(reply: Reply) -> float:
    """The least that an answer that broke off has cost: what was counted, and what had come."""
    usage = reply.usage or Usage()
    output = max(usage.output, models.tokens(reply.text))
    return models.cost(reply.by, usage.model_copy(update={"output": output})) or 0.0
