"""Prompt caching: which calls write to the provider's cache, for how long, and at which blocks they set a breakpoint.

Calls with one cache key (the same model, the same kind of reply, the same transcript) begin alike, and each sends more
than the one before. A breakpoint on the last block that will be sent again lets a later call with the same key read
everything up to it for a fraction of its price. Writing costs more than sending, so what no call will read again is not
written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from debate_orchestrator.core import schedule
from debate_orchestrator.core.phases import JUDGE, MIRRORED, RAPPORTEUR, Phase, Slot
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.providers import pricing
from debate_orchestrator.providers.registry import provider_entry


class CachePlan(NamedTuple):
    """One call's use of the cache."""

    write: bool = False
    """Whether it writes all that will be sent again, because a later call will read it."""
    long_ttl: bool = False
    """Whether that must be kept for an hour instead of minutes."""
    reads: str | None = None
    """If it writes nothing: the turn that wrote what it reads. A call reads only up to a breakpoint of its own, so it
    sets one on the block where that turn set its breakpoint. One elsewhere would be paid for and never read."""


class _Call(NamedTuple):
    turn_id: str
    cache_key: Hashable
    is_certain: bool
    """False for a turn that is only taken if something is found."""


def cache_plans(debate: DebateState) -> dict[str, CachePlan]:
    """Turn id to what its call does, for every turn that the debate may have. The first call with a cache key in a
    stage writes if a later stage is sure to read it or, where the cache is shared, for the other calls of its stage. In
    a debate with a seat whose turns outlast the cache's short TTL, such as a person or a host, it writes for an hour.
    That costs twice as much, which two later reads pay for."""
    entries = [provider_entry(spec) for seat in debate.active_seats for spec in debate.cast[seat]]
    has_slow_seat = any(entry is not None and (entry.seconds or 0) > pricing.table().cache.ttl for entry in entries)
    stages = _stages(debate)
    plans: dict[str, CachePlan] = {}
    writers: dict[Hashable, str] = {}
    for n, stage in enumerate(stages):
        turns_by_key: dict[Hashable, list[str]] = {}
        for call in stage:
            turns_by_key.setdefault(call.cache_key, []).append(call.turn_id)
        later = Counter(call.cache_key for other in stages[n + 1 :] for call in other if call.is_certain)
        for key, (first, *others) in turns_by_key.items():
            read_again = later[key] > (1 if has_slow_seat else 0)
            shared = debate.opened.settings.share_cache and bool(others)
            earlier_writer = writers.get(key)
            if read_again or shared:
                plans[first] = CachePlan(write=True, long_ttl=has_slow_seat and read_again)
                writers[key] = first
            else:
                plans[first] = CachePlan(reads=earlier_writer)
            # Unless the cache is shared, the calls of a stage start together, and none can read what another writes.
            plans |= {turn: CachePlan(reads=first if shared else earlier_writer) for turn in others}
    return plans


def _stages(debate: DebateState) -> list[list[_Call]]:
    """Every call that the debate may make, by the stages in which they start together."""
    stages: list[list[_Call]] = []
    previous: Slot | None = None
    for slot in debate.plan.slots:
        is_certain = slot.phase.triggered_by is None
        joins = previous is not None and slot.joins(previous)
        slot_stages = slot.stages(debate.plan.speaking_order, debate.judges, mirror=debate.opened.mirrors(slot.phase))
        for seats in slot_stages:
            calls = [_Call(slot.turn_id(seat), cache_key(debate, slot.phase, seat), is_certain) for seat in seats]
            if joins:
                stages[-1] += calls
            else:
                stages.append(calls)
        previous = previous if joins else slot if slot_stages else None
    return stages


def placed_breakpoints(plan: CachePlan, debate: DebateState, blocks: int) -> list[int]:
    """The blocks of a brief at which a call sets breakpoints, counted from 0. The first block is the topic, each
    speech that is heard is one, and the last is the call's own, which never has a breakpoint."""
    if plan.write:
        return breakpoints(blocks - 1)
    if plan.reads is None or plan.reads not in debate.turns:  # a turn of a round that is left out
        return []
    return [min(len(schedule.turns_heard(debate, schedule.turn(debate, plan.reads))), blocks - 2)]


def breakpoints(blocks: int) -> list[int]:
    """The indexes of the blocks, of `blocks` shared ones, at which a writing call sets cache breakpoints. The last
    block has one. The others are so close together that the next call with the same key finds one of them: a read
    looks back `lookback_blocks` from each of its own breakpoints."""
    caching = pricing.table().cache
    indexes = (blocks - 1 - n * (caching.lookback_blocks - 2) for n in range(caching.max_breakpoints - 1))
    return [index for index in indexes if index >= 0][::-1]


def cache_key(debate: DebateState, phase: Phase, seat: str) -> Hashable:
    """The key that calls share if they send the same beginning under the same cache rules."""
    role = JUDGE if seat.startswith(JUDGE) else seat
    dialogue_seat = seat if debate.format.history == "dialogue" and role != JUDGE else ""
    speeches = [
        speech_phase
        for speech_phase in debate.format.phases()
        if speech_phase.reply == "text" or {*speech_phase.seats} - {JUDGE}
    ]
    listener = JUDGE if role == RAPPORTEUR else role
    hears = tuple(
        listener in speech_phase.heard_by or (seat if role in speech_phase.seats else "") for speech_phase in speeches
    )
    mirrored = seat.endswith(MIRRORED)
    return (
        spec_in(debate, seat),
        phase.reply,
        dialogue_seat,
        listener in debate.format.context_heard_by,
        hears,
        mirrored,
    )
