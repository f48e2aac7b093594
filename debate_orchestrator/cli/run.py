"""`debate run` takes a debate from settings to report, with no questions."""

from __future__ import annotations

import argparse
import os
import select
import stat
import sys
from functools import partial

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import cast_line, needs_trust, settings_with_consent, setup_lines
from debate_orchestrator.cli.consent import new_debate
from debate_orchestrator.cli.driving import drive_to_report, events_problems, prints_estimate, prints_progress
from debate_orchestrator.cli.output import at_terminal, next_step, print_problems, print_status
from debate_orchestrator.core.settings import MAX_TOPIC_LENGTH, Settings
from debate_orchestrator.engine import start
from debate_orchestrator.providers import discovery
from debate_orchestrator.storage.paths import REHEARSED, DebateFiles, unused_files
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.messages import and_joined, ignore

_MAX_PIPED = 64 * MAX_TOPIC_LENGTH
"""Bytes that are read from standard input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_answers(parser)
    about = "let stand-ins take the seats of models, at no cost; a person at the terminal keeps theirs; "
    parser.add_argument("--rehearse", action="store_true", help=about + "the prompts are kept to read")
    parser.set_defaults(real_debate="")
    flags.add_permissions(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.topic is None and not arguments.answers:
        arguments.topic = _piped_topic()
    return run_settings(
        settings_with_consent(arguments, discovery.default_as_if_keyed if arguments.rehearse else discovery.default),
        arguments,
    )


def _piped_topic() -> str | None:
    """The line on standard input, if it is a pipe or a file; None if it has no text, or if nothing comes for 2 s, as
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
        problem = f"topic: standard input holds {len(lines)} lines, but a topic is one line."
        raise BadSettings(problem, hint="one sentence; `--context FILE` gives both sides a text to draw on")
    return lines[0] if lines else None


def run_settings(settings: Settings, arguments: argparse.Namespace) -> int:
    """Opens the debate of these settings and takes it to its report. Of the arguments it reads those that made the
    settings, `rehearse`, `real_debate` (the command of it where this one is another), `quiet`, `events`, `json`,
    `insecure` and `command_env`."""
    files, real_settings = DebateFiles.named_by(settings.output), settings
    if rehearse := arguments.rehearse or model_spec.is_rehearsal(settings.cast):
        settings = start.as_rehearsal(settings, people=at_terminal(sys.stderr))
        files = unused_files(files.with_suffix(REHEARSED))
    permissions = flags.permissions_of(arguments)
    more_problems = events_problems(settings.cast, arguments)
    start.check_settings(
        settings, files, people=at_terminal(sys.stderr), permissions=permissions, more_problems=more_problems
    )
    questions, quiet = discovery.misspelling_questions(settings.cast), not prints_progress(arguments)
    if not rehearse:  # whose warnings stand last
        print_problems(questions)
    deriving_model = start.deriving_model(real_settings)
    estimate_text = start.estimate_sentence(real_settings, deriving_model) if rehearse else ""
    if deriving_model and not rehearse and prints_estimate(arguments):
        print_status(start.estimate_sentence(settings, deriving_model))
    make_opened = partial(start.opened_with_positions, settings, ignore if quiet else print_status, permissions)
    with new_debate(make_opened, files, lambda opened: start.notes_after_opened(settings, estimate_text)) as session:
        if not quiet:
            for line in (*setup_lines(arguments, settings, session), cast_line(settings)):
                print_status(line)
        code = drive_to_report(session, arguments, estimate_text)
        if code == 0 and rehearse and not quiet:
            print_status(f"Every brief is in {session.files.turns_folder}.")
        if code == 0 and rehearse:
            people = at_terminal(sys.stderr)
            problems = [*questions, *start.real_debate_problems(real_settings, people=people, permissions=permissions)]
            if not quiet:
                next_step(
                    _real_debate(arguments, real_settings, "fix the problems listed below. Then " if problems else "")
                )
            print_problems(f"warning, for the real debate: {problem}" for problem in problems)
        return code


def _real_debate(arguments: argparse.Namespace, real_settings: Settings, first: str) -> str:
    """What the real debate needs: what is to be done `first`, a key if one is missing, and the command."""
    model_specs = [spec for specs in model_spec.unrehearsed_cast(real_settings.cast).values() for spec in specs]
    missing_variables = list(dict.fromkeys(filter(None, map(discovery.variable_to_set, model_specs))))
    first += (
        f"set {and_joined(missing_variables)}, or name other models (`debate models` lists them). Then "
        if missing_variables
        else ""
    )
    if not arguments.rehearse:
        return f"{first}name models in place of `{model_spec.REHEARSE}` for the real debate."
    real_debate = arguments.real_debate or "the same command without --rehearse"
    if not arguments.real_debate and needs_trust(arguments):
        real_debate += ", and with --trust,"
    return f"{first}{real_debate} is the real debate."
