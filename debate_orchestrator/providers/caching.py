"""Prompt caching by design: which calls write a cache, for how long, and where the marks stand.

Calls of one family (the same model, asked for the same kind of reply, hearing the same transcript) send
the same beginning, and each sends more of it than the one before. A mark on the last block that will be
sent again makes a later call of the family read all up to it for a fraction of its price. What nobody
will read again is not written, since writing costs more than sending.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from debate_orchestrator import models
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.rules import JUDGE, Phase

_SLOW = {"host": 600.0, "human": 600.0, "command": 60.0, "replay": 0.0, "rehearse": 0.0}
"""Seconds that a turn may take where no model is called directly; assumed, not measured."""
TO_BEGIN = 5.0
"""Seconds until an answer begins; assumed too, as is how fast it goes on."""
_TOKENS_A_SECOND, _BALLOT = 35.0, 1400
_MARGIN = 0.9
"""The part of a cache's lifetime that a gap may be expected to take."""


class Plan(NamedTuple):
    """What one call does about the cache."""

    write: bool
    """Whether it marks what it sends: since that will be read again, or since without a mark of its own it would
    read nothing of what was written before."""
    hour: bool = False
    """Whether it must be kept for longer than minutes until then."""


class _Call(NamedTuple):
    turn: str
    family: Hashable
    stage: int
    sure: bool
    """False for a turn that is only taken if something is found."""


class _Kept(NamedTuple):
    """What a family has written, as far as can be foreseen."""

    until: float
    lasts: float


_NOTHING = _Kept(-1.0, 0.0)


def plans(debate: Debate) -> dict[str, Plan]:
    """Turn id to what its call does, for every turn that the debate may have."""
    calls: list[_Call] = []
    begins = [0.0]  # seconds from the start at which each stage is expected to begin
    for slot in debate.calendar():
        for seats in slot.stages(debate.speaking_order(), debate.judges):
            stage = len(begins) - 1
            sure = slot.phase.on is None
            calls += [_Call(slot.turn_id(seat), family(debate, slot.phase, seat), stage, sure) for seat in seats]
            taken = max((seconds(filler(debate, seat), slot.phase) for seat in seats), default=0.0)
            begins.append(begins[-1] + (taken if sure else 0.0))
    made: dict[str, Plan] = {}
    kept: dict[Hashable, _Kept] = {}
    for call in calls:
        now = begins[call.stage]
        before = kept.get(call.family, _NOTHING)
        alive = before.until >= now
        made[call.turn] = plan = _plan(call, calls, begins, alive=alive, leader_first=debate.opened.leader_first)
        if plan.write:
            lasts = max(_lasts(hour=plan.hour), before.lasts if alive else 0.0)  # what is read lasts anew
            kept[call.family] = _Kept(now + lasts, lasts)
    return made


def _plan(call: _Call, calls: list[_Call], begins: list[float], *, alive: bool, leader_first: bool) -> Plan:
    """What a call does, where what its family has written may still be `alive`."""
    alike = [one for one in calls if one.family == call.family and one.turn != call.turn]
    later = [one for one in alike if one.sure and one.stage > call.stage]
    gap = begins[later[0].stage] - begins[call.stage] if later else 0.0
    if later and gap <= _lasts(hour=False):
        return Plan(write=True)
    if len(later) > 1 and gap <= _lasts(hour=True):
        return Plan(write=True, hour=True)
    together = leader_first and any(one.stage == call.stage for one in alike)
    return Plan(write=together or alive)


def _lasts(*, hour: bool) -> float:
    """Seconds that a gap may be expected to take so that what was written is still there."""
    rules = models.table().cache
    return _MARGIN * (rules.keeps_hour if hour else rules.keeps)


def filler(debate: Debate, seat: str) -> str:
    """Who fills a seat: `judge-2` is the second of the panel."""
    role, _, number = seat.partition("-")
    return debate.cast[role][int(number) - 1 if number else 0]


def family(debate: Debate, phase: Phase, seat: str) -> Hashable:
    """What calls must have in common to send the same beginning under the same rules of the provider."""
    role = JUDGE if seat.startswith(JUDGE) else seat
    own = seat if debate.format.history == "dialogue" and role != JUDGE else ""
    speeches = [one for one in debate.format.phases() if one.reply == "text"]
    hears = tuple(role in one.heard_by or (seat if role in one.seats else "") for one in speeches)
    return filler(debate, seat), phase.reply, own, role in debate.format.context_heard_by, hears


def seconds(spec: str, phase: Phase) -> float:
    """How long a turn is expected to take."""
    kind = spec.partition(":")[0]
    if kind in _SLOW:
        return _SLOW[kind]
    tokens = models.tokens("x" * 6 * phase.words) if phase.words else _BALLOT
    return TO_BEGIN + tokens / _TOKENS_A_SECOND


def marks(blocks: int) -> list[int]:
    """Which of so many blocks (counted from 0) a call that writes marks: the last, and further ones so close
    together that a read finds the last mark of the family's call before, however much was said since."""
    rules = models.table().cache
    return [place for n in range(rules.breakpoints - 1) if (place := blocks - 1 - n * (rules.lookback - 2)) >= 0][::-1]
