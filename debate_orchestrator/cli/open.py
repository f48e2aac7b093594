"""`debate open` writes the journal of a debate that an agent host runs, has its models take the turns that come before
the host's, and prints the first turns of the host."""

from __future__ import annotations

import argparse
from functools import partial

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.answers_and_flags import cast_line, settings_with_consent, setup_lines
from debate_orchestrator.cli.consent import new_debate
from debate_orchestrator.cli.driving import print_estimate
from debate_orchestrator.cli.output import print_result, print_status
from debate_orchestrator.cli.step import print_step
from debate_orchestrator.engine import start
from debate_orchestrator.engine.debate import DebateSession
from debate_orchestrator.host.step import Stepper
from debate_orchestrator.host.turns_folder import TurnsFolder
from debate_orchestrator.storage.paths import DebateFiles


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_answers(parser)
    flags.add_json(parser)
    flags.add_schemas(parser)


def run(arguments: argparse.Namespace) -> int:
    settings = settings_with_consent(arguments)
    files = DebateFiles.named_by(settings.output)
    permissions = flags.permissions_of(arguments)
    start.check_settings(settings, files, permissions=permissions)
    if deriving_model := start.deriving_model(settings):
        print_status(start.estimate_sentence(settings, deriving_model))
    make_opened = partial(start.opened_with_positions, settings, print_status, permissions)
    with new_debate(make_opened, files, lambda opened: start.notes_after_opened(settings)) as session:
        setup = setup_lines(arguments, settings, session)

        def before_calls(session: DebateSession) -> None:
            print_status(cast_line(settings))
            print_estimate(session)

        if not arguments.json:
            for line in setup:
                print_result(line)
        folder = TurnsFolder(session.files.turns_folder, print_status)
        result = Stepper(session, folder, permissions, before_calls, just_opened=True).step()
        return print_step(result, session, arguments, setup if arguments.json else ())
