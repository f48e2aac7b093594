"""Time without waiting: what is waited for has come, and the clock of the event loop says when."""

from __future__ import annotations

import asyncio
import selectors


class FakeClockLoop(asyncio.SelectorEventLoop):
    """An event loop that skips every wait. What comes without a timer, such as the end of a process, it waits for
    as others do."""

    def __init__(self) -> None:
        self.now = 0.0
        chosen = selectors.DefaultSelector()
        select = chosen.select

        def select_and_skip(timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            ready = select(None if timeout is None else 0)
            self.now += 0 if ready else timeout or 0
            return ready

        chosen.select = select_and_skip  # type: ignore[method-assign]
        super().__init__(chosen)

    def time(self) -> float:
        return self.now


def skipped_seconds() -> float:
    """The seconds that the running loop has skipped."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, FakeClockLoop)
    return loop.now
