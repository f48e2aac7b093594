"""A provider that speaks from a function, and debates driven with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import reply_codes
import scripted_replies

from debate_orchestrator.core.fold import CurrentState, fold
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import start
from debate_orchestrator.engine.debate import drive, open_journal
from debate_orchestrator.engine.turn import RunOptions
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.setup.answers import make_settings
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.paths import DebateFiles


class Speaker(Provider):
    """A provider that answers from a function, and keeps what it was asked."""

    name = "speaker"

    def __init__(self, say: Callable[[Brief], str | None] = lambda brief: None, rounds: int = 2, **more: Any):
        self.say, self.rounds, self.more = say, rounds, more
        self.briefs: list[Brief] = []
        self.speaking = self.most_at_once = 0

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        self.briefs.append(brief)
        self.speaking += 1
        self.most_at_once = max(self.most_at_once, self.speaking)
        await asyncio.sleep(0.01)
        self.speaking -= 1
        said: str | dict[str, Any] | None = self.say(brief)
        if said is None:
            said = scripted_replies.reply(
                {"turn": brief.turn_id, "seat": brief.turn_id.rpartition(".")[2]}, rounds=self.rounds
            )
        said = reply_codes.coded(brief.messages[-1].parts[-1], said)
        on_text(said)
        return Reply(text=said, brief_digest=brief.digest, spec=self.name, **self.more)


def begun(path: Path, judges: int = 1, rounds: int = 2, **more: Any) -> JournalWriter:
    """A journal with an opened debate."""
    given = {"topic": "T", "positions": {"a": "yes", "b": "no"}, "rounds": rounds, "cast": {"judge": ["host"] * judges}}
    given |= {"issues": False, "brief": False}
    given |= more
    return JournalWriter.create(path, start.make_opened(make_settings(given, loader.load("adversarial"), "x.md")))


async def take_turns(
    journal: JournalWriter, current: CurrentState, seats: Mapping[str, Provider], **options: Any
) -> DebateState:
    """Drives the debate of a journal, from a state of its own; `options` are those of `RunOptions`."""
    opened = replace(open_journal(journal, DebateFiles.of_journal(journal.path)), current=current)
    await drive(opened, seats, RunOptions(**options))
    return current.state


def driven(journal: JournalWriter, speaker: Speaker, *seats: str) -> DebateState:
    debate = fold(journal.events)
    speaking_seats = seats or ("a", "b", *debate.judges)
    current = CurrentState(debate)
    return asyncio.run(take_turns(journal, current, dict.fromkeys(speaking_seats, speaker)))
