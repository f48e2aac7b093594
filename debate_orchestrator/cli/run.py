"""`debate run` takes a debate from settings to report, with no questions. `debate resume` continues one where it
stopped, with another cap, cast or time for retries if one is given."""

from __future__ import annotations

import argparse
import asyncio
import os
import select
import stat
import sys
from collections.abc import Sequence

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import (
    cap_change,
    cast_line,
    settings_with_consent,
    setup_lines,
)
from debate_orchestrator.cli.consent import existing_debate, new_debate
from debate_orchestrator.cli.driving import drive_to_report, events_problems, is_quiet, is_silent
from debate_orchestrator.cli.flags import given_settings
from debate_orchestrator.cli.journals import find_journal, is_unfinished
from debate_orchestrator.cli.output import at_terminal, next_step, print_status
from debate_orchestrator.core import schedule
from debate_orchestrator.core.events import Event, Reassigned, RetryForChanged
from debate_orchestrator.core.phases import JUDGE, Turn
from debate_orchestrator.core.settings import MAX_TOPIC_LENGTH, Settings
from debate_orchestrator.core.state import DebateState
from debate_orchestrator.engine import start
from debate_orchestrator.engine.debate import reopening
from debate_orchestrator.engine.estimate import estimate_debate
from debate_orchestrator.providers import casting, discovery
from debate_orchestrator.setup.answers import cast_of, judging_settings
from debate_orchestrator.storage.paths import DebateFiles, free_files
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings, OutOfTurn
from debate_orchestrator.util.messages import and_joined, ignore

_MAX_PIPED = 64 * MAX_TOPIC_LENGTH
"""Bytes that are read from standard input."""


def run_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_answers(parser)
    about = "let stand-ins take the seats of models, at no cost; a person at the terminal keeps theirs; briefs are kept"
    parser.add_argument("--rehearse", action="store_true", help=about)
    parser.set_defaults(real_debate="")
    flags.add_permissions(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run_run(arguments: argparse.Namespace) -> int:
    if arguments.topic is None and not arguments.answers:
        arguments.topic = _piped_topic()
    return run_settings(
        settings_with_consent(arguments, discovery.default_if_keyed if arguments.rehearse else discovery.default),
        arguments,
    )


def _piped_topic() -> str | None:
    """The line on standard input, where it is a pipe or a file; None if it has no text, or if nothing comes for 2 s, as
    from a program that holds the pipe open. Raises BadSettings for more than one line; blank lines do not count."""
    try:
        mode = os.fstat(stdin := sys.stdin.fileno()).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)) or not select.select([stdin], [], [], 2.0)[0]:
            return None
        text = os.read(stdin, _MAX_PIPED).decode(errors="surrogateescape")
    except (OSError, ValueError):
        return None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        problem = f"topic: standard input holds {len(lines)} lines, and a topic is one."
        raise BadSettings(problem, hint="one sentence; `--context FILE` gives both sides a text to draw on")
    return lines[0] if lines else None


def run_settings(settings: Settings, arguments: argparse.Namespace) -> int:
    """Opens the debate of these settings and takes it to its report. Of the arguments it reads those that made the
    settings, `rehearse`, `real_debate` (the command of it where this one is another), `quiet`, `events`, `json`,
    `insecure` and `command_env`."""
    files, real = DebateFiles.of_output(settings.output), settings
    if rehearse := arguments.rehearse or model_spec.is_rehearsal(settings.cast):
        settings = start.as_rehearsal(settings, people=at_terminal(sys.stderr))
        files = free_files(files.with_suffix(".rehearsed"))  # the place of the real debate stays free
    permissions = flags.permissions_of(arguments)
    more = events_problems(settings.cast, arguments)
    start.check_settings(settings, files, people=at_terminal(sys.stderr), permissions=permissions, more=more)
    for question in discovery.misspelling_questions(settings.cast):
        print_status(f"debate: {question}")
    quiet = is_quiet(arguments)
    if not is_silent(arguments) and (first := start.estimate_before_positions(settings)):
        print_status(first)
    expected = ""
    if rehearse:
        first_by, settings = start.positions_by(real), start.without_model(settings)[0]
        takes = estimate_debate(start.make_opened(real.model_copy(update={"positions": settings.positions})))
        expected = takes.model_copy(update={"positions_by": first_by}).sentence()
    stop = asyncio.Event()
    opening = start.opened_with_positions(settings, ignore if quiet else print_status, permissions, stop)
    with new_debate(opening, files, lambda opened: start.notes_after_opened(settings, expected), stop) as session:
        settings = start.with_positions_of(settings, session.state.opened)
        if not quiet:
            for line in (*setup_lines(arguments, settings, session.files), cast_line(settings)):
                print_status(line)
        code = drive_to_report(session, arguments, expected)
        if code == 0 and rehearse and not quiet:
            print_status(f"Every brief is in {session.files.turns}.")
            next_step(_real_debate(arguments, real))
        return code


