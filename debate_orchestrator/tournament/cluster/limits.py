"""Limits that all workers share: their state is a row of the database for each model and provider.

The rules are those of `tournament.limits`. A call is admitted in a transaction that locks the rows of its limits, lets
a limiter with their state decide, and writes the state back; the clock is the database's. Each worker says how many of
its calls are under way, and the numbers of workers that are dead don't count. The cap on costs is held by the same
transaction.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, ValidationError

from debate_orchestrator.core.reply import Usage
from debate_orchestrator.core.settings import MAX_COUNT
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine.budget import RUN_AGAIN, check_cap
from debate_orchestrator.tournament.cluster.database import LIVE_ANYWHERE, RETRY, Database, fetched, out_of_reach
from debate_orchestrator.tournament.limits import Admission, Gate, Limiter, Limiters, LimiterState
from debate_orchestrator.tournament.spec import Spec
from debate_orchestrator.util.errors import BadFile, Paused

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_SOON = 0.1
"""Seconds until limiters are looked at again where calls under way leave no room."""

_BEGIN = "INSERT INTO limiters (key) SELECT unnest(%(keys)s::text[]) ON CONFLICT DO NOTHING"
_LOCK = "SELECT key, state::text FROM limiters WHERE key = ANY(%(keys)s::text[]) ORDER BY key FOR UPDATE"
_NOW = f"SELECT extract(epoch FROM clock_timestamp()), ARRAY({LIVE_ANYWHERE})"
_SAVE = """
UPDATE limiters SET state = new.state::jsonb FROM unnest(%(keys)s::text[], %(states)s::text[]) AS new (key, state)
WHERE limiters.key = new.key
"""
_UNSYNCED = "SET LOCAL synchronous_commit = off"
_COMMIT = """
UPDATE tournaments SET committed = committed + %(price)s, calls = calls + %(calls)s,
    failed_calls = failed_calls + %(failed)s, throttled = throttled + %(throttled)s
WHERE id = %(id)s AND (%(calls)s = 0 OR max_cost IS NULL
    -- PostgreSQL sorts NaN above all numbers: neither it nor an infinite number passes for money that is left
    OR committed > '-Infinity' AND committed + %(price)s <= max_cost AND max_cost < 'Infinity')
