"""Time limits for code that might wait for ever."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any


def ended(call: Callable[[], Any], seconds: float = 10) -> Any:
    """What a call gave, or the error it raised; AssertionError where it has not ended in that time."""
    found: list[Any] = []

    def held() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = Thread(target=held, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, f"it has not ended in {seconds} seconds"
    return found[0]
