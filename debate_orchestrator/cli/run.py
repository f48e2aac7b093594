"""`debate run`: a whole debate, from settings to report, with no questions."""

from __future__ import annotations

import argparse
import os
import select
import stat
import sys
from collections.abc import Mapping

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.debates import cast_line, check_settings, new_debate, setup_lines, with_positions
from debate_orchestrator.cli.driving import drive_to_report, is_quiet
from debate_orchestrator.cli.output import next_step, remark
from debate_orchestrator.cli.people import at_terminal
from debate_orchestrator.cli.rehearsal import real_command
from debate_orchestrator.cli.settings import read_settings
from debate_orchestrator.core.events import Noted
from debate_orchestrator.core.settings import LONGEST_LINE
from debate_orchestrator.engine import start
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.providers import discovery, spelling
from debate_orchestrator.setup.settings import Settings
from debate_orchestrator.storage.paths import DebateFiles
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings

EXAMPLE = 'debate run "Should we move to gRPC?" --rehearse'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_answers(parser)
    about = "let stand-ins take the seats of models, at no cost; a person at the terminal keeps theirs; briefs are kept"
    parser.add_argument("--rehearse", action="store_true", help=about)
    flags.add_permissions(parser)
    flags.add_progress(parser)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.topic is None and not arguments.answers:
        arguments.topic = _piped_topic()
    return run_settings(
        read_settings(arguments, discovery.best if arguments.rehearse else discovery.default), arguments
    )


def _piped_topic() -> str | None:
    """The line on standard input, where it is a pipe or a file with text; None where nothing comes within 2 s."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)) or not select.select([sys.stdin], [], [], 2.0)[0]:
            return None
        return sys.stdin.readline(2 * LONGEST_LINE).strip() or None
    except (AttributeError, OSError, ValueError):
        return None


def run_settings(settings: Settings, arguments: argparse.Namespace) -> int:
    """Opens the debate of these settings and takes it to its report. Of the arguments it reads `answers`, `rehearse`,
    `quiet`, `events`, `json`, `insecure` and `command_env`."""
    files = DebateFiles.of_output(settings.output)
    if rehearse := arguments.rehearse or _has_only_stand_ins(settings):
        settings = start.rehearsed(settings, people=at_terminal())
        files = free_files(files.beside(".rehearsed"))  # the place of the real debate stays free
    permissions = flags.permitted(arguments)
    check_settings(settings, files, permissions=permissions, events=arguments.events)
    _confirm_spelling(settings.cast, asks=not rehearse and at_terminal())
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
        code = drive_to_report(debate, arguments, expected)
        if code == 0 and rehearse and not quiet:
            next_step(f"`{real_command(arguments, tuple(settings.cast))}` is the real debate.")
        return code


def _confirm_spelling(cast: Mapping[str, tuple[str, ...]], *, asks: bool) -> None:
    """Warns of models that are probably misspelt, and `asks` a person whether to go on with them. Raises BadSettings
    where they do not want to."""
    if not (questions := spelling.misspelt(cast)):
        return
    for question in questions:
        remark(f"debate: {question}")
    if not asks:
        return
    print("Go on with it as it is? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadSettings("Nothing was opened.", hint="name another model")


def free_files(files: DebateFiles) -> DebateFiles:
    """These files, or the first with a number in their names that no debate has yet."""
    numbered = (files.beside(f"-{n}") for n in range(2, 1000))
    return next((free for free in (files, *numbered) if not free.there()), files)


def _has_only_stand_ins(settings: Settings) -> bool:
    """Whether every seat has the stand-in of a named model, as in the answers of a rehearsal: it is one again."""
    specs = [spec for specs in settings.cast.values() for spec in specs]
    return all(model_spec.kind(spec) == model_spec.REHEARSE and model_spec.rest(spec) for spec in specs)


def _ignore(line: str) -> None:
    """Prints nothing."""
