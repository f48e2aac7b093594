"""The moderator's work done by a provider: two positions from a topic, where nobody can confirm them.

What it said is kept in the debate's first event, since it may have cost money and since a reader must be
able to tell that nobody chose these positions.
"""

from __future__ import annotations

import asyncio
import secrets
import time

from debate_orchestrator import patience
from debate_orchestrator.briefs import Brief, Message, propose
from debate_orchestrator.core.events import Reply
from debate_orchestrator.errors import BadAnswers, BadReply, Paused, Trouble
from debate_orchestrator.interview import Draft, Interview, Propose, Talk
from debate_orchestrator.providers import Provider
from debate_orchestrator.replies import structured

_ATTEMPTS = 2
_PATIENCE = 120.0
"""Seconds of trouble after which nothing is opened: nobody has paid for anything yet."""


def derive(topic: str, provider: Provider, interview: Interview) -> tuple[dict[str, str], Reply]:
    """Side to position, and the reply they come from. BadAnswers or BadReply where it can't be used, twice;
    Paused where no answer is to be had."""
    draft = Draft(given={"topic": topic}, talk=Talk(heard=(topic,), topic_ok=True, positions="auto"))
    wanted = interview.next(draft)
    assert isinstance(wanted, Propose)
    values = {"turn": wanted.turn, "nonce": secrets.token_hex(8), "schema": wanted.json_schema, "reply_name": ""}
    text = propose(wanted.name, **values, **wanted.values)
    brief = Brief(
        turn=wanted.turn,
        system="You help to set up a structured debate.",
        messages=(Message(role="user", parts=(text,)),),
        wants="json",
        json_schema=wanted.json_schema,
    )
    reply = asyncio.run(_asked(brief, provider, interview, draft))
    positions = interview.proposed(draft, wanted.name, structured(wanted.turn, reply.text)).given["positions"]
    return positions, reply


async def _asked(brief: Brief, provider: Provider, interview: Interview, draft: Draft) -> Reply:
    """The first reply that can be used."""
    try:
        for left in reversed(range(_ATTEMPTS)):
            reply = await _patiently(brief, provider)
            try:
                interview.proposed(draft, "positions", structured(brief.turn, reply.text))
                break
            except (BadReply, BadAnswers):
                if not left:
                    raise
        return reply.model_copy(update={"brief": brief.digest, "by": provider.name})
    finally:
        await provider.close()


async def _patiently(brief: Brief, provider: Provider) -> Reply:
    failures, since = 0, time.monotonic()
    while True:
        try:
            return await provider.reply(brief, lambda piece: None)
        except Trouble as trouble:
            failures += 1
            spent = time.monotonic() - since
            wait = patience.wait(failures, spent, _PATIENCE, trouble.after, patience.chance)
            if wait is None:
                raise Paused([*trouble.complaints, "Nothing was opened; run it again."]) from trouble
            await asyncio.sleep(wait)
