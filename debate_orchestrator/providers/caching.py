"""Prompt caching by design: which calls write a cache, for how long, and where the marks stand.

Calls of one family (the same model, asked for the same kind of reply, hearing the same transcript) send
the same beginning, and each sends more of it than the one before. A mark on the last block that will be
sent again makes a later call of the family read all up to it for a fraction of its price. What nobody
will read again is not written, since writing costs more than sending.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from debate_orchestrator.core.events import Usage
from debate_orchestrator.core.phases import JUDGE, MIRRORED, Phase
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.pricing import Caching
from debate_orchestrator.util import model_spec

_SLOW = {
    model_spec.HOST: 600.0,
    model_spec.HUMAN: 900.0,
    model_spec.COMMAND: 60.0,
    model_spec.FETCH: 10.0,
    model_spec.OFFLINE: 0.0,
    model_spec.REPLAY: 0.0,
    model_spec.REHEARSE: 0.0,
}
"""Seconds that a turn may take where no model is called directly; assumed, not measured."""
TO_BEGIN = 5.0
"""Seconds until an answer begins; assumed too, as is how fast it goes on."""
_TOKENS_A_SECOND, _BALLOT = 35.0, 1400
_MARGIN = 0.9
"""The part of a cache's lifetime that a gap may be expected to take."""


class CachePlan(NamedTuple):
    """What one call does about the cache."""

    write: bool = False
    """Whether it marks all that will be sent again, because somebody will read it."""
    hour: bool = False
    """Whether it must be kept for longer than minutes until then."""
    reads: str | None = None
    """The turn whose mark it reads, where it writes nothing itself: without a mark of its own in that very place
    a call reads nothing, and a mark in any other place would be paid for and read by nobody."""


class _Call(NamedTuple):
    turn: str
    family: Hashable
    stage: int
    sure: bool
    """False for a turn that is only taken if something is found."""


class _Kept(NamedTuple):
    """What a family has written, as far as can be foreseen."""

    turn: str
    until: float
    lasts: float


def cache_plans(debate: DebateState) -> dict[str, CachePlan]:
    """Turn id to what its call does, for every turn that the debate may have."""
    calls: list[_Call] = []
    begins = [0.0]  # seconds from the start at which each stage is expected to begin
    for slot in debate.calendar():
        for seats in slot.stages(debate.speaking_order(), debate.judges, mirror=debate.mirrors(slot.phase)):
            stage = len(begins) - 1
            sure = slot.phase.on is None
            calls += [_Call(slot.turn_id(seat), family(debate, slot.phase, seat), stage, sure) for seat in seats]
            taken = max((seconds(filler(debate, seat), slot.phase) for seat in seats), default=0.0)
            begins.append(begins[-1] + (taken if sure else 0.0))
    made: dict[str, CachePlan] = {}
    kept: dict[Hashable, _Kept] = {}
    for leader, followers in _groups(calls):
        now = begins[leader.stage]
        before = kept.get(leader.family)
        before = before if before is not None and before.until >= now else None
        plan = _plan(leader, calls, begins, led=debate.opened.leader_first and bool(followers))
        if plan.write:
            lasts = max(_lasts(hour=plan.hour), before.lasts if before else 0.0)  # what is read lasts anew
            kept[leader.family] = _Kept(leader.turn, now + lasts, lasts)
        elif before is not None:
            plan = CachePlan(reads=before.turn)
            kept[leader.family] = before._replace(until=now + before.lasts)
        made[leader.turn] = plan
        led = leader.turn if debate.opened.leader_first and plan.write else before.turn if before else None
        made |= {one.turn: CachePlan(reads=led) for one in followers}
    return made


def _groups(calls: list[_Call]) -> Iterator[tuple[_Call, list[_Call]]]:
    """The calls of each stage by family, in order: who leads, and who follows."""
    groups: dict[tuple[int, Hashable], list[_Call]] = {}
    for call in calls:
        groups.setdefault((call.stage, call.family), []).append(call)
    for leader, *followers in groups.values():
        yield leader, followers


def _plan(call: _Call, calls: list[_Call], begins: list[float], *, led: bool) -> CachePlan:
    """What the first call of its family in a stage does: it writes where a later one will read in time, or where
    others are `led` by it."""
    later = [one for one in calls if one.family == call.family and one.sure and one.stage > call.stage]
    gap = begins[later[0].stage] - begins[call.stage] if later else 0.0
    if later and gap <= _lasts(hour=False):
        return CachePlan(write=True)
    if len(later) > 1 and gap <= _lasts(hour=True):
        return CachePlan(write=True, hour=True)
    return CachePlan(write=led)


