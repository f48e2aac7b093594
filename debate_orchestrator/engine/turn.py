"""One turn, from its brief to its reply, with an event in the journal for the call and one for the reply.

A reply that can't be used is kept, and the turn is asked again with its problems and that reply. If no usable one
comes, the debate stops, unless a judge is absent whose panel can decide without it. A call that brought no reply is
recorded too, with what had arrived, and is made again after a wait. No provider can say whether a call that broke off
was billed, so each call has a `BriefSent` of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from debate_orchestrator.core import schedule
from debate_orchestrator.core.costs import call_id, calls_under_way
from debate_orchestrator.core.events import BriefSent, CallFailed, Event, Rejected, ReplyEvent
from debate_orchestrator.core.fold import CurrentState, would_change
from debate_orchestrator.core.phases import Turn
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState, spec_in
from debate_orchestrator.engine.budget import Budget, cost_after_call, received_part
from debate_orchestrator.engine.retry import bounded_retries
from debate_orchestrator.prompting import replies, reply_code
from debate_orchestrator.prompting.briefs import Brief, brief
from debate_orchestrator.prompting.reply_code import ReplyCode, code_for
from debate_orchestrator.providers.provider import Provider, call_provider
from debate_orchestrator.storage.journal import JournalWriter
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import (
    BadReply,
    DebateError,
    ExternalError,
    Paused,
    ProviderFailed,
    ReplyPending,
    TransientError,
    without_hint,
)
from debate_orchestrator.util.messages import ignore
from debate_orchestrator.util.numbers import plural

SPEECH_ATTEMPTS = 2
STRUCTURED_ATTEMPTS = 4
"""Replies that are asked for in a row until one can be used."""

OnEvent = Callable[[DebateState, Event], None]
"""Called with each event after it was written and folded."""
OnText = Callable[[Turn, str], None]
"""Called with each piece of a reply as it arrives."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The way a debate is run, and the listeners to its events."""

    on_event: OnEvent = ignore
    on_text: OnText | None = None
    on_brief: Callable[[DebateState, Turn, Brief], None] = ignore
    """Called with each brief after its `BriefSent` was written."""
    on_failures: Callable[[Mapping[Turn, BaseException]], None] = ignore
    """Called with every failure of a stage, before one of them is raised."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Once it is set no new call is made, and the replies under way are awaited."""
    wait_for_resume: Callable[[], Awaitable[bool]] | None = None
    """Awaited if turns are left once `stop` is set; the debate goes on if it returns true."""
    budget: Budget | None = None
    """Limits the costs; by default to the debate's own cap."""
    required_judges: Literal["quorum", "all", "none"] = "quorum"
    """The judges that the debate needs to continue: as many as its quorum, all of them, or none."""


@dataclass(frozen=True)
class TurnRunner:
    journal: JournalWriter
    current: CurrentState
    budget: Budget
    options: RunOptions

    @property
    def debate(self) -> DebateState:
        return self.current.state

    def start_stage(self, turn_providers: Sequence[tuple[Turn, Provider]]) -> list[Awaitable[None]]:
        """One awaitable for each turn, which returns when the turn has its reply. With `share_cache`, turns that share
        a prefix wait until the first of them begins to answer: only then is it in the provider's cache, at a tenth of
        the price."""
        cache_writers: dict[tuple[str, str, bool], asyncio.Event] = {}
        running: list[Awaitable[None]] = []
        for turn, provider in turn_providers:
            run, cache_writer = _TurnRun(self, turn, provider), None
            if self.debate.opened.settings.share_cache and provider.caches:
                prefix = (provider.name, turn.phase.reply, turn.mirrored)
                cache_writer = cache_writers.get(prefix)
                cache_writers.setdefault(prefix, run.reply_begun)
            running.append(run.run(cache_writer))
        return running

    async def record(self, event: BriefSent | ReplyEvent | CallFailed) -> None:
        """Writes an event, and returns when it is on the disk; replies and failures wait for room on a full disk. A
        `BriefSent` is not synced: a killed process leaves it in the file, and after a power cut a call may have
        none."""
        result = not isinstance(event, BriefSent)
        self.append(event, queue_if_disk_full=result)
        await (self.journal.wait_until_synced() if result else self.journal.wait_until_stored())

    def append(self, event: Event, *, queue_if_disk_full: bool) -> None:
        """Writes an event, as `record_event`, without waiting for anything."""
        record_event(self.journal, self.current, event, self.options.on_event, queue_if_disk_full=queue_if_disk_full)


