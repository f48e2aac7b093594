"""Rounds of a tournament that workers run: debates are queued, watched until none is left, and those that stopped are
queued again as long as others are completed meanwhile, as in a run on one machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from debate_orchestrator.tournament.cluster import queue
from debate_orchestrator.tournament.cluster.database import LIVE, RETRY, out_of_reach
from debate_orchestrator.tournament.cluster.exchange import Exchange
from debate_orchestrator.tournament.folder import Tournament
from debate_orchestrator.tournament.run import Standing

_LOOK = 1.0
"""Seconds between two looks at the database."""

_STANDINGS = """
SELECT debate, lines > 0, status, winner, cost, why, for_good FROM journals WHERE tournament = %(id)s
"""
_COUNTS = f"""
SELECT count(*) FILTER (WHERE status = 'complete'), count(*) FILTER (WHERE status = 'undecided'),
    count(*) FILTER (WHERE holder IN ({LIVE})),
    count(*) FILTER (WHERE status = 'stopped' AND holder IS NULL), count(*) FILTER (WHERE status = 'unusable')
FROM journals WHERE tournament = %(id)s
"""
_CALLS = f"""
SELECT calls, failed_calls, throttled, committed, max_cost, (
    SELECT count(DISTINCT holder) FROM journals WHERE tournament = %(id)s AND holder IN ({LIVE})
), (
    SELECT coalesce(sum(count::int), 0)
    FROM limiters, jsonb_each_text(state -> 'in_flight') AS own (worker, count)
    WHERE key = ANY(%(models)s::text[])
      AND worker::bigint IN (SELECT holder FROM journals WHERE tournament = %(id)s AND holder IN ({LIVE}))
) FROM tournaments WHERE id = %(id)s
"""


class Rounds:
    """The rounds of one run, and how far they are."""

    def __init__(self, exchange: Exchange, *, retry_failed: bool, on_fetched: Callable[[str], None]):
        """`on_fetched` is called with the id of each debate whose journal has come into the folder."""
        self._exchange, self._database, self._retry_failed = exchange, exchange.database, retry_failed
        self._on_fetched = on_fetched
        self._began = time.monotonic()
        self._before: tuple[int, tuple[int, int, int]] | None = None
        """Debates that were complete when the run began; calls, failed calls and refusals that were counted."""
        self.standings: dict[str, Standing] = {}
        """How the debates stand that have begun, by the database."""
        self.numbers = _nothing_counted(exchange.tournament)
        """As `Progress.numbers` has them, with `workers`: how many workers run debates of the tournament."""

    async def run(self) -> None:
        """Returns when no more debates can be completed for now."""
        first = True
        while True:
            await self._database.persistent(self._look)
            done, pending = self._completed(), self._pending(again=first)
            if not pending:
                return
            await self._database.persistent(partial(self._enqueue, pending))
            await self._until_run()
            await self._database.persistent(self._look)
            if self._completed() == done:
                return
            first = False

    async def _enqueue(self, pending: list[tuple[str, bool]]) -> None:
        await self._exchange.register(retry_failed=self._retry_failed)
        await queue.enqueue(self._database, self._exchange.id, pending)

    def _completed(self) -> int:
        return sum(standing.status in ("complete", "undecided") for standing in self.standings.values())

    def _pending(self, *, again: bool) -> list[tuple[str, bool]]:
        """The debates that are left, and whether each has begun; with `again` those too that stopped for good."""
        found = []
        for debate in self._exchange.tournament.schedule:
            standing = self.standings.get(debate.id)
            if standing is None:
                found.append((debate.id, False))
            elif standing.status == "undecided" and self._retry_failed and again:
                found.append((debate.id, True))
            elif standing.status not in ("complete", "undecided") and (again or not standing.for_good):
                found.append((debate.id, standing.status != "waiting"))
        return found

    async def _until_run(self) -> None:
        """Watches until no debate is queued or running, and fetches what is complete."""
        while True:
            try:
                for debate in await self._exchange.fetch():
                    self._on_fetched(debate)
                await self._count()
                left = await queue.left(self._database, self._exchange.id)
                self._database.reached()
                if not left:
                    return
            except out_of_reach() as error:
                self._database.lost(error)
                await asyncio.sleep(RETRY)
            await asyncio.sleep(_LOOK)

    async def _look(self) -> None:
        """Reads how the debates stand."""
        rows = await self._database.rows(_STANDINGS, id=self._exchange.id)
        for debate, begun, status, winner, cost, why, for_good in rows:
            standing = Standing(status or ("stopped" if begun else "waiting"), winner, cost, tuple(why), for_good)
            self.standings[debate] = standing
        await self._count()

    async def _count(self) -> None:
        """Reads how far the debates are."""
        id = self._exchange.id
        models = sorted({spec for specs in self._exchange.tournament.spec.everyone.values() for spec in specs})
        ((complete, undecided, running, stopped, unusable),) = await self._database.rows(_COUNTS, id=id)
        ((calls, failed, throttled, usd, cap, workers, in_flight),) = await self._database.rows(
            _CALLS, id=id, models=models
        )
        done, counted = complete + undecided, (calls, failed, throttled)
        if self._before is None:
            self._before = done, counted
        seconds = time.monotonic() - self._began
        here = done - self._before[0]
        calls, failed, throttled = (now - before for now, before in zip(counted, self._before[1], strict=True))
        left = self.numbers["debates"] - done
        self.numbers |= {
            "complete": done,
            "undecided": undecided,
            "running": running,
            "stopped": stopped,
            "unusable": unusable,
            "calls": calls,
            "in_flight": int(in_flight),
            "failed_calls": failed,
            "throttled": throttled,
            "calls_a_minute": round(calls * 60 / max(1.0, seconds), 1),
            "usd": round(usd, 6),
            "max_cost": cap,
            "seconds": round(seconds, 1),
            "seconds_left": round(seconds / here * left) if here else None,
            "workers": workers,
        }


def _nothing_counted(tournament: Tournament) -> dict[str, Any]:
    """The numbers of a run before the database is asked for the first time."""
    zeros = ("complete", "undecided", "running", "stopped", "unusable", "calls", "in_flight", "failed_calls")
    counts = {"debates": len(tournament.schedule), **dict.fromkeys(zeros, 0), "throttled": 0, "calls_a_minute": 0.0}
    costs = {"usd": 0.0, "max_cost": tournament.spec.max_cost}
    return {**counts, **costs, "seconds": 0.0, "seconds_left": None, "workers": 0}
