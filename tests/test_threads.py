"""Threads for the work of debates."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from debate_orchestrator.util.threads import in_debate_pool


@pytest.mark.skipif(sys.platform == "win32", reason="only POSIX has fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """A process keeps the pool of the one that it was forked from, and none of its threads, so it makes another."""
    assert asyncio.run(in_debate_pool(os.getpid)) == os.getpid()
    child = os.fork()
    if not child:
        in_time = asyncio.wait_for(in_debate_pool(os.getpid), 10)
        os._exit(0 if asyncio.run(in_time) == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
