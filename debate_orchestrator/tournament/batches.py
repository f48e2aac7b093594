"""Puts the calls of many debates into batches, which cost half, and takes their results.

The calls that all debates wait for are collected into one batch for each model. `batches.jsonl` in the tournament's
folder says which calls are in which batch: a line is synced before a batch is created, and another once the provider
has named it, or has refused it. On a full disk the second line waits in memory until there is room. The calls have ids
that follow from the debate's journal, so a later run knows the batch of a turn whose `BriefSent` is on record and
takes its result. A call that a batch does not answer is made again alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from debate_orchestrator.core.costs import call_id, calls_under_way
from debate_orchestrator.core.events import BriefSent
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine.retry import bounded_retries
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import cast_providers, registry
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.provider import NO_PERMISSIONS, BatchApi, OnPiece, Permissions, Provider
from debate_orchestrator.storage.running_elsewhere import BATCHES
from debate_orchestrator.tournament.batch_file import Batch, BatchFile
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import BadFile, ExternalError, Paused, ReplyPending, TransientError, short_repr
from debate_orchestrator.util.numbers import plural

MAX_CALLS = 500
"""Calls of one batch: the results of so many long answers stay below the limit of a response."""
QUIET_SECONDS = 2.0
"""Seconds without a new call after which a batch is created of those that have come."""
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 2.0, 60.0
"""The polling interval of a batch, at first and in the end, in seconds."""
_CREATION_GRACE_SECONDS = 10.0
"""Seconds for which batches that are being created are awaited when a run ends."""

_Result = TypeVar("_Result")
Results = Mapping[str, Reply | TransientError]
"""Call id to its reply, or to why it has none."""


class _Call(NamedTuple):
    """A call that waits for its batch to be created."""

    body: dict[str, Any]
    code: str | None
    stop: asyncio.Event
    batch: asyncio.Future[Batch]


class Batches:
    def __init__(
        self,
        folder: str,
        *,
        creates_batches: bool = True,
        permissions: Permissions = NO_PERMISSIONS,
        on_note: Callable[[str], None] = lambda note: None,
        quiet_seconds: float = QUIET_SECONDS,
        first_poll: float = FIRST_POLL_SECONDS,
    ):
        """Without `creates_batches` no new batch is created, and only results of earlier ones are taken. Raises as
        `BatchFile`."""
        self.creates_batches, self._permissions, self._on_note = creates_batches, permissions, on_note
        self._quiet_seconds, self._first_poll = quiet_seconds, first_poll
        self._file = BatchFile(folder)
        self._apis: dict[str, BatchApi] = {}
        self._calls: dict[str, _Call] = {}
        self._queues: dict[str, list[str]] = {}
        """By model, the ids of calls for the next batch."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._creations: set[asyncio.Task[None]] = set()
        """The task that puts calls into a new batch, from its upload on."""
        self._results: dict[str, asyncio.Task[Results]] = {}

    def wrap_providers(
        self, unlimited: Mapping[str, Provider], limited: Mapping[str, Provider], current: CurrentState
    ) -> dict[str, Provider]:
        """The providers of a debate; those that take batches are replaced. `limited`, which keep rate limits, make the
        calls that are made alone; those of `unlimited` make the bodies of calls in batches."""
        providers = dict(limited)
        for seat, provider in unlimited.items():
            if registry.takes_batches(provider.name):
                if provider.name not in self._apis:
                    api = cast_providers.make_provider(provider.name, current, self._permissions)
                    self._apis[provider.name] = cast(BatchApi, api)
                providers[seat] = BatchedProvider(limited[seat], cast(BatchApi, provider), current, self)
        return providers

    def has_call(self, call: str) -> bool:
        return self._file.batch_of(call) is not None

    async def reply(
        self, call: str, model: str, body: dict[str, Any], stop: asyncio.Event, code: str | None = None
    ) -> Reply:
        """The reply to a call, from the batch that holds it or from the next one, with the code that it was asked for
        there. Raises TransientError if the batch does not answer it; ReplyPending if `stop` is set while it is in a
        batch, and Paused if it is in none yet; BadFile if the record has the call under another model."""
        batch = self._file.batch_of(call)
        if batch and batch.model != model:
            problem = f"{BATCHES} has a call to {model} in a batch of {short_repr(batch.model)}."
            raise BadFile(problem, hint="restore the file from a copy")
        if call in self._calls:
            problem = "Two journals of this tournament begin with the same nonce."
            raise BadFile(problem, hint="move one of them away, and its debate is held again")
        future: asyncio.Future[Batch] = asyncio.get_running_loop().create_future()
        self._calls[call] = _Call(body, code, stop, future)
        try:
            if batch is None:
                self._enqueue(model, call)
                batch = await _unless_stopped(future, stop) or self._file.batch_of(call)
            if batch is None:
                raise Paused(f"The run was stopped before a batch of calls to {model} was created.")
            results = await _unless_stopped(asyncio.shield(self._results_task(batch)), stop)
        finally:
            del self._calls[call]
            queue = self._queues.get(model, [])
            if call in queue:  # no batch is created with a call that nothing awaits
                queue.remove(call)
        if results is None:
            raise ReplyPending(f"A batch of {model} is under way. A later run takes its results.")
        result = results.get(call) or self._pending(batch, [f"{model} gave no complete answer to this call."])
        if isinstance(result, Exception):
            raise result
        return result

    def _enqueue(self, model: str, call: str) -> None:
        queue = self._queues.setdefault(model, [])
        queue.append(call)
        if timer := self._timers.pop(model, None):
            timer.cancel()
        if len(queue) >= MAX_CALLS:
            self._flush(model)
        else:
            self._timers[model] = asyncio.get_running_loop().call_later(self._quiet_seconds, self._flush, model)

    def _flush(self, model: str) -> None:
        """Begins a batch of the calls that have come."""
        calls, self._queues[model] = self._queues[model], []
        if calls:
            task = asyncio.get_running_loop().create_task(self._create_for(model, calls))
            self._creations.add(task)
            task.add_done_callback(self._creations.discard)

    async def _create_for(self, model: str, calls: Sequence[str]) -> None:
        """Has a batch created, and tells the calls which one it is, or why there is none."""
        error: Exception | None = None
        try:
            batch = await self._create(self._apis[model], model, calls)
        except TransientError as failure:
            error = Paused([*failure.problems, f"So no batch of {model} was created."])
        except Exception as failure:
            error = failure
        for future in (self._calls[call].batch for call in calls if call in self._calls):
            if error is not None and not future.done():
                future.set_exception(error)
            elif not future.done():
                future.set_result(batch)

    async def _create(self, api: BatchApi, model: str, calls: Sequence[str]) -> Batch:
        """Creates a batch of those calls that are still awaited. Raises ReplyPending if it may have been created
        without an answer; any other error says that it was not created."""
        uploaded: dict[str, dict[str, Any]] = {}
        file = ""

        async def create() -> Batch:
            nonlocal uploaded, file
            while (bodies := self._still_awaited(calls)) != uploaded or not bodies:
                if not bodies:
                    raise Paused(f"The run was stopped before a batch of calls to {model} was created.")
                file, uploaded = await api.upload_batch(bodies), bodies
            # Nothing is awaited since the last look at the calls: one that left before is in no batch, and one that
            # leaves from here on finds itself on record.
            batch = self._file.record_intent(model, {call: self._calls[call].code for call in bodies})
            try:
                id = await api.create_batch(bodies, file)
            except ExternalError as error:
                if isinstance(error, TransientError) and not error.not_begun:
                    raise self._pending(batch, error.problems) from None
                self._file.record_creation(batch, None)
                raise
            self._file.record_creation(batch, id)
            self._on_note(f"Batch {id} has {plural(len(bodies), 'call')} of {batch.model}.")
            return batch

        return await _with_retries(create)

    def _still_awaited(self, calls: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The bodies of those calls whose debates wait for them and are not told to stop."""
        awaited = {call: self._calls[call] for call in calls if call in self._calls}
        return {call: pending_call.body for call, pending_call in awaited.items() if not pending_call.stop.is_set()}

    def _results_task(self, batch: Batch) -> asyncio.Task[Results]:
        """Takes the results of a batch: one task for all its calls, which debates may ask for one after
        another."""
        if batch.name not in self._results:
            task = asyncio.get_running_loop().create_task(self._take_results(batch))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # no call may be left to take it
            self._results[batch.name] = task
        return self._results[batch.name]

    async def _take_results(self, batch: Batch) -> Results:
        """Waits for the end of a batch and returns its results. Raises ReplyPending if no result can be fetched now. A
        call whose answer stays incomplete through all retries has no result. A complete answer is kept even if a later
        attempt does not return it."""
        if batch.id is None:
            raise self._pending(batch, ())
        api, id, calls = self._apis[batch.model], batch.id, frozenset(batch.calls)
        results: dict[str, Reply | TransientError] = {}

        async def fetch_results() -> None:
            for call, result in (await api.batch_results(id, calls)).items():
                if not isinstance(results.get(call), Reply):
                    code = {"asked_code": batch.reply_codes.get(call)}
                    results[call] = result.model_copy(update=code) if isinstance(result, Reply) else result
            if missing := len(calls) - len(results):
                raise TransientError(f"{api.name} gave no complete answer to {missing:,} of the calls of a batch.")

        try:
            seconds = self._first_poll
            while not await _with_retries(lambda: api.batch_ended(id)):
                await asyncio.sleep(seconds)
                seconds = min(seconds * 1.5, MAX_POLL_SECONDS)
            await _with_retries(fetch_results)
        except ExternalError as error:
            if not results:
                raise self._pending(batch, error.problems) from None
        return results

    def _pending(self, batch: Batch, problems: Sequence[str]) -> ReplyPending:
        file = name_of(self._file.path)
        if batch.id is None:
            problem = (
                f"A batch of {plural(len(batch.calls), 'call')} of {batch.model} may have been created at "
                f"{batch.at} UTC: the provider's answer is not on record."
            )
            hint = (
                f"look for it in the provider's list of batches, and add a line to {file}: "
                f'{{"batch": "{batch.name}", "id": "ITS ID"}}, or {{"batch": "{batch.name}", "id": null}} if it is not '
                "there. Then resume"
            )
            return ReplyPending([*problems, problem], hint=hint)
        hint = (
            "resume later, with the key that created the batch. If its results will never come, take the lines that "
            f'begin with {{"batch": "{batch.name}" out of {file}: its calls are then made again, and paid for again'
        )
        return ReplyPending([*problems, f"A batch of {batch.model} is under way."], hint=hint)

    async def close(self) -> None:
        """Leaves the batches to a later run, and closes their file."""
        for timer in self._timers.values():
            timer.cancel()
        if self._creations:
            await asyncio.wait(self._creations, timeout=_CREATION_GRACE_SECONDS)
        tasks = [*self._creations, *self._results.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for api in self._apis.values():
            await api.close()
        self._file.close()


async def _unless_stopped(future: asyncio.Future[_Result], stop: asyncio.Event) -> _Result | None:
    """The result of a future; None if `stop` is set first."""
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((future, stopped), return_when=asyncio.FIRST_COMPLETED)
        return future.result() if future.done() else None
    finally:
        stopped.cancel()


async def _with_retries(call: Callable[[], Awaitable[_Result]]) -> _Result:
    """The result of a request about a batch, which is made again for a while if it fails. Raises TransientError after
    that. Such a request costs nothing, and is in no journal."""
    async with bounded_retries(LIMITS.retry_for) as retries:
        while True:
            try:
                return await call()
            except TransientError as failure:
                if (wait := retries.next_wait(failure)) is None:
                    raise
            await asyncio.sleep(wait)


class BatchedProvider(Provider):
    """A provider of one debate whose calls go into batches: all but searches, and turns of which a call failed."""

    def __init__(self, limited: Provider, batch_api: BatchApi, current: CurrentState, batches: Batches):
        self.name, self.caches = limited.name, limited.caches and not batches.creates_batches
        self._limited, self._batch_api, self._current, self._batches = limited, batch_api, current, batches
        self._stop = asyncio.Event()

    def _id(self, brief: Brief) -> str:
        """The id of the call under way, else of the next call. An earlier version may have given the brief of the call
        under way another digest."""
        sent = self._pending_brief_sent(brief)
        earlier = call_id(self._current.state, brief.turn_id, self.name, sent.brief_digest) if sent else None
        if earlier is not None and self._batches.has_call(earlier):
            return earlier
        return call_id(self._current.state, brief.turn_id, self.name, brief.digest)

    def _pending_brief_sent(self, brief: Brief) -> BriefSent | None:
        """The latest `BriefSent` of this model on record for a turn whose call has no result."""
        sent = [event for event in calls_under_way(self._current.state, brief.turn_id) if event.spec == self.name]
        return sent[-1] if sent else None

    def in_batch(self, brief: Brief) -> bool:
        failed = self._current.state.failed_calls(brief.turn_id)
        is_retry = any(call.spec == self.name and call.wait is not None for call in failed)
        return self._batches.has_call(self._id(brief)) or (
            self._batches.creates_batches and not brief.search and not is_retry
        )

    def is_recorded_in_batch(self, brief: Brief) -> bool:
        return self._pending_brief_sent(brief) is not None and self._batches.has_call(self._id(brief))

    async def acquire(self, brief: Brief, stop: asyncio.Event) -> bool:
        self._stop = stop
        if self.in_batch(brief):
            return not stop.is_set()
        return await self._limited.acquire(brief, stop)

    def release(self, brief: Brief) -> None:
        if not self.in_batch(brief):
            self._limited.release(brief)

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        if not self.in_batch(brief):
            return await self._limited.reply(brief, on_text)
        body = self._batch_api.batch_body(brief)
        code = brief.code.text if brief.code else None
        reply = await self._batches.reply(self._id(brief), self.name, body, self._stop, code)
        on_text(reply.text)
        return reply

    async def close(self) -> None:
        await self._limited.close()
