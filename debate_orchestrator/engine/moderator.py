"""The moderator's work done by a provider: a topic restated, two positions derived from it.

What it said is kept, since it may have cost money and since a reader must be able to tell what nobody chose.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from debate_orchestrator.core.events import Reply
from debate_orchestrator.engine import retry
from debate_orchestrator.engine.estimate import expected
from debate_orchestrator.prompting.briefs import Brief, Message, moderator_brief
from debate_orchestrator.prompting.replies import parse_structured
from debate_orchestrator.providers.registry import Provider, call_provider
from debate_orchestrator.setup.questions import Questionnaire
from debate_orchestrator.setup.session import Propose, SetupProgress, SetupState
from debate_orchestrator.setup.settings import Settings
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import (
    BadReply,
    BadSettings,
    ExternalError,
    Paused,
    ProviderFailed,
    TransientError,
    complaint,
)

_ATTEMPTS = 2
_WORDS = 80
_WORK = {"topic": "Restating the topic", "positions": "Deriving the two positions"}
_LACKED = {"topic": "no restated topic", "positions": "no positions"}
_GIVE = "Or give the positions: --position-a and --position-b."
_OPENED_NOTHING = "Nothing was opened; run it again."


class ModeratorLimits(NamedTuple):
    """On what terms a moderator is asked."""

    patience: float
    """Seconds that the call may be in trouble."""
    cap: float | None
    """US dollars that it may cost."""
    tell: Callable[[str], None]
    """Is told what happens."""
    after: str
    """What became of the debate where nothing came of the work, for a complaint."""
    instead: str
    """What to do instead, for a complaint."""

    def then(self) -> list[str]:
        """What a complaint ends with."""
        return [said] if (said := f"{self.after} {self.instead}".strip()) else []


def derive_positions(
    answers: Settings, provider: Provider, interview: Questionnaire, tell: Callable[[str], None]
) -> tuple[dict[str, str], tuple[Reply, ...]]:
    """Side to position, and every reply that was paid for on the way, the one that counts last. Failed where none
    can be used, Paused where no answer is to be had or none within the cap. `tell` is told what happens."""
    talk = SetupProgress(heard=(answers.topic,), topic_ok=True, positions="auto", nonce=secrets.token_hex(8))
    draft = SetupState(given={"topic": answers.topic}, talk=talk)
    terms = ModeratorLimits(answers.patience, answers.max_cost, tell, _OPENED_NOTHING, _GIVE)
    paid: list[Reply] = []
    after = run_moderator(draft, provider, interview, terms, paid)
    return after.given["positions"], tuple(paid)


def run_moderator(
    draft: SetupState, provider: Provider, interview: Questionnaire, terms: ModeratorLimits, paid: list[Reply]
) -> SetupState:
    """The draft with the moderator's work that its conversation needs now. Every reply is added to `paid`, also
    those that can't be used. Failed where none can, Paused where no answer is to be had or none within the cap."""
    wanted = interview.next(draft)
    assert isinstance(wanted, Propose)
    brief = _brief(wanted, draft).redacted()
    price = expected(provider.name, brief)
    about = f" (about ${price:.4f})" if price else ""
    terms.tell(f"{_WORK[wanted.name]}: {provider.name}{about}.")
    if terms.cap is not None and (price or 0.0) > terms.cap:
        got = f"about ${price:.4f} for {_WORK[wanted.name].lower()}"
        raise Paused(complaint("max_cost", got, f"at most ${terms.cap:.4f}", terms.instead))
    return asyncio.run(_asked(brief, wanted, draft, provider, interview, terms, paid))


def _brief(wanted: Propose, draft: SetupState) -> Brief:
    values = {"turn": wanted.turn, "nonce": draft.talk.nonce, "schema": wanted.json_schema, "reply_name": ""}
    return Brief(
        turn=wanted.turn,
        system="You help to set up a structured debate.",
        messages=(Message(role="user", parts=(moderator_brief(wanted.name, **values, **wanted.values),)),),
        wants="json",
        json_schema=wanted.json_schema,
        words=_WORDS,
    )


async def _asked(
    brief: Brief,
    wanted: Propose,
    draft: SetupState,
    provider: Provider,
    interview: Questionnaire,
    terms: ModeratorLimits,
    paid: list[Reply],
) -> SetupState:
    """The draft with the first reply that can be used."""
    try:
        for left in reversed(range(_ATTEMPTS)):
            reply = await _patiently(brief, provider, terms)
            update = {"brief": brief.digest, "by": provider.name, "called": model_spec.is_called(provider.name)}
            paid.append(reply.model_copy(update=update))
            try:
                return interview.proposed(draft, wanted.name, parse_structured(brief.turn, reply.text))
            except (BadReply, BadSettings) as error:
                if not left:
                    cost = sum(one.cost or 0.0 for one in paid[-_ATTEMPTS:])
                    said = f"{_ATTEMPTS} replies (${cost:.4f}) gave {_LACKED[wanted.name]}."
                    raise ProviderFailed([*error.complaints, said, *terms.then()]) from error
    finally:
        await provider.close()
    raise AssertionError("the last attempt ends in a draft or in a failure")


async def _patiently(brief: Brief, provider: Provider, terms: ModeratorLimits) -> Reply:
    failures, since = 0, time.monotonic()
    while True:
        try:
            return await call_provider(provider, brief, lambda piece: None)
        except TransientError as trouble:
            failures += 1
            since = time.monotonic() if failures == 1 else since
            wait = retry.next_delay(trouble, failures, time.monotonic() - since, terms.patience)
            if wait is None:
                raise Paused([*trouble.complaints, *terms.then()]) from trouble
            terms.tell(f"  {' '.join(trouble.complaints)} Asked again in {wait:.0f} s.")
            await asyncio.sleep(wait)
        except ExternalError as failure:
            raise type(failure)([*failure.complaints, *terms.then()]) from failure
