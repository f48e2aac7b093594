"""The plan of a tournament: every debate with its sides, judges and seed, the same from the same spec anywhere; and the
calls, tokens, cost and time that they will take. Nothing is called."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from pydantic import Field

from debate_orchestrator.core.costs import CostLine
from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.phases import JUDGE, judge_seats
from debate_orchestrator.core.reply import Usage
from debate_orchestrator.core.values import FrozenModel, Text
from debate_orchestrator.engine import start
from debate_orchestrator.engine.budget import CostEstimate, estimate_debate
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.registry import takes_batches
from debate_orchestrator.tournament.rows import Side
from debate_orchestrator.tournament.spec import (
    RateLimits,
    Topic,
    TournamentSpec,
    debate_settings,
    declared_prices,
    may_judge,
)
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadFormat, BadSettings

MAX_DEBATES = 100_000


class ScheduledDebate(FrozenModel):
    id: str
    """Also the name of its files."""
    topic_id: str = Field(alias="topic")
    motion: Text
    category: str
    pro: str
    """The name of the model that argues for the topic."""
    con: str
    first: Side
    repetition: int
    """From 1: how often the pair debates the topic in this way, each time as a debate of its own."""
    seed: int
    judges: tuple[str, ...]
    reserve: tuple[str, ...] = ()
    """The names of the other judges who may judge, in the order in which they replace one who fails."""


def make_schedule(spec: TournamentSpec) -> tuple[ScheduledDebate, ...]:
    """Every debate, in the order in which they are begun. Raises BadSettings if there are too many."""
    debates: list[ScheduledDebate] = []
    draw = JudgeDraw(spec)
    for pairs in pairs_by_addition(spec):
        count = len(pairs) * len(spec.topics) * spec.repetitions * (1 + (spec.sides == "swapped"))
        if (total := len(debates) + count * (1 + (spec.first == "both"))) > MAX_DEBATES:
            raise BadSettings(f"The schedule has {total:,} debates, and at most {MAX_DEBATES:,} are allowed.")
        for repetition in range(1, spec.repetitions + 1):
            for topic_index, topic in enumerate(spec.topics):
                for pair in pairs:
                    for pro, con in seatings(spec, pair, topic, topic_index, repetition):
                        for first in first_speakers(spec, pro, con, topic, topic_index, repetition):
                            debates.append(_scheduled(spec, draw, topic, pro, con, first, repetition))
    return tuple(debates)


SCHEDULE_PREFIX = b'[\n{"id": "'
"""The beginning of every file with a schedule."""


def schedule_text(schedule: Sequence[ScheduledDebate]) -> str:
    """A schedule as JSON, with a debate in each line."""
    lines = ",\n".join(json.dumps(scheduled.model_dump(mode="json"), ensure_ascii=False) for scheduled in schedule)
    return f"[\n{lines}\n]\n"


def pairs_by_addition(spec: TournamentSpec) -> Iterator[tuple[tuple[str, str], ...]]:
    """The pairs of the spec as it began, then those of each model that was added."""
    yield spec.pairs
    names = [model.name for model in spec.models]
    for name in spec.added:
        yield tuple((name, other) for other in names[: names.index(name)])


def seatings(
    spec: TournamentSpec, pair: tuple[str, str], topic: Topic, topic_index: int, repetition: int
) -> list[tuple[str, str]]:
    """The sides of a pair on a topic: one debate, or both ways round."""
    first, second = pair
    both_ways = [(first, second), (second, first)]
    if spec.sides == "swapped":
        return both_ways
    if spec.sides == "fixed":
        return both_ways[:1]
    if spec.sides == "random":
        return [both_ways[pseudo_random("side", spec, topic.id, *sorted(pair), repetition) % 2]]
    begin = pseudo_random("side", spec, *sorted(pair)) + (first > second)  # so that the order in the spec plays no part
    return [both_ways[(begin + topic_index + repetition) % 2]]


def first_speakers(
    spec: TournamentSpec, pro: str, con: str, topic: Topic, topic_index: int, repetition: int
) -> list[Side]:
    orders: list[Side] = ["pro", "con"]
    if spec.first == "both":
        return orders[:1] if spec.loaded_format.has_no_first_speaker else orders
    if spec.first == "random":
        return [orders[pseudo_random("first", spec, topic.id, pro, con, repetition) % 2]]
    if spec.first == "balanced":
        position = topic_index + repetition
        if spec.sides == "balanced" and spec.order_within_sides:
            # Sides alternate too: the order changes half as often, or the two would stay locked.
            position = (topic_index * spec.repetitions + repetition - 1) // 2
        return [orders[(pseudo_random("first", spec, *sorted((pro, con))) + position) % 2]]
    return [spec.first]


class JudgeDraw:
    """Draws panels, and keeps count of how often each judge was drawn."""

    def __init__(self, spec: TournamentSpec):
        self._spec = spec
        self._eligible: dict[tuple[str, str], list[str]] = {}
        self._by_topic: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._by_pair: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self._in_all: Counter[str] = Counter()

    def panel(self, topic: Topic, pro: str, con: str, tie_break: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The panel of a debate and its reserve, least used first: on the topic, for the pair, in total, by chance."""
        if (pro, con) not in self._eligible:
            self._eligible[pro, con] = [judge.name for judge in may_judge(self._spec, pro, con)]
        names = self._eligible[pro, con]
        counts = (self._by_topic[topic.id], self._by_pair[tuple(sorted((pro, con)))], self._in_all)
        if self._spec.judges.sample == "balanced":
            on_topic, of_pair, in_all = (count.get for count in counts)
            drawn = partial(_hash, "judge", tie_break)
            names = sorted(names, key=lambda name: (on_topic(name, 0), of_pair(name, 0), in_all(name, 0), drawn(name)))
        panel = tuple(names[: self._spec.judges.panel_size])
        for count in counts:
            count.update(panel)
        return panel, tuple(names[len(panel) :])


