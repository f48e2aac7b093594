"""`debate worker`: takes debates of tournaments from PostgreSQL and runs them with the keys of this machine."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from debate_orchestrator.cli import exit_code, flags
from debate_orchestrator.cli.output import print_json, print_problems, print_result
from debate_orchestrator.cli.tournament import specs
from debate_orchestrator.setup.risks import WANTS
from debate_orchestrator.util import coroutines
from debate_orchestrator.util.coroutines import STOPPING
from debate_orchestrator.util.errors import Interrupted, PermanentFailure, saved_but_for
from debate_orchestrator.util.log import log_line, print_log_records
from debate_orchestrator.util.messages import ignore
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.signals import interrupts_acting

if TYPE_CHECKING:
    from debate_orchestrator.cli.tournament.progress import Progress
    from debate_orchestrator.tournament.folder import Tournament

_LINE = 15.0
"""Seconds between two lines on how far it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "the database: postgresql://USER@HOST/NAME, with the password in PGPASSWORD or ~/.pgpass"
    parser.add_argument("url", metavar="URL", help=about)
    about = "debates of one tournament at the same time; 50 by default"
    parser.add_argument("--concurrency", metavar="N", default="50", help=about)
    parser.add_argument("--until-done", action="store_true", help="end when no debates are left")
    about = "let tournaments run programs, call servers by address, read files here, and use prompts of their own"
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
    interrupted, lost = coroutines.run(_work(arguments, progress, specs.concurrency(arguments.concurrency)))
    problems = [saved_but_for(lost)] if lost else []
    if arguments.json:
        status = "interrupted" if interrupted else "stopped" if problems else "done"
        counts = {"completed": progress.completed, "calls": progress.calls, "lost": lost}
        print_json({"status": status, **counts, "problems": problems})
    else:
        print_result(f"{plural(progress.completed, 'debate')} completed here, with {plural(progress.calls, 'call')}.")
    if interrupted:
        raise Interrupted(f"{saved_but_for(lost)} Other workers continue with the debates under way.")
    if problems:
        print_problems(problems)
        return exit_code(PermanentFailure(problems))
    return 0


async def _work(arguments: argparse.Namespace, progress: Progress, concurrency: int) -> tuple[bool, int]:
    """Works; whether it was interrupted, and how many replies were not stored."""
    from debate_orchestrator.providers import cast_providers
    from debate_orchestrator.tournament.cluster.database import open_database
    from debate_orchestrator.tournament.cluster.worker import Worker

    permissions = flags.permissions_of(arguments)

    def find_problems(tournament: Tournament) -> list[str]:
        problems = cast_providers.key_problems(tournament.spec.whole_cast, permissions)
        if (risks := specs.folder_risks(tournament, remote=True)) and not arguments.trust:
            risk_texts = "; ".join(risk.text for risk in risks)
            consent = f"{tournament.spec.tag} {WANTS} and needs your consent here ({risk_texts})."
            problems.append(f"{consent} Try: --trust, if you trust all of it.")
        return problems

    print_log_records()
    # The names in these messages come from the database, and could add lines of their own.
    notify = ignore if arguments.quiet else log_line
    async with open_database(arguments.url, notify) as database:
        worker = Worker(
            database,
            find_problems,
            concurrency=concurrency,
            permissions=permissions,
            on_change=progress,
            notify=notify,
        )
        notify(f"Waiting for debates from {database.address}. Ctrl-C ends this worker.")
        showing = None if arguments.quiet or arguments.json else asyncio.create_task(_show(progress))

        def stop() -> None:
            log_line(STOPPING)
            worker.stop()

        with interrupts_acting(worker.cancel_jobs, stop) as interrupts:
            await worker.work(until_done=arguments.until_done)
        if showing is not None:
            showing.cancel()
            with suppress(asyncio.CancelledError):
                await showing
        return interrupts.came, worker.lost_count


async def _show(progress: Progress) -> None:
    """Says how far this worker is, whenever that has changed."""
    last = ""
    while True:
        await asyncio.sleep(_LINE)
        line = f"{plural(progress.completed, 'debate')} completed here · {progress.in_flight:,} calls in flight"
        line += f", {progress.rate():,.0f} per minute"
        if line != last:
            log_line(line)
        last = line
