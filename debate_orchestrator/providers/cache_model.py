"""What a provider's prompt cache will count for a series of calls, by its documented rules.

A call writes at its marks and nowhere else. It reads the longest beginning that some call of its family has
marked, looking back a number of blocks from each of its own marks. What is kept lasts from the start of the
request that wrote it, anew with every read, and can be read once that request's answer has begun: calls that
begin together each write. Beginnings that are too short are silently not kept. Times are seconds from any
moment; there is no clock in here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import accumulate
from typing import NamedTuple

from debate_orchestrator.core.events import Usage
from debate_orchestrator.models import Caching


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


class _Kept(NamedTuple):
    readable: float
    until: float
    lasts: float


_Place = tuple[Hashable, int]


def counted(calls: Iterable[Call], rules: Caching) -> list[Usage]:
    """What is counted for each call, given in the order in which they start; output is left at nothing."""
    kept: dict[_Place, list[_Kept]] = {}
    return [_count(call, kept, rules) for call in calls]


def _count(call: Call, kept: dict[_Place, list[_Kept]], rules: Caching) -> Usage:
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
            alive.append(_Kept(call.begun, call.start + lasts, lasts))
        kept[place] = alive
    minutes, hour = (0, written) if call.hour else (written, 0)
    return Usage(fresh=sums[-1] - cached - written, cached=cached, written=minutes, written_hour=hour)


def _found(call: Call, mark: int, kept: dict[_Place, list[_Kept]], lookback: int) -> int:
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