def _scheduled(
    spec: TournamentSpec, draw: JudgeDraw, topic: Topic, pro: str, con: str, first: Side, repetition: int
) -> ScheduledDebate:
    seed = _hash(spec.tag, topic.id, pro, con, repetition) >> 1
    panel, reserve = draw.panel(topic, pro, con, pseudo_random("judges", spec, topic.id, pro, con, repetition, first))
    slug = re.sub("[^A-Za-z0-9]+", "-", topic.id)[:40].strip("-").lower() or "topic"
    return ScheduledDebate(
        id=f"{slug}-{_hash('id', spec.tag, topic.id, pro, con, first, repetition):016x}",
        topic=topic.id,
        motion=topic.motion,
        category=topic.category,
        pro=pro,
        con=con,
        first=first,
        repetition=repetition,
        seed=seed,
        judges=panel,
        reserve=reserve,
    )


def open_scheduled(spec: TournamentSpec, scheduled: ScheduledDebate, topic: Topic) -> Opened:
    pro, con = spec.loaded_format.sides
    side_specs = {pro: spec.model_named(scheduled.pro).spec, con: spec.model_named(scheduled.con).spec}
    panel = [spec.model_named(name).spec for name in scheduled.judges]
    settings = debate_settings(spec, topic, pro if scheduled.first == "pro" else con, side_specs, panel)
    settings = settings.model_copy(update={"output": f"{scheduled.id}.md"})
    return start.make_opened(settings, loaded=(spec.loaded_format, spec.templates), seed=scheduled.seed)


def pseudo_random(purpose: str, spec: TournamentSpec, *parts: object) -> int:
    """A pseudo-random number that depends only on the spec's tag and seed and on its purpose."""
    return _hash(purpose, spec.tag, spec.seed, *parts)


def _hash(*parts: object) -> int:
    text = "".join(f"{part}\0" for part in parts[:-1]) + str(parts[-1])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])


MAX_ESTIMATED = 100
"""Debates of which an estimate is made. If there are more, these are a random sample that represents all."""
SHORT_REPLIES, LONG_REPLIES = 0.5, 2.0
"""The range of the cost: replies half as long as expected, and replies twice as long with nothing read from a cache."""


class CostRange(NamedTuple):
    """US dollars."""

    expected: float
    low: float
    high: float


class ModelEstimate(NamedTuple):
    model: str
    calls: float
    usage: Usage
    cost: CostRange | None
    """None if the price is unknown."""


class TournamentEstimate(NamedTuple):
    """The expected calls, cost and time of a schedule."""

    debates: int
    models: tuple[ModelEstimate, ...]
    sampled: bool
    """Whether only some of the debates were estimated."""
    seconds: float | None
    """The time at the limits, or the time of the calls with so many debates at once if that is longer; None if the
    calls go into batches, which take as long as the provider takes."""
    bound: str
    """The limit that decides on the time, in words."""

    @property
    def calls(self) -> int:
        return round(sum(estimate.calls for estimate in self.models))

    @property
    def tokens(self) -> tuple[int, int]:
        """Input and output."""
        usages = [estimate.usage for estimate in self.models]
        return sum(usage.input for usage in usages), sum(usage.output for usage in usages)

    @property
    def cost(self) -> CostRange:
        """That of the models whose price is known."""
        costs = [estimate.cost for estimate in self.models if estimate.cost is not None]
        return CostRange(*map(sum, zip(*costs, strict=True))) if costs else CostRange(0.0, 0.0, 0.0)

    @property
    def unpriced_models(self) -> list[str]:
        """The models whose price is unknown."""
        return [estimate.model for estimate in self.models if estimate.cost is None]


