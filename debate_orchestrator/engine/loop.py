"""The debate loop: due turns, briefs, provider calls, answers, journal.

The turns of a stage are independent and run at once. Every answer of a stage is written down before the first failure
is raised, because answers cost money. A seat filled by the host has no provider: the loop runs all it can and returns,
and the host's turns stay due. `engine.turn` runs a single turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.budget import Budget
from debate_orchestrator.engine.turn import OnBrief, OnEvent, OnText, TurnRunner
from debate_orchestrator.providers.provider import Provider
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_retry import UnsavedEvents


async def run_loop(
    journal: JournalWriter,
    current: CurrentState,
    providers: Mapping[str, Provider],
    on_event: OnEvent | None = None,
    on_text: OnText | None = None,
    stop: asyncio.Event | None = None,
    budget: Budget | None = None,
    unsaved: UnsavedEvents | None = None,
    on_brief: OnBrief | None = None,
    *,
    needs_ballots: bool = True,
    whole_panel: bool = False,
) -> DebateState:
    """Runs a debate until it is complete, only seats without a provider are due, or `stop` is set.

    `current` must hold the state of the journal's events; it is updated with each event. `providers` maps seats to
    providers. `on_event` gets each event, `on_text` each piece of an answer, `on_brief` each brief. Once `stop` is set
    no new call is made, and the answers under way are awaited. `budget` limits the costs (by default to the debate's
    own cap); `unsaved` holds answers while the disk is full. Without `needs_ballots` the debate continues if no reply
    of a judge can be used, even if nothing can be decided then; with `whole_panel` it stops even if the other judges
    could decide.

    Raises the first failure of a provider, after the other answers of the stage are saved; OverBudget if a call would
    exceed the cap; Paused if no reply of a judge can be used whom the panel can't spare.
    """
    stop = stop or asyncio.Event()
    budget, unsaved = budget or Budget(current), unsaved or UnsavedEvents()
    runner = TurnRunner(
        journal, current, stop, on_event, on_text, on_brief, budget, unsaved, needs_ballots, whole_panel
    )
    try:
        while not stop.is_set() and (turns := [turn for turn in current.state.due if turn.seat in providers]):
            stage = runner.start_stage([(turn, providers[turn.seat]) for turn in turns])
            outcomes = await asyncio.gather(*stage, return_exceptions=True)
            for outcome in outcomes:
                if isinstance(outcome, BaseException):
                    raise outcome
    finally:
        for provider in {id(provider): provider for provider in providers.values()}.values():
            await provider.close()
    return current.state
