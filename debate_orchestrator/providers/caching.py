"""Prompt caching: which calls write to the provider's cache, for how long, and at which blocks they set a breakpoint.

Calls of one family (the same model, the same kind of reply, the same transcript) begin alike, and each sends more than
the one before. A breakpoint on the last block that will be sent again lets a later call of the family read everything
up to it for a fraction of its price. Writing costs more than sending, so what no call will read again is not written.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from debate_orchestrator.core import schedule
from debate_orchestrator.core.phases import JUDGE, MIRRORED, RAPPORTEUR, Phase, Slot
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.registry import provider_entry

_FIRST_TOKEN_SECONDS = 5.0
"""Seconds until an answer begins. This and the speed of an answer are assumed."""
_TOKENS_A_SECOND = 35.0
_BALLOT_TOKENS = 1400
_MARGIN = 0.9
"""Safety factor: plan for at most 90 % of the TTL, since the times are assumed."""


class CachePlan(NamedTuple):
    """What one call does about the cache."""

    write: bool = False
    """Whether it writes all that will be sent again, because a later call will read it."""
    long_ttl: bool = False
    """Whether that must be kept for an hour instead of minutes."""
    reads: str | None = None
    """The turn at whose breakpoint it reads, where it writes nothing itself. A call reads only up to a breakpoint of
    its own, so it sets one on that very block; one elsewhere would be paid for and never read."""


class _Call(NamedTuple):
    turn: str
    family: Hashable
    stage: int
    certain: bool
    """False for a turn that is only taken if something is found."""


class _CacheEntry(NamedTuple):
    """What a family has in the cache, as far as can be foreseen."""

    turn: str
    until: float
    ttl: float


def cache_plans(debate: DebateState) -> dict[str, CachePlan]:
    """Turn id to what its call does, for every turn that the debate may have."""
    calls, starts = _plan_calls(debate)
    plans: dict[str, CachePlan] = {}
    cache_entries: dict[Hashable, _CacheEntry] = {}
    groups: dict[tuple[int, Hashable], list[_Call]] = {}
    for call in calls:
        groups.setdefault((call.stage, call.family), []).append(call)
    for first, *others in groups.values():
        now = starts[first.stage]
        before = cache_entries.get(first.family)
        before = before if before is not None and before.until >= now else None
        shared = debate.opened.settings.share_cache and bool(others)
        plan = _plan(first, calls, starts, shared=shared)
        if plan.write:
            ttl = max(_lifetime(long_ttl=plan.long_ttl), before.ttl if before else 0.0)  # a read renews what it reads
            cache_entries[first.family] = _CacheEntry(first.turn, now + ttl, ttl)
        elif before is not None:
            plan = CachePlan(reads=before.turn)
            cache_entries[first.family] = before._replace(until=now + before.ttl)
        plans[first.turn] = plan
        # Without a cache writer the calls of a stage start together, so none can read what another writes.
        source = first.turn if shared and plan.write else before.turn if before else None
        plans |= {call.turn: CachePlan(reads=source) for call in others}
    return plans


def _plan_calls(debate: DebateState) -> tuple[list[_Call], list[float]]:
    """Every call that the debate may make, and the seconds from its start at which each stage should begin."""
    calls: list[_Call] = []
    starts = [0.0]
    previous: Slot | None = None
    for slot in debate.plan.slots:
        certain = slot.phase.triggered_by is None
        joins = previous is not None and slot.joins(previous)
        stages = slot.stages(debate.plan.speaking_order, debate.judges, mirror=debate.mirrors(slot.phase))
        for seats in stages:
            stage = len(starts) - (2 if joins else 1)
            calls += [_Call(slot.turn_id(seat), family(debate, slot.phase, seat), stage, certain) for seat in seats]
            duration = max((seconds(spec_in(debate, seat), slot.phase) for seat in seats), default=0.0)
            ends = starts[stage] + (duration if certain else 0.0)
            starts[stage + 1 :] = [max(ends, *starts[stage + 1 :])] if joins else [ends]
        previous = previous if joins else slot if stages else None
    return calls, starts


def _plan(call: _Call, calls: list[_Call], starts: list[float], *, shared: bool) -> CachePlan:
    """Whether the first call of a family in a stage writes: where a later stage reads it in time, or, where the
    cache is `shared`, other calls of its own stage do. Keeping it for an hour costs twice as much, which two reads pay
    for."""
    later = [other for other in calls if other.family == call.family and other.certain and other.stage > call.stage]
    gap = starts[later[0].stage] - starts[call.stage] if later else 0.0
    if later and gap <= _lifetime(long_ttl=False):
        return CachePlan(write=True)
    if len(later) > 1 and gap <= _lifetime(long_ttl=True):
        return CachePlan(write=True, long_ttl=True)
    return CachePlan(write=shared)


def _lifetime(*, long_ttl: bool) -> float:
    caching = pricing.table().cache
    return _MARGIN * (caching.long_ttl if long_ttl else caching.ttl)


def placed_breakpoints(plan: CachePlan, debate: DebateState, blocks: int) -> list[int]:
    """The blocks of a brief at which a call sets breakpoints, counted from 0. The first block is the motion, each
    speech that is heard is one, and the last is the call's own, which never has a breakpoint."""
    if plan.write:
        return breakpoints(blocks - 1)
    if plan.reads is None:
        return []
    return [min(len(schedule.turns_heard(debate, schedule.turn(debate, plan.reads))), blocks - 2)]


def breakpoints(blocks: int) -> list[int]:
    """The indexes of the blocks, of `blocks` shared ones, at which a writing call sets cache breakpoints. The last
    block has one. The others stand so close together that the next call of the family finds one of them: a read
    looks back `lookback` blocks from each of its own breakpoints."""
    caching = pricing.table().cache
    places = (blocks - 1 - n * (caching.lookback - 2) for n in range(caching.breakpoints - 1))
    return [place for place in places if place >= 0][::-1]


def family(debate: DebateState, phase: Phase, seat: str) -> Hashable:
    """What calls must have in common to send the same beginning under the same cache rules."""
    role = JUDGE if seat.startswith(JUDGE) else seat
    dialogue_seat = seat if debate.format.history == "dialogue" and role != JUDGE else ""
    speeches = [other for other in debate.format.phases() if other.reply == "text" or {*other.seats} - {JUDGE}]
    listener = JUDGE if role == RAPPORTEUR else role
    hears = tuple(listener in other.heard_by or (seat if role in other.seats else "") for other in speeches)
    mirrored = seat.endswith(MIRRORED)
    return (
        spec_in(debate, seat),
        phase.reply,
        dialogue_seat,
        listener in debate.format.context_heard_by,
        hears,
        mirrored,
    )


def seconds(spec: str, phase: Phase) -> float:
    """Seconds that a turn is expected to take."""
    provider = provider_entry(spec)
    if provider is not None and provider.seconds is not None:
        return provider.seconds
    tokens = pricing.tokens_of_words(phase.words) if phase.words else _BALLOT_TOKENS
    return _FIRST_TOKEN_SECONDS + tokens / _TOKENS_A_SECOND
