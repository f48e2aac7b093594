"""A turn that a person takes knows what is wrong with a reply, and what is being written is kept a moment later."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import puppets
from podiums import Script, taken

from debate_orchestrator.podium.turn import SOON, Keeping
from debate_orchestrator.util.errors import BadFile


def test_what_is_wrong_with_a_reply(here: Path) -> None:
    """A reply is judged as any other speaker's would be, and told without the id of the turn."""
    speech, ballot = taken("1.opening.a", Script(), here), taken("1.verdict.judge", Script(), here)

    assert speech.wrong("I say so.") == []
    [said] = speech.wrong(" ")
    assert said.startswith("the reply is empty")
    assert ballot.wrong(json.dumps(puppets.ballot(rounds=2))) == []
    assert any("scores" in one for one in ballot.wrong("{}"))


def test_what_changes_is_kept_soon(here: Path) -> None:
    """However often something changes, it is kept once in a while, the latest of it, and at the end at once."""
    kept: list[str] = []

    async def typing() -> None:
        keeping = Keeping[str](kept.append)
        for n in range(20):
            keeping.soon(f"text {n}")
        assert kept == []
        await asyncio.sleep(SOON * 1.5)
        assert kept == ["text 19"]
        keeping.soon("last")
        keeping.now()
        keeping.now()
        await asyncio.sleep(SOON * 1.5)

    before = time.monotonic()
    asyncio.run(typing())
    assert kept == ["text 19", "last"]
    assert time.monotonic() - before >= SOON


def test_what_can_not_be_kept_is_told(here: Path) -> None:
    """Where nothing can be written, that is told, and writing goes on; when it can again, it is told no more."""
    full = [True]

    def keep(text: str) -> None:
        if full[0]:
            raise BadFile("no room")

    async def typing() -> None:
        keeping = Keeping[str](keep)
        keeping.soon("one")
        keeping.now()
        assert keeping.trouble == "can't be kept: no room"
        full[0] = False
        keeping.soon("two")
        keeping.now()
        assert keeping.trouble == ""

    asyncio.run(typing())
