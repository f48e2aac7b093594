"""The moderator's work, done by a provider: restating a topic and deriving two positions from it.

Every reply is kept, because it may have cost money and because a reader must be able to tell what the user did not
choose. So is the part of a reply that had arrived when a call failed, even if that is empty, if the call may have been
billed. Of the pages that a search found only the number is kept, and of a reply for whose words there is no room only
the cost.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.settings import Settings
from debate_orchestrator.engine.budget import check_max_cost, cost_after_call, cost_before_call, received_part
from debate_orchestrator.engine.retry import bounded_retries
from debate_orchestrator.formats import loader
from debate_orchestrator.prompting.briefs import Brief, Message, moderator_brief
from debate_orchestrator.prompting.replies import as_stored, parse_structured
from debate_orchestrator.providers.provider import Provider, call_provider
from debate_orchestrator.setup.questions import SetupQuestions
from debate_orchestrator.setup.state import ModeratorTask, SetupProgress, SetupState
from debate_orchestrator.util import coroutines, model_spec
from debate_orchestrator.util.errors import (
    BadReply,
    BadSettings,
    ExternalError,
    OverBudget,
    Paused,
    ProviderFailed,
    TransientError,
    without_hint,
)
from debate_orchestrator.util.messages import Notify
from debate_orchestrator.util.numbers import plural

_ATTEMPTS = 2
_WORDS = 80
_MAX_TEXT_SIZE = 100_000
"""Bytes of the texts of a setup's replies, as JSON. The file of its answers and the first line of its journal hold all
of them, and neither may become too long to be read."""
_WORK = {"topic": "Restating the topic", "positions": "Deriving the two positions"}
_MISSING = {"topic": "a restated topic", "positions": "positions"}
_HINT = "Nothing was opened. Try: run it again, or give `positions`."
_CAP_HINT = "Nothing was opened. Try: give `positions`."


class ModeratorLimits(NamedTuple):
    """The limits of a moderator's call, and the words around it."""

    retry_for: float
    """Seconds for which a failing call is repeated."""
    max_cost: float | None
    """US dollars that all calls of the setup may cost together; None for no cap."""
    notify: Notify
    """Gets a sentence about what happens."""
    stop: asyncio.Event
    """Once it is set no further call is made, and the reply under way is awaited."""
    hint: str = ""
    """The end of an error message."""
    cap_hint: str = ""
    """The end of the message that the cap allows no call, which the same cap would say again."""

    def hint_after(self, error: ExternalError) -> str:
        """The end of the message of an error."""
        return self.cap_hint if isinstance(error, OverBudget) else self.hint


async def derive_positions(
    settings: Settings, provider: Provider, notify: Notify, stop: asyncio.Event, paid_replies: list[Reply]
) -> dict[str, str]:
    """The position of each side. Every reply that was paid for is added to `paid_replies`, the one that was used last.
    Raises ProviderFailed if no reply can be used; Paused if none came in time or a call would exceed the cap."""
    progress = SetupProgress(topics=(settings.topic,), topic_ok=True, positions="auto", nonce=secrets.token_hex(8))
    state = SetupState(answers={"topic": settings.topic}, progress=progress)  # needs nothing but positions next
    limits = ModeratorLimits(settings.retry_for, settings.max_cost, notify, stop, _HINT, _CAP_HINT)
    proposed = await propose(state, provider, SetupQuestions(loader.load(settings.format)), limits, paid_replies)
    positions: dict[str, str] = proposed.answers["positions"]
    return positions


