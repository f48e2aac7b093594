"""`run` and `resume` of tournaments, in this process or by workers: how they begin, are interrupted, and end."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from debate_orchestrator.cli import exit_code, flags
from debate_orchestrator.cli.answers_and_flags import read_max_cost
from debate_orchestrator.cli.output import print_json, print_json_line, print_problems, print_result, print_status
from debate_orchestrator.cli.tournament import specs
from debate_orchestrator.cli.tournament.progress import Progress, show_progress, status_line
from debate_orchestrator.providers import cast_providers
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.storage.running_elsewhere import has_batches, must_not_be_in_batches
from debate_orchestrator.util import coroutines, model_spec
from debate_orchestrator.util.coroutines import STOPPING
from debate_orchestrator.util.errors import (
    BadSettings,
    DiskFull,
    Interrupted,
    Paused,
    PermanentFailure,
    UserError,
    first_few,
    saved_but_for,
)
from debate_orchestrator.util.messages import command
from debate_orchestrator.util.numbers import plural
from debate_orchestrator.util.signals import interrupts_acting

if TYPE_CHECKING:
    from debate_orchestrator.core.events import Event
    from debate_orchestrator.tournament.batches import Batches
    from debate_orchestrator.tournament.folder import Tournament
    from debate_orchestrator.tournament.plan import ScheduledDebate
    from debate_orchestrator.tournament.run import DebateStatus, RunCounts, TournamentRun
    from debate_orchestrator.tournament.spec import TournamentSpec

_FETCH_SECONDS = 10.0
"""Seconds for fetching the rest when a run by workers is interrupted."""
_SHOWN = 5
"""The number of stopped debates that are printed with their reasons."""


def _run_flags(parser: argparse.ArgumentParser) -> None:
    about = "debates at the same time; 50 by default, and 500 with --batch"
    parser.add_argument("--concurrency", metavar="N", help=about)
    about = "put calls into the providers' batches, at half the price; a stage of the debates may take hours"
    parser.add_argument("--batch", action="store_true", help=about)
    about = "where a debate has no decision since ballots can't be used, ask their judges again, too"
    parser.add_argument("--retry-failed", dest="retry_undecided", action="store_true", help=about)
    about = "let workers run the debates: the PostgreSQL database from which `debate worker` takes them"
    parser.add_argument("--cluster", metavar="URL", help=about)
    parser.add_argument("--no-reports", action="store_true", help="write only the journals, no report of each debate")
    flags.add_permissions(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run_arguments(parser: argparse.ArgumentParser) -> None:
    specs.add_spec(parser)
    parser.add_argument("--to", metavar="DIR", help="the tournament's folder; named after the tag by default")
    _run_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Writes the resolved spec into the folder, and runs the debates."""
    from debate_orchestrator.tournament import folder

    _read_flags(arguments)
    spec = specs.read_spec(arguments)
    path = arguments.to or folder.default_folder(spec)
    is_new = not os.path.lexists(os.path.join(path, folder.SPEC))
    if is_new:
        _must_be_callable(spec, arguments)  # before anything is written
    with folder.lock(path, is_new=True, shared=arguments.cluster is not None):
        tournament = folder.create(path, spec)
        if not is_new:
            specs.require_consent_to_folder(tournament, trusted=arguments.trust)
        specs.remember(tournament)
        return run_tournament(tournament, arguments)


def resume_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the tournament's folder")
    parser.add_argument("--max-cost", metavar="USD", help="a new cap for all debates together, or none")
    flags.add_trust(parser)
    _run_flags(parser)


def resume(arguments: argparse.Namespace) -> int:
    """Runs the debates that are left."""
    from debate_orchestrator.tournament import folder
    from debate_orchestrator.tournament.spec import check

    _read_flags(arguments)
    with folder.lock(arguments.folder, shared=arguments.cluster is not None):
        tournament = folder.load(arguments.folder)
        specs.require_consent_to_folder(tournament, trusted=arguments.trust)
        specs.remember(tournament)
        if arguments.max_cost is not None:
            spec = tournament.spec.model_copy(update={"max_cost": read_max_cost(arguments.max_cost)})
            if problems := check(spec):
                raise BadSettings(problems)
            tournament = folder.write(tournament.folder, spec)
        return run_tournament(tournament, arguments)


