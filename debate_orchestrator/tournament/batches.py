"""Puts the calls of many debates into batches, which cost half, and takes their results.

The calls that all debates wait for are collected into one batch for each model. The calls have ids that follow from the
debate's journal, so a later run knows the batch of a turn whose `CallIntended` is on record and takes its result. A
call that a batch does not answer is made again alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from debate_orchestrator.core.costs import calls_under_way
from debate_orchestrator.core.events import CallIntended
from debate_orchestrator.core.fold import CurrentState
from debate_orchestrator.core.reply import Reply
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine.retry import Retries
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers import casting, registry
from debate_orchestrator.providers.limits import LIMITS
from debate_orchestrator.providers.provider import (
    NO_PERMISSIONS,
    BatchApi,
    OnPiece,
    Permissions,
    Provider,
)
from debate_orchestrator.storage.journal import WRITE_AGAIN
from debate_orchestrator.tournament.batch_file import BATCHES, Batch, BatchFile
from debate_orchestrator.util.data import name_of
from debate_orchestrator.util.errors import (
    BadFile,
    ExternalError,
    JournalWriteError,
    Paused,
    PermanentFailure,
    ReplyPending,
    TransientError,
    short_repr,
)
from debate_orchestrator.util.numbers import plural

MAX_CALLS = 500
"""Calls of one batch: the results of so many long answers stay below the limit of a response."""
QUIET = 2.0
"""Seconds without a new call after which a batch is created of those that have come."""
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 2.0, 60.0
"""Seconds between two looks at a batch, at first and in the end."""
_LAST_CREATIONS = 10.0
"""Seconds for which requests that create a batch are awaited when a run ends."""

_Result = TypeVar("_Result")


class _Call(NamedTuple):
    """A call that waits for its result."""

    model: str
    body: dict[str, Any]
    code: str | None
    stop: asyncio.Event
    result: asyncio.Future[Reply]


class Batches:
    """The batches of a run."""

    def __init__(
        self,
        folder: str,
        *,
        collects: bool = True,
        permissions: Permissions = NO_PERMISSIONS,
        on_note: Callable[[str], None] = lambda note: None,
        quiet: float = QUIET,
        first_poll: float = FIRST_POLL_SECONDS,
    ):
        """Without `collects` no new batch is created, and only results of earlier ones are taken. Raises as
        `BatchFile`."""
        self.collects, self._permissions, self._on_note = collects, permissions, on_note
        self._quiet, self._first_poll = quiet, first_poll
        self._file = BatchFile(folder)
        self._apis: dict[str, BatchApi] = {}
        self._calls: dict[str, _Call] = {}
        self._queues: dict[str, list[str]] = {}
        """By model, the ids of calls for the next batch."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """What awaits a batch, by the batch's name."""
        self._uploads: set[asyncio.Task[None]] = set()
        """What puts calls into a new batch, from its upload on."""
        self._creations: set[asyncio.Task[Batch]] = set()
        """Requests that create a batch which is on record."""
        self._results_of: dict[str, Mapping[str, Reply | TransientError]] = {}
        """Results by the name of their batch: debates come for those of an earlier run one after another."""

    def wrap_providers(
        self, plain: Mapping[str, Provider], limited: Mapping[str, Provider], current: CurrentState
    ) -> dict[str, Provider]:
        """The providers of a debate; those whose vendor takes batches are replaced. `limited` makes the calls that are
        made alone."""
        providers = dict(limited)
        for seat, provider in plain.items():
            if registry.takes_batches(provider.name):
                if provider.name not in self._apis:
                    api = casting.make_provider(provider.name, current, self._permissions)
                    self._apis[provider.name] = cast(BatchApi, api)
                source = cast(BatchApi, provider)
                providers[seat] = BatchedProvider(limited[seat], source, current, self)
        return providers

    def knows(self, call: str) -> bool:
        """Whether a call is in a batch that was, or may have been, created."""
        return self._file.batch_of(call) is not None

    async def reply(
        self, call: str, model: str, body: dict[str, Any], stop: asyncio.Event, code: str | None = None
    ) -> Reply:
        """The reply to a call, from the batch that holds it or from the next one, with the code that it was asked for
        there. TransientError if the batch does not answer it; ReplyPending if `stop` is set while it is in a batch,
        and Paused if it is in none yet; BadFile if the record has the call under another model."""
        batch = self._file.batch_of(call)
        if batch and batch.model != model:
            problem = f"{BATCHES} has a call to {model} in a batch of {short_repr(batch.model)}."
            raise BadFile(problem, hint="restore the file from a copy")
        if call in self._calls:
            problem = "Two journals of this tournament begin with the same nonce."
            raise BadFile(problem, hint="move one of them away, and its debate is held again")
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._calls[call] = _Call(model, body, code, stop, future)
        if batch:
            self._await(batch)
        else:
            self._enqueue(model, call)
        stopped = asyncio.ensure_future(stop.wait())
        either: set[asyncio.Future[Any]] = {future, stopped}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if future.done():
                return future.result()
            if self.knows(call):
                raise ReplyPending(f"A batch of {model} is under way. A later run takes its results.")
            raise Paused(f"The run was stopped before a batch of calls to {model} was created.")
        finally:
            stopped.cancel()
            del self._calls[call]
            queue = self._queues.get(model, [])
            if call in queue:  # no batch is created with a call that nothing awaits
                queue.remove(call)

    def _enqueue(self, model: str, call: str) -> None:
        queue = self._queues.setdefault(model, [])
        queue.append(call)
        if timer := self._timers.pop(model, None):
            timer.cancel()
        if len(queue) >= MAX_CALLS:
            self._flush(model)
        else:
            self._timers[model] = asyncio.get_running_loop().call_later(self._quiet, self._flush, model)

    def _flush(self, model: str) -> None:
        """Begins a batch of the calls that have come."""
        calls, self._queues[model] = self._queues[model], []
        if calls:
            task = asyncio.get_running_loop().create_task(self._create_and_await(model, calls))
            self._uploads.add(task)
            task.add_done_callback(self._uploads.discard)

    async def _create_and_await(self, model: str, calls: Sequence[str]) -> None:
        try:
            batch = await self._create(self._apis[model], model, calls)
        except TransientError as error:
            self._resolve(calls, Paused([*error.problems, f"So no batch of {model} was created."]))
        except Exception as error:
            self._resolve(calls, error)
        else:
            self._await(batch)

    def _await(self, batch: Batch) -> None:
        """Has the results of a batch handed out when it ends."""
        if batch.name not in self._tasks:
            self._tasks[batch.name] = asyncio.get_running_loop().create_task(self._take_results(batch))

    async def _take_results(self, batch: Batch) -> None:
        api = self._apis[batch.model]
        try:
            if batch.id is None:
                raise self._pending(batch, ())
            if batch.name not in self._results_of:
                self._results_of[batch.name] = await self._results(api, batch)
            results = self._results_of[batch.name]
        except ReplyPending as error:
            self._resolve(batch.calls, error)
        except ExternalError as error:
            self._resolve(batch.calls, self._pending(batch, error.problems))
        except Exception as error:
            self._resolve(batch.calls, error)
        else:
            for call in batch.calls:
                unanswered = [f"{api.name} gave no complete answer to this call."]
                self._resolve([call], results.get(call) or self._pending(batch, unanswered))
        finally:
            self._tasks.pop(batch.name, None)

    def _pending(self, batch: Batch, problems: Sequence[str]) -> ReplyPending:
        """The error for calls that wait for a batch."""
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

    async def _create(self, api: BatchApi, model: str, calls: Sequence[str]) -> Batch:
        """Creates a batch of those calls that are still awaited. ReplyPending if it may have been created without an
        answer; any other error says that it was not created."""
        uploaded: dict[str, dict[str, Any]] = {}
        file = ""

        async def create() -> Batch:
            nonlocal uploaded, file
            while (bodies := {call: one.body for call, one in self._still_awaited(calls).items()}) != uploaded:
                if not bodies:
                    raise Paused(f"The run was stopped before a batch of calls to {model} was created.")
                file, uploaded = await api.upload_batch(bodies), bodies
            # Nothing is awaited since the last look at the calls: one that left before is in no batch, and one that
            # leaves from here on finds itself on record.
            batch = self._file.begin(model, {call: self._calls[call].code for call in bodies})
            creation = asyncio.get_running_loop().create_task(self._request(api, batch, bodies, file))
            self._creations.add(creation)
            creation.add_done_callback(self._creations.discard)
            return await creation

        return await _with_retries(create)

    def _still_awaited(self, calls: Iterable[str]) -> dict[str, _Call]:
        """Those of some calls whose debates wait for them and are not told to stop."""
        awaited = {call: self._calls[call] for call in calls if call in self._calls}
        return {call: one for call, one in awaited.items() if not one.stop.is_set()}

    async def _request(self, api: BatchApi, batch: Batch, bodies: Mapping[str, dict[str, Any]], file: str) -> Batch:
        """Has a batch created that is on record, and records how that ended. Raises as `_create`."""
        try:
            id = await api.create_batch(bodies, file)
        except ExternalError as error:
            if isinstance(error, TransientError) and not error.refused:
                raise self._pending(batch, error.problems) from None
            await self._end(batch, None)
            raise
        self._on_note(f"Batch {id} has {plural(len(bodies), 'call')} of {batch.model}.")
        await self._end(batch, id)
        return batch

    async def _end(self, batch: Batch, id: str | None) -> None:
        """Records how the creation of a batch ended, as soon as there is room on the disk. ReplyPending if another
        program replaced the file: the user has to add the line."""
        self._file.end(batch, id)
        while True:
            try:
                return self._file.write_waiting()
            except JournalWriteError:
                await asyncio.sleep(WRITE_AGAIN)
            except PermanentFailure as error:
                raise ReplyPending(error.problems) from None

    async def _results(self, api: BatchApi, batch: Batch) -> Mapping[str, Reply | TransientError]:
        """The results of a batch. A call whose answer is not whole for as long as it is asked for has none, and holds
        up no other: an answer is handed out at the look that finds it whole, and no later look takes it away."""
        id, calls, seconds = str(batch.id), frozenset(batch.calls), self._first_poll
        while not await _with_retries(lambda: api.batch_ended(id)):
            await asyncio.sleep(seconds)
            seconds = min(seconds * 1.5, MAX_POLL_SECONDS)

        results: dict[str, Reply | TransientError] = {}

        async def look() -> None:
            for call, result in (await api.batch_results(id, calls)).items():
                if not isinstance(results.get(call), Reply):
                    code = {"asked_code": batch.codes.get(call)}
                    results[call] = result.model_copy(update=code) if isinstance(result, Reply) else result
            for call, result in results.items():
                if isinstance(result, Reply):
                    self._resolve([call], result)
            if len(results) < len(calls):
                problem = (
                    f"{api.name} gave no complete answer to {len(calls) - len(results):,} of the calls of a batch."
                )
                raise TransientError(problem)

        try:
            await _with_retries(look)
        except TransientError:
            if not results:
                raise
        return results

    def _resolve(self, calls: Iterable[str], result: Reply | Exception) -> None:
        for call in calls:
            waiting = self._calls.get(call)
            if waiting is None or waiting.result.done():
                continue
            if isinstance(result, Reply):
                waiting.result.set_result(result)
            else:
                waiting.result.set_exception(result)

    async def close(self) -> None:
        """Leaves the batches to a later run, and ends the lock of their file."""
        for timer in self._timers.values():
            timer.cancel()
        if self._creations:
            await asyncio.wait(self._creations, timeout=_LAST_CREATIONS)
        tasks = [*self._uploads, *self._creations, *self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for api in self._apis.values():
            await api.close()
        self._file.close()


async def _with_retries(call: Callable[[], Awaitable[_Result]]) -> _Result:
    """The result of a request about a batch, which is made again for a while if it fails. TransientError after that.
    Such a request costs nothing, and is in no journal."""
    retries = Retries(LIMITS.retry_for)
    while True:
        try:
            return await call()
        except TransientError as failure:
            if (wait := retries.next_wait(failure)) is None:
                raise
        await asyncio.sleep(wait)


class BatchedProvider(Provider):
    """A provider of one debate whose calls go into batches: all but searches, and turns of which a call failed."""

    def __init__(self, direct: Provider, source: BatchApi, current: CurrentState, batches: Batches):
        self.name, self.caches = direct.name, direct.caches and not batches.collects
        self._direct, self._source, self._current, self._batches = direct, source, current, batches
        self._stop = asyncio.Event()

    def _id(self, brief: Brief) -> str:
        """The id of the call that is under way, whose brief an earlier version may have given another digest; else of
        the next one."""
        intent = self._unanswered(brief)
        earlier = call_id(self._current.state, brief.turn_id, self.name, intent.brief_digest) if intent else None
        if earlier is not None and self._batches.knows(earlier):
            return earlier
        return call_id(self._current.state, brief.turn_id, self.name, brief.digest)

    def _unanswered(self, brief: Brief) -> CallIntended | None:
        """The latest `CallIntended` of this model on record for a turn whose call has no result."""
        intents = [call for call in calls_under_way(self._current.state, brief.turn_id) if call.spec == self.name]
        return intents[-1] if intents else None

    def in_batch(self, brief: Brief) -> bool:
        failed = self._current.state.failed_calls(brief.turn_id)
        again = any(call.spec == self.name and call.wait is not None for call in failed)
        return self._batches.knows(self._id(brief)) or (self._batches.collects and not brief.search and not again)

    def in_sent_batch(self, brief: Brief) -> bool:
        return self._unanswered(brief) is not None and self._batches.knows(self._id(brief))

    async def acquire(self, brief: Brief, stop: asyncio.Event) -> bool:
        self._stop = stop
        if self.in_batch(brief):
            return not stop.is_set()
        return await self._direct.acquire(brief, stop)

    def release(self, brief: Brief) -> None:
        if not self.in_batch(brief):
            self._direct.release(brief)

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        if not self.in_batch(brief):
            return await self._direct.reply(brief, on_text)
        body = self._source.batch_body(brief)
        code = brief.code.text if brief.code else None
        reply = await self._batches.reply(self._id(brief), self.name, body, self._stop, code)
        on_text(reply.text)
        return reply

    async def close(self) -> None:
        await self._direct.close()


def call_id(debate: DebateState, turn: str, model: str, brief: str) -> str:
    """The id of the next call of a turn in any batch: the same until its result is in the journal. `brief` is the
    brief's digest."""
    results = len(debate.rejected_replies(turn)) + len(debate.failed_calls(turn))
    parts = [debate.opened.nonce, turn, model, brief, results]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:48]


def has_batches(folder: str) -> bool:
    """Whether a tournament's folder has a record of batches."""
    return os.path.lexists(os.path.join(folder, BATCHES))
