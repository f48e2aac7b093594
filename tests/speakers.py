"""A provider that speaks from a function, and debates driven with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import puppets

from debate_orchestrator import formats, opening
from debate_orchestrator.answers import settle
from debate_orchestrator.briefs import Brief
from debate_orchestrator.core.debate import Debate
from debate_orchestrator.core.events import Reply
from debate_orchestrator.drive import drive
from debate_orchestrator.journal import Writer
from debate_orchestrator.providers import Piece


class Speaker:
    """A provider that answers from a function, and keeps what it was asked."""

    name = "speaker"
    caches = False

    def __init__(self, say: Callable[[Brief], str | None] = lambda brief: None, rounds: int = 2, **more: Any):
        self.say, self.rounds, self.more = say, rounds, more
        self.briefs: list[Brief] = []
        self.speaking = self.most_at_once = 0

    async def close(self) -> None:
        """Nothing is open."""

    async def reply(self, brief: Brief, hear: Piece) -> Reply:
        self.briefs.append(brief)
        self.speaking += 1
        self.most_at_once = max(self.most_at_once, self.speaking)
        await asyncio.sleep(0.05)
        self.speaking -= 1
        said = self.say(brief)
        if said is None:
            made = puppets.reply({"turn": brief.turn, "seat": brief.turn.rpartition(".")[2]}, rounds=self.rounds)
            said = made if isinstance(made, str) else json.dumps(made)
        hear(said)
        return Reply(text=said, brief=brief.digest, by=self.name, **self.more)


def begun(path: Path, judges: int = 1, rounds: int = 2) -> Writer:
    """A journal with an opened debate."""
    given = {"topic": "T", "positions": {"a": "yes", "b": "no"}, "rounds": rounds, "cast": {"judge": ["host"] * judges}}
    return Writer.create(path, opening.opened(settle(given, formats.load("adversarial"), "x.md")))


def driven(journal: Writer, speaker: Speaker, *seats: str) -> Debate:
    debate = Debate(journal.events)
    everybody = seats or ("a", "b", *debate.judges)
    return asyncio.run(drive(journal, debate, dict.fromkeys(everybody, speaker)))
