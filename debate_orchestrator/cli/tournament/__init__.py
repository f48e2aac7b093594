"""`debate tournament`: many debates. Each of its verbs is a module beside this one, as the verbs of `debate` are."""

from __future__ import annotations

import argparse
from importlib import import_module

EXAMPLE = "debate tournament new spring.yaml"

VERBS = {
    "new": ("new", "write a commented spec to start from"),
    "plan": ("plan", "show the schedule of a spec, and the calls, tokens, cost and time that it takes"),
    "run": ("run_spec", "run the debates of a spec, or go on with them"),
    "resume": ("resume", "go on with the tournament in a folder"),
    "add": ("add", "add a model to a tournament; it meets all others"),
    "rate": ("rate", "rate the models: Elo, and Bradley-Terry strengths with intervals"),
    "report": ("report", "write the page, tables, plots and ratings of a tournament"),
    "import": ("import_", "take judged debates made elsewhere, from CSV or JSON lines"),
}
"""Verb to its module and its line in `debate tournament --help`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for name, (module_name, summary) in VERBS.items():
        verb = verbs.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", allow_abbrev=False
        )
        module = import_module(f"debate_orchestrator.cli.tournament.{module_name}")
        verb.epilog = f"example: {module.EXAMPLE}"
        verb.set_defaults(run_tournament=module.run, verb_parser=verb)
        module.add_arguments(verb)


def run(arguments: argparse.Namespace) -> int:
    """Runs one verb of tournaments and returns its exit code."""
    code: int = arguments.run_tournament(arguments)
    return code
