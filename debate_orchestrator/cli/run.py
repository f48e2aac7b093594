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
from debate_orchestrator.cli.output import at_terminal, next_step, remark
from debate_orchestrator.cli.rehearsal import real_debate
from debate_orchestrator.cli.settings import read_settings
from debate_orchestrator.core.events import Noted
from debate_orchestrator.core.settings import LONGEST_LINE
from debate_orchestrator.engine import start
from debate_orchestrator.engine.estimate import estimate
from debate_orchestrator.engine.turn import record_event
from debate_orchestrator.providers import discovery
from debate_orchestrator.setup.settings import Settings
from debate_orchestrator.storage.paths import DebateFiles, free_files
from debate_orchestrator.util import model_spec
from debate_orchestrator.util.errors import BadSettings
from debate_orchestrator.util.messages import ignore

_MOST_PIPED = 64 * LONGEST_LINE
"""Bytes that are read from standard input, so that a stream without end is refused too."""
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
    """The line on standard input, where it is a pipe or a file; None if it has no text. It is read to its end, or
    until nothing comes for 2 s. Raises BadSettings for more than one line; blank lines do not count."""
    try:
        mode = os.fstat(stdin := sys.stdin.fileno()).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
            return None
        data = b""
        # A pipe may be held open by a program that writes no more.
        while len(data) < _MOST_PIPED and select.select([stdin], [], [], 2.0)[0] and (piece := os.read(stdin, 65_536)):
            data += piece
    except (AttributeError, OSError, ValueError):
        return None
    text = data.decode(errors="surrogateescape")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        problem = f"topic: standard input holds {len(lines)} lines, and a topic is one."
        raise BadSettings(problem, hint="one sentence; `--context FILE` gives both sides a text to draw on")
    return lines[0] if lines else None


def run_settings(settings: Settings, arguments: argparse.Namespace) -> int:
    """Opens the debate of these settings and takes it to its report. Of the arguments it reads those that made the
    settings, `rehearse`, `quiet`, `events`, `json`, `insecure` and `command_env`."""
    files = DebateFiles.of_output(settings.output)
    if rehearse := arguments.rehearse or model_spec.is_rehearsal(settings.cast):
        settings = start.rehearsed(settings, people=at_terminal(sys.stderr))
        files = free_files(files.with_suffix(".rehearsed"))  # the place of the real debate stays free
    permissions = flags.permitted(arguments)
    check_settings(settings, files, permissions=permissions, events=arguments.events)
    _confirm_spelling(settings.cast, asks=not rehearse and at_terminal(sys.stderr))
    quiet = is_quiet(arguments)
    settings, derived = with_positions(settings, ignore if quiet else remark, permissions=permissions)
    real = real_debate(arguments) if rehearse else None
    with new_debate(settings, files, derived) as debate:
        expected = ""
        if real:
            positions = {"positions": settings.positions}
            expected = estimate(start.make_opening(real.settings.model_copy(update=positions))).sentence()
            record_event(debate.journal, debate.current, Noted(note="estimate", detail=expected))
        if not quiet:
            for line in (*setup_lines(arguments, settings, files), cast_line(settings)):
                remark(line)
        code = drive_to_report(debate, arguments, expected)
        if code == 0 and real and not quiet:
            remark(f"Every brief is in {files.turns}.")
            next_step(real.sentence)
        return code


def _confirm_spelling(cast: Mapping[str, tuple[str, ...]], *, asks: bool) -> None:
    """Warns of models that are probably misspelt, and `asks` a person whether to go on with them. Raises BadSettings
    where they do not want to."""
    if not (questions := discovery.misspelt(cast)):
        return
    for question in questions:
        remark(f"debate: {question}")
    if not asks:
        return
    print("Continue with this name? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadSettings("Nothing was opened.", hint="name another model")