def placed_marks(plan: CachePlan, debate: DebateState, blocks: int) -> list[int]:
    """Which of so many blocks of a brief, counted from 0, a call marks. The first is the motion; each speech that
    is heard is one; the last is the call's own, and never marked."""
    if plan.write:
        return marks(blocks - 1)
    if plan.reads is None:
        return []
    return [min(len(debate.heard(debate.turn(plan.reads))), blocks - 2)]


def _lasts(*, hour: bool) -> float:
    """Seconds that a gap may be expected to take so that what was written is still there."""
    rules = pricing.table().cache
    return _MARGIN * (rules.keeps_hour if hour else rules.keeps)


def filler(debate: DebateState, seat: str) -> str:
    """Who fills a seat: `judge-2` is the second of the panel, `judge-2.mirrored` the same."""
    role, _, number = seat.removesuffix(MIRRORED).partition("-")
    return debate.cast[role][int(number) - 1 if number else 0]


def family(debate: DebateState, phase: Phase, seat: str) -> Hashable:
    """What calls must have in common to send the same beginning under the same rules of the provider."""
    role = JUDGE if seat.startswith(JUDGE) else seat
    own = seat if debate.format.history == "dialogue" and role != JUDGE else ""
    speeches = [one for one in debate.format.phases() if one.reply == "text" or {*one.seats} - {JUDGE}]
    hears = tuple(role in one.heard_by or (seat if role in one.seats else "") for one in speeches)
    mirrored = seat.endswith(MIRRORED)
    return filler(debate, seat), phase.reply, own, role in debate.format.context_heard_by, hears, mirrored


def seconds(spec: str, phase: Phase) -> float:
    """How long a turn is expected to take."""
    if model_spec.kind(spec) in _SLOW:
        return _SLOW[model_spec.kind(spec)]
    tokens = pricing.tokens("x" * 6 * phase.words) if phase.words else _BALLOT
    return TO_BEGIN + tokens / _TOKENS_A_SECOND


def marks(blocks: int) -> list[int]:
    """Which of so many blocks (counted from 0) a call that writes marks: the last, and further ones so close
    together that a read finds the last mark of the family's call before, however much was said since."""
    rules = pricing.table().cache
    return [place for n in range(rules.breakpoints - 1) if (place := blocks - 1 - n * (rules.lookback - 2)) >= 0][::-1]


class Call(NamedTuple):
    """One call, as far as a cache is concerned."""

    family: Hashable
    """Calls of one family send the same blocks under the same settings; a later one only sends more of them."""
    blocks: tuple[int, ...]
    """The tokens of each block, in order. The last is the call's own, and is neither marked nor shared."""
    marks: tuple[int, ...]
    """The places of the marked blocks, counted from 0."""
    hour: bool
    """Whether what it writes is kept for an hour instead of minutes."""
    start: float
    begun: float
    """When the first byte of the answer comes."""
    least: int
    """Tokens that a beginning must have to be kept."""


class _CachedPrefix(NamedTuple):
    readable: float
    until: float
    lasts: float


_Place = tuple[Hashable, int]


def counted(calls: Iterable[Call], rules: Caching) -> list[Usage]:
    """What is counted for each call, given in the order in which they start; output is left at nothing."""
    kept: dict[_Place, list[_CachedPrefix]] = {}
    return [_count(call, kept, rules) for call in calls]


def _count(call: Call, kept: dict[_Place, list[_CachedPrefix]], rules: Caching) -> Usage:
    sums = list(accumulate(call.blocks))
    marks = [mark for mark in sorted(call.marks) if sums[mark] >= call.least]
    found = max((_found(call, mark, kept, rules.lookback) for mark in marks), default=-1)
    cached = sums[found] if found >= 0 else 0
    written = max(0, sums[marks[-1]] - cached) if marks else 0
    lasts = rules.keeps_hour if call.hour else rules.keeps
    for mark in marks:
        place = (call.family, mark)
        alive = [one for one in kept.get(place, []) if one.until >= call.start]
        if not any(one.readable <= call.start for one in alive):
            alive.append(_CachedPrefix(call.begun, call.start + lasts, lasts))
        kept[place] = alive
    minutes, hour = (0, written) if call.hour else (written, 0)
    return Usage(fresh=sums[-1] - cached - written, cached=cached, written=minutes, written_hour=hour)


def _found(call: Call, mark: int, kept: dict[_Place, list[_CachedPrefix]], lookback: int) -> int:
    """The last block of what a mark reads, which lasts anew from now on; -1 where there is nothing."""
    for place in range(mark, max(-1, mark - lookback), -1):
        here = kept.get((call.family, place), [])
        if any(one.readable <= call.start <= one.until for one in here):
            kept[call.family, place] = [
                one._replace(until=call.start + one.lasts) if one.readable <= call.start <= one.until else one
                for one in here
            ]
            return place
    return -1
