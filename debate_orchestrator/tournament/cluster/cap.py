"""The cap on the costs of a tournament, which all workers share, and how many calls they make.

A call has a row in the database while it is under way, with what it is expected to cost. When it ends, its row gives
way to what it did cost, in one transaction, so that each call counts once even where the answer to a COMMIT was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from uuid import UUID, uuid4

from debate_orchestrator.core.reply import Reply
from debate_orchestrator.engine.budget import RUN_AGAIN, check_cap
from debate_orchestrator.engine.estimate import cost_after_call, cost_before_call
from debate_orchestrator.prompting.briefs import Brief
from debate_orchestrator.providers.provider import OnPiece, Provider
from debate_orchestrator.tournament.cluster.database import Database, fetch_rows
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import ExternalError, TransientError

_CAP = """
SELECT max_cost, spent + (SELECT coalesce(sum(price), 0) FROM calls WHERE tournament = %(tournament)s AND id <> %(id)s)
FROM tournaments WHERE id = %(tournament)s FOR NO KEY UPDATE
"""
_BEGIN = "INSERT INTO calls VALUES (%(id)s, %(tournament)s, %(debate)s, %(price)s) ON CONFLICT DO NOTHING"
_END = """
WITH ended AS (DELETE FROM calls WHERE id = %(id)s RETURNING tournament, price)
UPDATE tournaments SET spent = spent + coalesce(%(cost)s::float, ended.price), calls = calls + %(made)s,
    failed_calls = failed_calls + %(failed)s
FROM ended WHERE tournaments.id = ended.tournament
"""
_LEFT = """
WITH ended AS (DELETE FROM calls WHERE tournament = %(tournament)s AND debate = %(debate)s RETURNING price)
UPDATE tournaments SET spent = spent + (SELECT sum(price) FROM ended), calls = calls + (SELECT count(*) FROM ended)
WHERE id = %(tournament)s AND EXISTS (SELECT FROM ended)
"""


class SharedCap:
    """The calls of one tournament that this worker makes."""

    def __init__(self, database: Database, tournament: str):
        self._database, self._tournament = database, tournament
        self.ending: set[asyncio.Task[None]] = set()

    async def settle_left(self, debate_id: str) -> None:
        """Counts the calls that an earlier worker of a debate has left as if they had cost what was expected."""
        values = {"tournament": self._tournament, "debate": debate_id}
        await self._database.retried_until_reached(lambda: self._database.execute(_LEFT, **values))

    def wrap_providers(self, debate_id: str, providers: Mapping[str, Provider]) -> dict[str, Provider]:
        """The providers of a debate, those that call a model behind the cap."""
        wrapped: dict[int, Provider] = {}
        for provider in providers.values():
            if model_spec.is_called(provider.name):
                wrapped[id(provider)] = CappedProvider(provider, self, debate_id)
        return {seat: wrapped.get(id(provider), provider) for seat, provider in providers.items()}

    async def begin(self, debate_id: str, turn: str, model: str, price: float | None) -> UUID:
        """Counts a call that is about to be made. OverBudget if it would exceed the cap."""
        call = uuid4()
        values = {"id": call, "tournament": self._tournament, "debate": debate_id, "price": price or 0.0}

        async def admit() -> None:
            async with self._database.transaction() as connection:
                # The row stays locked until the call is counted, so that no two workers see the same room.
                ((cap, committed),) = await fetch_rows(connection, _CAP, **values)
                check_cap(cap, lambda: committed, turn, model, price, RUN_AGAIN)
                await connection.execute(_BEGIN.encode(), values)

        await self._database.retried_until_reached(admit)
        return call

    def end(self, call: UUID, cost: float | None, *, was_made: bool, failed: bool) -> None:
        """Counts what a call did cost, soon; None if that is unknown."""
        values = {"id": call, "cost": cost, "made": int(was_made), "failed": int(failed)}
        work = self._database.retried_until_reached(lambda: self._database.execute(_END, **values))
        task = asyncio.create_task(work)
        self.ending.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.ending.discard(task)
        if not task.cancelled():
            task.exception()  # a refusal is told by the next call, which can't be counted either


class CappedProvider(Provider):
    """A provider of one debate whose calls count towards the cap."""

    def __init__(self, provider: Provider, cap: SharedCap, debate_id: str):
        self.name, self.caches = provider.name, provider.caches
        self._provider, self._cap, self._debate_id = provider, cap, debate_id
        self._calls: dict[str, UUID] = {}
        """Turn id to the id of its call. A turn has one call at a time."""

    async def acquire(self, brief: Brief, stop: asyncio.Event) -> bool:
        if not await self._provider.acquire(brief, stop):
            return False
        try:
            price = cost_before_call(self.name, brief)
            self._calls[brief.turn_id] = await self._cap.begin(self._debate_id, brief.turn_id, self.name, price)
        except BaseException:
            self._provider.release(brief)
            raise
        return True

    def release(self, brief: Brief) -> None:
        self._provider.release(brief)
        self._end(brief, 0.0, was_made=False, failed=False)

    async def reply(self, brief: Brief, on_text: OnPiece) -> Reply:
        cost: float | None = None
        failed = False
        try:
            reply = await self._provider.reply(brief, on_text)
            cost = cost_after_call(self.name, brief, reply) if reply.cost is None else reply.cost
            return reply
        except ExternalError as error:
            failed = True
            if not isinstance(error, TransientError) or not error.maybe_billed:
                cost = 0.0
            raise
        finally:
            self._end(brief, cost, was_made=True, failed=failed)

    def _end(self, brief: Brief, cost: float | None, *, was_made: bool, failed: bool) -> None:
        if (call := self._calls.pop(brief.turn_id, None)) is not None:
            self._cap.end(call, cost, was_made=was_made, failed=failed)

    async def close(self) -> None:
        await self._provider.close()
