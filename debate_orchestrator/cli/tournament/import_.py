"""`debate tournament import`: takes judged debates that were made elsewhere."""

from __future__ import annotations

import argparse

from debate_orchestrator.cli import flags
from debate_orchestrator.cli.output import print_json, remark, say
from debate_orchestrator.util.commands import command

EXAMPLE = "debate tournament import rows.csv --map map.yaml --to imported/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "CSV or JSON lines, one judge's ballot in each; or DebateBench's debates, which need no map"
    parser.add_argument("rows", metavar="ROWS", help=about)
    about = "a YAML file that says which column holds what: `debate: id`, `pro: model_a`, `winner: verdict` ..."
    parser.add_argument("--map", metavar="FILE", help=about)
    parser.add_argument("--to", metavar="DIR", required=True, help="a new folder")
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Writes the folder, and says how much was read and what could not be."""
    from debate_orchestrator.tournament.importing import import_rows

    rows = import_rows(arguments.rows, arguments.map, arguments.to)
    for note in rows.notes:
        remark(f"Note: {note}")
    if arguments.json:
        counts = {"debates": len(rows.debates), "ballots": len(rows.ballots)}
        print_json({"status": "imported", "folder": arguments.to, **counts, "notes": list(rows.notes)})
    else:
        say(f"{len(rows.debates):,} debates with {len(rows.ballots):,} ballots imported to {arguments.to}.")
        remark(f"Next: `{command('tournament rate', arguments.to)}`, or `{command('tournament report', arguments.to)}`")
    return 0
