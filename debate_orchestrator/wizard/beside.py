"""Work that goes on beside the conversation, so that nobody waits for it who need not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def beside(work: Callable[[], T]) -> Future[T]:
    """What `work` will have returned, or raised. A process that ends does not wait for it."""
    coming: Future[T] = Future()

    def run() -> None:
        try:
            coming.set_result(work())
        except BaseException as error:  # it belongs to whoever asks for the result
            coming.set_exception(error)

    Thread(target=run, daemon=True).start()
    return coming
