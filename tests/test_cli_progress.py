"""What is printed of a turn that takes long, where there is no live view."""

from __future__ import annotations

import asyncio

import pytest
from debates import opening

from debate_orchestrator.cli.progress import ProgressLines
from debate_orchestrator.core.events import Asked, CallFailed
from debate_orchestrator.core.fold import fold


@pytest.mark.parametrize(
    ("model", "silent"), [("openai:x@http://127.0.0.1:9/v1", "reading the prompt"), ("command:cat", "no word yet")]
)
def test_a_slow_turn(model: str, silent: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A server is said to read the prompt until its answer begins, and then to think and to write; nothing is said
    once the call has ended."""
    cast: dict[str, tuple[str, ...]] = {"a": (model,), "b": (model,), "judge": (model,)}
    debate = fold([opening(cast=cast)])
    turn = debate.due[0]

    async def watch() -> None:
        progress = ProgressLines(debate, signs=(0.1, 0.2))
        progress(debate, Asked(turn=turn.id, brief="x", by=model))
        await asyncio.sleep(0.2)
        progress.on_text(turn, "")
        await asyncio.sleep(0.2)
        progress.on_text(turn, "This is what is said. ")
        await asyncio.sleep(0.2)
        progress(debate, CallFailed(turn=turn.id, by=model, trouble="It broke."))
        await asyncio.sleep(0.3)

    asyncio.run(watch())
    lines = [line.strip() for line in capsys.readouterr().err.splitlines() if turn.id in line]

    assert list(dict.fromkeys(line.partition(",")[0] for line in lines)) == [
        f"{turn.id}: {silent}",
        f"{turn.id}: thinking",
        f"{turn.id}: writing",
        f"{turn.id}: It broke.",
    ]
    assert any("writing, about 5 words so far" in line for line in lines)
