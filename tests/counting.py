"""Work, counted in calls of functions: unlike seconds, it is the same on a machine that is busy."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable


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
