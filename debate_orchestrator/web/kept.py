"""Values that are kept in memory as long as they fit into a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """Values by their keys. Above the bound, the one last asked for longest ago is dropped. The newest value that is
    above it by itself is kept beside the others. Threads share them."""

    def __init__(self, most: int) -> None:
        """`most` is in bytes, of the sizes that `put` is given."""
        self._most, self._size = most, 0
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._large: tuple[Hashable, T] | None = None
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """The value of a key; None where it is not kept."""
        with self._lock:
            if self._large and self._large[0] == key:
                return self._large[1]
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keeps a value in place of the former one."""
        with self._lock:
            self._size -= self._values.pop(key, (None, 0))[1]
            if size > self._most:
                self._large = key, value
                return
            if self._large and self._large[0] == key:
                self._large = None
            self._values[key] = value, size
            self._size += size
            while self._size > self._most:
                self._size -= self._values.popitem(last=False)[1][1]
