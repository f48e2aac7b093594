"""The moderator's work done by a provider: two positions from a topic, where nobody can confirm them.

What it said is kept in the debate's first event, since it may have cost money and since a reader must be
able to tell that nobody chose these positions.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import partial

from debate_orchestrator import casts, patience
from debate_orchestrator.answers import Answers
from debate_orchestrator.briefs import Brief, Message, propose
from debate_orchestrator.core.events import Reply
from debate_orchestrator.errors import BadAnswers, BadReply, Failed, Paused, Theirs, Trouble, complaint
from debate_orchestrator.estimate import expected
from debate_orchestrator.interview import Draft, Interview, Propose, Talk
from debate_orchestrator.providers import Provider
from debate_orchestrator.replies import structured

_ATTEMPTS = 2
_WORDS = 80
_GIVE = "Or give the positions: --position-a and --position-b."


def derive(
    answers: Answers, provider: Provider, interview: Interview, tell: Callable[[str], None]
) -> tuple[dict[str, str], tuple[Reply, ...]]:
    """Side to position, and every reply that was paid for on the way, the one that counts last. Failed where none
    can be used, Paused where no answer is to be had or none within the cap. `tell` is told what happens."""
    topic, cap = answers.topic, answers.max_cost
    tell(f"Deriving the two positions: {provider.name}.")
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
        words=_WORDS,
    )
    if cap is not None and (price := expected(provider.name, brief) or 0.0) > cap:
        raise Paused(complaint("max_cost", f"about ${price:.4f} to derive the positions", f"at most ${cap:.4f}", _GIVE))
    answered = partial(_patiently, brief, provider, answers.patience, tell)
    return asyncio.run(_asked(brief, answered, provider, interview, draft))


async def _asked(
    brief: Brief,
    answered: Callable[[], Awaitable[Reply]],
    provider: Provider,
    interview: Interview,
    draft: Draft,
) -> tuple[dict[str, str], tuple[Reply, ...]]:
    """The positions of the first reply that can be used, and the replies up to it."""
    replies: list[Reply] = []
    try:
        while True:
            reply = await answered()
            update = {"brief": brief.digest, "by": provider.name, "called": casts.is_called(provider.name)}
            replies.append(reply.model_copy(update=update))
            try:
                after = interview.proposed(draft, "positions", structured(brief.turn, reply.text))
                return after.given["positions"], tuple(replies)
            except (BadReply, BadAnswers) as error:
                if len(replies) == _ATTEMPTS:
                    paid = sum(one.cost or 0.0 for one in replies)
                    said = f"{len(replies)} replies (${paid:.4f}) gave no positions, and nothing was opened. {_GIVE}"
                    raise Failed([*error.complaints, said]) from error
    finally:
        await provider.close()


async def _patiently(brief: Brief, provider: Provider, most: float, tell: Callable[[str], None]) -> Reply:
    failures, since = 0, time.monotonic()
    while True:
        try:
            return await provider.reply(brief, lambda piece: None)
        except Trouble as trouble:
            failures += 1
            since = time.monotonic() if failures == 1 else since
            wait = patience.again(trouble, failures, time.monotonic() - since, most)
            if wait is None:
                raise Paused([*trouble.complaints, f"Nothing was opened; run it again. {_GIVE}"]) from trouble
            tell(f"  {' '.join(trouble.complaints)} Asked again in {wait:.0f} s.")
            await asyncio.sleep(wait)
        except Theirs as failure:
            raise type(failure)([*failure.complaints, f"Nothing was opened; run it again. {_GIVE}"]) from failure