def _read_flags(arguments: argparse.Namespace) -> None:
    """Puts the values of `_run_flags` in place of their texts. Raises BadSettings where they don't go together."""
    if arguments.batch and arguments.cluster is not None:
        raise BadSettings("--batch can't be used with --cluster: the debates of a batch are run by one process.")
    arguments.concurrency = specs.concurrency(arguments.concurrency or ("500" if arguments.batch else "50"))
    arguments.quiet = arguments.quiet or arguments.json or arguments.events


def run_tournament(tournament: Tournament, arguments: argparse.Namespace) -> int:
    """Runs the debates that are left, and writes their reports. Raises Paused or PermanentFailure if debates are
    left."""
    from debate_orchestrator.tournament.run import TournamentRun

    if arguments.cluster is not None:
        return _run_by_workers(TournamentRun(tournament), arguments, arguments.cluster)
    from debate_orchestrator.tournament.folder import changed_prompts

    _must_be_callable(tournament.spec, arguments)
    if (changed := changed_prompts(tournament.spec)) and not arguments.quiet:
        print_status(f"Note: these prompts are not those with which the tournament began: {', '.join(changed[:5])}.")
    progress = Progress()
    batches = _batches(tournament, arguments)

    def on_change(scheduled: ScheduledDebate, debate_status: DebateStatus, event: Event | None) -> None:
        progress(scheduled, debate_status, event)
        if arguments.events:
            _print_event(scheduled, debate_status, event)

    run = TournamentRun(
        tournament,
        permissions=flags.permissions_of(arguments),
        concurrency=arguments.concurrency,
        retry_undecided=arguments.retry_undecided,
        on_change=on_change,
        batches=batches,
    )
    run.read_journals()
    progress.begin()
    unfinished = len(run.pending())
    if not arguments.quiet:
        print_status(
            f"{len(tournament.schedule) - unfinished:,} of {plural(len(tournament.schedule), 'debate')} complete."
        )
    interrupted, stop = False, asyncio.Event()
    message = f"{STOPPING} Batches under way are left to `resume`." if arguments.batch else STOPPING
    try:
        coroutines.run(_run(run, progress, arguments, stop), stop, print_status, message)
    except KeyboardInterrupt:
        interrupted = True
    resume = command("tournament resume", tournament.folder) + (" --batch" if arguments.batch else "")
    return _end(run, progress.numbers(run), arguments, resume, interrupted=interrupted)


def _must_be_callable(spec: TournamentSpec, arguments: argparse.Namespace) -> None:
    """Raises BadSettings where a key or a library is missing in this process, which calls the models unless workers
    do."""
    if arguments.cluster is None and (
        missing := cast_providers.key_problems(spec.whole_cast, flags.permissions_of(arguments))
    ):
        raise BadSettings(missing)


def _batches(tournament: Tournament, arguments: argparse.Namespace) -> Batches | None:
    """The batches of a run; without --batch, those of an earlier run, whose results are paid for."""
    from debate_orchestrator.tournament.batches import Batches

    if not arguments.batch and not has_batches(tournament.folder):
        return None
    on_note = (lambda note: None) if arguments.quiet else print_status
    return Batches(
        tournament.folder, creates_batches=arguments.batch, permissions=flags.permissions_of(arguments), on_note=on_note
    )


async def _run(run: TournamentRun, progress: Progress, arguments: argparse.Namespace, stop: asyncio.Event) -> None:
    """Runs until done, or until `stop` is set."""
    async with show_progress(lambda: progress.numbers(run), progress.winners, arguments):
        await run.run(stop)


