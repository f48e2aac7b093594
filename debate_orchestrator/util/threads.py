"""Threads for the work of debates alone: what is saved, and what is shown of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

T = TypeVar("T")
_AT_ONCE = 16
"""Threads: many debates may wait for the disk at once, and none of them needs the processor meanwhile."""


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, "debates")


if hasattr(os, "register_at_fork"):  # a process that was forked has the pool, but none of its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


async def in_own_thread(work: Callable[[], T]) -> T:
    """What `work` returns, in the context of the task. `asyncio.to_thread` shares its threads with providers, functions
    of users and look-ups of hosts: those that never end would hold up every debate."""
    return await asyncio.get_running_loop().run_in_executor(_pool(), copy_context().run, work)