def _real_debate(arguments: argparse.Namespace, real: Settings) -> str:
    """What the real debate of a rehearsal takes: a key, where one is missing, and its command."""
    called = [spec for specs in model_spec.unrehearsed_cast(real.cast).values() for spec in specs]
    needed = list(dict.fromkeys(filter(None, map(discovery.variable_to_set, called))))
    first = f"set {and_joined(needed)}, or name other models (`debate models` lists them). Then " if needed else ""
    if not arguments.rehearse:
        return f"{first}name models in place of `{model_spec.REHEARSE}` for the real debate."
    return f"{first}{arguments.real_debate or 'the same command without --rehearse'} is the real debate."


def resume_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_journal(parser, "is not finished")
    flags.add_cap(parser)
    flags.add_settings(parser, "cast", "retry_for")
    flags.add_permissions(parser)
    flags.add_trust(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run_resume(arguments: argparse.Namespace) -> int:
    arguments.journal = find_journal(arguments.journal, unfinished=is_unfinished)
    with existing_debate(
        arguments.journal, lambda debate: _changes(arguments, debate), trusted=arguments.trust
    ) as session:
        return drive_to_report(session, arguments)


def _changes(arguments: argparse.Namespace, debate: DebateState) -> list[Event]:
    """The events that the flags ask for. Raises BadSettings with every problem."""
    models = given_settings(arguments, "cast").get("cast", {})
    if arguments.model:
        everywhere = cast_of(debate.format, lambda seat: arguments.model)
        models = {seat: specs for seat, specs in everywhere.items() if seat in debate.cast} | models
    cast_changes = {seat: tuple(specs) if isinstance(specs, list) else (specs,) for seat, specs in models.items()}
    problems = casting.cast_problems(cast_changes)
    reopened = schedule.turns_to_reopen(debate)
    cast_changes = _in_place_of_failed(debate, cast_changes, reopened)
    cast = {**debate.cast, **cast_changes}
    if cast_changes and debate.complete and not reopened:
        problem = f"This debate is complete; a new model for {' and '.join(cast_changes)} would change nothing."
        raise OutOfTurn(problem, hint="`debate judge` to have other judges judge it again")
    if debate.due or reopened:
        problems += casting.key_problems(cast, flags.permissions_of(arguments))
        problems += [*start.people_problems(cast, at_terminal(sys.stderr)), *events_problems(cast, arguments)]
    capped, unpriced = cap_change(arguments.max_cost, debate, cast)
    if problems := problems + unpriced:
        raise BadSettings(problems)
    retry_for = debate.retry_for
    if from_flags := given_settings(arguments, "retry_for"):
        retry_for = judging_settings(from_flags, debate.format, 1).retry_for
    changes = [*reopening(debate), *capped]
    changes += [] if retry_for == debate.retry_for else [RetryForChanged(retry_for=retry_for)]
    return [*changes, *(Reassigned(seat=seat, specs=specs) for seat, specs in cast_changes.items())]


def _in_place_of_failed(
    debate: DebateState, cast_changes: dict[str, tuple[str, ...]], reopened: Sequence[Turn]
) -> dict[str, tuple[str, ...]]:
    """The same models by seat; one judge that is named for a panel takes the place of those whose replies failed."""
    panel, new_specs = debate.cast.get(JUDGE, ()), cast_changes.get(JUDGE, ())
    turns = reopened or [
        turn for turn in debate.due if debate.failed_calls(turn.id) or debate.rejected_replies(turn.id)
    ]
    failed = {turn.seat for turn in turns}
    if len(new_specs) != 1 or len(panel) < 2 or not failed & {*debate.judges}:
        return cast_changes
    pairs = zip(debate.judges, panel, strict=True)
    return cast_changes | {JUDGE: tuple(new_specs[0] if seat in failed else spec for seat, spec in pairs)}