def _run_by_workers(run: TournamentRun, arguments: argparse.Namespace, url: str) -> int:
    """The same with workers: queues the debates, shows how far they are, and fetches their journals."""
    from debate_orchestrator.tournament.cluster.database import must_be_installed

    folder = run.tournament.folder
    must_be_installed()
    must_not_be_in_batches(folder, run.read_awaited_calls)
    numbers, interrupted = coroutines.run(_queue_and_watch(run, arguments, url))
    resume = f"{command('tournament resume', folder)} --cluster {shlex.quote(url)}"
    return _end(run, numbers, arguments, resume, interrupted=interrupted)


async def _queue_and_watch(run: TournamentRun, arguments: argparse.Namespace, url: str) -> tuple[RunCounts, bool]:
    """Runs until no more can be done or the user interrupts; the numbers at the end, and whether it was interrupted."""
    from debate_orchestrator.tournament.cluster.coordinator import Coordinator
    from debate_orchestrator.tournament.cluster.database import open_database
    from debate_orchestrator.tournament.run import status_counts

    def on_fetched(debate_id: str) -> None:
        if arguments.events:
            print_json_line({"debate": debate_id, "fetched": True})

    async with open_database(url, print_status) as database:
        coordinator = Coordinator(
            database, run.tournament, retry_undecided=arguments.retry_undecided, on_fetched=on_fetched
        )

        async def work() -> None:
            await database.retried_until_reached(coordinator.upload)
            await database.retried_until_reached(coordinator.fetch_all)
            if not arguments.quiet:
                print_status(
                    f"Workers take the debates: `debate worker {shlex.quote(database.address)}` on each machine."
                )
            async with show_progress(lambda: coordinator.numbers, list, arguments):
                await coordinator.run()

        task = asyncio.create_task(work())
        with interrupts_acting(task.cancel), suppress(asyncio.CancelledError):
            await task
        interrupted = task.cancelled()
        if interrupted:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FETCH_SECONDS):
                    await database.retried_until_reached(coordinator.fetch_all)
    if interrupted and not arguments.quiet:
        print_status("Workers continue with the debates that are queued. To stop those too, stop the workers.")
    run.read_journals()
    for debate_id, stored in coordinator.statuses.items():
        if debate_id in run.statuses and not (local_status := run.statuses[debate_id]).is_complete:
            status = "unusable" if stored.status == "unusable" else local_status.status
            run.statuses[debate_id] = local_status._replace(status=status, why=stored.why or local_status.why)
    run.statuses.update(coordinator.unusable)
    return coordinator.numbers._replace(**{**status_counts(run.statuses.values()), "running": 0}), interrupted


def _print_event(scheduled: ScheduledDebate, debate_status: DebateStatus, event: Event | None) -> None:
    """Prints one event, or a new status, as a line of JSON. What was said is in the journals."""
    if event is None:
        print_json_line({"debate": scheduled.id, "status": debate_status._asdict()})
        return
    fields = event.model_dump(
        mode="json", include={"kind", "turn_id", "spec", "problem", "wait", "absent", "seat", "specs"}
    )
    reply = getattr(event, "reply", None)
    cost = reply.model_dump(mode="json", include={"spec", "cost", "usage"}) if reply else {}
    print_json_line({"debate": scheduled.id, "event": fields | cost})


def _write_reports(run: TournamentRun, *, quiet: bool) -> dict[str, list[str]]:
    """Writes the report and the page of every complete debate without one that is made of its whole journal; why not,
    by debate. A full disk ends it."""
    from debate_orchestrator.reports import report_files
    from debate_orchestrator.reports.model import report_of
    from debate_orchestrator.storage.journal import read

    due: dict[str, DebateFiles] = {}
    for debate_id in (scheduled.id for scheduled in run.tournament.schedule if run.statuses[scheduled.id].is_complete):
        files = DebateFiles.of_journal(run.tournament.journal_path(debate_id))
        made = (files.report, files.html_report)
        if any(not os.path.lexists(path) or report_files.is_outdated(path, files.journal) for path in made):
            due[debate_id] = files
    if len(due) > 50 and not quiet:
        print_status(f"Writing {len(due):,} reports; Ctrl-C leaves the rest, and `resume` writes them.")
    problems: dict[str, list[str]] = {}
    for debate_id, files in due.items():
        try:
            report = report_of(files.journal, read(files.journal, follow_symlinks=False).entries)
            unwritten = report_files.write_both(report, files.report, files.html_report, print_status)
        except DiskFull:
            raise
        except UserError as error:
            unwritten = error.problems
        if unwritten:
            problems[debate_id] = unwritten
    return problems


