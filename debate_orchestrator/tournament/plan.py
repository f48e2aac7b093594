"""The schedule of a tournament: every debate with its sides, judges and seed, the same from the same spec anywhere."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from debate_orchestrator.core.events import Opened
from debate_orchestrator.core.values import Text, Value
from debate_orchestrator.engine import start
from debate_orchestrator.tournament.spec import Model, Spec, debate_settings, eligible
from debate_orchestrator.tournament.topics import Topic
from debate_orchestrator.util.errors import BadSettings

MOST_DEBATES = 200_000


class ScheduledDebate(Value):
    """One debate of a tournament."""

    id: str
    """Also the name of its files."""
    topic: str
    """The topic's id."""
    motion: Text
    category: str
    pro: str
    """The name of the model that argues for the motion."""
    con: str
    first: Literal["pro", "con"]
    """Who speaks first."""
    repetition: int
    seed: int
    judges: tuple[str, ...]
    """The names of the panel."""
    reserve: tuple[str, ...] = ()
    """The names of the other judges who may judge, in the order in which they replace one who fails."""


def make_schedule(spec: Spec) -> tuple[ScheduledDebate, ...]:
    """Every debate, in the order in which they are begun. BadSettings if there are too many."""
    debates: list[ScheduledDebate] = []
    draw = JudgeDraw(spec)
    for pairs in generations(spec):
        count = len(pairs) * len(spec.topics) * spec.repetitions * (1 + (spec.sides == "swapped"))
        if (total := len(debates) + count * (1 + (spec.first == "both"))) > MOST_DEBATES:
            raise BadSettings(f"The schedule has {total:,} debates, and at most {MOST_DEBATES:,} are allowed.")
        for repetition in range(1, spec.repetitions + 1):
            for place, topic in enumerate(spec.topics):
                for pair in pairs:
                    for pro, con in seatings(spec, pair, topic, place, repetition):
                        for first in first_speakers(spec, pro, con, topic, place, repetition):
                            debates.append(_scheduled(spec, draw, topic, pro, con, first, repetition))
    return tuple(debates)


def generations(spec: Spec) -> Iterator[tuple[tuple[str, str], ...]]:
    """The pairs of the spec as it began, then those of each model that was added."""
    yield spec.pairs
    names = [model.name for model in spec.models]
    for name in spec.added:
        yield tuple((name, other) for other in names[: names.index(name)])


def seatings(spec: Spec, pair: tuple[str, str], topic: Topic, place: int, repetition: int) -> list[tuple[str, str]]:
    """Who is pro and who is con, for a pair on a topic: one debate, or both ways round."""
    one, other = pair
    both = [(one, other), (other, one)]
    if spec.sides == "swapped":
        return both
    if spec.sides == "fixed":
        return both[:1]
    if spec.sides == "random":
        return [both[number("side", spec, topic.id, *sorted(pair), repetition) % 2]]
    begin = number("side", spec, *sorted(pair)) + (one > other)  # so that the order in the spec plays no part
    return [both[(begin + place + repetition) % 2]]


def first_speakers(
    spec: Spec, pro: str, con: str, topic: Topic, place: int, repetition: int
) -> list[Literal["pro", "con"]]:
    """Who speaks first: one debate for each."""
    orders: list[Literal["pro", "con"]] = ["pro", "con"]
    if spec.first == "both":
        return orders
    if spec.first == "random":
        return [orders[number("first", spec, topic.id, pro, con, repetition) % 2]]
    if spec.first == "balanced":
        return [orders[(number("first", spec, *sorted((pro, con))) + place + repetition) % 2]]
    return [spec.first]


class JudgeDraw:
    """Draws panels, and keeps count of how often each judge was drawn."""

    def __init__(self, spec: Spec):
        self._spec = spec
        self._eligible: dict[tuple[str, str], list[Model]] = {}
        self._by_topic: Counter[tuple[str, str]] = Counter()
        self._by_pair: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._in_all: Counter[str] = Counter()

    def panel(self, topic: Topic, pro: str, con: str, chance: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The panel of a debate and its reserve, least used first: on the topic, then for the pair, then in all, then
        by chance."""
        pair = tuple(sorted((pro, con)))
        if (pro, con) not in self._eligible:
            self._eligible[pro, con] = eligible(self._spec, pro, con)
        names = [judge.name for judge in self._eligible[pro, con]]
        if self._spec.judges.sample == "balanced":
            use = {
                name: (self._by_topic[name, topic.id], self._by_pair[name, pair], self._in_all[name]) for name in names
            }
            names.sort(key=lambda name: (*use[name], _hash("judge", chance, name)))
        panel = tuple(names[: self._spec.judges.panel])
        for name in panel:
            self._by_topic[name, topic.id] += 1
            self._by_pair[name, pair] += 1
            self._in_all[name] += 1
        return panel, tuple(names[len(panel) :])


def _scheduled(
    spec: Spec, draw: JudgeDraw, topic: Topic, pro: str, con: str, first: Literal["pro", "con"], repetition: int
) -> ScheduledDebate:
    seed = _hash(spec.tag, topic.id, pro, con, repetition) >> 1
    panel, reserve = draw.panel(topic, pro, con, number("judges", spec, topic.id, pro, con, repetition, first))
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


def open_scheduled(spec: Spec, debate: ScheduledDebate, topics: dict[str, Topic] | None = None) -> Opened:
    """The event that opens a scheduled debate."""
    topic = (topics or {topic.id: topic for topic in spec.topics})[debate.topic]
    pro, con = spec.rules.sides
    seated = {pro: spec.model_named(debate.pro).spec, con: spec.model_named(debate.con).spec}
    panel = [spec.model_named(name).spec for name in debate.judges]
    settings = debate_settings(spec, topic, pro if debate.first == "pro" else con, seated, panel)
    settings = settings.model_copy(update={"output": f"{debate.id}.md"})
    return start.make_opening(settings, loaded=(spec.rules, spec.templates), seed=debate.seed)


def number(what: str, spec: Spec, *parts: object) -> int:
    """A number that depends on the spec's tag and seed and on what it is for, and on nothing else."""
    return _hash(what, spec.tag, spec.seed, *parts)


def _hash(*parts: object) -> int:
    text = "\0".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])


def topics_by_id(topics: Sequence[Topic]) -> dict[str, Topic]:
    return {topic.id: topic for topic in topics}
