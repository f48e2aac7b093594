"""What a tournament will take: calls, tokens, cost with its range, and time at the limits. Nothing is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from debate_orchestrator.core.costs import CostLine
from debate_orchestrator.core.events import Usage
from debate_orchestrator.core.phases import JUDGE, judges
from debate_orchestrator.core.values import Value
from debate_orchestrator.engine.estimate import CostEstimate, estimate
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.registry import takes_batches
from debate_orchestrator.tournament.plan import ScheduledDebate, open_scheduled, topics_by_id
from debate_orchestrator.tournament.spec import Limits, Spec
from debate_orchestrator.util import model_spec

MOST_CASTS = 150
"""Casts that are estimated one by one. Of more, so many are, spread evenly, and the rest follows from them."""
BRIEF_ANSWERS, LONG_ANSWERS = 0.5, 2.0
"""The range of the cost: answers half as long as expected, and answers twice as long with nothing read from a cache."""


class Load(Value):
    """What one model has to do."""

    spec: str
    calls: float = 0.0
    usage: Usage = Usage()
    cost: float | None = 0.0
    """US dollars; None if the price is unknown."""
    low: float | None = 0.0
    high: float | None = 0.0


class Forecast(Value):
    """What a schedule will take."""

    debates: int
    loads: tuple[Load, ...]
    """One for each model, by its spec."""
    seconds: float | None
    """The time at the limits, or the time of the calls with so many debates at once if that is longer; None if the
    calls go into batches, which take as long as the provider takes."""
    bound: str
    """What decides on the time, in words."""
    sampled: bool = False
    """Whether only some of the casts were estimated."""

    @property
    def calls(self) -> int:
        return round(sum(load.calls for load in self.loads))

    @property
    def tokens(self) -> tuple[int, int]:
        """Input and output."""
        return sum(load.usage.input for load in self.loads), sum(load.usage.output for load in self.loads)

    def cost(self) -> tuple[float, float, float]:
        """US dollars of the models whose price is known: as expected, at least, at most."""
        priced = [(load.cost, load.low or 0.0, load.high or 0.0) for load in self.loads if load.cost is not None]
        expected, low, high = (sum(column) for column in zip(*priced, strict=True)) if priced else (0.0, 0.0, 0.0)
        return expected, low, high

    @property
    def unknown(self) -> list[str]:
        """The models whose price is unknown."""
        return [load.spec for load in self.loads if load.cost is None]


class _Sum(NamedTuple):
    """The calls of one model in some debates."""

    calls: float
    fresh: float
    cached: float
    written: float
    output: float


def forecast(spec: Spec, debates: Sequence[ScheduledDebate], at_once: int, *, batch: bool = False) -> Forecast:
    """What these debates will take, with so many at once; with `batch`, in batches where the vendor takes them."""
    casts = Counter((debate.pro, debate.con, tuple(sorted(debate.judges))) for debate in debates)
    first = {(debate.pro, debate.con, tuple(sorted(debate.judges))): debate for debate in reversed(debates)}
    chosen = list(casts)[:: max(1, -(-len(casts) // MOST_CASTS))]
    scale = len(debates) / max(1, sum(casts[cast] for cast in chosen))
    topics = topics_by_id(spec.topics)
    sums: dict[str, _Sum] = {}
    seconds = 0.0
    for cast in chosen:
        opened = open_scheduled(spec, first[cast], topics)
        batch = batch and not opened.setup.search  # searches are made alone
        expected = estimate(opened)
        seconds += expected.seconds * casts[cast] * scale
        for model, line in _by_model(expected, opened.cast):
            sums[model] = _added(sums.get(model), line, casts[cast] * scale)
    loads = tuple(_load(model, amount, batch=batch) for model, amount in sums.items())
    if batch and any(takes_batches(load.spec) for load in loads):
        return Forecast(
            debates=len(debates), loads=loads, seconds=None, bound="batches", sampled=len(chosen) < len(casts)
        )
    needed, bound = _time(spec.limits, loads, spec)
    side_by_side = max(1, min(at_once, len(debates)))
    if (running := seconds / side_by_side) >= needed:
        needed, bound = running, f"{side_by_side} debates at once"
    return Forecast(debates=len(debates), loads=loads, seconds=needed, bound=bound, sampled=len(chosen) < len(casts))


def _by_model(expected: CostEstimate, cast: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, CostLine]]:
    """The lines of an estimate, each with the model that it is of."""
    seats = {seat: specs[0] for seat, specs in cast.items() if seat != JUDGE}
    panel = cast.get(JUDGE, ())
    seats |= dict(zip(judges(len(panel)), panel, strict=True))
    for line in expected.bill.lines:
        yield model_spec.real(seats[line.seat]), line


def _added(before: _Sum | None, line: CostLine, times: float) -> _Sum:
    usage = line.usage
    written = usage.written + usage.written_hour
    line_sum = _Sum(line.calls, usage.fresh, usage.cached, written, usage.output)
    scaled = _Sum(*(amount * times for amount in line_sum))
    return scaled if before is None else _Sum(*(one + other for one, other in zip(before, scaled, strict=True)))


def _load(model: str, amount: _Sum, *, batch: bool) -> Load:
    usage = Usage.model_construct(
        fresh=round(amount.fresh), cached=round(amount.cached), written=round(amount.written), written_hour=0,
        output=round(amount.output), searches=0,
    )  # fmt: skip
    low = usage.model_copy(update={"output": round(amount.output * BRIEF_ANSWERS)})
    # Longer answers are also longer input of the calls that follow.
    update = {"fresh": round((usage.input) * LONG_ANSWERS), "cached": 0, "written": 0}
    high = usage.model_copy(update={**update, "output": round(amount.output * LONG_ANSWERS)})
    batch = batch and takes_batches(model)
    costs = [_per_call(model, size, amount.calls, batch=batch) for size in (usage, low, high)]
    return Load(spec=model, calls=amount.calls, usage=usage, cost=costs[0], low=costs[1], high=costs[2])


def _per_call(model: str, usage: Usage, calls: float, *, batch: bool) -> float | None:
    """The price of all calls, from that of a call of average size: prices may depend on the size of a request."""
    if calls <= 0:
        return 0.0
    average = {name: round(getattr(usage, name) / calls) for name in Usage.model_fields}
    cost = pricing.cost(model, Usage.model_construct(**average), batch=batch)
    return None if cost is None else cost * calls


def _time(limits: Mapping[str, Limits], loads: Sequence[Load], spec: Spec) -> tuple[float, str]:
    """Seconds that the strictest limit asks for, and which one that is."""
    needs = [(0.0, "")]
    for key, limit in limits.items():
        own = [load for load in loads if _is_limited(key, load.spec, spec)]
        wanted = {
            "requests": sum(load.calls for load in own),
            "input_tokens": sum(load.usage.input - load.usage.cached for load in own),
            "output_tokens": sum(load.usage.output for load in own),
            "tokens": sum(load.usage.input + load.usage.output for load in own),
        }
        for name, amount in wanted.items():
            if (a_minute := getattr(limit, name)) is not None:
                needs.append((amount / a_minute * 60, f"{key}: {a_minute:,} {name.replace('_', ' ')} a minute"))
    return max(needs)


def _is_limited(key: str, model: str, spec: Spec) -> bool:
    """Whether a limit counts for a model: it names its provider, its spec or its name."""
    names = {one.name for one in (*spec.models, *spec.judges.pool) if model_spec.real(one.spec) == model}
    return key in (model_spec.kind(model), model) or key in names
