"""THE LOOP: fold, turns, briefs, providers, replies, append.

The turns of a stage are independent and run at once. Every answer of a stage is written down before
the first failure is told, because answers cost money. Seats without a provider (`host`) have nobody to
call: the loop runs all that it can and returns, and their turns stay due. How one turn is asked for
until it is settled is `calls`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import Budget
from debate_orchestrator.engine.turn import OnEvent, OnText, TurnRunner
from debate_orchestrator.providers.registry import Provider
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_retry import UnsavedEvents


async def run_loop(
    journal: JournalWriter,
    debate: DebateState,
    providers: Mapping[str, Provider],
    on_event: OnEvent | None = None,
    on_text: OnText | None = None,
    stop: asyncio.Event | None = None,
    budget: Budget | None = None,
    unsaved: UnsavedEvents | None = None,
) -> DebateState:
    """Runs a debate until it is complete, only seats without a provider are due, or `stop` is set.

    `debate` is the fold of the journal's events, and is kept in step with it. `watch` is told each event,
    `hear` each piece of an answer as it comes. Once `stop` is set nobody is asked any more, and the answers
    under way are awaited. `purse` pays where debates share what they may cost; in `unsaved` answers wait
    while the disk is full. Raises the first failure of a
    provider after its siblings' answers are saved; OverCap where a call would take the debate over its cap.
    """
    stop = stop or asyncio.Event()
    calls = TurnRunner(journal, debate, stop, on_event, on_text, budget, unsaved)
    try:
        while not stop.is_set() and (turns := [turn for turn in debate.due() if turn.seat in providers]):
            settling = calls.together([(turn, providers[turn.seat]) for turn in turns])
            ended = await asyncio.gather(*settling, return_exceptions=True)
            for failure in ended:
                if isinstance(failure, BaseException):
                    raise failure
    finally:
        for provider in {id(one): one for one in providers.values()}.values():
            await provider.close()
    return debate