class _TurnRun:
    """A turn that is asked for until it has its reply."""

    def __init__(self, runner: TurnRunner, turn: Turn, provider: Provider):
        self._runner, self._turn, self._provider = runner, turn, provider
        self._stop, self._options = runner.options.stop, runner.options
        self._by_call = model_spec.makes_calls(provider.name)
        self.reply_begun = asyncio.Event()
        """Set once the reply has begun, or will not come."""
        self._pieces: list[str] = []
        """The received part of the reply under way."""
        self._show_error: Exception | None = None
        """The error from showing the reply. It is raised once the reply, which was paid for, is on record."""

    @property
    def _debate(self) -> DebateState:
        return self._runner.debate

    async def run(self, cache_writer: asyncio.Event | None) -> None:
        """Asks until the turn has its reply. If no reply of several can be used, a judge that the panel can spare
        counts as absent; otherwise the turn stays due, and the debate stops: Paused for a judge, ProviderFailed for a
        debater."""
        try:
            if cache_writer is not None:
                await cache_writer.wait()
            attempts_left = SPEECH_ATTEMPTS if self._debate.shape(self._turn) is None else STRUCTURED_ATTEMPTS
            while self._turn in self._debate.due and not self._stop.is_set():
                spec = model_spec.without_rehearse(spec_in(self._debate, self._turn.seat))
                code = code_for(self._debate, self._turn, spec, reply_code.secret)
                rejected = _last_rejected(self._debate, self._turn, self._provider.name)
                reply = await self._reply(brief(self._debate, self._turn, rejected, code))
                if reply is None:
                    continue
                attempts_left -= 1
                event = await self._parse(reply, code, last=not attempts_left)
                await self._runner.record(event)
                if self._show_error is not None:
                    raise self._show_error
                if isinstance(event, Rejected) and not attempts_left and not event.absent:
                    raise _no_usable_reply(self._turn, event)
        finally:
            self.reply_begun.set()  # a cache writer that failed must not block the turns that wait for it

    # The call

    async def _reply(self, turn_brief: Brief) -> Reply | None:
        """The reply to a brief: each call is on record, and made again if it fails. Returns None if the debate ends."""
        async with bounded_retries(self._debate.retry_for) as retries:
            while not self._stop.is_set() and await self._begin(turn_brief):
                try:
                    return await self._call(turn_brief)
                except ReplyPending:  # the call continues at the provider: its `BriefSent` stays valid
                    raise
                except ExternalError as failure:
                    wait = retries.next_wait(failure)
                    await self._runner.record(self._call_failed(turn_brief, failure, wait))
                    if wait is None and isinstance(failure, TransientError):
                        raise self._out_of_time(failure) from failure
                    if wait is None:
                        raise
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), wait)
        return None

    async def _begin(self, turn_brief: Brief) -> bool:
        """Waits for the provider to have room, reserves the expected cost and writes `BriefSent`. Returns False if
        the loop was told to stop meanwhile. Raises OverBudget if the cap would be exceeded."""
        if not await self._provider.acquire(turn_brief, self._stop):
            return False
        try:
            due = self._turn in self._debate.due
            if due and not self._provider.is_recorded_in_batch(turn_brief):
                await self._record_brief(turn_brief)
        except BaseException:
            self._provider.release(turn_brief)
            raise
        if not due:  # the debate was ended early meanwhile
            self._provider.release(turn_brief)
        return due

    async def _record_brief(self, turn_brief: Brief) -> None:
        name, expected_cost = self._provider.name, None
        if self._by_call:
            batch = self._provider.in_batch(turn_brief)
            expected_cost = self._runner.budget.check(self._turn.id, name, turn_brief, batch=batch)
        # Nothing is awaited between the check and the record, from which on the call counts.
        fields = {"turn_id": self._turn.id, "brief_digest": turn_brief.digest, "spec": name}
        await self._runner.record(BriefSent(**fields, by_call=self._by_call, estimated_cost=expected_cost))
        self._options.on_brief(self._debate, self._turn, turn_brief)

    async def _call(self, turn_brief: Brief) -> Reply:
        self._pieces = []
        try:
            is_watched = self._options.on_text is not None
            reply = await call_provider(self._provider, turn_brief, self._on_text, watched=is_watched)
        except ExternalError:
            raise
        except BaseException as error:
            self._record_given_up(turn_brief, error)
            raise
        return self._with_call_details(turn_brief, reply)

    def _on_text(self, piece: str) -> None:
        self.reply_begun.set()
        self._pieces.append(piece)
        if self._options.on_text is not None and self._show_error is None:
            try:
                self._options.on_text(self._turn, piece)
            except Exception as error:  # the reply is paid for, so it is read to its end
                self._show_error = error

    def _with_call_details(self, turn_brief: Brief, reply: Reply) -> Reply:
        """The reply as one to this call, with an estimate if its cost is unknown."""
        name, cost = self._provider.name, None
        if self._by_call and reply.cost is None:
            cost = cost_after_call(name, turn_brief, reply, batch=self._provider.in_batch(turn_brief))
        spec = reply.spec if model_spec.is_stand_in(reply.spec) else name  # a recording may repeat a stand-in
        update = {"brief_digest": turn_brief.digest, "spec": spec, "by_call": self._by_call, "estimated_cost": cost}
        return reply.model_copy(update=update)

    # Calls that fail

    def _call_failed(self, turn_brief: Brief, error: BaseException, wait: float | None = None) -> CallFailed:
        """The event of a call that failed, or was given up, with the part of its reply that had come."""
        if isinstance(error, ExternalError):
            problem, maybe_billed = " ".join(error.problems), error.maybe_billed
        else:
            by_mistake = isinstance(error, Exception)
            why = f"the program failed ({type(error).__name__})" if by_mistake else "the debate was stopped"
            problem = f"The call was given up, since {why}."
            maybe_billed = self._by_call and not self._provider.in_batch(turn_brief)
        part = received_part(self._provider.name, error, self._pieces)
        reply = part and replies.as_stored(self._with_call_details(turn_brief, part))
        fields = {"turn_id": self._turn.id, "spec": self._provider.name, "wait": wait}
        return CallFailed(**fields, problem=problem, maybe_billed=maybe_billed, reply=reply)

    def _record_given_up(self, turn_brief: Brief, error: BaseException) -> None:
        """Records a call that is given up, at once: the process may have a second left. One in a batch is not given up,
        since a later run takes its reply; one that waits for a batch was never made."""
        if self._provider.is_recorded_in_batch(turn_brief):
            return
        event = self._call_failed(turn_brief, error)
        if self._by_call or event.reply is not None:
            with suppress(DebateError):  # the journal can't be written: it says so when it is closed
                self._runner.append(event, queue_if_disk_full=event.reply is not None)

    def _out_of_time(self, failure: TransientError) -> Paused:
        """The error that stops the debate after the last failure of a call."""
        retry_for = self._debate.retry_for
        if failure.tries is not None:
            why = f"no complete answer after {plural(failure.tries, 'call')}. Resume once the cause is removed."
        else:
            why = f"no answer after {min(retry_for, failure.retry_for or retry_for):g} s of failed or silent calls."
            why += f" The provider asks to wait {failure.after:,.0f} s." if failure.after else ""
            why += " Resume when the provider answers again."
        return Paused([*failure.problems, f"{self._turn.id}: {why}"])

    # The reply

    async def _parse(self, reply: Reply, code: ReplyCode | None, *, last: bool) -> ReplyEvent:
        """The event that a reply makes; `last` says that no other is asked for."""
        try:
            return replies.parse_reply(self._debate, self._turn, reply, code, last=last)
        except BadReply as error:
            absent = last and self._may_be_absent()
            return replies.rejected_event(self._turn, replies.as_stored(reply), error, absent=absent)
        except Exception as error:
            problem = f"The program failed to read the reply, which is complete ({type(error).__name__})."
            fields = {"turn_id": self._turn.id, "spec": self._provider.name, "maybe_billed": reply.by_call}
            await self._runner.record(CallFailed(**fields, problem=problem, reply=replies.as_stored(reply)))
            raise

    def _may_be_absent(self) -> bool:
        """Whether the debate can go on without a usable reply to the turn."""
        if self._turn.judging and self._options.required_judges != "quorum":
            return self._options.required_judges == "none"
        return schedule.may_be_absent(self._debate, self._turn)