def _end(
    run: TournamentRun, numbers: RunCounts, arguments: argparse.Namespace, resume: str, *, interrupted: bool
) -> int:
    """Writes reports, and says how a run ended and what to do next; `resume` is the command that continues."""
    unwritten = _write_reports(run, quiet=arguments.quiet) if not arguments.no_reports else {}
    folder = run.tournament.folder
    debates_left = numbers.debates - numbers.complete
    saved_text = saved_but_for(run.lost_count) if arguments.cluster is None else "what workers have stored is saved."
    saved_text = f"{saved_text} Continue with `{resume}`."
    leftover_error = _leftover_error(run, debates_left, saved_text) if debates_left and not interrupted else None
    if arguments.json:
        status = "done" if not debates_left else "interrupted" if interrupted else "stopped"
        problems = {key: list(debate_status.why) for key, debate_status in run.statuses.items() if debate_status.why}
        problems |= unwritten
        print_json({"status": status, "folder": folder, **numbers.json(), "problems": problems})
    if not arguments.quiet:
        print_status(status_line(numbers))
    print_problems(
        list(first_few((problem for report_problems in unwritten.values() for problem in report_problems), "reports"))
    )
    if interrupted and debates_left:
        raise Interrupted(saved_text)
    if leftover_error is not None and arguments.json:  # stdout has its one object already
        print_problems(leftover_error.problems)
        return exit_code(leftover_error)
    if leftover_error is not None:
        raise leftover_error
    if not arguments.json:
        undecided = f", {numbers.undecided:,} undecided" if numbers.undecided else ""
        print_result(f"{plural(numbers.complete, 'debate')} complete{undecided}: {folder}")
    if not arguments.quiet:
        print_status(_next_step(run.tournament))
    return 2 if unwritten else 0


def _next_step(tournament: Tournament) -> str:
    report = command("tournament report", tournament.folder)
    if model_spec.is_rehearsal(tournament.spec.whole_cast):
        return f"A rehearsal ranks no model; `{report}` lists its debates. Without --rehearse the models speak."
    return f"Ratings: `{command('tournament rate', tournament.folder)}`; tables and a page: `{report}`."


def _leftover_error(run: TournamentRun, debates_left: int, saved_text: str) -> Paused | PermanentFailure:
    """The error that says why debates are left. `saved_text` says what is saved."""
    from debate_orchestrator.tournament.run import INTERNAL_ERROR

    debates_by_reason: dict[str, list[str]] = {}
    for debate_id, debate_status in run.statuses.items():
        if debate_status.why:
            debates_by_reason.setdefault(" ".join(debate_status.why), []).append(debate_id)
    reasons = sorted(debates_by_reason.items(), key=lambda reason: -len(reason[1]))
    lines = [_reason(why, debates) for why, debates in reasons[:_SHOWN]]
    if len(reasons) > _SHOWN:
        lines.append(f"... and {len(reasons) - _SHOWN} other reasons; --json lists them all.")
    unusable = all(
        debate_status.is_complete or debate_status.status == "unusable" for debate_status in run.statuses.values()
    )
    ending = (
        PermanentFailure if unusable or any(why.startswith(INTERNAL_ERROR) for why in debates_by_reason) else Paused
    )
    return ending([*lines, f"{plural(debates_left, 'debate')} left. {saved_text[:1].upper()}{saved_text[1:]}"])


def _reason(why: str, debates: Sequence[str]) -> str:
    """The reasons that debates are left, with the name of the first."""
    if len(debates) > 1:
        return f"{why} ({len(debates):,} debates, such as {debates[0]})"
    return why if debates[0] in why else f"{debates[0]}: {why}"
