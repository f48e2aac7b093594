"""One turn, asked for until it is settled: intent, call, answer, each written down as it happens.

A reply that will not do is kept and asked for again with the complaints. A call that got no answer is on
record too, with what had come of it, and is made again after a wait while the debate's patience lasts:
no provider can say whether a call that broke off was billed, so each one has its own intent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from debate_orchestrator.core.events import Answer, Asked, CallFailed, Event, Rejected, Reply
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.state import ATTEMPTS, DebateState
from debate_orchestrator.engine import retry
from debate_orchestrator.engine.budget import Budget
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.providers.registry import Provider, call_provider
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.storage.journal_retry import UnsavedEvents
from debate_orchestrator.util import model_spec, sanitize
from debate_orchestrator.util.errors import (
    BadReply,
    ExternalError,
    JournalWriteError,
    Paused,
    ProviderFailed,
    TransientError,
    complaint,
)

OnEvent = Callable[[DebateState, Event], None]
OnText = Callable[[Turn, str], None]


class TurnRunner:
    """The calls of one debate."""

    def __init__(
        self,
        journal: JournalWriter,
        debate: DebateState,
        stop: asyncio.Event,
        on_event: OnEvent | None,
        on_text: OnText | None,
        budget: Budget | None = None,
        unsaved: UnsavedEvents | None = None,
    ):
        self._journal, self._debate, self._stop, self._on_event, self._on_text = (
            journal,
            debate,
            stop,
            on_event,
            on_text,
        )
        self._budget = budget or Budget(debate)
        self._unsaved = unsaved or UnsavedEvents()

    def together(self, seated: Sequence[tuple[Turn, Provider]]) -> list[Awaitable[None]]:
        """One awaitable a turn, each of which settles it. Where the debate asks for that, those that share a
        cached beginning wait until the first of them has begun to answer."""
        leaders: dict[tuple[str, str, bool], asyncio.Event] = {}
        settling: list[Awaitable[None]] = []
        for turn, provider in seated:
            begun, before = asyncio.Event(), None
            if self._debate.opened.leader_first and provider.caches:
                before = leaders.get(family := (provider.name, turn.phase.reply, turn.mirrored))
                leaders.setdefault(family, begun)
            settling.append(self._settle(turn, provider, begun, before))
        return settling

    async def _settle(self, turn: Turn, provider: Provider, begun: asyncio.Event, before: asyncio.Event | None) -> None:
        """Asks until the turn is settled. A judge who gives no ballot that counts is absent; a debater is a
        failure, and is asked anew when the debate is resumed."""
        try:
            if before is not None:
                await before.wait()
            attempts = 0
            while turn in self._debate.due() and not self._stop.is_set():
                spoiled = self._debate.spoiled.get(turn.id, [])
                if attempts == ATTEMPTS:
                    raise ProviderFailed(spoiled[-1].complaints)
                attempts += 1
                asked = brief(self._debate, turn, spoiled[-1].complaints if spoiled else ()).redacted()
                if (reply := await self._reply(turn, asked, provider, begun)) is not None:
                    await self._record(self._read(turn, reply))
        finally:
            begun.set()

    def _read(self, turn: Turn, reply: Reply) -> Answer:
        try:
            return replies.parse_reply(self._debate, turn, reply)
        except BadReply as error:
            return Rejected(turn=turn.id, complaints=tuple(error.complaints), reply=reply)

    async def _reply(self, turn: Turn, asked: Brief, provider: Provider, begun: asyncio.Event) -> Reply | None:
        """The reply to one brief; None where the loop was told to stop meanwhile. Paused where trouble lasts
        longer than the debate's patience."""

        def on_text(piece: str) -> None:
            begun.set()
            if self._on_text is not None:
                self._on_text(turn, piece)

        failures, since, called = 0, time.monotonic(), model_spec.is_called(provider.name)
        while not self._stop.is_set():
            if called:
                self._budget.take(turn.id, provider.name, asked)
            unseen = True  # until there is word of it, a call may have cost what it was expected to
            try:
                await self._record(Asked(turn=turn.id, brief=asked.digest, by=provider.name, called=called))
                reply = await call_provider(provider, asked, on_text)
                unseen = False
                return reply.model_copy(update={"brief": asked.digest, "by": provider.name, "called": called})
            except TransientError as trouble:
                unseen = trouble.unsure and trouble.partial is None
                failures += 1
                since = time.monotonic() if failures == 1 else since
                wait = retry.next_delay(trouble, failures, time.monotonic() - since, self._debate.opened.patience)
                await self._unanswered(turn, asked, provider, trouble, wait)
                if wait is None:
                    raise self._patience_is_out(turn, trouble) from trouble
            except JournalWriteError:
                unseen = False  # the intent is not on record, so nobody was asked
                raise
            except ExternalError as failure:
                unseen = False
                await self._unanswered(turn, asked, provider, failure, None)
                raise
            finally:
                self._budget.give(turn.id, unseen=unseen)
            await self._pause(wait)
        return None

    def _patience_is_out(self, turn: Turn, trouble: TransientError) -> Paused:
        after = f"; it asks to wait {trouble.after:,.0f} s" if trouble.after else ""
        whole = self._debate.opened.patience
        limit = f"an answer within {min(whole, trouble.patience or whole):g} s of trouble"
        limit = limit if trouble.tries is None else f"an answer after {trouble.tries} calls"
        said = complaint(turn.id, f"no answer{after}", limit, "Resume when the trouble is over.")
        return Paused([*trouble.complaints, said])

    async def _unanswered(
        self, turn: Turn, asked: Brief, provider: Provider, failure: ExternalError, wait: float | None
    ) -> None:
        partial = (
            failure.partial if isinstance(failure, TransientError) and isinstance(failure.partial, Reply) else None
        )
        if partial is not None:
            called = model_spec.is_called(provider.name)
            # The count of what broke off is not final, so that its price is not known.
            update = {"brief": asked.digest, "by": provider.name, "called": called, "cost": None}
            partial = partial.model_copy(update=update)
        what = " ".join(failure.complaints)
        unsure = isinstance(failure, TransientError) and (failure.unsure or partial is not None)
        event = CallFailed(turn=turn.id, by=provider.name, trouble=what, wait=wait, unsure=unsure, reply=partial)
        await self._record(event)

    async def _pause(self, seconds: float) -> None:
        """Waits so long, or until the loop is told to stop."""
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            pass

    async def _record(self, event: Asked | Answer | CallFailed) -> None:
        """Writes an event down, and returns when it is on the disk; what came of a call waits for room there. An intent
        is only written, or fails: a process that is killed leaves it there, and after a power cut there is nothing
        worse than a call without its name."""

        def write() -> None:
            record_event(self._journal, self._debate, event, self._on_event)

        if isinstance(event, Asked):
            write()
            return
        await self._unsaved.written(f"{_told(event)} for {self._journal.path}", write)
        await self._journal.synced()


def _told(event: Answer | CallFailed) -> str:
    """What came of a call, in a few words."""
    if isinstance(event, CallFailed) and event.reply is None:
        return f"{event.turn}: that its call came to nothing"
    words = sanitize.count_words(event.reply.text) if event.reply else 0
    return f"{event.turn}: its answer ({words:,} word{'s' * (words != 1)})"


def record_event(journal: JournalWriter, debate: DebateState, event: Event, on_event: OnEvent | None = None) -> bool:
    """Writes an event down and folds it; False if it is on record already. Where it is out of turn or can't be
    written, journal and debate are both as they were."""
    if not debate.admits(event):
        return False
    event = journal.append(event).event
    debate.take(event)
    if on_event is not None:
        on_event(debate, event)
    return True
