"""Rate limits that all workers share: their state is a row of the database for each model and provider.

The rules are those of `tournament.limits`. A call is admitted in one transaction: it locks the row of its tournament
and then those of its limits, asks a limiter with their state, and writes the state back. The clock is the database's.
Each worker says how many of its calls are under way, and the numbers of workers that are dead don't count. The same
transaction checks the cap on costs.

What a transaction adds to sums must be added once. So each has a number, which it writes too: where the answer to its
COMMIT is lost, the next one finds out by that number whether it was committed.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

from pydantic import Field, ValidationError

from debate_orchestrator.core.reply import Usage
from debate_orchestrator.core.settings import MAX_COUNT
from debate_orchestrator.core.values import FrozenModel
from debate_orchestrator.engine.budget import RUN_AGAIN, check_cap
from debate_orchestrator.tournament.cluster.database import LIVE_ANYWHERE, RETRY, Database, fetched, out_of_reach
from debate_orchestrator.tournament.limits import Admission, Figure, Gate, Limiter, Limiters, LimiterState
from debate_orchestrator.tournament.spec import Limits, TournamentSpec
from debate_orchestrator.util.errors import BadFile, Paused

if TYPE_CHECKING:
    from psycopg import AsyncConnection

LOCK_WAIT = 2
"""Seconds for which an update waits for a row: one that another session has locked must not keep a connection, and
what is locked already, from other tournaments and models for longer."""
_SOON = 0.1
"""Seconds until limiters are looked at again where calls under way leave no room."""

_LOCK_WAIT = f"""
SELECT set_config('lock_timeout', '{LOCK_WAIT}s', true)
WHERE current_setting('lock_timeout')::interval NOT BETWEEN '1ms' AND '{LOCK_WAIT}s'
"""
_TOURNAMENT = "SELECT max_cost, committed FROM tournaments WHERE id = %(id)s FOR NO KEY UPDATE"
_BEGIN = "INSERT INTO limiters (key) SELECT unnest(%(keys)s::text[]) ON CONFLICT DO NOTHING"
_LOCK = "SELECT key, state::text FROM limiters WHERE key = ANY(%(keys)s::text[]) ORDER BY key FOR UPDATE"
_NOW = f"SELECT extract(epoch FROM clock_timestamp()), ARRAY({LIVE_ANYWHERE})"
_NUMBER = "SELECT number FROM gate_updates WHERE gate = %(gate)s"
_SAVE = """
WITH numbered AS (
    INSERT INTO gate_updates (gate, number) VALUES (%(gate)s, %(number)s)
    ON CONFLICT (gate) DO UPDATE SET number = excluded.number
), counted AS (
    UPDATE tournaments SET committed = committed + %(price)s, calls = calls + %(calls)s,
        failed_calls = failed_calls + %(failed)s, throttled = throttled + %(throttled)s
    WHERE id = %(id)s
)
UPDATE limiters SET state = new.state::jsonb FROM unnest(%(keys)s::text[], %(states)s::text[]) AS new (key, state)
WHERE limiters.key = new.key
"""
_UNSYNCED = "SET LOCAL synchronous_commit = off"


class _Row(FrozenModel):
    """The state of one model or provider in the database; empty at first."""

    limiter: LimiterState | None = None
    in_flight: dict[str, Annotated[int, Field(ge=-MAX_COUNT, le=MAX_COUNT)]] = {}
    """Worker id to its calls under way."""
    given: list[tuple[str, Figure, Figure, Figure]] = []
    """What is left of each limit that tournaments give: what is limited, how much a minute, what is left, and when that
    was so. Tournaments that give the same number share it."""

    def known(self, limits: Limits) -> LimiterState | None:
        """What is known to those who give these limits."""
        given = {name: (rate, *level) for name, rate, *level in self.given if _gives(limits, name, rate)}
        return self.limiter and self.limiter.model_copy(update={"given": given})

    def after(self, limiter: Limiter, limits: Limits, in_flight: dict[str, int]) -> _Row:
        """The row after a limiter of those who give these limits has counted."""
        state = limiter.state()
        others = [one for one in self.given if not _gives(limits, *one[:2])]
        own = [(name, *level) for name, level in (state.given or {}).items()]
        return _Row(limiter=state.model_copy(update={"given": {}}), in_flight=in_flight, given=others + own)


def _gives(limits: Limits, name: str, rate: float) -> bool:
    """Whether these limits have one of so much a minute."""
    return limits.model_dump().get(name) == rate


class SharedLimiters(Limiters):
    """The limiters of a run that is one of several."""

    def __init__(
        self, spec: TournamentSpec, database: Database, tournament: str, worker_id: int, under_way: Counter[str]
    ):
        """`under_way` counts the calls of this worker, those of its earlier runs too, by the limits that they pass."""
        super().__init__(spec)
        self.database, self.tournament, self.worker_id, self.under_way = database, tournament, worker_id, under_way
        self.updating = asyncio.Lock()
        """Held during an update: those of one tournament wait for its row, and one of them is enough to do so."""

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
    calls: int = 0
    """Calls beyond those that were counted."""
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
        self.calls += later.calls
        self.failed += later.failed
        self.responses += later.responses
        self.ended = self.ended or later.ended


@dataclass
class _GateUpdate:
    """What one transaction has written and taken."""

    number: int
    written: _Unreported = field(default_factory=_Unreported)
    call: Admission | None = None
    """The call that it admitted."""
    taken: list[str] = field(default_factory=list)
    """The limits in which it took room."""


class SharedGate(Gate):
    """The limits that the calls of one model pass, wherever they are made."""

    def __init__(self, shared: SharedLimiters, model: str):
        super().__init__(shared.of(model), shared.retry_for)
        self._shared, self._model = shared, model
        self._limits = shared.keys(model)
        self._id, self._number = uuid4().hex, 0
        self._unreported = _Unreported()
        self._unconfirmed: _GateUpdate | None = None
        """The update whose COMMIT was sent and not answered."""
        self._reporting: asyncio.Task[None] | None = None

    async def _take(self, call: Admission, turn: str) -> float | Paused:
        try:
            wait = await self._update(call, turn)
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
        if self._waiting and (self._reporting is None or self._reporting.done()):
            self._reporting = asyncio.create_task(self._report_all())
            # An error is raised by `reported`, or by the next call; without this, asyncio would print it too.
            self._reporting.add_done_callback(lambda task: task.cancelled() or task.exception())

    @property
    def _waiting(self) -> bool:
        return self._unreported.waiting or self._unconfirmed is not None

    async def _report_all(self) -> None:
        while self._waiting:
            await self._shared.database.retried_until_reached(self._update)

    async def reported(self) -> None:
        """Returns when all that has happened is in the database."""
        if self._reporting is not None:
            await self._reporting

    async def _update(self, call: Admission | None = None, turn: str = "") -> float | Paused:
        """Writes what has happened, and takes room for a call; seconds after which to try again if there is none, or
        Paused if the call would wait too long. OverBudget if it would exceed the cap."""
        async with self._shared.updating:
            self._number += 1
            made = _GateUpdate(self._number)
            try:
                async with self._shared.database.transaction() as connection:
                    wait = await self._updated(connection, made, call, turn)
                    self._unconfirmed = made  # until its COMMIT, which is sent now, is answered
                self._unconfirmed = None
                return wait
            except BaseException:
                self._shared.under_way.subtract(made.taken)
                if self._unconfirmed is not made:
                    self._put_back(made)
                self._report()
                raise

    def _put_back(self, made: _GateUpdate) -> None:
        """Queues the rolled-back amounts of an update again."""
        made.written.add(self._unreported)
        self._unreported = made.written

    async def _updated(
        self, connection: AsyncConnection, made: _GateUpdate, call: Admission | None, turn: str
    ) -> float | Paused:
        """The same, in a transaction. `made` gets what is written and taken."""
        spending, rows, alive, now = await self._locked(connection)
        await self._confirm(connection)
        # Both are read together: a call that ends between them would leave its room, and not that it was throttled.
        made.written, self._unreported, own = self._unreported, _Unreported(), Counter(self._shared.under_way)
        limiters, in_flight = dict[str, Limiter](), dict[str, dict[str, int]]()
        for key, limits in self._limits.items():
            limiter = limiters[key] = Limiter(limits, lambda: now)
            if (state := rows[key].known(limits)) is not None:
                limiter.restore(state)
            others = in_flight[key] = {
                worker: count for worker, count in rows[key].in_flight.items() if worker in alive
            }
            limiter.in_flight = own[key] + sum(others.values())
            limiter.correct(made.written.amounts)
        throttled = limiters[self._model].throttled
        for status, headers in made.written.responses:
            limiters[self._model].on_response(status, headers)
        throttled = limiters[self._model].throttled - throttled
        wait: float | Paused = 0.0
        if call is not None and not (wait := self._taken([*limiters.values()], call, turn, _SOON)):
            self._check_cap(spending, call, turn, made.written.cost)
            made.call, made.taken = call, list(limiters)
            own.update(made.taken)
            self._shared.under_way.update(made.taken)
        states = {}
        for key, limiter in limiters.items():
            counts = {**in_flight[key], str(self._shared.worker_id): own[key]}
            states[key] = rows[key].after(limiter, self._limits[key], counts).model_dump_json()
        await self._save(connection, made, states, throttled)
        return wait

    async def _locked(
        self, connection: AsyncConnection
    ) -> tuple[tuple[float | None, float] | None, dict[str, _Row], set[str], float]:
        """The cap of the tournament and what is spent and expected of calls under way, None if it is not there; the
        rows of the limits; the workers that are alive, without this one; and the time. No other worker can change the
        first two until the transaction ends. BadFile for a state that no worker wrote."""
        keys = sorted(self._limits)
        # Not in a pipeline: after one, PostgreSQL 15 lets a frozen worker keep its locks for ever
        # (idle_in_transaction_session_timeout is not looked at).
        await connection.execute(_LOCK_WAIT)
        # Locked first, so that this never waits for it while it holds rows that other tournaments need.
        spending = await fetched(connection, _TOURNAMENT, id=self._shared.tournament)
        states = dict[str, str](await fetched(connection, _LOCK, keys=keys))
        if len(states) < len(keys):
            await connection.execute(_BEGIN, {"keys": keys})
            states = dict[str, str](await fetched(connection, _LOCK, keys=keys))
        ((now, alive),) = await fetched(connection, _NOW)
        return (
            next(iter(spending), None),
            {key: self._row(key, states[key]) for key in keys},
            {*map(str, alive)} - {str(self._shared.worker_id)},
            float(now),
        )

    async def _confirm(self, connection: AsyncConnection) -> None:
        """Finds out whether the update was made whose COMMIT was not answered. It has ended, since it had the same
        rows locked. If it admitted a call, the room of the call is given back: the call asks again, or is not made."""
        if (made := self._unconfirmed) is None:
            return
        number = await fetched(connection, _NUMBER, gate=self._id)
        self._unconfirmed = None
        if number != [(made.number,)]:
            self._put_back(made)
        elif (call := made.call) is not None:
            amounts = Counter({name: -amount for name, amount in call.amounts.items()})
            self._unreported.add(_Unreported(amounts, cost=-call.price, calls=-1, ended=True))

    async def _save(
        self, connection: AsyncConnection, made: _GateUpdate, states: dict[str, str], throttled: int
    ) -> None:
        """Writes what an update has changed, with its number."""
        price = made.written.cost + (made.call.price if made.call is not None else 0.0)
        values = {
            "gate": self._id,
            "number": made.number,
            "id": self._shared.tournament,
            "price": price,
            "calls": made.written.calls + (made.call is not None),
            "failed": made.written.failed,
            "throttled": throttled,
            "keys": list(states),
            "states": list(states.values()),
        }
        if made.call is None and price <= 0:  # if the database crashes, calls that have ended count a little longer
            await connection.execute(_UNSYNCED)
        await connection.execute(_SAVE, values)

    def _row(self, key: str, state: str) -> _Row:
        try:
            return _Row.model_validate_json(state)
        except ValidationError:
            problem = f"{self._shared.database.where} holds limits of {key} that this program did not write."
            raise BadFile(problem, hint="restore the database, or name an empty one") from None

    def _check_cap(self, spending: tuple[float | None, float] | None, call: Admission, turn: str, ended: float) -> None:
        """OverBudget if a call would exceed the cap. `ended` is the cost of finished calls that the database does not
        count yet. BadFile if the cap or a sum is not a number."""
        cap, committed = spending or (math.nan, math.nan)
        if cap is not None and not (math.isfinite(cap) and math.isfinite(committed)):
            problem = f"{self._shared.database.where} holds costs of the tournament that this program did not write."
            raise BadFile(problem, hint="restore the database, or name an empty one")
        check_cap(cap, lambda: committed + ended, turn, self._model, call.price, RUN_AGAIN)
