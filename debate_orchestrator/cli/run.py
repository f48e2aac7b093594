"""`debate run`: a whole debate, from settings to report, with no questions."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.debates import cast_line, check_settings, new_debate, setup_lines, with_positions
from debate_orchestrator.cli.driving import drive_to_report, is_quiet
from debate_orchestrator.cli.output import remark
from debate_orchestrator.cli.settings import read_settings
from debate_orchestrator.core.events import Noted
from debate_orchestrator.engine import start
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.providers import discovery
from debate_orchestrator.setup.settings import Settings
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec

EXAMPLE = 'debate run --topic "Should we move to gRPC?" --rehearse'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_answers(parser)
    about = "use stand-ins that call no model; the briefs are kept, to be read"
    parser.add_argument("--rehearse", action="store_true", help=about)
    flags.add_permissions(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    return run_settings(
        read_settings(arguments, discovery.best if arguments.rehearse else discovery.default), arguments
    )


def run_settings(settings: Settings, arguments: argparse.Namespace) -> int:
    """Opens the debate of these settings and takes it to its report. Of the arguments it reads `answers`, `rehearse`,
    `quiet`, `events`, `json`, `insecure` and `command_env`."""
    files = DebateFiles.of_output(settings.output)
    if rehearse := arguments.rehearse or _has_only_stand_ins(settings):
        settings = start.rehearsed(settings)
        files = files.beside(".rehearsed")  # the place of the real debate stays free
    permissions = flags.permitted(arguments)
    check_settings(settings, files, permissions=permissions, events=arguments.events)
    quiet = is_quiet(arguments)
    settings, derived = with_positions(settings, _ignore if quiet else remark, permissions=permissions)
    with new_debate(settings, files, derived) as debate:
        expected = ""
        if rehearse:
            expected = estimate(debate.state.opened).said()
            record_event(debate.journal, debate.current, Noted(note="estimate", detail=expected))
        if not quiet:
            for line in (*setup_lines(arguments, settings, files), cast_line(settings)):
                remark(line)
        return drive_to_report(debate, arguments, expected)


def _has_only_stand_ins(settings: Settings) -> bool:
    """Whether every seat has the stand-in of a named model, as in the answers of a rehearsal: it is one again."""
    specs = [spec for specs in settings.cast.values() for spec in specs]
    return all(model_spec.kind(spec) == model_spec.REHEARSE and model_spec.rest(spec) for spec in specs)


def _ignore(line: str) -> None:
    """Prints nothing."""
