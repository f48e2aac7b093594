"""A program whose caller is called off while it is being started: nothing of it is left, and no one waits for it."""

from __future__ import annotations

import asyncio
import shlex
from asyncio.base_subprocess import BaseSubprocessTransport
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from test_providers_command import BRIEF, gone, provider

from debate_orchestrator.web.public.moderation import TopicScreener


def asked(of: str, command: str) -> Coroutine[Any, Any, object]:
    if of == "speaker":
        return provider(f"command:{command}").reply(BRIEF, str)
    return TopicScreener(command).reason({"topic": "x"})


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("of", ["speaker", "topic moderator"])
def test_nothing_is_left_of_a_start_that_is_called_off(
    here: Path, monkeypatch: pytest.MonkeyPatch, of: str, times: int
) -> None:
    """The program has started another already, which has its output, by the time its pipes are connected. Called off
    again, it ends too."""
    pid, connect = here / "pid", BaseSubprocessTransport._connect_pipes  # type: ignore[attr-defined]

    async def cancelled() -> None:
        going_on = asyncio.Event()

        async def slow(transport: Any, waiter: Any) -> None:
            await going_on.wait()
            await connect(transport, waiter)

        monkeypatch.setattr(BaseSubprocessTransport, "_connect_pipes", slow)
        asking = asyncio.ensure_future(asked(of, shlex.join(["sh", "-c", "sleep 600 & echo $! >pid; wait"])))
        async with asyncio.timeout(60):
            while not pid.exists() or not pid.read_text(encoding="ascii").endswith("\n"):
                await asyncio.sleep(0.01)
            for _ in range(times):
                asking.cancel()
                await asyncio.sleep(0.01)
            going_on.set()
            with pytest.raises(asyncio.CancelledError):
                await asking

    asyncio.run(cancelled())
    assert gone(int(pid.read_text(encoding="ascii")))