async def propose(
    state: SetupState,
    provider: Provider,
    setup_questions: SetupQuestions,
    limits: ModeratorLimits,
    paid_replies: list[Reply],
) -> SetupState:
    """The state with the proposal that the setup needs now. Every reply is added to `paid_replies`, those that can't be
    used too, and one of unknown cost for each call that failed and may have been billed. Raises ProviderFailed if no
    reply can be used; Paused if none came in time or a call would exceed the cap, which counts what the setup has paid
    before. These errors say how many of the calls may have been billed."""
    task = setup_questions.next(state)
    assert isinstance(task, ModeratorTask)
    brief, work, paid_before = _brief(task, state), _WORK[task.name], len(paid_replies)
    expected_cost = cost_before_call(provider.name, brief)
    cost_text = " (unknown price)" if expected_cost is None else f" (about ${expected_cost:.4f})" * bool(expected_cost)
    limits.notify(f"{work}: {provider.name}{cost_text}.")

    def must_be_within_budget() -> None:
        spent = sum(map(_cost_for_cap, (*state.progress.paid, *paid_replies)))
        check_max_cost(limits.max_cost, lambda: spent, work, provider.name, expected_cost, "")

    def keep(reply: Reply) -> None:
        update = {
            "brief_digest": brief.digest,
            "spec": provider.name,
            "by_call": model_spec.makes_calls(provider.name),
            "estimated_cost": cost_after_call(provider.name, brief, reply) if reply.cost is None else None,
        }
        earlier = (*state.progress.paid, *paid_replies)
        paid_replies.append(_shortened(as_stored(reply.model_copy(update=update)), earlier))

    try:
        for attempt in range(1, _ATTEMPTS + 1):
            reply = await _reply(brief, provider, limits, must_be_within_budget, keep)
            try:
                return setup_questions.with_proposal(state, task.name, parse_structured(brief.turn_id, reply.text))
            except (BadReply, BadSettings) as error:
                if attempt == _ATTEMPTS or limits.stop.is_set():
                    summary = f"{plural(attempt, 'reply', 'replies')} did not give {_MISSING[task.name]}."
                    raise ProviderFailed([*map(without_hint, error.problems), summary]) from error
    except ExternalError as error:
        ending = [*billed_calls_sentence(paid_replies[paid_before:]), limits.hint_after(error)]
        raise type(error)([*error.problems, *filter(None, ending)]) from error
    finally:
        try:
            await provider.close()
        except asyncio.CancelledError:
            coroutines.cancel_later()  # what was paid comes first
    raise AssertionError("unreachable: the last attempt returns or raises")


def billed_calls_sentence(replies: Sequence[Reply]) -> list[str]:
    """A sentence on how many of the calls that these replies came from may have been billed; none if none may."""
    called = [reply.spec for reply in replies if reply.by_call]
    return [f"{plural(len(called), 'call')} of {called[0]} may have been billed."] if called else []


def _shortened(reply: Reply, earlier: Sequence[Reply]) -> Reply:
    """A reply without its pages, and without its words where those of `earlier` ones leave no room."""
    size = sum(len(json.dumps(kept.text)) for kept in (*earlier, reply))
    reply = reply.without_pages()
    return reply if size <= _MAX_TEXT_SIZE else reply.without_words()


def _brief(task: ModeratorTask, state: SetupState) -> Brief:
    values = {"turn": task.turn, "schema": task.json_schema, "reply_name": "", **task.values}
    return Brief(
        turn_id=task.turn,
        system="You help to set up a structured debate.",
        messages=(Message(role="user", parts=(moderator_brief(task.name, state.progress.nonce, **values),)),),
        wants="json",
        json_schema=task.json_schema,
        target_words=_WORDS,
    )


def _cost_for_cap(reply: Reply) -> float:
    """US dollars of a reply as a cap counts them: its estimated cost where its cost is unknown."""
    return (reply.estimated_cost or 0.0) if reply.cost is None else reply.cost


async def _reply(
    brief: Brief,
    provider: Provider,
    limits: ModeratorLimits,
    must_be_within_budget: Callable[[], None],
    keep: Callable[[Reply], None],
) -> Reply:
    """The reply to a call that is made again while it fails. `keep` gets it, and before it what had come of each call
    that failed and may have been billed."""
    async with bounded_retries(limits.retry_for) as retries:
        while True:
            must_be_within_budget()
            pieces: list[str] = []
            try:
                reply = await call_provider(provider, brief, pieces.append)
                keep(reply)
                return reply
            except BaseException as failure:
                part = received_part(provider.name, failure, pieces)
                if part is not None or not isinstance(failure, ExternalError) or failure.maybe_billed:
                    keep(part or Reply(text="", brief_digest="", spec=provider.name))
                if not isinstance(failure, ExternalError):
                    raise  # the call is given up
                wait = retries.next_wait(failure)
                if wait is not None and not limits.stop.is_set():
                    limits.notify(f"  {' '.join(failure.problems)} Retry in {wait:.0f} s.")
                    with suppress(TimeoutError):
                        await asyncio.wait_for(limits.stop.wait(), wait)
                if wait is None or limits.stop.is_set():
                    kind = Paused if isinstance(failure, TransientError) else type(failure)
                    raise kind(failure.problems) from failure
