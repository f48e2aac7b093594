"""THE LOOP: fold, turns, briefs, providers, replies, append.

The turns of a stage are independent and run at once. Every answer of a stage is written down before
the first failure is told, because answers cost money. Seats without a provider (`host`) have nobody to
call: the loop runs all that it can and returns, and their turns stay due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from debate_orchestrator import replies
from debate_orchestrator.briefs import brief
from debate_orchestrator.core.debate import ATTEMPTS, Debate
from debate_orchestrator.core.events import Asked, Event, Spoiled
from debate_orchestrator.core.rules import Turn
from debate_orchestrator.errors import BadReply, Failed
from debate_orchestrator.journal import Writer
from debate_orchestrator.providers import Provider

Watch = Callable[[Debate, Event], None]


async def drive(
    journal: Writer, debate: Debate, providers: Mapping[str, Provider], watch: Watch | None = None
) -> Debate:
    """Runs a debate until it is complete or only seats without a provider are due.

    `debate` is the fold of the journal's events, and is kept in step with it. Raises the first failure
    of a provider after its siblings' answers are saved.
    """
    while callable_now := [turn for turn in debate.due() if turn.seat in providers]:
        answers = [_answer(journal, debate, turn, providers[turn.seat], watch) for turn in callable_now]
        ended = await asyncio.gather(*answers, return_exceptions=True)
        for failure in ended:
            if isinstance(failure, BaseException):
                raise failure
    return debate


async def _answer(journal: Writer, debate: Debate, turn: Turn, provider: Provider, watch: Watch | None) -> None:
    """Asks for one turn until it is settled. A reply that will not do is kept, and asked for again with the
    complaints as often as the debate allows. A judge who still gives none is absent; a debater is a failure,
    and is asked anew when the debate is resumed."""
    attempts = 0
    while turn.id not in debate.answers:
        spoiled = debate.spoiled.get(turn.id, [])
        if attempts == ATTEMPTS:
            raise Failed(spoiled[-1].complaints)
        attempts += 1
        asked = brief(debate, turn, spoiled[-1].complaints if spoiled else ())
        record(journal, debate, Asked(turn=turn.id, brief=asked.digest, by=provider.name), watch)
        await journal.synced()  # what a crash leaves in flight must have a name
        reply = (await provider.reply(asked)).model_copy(update={"brief": asked.digest, "by": provider.name})
        try:
            event: Event = replies.read(debate, turn, reply)
        except BadReply as error:
            event = Spoiled(turn=turn.id, complaints=tuple(error.complaints), reply=reply)
        record(journal, debate, event, watch)
        await journal.synced()


def record(journal: Writer, debate: Debate, event: Event, watch: Watch | None = None) -> bool:
    """Writes an event down and folds it; False if it is on record already. Where it is out of turn or can't be
    written, journal and debate are both as they were."""
    if not debate.admits(event):
        return False
    journal.append(event)
    debate.take(event)
    if watch is not None:
        watch(debate, event)
    return True
