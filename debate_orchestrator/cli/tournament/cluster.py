"""Lets workers run a tournament: queues its debates, shows how far they are, and fetches their journals."""

from __future__ import annotations

import asyncio
import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from debate_orchestrator.cli.interrupts import handled_signals
from debate_orchestrator.cli.output import remark
from debate_orchestrator.cli.tournament import running
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.numbers import plural

if TYPE_CHECKING:
    from debate_orchestrator.tournament.cluster.rounds import Rounds
    from debate_orchestrator.tournament.folder import Tournament
    from debate_orchestrator.tournament.run import TournamentRun

_FETCH = 10.0
"""Seconds for fetching the rest when the run is interrupted."""


def run_on_cluster(tournament: Tournament, options: running.Options, url: str) -> int:
    """Returns the exit code when no more debates can be completed. Paused or ProviderFailed if debates are left."""
    from debate_orchestrator.tournament.cluster.database import must_be_installed, shown
    from debate_orchestrator.tournament.folder import DEBATES
    from debate_orchestrator.tournament.run import TournamentRun
    from debate_orchestrator.tournament.stores import FileJournals

    must_be_installed()
    run = TournamentRun(tournament, FileJournals(os.path.join(tournament.folder, DEBATES)))
    run.look()
    numbers, interrupted = asyncio.run(_queue_and_watch(run, options, url))
    if options.reports:
        running.write_reports(run, quiet=options.quiet)
    resume = f"{command('tournament resume', tournament.folder)} --cluster {shlex.quote(shown(url))}"
    return running.end(run, numbers, options, resume, interrupted=interrupted)


async def _queue_and_watch(run: TournamentRun, options: running.Options, url: str) -> tuple[dict[str, Any], bool]:
    """Runs until no more can be done or the user interrupts; the numbers at the end, and whether it was interrupted."""
    from debate_orchestrator.tournament.cluster.database import opened
    from debate_orchestrator.tournament.cluster.exchange import Exchange
    from debate_orchestrator.tournament.cluster.rounds import Rounds

    async with opened(url, remark) as database:
        exchange = Exchange(database, run.tournament, options.lease)
        await exchange.bring(run.standings, retry_failed=options.retry_failed)
        fetched = await exchange.fetch(everything=True)

        def on_fetched(debate: str) -> None:
            if options.events:
                running.print_line({"debate": debate, "fetched": True})

        rounds = Rounds(exchange, retry_failed=options.retry_failed, on_fetched=on_fetched)
        if not options.quiet:
            remark(f"Workers take the debates: `debate worker {shlex.quote(database.where)}` on each machine.")
            if fetched:
                remark(f"{plural(len(fetched), 'journal')} fetched.")
        task = asyncio.create_task(rounds.run())

        def leave() -> None:
            task.cancel()

        with handled_signals(leave, leave), suppress(asyncio.CancelledError):
            async with running.shown(_picture(rounds), options):
                await task
        interrupted = task.cancelled()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FETCH if interrupted else None):
                await database.persistent(lambda: exchange.fetch(everything=True))
    if interrupted and not options.quiet:
        remark("Workers go on with the debates that are queued. To end that too, end the workers.")
    run.look()
    for debate, standing in rounds.standings.items():
        if debate in run.standings and run.standings[debate].status not in ("complete", "undecided"):
            run.standings[debate] = run.standings[debate]._replace(why=standing.why)
    for debate, problem in exchange.unusable.items():
        run.standings[debate] = run.standings[debate]._replace(status="unusable", why=(problem,))
    return _final(run, rounds), interrupted


def _final(run: TournamentRun, rounds: Rounds) -> dict[str, Any]:
    """The numbers, of the journals in the folder as far as these tell."""
    statuses = [standing.status for standing in run.standings.values()]
    undecided = statuses.count("undecided")
    counts = {"complete": statuses.count("complete") + undecided, "undecided": undecided, "running": 0}
    return {**rounds.numbers, **counts, "unusable": statuses.count("unusable")}


def _picture(rounds: Rounds) -> running.Picture:
    """How far the debates are while workers run them."""
    from debate_orchestrator.tournament.progress import bar, status_line

    def line(numbers: dict[str, Any]) -> str:
        return f"{status_line(numbers)} · {plural(numbers['workers'], 'worker')}"

    return running.Picture(lambda: rounds.numbers, line, lambda numbers: [bar(numbers), line(numbers)])
