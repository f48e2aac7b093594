"""`debate worker`: takes debates of tournaments from PostgreSQL and runs them with the keys of this machine."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.interrupts import graceful_stop
from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.cli.tournament import specs
from debate_orchestrator.util.numbers import plural

if TYPE_CHECKING:
    from debate_orchestrator.cli.tournament.progress import Progress
    from debate_orchestrator.tournament.folder import Tournament

EXAMPLE = "debate worker postgresql://debates@db.example/debates"
_LINE = 15.0
"""Seconds between two lines on how far it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "the database: postgresql://USER@HOST/NAME, with the password in PGPASSWORD or ~/.pgpass"
    parser.add_argument("url", metavar="URL", help=about)
    about = "debates of one tournament at the same time; 50 by default"
    parser.add_argument("--at-once", metavar="N", default="50", help=about)
    parser.add_argument("--until-done", action="store_true", help="end when no debates are left")
    about = "let tournaments run programs, call servers by address, and use prompts of their own, as their specs say"
    parser.add_argument("--trust", action="store_true", help=about)
    flags.add_permissions(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors and the closing line")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Works until it is interrupted, or no debates are left."""
    from debate_orchestrator.cli.tournament.progress import Progress
    from debate_orchestrator.tournament.cluster.database import must_be_installed

    must_be_installed()
    progress = Progress()
    interrupted = asyncio.run(_work(arguments, progress, specs.at_once(arguments.at_once)))
    if arguments.json:
        status = "interrupted" if interrupted else "done"
        print_json({"status": status, "completed": progress.completed, "calls": progress.calls})
    else:
        say(f"{plural(progress.completed, 'debate')} completed here, with {plural(progress.calls, 'call')}.")
    if interrupted:
        raise KeyboardInterrupt("interrupted; debates under way are back in the queue, with all that was answered.")
    return 0


async def _work(arguments: argparse.Namespace, progress: Progress, at_once: int) -> bool:
    """Works; whether it was interrupted."""
    from debate_orchestrator.providers import casting
    from debate_orchestrator.tournament.cluster.database import opened
    from debate_orchestrator.tournament.cluster.worker import Worker

    permissions = flags.permitted(arguments)

    def find_problems(tournament: Tournament) -> list[str]:
        problems = casting.missing(tournament.spec.everyone, permissions)
        if (risks := specs.folder_risks(tournament, begun=True)) and not arguments.trust:
            wants = "; ".join(risk.text for risk in risks)
            consent = f"{tournament.spec.tag} asks for more than a debate and needs your consent here ({wants})."
            problems.append(f"{consent} Try: --trust, if you trust all of it.")
        return problems

    tell = (lambda message: None) if arguments.quiet else remark
    async with opened(arguments.url, tell) as database:
        worker = Worker(
            database, find_problems, at_once=at_once, permissions=permissions, on_change=progress, tell=tell
        )
        tell(f"Waiting for debates from {database.where}. Ctrl-C ends this worker.")
        showing = None if arguments.quiet or arguments.json else asyncio.create_task(_show(progress))
        with graceful_stop(worker.stop, worker.abandon) as interruption:
            await worker.work(until_done=arguments.until_done)
        if showing is not None:
            showing.cancel()
            with suppress(asyncio.CancelledError):
                await showing
    return interruption.came


async def _show(progress: Progress) -> None:
    """Says how far this worker is, whenever that has changed."""
    last = ""
    while True:
        await asyncio.sleep(_LINE)
        line = f"{plural(progress.completed, 'debate')} completed here · {progress.in_flight:,} calls in flight"
        line += f", {progress.rate():,.0f} a minute"
        if line != last:
            remark(line)
        last = line
