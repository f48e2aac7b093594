"""Limits that all workers share: their state is a row of the database for each model and provider.

The rules are those of `tournament.limits`. A call is admitted in a transaction that locks the rows of its limits, lets
a limiter with their state decide, and writes the state back; the clock is the database's. Each worker says how many of
its calls are under way, and the numbers of workers that are dead don't count. The cap on costs is held by the same
transaction.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from debate_orchestrator.core.events import Usage
from debate_orchestrator.engine.budget import RUN_AGAIN, check_cap
from debate_orchestrator.tournament.cluster.database import LIVE, RETRY, Database, fetched, out_of_reach
from debate_orchestrator.tournament.limits import Admission, Gate, Limiter, Limiters, until_next_look
from debate_orchestrator.tournament.spec import Spec

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_SOON = 0.1
"""Seconds until limiters are looked at again where calls under way leave no room."""

_BEGIN = "INSERT INTO limiters (key) SELECT unnest(%(keys)s::text[]) ON CONFLICT DO NOTHING"
_LOCK = "SELECT key, state FROM limiters WHERE key = ANY(%(keys)s::text[]) ORDER BY key FOR UPDATE"
_NOW = f"SELECT extract(epoch FROM clock_timestamp()), ARRAY({LIVE})"
_SAVE = """
UPDATE limiters SET state = new.state::jsonb FROM unnest(%(keys)s::text[], %(states)s::text[]) AS new (key, state)
WHERE limiters.key = new.key
"""
_UNSYNCED = "SET LOCAL synchronous_commit = off"
_COMMIT = """
UPDATE tournaments SET committed = committed + %(price)s, calls = calls + %(calls)s
WHERE id = %(id)s AND (max_cost IS NULL OR committed + %(price)s <= max_cost OR %(calls)s = 0)
RETURNING id
"""


class SharedLimiters(Limiters):
    """The limiters of a run that is one of several."""

    def __init__(self, spec: Spec, database: Database, tournament: str, worker: int, under_way: Counter[str]):
        """`under_way` counts the calls of this worker, those of its earlier runs too, by the limits that they pass."""
        super().__init__(spec)
        self.database, self.tournament, self.worker, self.under_way = database, tournament, worker, under_way

    def _gate(self, model: str) -> Gate:
        return SharedGate(self, model)

    def remember(self, key: str, limiter: Limiter) -> None:
        """Takes note of how a limiter stands, to be shown."""
        self._limiters[key] = limiter

    async def close(self) -> None:
        """Returns when what has ended is known to the database."""
        for gate in self._gates.values():
            if isinstance(gate, SharedGate):
                await gate.reported()


class _News:
    """What the database has not heard of yet."""

    def __init__(self) -> None:
        self.amounts: Counter[str] = Counter()
        """What calls took beyond what was expected of them."""
        self.cost = 0.0
        self.responses: list[tuple[int, dict[str, str]]] = []
        self.ended = False
        """Whether calls have ended."""

    @property
    def waiting(self) -> bool:
        return self.ended or bool(self.responses)

    def before(self, later: _News) -> _News:
        """Both, those of `later` last."""
        self.amounts.update(later.amounts)
        self.cost += later.cost
        self.responses += later.responses
        self.ended = self.ended or later.ended
        return self


class SharedGate(Gate):
    """The limits that the calls of one model pass, wherever they are made."""

    def __init__(self, shared: SharedLimiters, model: str):
        super().__init__(shared.of(model))
        self._shared, self._model = shared, model
        self._limits = shared.keys(model)
        self._exchanging = asyncio.Lock()
        self._news = _News()
        self._reporting: asyncio.Task[None] | None = None

    async def _take(self, call: Admission, turn: str) -> float:
        try:
            seconds = await self._exchange(call, turn)
        except out_of_reach() as error:
            self._shared.database.lost(error)
            return RETRY
        self._shared.database.reached()
        return seconds

    def told(self, status: int, headers: Mapping[str, str]) -> None:
        self._news.responses.append((status, {name.lower(): value for name, value in headers.items()}))
        self._report()

    def ended(self, call: Admission, used: Usage | None, cost: float | None) -> None:
        self._shared.under_way.subtract(list(self._limits))
        self._news.amounts.update(call.surplus(used))
        self._news.cost += 0.0 if cost is None else cost - call.price
        self._news.ended = True
        self._report()

    def _report(self) -> None:
        """Tells the database what has ended, soon, and again until it has heard."""
        if self._news.waiting and (self._reporting is None or self._reporting.done()):
            self._reporting = asyncio.create_task(self._report_all())

    async def _report_all(self) -> None:
        while self._news.waiting:
            await self._shared.database.persistent(self._exchange)

    async def reported(self) -> None:
        """Returns when all that has ended is known."""
        if self._reporting is not None:
            await self._reporting

    async def _exchange(self, call: Admission | None = None, turn: str = "") -> float:
        """Tells what has ended, and takes room for a call; seconds after which to try again if there is none.
        OverBudget if the call would exceed the cap."""
        async with self._exchanging:
            told, taken = _News(), list[str]()
            try:
                async with self._shared.database.transaction() as connection:
                    return await self._exchanged(connection, told, taken, call, turn)
            except BaseException:
                self._shared.under_way.subtract(taken)
                self._news = told.before(self._news)
                self._report()
                raise

    async def _exchanged(
        self, connection: AsyncConnection, told: _News, taken: list[str], call: Admission | None, turn: str
    ) -> float:
        """The same, in a transaction. `told` gets what is told, `taken` the limits in which room is taken."""
        states, live, now = await self._locked(connection)
        # News and calls under way are read together: a call that ends between them would leave its room, and not the
        # refusal that it met.
        told.before(self._news)
        self._news, own = _News(), Counter(self._shared.under_way)
        limiters = {}
        for key, limits in self._limits.items():
            limiter = limiters[key] = Limiter(limits, lambda: now)
            if state := states[key].get("limiter"):
                limiter.restore(state)
            others = states[key]["in_flight"] = _of(live, states[key].get("in_flight", {}))
            limiter.in_flight = own[key] + sum(others.values())
            limiter.correct(told.amounts)
        for status, headers in told.responses:
            limiters[self._model].told(status, headers)
        price, seconds = told.cost, 0.0
        if call is not None:
            waits = [limiter.wait() for limiter in limiters.values()]
            if all(wait == 0.0 for wait in waits):
                for limiter in limiters.values():
                    limiter.take(call.amounts)
                taken += limiters
                own.update(taken)
                self._shared.under_way.update(taken)
                price += call.price
            else:
                seconds, call = until_next_look(waits, _SOON), None
        await self._commit(connection, price, call, turn)
        texts = []
        for key, limiter in limiters.items():
            in_flight = {**states[key]["in_flight"], str(self._shared.worker): own[key]}
            texts.append(json.dumps({"limiter": limiter.state(), "in_flight": in_flight}))
            self._shared.remember(key, limiter)
        await connection.execute(_SAVE, {"keys": list(limiters), "states": texts})
        if call is None:  # if the database crashes, calls that have ended count a little longer
            await connection.execute(_UNSYNCED)
        return seconds

    async def _locked(self, connection: AsyncConnection) -> tuple[dict[str, dict[str, Any]], set[str], float]:
        """The states of the limits, which no other worker can change until the transaction ends; the workers that are
        alive, without this one; and the time."""
        keys = sorted(self._limits)
        states = dict(await fetched(connection, _LOCK, keys=keys))
        if len(states) < len(keys):
            await connection.execute(_BEGIN, {"keys": keys})
            states = dict(await fetched(connection, _LOCK, keys=keys))
        ((now, alive),) = await fetched(connection, _NOW, lease=self._shared.database.lease)
        return states, {*map(str, alive)} - {str(self._shared.worker)}, float(now)

    async def _commit(self, connection: AsyncConnection, price: float, call: Admission | None, turn: str) -> None:
        """Adds to what the tournament has spent and reserved. OverBudget if a call would exceed the cap."""
        if not price and call is None:
            return
        names = {"id": self._shared.tournament, "price": price, "calls": int(call is not None)}
        if not await fetched(connection, _COMMIT, **names) and call is not None:
            query = "SELECT max_cost, committed FROM tournaments WHERE id = %(id)s"
            ((cap, committed),) = await fetched(connection, query, id=self._shared.tournament)
            check_cap(cap, lambda: committed, turn, self._model, call.price, RUN_AGAIN)


def _of(live: set[str], counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of workers that are alive."""
    return {worker: count for worker, count in counts.items() if worker in live}
