"""`debate tournament report`: the page, tables, plots and ratings of a tournament."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import print_json, remark, say

EXAMPLE = "debate tournament report spring/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a tournament's folder, or a folder of journals")
    about = "hide models with fewer games from the leaderboard; 5 by default"
    parser.add_argument("--min-games", metavar="N", type=int, default=5, help=about)
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Writes index.html, csv/, plots/, ratings.json and SHA256SUMS into the folder."""
    from debate_orchestrator.tournament.report import write_report

    files, notes = write_report(arguments.folder, arguments.min_games)
    for note in notes:
        remark(f"Note: {note}")
    if arguments.json:
        print_json({"status": "written", "page": files[0], "files": files, "notes": list(notes)})
    else:
        say(f"{files[0]} written, with {len(files) - 1} tables, plots and ratings beside it.")
        remark(f"Open {files[0]} in a browser.")
    return 0
