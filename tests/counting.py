"""Work, counted in calls of functions: unlike seconds, it is the same on a machine that is busy."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple
from unittest.mock import patch

from debate_orchestrator.util.decoding import DecodedText, Search


def calls(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls."""
    counted = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def calls_without_a_turn(work: Callable[[], Awaitable[object]]) -> int:
    """How many functions a piece of work calls at most before another task of the event loop has its turn."""
    counted = most = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    async def others() -> None:
        nonlocal counted, most
        while True:
            most, counted = max(most, counted), 0
            await asyncio.sleep(0)

    async def both() -> None:
        task = asyncio.create_task(others())
        sys.setprofile(count)
        try:
            await work()
        finally:
            sys.setprofile(None)
            task.cancel()

    asyncio.run(both())
    return max(most, counted)


class Redaction(NamedTuple):
    """What looking for secrets took: the characters of the texts that were searched, and of those that were decoded on
    the way, one number for each time."""

    searched: list[int]
    read: list[int]


@contextmanager
def redaction() -> Iterator[Redaction]:
    """Counts the work of looking for secrets."""
    work = Redaction([], [])
    spans, begun, made, changed = Search.spans, Search.begun, DecodedText.__init__, vars(DecodedText)["_changed"].func

    def count_spans(self: Search, text: str) -> Iterator[tuple[int, int]]:
        work.searched.append(len(text))
        return spans(self, text)

    def count_begun(self: Search, text: str, half: bool) -> Iterator[int]:
        work.searched.append(len(text))
        return begun(self, text, half)

    def count_made(self: DecodedText, text: str, *terms: Any) -> None:
        work.read.append(len(text))
        made(self, text, *terms)

    def count_changed(self: DecodedText) -> object:
        work.read.append(len(self.text))
        return changed(self)

    counted = cached_property(count_changed)
    counted.__set_name__(DecodedText, "_changed")

    with (
        patch.multiple(Search, spans=count_spans, begun=count_begun),
        patch.multiple(DecodedText, __init__=count_made, _changed=counted),
    ):
        yield work
