"""Forms that may come twice, by a double click or because the first answer took long: both get what the first began."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from typing import Any

_MAX_BEGUN = 1_000
"""Forms of which it is known what they began."""


class RepeatedForms:
    """What forms began, by the value that their page sends as `form_key`."""

    def __init__(self) -> None:
        self._begun: dict[str, asyncio.Task[str]] = {}

    async def begin(self, form_key: str, begin: Callable[[], Coroutine[Any, Any, str]], *form: object) -> str:
        """What `begin` returns; where it was begun by the same value and the same `form` before, what it returned then.
        It goes on however the browser leaves. After an error it may be begun again. Without a value it is always
        begun."""
        key = hashlib.sha256(repr((form_key, form)).encode("utf-8", "surrogatepass")).hexdigest()
        begun = self._begun.get(key) if form_key else None
        if begun is None:
            begun = asyncio.ensure_future(begin())
            if form_key:
                self._keep(key, begun)
        return await asyncio.shield(begun)

    def _keep(self, key: str, begun: asyncio.Task[str]) -> None:
        def forget_failed(task: asyncio.Task[str]) -> None:
            if (task.cancelled() or task.exception()) and self._begun.get(key) is task:
                del self._begun[key]

        self._begun[key] = begun
        begun.add_done_callback(forget_failed)
        while len(self._begun) > _MAX_BEGUN:
            del self._begun[next(iter(self._begun))]
