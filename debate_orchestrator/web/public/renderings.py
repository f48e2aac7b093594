"""Pages, reports and pictures of debates as they are made for visitors: each once, a few at a time, and then kept."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from sys import getsizeof
from typing import Any, NamedTuple

from pydantic import BaseModel

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.reports import report_files
from debate_orchestrator.reports.model import build_report
from debate_orchestrator.reports.reviews import gather_reviews
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.web import folder

_AT_ONCE = 2
"""How many renderings the whole site makes at once."""
_KEPT = 100_000_000
"""Bytes of memory that the renderings that are kept may take. Above this, the one that was last asked for longest ago
is dropped."""

Rendering = str | bytes


class _Request(NamedTuple):
    """A rendering that is asked for and not made yet."""

    visitors: set[str]
    """All who wait for it."""
    turn: asyncio.Future[str]
    """The visitor under whom it is made, as soon as one of them has nothing else made."""
    rendering: asyncio.Task[Rendering]


class Renderings:
    """The renderings of one site. They have threads of their own, so other requests don't wait for them. A visitor has
    one made at a time; the visitor's others wait, and delay no other visitor."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "rendering")
        self._kept: OrderedDict[Hashable, Rendering] = OrderedDict()
        self._size = 0
        self._requests: dict[Hashable, _Request] = {}
        self._busy: set[str] = set()
        """Visitors who have a rendering made."""

    async def get(self, key: Hashable, make: Callable[[], Rendering], visitor: str) -> Rendering:
        """What `make` returns for a key, which changes with what is rendered. Raises what it raises."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._requests:
            turn: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._requests[key] = _Request(set(), turn, asyncio.ensure_future(self._make(key, make, turn)))
        request = self._requests[key]
        request.visitors.add(visitor)
        if visitor not in self._busy:
            self._start(request, visitor)
        return await asyncio.shield(request.rendering)

    def close(self) -> None:
        """Starts nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start(self, request: _Request, visitor: str) -> None:
        if not request.turn.done():
            self._busy.add(visitor)
            request.turn.set_result(visitor)

    async def _make(self, key: Hashable, make: Callable[[], Rendering], turn: asyncio.Future[str]) -> Rendering:
        visitor = await turn
        try:
            rendering = await asyncio.get_running_loop().run_in_executor(self._pool, make)
            self._keep(key, rendering)
            return rendering
        finally:
            del self._requests[key]
            self._busy.discard(visitor)
            waiting = (r for r in self._requests.values() if visitor in r.visitors and not r.turn.done())
            if (oldest := next(waiting, None)) is not None:
                self._start(oldest, visitor)

    def _keep(self, key: Hashable, rendering: Rendering) -> None:
        self._kept[key] = rendering
        self._size += getsizeof(rendering)
        while self._size > _KEPT:
            self._size -= getsizeof(self._kept.popitem(last=False)[1])


def report(path: str) -> str:
    """The report of a journal as HTML. It is the one that `debate report` writes, but for the addresses of the owner's
    model servers, which it leaves out."""
    contents, debate = folder.load(path)
    reviews = gather_reviews(DebateFiles.of_journal(path).ballots, contents.entries)
    return report_files.rendered(
        _replaced(build_report(contents.entries, reviews), _without_addresses(debate)), ".html"
    )


def _without_addresses(debate: DebateState) -> dict[str, str]:
    """Every spec of a debate that has an address, the longest first, to what stands before that."""
    specs = [*model_spec.specs_of(debate.opened.cast), *model_spec.specs_of(debate.cast)]
    specs += [answer.reply.by for answer in debate.replies.values()]
    addressed = {}
    for spec in sorted({model_spec.unrehearsed(spec) for spec in specs}, key=len, reverse=True):
        model, address = model_spec.split_address(model_spec.rest(spec))
        if address is not None:
            addressed[spec] = f"{model_spec.kind(spec)}:{model}"
    return addressed


def _replaced(part: Any, replacements: Mapping[str, str]) -> Any:
    """A part of a report's model with other words for some in every text."""
    if isinstance(part, str):
        for words, others in replacements.items():
            part = part.replace(words, others)
        return part
    if isinstance(part, BaseModel):
        fields = {name: _replaced(getattr(part, name), replacements) for name in type(part).model_fields}
        return part.model_copy(update=fields)
    if isinstance(part, Mapping):
        return {_replaced(key, replacements): _replaced(value, replacements) for key, value in part.items()}
    if isinstance(part, list | tuple):
        items = [_replaced(item, replacements) for item in part]
        return part._make(items) if hasattr(part, "_make") else type(part)(items)
    return part