def _last_rejected(debate: DebateState, turn: Turn, spec: str) -> Rejected | None:
    """The last reply to a turn that can't be used, if it is from the same model: no other's reply is shown."""
    rejected = debate.rejected_replies(turn.id)
    return rejected[-1] if rejected and rejected[-1].reply.spec == spec else None


def awaited_calls(debate: DebateState) -> set[str]:
    """The `call_id` of each call that a batch may hold for a turn that is due: that of the turn's brief, since after
    a power cut a call may have no `BriefSent`, and of each call under way, whose brief an earlier version may have
    worded."""
    calls = set[str]()
    for turn in debate.due:
        spec = spec_in(debate, turn.seat)
        code = code_for(debate, turn, spec, None)  # any will do, since a digest holds none
        digests = {(spec, brief(debate, turn, _last_rejected(debate, turn, spec), code).digest)}
        digests |= {(sent.spec, sent.brief_digest) for sent in calls_under_way(debate, turn.id)}
        calls |= {call_id(debate, turn.id, called_spec, digest) for called_spec, digest in digests}
    return calls


def _no_usable_reply(turn: Turn, event: Rejected) -> ExternalError:
    problems = [*map(without_hint, event.problems)]
    if not turn.judging:
        return ProviderFailed(problems)
    problem = f"{turn.id}: none of the judge's {STRUCTURED_ATTEMPTS} replies can be used, so the debate stops here."
    return Paused([*problems, problem], hint="resume the debate to ask again, or with another judge")


def record_event(
    journal: JournalWriter,
    current: CurrentState,
    event: Event,
    on_event: OnEvent = ignore,
    *,
    queue_if_disk_full: bool = False,
) -> bool:
    """Writes an event to the journal and folds it into the state; False if it is on record already. With
    `queue_if_disk_full`, the journal keeps it in memory if the disk is full. Raises DoesNotFit if the event does not
    fit, JournalWriteError if it can't be written. In both cases journal and state are unchanged."""
    if not would_change(current.state, event):
        return False
    event_written = journal.append(event, queue_if_disk_full=queue_if_disk_full).event
    current.apply(event_written, checked=event_written is event)
    on_event(current.state, event_written)
    return True
