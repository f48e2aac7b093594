"""`debate tournament resume`: continues the tournament in a folder."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.settings import cap
from debate_orchestrator.cli.tournament import running, specs
from debate_orchestrator.util.errors import BadSettings

EXAMPLE = "debate tournament resume spring"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the tournament's folder")
    parser.add_argument("--max-cost", metavar="USD", help="a new cap for all debates together, or none")
    flags.add_trust(parser)
    running.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the debates that are left."""
    from debate_orchestrator.tournament import folder
    from debate_orchestrator.tournament.spec import check

    options = running.Options.of(arguments)
    tournament = folder.load(arguments.folder)
    specs.agree_to_folder(tournament, trusted=arguments.trust)
    if arguments.max_cost is not None:
        spec = tournament.spec.model_copy(update={"max_cost": cap(arguments.max_cost)})
        if problems := check(spec):
            raise BadSettings(problems)
        tournament = folder.rewrite(tournament, spec)
    return running.run_tournament(tournament, options)
