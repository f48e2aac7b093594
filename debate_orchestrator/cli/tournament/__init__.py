"""`debate tournament`: many debates. Its verbs are pairs of functions in the modules beside this one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

from debate_orchestrator.cli.tournament import results, running, specs


class TournamentVerb(NamedTuple):
    summary: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


VERBS = {
    "new": TournamentVerb("write a commented spec to start from", "new spring.yaml", specs.new_arguments, specs.new),
    "plan": TournamentVerb(
        "show the schedule of a spec, and the calls, tokens, cost and time that it takes",
        "plan spring.yaml",
        specs.plan_arguments,
        specs.plan,
    ),
    "run": TournamentVerb(
        "run the debates of a spec, or continue them",
        "run spring.yaml --rehearse",
        running.run_arguments,
        running.run,
    ),
    "resume": TournamentVerb(
        "continue the tournament in a folder", "resume spring", running.resume_arguments, running.resume
    ),
    "add": TournamentVerb(
        "add a model to a tournament; it meets all others",
        "add spring openai:gpt-5.1",
        specs.add_arguments,
        specs.add,
    ),
    "rate": TournamentVerb(
        "rate the models: Elo, and Bradley-Terry strengths with intervals",
        "rate spring/ --json",
        results.rate_arguments,
        results.rate,
    ),
    "report": TournamentVerb(
        "write the page, tables, plots and ratings of a tournament",
        "report spring/",
        results.report_arguments,
        results.report,
    ),
    "import": TournamentVerb(
        "take judged debates made elsewhere, from CSV or JSON lines",
        "import rows.csv --map map.yaml --to imported/",
        results.import_arguments,
        results.import_,
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for name, (summary, example, add_its_arguments, its_run) in VERBS.items():
        verb = verbs.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", allow_abbrev=False
        )
        verb.epilog = f"example: debate tournament {example}"
        verb.set_defaults(run_tournament=its_run, verb_parser=verb)
        add_its_arguments(verb)


def run(arguments: argparse.Namespace) -> int:
    """Runs one verb of tournaments and returns its exit code."""
    code: int = arguments.run_tournament(arguments)
    return code