RETURNING id
"""
_CAP = "SELECT max_cost, committed FROM tournaments WHERE id = %(id)s FOR NO KEY UPDATE"


class _Row(FrozenModel):
    """The state of one model or provider in the database; empty at first."""

    limiter: LimiterState | None = None
    in_flight: dict[str, Annotated[int, Field(ge=-MAX_COUNT, le=MAX_COUNT)]] = {}
    """Worker id to its calls under way."""


class SharedLimiters(Limiters):
    """The limiters of a run that is one of several."""

    def __init__(self, spec: Spec, database: Database, tournament: str, worker_id: int, under_way: Counter[str]):
        """`under_way` counts the calls of this worker, those of its earlier runs too, by the limits that they pass."""
        super().__init__(spec)
        self.database, self.tournament, self.worker_id, self.under_way = database, tournament, worker_id, under_way

    def _gate(self, model: str) -> Gate:
        return SharedGate(self, model)

    async def close(self) -> None:
        """Returns when what has ended is known to the database."""
        gates = [gate.reported() for gate in self._gates.values() if isinstance(gate, SharedGate)]
        for ended in await asyncio.gather(*gates, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended


@dataclass
class _Unreported:
    """What has happened to calls and is not in the database yet."""

    amounts: Counter[str] = field(default_factory=Counter)
    """What calls took beyond what was expected of them."""
    cost: float = 0.0
    failed: int = 0
    responses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    ended: bool = False
    """Whether calls have ended."""

    @property
    def waiting(self) -> bool:
        return self.ended or bool(self.responses)

    def add(self, later: _Unreported) -> None:
        """Takes in what happened later."""
        self.amounts.update(later.amounts)
        self.cost += later.cost
        self.failed += later.failed
        self.responses += later.responses
        self.ended = self.ended or later.ended


class SharedGate(Gate):
    """The limits that the calls of one model pass, wherever they are made."""

    def __init__(self, shared: SharedLimiters, model: str):
        super().__init__(shared.of(model), shared.retry_for)
        self._shared, self._model = shared, model
        self._limits = shared.keys(model)
        self._exchanging = asyncio.Lock()
        self._unreported = _Unreported()
        self._reporting: asyncio.Task[None] | None = None

    async def _take(self, call: Admission, turn: str) -> float | Paused:
        try:
            wait = await self._exchange(call, turn)
        except out_of_reach() as error:
            self._shared.database.lost(error)
            return RETRY
        self._shared.database.reached()
        return wait

    def on_response(self, status: int, headers: Mapping[str, str]) -> None:
        self._unreported.responses.append((status, {name.lower(): value for name, value in headers.items()}))
        self._report()

    def ended(self, call: Admission, used: Usage | None, cost: float | None, *, failed: bool) -> None:
        self._shared.under_way.subtract(list(self._limits))
        self._unreported.amounts.update(call.surplus(used))
        self._unreported.cost += 0.0 if cost is None else cost - call.price
        self._unreported.failed += failed
        self._unreported.ended = True
        self._report()

    def _report(self) -> None:
        """Writes to the database what has happened, soon, and again until that has worked."""
        if self._unreported.waiting and (self._reporting is None or self._reporting.done()):
            self._reporting = asyncio.create_task(self._report_all())
            # An error is raised by `reported`, or by the next call; without this, asyncio would print it too.
            self._reporting.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _report_all(self) -> None:
        while self._unreported.waiting:
            await self._shared.database.persistent(self._exchange)

    async def reported(self) -> None:
        """Returns when all that has happened is in the database."""
        if self._reporting is not None:
            await self._reporting

    async def _exchange(self, call: Admission | None = None, turn: str = "") -> float | Paused:
        """Writes what has happened, and takes room for a call; seconds after which to try again if there is none, or
        Paused if the call would wait too long. OverBudget if it would exceed the cap."""
        async with self._exchanging:
            written, taken = _Unreported(), list[str]()
            try:
                async with self._shared.database.transaction() as connection:
                    return await self._exchanged(connection, written, taken, call, turn)
            except BaseException:
                self._shared.under_way.subtract(taken)
                written.add(self._unreported)
                self._unreported = written
                self._report()
                raise

    async def _exchanged(
        self, connection: AsyncConnection, written: _Unreported, taken: list[str], call: Admission | None, turn: str
    ) -> float | Paused:
        """The same, in a transaction. `written` gets what is written, `taken` the limits in which room is taken."""
        states, alive, now = await self._locked(connection)
        # Both are read together: a call that ends between them would leave its room, and not that it was throttled.
        written.add(self._unreported)
        self._unreported, own = _Unreported(), Counter(self._shared.under_way)
        limiters, in_flight = dict[str, Limiter](), dict[str, dict[str, int]]()
        for key, limits in self._limits.items():
            limiter = limiters[key] = Limiter(limits, lambda: now)
            if (state := states[key].limiter) is not None:
                limiter.restore(state)
            others = in_flight[key] = _of(alive, states[key].in_flight)
            limiter.in_flight = own[key] + sum(others.values())
            limiter.correct(written.amounts)
        throttled = limiters[self._model].throttled
        for status, headers in written.responses:
            limiters[self._model].on_response(status, headers)
        throttled = limiters[self._model].throttled - throttled
        price = written.cost
        wait: float | Paused = 0.0
        if call is not None:
            if wait := self._taken([*limiters.values()], call, turn, _SOON):
                call = None
            else:
                taken += limiters
                own.update(taken)
                self._shared.under_way.update(taken)
                price += call.price
        counts = {"calls": int(call is not None), "failed": written.failed, "throttled": throttled}
        await self._commit(connection, price, counts, call, turn)
        texts = []
        for key, limiter in limiters.items():
            counts_by_worker = {**in_flight[key], str(self._shared.worker_id): own[key]}
            texts.append(_Row(limiter=limiter.state(), in_flight=counts_by_worker).model_dump_json())
        await connection.execute(_SAVE, {"keys": list(limiters), "states": texts})
        if call is None:  # if the database crashes, calls that have ended count a little longer
            await connection.execute(_UNSYNCED)
        return wait

    async def _locked(self, connection: AsyncConnection) -> tuple[dict[str, _Row], set[str], float]:
        """The states of the limits, which no other worker can change until the transaction ends; the workers that are
        alive, without this one; and the time. BadFile for a state that no worker wrote."""
        keys = sorted(self._limits)
        states = dict(await fetched(connection, _LOCK, keys=keys))
        if len(states) < len(keys):
            await connection.execute(_BEGIN, {"keys": keys})
            states = dict(await fetched(connection, _LOCK, keys=keys))
        ((now, alive),) = await fetched(connection, _NOW)
        return (
            {key: self._row(key, states[key]) for key in keys},
            {*map(str, alive)} - {str(self._shared.worker_id)},
            float(now),
        )

    def _row(self, key: str, state: str) -> _Row:
        try:
            return _Row.model_validate_json(state)
        except ValidationError:
            problem = f"{self._shared.database.where} holds limits of {key} that this program did not write."
            raise BadFile(problem, hint="restore the database, or name an empty one") from None

    async def _commit(
        self, connection: AsyncConnection, price: float, counts: dict[str, int], call: Admission | None, turn: str
    ) -> None:
        """Adds to what the tournament has spent, reserved and counted. OverBudget if a call would exceed the cap,
        BadFile for a cap or a sum that is no number."""
        if not price and not any(counts.values()):
            return
        names = {"id": self._shared.tournament, "price": price, **counts}
        if await fetched(connection, _COMMIT, **names) or call is None:
            return
        if rows := await fetched(connection, _CAP, id=self._shared.tournament):
            ((cap, committed),) = rows
            check_cap(cap, lambda: committed, turn, self._model, call.price, RUN_AGAIN)
        # Another worker gave money back meanwhile. The row is locked now, so what is found holds.
        if not await fetched(connection, _COMMIT, **names):
            problem = f"{self._shared.database.where} holds costs of the tournament that this program did not write."
            raise BadFile(problem, hint="restore the database, or name an empty one")


def _of(alive: set[str], counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of workers that are alive."""
    return {worker: count for worker, count in counts.items() if worker in alive}
