"""A cache that is bounded by the bytes of what it holds."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
Key: TypeAlias = str | int | tuple["Key", ...] | None
"""Plain values, since keys are told apart by their `repr`: that of an object may be another's later."""


def _digest(key: Key) -> bytes:
    """What stands for a key, which may be as long as an address: its size is always the same."""
    return hashlib.blake2b(repr(key).encode(), digest_size=16).digest()


class SizedCache(Generic[T]):
    """Values by their keys, for several threads. Above the bound, the least recently used values are dropped. Of the
    values that are larger than the bound by themselves, the newest one is kept in addition."""

    def __init__(self, most: int) -> None:
        """`most` is in bytes, of the sizes that `put` is given."""
        self._most, self._size = most, 0
        self._values: OrderedDict[bytes, tuple[T, int]] = OrderedDict()
        self._large: tuple[bytes, T] | None = None
        self._lock = threading.Lock()

    def get(self, key: Key) -> T | None:
        """The value of a key; None where it is not kept."""
        digest = _digest(key)
        with self._lock:
            if self._large and self._large[0] == digest:
                return self._large[1]
            if digest not in self._values:
                return None
            self._values.move_to_end(digest)
            return self._values[digest][0]

    def put(self, key: Key, value: T, size: int) -> None:
        """Keeps a value in place of the former one."""
        digest = _digest(key)
        with self._lock:
            self._size -= self._values.pop(digest, (None, 0))[1]
            if size > self._most:
                self._large = digest, value
                return
            if self._large and self._large[0] == digest:
                self._large = None
            self._values[digest] = value, size
            self._size += size
            while self._size > self._most:
                self._size -= self._values.popitem(last=False)[1][1]
