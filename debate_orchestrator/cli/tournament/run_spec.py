"""`debate tournament run`: runs the debates of a spec, or continues them."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli.tournament import running, specs

EXAMPLE = "debate tournament run spring.yaml --to spring --rehearse"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    specs.add_spec(parser)
    parser.add_argument("--to", metavar="DIR", help="the tournament's folder; named after the tag by default")
    running.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Freezes the spec in the folder, and runs the debates."""
    from debate_orchestrator.tournament import folder

    options = running.Options.of(arguments)
    spec = specs.read_spec(arguments)
    tournament = folder.create(arguments.to or folder.default_folder(spec), spec)
    if tournament.spec.added:  # the folder has models that the file does not name
        specs.agree_to_folder(tournament, trusted=arguments.trust)
    specs.remember_folder(tournament)
    return running.run_tournament(tournament, options)
