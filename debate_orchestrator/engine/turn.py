"""One turn, from its brief to its reply: `BriefSent`, the call, the reply's event, each in the journal as it happens.

A reply that can't be used is kept, and the turn is asked again with its problems and that reply. If no usable one
comes, the debate stops, unless a judge is missing whose panel can decide without it. A call that brought no reply is
recorded too, with what had arrived, and is made again after a wait. No provider can say whether a call that broke off
was billed, so each call has a `BriefSent` of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import BriefSent, CallFailed, Event, Rejected, ReplyEvent
from debate_orchestrator.core.fold import CurrentState, would_change
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.engine.budget import Budget
from debate_orchestrator.engine.estimate import cost_after_call
from debate_orchestrator.engine.retry import UnsavedEvents, call_with_retry
from debate_orchestrator.prompting import replies
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.prompting.reply_code import ReplyCode, code_for
from debate_orchestrator.providers.provider import Provider, UnshownReply, call_provider
from debate_orchestrator.storage import reply_secret
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util import model_spec, sanitize
from debate_orchestrator.util.errors import (
    BadReply,
    DebateError,
    ExternalError,
    Paused,
    ProviderFailed,
    ReplyPending,
    TransientError,
)
from debate_orchestrator.util.numbers import plural

SPEECH_ATTEMPTS = 2
STRUCTURED_ATTEMPTS = 4
"""Replies that are asked for in a row until one can be used."""

_STOPPED = "The call was given up, since the debate was stopped."

OnEvent = Callable[[DebateState, Event], None]
"""Called with each event after it was written and folded."""
OnText = Callable[[Turn, str], None]
"""Called with each piece of a reply as it arrives."""
OnBrief = Callable[[DebateState, Turn, Brief], None]
"""Called with each brief after its `BriefSent` was written."""


@dataclass(frozen=True)
class TurnRunner:
    """Runs the turns of one debate; `engine.debate.drive` says what its fields mean."""

    journal: JournalWriter
    current: CurrentState
    stop: asyncio.Event
    on_event: OnEvent | None
    on_text: OnText | None
    on_brief: OnBrief | None
    budget: Budget
    unsaved: UnsavedEvents
    needs_ballots: bool
    whole_panel: bool

    @property
    def debate(self) -> DebateState:
        return self.current.state

    def start_stage(self, turn_providers: Sequence[tuple[Turn, Provider]]) -> list[Awaitable[None]]:
        """One awaitable for each turn, which returns when the turn has its reply.

        With `share_cache`, turns that share a cached prefix wait until the first of them begins to answer: only then
        has the provider written the prefix to its cache, and the others read it at a tenth of the price.
        """
        cache_writers: dict[tuple[str, str, bool], asyncio.Event] = {}
        running: list[Awaitable[None]] = []
        for turn, provider in turn_providers:
            begun, cache_writer = asyncio.Event(), None
            if self.debate.opened.settings.share_cache and provider.caches:
                prefix = (provider.name, turn.phase.reply, turn.mirrored)
                cache_writer = cache_writers.get(prefix)
                cache_writers.setdefault(prefix, begun)
            running.append(self._run(turn, provider, begun, cache_writer))
        return running

    async def _run(
        self, turn: Turn, provider: Provider, begun: asyncio.Event, cache_writer: asyncio.Event | None
    ) -> None:
        """Asks until the turn has its reply. If no reply of several can be used, a judge that the panel can spare
        counts as absent; otherwise the turn stays due, and the debate stops: Paused for a judge, ProviderFailed for a
        debater."""
        try:
            if cache_writer is not None:
                await cache_writer.wait()
            attempts_left = SPEECH_ATTEMPTS if self.debate.shape(turn) is None else STRUCTURED_ATTEMPTS
            while turn in self.debate.due and not self.stop.is_set():
                spec = model_spec.unrehearsed(spec_in(self.debate, turn.seat))
                code = code_for(self.debate, turn, spec, reply_secret.secret)
                turn_brief = brief(self.debate, turn, self._former(turn, provider), code).redacted()
                call = _Call(self, turn, turn_brief, provider, begun)
                reply = await call.reply()
                if reply is None:
                    continue
                attempts_left -= 1
                try:
                    event = self._parse(turn, reply, code, last=not attempts_left)
                except Exception as error:
                    problem = f"The program failed to read the reply, which is complete ({type(error).__name__})."
                    fields = {"turn": turn.id, "by": provider.name, "reply": replies.stored(reply)}
                    await self.record(CallFailed(problem=problem, maybe_billed=reply.called, **fields))
                    raise
                await self.record(event)
                if call.unshown is not None:
                    raise call.unshown
                if isinstance(event, Rejected) and not attempts_left and not event.absent:
                    raise _no_usable_reply(turn, event)
        finally:
            begun.set()  # a cache writer that failed must not block the turns behind it

    def _former(self, turn: Turn, provider: Provider) -> Rejected | None:
        """The last reply to a turn that can't be used, if it is from the same model: no other's reply is shown."""
        rejected = self.debate.rejected_replies(turn.id)
        return rejected[-1] if rejected and rejected[-1].reply.by == provider.name else None

    def _parse(self, turn: Turn, reply: Reply, code: ReplyCode | None, *, last: bool) -> ReplyEvent:
        try:
            return replies.parse_reply(self.debate, turn, reply, code, last=last)
        except BadReply as error:
            dispensable = not self.needs_ballots and turn.judging
            indispensable = self.whole_panel and turn.judging
            absent = last and not indispensable and (dispensable or schedule.may_be_absent(self.debate, turn))
            return Rejected(turn=turn.id, problems=tuple(error.problems), reply=replies.stored(reply), absent=absent)

    async def record(self, event: BriefSent | ReplyEvent | CallFailed) -> None:
        """Writes an event, and returns when it is on the disk. Answers and failures wait for room on a full disk.

        A `BriefSent` is not synced. A killed process leaves it in the file; after a power cut the worst case is a call
        without one.
        """

        def write() -> None:
            record_event(self.journal, self.current, event, self.on_event)

        if isinstance(event, BriefSent):
            write()
            await self.journal.handed_over()
            return
        await self.unsaved.written(f"{summary(event)} for {self.journal.path}", write)
        await self.journal.synced()


class _Call:
    """The calls for one brief, with the record of each."""

    def __init__(self, runner: TurnRunner, turn: Turn, turn_brief: Brief, provider: Provider, begun: asyncio.Event):
        self._runner, self._turn, self._brief, self._provider = runner, turn, turn_brief, provider
        self._digest = turn_brief.digest
        self._begun = begun
        self._billed = model_spec.is_called(provider.name)
        self._pieces: list[str] = []
        """What has come of the reply under way."""
        self.unshown: BaseException | None = None
        """What showing the reply failed with. It is raised once the reply, which was paid for, is on record."""

    async def reply(self) -> Reply | None:
        """The provider's reply; None if the loop was told to stop. Paused if calls still fail after `retry_for`."""
        runner = self._runner
        return await call_with_retry(
            self._send, runner.debate.retry_for, before=self._begin, on_failure=self._failed, stop=runner.stop
        )

    async def _begin(self) -> bool:
        """Waits for the provider to have room, reserves the expected cost and writes `BriefSent`. False if the loop
        was told to stop meanwhile; OverBudget if the cap would be exceeded."""
        if not await self._provider.acquire(self._brief, self._runner.stop):
            return False
        if self._turn not in self._runner.debate.due:  # the debate was ended early meanwhile
            self._provider.release(self._brief)
            return False
        try:
            await self._write_intent()
        except BaseException:
            self._provider.release(self._brief)
            raise
        return True

    async def _write_intent(self) -> None:
        runner, turn, turn_brief, name = self._runner, self._turn, self._brief, self._provider.name
        if self._provider.in_sent_batch(turn_brief):
            return
        batch = self._provider.in_batch(turn_brief)
        price = runner.budget.check(turn.id, name, turn_brief, batch=batch) if self._billed else None
        # Nothing is awaited between the check and the record, from which on the call counts.
        await runner.record(
            BriefSent(turn=turn.id, brief_digest=self._digest, by=name, called=self._billed, estimated_cost=price)
        )
        if runner.on_brief is not None:
            runner.on_brief(runner.debate, turn, self._brief)

    async def _send(self) -> Reply:
        self._pieces = []
        try:
            reply = await call_provider(
                self._provider, self._brief, self._on_text, watched=self._runner.on_text is not None
            )
        except ExternalError:
            raise  # `_failed` records it
        except UnshownReply as unshown:
            self.unshown, reply = unshown.__cause__, unshown.reply
        except BaseException as error:
            failed = f"The call was given up, since the program failed ({type(error).__name__})."
            self._record_given_up(failed if isinstance(error, Exception) else _STOPPED)
            raise
        return self._attributed(reply)

    def _attributed(self, reply: Reply) -> Reply:
        """The reply as one to this call, with an estimate if its cost is unknown."""
        name, cost = self._provider.name, None
        if self._billed and reply.cost is None:
            cost = cost_after_call(name, self._brief, reply, batch=self._provider.in_batch(self._brief))
        update = {"brief_digest": self._digest, "by": name, "called": self._billed, "estimated_cost": cost}
        return reply.model_copy(update=update)

    def _call_failed(
        self, problem: str, reply: Reply | None, *, maybe_billed: bool, wait: float | None = None
    ) -> CallFailed:
        by, turn = self._provider.name, self._turn.id
        return CallFailed(turn=turn, by=by, problem=problem, wait=wait, maybe_billed=maybe_billed, reply=reply)

    def _record_given_up(self, problem: str) -> None:
        """Records a call that is given up, with the part of its reply that had come, at once: the process may have
        a second left. One in a batch is not given up, since a later run takes its reply; one that waits for a batch
        was never made."""
        if self._provider.in_sent_batch(self._brief):
            return
        sent = not self._provider.in_batch(self._brief)
        text, reply = "".join(self._pieces), None
        if text.strip():
            reply = replies.stored(self._attributed(Reply(text=text, brief_digest="", by=self._provider.name)))
        if self._billed or reply is not None:
            event = self._call_failed(problem, reply, maybe_billed=self._billed and sent)
            with suppress(DebateError):  # the journal can't be written: it says so where it is closed
                record_event(self._runner.journal, self._runner.current, event, self._runner.on_event)

    def _on_text(self, piece: str) -> None:
        self._begun.set()
        self._pieces.append(piece)
        if self._runner.on_text is not None:
            self._runner.on_text(self._turn, piece)

    async def _failed(self, failure: ExternalError, wait: float | None) -> None:
        """Records a call that failed; raises Paused in place of a TransientError that was the last. A call that
        continues at the provider has not failed: its `BriefSent` stands."""
        if isinstance(failure, ReplyPending):
            return
        transient = failure if isinstance(failure, TransientError) else None
        partial = transient.partial if transient and isinstance(transient.partial, Reply) else None
        if partial is not None:
            # The token count of a reply that broke off is not final, so its price is unknown.
            partial = replies.stored(self._attributed(partial.model_copy(update={"cost": None})))
        maybe_billed = transient is not None and (transient.maybe_billed or partial is not None)
        event = self._call_failed(" ".join(failure.problems), partial, maybe_billed=maybe_billed, wait=wait)
        await self._runner.record(event)
        if transient is not None and wait is None:
            raise self._out_of_time(transient) from transient

    def _out_of_time(self, transient: TransientError) -> Paused:
        retry_for = self._runner.debate.retry_for
        if transient.tries is not None:
            why = f"no complete answer after {plural(transient.tries, 'call')}. Resume once the cause is removed."
        else:
            why = f"no answer after {min(retry_for, transient.retry_for or retry_for):g} s of failed or silent calls."
            why += f" The provider asks to wait {transient.after:,.0f} s." if transient.after else ""
            why += " Resume when the provider answers again."
        return Paused([*transient.problems, f"{self._turn.id}: {why}"])


def _no_usable_reply(turn: Turn, event: Rejected) -> ExternalError:
    """The error that stops a debate whose turn has no usable reply."""
    if not turn.judging:
        return ProviderFailed(event.problems)
    problem = f"{turn.id}: none of the judge's {STRUCTURED_ATTEMPTS} replies can be used, so the debate stops here."
    return Paused([*event.problems, problem], hint="resume the debate to ask again, or with another judge")


def summary(event: ReplyEvent | CallFailed) -> str:
    """The result of a call in a few words."""
    if isinstance(event, CallFailed) and event.reply is None:
        return f"{event.turn}: the failure of its call"
    words = sanitize.count_words(event.reply.text) if event.reply else 0
    return f"{event.turn}: its reply ({plural(words, 'word')})"


def record_event(journal: JournalWriter, current: CurrentState, event: Event, on_event: OnEvent | None = None) -> bool:
    """Writes an event to the journal and folds it into the state; False if it is on record already.

    OutOfTurn if the event does not fit, JournalWriteError if it can't be written. In both cases journal and state
    are unchanged.
    """
    if not would_change(current.state, event):
        return False
    written = journal.append(event).event
    current.apply(written, checked=written is event)
    if on_event is not None:
        on_event(current.state, written)
    return True