def estimate_tournament(
    spec: TournamentSpec, debates: Sequence[ScheduledDebate], concurrency: int, *, batch: bool = False
) -> TournamentEstimate:
    """The estimate for these debates, with so many at once; with `batch`, in batches where the provider takes them."""
    amounts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds, sample = 0.0, list(debates)
    if len(debates) > MAX_ESTIMATED:
        sample = random.Random(spec.seed).sample(sample, MAX_ESTIMATED)
    factor = len(debates) / max(1, len(sample))
    topics = {topic.id: topic for topic in spec.topics}
    rehearsal = all(map(model_spec.is_stand_in, model_spec.specs_of(spec.whole_cast)))
    for scheduled in sample:
        opened = open_scheduled(spec, scheduled, topics[scheduled.topic_id])
        expected = estimate_debate(opened, prices_stand_ins=True)
        if expected.not_estimated_because:
            raise BadFormat(f"{spec.format}: no debate by it can be estimated: {expected.not_estimated_because}.")
        seconds += expected.seconds * factor
        for seat_model, line in _by_model(expected, opened.cast):
            if rehearsal or not model_spec.is_stand_in(seat_model):
                taken = {"calls": line.calls, **{name: getattr(line.usage, name) for name in Usage.model_fields}}
                total = amounts[model_spec.without_rehearse(seat_model)]
                total.update({name: amount * factor for name, amount in taken.items()})
    batched = batch and not spec.settings.get("search")  # searches are made alone
    with declared_prices(spec):
        models = tuple(_model_estimate(model, total, batch=batched) for model, total in amounts.items())
    concurrent = max(1, min(concurrency, len(debates)))
    running = seconds / concurrent, f"{concurrent} concurrent debates"
    needed_seconds, bound = max(_time(spec.limits, models, spec), running, key=lambda time: time[0])
    in_batches = batched and any(takes_batches(estimate.model) for estimate in models)
    return TournamentEstimate(
        debates=len(debates),
        models=models,
        sampled=len(sample) < len(debates),
        seconds=None if in_batches else needed_seconds,
        bound="batches" if in_batches else bound,
    )


def _by_model(expected: CostEstimate, cast: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, CostLine]]:
    seats = {seat: specs[0] for seat, specs in cast.items() if seat != JUDGE}
    panel = cast.get(JUDGE, ())
    seats |= dict(zip(judge_seats(len(panel)), panel, strict=True))
    for line in expected.costs.lines:
        yield seats[line.seat], line


def _model_estimate(model: str, amounts: Mapping[str, float], *, batch: bool) -> ModelEstimate:
    usage = Usage.model_construct(None, **{name: round(amounts[name]) for name in Usage.model_fields})
    low = usage.model_copy(update={"output": round(amounts["output"] * SHORT_REPLIES)})
    # Longer answers are also longer input of the calls that follow.
    longer = {"uncached_input": round(usage.input * LONG_REPLIES), "output": round(amounts["output"] * LONG_REPLIES)}
    high = usage.model_copy(update={"cached": 0, "cache_write_5m": 0, "cache_write_1h": 0, **longer})
    batch = batch and takes_batches(model)
    costs = [_cost(model, size, amounts["calls"], batch=batch) for size in (usage, low, high)]
    known = [cost for cost in costs if cost is not None]
    return ModelEstimate(model, amounts["calls"], usage, CostRange(*known) if known == costs else None)


def _cost(model: str, usage: Usage, calls: float, *, batch: bool) -> float | None:
    """The price of all calls, from that of a call of average size: prices may depend on the size of a request. None if
    it is unknown."""
    if calls <= 0:
        return 0.0
    average = {name: round(getattr(usage, name) / calls) for name in Usage.model_fields}
    cost = pricing.cost(model, Usage.model_construct(**average), batch=batch)
    return None if cost is None else cost * calls


def _time(limits: Mapping[str, RateLimits], models: Sequence[ModelEstimate], spec: TournamentSpec) -> tuple[float, str]:
    """Seconds that the strictest limit asks for, and which one that is."""
    needs = [(0.0, "")]
    names: defaultdict[str, set[str]] = defaultdict(set)
    for model in (*spec.models, *spec.judges.pool):
        names[model_spec.without_rehearse(model.spec)].add(model.name)
    for key, limit in limits.items():
        # A limit names a provider, each of whose servers it holds for, the spec of a model or its name.
        models_by_server: defaultdict[str, list[ModelEstimate]] = defaultdict(list)
        for estimate in models:
            if key in {model_spec.kind(estimate.model), estimate.model, *names[estimate.model]}:
                models_by_server[model_spec.server(estimate.model)].append(estimate)
        for name, amount in chain.from_iterable(_amounts(group).items() for group in models_by_server.values()):
            if (per_minute := getattr(limit, name)) is not None:
                needs.append((amount / per_minute * 60, f"{key}: {per_minute:,} {name.replace('_', ' ')} per minute"))
    return max(needs)


def _amounts(models: Sequence[ModelEstimate]) -> dict[str, float]:
    """The requests and tokens of these models, by the names of the fields of `RateLimits`."""
    return {
        "requests": sum(estimate.calls for estimate in models),
        "input_tokens": sum(estimate.usage.input - estimate.usage.cached for estimate in models),
        "output_tokens": sum(estimate.usage.output for estimate in models),
        "tokens": sum(estimate.usage.input + estimate.usage.output for estimate in models),
    }
